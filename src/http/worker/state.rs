//! State of the HTTP handlers of a worker.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::Clock;
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::token::SharedToken;
use reelyard_file_server::certificate::Certificate;
use reelyard_protocol::signed_call::SignedCallVerifier;
use reelyard_protocol::worker::WorkerInfo;
use reelyard_worker::box_host::BoxHostHandle;
use reelyard_worker::downloader::disk::base_dir::BaseDir;
use reelyard_worker::downloader::disk::inventory::InventoryService;
use reelyard_worker::downloader::legacy::external_program::ExternalProgram;
use reelyard_worker::downloader::managers::node_link::NodeLinkView;
use reelyard_worker::downloader::managers::seen_managers::SeenManagersHandle;
use reelyard_worker::kept_state::epoch_guard::EpochGuard;
use reelyard_worker::traffic::gauge::LinkGauge;

use crate::http::metrics::WorkerFigures;

/// State of the HTTP handlers of a worker.
pub struct WorkerHttp {
    /// Directory of the copies; none for a worker that is only a source.
    pub base: Option<Arc<BaseDir>>,
    /// Lists of the copies, complete or as changes; none for a worker that is only a source.
    pub inventory: Option<Arc<InventoryService>>,
    /// Refuses deletions that a deposed leader decided.
    pub epochs: EpochGuard,
    /// With a token, `DELETE`, `/info`, `/inventory` and `/boxes` need it, or a signature made with
    /// it. cfw's open calls (`/hb`, `/files`, `/df`) stay open, because an old cfm must be able to
    /// read them.
    pub token: LiveSetting<Option<SharedToken>>,
    /// Verifies signed calls.
    pub gate: SignedCallVerifier,
    /// The managers that called this worker recently.
    pub managers: SeenManagersHandle,
    /// The hosted boxes.
    pub boxes: BoxHostHandle,
    /// Clock of the worker; simulated in tests.
    pub clock: Clock,
    /// Measures the load of the link.
    pub link: LinkGauge,
    /// The program that fetches from old cfws, if one is configured.
    pub external: LiveSetting<Option<ExternalProgram>>,
    /// The directories of the masters.
    pub source_dirs: Vec<PathBuf>,
    /// State of the connection to the node; none for a worker without a node.
    pub node: Option<ViewHandle<NodeLinkView>>,
    /// The certificate of the data port; none without TLS.
    pub data_certificate: LiveSetting<Option<Certificate>>,
    /// The constant part of the answer to `/info`.
    pub info: WorkerInfo,
    /// Sources of `/metrics`.
    pub figures: WorkerFigures,
    /// Number of names that the last `/files` omitted because they contain a line feed.
    pub unlistable_names: AtomicU64,
}

impl WorkerHttp {
    /// Number of names that the last `/files` omitted.
    pub fn unlistable_names(&self) -> u64 {
        self.unlistable_names.load(Ordering::Relaxed)
    }
}
