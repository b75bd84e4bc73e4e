//! An error either has its cause in its words or returns it as its source. Whoever prints an error
//! with its sources, as the command does, then says each of them once.

use std::error::Error as StdError;
use std::io;
use std::path::Path;

use sustain::disk::error::Error;
use sustain::disk::simulated::MachineFile;
use sustain::document::measure::MeasureResult;
use sustain::document::reader;
use sustain::host::HostError;
use sustain::measure::LoadError;
use sustain::record::format::StartNote;
use sustain::record::source::synthetic::SyntheticSpec;
use sustain::{MeasureError, RecordError};

fn io_error() -> io::Error {
    io::Error::from_raw_os_error(11)
}

fn engine_failed() -> Error {
    Error::EngineFailed {
        engine: "io_uring",
        error: io_error(),
    }
}

#[test]
fn no_error_tells_its_cause_twice() {
    let errors: Vec<Box<dyn StdError>> = vec![
        Box::new(engine_failed()),
        Box::new(Error::Memory {
            bytes: 4096,
            error: io_error(),
        }),
        Box::new(HostError::KernelLog { error: io_error() }),
        Box::new(MachineFile::read(Path::new("no such machine.toml")).unwrap_err()),
        Box::new(reader::read::<MeasureResult>("{").unwrap_err()),
        Box::new(StartNote::from_json(b"{").unwrap_err()),
        Box::new("test:fast".parse::<SyntheticSpec>().unwrap_err()),
        Box::new(LoadError::from(engine_failed())),
        Box::new(MeasureError::from(engine_failed())),
        Box::new(RecordError::from(engine_failed())),
        Box::new(RecordError::Thread(io_error())),
    ];
    for error in errors {
        let mut words = vec![error.to_string()];
        let mut cause = error.source();
        while let Some(source) = cause {
            words.push(source.to_string());
            cause = source.source();
        }
        for (index, cause) in words.iter().enumerate().skip(1) {
            let told = words[..index].iter().any(|earlier| earlier.contains(cause));
            assert!(!told, "{error:?} tells twice: {cause}");
        }
    }
}

#[test]
fn a_thread_that_cannot_be_started_is_no_error_of_usage() {
    let error = RecordError::Thread(io_error());
    assert!(!error.is_usage());
    let words = format!("{error}: {}", error.source().unwrap());
    assert!(words.contains("ulimit -u"), "{words}");
    assert!(
        words.contains("Resource temporarily unavailable"),
        "{words}"
    );
}
