//! `sustain control`: says one command to a running recording over its socket, and shows the
//! answer.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{anyhow, bail};
use rustix::io::Errno;
use sustain::disk::clock::Clock;
use sustain::document::control::{CONTROL_SCHEMA, ControlAnswer, ControlRequest};
use sustain::document::reader;
use sustain::record::{check_mark_text, check_pin_request};
use sustain::report::terminal::control_text;

use super::output;
use crate::exit::Exit;
use crate::flags::control::{CommandWord, ControlFlags};
use crate::usage_error::UsageError;

/// A recorder answers at once; one that does not is stopped, or creates its store first.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// A split is answered when all of the recording before it is durable, and a pin when all members
/// have noted it. For that a disk may take as long as the recorder waits for it.
const DURABLE_WITHIN: Duration = Duration::from_secs(120);

/// No answer of a recorder is nearly as long.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// The longest path of a socket that the kernel takes.
const PATH_BYTES_MAX: usize = 107;

pub(crate) fn run(flags: &ControlFlags) -> anyhow::Result<Exit> {
    let request = request(flags)?;
    output::check_standard_output()?;
    let socket = connect(&flags.socket)?;
    let line = ask(&socket, &request, &flags.socket)?;
    let answer = understood(&line, &request)
        .map_err(|why| anyhow!("{}: {}", flags.socket.display(), no_recorder(&why)))?;
    if flags.json {
        output::write(Path::new("-"), &line)?;
    } else if answer.ok {
        output::write(Path::new("-"), &control_text(&answer, output::width()))?;
    }
    match answer.error {
        None => Ok(Exit::Done),
        Some(_) if flags.json => Ok(Exit::Failed),
        Some(why) => bail!(why),
    }
}

/// The answer in this line, if it is one to this request; else why it is none.
fn understood(line: &str, request: &ControlRequest) -> Result<ControlAnswer, String> {
    let answer: ControlAnswer = reader::read(line).map_err(|error| error.to_string())?;
    let has_what_was_asked = match request {
        _ if !answer.ok => answer.error.is_some(),
        ControlRequest::Status {} => answer.status.is_some(),
        ControlRequest::Rate {} => answer.rate.is_some(),
        ControlRequest::Split {} => answer.split.is_some(),
        ControlRequest::Pause {} | ControlRequest::Resume {} => answer.paused.is_some(),
        ControlRequest::Mark { .. } => answer.mark.is_some(),
        ControlRequest::Pin { .. } => answer.pin.is_some(),
        ControlRequest::Unpin { .. } => answer.unpinned.is_some(),
        ControlRequest::Stop {} => true,
    };
    match has_what_was_asked {
        true => Ok(answer),
        false => Err("it lacks what was asked for".to_owned()),
    }
}

fn no_recorder(why: &str) -> String {
    format!(
        "what listens there is no recorder, or a newer one: its answer is not one of \
         {CONTROL_SCHEMA} ({why}). Name the socket of `sustain record --control`"
    )
}

/// Why a command takes no such words, and what takes them.
fn extra_words(command: CommandWord, text: &str) -> String {
    match command {
        CommandWord::Pin if text.trim().is_empty() || !text.contains("..") => format!(
            "`pin` takes a stretch such as -30s..+10s, or --from, --to or --around, and {text:?} \
             is no stretch"
        ),
        CommandWord::Pin => {
            "`pin` takes a stretch, or --from and --to: give one of the two".to_owned()
        }
        _ => format!(
            "this command takes nothing more, and {text:?} was given: `mark` takes a text, in \
             quotes if it has spaces, `unpin` a number, `pin` a stretch such as -30s..+10s"
        ),
    }
}

