//! The settings of the boxes of a worker, and the state that outlives an incarnation of their actor.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use reelyard_core::live_setting::LiveSetting;
use tokio::sync::{Semaphore, watch};

use super::hooks::HookSets;
use super::ownership::claims::BoxClaims;
use super::settings::BoxHostConfig;
use super::views::BoxHostView;
use crate::kept_state::epoch_guard::EpochGuard;

/// The operator's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxHostSettings {
    /// The configured sets of hooks, by name.
    pub hooks: HookSets,
    /// How many hooks are run at a time.
    pub at_once: usize,
}

impl BoxHostSettings {
    /// The settings of an operator.
    pub fn of(config: &BoxHostConfig) -> Self {
        BoxHostSettings {
            hooks: config.hooks.sets().clone(),
            at_once: config.hooks_at_once.get() as usize,
        }
    }
}

/// The state that outlives an incarnation of the actor.
pub(super) struct BoxHostShared {
    pub settings: LiveSetting<BoxHostSettings>,
    pub epochs: EpochGuard,
    /// The pools that own boxes of this worker.
    pub owners: BoxClaims,
    /// The directory of the paths that identify boxes. No file ever exists there.
    pub marks: PathBuf,
    /// How many hooks run, of every incarnation.
    pub(super) at_work: watch::Sender<usize>,
    pub looks: Semaphore,
    pub(super) view: ArcSwap<BoxHostView>,
}

impl BoxHostShared {
    pub async fn nothing_at_work(&self) {
        // This keeps the sender alive.
        let _ = self.at_work.subscribe().wait_for(|hooks| *hooks == 0).await;
    }

    pub fn change_view(&self, change: impl Fn(&mut BoxHostView)) {
        self.view.rcu(|view| {
            let mut view = BoxHostView::clone(view);
            change(&mut view);
            view
        });
    }
}

/// One running hook; it ends when this is dropped.
pub(super) struct RunningHookGuard(Arc<BoxHostShared>);

impl RunningHookGuard {
    pub fn new(shared: &Arc<BoxHostShared>) -> Self {
        shared.at_work.send_modify(|hooks| *hooks += 1);
        RunningHookGuard(Arc::clone(shared))
    }
}

impl Drop for RunningHookGuard {
    fn drop(&mut self) {
        self.0.at_work.send_modify(|hooks| *hooks -= 1);
    }
}
