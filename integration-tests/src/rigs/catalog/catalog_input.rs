//! Input files of the catalogue as the feeder and the load balancer write them: grade.info, hitcount.history
//! and the event log. The bytes are built first. One of three writers then writes them, because names need
//! not be UTF-8, and because programs replace, overwrite or append to inputs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::Path;

/// The first instant of the real log's day in Seoul: 2018-06-03, in Unix seconds.
pub const MIDNIGHT_IN_SEOUL: i64 = 1_527_951_600;

/// The name of generated file number `index`, in the shape of the real ones.
pub fn media_name(index: usize) -> String {
    format!("MZ3I{:04}SGL{:07}_K20180602{:06}.mpg", index / 10_000, index, index % 1_000_000)
}

/// A grade.info that lists `names`, best first.
pub fn grade_info<N: AsRef<[u8]>>(names: impl IntoIterator<Item = N>) -> Vec<u8> {
    let mut bytes = b"filename\tweightcount\tbitrate\tgrade\tsumHitCount\thistoryCount\t\
                      TargetCopyCount\n"
        .to_vec();
    for (index, name) in names.into_iter().enumerate() {
        bytes.extend_from_slice(name.as_ref());
        let hits = 1_000_000_usize.saturating_sub(index);
        let class = index / 1000 + 1;
        bytes.extend_from_slice(format!("\t{hits}\t6439600\t{class}\t{hits}\t24\t5\n").as_bytes());
    }
    bytes
}

/// One row of hitcount.history.
#[derive(Clone, Debug)]
pub struct HitcountHistoryRow<N> {
    /// The name of the file, as bytes: it need not be UTF-8.
    pub name: N,
    /// Its size in bytes.
    pub size: u64,
    /// The IP addresses of the servers that hold the file.
    pub holders: Vec<IpAddr>,
}

/// The bytes of a hitcount.history with `rows`.
pub fn hitcount_history<N: AsRef<[u8]>>(
    rows: impl IntoIterator<Item = HitcountHistoryRow<N>>,
) -> Vec<u8> {
    let mut bytes = b"historyheader:1524047082\n".to_vec();
    for HitcountHistoryRow { name, size, holders } in rows {
        let holders: Vec<String> = holders.iter().map(IpAddr::to_string).collect();
        let holders = holders.join(" ");
        bytes.extend_from_slice(name.as_ref());
        let rest = format!(",1508301143,6399785,{size},{holders},2,0,0,1=1 2\n");
        bytes.extend_from_slice(rest.as_bytes());
    }
    bytes
}

/// A row of the event log: a client asked for `name` at `seconds` and was sent to `server`.
pub fn selection(name: impl AsRef<[u8]>, seconds: i64, server: IpAddr) -> Vec<u8> {
    let head = format!(
        "0x40ffff,1,{seconds},Server {server} Selected for Client StreamID : \
         cd500575-e89e-4ec9-ad51-ac2f1038b31e, ClientID : 0, GLB IP : 125.147.36.6's file("
    );
    [head.as_bytes(), name.as_ref(), b") Request\n"].concat()
}

/// A row of the event log: no server has `name`.
pub fn not_found(name: impl AsRef<[u8]>, seconds: i64) -> Vec<u8> {
    let head = format!(
        "0x40ffff,4,{seconds},File Not Found, UUID : 00b5d2df-47a1-4266-b33a-93abdeaad28a, \
         GLB IP : 125.144.93.6, "
    );
    [head.as_bytes(), name.as_ref(), b"\n"].concat()
}

/// An event log of `files` names over `seconds` from `start` on. Each second has one selection of each file,
/// and every client is sent to `watched`.
pub fn event_log(files: usize, start: i64, seconds: i64, watched: IpAddr) -> Vec<u8> {
    let stamps = start..start + seconds;
    stamps
        .flat_map(|at| (0..files).map(move |index| selection(media_name(index), at, watched)))
        .flatten()
        .collect()
}

/// The file name of the event log for a day.
pub fn event_log_name(year: u16, month: u8, day: u8) -> String {
    format!("EventLog[{year:04}{month:02}{day:02}].log")
}

/// Writes `bytes` to a new file and renames it to `path`, as careful writers do.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, bytes)?;
    fs::rename(&beside, path)
}

/// Overwrites the file at `path` with `bytes`, as careless writers do.
pub fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    File::create(path)?.write_all(bytes)
}

/// Appends `bytes` to the file at `path`. Creates the file if necessary.
pub fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(bytes)
}
