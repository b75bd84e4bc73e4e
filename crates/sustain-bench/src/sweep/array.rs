//! An array of the targets that stands for one point of a sweep. The run calls it. Members are let
//! go for the array and claimed anew after it, under the guard and by their numbers; an array that
//! was built is taken down however the work on it ends.

use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fstat, major, minor, open};
use rustix::io::Errno;
use sustain_disk::clock::Clock;
use sustain_disk::error::Error;
use sustain_disk::target::{DataPath, Direction, OpenRequest, TargetKind};
use sustain_host::{BlockDevice, Roots};
use sustain_session::{CreatedFiles, Hold, Machines, Permission, Stop, open_under_guard};

use super::mdadm::{Mdadm, exists};
use super::plan::SweepPlan;
use crate::error::MeasureError;
use crate::session::{OpenTarget, Session};

/// How often, and after which pause, it is looked whether a device is free: the kernel closes what
/// an io_uring had open in its own time, and udev looks at whatever appears or was written.
const FREE_ATTEMPTS: u32 = 150;
const FREE_PAUSE_NS: u64 = 20_000_000;
/// Between it being free and being stopped, udev may look again.
const STOP_ATTEMPTS: u32 = 5;

/// What a member was when the guard passed it.
struct Member {
    name: String,
    path: PathBuf,
    device: Option<(u32, u32)>,
    capacity_bytes: Option<u64>,
}

/// What arrays have cost besides the time in which they are measured.
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
    members: Vec<Member>,
    cost: ArrayCost,
}

/// How an array is put together.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArrayShape<'a> {
    pub(super) chunk_bytes: u64,
    /// The members by number.
    pub(super) order: &'a [usize],
}

/// An array that stands, or may. It goes with this value at the latest.
struct Array<'a> {
    mdadm: &'a Mdadm,
    roots: &'a Roots,
    name: String,
    members: Vec<&'a Path>,
    /// Nothing is left to be tried.
    is_over: bool,
    _hold: Hold,
}

/// What arrays need of the plan, as far as that shows before anything is opened.
///
/// # Errors
/// [`MeasureError::Usage`]: not all targets are block devices, or not all may be destroyed.
pub(super) fn check_members(plan: &SweepPlan) -> Result<(), MeasureError> {
    use std::os::unix::fs::FileTypeExt;
    for target in &plan.targets {
        let is_device = |found: std::fs::Metadata| found.file_type().is_block_device();
        if !std::fs::metadata(target).is_ok_and(is_device) {
            return Err(MeasureError::Usage(format!(
                "--md builds arrays of block devices, and {target} is none: name disks or \
                 partitions, or leave out --md"
            )));
        }
    }
    let is_kept = |target: &&String| !plan.destroy.contains(target);
    let kept: Vec<String> = plan.targets.iter().filter(is_kept).cloned().collect();
    if kept.is_empty() {
        return Ok(());
    }
    Err(MeasureError::Usage(format!(
        "--md writes a superblock to every member, also to read from the array: what is on them may \
         be lost. If it may, add --destroy {}; to leave them as they are, leave out --md",
        kept.join(" --destroy ")
    )))
}

