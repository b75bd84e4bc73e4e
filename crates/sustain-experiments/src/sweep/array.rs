//! Builds an array of the targets while points of a sweep are measured on it. The run calls it.
//! Members are released for the array and claimed again after it, under the guard and by their
//! device numbers. An array that was built is stopped however the work on it ends.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fstat, major, minor, open};
use rustix::io::Errno;
use sustain_disk::clock::Clock;
use sustain_disk::error::Error;
use sustain_disk::target::{DataPath, Direction, OpenRequest, TargetKind};
use sustain_document::setting::{DESTROY, MD, joined};
use sustain_host::{Roots, device_named, device_of_number};
use sustain_load::open_target::OpenTarget;
use sustain_load::session::Session;
use sustain_targets::{
    CreatedFiles, Hold, Machines, Permission, Stop, TargetName, open_under_guard,
};

use super::mdadm::{Mdadm, exists};
use super::plan::SweepPlan;
use super::setting::ArrayShape;
use crate::error::MeasureError;

/// How often, and after which pause, a device is checked for being free: the kernel closes the
/// files of an io_uring in its own time, and udev looks at every device that appears or was
/// written.
const FREE_ATTEMPTS: u32 = 150;
const FREE_PAUSE_NS: u64 = 20_000_000;
/// Udev may look again after a device was free and before it is stopped.
const STOP_ATTEMPTS: u32 = 5;

/// The identity of a member when the guard passed it.
struct ArrayMember {
    name: String,
    path: PathBuf,
    device: Option<(u32, u32)>,
    capacity_bytes: Option<u64>,
}

/// The time that arrays have cost besides measuring on them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ArrayCost {
    pub(super) built: u32,
    pub(super) setup_ns: u64,
}

/// Builds arrays of the targets of a sweep, one at a time.
pub(super) struct Arrays<'a> {
    mdadm: &'a Mdadm,
    destroy: &'a [String],
    request: OpenRequest,
    roots: &'a Roots,
    members: Vec<ArrayMember>,
    standing: Option<AssembledArray<'a>>,
    cost: ArrayCost,
}

/// An array that is open.
struct AssembledArray<'a> {
    /// The session is closed first, because an array that is in use cannot be stopped.
    session: Session,
    array: Array<'a>,
    chunk_bytes: u64,
    order: Vec<usize>,
}

/// An array that exists, or may exist. It is stopped at the latest when this value is dropped.
struct Array<'a> {
    mdadm: &'a Mdadm,
    roots: &'a Roots,
    name: String,
    members: Vec<PathBuf>,
    /// Whether nothing is left to be tried.
    is_over: bool,
    _hold: Hold,
}

/// Checks what arrays need of the plan, as far as that shows before anything is opened.
///
/// # Errors
/// [`MeasureError::Usage`]: not all targets are block devices, or not all of them may be destroyed.
pub(super) fn check_members(plan: &SweepPlan) -> Result<(), MeasureError> {
    // A simulated disk is not in the file system, and is not missing either.
    let is_missing = |target: &str, error: &std::io::Error| {
        let is_path = matches!(TargetName::parse(target), Ok(TargetName::Path(_)));
        is_path && error.kind() == std::io::ErrorKind::NotFound
    };
    for target in &plan.load.targets {
        let found = std::fs::metadata(target);
        if found
            .as_ref()
            .is_ok_and(|found| found.file_type().is_block_device())
        {
            continue;
        }
        let what = match found {
            Err(error) if is_missing(target, &error) => "does not exist",
            _ => "is not one",
        };
        return Err(MeasureError::Usage(format!(
            "{md} builds arrays of block devices, and {target} {what}: name disks or partitions, \
             or leave out {md}",
            md = MD.the()
        )));
    }
    let is_kept = |target: &&String| !plan.load.destroy.contains(target);
    let kept = plan.load.targets.iter().filter(is_kept);
    let kept: Vec<String> = kept.map(|name| DESTROY.to(name)).collect();
    if kept.is_empty() {
        return Ok(());
    }
    Err(MeasureError::Usage(format!(
        "{md} writes a superblock to every member, even to read from the array: what is on the \
         members may be lost. If it may, add {}; to leave them as they are, leave out {md}",
        joined(&kept),
        md = MD.the()
    )))
}

fn leave_out_array() -> String {
    format!("leave out {}", MD.the())
}

