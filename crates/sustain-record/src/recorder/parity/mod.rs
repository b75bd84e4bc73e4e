//! Parity while it is recorded: which appends protect each other, and the sums over them.

mod groups;

pub(in crate::recorder) use groups::{GroupChange, Groups, Joined};
