//! What a worker goes by that may change while it runs.

use std::path::PathBuf;
use std::time::Duration;

use reelyard_actors::downloader::dial::Dial;
use reelyard_actors::downloader::external::ExternalProgram;
use reelyard_actors::downloader::partials::KeepFor;
use reelyard_actors::downloader::room::Capacity;
use reelyard_actors::token::SharedToken;

use super::{ExternalSettings, WorkerSettings};

/// The dials of one worker; those who go by them have clones.
pub(super) struct Dials {
    pub token: Dial<Option<SharedToken>>,
    pub storage_limit_percent: Dial<u32>,
    pub capacity: Dial<Capacity>,
    pub keep_for: Dial<KeepFor>,
    pub poll_interval: Dial<Duration>,
    pub external: Dial<Option<ExternalProgram>>,
    /// The directory of temporary files, as other programs find it; none for a worker that is only
    /// a source.
    temp_dir: Option<PathBuf>,
}

impl Dials {
    /// As these settings have them.
    pub fn at(settings: &WorkerSettings, temp_dir: Option<PathBuf>) -> Self {
        Dials {
            token: settings.token.clone().into(),
            storage_limit_percent: settings.storage_limit_percent.into(),
            capacity: settings.capacity.into(),
            keep_for: settings.keep_for.into(),
            poll_interval: settings.poll_interval.into(),
            external: external(settings, temp_dir.as_ref()).into(),
            temp_dir,
        }
    }

    /// As these settings have them from now on.
    pub fn turn(&self, settings: &WorkerSettings) {
        self.token.turn(settings.token.clone());
        self.storage_limit_percent.turn(settings.storage_limit_percent);
        self.capacity.turn(settings.capacity);
        self.keep_for.turn(settings.keep_for);
        self.poll_interval.turn(settings.poll_interval);
        self.external.turn(external(settings, self.temp_dir.as_ref()));
    }
}

fn external(settings: &WorkerSettings, temp_dir: Option<&PathBuf>) -> Option<ExternalProgram> {
    let ExternalSettings { program, success, timeout, grace } = settings.external.clone()?;
    Some(ExternalProgram { program, success, timeout, grace, temp_dir: temp_dir?.clone() })
}
