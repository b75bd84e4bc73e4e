//! The recorder makes filled appends durable. This module has its parts, and the handles that the
//! sources and the observers of a recording hold.
//!
//! ```text
//! Filling -> Filled -> Inlet -> RecordFeed -> Driver -> Engine
//!                                   |  ledger, scatter, member
//!                                   +-> Board: watermarks, gaps, members
//! ```

mod board;
mod channel;
mod cuts;
mod earlier;
mod engine_setup;
mod feed;
mod filled;
mod frame_meter;
mod gauge;
mod giver;
mod hand_over;
mod inlet;
mod intake;
mod job;
mod ledger;
mod member;
mod member_file;
mod message;
mod options;
mod parity;
mod pinning;
mod recorded;
mod recording;
mod renewing;
mod room;
mod scatter;
mod share;
mod stream_writer;
mod succession;
mod superblock_writer;
mod user_marks;
mod write;

pub use board::{
    LimitedBy, MarksStanding, MemberStanding, PinsStanding, RecordingBoard, RecordingProgress,
    StreamStanding,
};
pub use earlier::Earlier;
pub use feed::{Durability, Patience, RecordFeed, RecordSetup, StreamSetup};
pub use filled::{Filled, Filling, PayloadMemory};
pub use frame_meter::{FrameIncident, FrameMeter, FramePace, FramePoint, FrameSeries};
pub use gauge::BufferGauge;
pub use giver::{Giver, NotTaken};
pub use hand_over::HandOver;
pub use inlet::{Inlet, Offered, Polled};
pub(crate) use intake::is_readable_now;
pub use intake::{Intake, IntakeSetup, OnFull, PauseSwitch, SplitSwitch, Taken};
pub use member::{MemberSetup, MemberState, Slowness, UNFLUSHED_SLOTS_MAX};
pub use member_file::MemberFile;
pub use options::{AppendSize, RecordOptions};
pub(crate) use options::{append_bytes, check_append_size, check_parity, check_room};
pub(crate) use parity::GROUP_AGE_NS_MAX;
pub use parity::ParitySetup;
pub use pinning::{PinDesk, PinKept, PinOutcome, PinWish};
pub use recorded::{Recorded, RecordedBefore};
pub use recording::Recorder;
pub(crate) use recording::recording_end;
pub use room::{data_bytes, protected_data_bytes};
pub use scatter::ScatterWindow;
pub(crate) use share::rehearse_share;
pub use stream_writer::StreamWriter;
pub use sustain_document::share::RecorderShare;
pub use user_marks::{MARK_TEXT_BYTES_MAX, MarkKeeper, check_mark_text};
