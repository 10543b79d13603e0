//! The interface between a node and its Reelyard workers. Old cfws do not use it.
//!
//! - `GET  /api/v1/workers/{host}/tasks?known=1,2&wait=25s` (node): a long poll. Answers [`TaskOrders`] at
//!   once if the host has a ready task outside `known`, or if a task in `known` no longer belongs to the
//!   host. Otherwise it answers when this becomes true or `wait` ends. `wait=0s` is answered at once: so a
//!   worker finds out which program answers. With `&rates=` and the number of the last answer, a changed
//!   rate is also a reason to answer.
//! - `POST /api/v1/workers/{host}/reports` (node): [`Reports`], answered by [`ReportsTaken`].
//! - `GET  /info` (worker): [`WorkerInfo`], with the current load of its link.
//! - `POST /boxes/run`, `POST /boxes/look` (worker): see [`super::boxes`].
//! - `GET  /inventory` (worker): one line per file, `size modified-ms percent-encoded-name`, then a last
//!   line `end <count>`; a list without it is incomplete and is refused. The header `Reelyard-Inventory`
//!   carries a cursor ([`InventoryCursor`]) if the worker notices changes.
//! - `GET  /inventory?since=<cursor>` (worker): the changes since then. An answer with the header
//!   `Reelyard-Inventory-Since` (the same cursor) has lines of two kinds, and then `end <count>`. `+ size
//!   modified-ms name` is a file that exists; it may have been replaced. `- name` is a name without a file.
//!   Each name appears once, in any order. An answer without that header is a full list. The worker was
//!   restarted, no longer has changes of that age, or its version has no cursors.
//! - `DELETE /files/{name}` (worker): cfw's call. With the header `Reelyard-Epoch` the worker refuses it
//!   with 412 if it knows a higher epoch, obeys another cluster, or the epoch is too high.
//! - `POST /adopt` (worker): the worker obeys the calling node (both headers) from now on in that
//!   epoch, regardless of earlier epochs: [`WorkerAdopted`]. For an operator, by `reelyard hosts adopt`.
//! - A node identifies itself in its calls of `/inventory` and `DELETE`: the header `Reelyard-Manager`
//!   holds its [`ManagerId`]. The worker lists in `/info` the managers that called it.
//! - `GET /masters/{percent-encoded absolute path}` and `GET /copies/{name}` (worker's data port):
//!   the bytes, with Range. `GET /hashes/masters/{..}` and `GET /hashes/copies/{name}`:
//!   [`FileHash`], once it is known; 202 while it is computed (ask again), 409 when the file was
//!   changed meanwhile. Bytes and hash carry the file's identity as `ETag`, and the bytes the hash
//!   (`Reelyard-Blake3`) where it is known. All four carry a ticket (see the downloader) when the worker
//!   has a token.
//!
//! **Versions:** JSON names its members, so bodies have no version number. A member is never renamed or
//! removed. A new one is optional, left out while it has no value, and ignored by earlier programs. A test
//! keeps the bodies of every version (`sent_bodies.txt`).
//!
//! Where node and workers share a token, every call of these is signed with it (see
//! [`crate::signed_call`]), except those of the data port. The node's answers and the answer of `/info`
//! carry a proof. Only a program that answers 401 with a challenge ever gets a signature, and the token is
//! never sent.

use std::collections::HashSet;
use std::fmt;
use std::net::SocketAddr;

use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::host::{BitsPerSecond, HostAddr};
use reelyard_core::manager::ManagerId;
use reelyard_core::names::FileName;
use reelyard_core::traffic::Traffic;
use serde::{Deserialize, Serialize};

/// Header of a call that deletes: the epoch of the leader that decided it.
pub const EPOCH_HEADER: &str = "Reelyard-Epoch";

/// Header of an answer with a file's bytes: the BLAKE3 hash of the whole file of the `ETag`, in hex. It is
/// missing if the source does not know the hash yet. A client that gets it need not ask for the hash.
pub const CONTENT_HASH_HEADER: &str = "Reelyard-Blake3";

/// Header of an inventory: the cursor for the next request for changes.
pub const INVENTORY_HEADER: &str = "Reelyard-Inventory";

/// Header of an inventory with changes only: the cursor of the request.
pub const INVENTORY_SINCE_HEADER: &str = "Reelyard-Inventory-Since";

/// A point in the changes of one worker's inventory. Written as `<instance, hex>.<change>`; its parts have
/// a meaning only for the worker that created it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InventoryCursor {
    /// One unbroken watch of one worker.
    pub instance: u64,
    /// The number of changes that it had seen.
    pub change: u64,
}

