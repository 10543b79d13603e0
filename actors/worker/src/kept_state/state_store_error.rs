//! Why the store of a worker failed.

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateStoreError {
    /// sled refused it.
    #[error("the worker's state store failed: {0}")]
    Sled(#[from] sled::Error),
    /// The file system refused it.
    #[error("the worker's state store failed: {0}")]
    Io(#[from] std::io::Error),
    /// It failed and could not be opened again. The next try follows after a pause.
    #[error("the worker's state store cannot be opened again: {0}")]
    Resting(String),
    /// Another process has opened it.
    #[error("the state directory {0} is in use by another process; give each worker its own")]
    InUse(String),
    /// Another version of the program wrote it.
    #[error(
        "the worker's state store has a value of version {0}, which this version of reelyard does not \
         know. Start the version of reelyard that wrote it"
    )]
    Version(u8),
    /// It cannot be read.
    #[error(
        "the worker's state store is damaged ({0}). Stop the worker, remove its state directory and start \
         it again. Only reports that no node has received yet are lost"
    )]
    Damaged(String),
}
