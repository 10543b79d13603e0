//! The parts and settings that every copy of one worker needs.

use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Clock;
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::token::SharedToken;
use reelyard_core::traffic::ByteCount;
use reelyard_protocol::tls::ClientTls;

use super::known_sources::{DataPorts, IdleSourceLinks};
use crate::downloader::disk::base_dir::BaseDir;
use crate::downloader::fetching::partials::Partials;
use crate::downloader::fetching::source_link::SourceTimeouts;
use crate::downloader::legacy::external_program::ExternalProgram;
use crate::downloader::settings::DiskConfig;

/// The resources that every copy of one worker needs.
pub struct Fetcher {
    /// The directory of the copies.
    pub base: Arc<BaseDir>,
    /// Interrupted copies that can be resumed.
    pub partials: Arc<Partials>,
    /// No copy begins while more than this percentage of the disk is used.
    pub storage_limit_percent: LiveSetting<u32>,
    /// Signs the tickets for the source.
    pub token: LiveSetting<Option<SharedToken>>,
    /// Makes connections to sources with TLS.
    pub tls: LiveSetting<ClientTls>,
    /// How long a source may take.
    pub timeouts: SourceTimeouts,
    /// How an interrupted copy is resumed.
    pub resume: ResumePolicy,
    /// The clock by which tickets expire.
    pub clock: Clock,
    /// The program that fetches from old cfws. None refuses such copies.
    pub external: LiveSetting<Option<ExternalProgram>>,
    /// Received bytes of copies so far.
    pub received: ByteCount,
    pub(super) links: IdleSourceLinks,
    pub(super) data_ports: DataPorts,
}

/// How an interrupted copy is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumePolicy {
    /// How many times in a row it is resumed at once without a further byte, before it is reported as
    /// failed.
    pub tries: u32,
    /// The pause after the first lost connection. Each further pause is three times as long.
    pub pause: Duration,
    /// How often a running copy stores its position.
    pub keep_every: Duration,
}

impl Default for ResumePolicy {
    fn default() -> Self {
        let (pause, keep_every) = (Duration::from_millis(100), Duration::from_secs(2));
        ResumePolicy { tries: 4, pause, keep_every }
    }
}

impl Fetcher {
    /// A fetcher into `base` with the clock `clock`, and defaults for everything else.
    pub fn new(base: Arc<BaseDir>, partials: Arc<Partials>, clock: Clock) -> Self {
        Fetcher {
            base,
            partials,
            storage_limit_percent: LiveSetting::at(DiskConfig::default().limit_percent.get()),
            token: LiveSetting::default(),
            tls: LiveSetting::default(),
            timeouts: SourceTimeouts::default(),
            resume: ResumePolicy::default(),
            clock,
            external: LiveSetting::default(),
            received: ByteCount::default(),
            links: IdleSourceLinks::default(),
            data_ports: DataPorts::default(),
        }
    }
}