impl std::fmt::Display for InventoryCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}.{}", self.instance, self.change)
    }
}

/// A text is no [`InventoryCursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the inventory cursor is invalid: expected <hex>.<number>, as in the last file list of this worker"
)]
pub struct BadInventoryCursor;

impl std::str::FromStr for InventoryCursor {
    type Err = BadInventoryCursor;

    fn from_str(text: &str) -> Result<Self, BadInventoryCursor> {
        let (instance, change) = text.split_once('.').ok_or(BadInventoryCursor)?;
        Ok(InventoryCursor {
            instance: u64::from_str_radix(instance, 16).map_err(|_| BadInventoryCursor)?,
            change: change.parse().map_err(|_| BadInventoryCursor)?,
        })
    }
}

/// The number of a task: Unix nanoseconds at creation, unique. cfm writes it as a string.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(transparent)]
pub struct TaskId(pub i64);

impl std::fmt::Display for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A BLAKE3 hash of a whole file; 64 hex digits in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Hash, utoipa::ToSchema)]
#[schema(value_type = String, pattern = "^[0-9a-f]{64}$")]
pub struct ContentHash(pub [u8; 32]);

impl std::fmt::Display for ContentHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl std::fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

impl Serialize for ContentHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            let hash = blake3::Hash::from_hex(&text).map_err(serde::de::Error::custom)?;
            Ok(ContentHash(*hash.as_bytes()))
        } else {
            <[u8; 32]>::deserialize(deserializer).map(ContentHash)
        }
    }
}

/// One copy for a worker to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TaskOrder {
    /// Id of the task.
    pub id: TaskId,
    /// Name of the file.
    pub name: FileName,
    /// The directory of the master on the source.
    pub dir: String,
    /// Address of the source's worker.
    pub source: HostAddr,
    /// The source's data port, as the node knows it; without it the worker asks the source's
    /// `/info`.
    #[schema(value_type = Option<String>, required)]
    pub source_data: Option<SocketAddr>,
    /// Whether `source_data` uses TLS. The destination checks the certificate of the source.
    #[serde(default, skip_serializing_if = "is_false")]
    pub source_data_tls: bool,
    /// Whether the source answers `/info` over TLS only.
    #[serde(default, skip_serializing_if = "is_false")]
    pub source_tls: bool,
    /// The master's size when the task was planned, in bytes.
    pub size: u64,
    /// The highest rate; no limit if none. It may change during the copy.
    #[schema(required)]
    pub copy_speed: Option<BitsPerSecond>,
    /// Tickets for the source's data port. Without them, the worker signs tickets with the token that it shares with
    /// the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tickets: Option<CopyTickets>,
}

/// Members that say no are left out: earlier programs did not send them.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference.
fn is_false(value: &bool) -> bool {
    !value
}

/// Tickets of the node for one copy: they admit the destination at the data port of the source, to this file only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct CopyTickets {
    /// For the bytes of the master.
    pub master: String,
    /// For the hash of the master.
    pub hash: String,
}

impl fmt::Debug for CopyTickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CopyTickets(not shown)")
    }
}

/// Answer of the long poll: every ready or running task of this host. The worker gives up tasks that are
/// missing here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TaskOrders {
    /// The epoch of the leader that answers. The worker keeps the highest epoch that it has seen.
    pub epoch: Epoch,
    /// The tasks, best first.
    pub tasks: Vec<TaskOrder>,
    /// Number of the rates of these tasks. A worker that sends it gets an answer at once when the
    /// rates differ. A node of a version without changing rates sends none, and ignores the
    /// parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<u32>,
    /// The cluster that gives these orders. Missing if the node does not know its id yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub manager: Option<ManagerId>,
}

impl TaskOrders {
    /// An answer of the leader of `epoch`.
    pub fn new(epoch: Epoch, tasks: Vec<TaskOrder>) -> Self {
        let rates = tasks.iter().fold(0, |sum, task| {
            let rate = task.copy_speed.map_or(0, |rate| rate.0);
            let sum = crc32c::crc32c_append(sum, &task.id.0.to_le_bytes());
            crc32c::crc32c_append(sum, &rate.to_le_bytes())
        });
        TaskOrders { epoch, tasks, rates: Some(rates), manager: None }
    }

    /// Whether the list has something new for a worker that knows these tasks. That is a new task, a
    /// missing task, or other rates than those with the worker's number, if the worker sends one.
    pub fn is_news_for(&self, known: &HashSet<TaskId>, rates: Option<u32>) -> bool {
        let ordered: HashSet<TaskId> = self.tasks.iter().map(|order| order.id).collect();
        ordered != *known || (rates.is_some() && rates != self.rates)
    }
}

