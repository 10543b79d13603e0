//! The webhooks of a node: one actor per configured webhook.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_rt::{ArbiterHandle, System};
use reelyard_core::actor_parts::{ChangeSettings, ViewHandle};
use reelyard_core::clock::Clock;
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::supervision::{Supervised, Supervision, SupervisionStatus};
use reelyard_shares::webhook::{
    Webhook, WebhookCollaborators, WebhookName, WebhookSettings, WebhookView,
};
use reqwest::Client;

use crate::node::live_config::ActiveConfig;
use crate::node::settings;

/// The current webhooks.
pub struct WebhookActors {
    arbiter: ArbiterHandle,
    clock: Clock,
    others: WebhookCollaborators,
    hooks: Mutex<BTreeMap<WebhookName, WebhookActor>>,
}

/// The actor of one webhook with its view and settings.
struct WebhookActor {
    actor: Supervised<Webhook>,
    view: ViewHandle<WebhookView>,
    /// Current settings; a restarted actor reads them too.
    by: LiveSetting<(WebhookSettings, Client)>,
}

impl WebhookActors {
    /// Starts without webhooks. All their actors run on the arbiter of this call.
    pub(super) fn new(clock: Clock, others: WebhookCollaborators) -> Self {
        let arbiter = System::current().arbiter().clone();
        WebhookActors { arbiter, clock, others, hooks: Mutex::default() }
    }

    /// Starts, changes and stops actors to match the configuration.
    pub(in crate::node) fn apply_config(&self, in_force: &ActiveConfig) {
        let wanted = settings::hooks(&in_force.config);
        let mut hooks = self.hooks();
        hooks.retain(|name, hook| {
            let stays = wanted.contains_key(name);
            if !stays {
                // The backlog is known on the node that sends; it is 0 on others.
                match hook.view.load().backlog {
                    0 => tracing::info!(hook = %name, "webhook removed, all events were delivered"),
                    undelivered => tracing::warn!(
                        hook = %name,
                        undelivered,
                        "webhook removed with undelivered events, which are lost"
                    ),
                }
                let actor = hook.actor.clone();
                self.arbiter.spawn(async move { actor.stop().await });
            }
            stays
        });
        for (name, settings) in wanted {
            match hooks.entry(name) {
                Entry::Occupied(hook) => hook.get().change(settings, &in_force.webhooks),
                Entry::Vacant(place) => {
                    let hook = self.start(place.key().clone(), settings, in_force);
                    place.insert(hook);
                }
            }
        }
    }

    fn start(
        &self,
        name: WebhookName,
        settings: WebhookSettings,
        in_force: &ActiveConfig,
    ) -> WebhookActor {
        let view = WebhookView::new(name.clone(), settings.url.to_string());
        let view = ViewHandle::new(view);
        let http = in_force.webhooks.clone();
        let by = LiveSetting::at((settings, http));
        let (view_handle, in_use) = (view.clone(), by.clone());
        let (clock, others) = (self.clock.clone(), self.others.clone());
        let supervision = Supervision::of(&format!("webhook {name}"));
        let actor = Supervised::start_on(&self.arbiter, supervision, move || {
            let (settings, http) = in_use.now().as_ref().clone();
            let (clock, others) = (clock.clone(), others.clone());
            Webhook::new(name.clone(), settings, http, clock, others, view_handle.clone())
        });
        WebhookActor { actor, view, by }
    }

    /// State of each webhook, sorted by name.
    pub fn views(&self) -> Vec<Arc<WebhookView>> {
        self.hooks().values().map(|hook| hook.view.load()).collect()
    }

    /// Supervision state of their actors.
    pub(super) fn statuses(&self) -> Vec<SupervisionStatus> {
        self.hooks().values().map(|hook| hook.actor.status()).collect()
    }

    /// Stops all webhooks.
    pub(super) async fn stop(&self) {
        let hooks = std::mem::take(&mut *self.hooks());
        for hook in hooks.into_values() {
            hook.actor.stop().await;
        }
    }

    fn hooks(&self) -> MutexGuard<'_, BTreeMap<WebhookName, WebhookActor>> {
        // No code under this lock can panic during a change.
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WebhookActor {
    fn change(&self, settings: WebhookSettings, http: &Client) {
        // With https, the trusted certificates of the system may have changed too.
        if self.by.now().0 != settings || settings.url.is_https() {
            self.by.set((settings.clone(), http.clone()));
            self.actor.addr().do_send(ChangeSettings((settings, http.clone())));
        }
    }
}
