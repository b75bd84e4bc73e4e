//! Steps that each member takes at its own pace. A member that does not answer does not hold up the
//! others, and is not waited for without end.

use sustain_disk::buffer::{AlignedBytes, Buffer};
use sustain_disk::clock::Timestamp;
use sustain_disk::engine::{Completion, Operation, Request, Until, Vector, Vectors};
use sustain_disk::error::{Error, IoFault};

use super::{IO_ERROR, MemberIo};

/// One step on a member. The next one begins when it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MemberStep {
    /// Writes whole blocks at an offset from the start of the member.
    Write {
        offset_bytes: u64,
        bytes: Vec<u8>,
    },
    Flush,
}

impl MemberStep {
    /// The operation and its offset, for messages.
    pub(crate) fn name(&self) -> (Operation, u64) {
        match self {
            MemberStep::Write { offset_bytes, .. } => (Operation::Write, *offset_bytes),
            MemberStep::Flush => (Operation::Flush, 0),
        }
    }
}

/// How far a member came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepsEnd {
    /// All steps are done.
    Done,
    /// This step failed.
    Failed { step: usize, errno: IoFault },
    /// This step has not returned for so long that it is not waited for any longer.
    Silent { step: usize, waited_ns: u64 },
}

/// How long to wait for members after any of them has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepsPatience {
    /// The wait once one of them is done.
    pub(crate) for_others_ns: u64,
    /// The wait as long as none is done.
    pub(crate) for_first_ns: u64,
}

/// The progress of one member.
struct Walker {
    step: usize,
    begun_at: Timestamp,
    end: Option<StepsEnd>,
}

impl MemberIo {
    /// Carries out the steps of each member in their order, and returns how far each came. If
    /// requests have not returned, the engine and their memory are kept as long as the process
    /// lives.
    ///
    /// # Errors
    /// [`Error::EngineFailed`], [`Error::Memory`]. Then anything may still be in flight.
    pub(crate) fn take_steps(
        mut self,
        steps: &[Vec<MemberStep>],
        patience: StepsPatience,
    ) -> Result<Vec<StepsEnd>, Error> {
        let mut walkers = Vec::new();
        let walked = self.walk(steps, patience, &mut walkers);
        let is_done = |walker: &Walker| walker.end.is_some();
        if walked.is_err() || !walkers.iter().all(is_done) {
            let now = self.clock.now();
            // Closing the engine would wait for requests that do not return.
            std::mem::forget(self);
            walked?;
            for walker in walkers.iter_mut().filter(|walker| !is_done(walker)) {
                walker.end = Some(StepsEnd::Silent {
                    step: walker.step,
                    waited_ns: now.since_ns(walker.begun_at),
                });
            }
        }
        Ok(walkers
            .into_iter()
            .filter_map(|walker| walker.end)
            .collect())
    }

    fn walk(
        &mut self,
        steps: &[Vec<MemberStep>],
        patience: StepsPatience,
        walkers: &mut Vec<Walker>,
    ) -> Result<(), Error> {
        let mut answered_at = self.clock.now();
        for (member, steps) in steps.iter().enumerate() {
            walkers.push(Walker {
                step: 0,
                begun_at: answered_at,
                end: None,
            });
            self.begin_step(member, steps, &mut walkers[member])?;
        }
        let mut completions = Vec::new();
        while walkers.iter().any(|walker| walker.end.is_none()) {
            let is_any_done = walkers
                .iter()
                .any(|walker| walker.end == Some(StepsEnd::Done));
            let until = if is_any_done {
                answered_at + patience.for_others_ns
            } else {
                answered_at + patience.for_first_ns
            };
            if self.clock.now() >= until {
                break;
            }
            let engine = self.engine.as_mut().expect("it is not broken");
            engine.wait(Until::CompletionOr(until), &mut completions)?;
            for completion in completions.drain(..) {
                answered_at = self.clock.now();
                let member = completion.request.target;
                let walker = &mut walkers[member];
                match error_of(&completion) {
                    Some(errno) => {
                        let step = walker.step;
                        walker.end = Some(StepsEnd::Failed { step, errno });
                    }
                    None => {
                        walker.step += 1;
                        walker.begun_at = answered_at;
                        self.begin_step(member, &steps[member], walker)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn begin_step(
        &mut self,
        member: usize,
        steps: &[MemberStep],
        walker: &mut Walker,
    ) -> Result<(), Error> {
        let request = match steps.get(walker.step) {
            None => {
                walker.end = Some(StepsEnd::Done);
                return Ok(());
            }
            Some(MemberStep::Flush) => Request::flush(member),
            Some(MemberStep::Write {
                offset_bytes,
                bytes,
            }) => {
                let mut memory = AlignedBytes::new(bytes.len())?;
                memory.copy_from_slice(bytes);
                let buffer = Buffer::foreign(Box::new(memory));
                let buffer = buffer.expect("an allocation for direct I/O may be written from");
                Request {
                    operation: Operation::Write,
                    offset_bytes: *offset_bytes,
                    vectors: Vectors::One(Vector::new(buffer, 0, bytes.len())),
                    ..Request::flush(member)
                }
            }
        };
        let engine = self.engine.as_mut().expect("it is not broken");
        engine.submit(request);
        Ok(())
    }
}

fn error_of(completion: &Completion) -> Option<IoFault> {
    let is_short = completion.bytes < completion.request.vectors.len_bytes();
    completion.error.or(is_short.then_some(IO_ERROR))
}
