//! What flags of several commands take: one word of a few.

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineFlag {
    Auto,
    #[value(name = "io_uring")]
    IoUring,
    Libaio,
    PosixAio,
    Threads,
    Sync,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PathFlag {
    Direct,
    Buffered,
    Passthrough,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutFlag {
    Independent,
    Turns,
    Stripe,
    Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MdFlag {
    Raid0,
}
