//! State that all requests for links share.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use reelyard_core::clock::{Clock, Millis};
use reelyard_core::supervision::Route;
use reelyard_file_server::certificate::Certificate;
use reelyard_shares::share_expiry::{Share, ShareViewHandle, TakeDownload};
use tokio::sync::watch;

use crate::access::passwords::Passwords;
use crate::access::roots::Roots;
use crate::access::throttle::Throttle;
use crate::access_log::LinkAccessLog;
use crate::counters::LinkCounts;
use crate::operator_warnings::OperatorWarnings;
use crate::other_nodes::OtherNodes;
use crate::serving::archive::ArchiveLimiter;
use crate::serving::page_handoff::PageHandoff;
use crate::serving::watch::DownloadWatch;
use crate::settings::ShareServerSettings;

/// State that all requests share.
pub(crate) struct ShareServerState {
    pub(crate) settings: ShareServerSettings,
    pub(crate) roots: Roots,
    pub(crate) views: ShareViewHandle,
    pub(crate) take: Route<TakeDownload>,
    pub(crate) others: Option<Arc<dyn OtherNodes>>,
    pub(crate) clock: Clock,
    pub(crate) not_ready: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    pub(crate) certificate: Arc<dyn Fn() -> Option<Certificate> + Send + Sync>,
    pub(crate) counts: Arc<LinkCounts>,
    /// Key that signs the cookies.
    pub(crate) cookie_key: [u8; 32],
    pub(crate) guesses: Throttle<IpAddr>,
    pub(crate) passwords: Passwords,
    pub(crate) archives: ArchiveLimiter,
    pub(crate) warnings: OperatorWarnings,
    /// Whether an invalid header of a proxy was already logged.
    pub(crate) warned_of_proxy: AtomicBool,
    pub(crate) pages: PageHandoff,
    /// Files that are open for other nodes.
    pub(crate) for_others: watch::Sender<usize>,
    pub(crate) access_log: LinkAccessLog,
}

impl ShareServerState {
    /// The time that decides about deadlines, also before a step of the clock is confirmed.
    pub(crate) fn refusal_time(&self) -> Millis {
        self.views.moment(&self.clock).latest
    }

    /// The watch over a download of `share` that starts now.
    pub(crate) fn watch(&self, share: &Share) -> DownloadWatch {
        DownloadWatch::new(
            (self.views.clone(), self.clock.clone(), Arc::clone(&self.not_ready)),
            share,
            self.settings.cut_at_deadline,
        )
    }
}

/// The name of a share for visitors.
pub(crate) trait DisplayName {
    /// Name of the file or directory; for a whole root, the name of the root.
    fn display_name(&self) -> &str;
}

impl DisplayName for Share {
    fn display_name(&self) -> &str {
        self.path().file_name().unwrap_or(self.root().as_str())
    }
}
