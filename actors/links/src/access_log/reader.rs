//! Reads the lines of one share from the access log.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::storage;

/// A page reads at most this number of bytes, so that a large log cannot keep a thread busy.
const LARGEST_READ: u64 = 64 << 20;

/// A logged download.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LinkAccessRow {
    v: u32,
    /// Time of the end of the download, in RFC 3339.
    pub at: String,
    /// Id of the share.
    pub share: String,
    /// Address of the visitor, or its network.
    pub address: String,
    /// "file" or "zip".
    pub part: String,
    /// HTTP status of the answer.
    pub status: u16,
    /// Sent bytes of the body.
    pub bytes: u64,
    /// The program of the visitor.
    #[serde(default)]
    pub user_agent: Option<String>,
}

/// Some downloads, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkAccessPage {
    /// The downloads.
    pub rows: Vec<LinkAccessRow>,
    /// Number of newer downloads that the next page leaves out. None at the end.
    pub next: Option<usize>,
}

/// Reads the access log.
#[derive(Clone, Debug)]
pub struct LinkAccessReader {
    place: PathBuf,
    is_dir: bool,
}

impl LinkAccessReader {
    pub(super) fn own(dir: &Path) -> Self {
        LinkAccessReader { place: dir.to_owned(), is_dir: true }
    }

    pub(super) fn foreign(file: &Path) -> Self {
        LinkAccessReader { place: file.to_owned(), is_dir: false }
    }

    /// At most `limit` downloads of a share, newest first, without the newest `skip` ones.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn page(&self, share: &str, skip: usize, limit: usize) -> io::Result<LinkAccessPage> {
        let mut files = match self.is_dir {
            false => vec![self.place.clone()],
            true => {
                let all = storage::list(&self.place)?;
                all.into_iter().map(|file| storage::path(&self.place, file)).collect()
            }
        };
        files.reverse();
        let (mut left, mut seen, mut page) = (LARGEST_READ, 0, LinkAccessPage::default());
        for file in files {
            let bytes = read_end(&file, left)?;
            left -= bytes.len() as u64;
            let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
            lines.reverse();
            for line in lines {
                let row = serde_json::from_slice::<LinkAccessRow>(line);
                let Ok(row) = row.map(|row| Some(row).filter(|row| row.share == share)) else {
                    continue;
                };
                let Some(row) = row.filter(|row| row.v == 1) else { continue };
                seen += 1;
                if seen <= skip {
                    continue;
                }
                if page.rows.len() == limit {
                    page.next = Some(skip + limit);
                    return Ok(page);
                }
                page.rows.push(row);
            }
            if left == 0 {
                break;
            }
        }
        Ok(page)
    }
}

/// The last bytes of a file; nothing if it does not exist.
fn read_end(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