fn request(flags: &ControlFlags) -> Result<ControlRequest, UsageError> {
    let text = flags.text.clone().unwrap_or_default();
    check_no_flag(&text)?;
    if flags.pin.is_some() && flags.command != CommandWord::Unpin {
        let why = "only unpin takes --pin: what is to be pinned is given as -30s..+10s, with \
                   --from and --to, or with --around";
        return Err(UsageError(why.to_owned()));
    }
    let is_pin = flags.command == CommandWord::Pin;
    if !is_pin && (flags.from.is_some() || flags.around.is_some()) {
        let why = "only pin takes times, or a mark to keep something around";
        return Err(UsageError(why.to_owned()));
    }
    Ok(match flags.command {
        CommandWord::Mark => {
            check_mark_text(&text).map_err(UsageError)?;
            ControlRequest::Mark { text }
        }
        CommandWord::Unpin => ControlRequest::Unpin {
            number: number_of_pin(flags)?,
        },
        _ if flags.text.is_some() && stretch(flags).is_none() => {
            return Err(UsageError(extra_words(flags.command, &text)));
        }
        CommandWord::Pin => {
            let (from, to) = stretch(flags).unwrap_or((flags.from.clone(), flags.to.clone()));
            let request = ControlRequest::Pin {
                from,
                to,
                around: flags.around.clone(),
                before: flags.before.clone(),
                after: flags.after.clone(),
            };
            check_pin_request(&request).map_err(UsageError)?;
            request
        }
        CommandWord::Status => ControlRequest::Status {},
        CommandWord::Rate => ControlRequest::Rate {},
        CommandWord::Pause => ControlRequest::Pause {},
        CommandWord::Resume => ControlRequest::Resume {},
        CommandWord::Split => ControlRequest::Split {},
        CommandWord::Stop => ControlRequest::Stop {},
    })
}

/// A text may begin with a dash, as a time does. So a flag that does not exist would be taken for
/// one.
fn check_no_flag(text: &str) -> Result<(), UsageError> {
    let is_text_meant = std::env::args_os().any(|typed| typed == "--");
    if is_text_meant || !text.starts_with("--") {
        return Ok(());
    }
    Err(UsageError(format!(
        "there is no flag {text}: see `sustain control --help`. A text that begins so is given \
         behind --"
    )))
}

fn number_of_pin(flags: &ControlFlags) -> Result<u32, UsageError> {
    let Some(typed) = flags.text.as_ref().or(flags.pin.as_ref()) else {
        let why = "the number of the pin is required, as in `sustain control SOCKET unpin 3`: \
                   `sustain list` and `status` show them";
        return Err(UsageError(why.to_owned()));
    };
    typed.parse().map_err(|_| {
        let what = "is not the number of a pin: `sustain list` and `status` show them";
        UsageError(format!("{typed:?} {what}"))
    })
}

/// The beginning and the end of what is to be pinned, if they are given as -30s..+10s, or only the
/// beginning, as -30s.
fn stretch(flags: &ControlFlags) -> Option<(Option<String>, Option<String>)> {
    let text = flags.text.as_deref()?;
    let is_given_twice = flags.from.is_some() || flags.around.is_some();
    if flags.command != CommandWord::Pin || is_given_twice {
        return None;
    }
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    match text.split_once("..") {
        Some((from, to)) => Some((given(from), given(to))),
        None => text.starts_with('-').then(|| (given(text), None)),
    }
}

