//! `sustain control`: says one command to a running recording over its socket, and shows the
//! answer.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use sustain::document::control::{ControlAnswer, ControlRequest};
use sustain::document::reader;
use sustain::record::check_mark_text;
use sustain::report::terminal::control_text;

use super::output;
use crate::Exit;
use crate::flags::control::{CommandWord, ControlFlags};
use crate::usage_error::UsageError;

/// A recorder answers at once; one that does not is stopped, or creates its store first.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

pub(crate) fn run(flags: &ControlFlags) -> anyhow::Result<Exit> {
    let request = request(flags)?;
    output::check_standard_output()?;
    let socket = connect(&flags.socket)?;
    let line = ask(&socket, &request, &flags.socket)?;
    let answer: ControlAnswer = reader::read(&line)?;
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

fn request(flags: &ControlFlags) -> Result<ControlRequest, UsageError> {
    let text = flags.text.clone().unwrap_or_default();
    Ok(match flags.command {
        CommandWord::Mark => {
            check_mark_text(&text).map_err(UsageError)?;
            ControlRequest::Mark { text }
        }
        _ if flags.text.is_some() => {
            let why = "only mark takes a text: quote one that has spaces";
            return Err(UsageError(why.to_owned()));
        }
        CommandWord::Status => ControlRequest::Status,
        CommandWord::Rate => ControlRequest::Rate,
        CommandWord::Pause => ControlRequest::Pause,
        CommandWord::Resume => ControlRequest::Resume,
        CommandWord::Stop => ControlRequest::Stop,
    })
}

fn connect(path: &Path) -> anyhow::Result<UnixStream> {
    let name = path.display();
    let usage = |why: String| Err(UsageError(format!("{name}: {why}")).into());
    match path.metadata() {
        Ok(found) if !found.file_type().is_socket() => {
            return usage("it is no socket: name the one of `sustain record --control`".to_owned());
        }
        _ => {}
    }
    match UnixStream::connect(path) {
        Ok(socket) => Ok(socket),
        Err(error) => match error.kind() {
            ErrorKind::ConnectionRefused => bail!(
                "{name}: nobody listens there: the recording was killed, or the machine was \
                 switched off. The next one with this --control takes its place"
            ),
            ErrorKind::NotFound => usage(
                "there is no such socket: is a recording running with --control, under this name?"
                    .to_owned(),
            ),
            ErrorKind::PermissionDenied => usage(
                "permission denied: only root and the user who records may command a recording"
                    .to_owned(),
            ),
            _ => usage(error.to_string()),
        },
    }
}

/// Sends the request and returns the line of the answer.
fn ask(socket: &UnixStream, request: &ControlRequest, path: &Path) -> anyhow::Result<String> {
    let name = path.display();
    socket.set_read_timeout(Some(ANSWER_WITHIN))?;
    socket.set_write_timeout(Some(ANSWER_WITHIN))?;
    let line = reader::write_request(request)?;
    let mut answer = String::new();
    let mut sender = socket;
    let asked = sender.write_all(line.as_bytes());
    let answered = asked.and_then(|()| BufReader::new(socket).read_line(&mut answer));
    match answered {
        Ok(_) if answer.ends_with('\n') => Ok(answer),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => bail!(
            "{name}: no answer for {} s: the recorder is still creating its store or opening its \
             members, or its process was stopped",
            ANSWER_WITHIN.as_secs()
        ),
        Ok(_) | Err(_) => bail!(
            "{name}: it gave no answer: the recording has ended, or this user may not command it, \
             which only root and the user who records may"
        ),
    }
}