impl<'a> Arrays<'a> {
    /// Of these targets, as they are open now.
    pub(super) fn new(
        plan: &'a SweepPlan,
        path: DataPath,
        session: &Session,
        roots: &'a Roots,
    ) -> Arrays<'a> {
        let member = |target: &OpenTarget| Member {
            name: target.target.name.clone(),
            path: target.path.clone().unwrap_or_default(),
            device: target.target.device,
            capacity_bytes: target.target.capacity_bytes,
        };
        Arrays {
            mdadm: &plan.mdadm,
            destroy: &plan.destroy,
            request: OpenRequest {
                direction: Direction::Write,
                path,
                create: false,
            },
            roots,
            members: session.targets.iter().map(member).collect(),
            cost: ArrayCost::default(),
        }
    }

    pub(super) fn cost(&self) -> ArrayCost {
        self.cost
    }

    /// Builds an array, has the work done on a session whose only target it is, takes it down. The
    /// inner error says why there was none.
    ///
    /// # Errors
    /// [`MeasureError::Array`] if it cannot be taken down, or its members cannot be had again; what
    /// the work says.
    pub(super) fn with<T>(
        &mut self,
        shape: ArrayShape<'_>,
        session: &mut Session,
        stop: &Stop,
        work: impl FnOnce(&Session) -> Result<T, MeasureError>,
    ) -> Result<Result<T, String>, MeasureError> {
        let clock = session.clock.clone();
        let began = clock.now();
        self.release(session)?;
        let mut work_ns = 0;
        let result = self
            .build(shape, stop)
            .map(|array| -> Result<T, MeasureError> {
                let on_array = self.open(&array, shape, session)?;
                let work_began = clock.now();
                let done = work(&on_array);
                work_ns = clock.now().since_ns(work_began);
                drop(on_array);
                array.take_down()?;
                done
            });
        // Also after an error: the other points are measured on the members themselves.
        let reclaimed = self.reclaim(session);
        let result = result.map_or_else(|why| Ok(Err(why)), |done| done.map(Ok))?;
        reclaimed?;
        self.cost.built += 1;
        self.cost.setup_ns += clock.now().since_ns(began).saturating_sub(work_ns);
        Ok(result)
    }

    /// Lets go of all members: the kernel takes none that someone else has claimed.
    fn release(&self, session: &mut Session) -> Result<(), MeasureError> {
        for target in &mut session.targets {
            target.target.file = None;
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

    /// Claims all members again, if the guard still passes them and they are the same ones.
    fn reclaim(&self, session: &mut Session) -> Result<(), MeasureError> {
        for (target, member) in session.targets.iter_mut().zip(&self.members) {
            let permission = Permission::Destroy {
                names: self.destroy,
                instead: "leave out --md",
            };
            // What is to be known of it was said when it was opened first.
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

    fn build(&self, shape: ArrayShape<'_>, stop: &Stop) -> Result<Array<'_>, String> {
        let name = Mdadm::free_name(self.roots)
            .ok_or("all numbers of arrays are taken: mdadm --stop those that are not needed")?;
        let members = shape.order.iter();
        let array = Array {
            mdadm: self.mdadm,
            roots: self.roots,
            members: members
                .map(|member| self.members[*member].path.as_path())
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

    /// Whether it is made of these members, and of them alone.
    fn check_built(&self, array: &Array<'_>, shape: ArrayShape<'_>) -> Result<(), String> {
        let of = |error: sustain_host::HostError| format!("the new array {}: {error}", array.name);
        let mut slaves = BlockDevice::from_name(self.roots, &array.name)
            .map_err(of)?
            .slaves;
        let mut members = Vec::new();
        for member in shape.order {
            let (major, minor) = self.members[*member].device.unwrap_or_default();
            let device = BlockDevice::from_device_number(self.roots, major, minor).map_err(of)?;
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
        let permission = Permission::Destroy {
            names: std::slice::from_ref(&name),
            instead: "leave out --md",
        };
        let request = OpenRequest {
            path: DataPath::Direct,
            ..self.request
        };
        let mut notes = Vec::new();
        let target = open_under_guard(&name, &device, request, permission, self.roots, &mut notes)?;
        let built = BlockDevice::from_name(self.roots, &array.name)
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
            machines: Machines::new(&session.clock, 0),
            clock: session.clock.clone(),
            direction: session.direction,
            notes,
            created: CreatedFiles::default(),
        })
    }
}

impl Member {
    fn check_identity(&self, device: Option<(u32, u32)>) -> Result<(), MeasureError> {
        if device == self.device {
            return Ok(());
        }
        Err(self.is_another("another device"))
    }

    fn is_another(&self, what: &str) -> MeasureError {
        MeasureError::Target(Error::Refused {
            target: self.name.clone(),
            why: format!("it is {what} than when the sweep began: nothing more is written to it"),
        })
    }
}

impl Array<'_> {
    fn device(&self) -> PathBuf {
        self.mdadm.device(&self.name)
    }

    /// Stops it and takes the superblocks off its members.
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
                "the array {} could not be taken down ({why}): mdadm --stop {}; mdadm \
                 --zero-superblock {}",
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
            // Where it stays busy mdadm says by whom, as far as that can be known.
            let _ = wait_until_free(&device);
            match self.mdadm.stop(&device) {
                Err(_) if attempts < STOP_ATTEMPTS => attempts += 1,
                stopped => return stopped,
            }
        }
    }
}

impl Drop for Array<'_> {
    /// After an error there is nobody to tell of another one; the guard of the next run says what is
    /// left, and how to end it.
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

/// Waits until nobody has claimed the device; its number.
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