impl<'a> Arrays<'a> {
    /// Prepares arrays of these targets, as they are open now.
    pub(super) fn new(
        plan: &'a SweepPlan,
        path: DataPath,
        session: &Session,
        roots: &'a Roots,
    ) -> Arrays<'a> {
        let member = |target: &OpenTarget| ArrayMember {
            name: target.target.name.clone(),
            path: target.path.clone().unwrap_or_default(),
            device: target.target.device,
            capacity_bytes: target.target.capacity_bytes,
        };
        Arrays {
            mdadm: &plan.mdadm,
            destroy: &plan.load.destroy,
            request: OpenRequest {
                direction: Direction::Write,
                path,
                create: false,
            },
            roots,
            members: session.targets.iter().map(member).collect(),
            standing: None,
            cost: ArrayCost::default(),
        }
    }

    pub(super) fn cost(&self) -> ArrayCost {
        self.cost
    }

    /// A session whose only target is such an array: the one that exists already, or a new one in
    /// its place. The inner error says why there is none.
    ///
    /// # Errors
    /// [`MeasureError::Array`] if the array before cannot be stopped, or if its members cannot be
    /// claimed again; or the error of opening the new one.
    pub(super) fn session_on(
        &mut self,
        shape: ArrayShape<'_>,
        session: &mut Session,
        stop: &Stop,
    ) -> Result<Result<&Session, String>, MeasureError> {
        let standing = match self.standing.take() {
            Some(standing) if standing.shape() == shape => standing,
            before => {
                self.standing = before;
                self.end(session)?;
                match self.raise(shape, session, stop)? {
                    Ok(standing) => standing,
                    Err(why) => return Ok(Err(why)),
                }
            }
        };
        Ok(Ok(&self.standing.insert(standing).session))
    }

    /// Stops the array, if there is one, and claims the members again.
    ///
    /// # Errors
    /// [`MeasureError::Array`], saying what to do next.
    pub(super) fn end(&mut self, session: &mut Session) -> Result<(), MeasureError> {
        let Some(standing) = self.standing.take() else {
            return Ok(());
        };
        let began = session.clock.now();
        drop(standing.session);
        let taken_down = standing.array.take_down();
        // This is done after an error as well, so that the session has its members again.
        let reclaimed = self.reclaim(session);
        self.cost.setup_ns += session.clock.now().since_ns(began);
        taken_down.and(reclaimed)
    }

    /// Builds and opens an array; if that fails, the members are claimed again.
    fn raise(
        &mut self,
        shape: ArrayShape<'_>,
        session: &mut Session,
        stop: &Stop,
    ) -> Result<Result<AssembledArray<'a>, String>, MeasureError> {
        let began = session.clock.now();
        self.release(session)?;
        let opened = match self.build(shape, stop) {
            Ok(array) => self.open(&array, shape, session).map(|on_array| {
                Ok(AssembledArray {
                    session: on_array,
                    array,
                    chunk_bytes: shape.chunk_bytes,
                    order: shape.order.to_vec(),
                })
            }),
            Err(why) => Ok(Err(why)),
        };
        if matches!(opened, Ok(Ok(_))) {
            self.cost.built += 1;
            self.cost.setup_ns += session.clock.now().since_ns(began);
            return opened;
        }
        // The other points are measured on the members themselves.
        let reclaimed = self.reclaim(session);
        let opened = opened?;
        reclaimed?;
        Ok(opened)
    }

    /// Releases all members, because the kernel takes none that someone else has claimed.
    fn release(&self, session: &mut Session) -> Result<(), MeasureError> {
        for target in &mut session.targets {
            target.target.let_go();
        }
        for member in &self.members {
            let device = wait_until_free(&member.path).map_err(|errno| {
                array_error(format!(
                    "{} cannot be had for an array: {errno}",
                    member.name
                ))
            })?;
            member.check_identity(Some(device))?;
        }
        Ok(())
    }

    /// Claims all members again, if the guard still passes them and they are the same devices.
    fn reclaim(&self, session: &mut Session) -> Result<(), MeasureError> {
        for (target, member) in session.targets.iter_mut().zip(&self.members) {
            let instead = leave_out_array();
            let permission = Permission::Destroy {
                names: self.destroy,
                instead: &instead,
            };
            // The notes about it were given when it was opened first.
            let mut notes = Vec::new();
            let (name, path) = (&member.name, &member.path);
            let opened =
                open_under_guard(name, path, self.request, permission, self.roots, &mut notes)?;
            member.check_identity(opened.device)?;
            if opened.capacity_bytes != member.capacity_bytes {
                return Err(member.is_another("of another size"));
            }
            target.target = opened;
        }
        Ok(())
    }

    fn build(&self, shape: ArrayShape<'_>, stop: &Stop) -> Result<Array<'a>, String> {
        let name = Mdadm::free_name(self.roots).ok_or(
            "all array numbers are in use: stop the arrays that are not needed with mdadm --stop",
        )?;
        let members = shape.order.iter();
        let array = Array {
            mdadm: self.mdadm,
            roots: self.roots,
            members: members
                .map(|member| self.members[*member].path.clone())
                .collect(),
            is_over: false,
            _hold: stop.hold(),
            name,
        };
        self.mdadm
            .create(&array.device(), shape.chunk_bytes, &array.members)?;
        self.check_built(&array, shape)?;
        Ok(array)
    }

    /// Whether the array is made of these members, and of them alone.
    fn check_built(&self, array: &Array<'_>, shape: ArrayShape<'_>) -> Result<(), String> {
        let of = |error: sustain_host::HostError| format!("the new array {}: {error}", array.name);
        let mut slaves = device_named(self.roots, &array.name).map_err(of)?.slaves;
        let mut members = Vec::new();
        for member in shape.order {
            let (major, minor) = self.members[*member].device.unwrap_or_default();
            let device = device_of_number(self.roots, major, minor).map_err(of)?;
            members.push(device.name().to_owned());
        }
        slaves.sort();
        members.sort();
        if slaves == members {
            return Ok(());
        }
        Err(format!(
            "{} is not what was asked for: it has {}, not {}",
            array.name,
            slaves.join(", "),
            members.join(", ")
        ))
    }

    /// The array as the only target of a session.
    fn open(
        &self,
        array: &Array<'_>,
        shape: ArrayShape<'_>,
        session: &Session,
    ) -> Result<Session, MeasureError> {
        let device = array.device();
        let name = device.display().to_string();
        let instead = leave_out_array();
        let permission = Permission::Destroy {
            names: std::slice::from_ref(&name),
            instead: &instead,
        };
        let request = OpenRequest {
            path: DataPath::Direct,
            ..self.request
        };
        let mut notes = Vec::new();
        let target = open_under_guard(&name, &device, request, permission, self.roots, &mut notes)?;
        let built = device_named(self.roots, &array.name)
            .map_err(|error| array_error(error.to_string()))?;
        if target.device != Some((built.node.major, built.node.minor)) {
            return Err(array_error(format!(
                "{name} is not the array {}",
                array.name
            )));
        }
        let sizes = session.targets.iter().map(|target| target.size_bytes);
        let rows_bytes = sizes.min().unwrap_or(0) / shape.chunk_bytes * shape.chunk_bytes;
        let all_bytes = rows_bytes.saturating_mul(shape.order.len() as u64);
        assert_eq!(
            target.kind,
            TargetKind::BlockDevice,
            "it has a device number"
        );
        Ok(Session {
            targets: vec![OpenTarget {
                size_bytes: target.capacity_bytes.unwrap_or(0).min(all_bytes),
                target,
                path: Some(device),
                simulated: None,
                passthrough: None,
                wraps: true,
                needs_prewrite: false,
                has_all_blocks: true,
            }],
            named: vec![0],
            machines: Machines::new(&session.clock, 0),
            clock: session.clock.clone(),
            direction: session.direction,
            notes,
            created: CreatedFiles::default(),
        })
    }
}

