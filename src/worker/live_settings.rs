//! Settings of a worker that may change while it runs.

use std::path::PathBuf;
use std::time::Duration;

use reelyard_core::live_setting::LiveSetting;
use reelyard_core::token::SharedToken;
use reelyard_file_server::certificate::Certificate;
use reelyard_protocol::tls::ClientTls;
use reelyard_worker::downloader::disk::room::Capacity;
use reelyard_worker::downloader::fetching::partials::KeepFor;
use reelyard_worker::downloader::legacy::external_program::ExternalProgram;

use super::{ExternalSettings, WorkerSettings};

/// The changeable settings of one worker; their users have clones.
pub(super) struct LiveWorkerSettings {
    pub token: LiveSetting<Option<SharedToken>>,
    pub certificate: LiveSetting<Option<Certificate>>,
    pub data_certificate: LiveSetting<Option<Certificate>>,
    /// TLS of connections to sources.
    pub source_tls: LiveSetting<ClientTls>,
    pub storage_limit_percent: LiveSetting<u32>,
    pub capacity: LiveSetting<Capacity>,
    pub keep_for: LiveSetting<KeepFor>,
    pub poll_interval: LiveSetting<Duration>,
    pub external: LiveSetting<Option<ExternalProgram>>,
    /// Directory of temporary files as external programs see it; none for a worker that is only a
    /// source.
    temp_dir: Option<PathBuf>,
}

impl LiveWorkerSettings {
    /// Starts with these settings.
    pub fn from_settings(settings: &WorkerSettings, temp_dir: Option<PathBuf>) -> Self {
        LiveWorkerSettings {
            token: settings.token.clone().into(),
            certificate: settings.certificate.clone().into(),
            data_certificate: settings.data_certificate.clone().into(),
            source_tls: ClientTls::trusting(settings.authorities.clone()).into(),
            storage_limit_percent: settings.storage_limit_percent.into(),
            capacity: settings.capacity.into(),
            keep_for: settings.keep_for.into(),
            poll_interval: settings.poll_interval.into(),
            external: external(settings, temp_dir.as_ref()).into(),
            temp_dir,
        }
    }

    /// Applies these settings.
    pub fn set(&self, settings: &WorkerSettings) {
        self.token.set(settings.token.clone());
        self.certificate.set(settings.certificate.clone());
        self.data_certificate.set(settings.data_certificate.clone());
        self.source_tls.set(ClientTls::trusting(settings.authorities.clone()));
        self.storage_limit_percent.set(settings.storage_limit_percent);
        self.capacity.set(settings.capacity);
        self.keep_for.set(settings.keep_for);
        self.poll_interval.set(settings.poll_interval);
        self.external.set(external(settings, self.temp_dir.as_ref()));
    }
}

fn external(settings: &WorkerSettings, temp_dir: Option<&PathBuf>) -> Option<ExternalProgram> {
    let ExternalSettings { program, success, timeout, grace } = settings.external.clone()?;
    Some(ExternalProgram { program, success, timeout, grace, temp_dir: temp_dir?.clone() })
}
