//! The tables `[catalog]` and `[event_log]`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use reelyard_core::{setting_words, settings};

use super::zone::Zone;
use crate::settings::watched_servers::WatchedServers;

settings! {
    /// The ranking of the files.
    pub struct CatalogConfig {
        /// Path of grade.info. Without it there is no ranking.
        grade_info_file: Option<PathBuf> = Optional "/data/.grade.info" [node],
        /// Path of hitcount.history. It holds sizes and the hosts of each file.
        hitcount_history_file: Option<PathBuf> = Optional "/data/.hitcount.history" [node],
        /// How the node notices changes of these files, of `source_dirs` and of the event log.
        /// "auto" uses notifications of the kernel where they work; they do not work on NFS. "poll"
        /// only looks every `poll_interval`.
        watch: WatchMode = Default "auto" [node],
        /// Interval between two looks at these files and at `source_dirs`. It also applies with
        /// "auto".
        poll_interval: Duration = Default "2s",
        /// A changed file is read after it has been unchanged for this long, so that no
        /// half-written file is read. A file that arrives by rename is read at once.
        settle: Duration = Default "1s",
        /// A file that never stops changing is read after this time.
        settle_limit: Duration = Default "30s",
        /// Whether the node copies hot files that grade.info does not name.
        ungraded_hot: bool = Default "false",
    }
}

settings! {
    /// The log of the load balancer, `EventLog[YYYYMMDD].log`. A file becomes hot when no
    /// destination could serve its requests. Hot files are copied first.
    pub struct EventLogConfig {
        /// Directory of the log. Without it no file becomes hot.
        dir: Option<PathBuf> = Optional "/var/log/glb" [node],
        /// Address of the centre's server. It gets the requests that no destination could serve.
        /// Allowed are one address, a list, or a pattern: { pattern = '125\.159\.40\.(3|4)' }. A
        /// pattern is a regular expression for the whole address; this one does not match
        /// 125.159.40.35. Without the setting every request counts.
        watch_address: Option<WatchedServers> = Optional "125.159.40.3",
        /// A request counts for this long.
        window: Duration = Default "10m",
        /// Number of requests within the window that make a file hot.
        hit_base: NonZeroU32 = Default "3",
        /// Time zone whose midnight starts a new log file: "system" or an IANA name such as
        /// "Asia/Seoul".
        time_zone: Zone = Default "system",
    }
}

/// How changes of the inputs are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchMode {
    /// The kernel reports changes if it can. Other inputs are only polled.
    Auto,
    /// The inputs are only polled.
    Poll,
}

setting_words!(WatchMode: "auto" => Auto, "poll" => Poll);
