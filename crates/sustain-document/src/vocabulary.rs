//! The closed sets that several documents share: what was driven, in which direction, by which
//! engine and path, and how targets were used together. In documents each value is written by its
//! name in lower case; `Display` gives the same name.

closed_set! {
    /// The direction of the bytes.
    pub enum Direction {
        /// From the target.
        Read,
        /// To the target.
        Write,
    }
}

closed_set! {
    /// The operation of a request.
    pub enum Operation {
        /// Moves bytes from the target into the buffers.
        Read,
        /// Moves bytes from the buffers to the target.
        Write,
        /// Makes durable everything that completed before.
        Flush,
    }
}

closed_set! {
    /// The I/O path through the kernel.
    pub enum DataPath {
        /// Past the page cache (O_DIRECT).
        Direct,
        /// Through the page cache.
        Buffered,
        /// Past the block layer as well: NVMe or SCSI commands.
        Passthrough,
    }
}

closed_set! {
    /// The kind of data that is written.
    pub enum DataKind {
        /// Incompressible bytes, a few of them new for each write.
        Fresh,
        /// Incompressible bytes, every one of them new for each write, as a source's are. This
        /// takes CPU time, and shows the rate of a disk that reads memory through the CPU's caches.
        Rewritten,
        /// Zeros.
        Zero,
    }
}

closed_set! {
    /// The kind of a target.
    pub enum TargetKind {
        /// A disk or partition.
        BlockDevice,
        /// A file that the user named.
        File,
        /// An unnamed file of this program in a directory that the user named; it is gone when it
        /// is closed, however that happens.
        ScratchFile,
        /// /dev/null, which shows what the program itself can do.
        Null,
        /// A disk of a simulated machine.
        Simulated,
    }
}

closed_set! {
    /// The engine that is wanted.
    pub enum EngineChoice {
        /// io_uring, else native AIO, else threads.
        Auto,
        /// io_uring or an error.
        IoUring,
        /// Native AIO or an error.
        Libaio,
        /// POSIX AIO, as the C library implements it.
        #[serde(rename = "posix-aio")]
        #[strum(serialize = "posix-aio")]
        PosixAio,
        /// Blocking threads.
        Threads,
        /// One blocking request at a time.
        Sync,
    }
}

closed_set! {
    /// How several targets are used together.
    pub enum LayoutKind {
        /// Each target has its own stream.
        Independent,
        /// Each target has its own stream, and one thread submits one record to each in turn, in
        /// the order in which they are listed.
        Turns,
        /// One stream in chunks over the targets in order, as RAID 0.
        Stripe,
        /// One stream, one target after the other.
        Span,
        /// An array of the kernel, level 0.
        #[serde(rename = "md-raid0")]
        #[strum(serialize = "md-raid0")]
        MdRaid0,
    }
}

closed_set! {
    /// The reason why a target's run ended.
    pub enum Ending {
        /// Its time was over.
        Time,
        /// All bytes asked for were moved.
        Bytes,
        /// The end of the device was reached.
        EndOfDevice,
        /// The rate was steady, which was to end it.
        Steady,
        /// The user stopped it.
        Interrupted,
        /// A request failed.
        Error,
        /// There was no space left.
        Full,
        /// The source had no more.
        Source,
    }
}

closed_set! {
    /// Why an experiment of many runs ended.
    pub enum ExperimentEnd {
        /// It is complete, or its budget is spent.
        Done,
        /// The user ended it.
        Interrupted,
    }
}
