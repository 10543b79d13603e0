//! A new database with the live content of another. Rows are copied without decoding.

use std::fs;
use std::path::Path;

use crate::store::StoreError;
use crate::store::database::head::StoreHead;
use crate::store::database::log;
use crate::store::database::sled_database::{guarded, open_log_file, open_sled};
use crate::store::database::snapshot_chunks::tree_name;
use crate::store::database::trees::Trees;
use crate::store::record;

/// Bytes written between two flushes: sled holds them in memory until then.
const FLUSH_BYTES: usize = 8 << 20;

/// One item of a store, as it is stored.
pub(crate) enum StoreItem {
    /// A row of the log, framed as it is stored.
    Row { index: u64, record: Vec<u8> },
    /// A chunk of the current snapshot.
    Chunk { number: u64, chunk: u64, record: Vec<u8> },
}

impl StoreItem {
    fn bytes(&self) -> usize {
        let (StoreItem::Row { record, .. } | StoreItem::Chunk { record, .. }) = self;
        record.len()
    }
}

/// Passes every live item of a store to `take`: first the snapshot, then the log.
pub(crate) fn each_item(
    trees: &Trees,
    mut take: impl FnMut(StoreItem) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    guarded(|| {
        if let Some(manifest) = trees.snapshot() {
            let number = manifest.number;
            for chunk in 0..manifest.chunks() {
                let body = trees.chunk(&manifest, chunk)?;
                let link = crate::store::database::snapshot_chunks::chunk_link(number, chunk);
                let (record, _) = record::frame_linked(link, &body);
                take(StoreItem::Chunk { number, chunk, record })?;
            }
        }
        trees.log.each_record(&mut |index, record| take(StoreItem::Row { index, record }))
    })
}

/// A database that is being made.
pub(crate) struct NewDatabase {
    db: sled::Db,
    log_file: fs::File,
    unflushed: usize,
}

impl NewDatabase {
    /// Creates an empty database in `path`, and removes earlier content.
    pub(crate) fn create(path: &Path) -> Result<Self, StoreError> {
        remove_tree(path)?;
        let db = open_sled(path)?;
        let log_file = open_log_file(path)?;
        Ok(NewDatabase { db, log_file, unflushed: 0 })
    }

    /// Adds one item, and flushes after each [`FLUSH_BYTES`].
    pub(crate) fn add(&mut self, item: StoreItem) -> Result<(), StoreError> {
        guarded(|| {
            self.unflushed += item.bytes();
            match item {
                StoreItem::Row { index, record } => {
                    let tree = self.db.open_tree(log::segment_name(index))?;
                    tree.insert(index.to_be_bytes(), record)?;
                }
                StoreItem::Chunk { number, chunk, record } => {
                    let tree = self.db.open_tree(tree_name(number))?;
                    tree.insert(chunk.to_be_bytes(), record)?;
                }
            }
            if self.unflushed >= FLUSH_BYTES {
                self.unflushed = 0;
                self.db.flush()?;
            }
            Ok(())
        })
    }

    /// Writes the head, and makes everything durable.
    pub(crate) fn finish(self, head: &StoreHead) -> Result<(), StoreError> {
        guarded(move || {
            head.write(&self.db)?;
            self.db.flush()?;
            self.log_file.sync_data()?;
            drop(self);
            Ok(())
        })
    }
}

/// Removes a directory with its contents, if it exists.
pub(crate) fn remove_tree(path: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