impl ArrayMember {
    fn check_identity(&self, device: Option<(u32, u32)>) -> Result<(), MeasureError> {
        if device == self.device {
            return Ok(());
        }
        Err(self.is_another("another device"))
    }

    fn is_another(&self, what: &str) -> MeasureError {
        let why = format!("it is {what} than when the sweep began: nothing more is written to it");
        let target = self.name.clone();
        Error::Refused { target, why }.into()
    }
}

impl AssembledArray<'_> {
    fn shape(&self) -> ArrayShape<'_> {
        ArrayShape {
            chunk_bytes: self.chunk_bytes,
            order: &self.order,
        }
    }
}

impl Array<'_> {
    fn device(&self) -> PathBuf {
        self.mdadm.device(&self.name)
    }

    /// Stops the array and removes the superblocks from its members.
    fn take_down(mut self) -> Result<(), MeasureError> {
        self.is_over = true;
        let taken_down = self
            .stop()
            .and_then(|()| self.mdadm.zero_superblocks(&self.members));
        let members: Vec<String> = self
            .members
            .iter()
            .map(|member| member.display().to_string())
            .collect();
        taken_down.map_err(|why| {
            array_error(format!(
                "the array {} could not be stopped ({why}): run \
                 mdadm --stop {}; mdadm --zero-superblock {}",
                self.name,
                self.device().display(),
                members.join(" ")
            ))
        })
    }

    fn stop(&self) -> Result<(), String> {
        let device = self.device();
        let mut attempts = 1;
        loop {
            // If it stays busy, mdadm says who uses it, as far as that can be known.
            let _ = wait_until_free(&device);
            match self.mdadm.stop(&device) {
                Err(_) if attempts < STOP_ATTEMPTS => attempts += 1,
                stopped => return stopped,
            }
        }
    }
}

impl Drop for Array<'_> {
    /// After an error there is nobody left to report another one to; the guard of the next run says
    /// what is left, and how to remove it.
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if exists(self.roots, &self.name) {
            let _ = self.stop();
        }
        let _ = self.mdadm.zero_superblocks(&self.members);
    }
}

fn array_error(why: String) -> MeasureError {
    MeasureError::Array(why)
}

/// Waits until nobody has claimed the device, and returns its number.
fn wait_until_free(path: &Path) -> Result<(u32, u32), Errno> {
    let clock = Clock::Real;
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let mut attempts = 1;
    loop {
        match open(path, flags, Mode::empty()) {
            Err(Errno::BUSY) if attempts < FREE_ATTEMPTS => {
                attempts += 1;
                clock.wait_until(clock.now() + FREE_PAUSE_NS);
            }
            opened => {
                let found = fstat(opened?)?;
                return Ok((major(found.st_rdev), minor(found.st_rdev)));
            }
        }
    }
}
