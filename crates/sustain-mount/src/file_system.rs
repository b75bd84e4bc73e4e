//! Answers the kernel's requests. Several threads call it at once.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, Request,
};

use crate::contents::{ListedEntry, MountContents, NodeFailure};
use crate::cursor::ReadFailure;
use crate::lock::lock;
use crate::node::MountNode;

/// What does not change soon is asked for again after so long.
const KNOWN_FOR: Duration = Duration::from_secs(1);
/// Requests that the kernel may have waiting for what it reads ahead.
const BACKGROUND_MAX: u16 = 64;
/// `.` and `..` come before all other entries of a directory.
const OWN_ENTRIES: u64 = 2;
/// A recording that would get the inode number of another one has another number in the store.
const GENERATION: Generation = Generation(0);

/// The file system of a mount.
pub(crate) struct RecordingFiles {
    contents: MountContents,
    /// The text of each `recording.json` that is open: it stays as it was when it was opened.
    documents: Mutex<HashMap<u64, Arc<String>>>,
    next_handle: AtomicU64,
    /// Whether reads go past the page cache, into the memory of whoever reads. Each byte is copied
    /// once less then, and no page has to be found for it.
    is_direct: bool,
    /// Whether it was said that the store is gone.
    has_said_gone: AtomicBool,
    say: fn(&str),
}

impl RecordingFiles {
    pub(crate) fn new(contents: MountContents, say: fn(&str)) -> RecordingFiles {
        RecordingFiles {
            contents,
            documents: Mutex::default(),
            next_handle: AtomicU64::new(1),
            is_direct: false,
            has_said_gone: AtomicBool::new(false),
            say,
        }
    }

    fn documents(&self) -> MutexGuard<'_, HashMap<u64, Arc<String>>> {
        lock(&self.documents)
    }

    fn attributes(&self, node: MountNode) -> Result<(FileAttr, Duration), NodeFailure> {
        let (attributes, may_change) = self.contents.attributes(node)?;
        let known_for = if may_change {
            Duration::ZERO
        } else {
            KNOWN_FOR
        };
        Ok((attributes, known_for))
    }

    fn errno(&self, failure: NodeFailure) -> Errno {
        match failure {
            NodeFailure::Absent => Errno::ENOENT,
            NodeFailure::NoDirectory => Errno::ENOTDIR,
            NodeFailure::Directory => Errno::EISDIR,
            NodeFailure::Busy => Errno::EAGAIN,
            NodeFailure::Gone => Errno::ESTALE,
            NodeFailure::Replaced => {
                if !self.has_said_gone.swap(true, Ordering::Relaxed) {
                    (self.say)(
                        "another store was created in the place of the one that is mounted: \
                         nothing can be read here any more. Unmount it and mount the new one",
                    );
                }
                Errno::ESTALE
            }
            NodeFailure::Read(ReadFailure::Lost) => Errno::EIO,
            NodeFailure::Read(ReadFailure::Unfinished) => Errno::ENOENT,
            NodeFailure::Read(ReadFailure::Members(error)) => {
                (self.say)(&format!("reading the store failed: {error}"));
                Errno::EIO
            }
        }
    }

    fn open_document(&self, slot: u16) -> Result<FileHandle, NodeFailure> {
        let text = Arc::new(self.contents.document(slot)?);
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        self.documents().insert(handle, text);
        Ok(FileHandle(handle))
    }
}

fn node_of(inode: INodeNo) -> Result<MountNode, NodeFailure> {
    MountNode::of(inode).ok_or(NodeFailure::Absent)
}

impl Filesystem for RecordingFiles {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What a kernel does not know or allow, it does without.
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        let _ = config.set_max_background(BACKGROUND_MAX);
        // Without this a file that is read past the page cache could not be mapped into memory.
        let with_maps = config.add_capabilities(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP);
        self.is_direct = with_maps.is_ok();
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = node_of(parent).and_then(|parent| {
            // No name here has other bytes than UTF-8.
            let name = name.to_str().ok_or(NodeFailure::Absent)?;
            self.attributes(self.contents.named(parent, name)?)
        });
        match found {
            Ok((attributes, known_for)) => reply.entry(&known_for, &attributes, GENERATION),
            Err(failure) => reply.error(self.errno(failure)),
        }
    }

    fn getattr(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        match node_of(inode).and_then(|node| self.attributes(node)) {
            Ok((attributes, known_for)) => reply.attr(&known_for, &attributes),
            Err(failure) => reply.error(self.errno(failure)),
        }
    }

    fn open(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match node_of(inode) {
            // Its length may change from one moment to the next, so the kernel must not go by it.
            Ok(MountNode::Document(slot)) => match self.open_document(slot) {
                Ok(handle) => reply.opened(handle, FopenFlags::FOPEN_DIRECT_IO),
                Err(failure) => reply.error(self.errno(failure)),
            },
            // Bytes of a stream never change, so what was mapped of it before is right.
            Ok(_) if self.is_direct => {
                let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_KEEP_CACHE;
                reply.opened(FileHandle(0), flags);
            }
            Ok(_) => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE),
            Err(failure) => reply.error(self.errno(failure)),
        }
    }

    fn read(
        &self,
        _request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        // The kernel names the owner of a read past the page cache. Pages it asks for without one,
        // and takes what they lack for zeros.
        let may_be_short = owner.is_some();
        let document = self.documents().get(&handle.0).cloned();
        if let Some(text) = document {
            let start = text
                .len()
                .min(usize::try_from(offset).unwrap_or(usize::MAX));
            let end = text.len().min(start.saturating_add(size as usize));
            return reply.data(&text.as_bytes()[start..end]);
        }
        let read =
            node_of(inode).and_then(|node| self.contents.read(node, offset, size, may_be_short));
        match read {
            Ok(read) => reply.data(read.bytes()),
            Err(failure) => reply.error(self.errno(failure)),
        }
    }

    fn release(
        &self,
        _request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.documents().remove(&handle.0);
        reply.ok();
    }

    fn readdir(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let directory = match node_of(inode) {
            Ok(directory) => directory,
            Err(failure) => return reply.error(self.errno(failure)),
        };
        // The kernel gives back the offset of the last entry that it has.
        let own = [(directory, "."), (self.contents.parent(directory), "..")];
        for (place, (node, name)) in (1..).zip(own).skip(offset.min(OWN_ENTRIES) as usize) {
            if reply.add(node.inode(), place, FileType::Directory, name) {
                return reply.ok();
            }
        }
        let from = offset.saturating_sub(OWN_ENTRIES);
        let mut add = |(place, node, kind, name): ListedEntry<'_>| {
            reply.add(node.inode(), place + OWN_ENTRIES + 1, kind, name)
        };
        match self.contents.list(directory, from, &mut add) {
            Ok(()) => reply.ok(),
            Err(failure) => reply.error(self.errno(failure)),
        }
    }
}