/// The side that caused a failed copy. Only this side gets a backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Blame {
    /// The source cannot be reached, closed the connection, or cannot read its disk.
    Source,
    /// The destination's disk is full or fails.
    Destination,
    /// The file itself: its master is missing, is no regular file, or changes during the copy.
    File,
    /// The pair of hosts: the bytes arrived with errors, or the destination cannot fetch from that source.
    Pair,
}

/// A worker's report about a task. Postcard numbers the variants in this order, and reports are stored: add
/// new variants at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum ReportedState {
    /// The worker began the copy.
    Working,
    /// The copy continues: a sign of life.
    Progress {
        /// Bytes on the destination's disk so far.
        bytes: u64,
    },
    /// The copy is verified and synced, and has its final name.
    Done {
        /// Size of the copy in bytes.
        size: u64,
        /// Its hash, which equals that of the source.
        hash: ContentHash,
    },
    /// The worker gave the copy up.
    Failed {
        /// The side that caused the failure.
        blame: Blame,
        /// Cause of the failure, for people.
        reason: String,
    },
    /// The copy is synced and has its final name, but its source is an old cfw and sent no hash to compare.
    DoneUnverified {
        /// Size of the copy in bytes.
        size: u64,
        /// Its hash, computed from the received bytes.
        hash: ContentHash,
    },
}

/// One report. The worker keeps reports of ends until they were taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Report {
    /// Id of the task.
    pub task: TaskId,
    /// The file, so that a node that has forgotten the task still records the copy.
    pub name: FileName,
    /// When it happened, by the worker's clock.
    pub at: Millis,
    /// The progress or the end of the task.
    #[serde(rename = "said")]
    pub state: ReportedState,
}

impl Report {
    /// Whether the task is over for this worker.
    pub fn is_end(&self) -> bool {
        matches!(
            self.state,
            ReportedState::Done { .. }
                | ReportedState::DoneUnverified { .. }
                | ReportedState::Failed { .. }
        )
    }
}

/// Body of `POST .../reports`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Reports {
    /// In the order in which they happened.
    pub reports: Vec<Report>,
}

/// Answer to reports. Each report was taken (durably, for `Done` and `Failed`) or will never be taken, so
/// the worker may forget all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ReportsTaken {
    /// The epoch of the leader that answers.
    pub epoch: Epoch,
    /// Reported tasks that no longer belong to this host: the worker must cancel them.
    pub cancelled: Vec<TaskId>,
}

/// Answer of `GET /info`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerInfo {
    /// Program name, always `reelyard`.
    pub program: String,
    /// The program's version.
    pub version: String,
    /// The worker's identity.
    pub host: HostAddr,
    /// Where its data port listens.
    pub data_listen: SocketAddr,
    /// Whether its data port uses TLS.
    #[serde(default, skip_serializing_if = "is_false")]
    pub data_tls: bool,
    /// The highest epoch that it has seen.
    pub epoch: Epoch,
    /// Whether it serves masters.
    pub source: bool,
    /// Whether it takes copies.
    pub destination: bool,
    /// Whether it can fetch from old cfws too, which have no data port.
    #[serde(default)]
    pub fetches_from_old: bool,
    /// Names of the hooks that it has for boxes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub box_hooks: Vec<String>,
    /// Managers that called it recently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managers: Vec<ManagerSeen>,
    /// Current load of its link. Missing while it is not known, and from workers of versions that do not
    /// measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
}

/// Answer of `POST /adopt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerAdopted {
    /// The epoch that applies from now on.
    pub epoch: Epoch,
    /// The highest epoch that the worker knew before.
    pub before: Epoch,
}

/// Action of a manager on a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ManagerAction {
    /// It requests the inventory.
    Lists,
    /// It deletes, or tries to.
    Deletes,
    /// The worker obeys its orders.
    Orders,
}

/// A manager that called a worker recently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagerSeen {
    /// Node and cluster of the manager. Missing for callers that send none: an old cfm, or a
    /// person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manager: Option<ManagerId>,
    /// The caller's address: an IP, or the address that the worker itself asks for orders.
    pub from: String,
    /// Kind of its last call.
    pub does: ManagerAction,
    /// Time of its first such call, if that is still remembered.
    pub first: Millis,
    /// Time of its last such call.
    pub last: Millis,
    /// Number of such calls.
    pub times: u64,
}

/// Answer of `GET /hashes/..`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHash {
    /// Number of hashed bytes.
    pub size: u64,
    /// BLAKE3 hash of these bytes.
    pub blake3: ContentHash,
}
