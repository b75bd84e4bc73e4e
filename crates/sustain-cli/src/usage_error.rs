//! What was wrong with a command line that could be read: flags that contradict each other, names
//! that mean nothing here.

/// An error in the use of flags, such as flags that contradict each other.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}
