//! The settings of the ShareFilesActor.

use std::time::Duration;

use reelyard_core::settings;

settings! {
    /// The detection of missing shared files.
    pub struct ShareFilesSettings {
        /// A share ends when its file has been missing for this long. A file that is replaced keeps
        /// its links.
        removed_after: Duration = Default "30s",
        /// Interval of the slow check that the files of all shares exist. A missing file is also
        /// noticed when its link is used.
        sweep_interval: Duration = Default "6h",
    }
}