fn connect(path: &Path) -> anyhow::Result<UnixStream> {
    let name = path.display();
    let usage = |why: String| Err(UsageError(format!("{name}: {why}")).into());
    let length = path.as_os_str().len();
    if length > PATH_BYTES_MAX {
        return usage(format!(
            "this path has {length} bytes, and the kernel takes at most {PATH_BYTES_MAX} for a \
             socket: change to its directory, and name it from there"
        ));
    }
    match path.metadata() {
        Ok(found) if !found.file_type().is_socket() => {
            return usage("it is not a socket: name that of `sustain record --control`".to_owned());
        }
        _ => {}
    }
    match connect_in_time(path) {
        Ok(socket) => Ok(socket),
        Err(error) => match error.kind() {
            ErrorKind::TimedOut => bail!(
                "{name}: the connection was not taken for {} s: what listens there is stopped, or \
                 has too many clients",
                ANSWER_WITHIN.as_secs()
            ),
            ErrorKind::ConnectionRefused => usage(
                "no recording listens on this socket: the recorder that made it was killed. The \
                 next recording with this --control replaces the socket"
                    .to_owned(),
            ),
            ErrorKind::NotFound => usage(
                "there is no such socket: is a recording running with --control, under this name?"
                    .to_owned(),
            ),
            ErrorKind::PermissionDenied => usage(
                "permission denied: only root and the user who records may command a recording"
                    .to_owned(),
            ),
            _ if error.raw_os_error() == Some(Errno::PROTOTYPE.raw_os_error()) => usage(
                "it is a socket of another kind, on which no recorder listens: name the one of \
                 `sustain record --control`"
                    .to_owned(),
            ),
            _ => usage(error.to_string()),
        },
    }
}

/// Where too many wait to be accepted, connecting waits, too. The thread that does so then goes
/// with the process.
fn connect_in_time(path: &Path) -> std::io::Result<UnixStream> {
    let (sender, connected) = channel();
    let path = path.to_owned();
    let connecting = std::thread::Builder::new().name("sustain-connect".to_owned());
    connecting.spawn(move || sender.send(UnixStream::connect(path)))?;
    let timed_out = |_| Err(ErrorKind::TimedOut.into());
    connected
        .recv_timeout(ANSWER_WITHIN)
        .unwrap_or_else(timed_out)
}

/// Sends the request and returns the line of the answer.
fn ask(socket: &UnixStream, request: &ControlRequest, path: &Path) -> anyhow::Result<String> {
    let name = path.display();
    let within = match request {
        ControlRequest::Split {} | ControlRequest::Pin { .. } | ControlRequest::Unpin { .. } => {
            DURABLE_WITHIN
        }
        _ => ANSWER_WITHIN,
    };
    socket.set_write_timeout(Some(ANSWER_WITHIN))?;
    let line = reader::write_request(request)?;
    let mut sender = socket;
    // Who refuses a client may have answered and closed before it was asked.
    let _ = sender.write_all(line.as_bytes());
    match read_line(socket, within) {
        Ok(answer) if answer.is_empty() => bail!(
            "{name}: it gave no answer: the recording has ended, or this user may not command it, \
             which only root and the user who records may, or what listens there is no recorder"
        ),
        Ok(answer) if answer.ends_with(b"\n") => String::from_utf8(answer)
            .map_err(|_| anyhow!("{name}: {}", no_recorder("it is not UTF-8"))),
        Ok(_) => bail!("{name}: {}", no_recorder("its line has no end")),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => bail!(
            "{name}: no answer for {} s: the recorder is still creating its store or opening its \
             members, or its process was stopped, or its disks do not answer, or what listens \
             there is no recorder",
            within.as_secs()
        ),
        Err(error) => bail!("{name}: the answer cannot be read: {error}"),
    }
}

/// Reads one line with its end, or what there is of it when the other side closes, or has sent more
/// than any answer has.
fn read_line(mut socket: &UnixStream, within: Duration) -> std::io::Result<Vec<u8>> {
    let start = Clock::Real.now();
    let mut line = Vec::new();
    let mut some = [0; 4096];
    while line.len() < ANSWER_BYTES_MAX {
        let passed = Duration::from_nanos(Clock::Real.now().since_ns(start));
        let left = within.saturating_sub(passed);
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        let count = match socket.read(&mut some) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // It had closed without having read what was asked.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => return Err(error),
        };
        let come = &some[..count];
        let end = come.iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(&come[..end.map_or(count, |end| end + 1)]);
        if end.is_some() {
            break;
        }
    }
    Ok(line)
}
