//! The webhooks of a node: an actor for each that the configuration names.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_rt::{ArbiterHandle, System};
use arc_swap::ArcSwap;
use reelyard_actors::clock::Clock;
use reelyard_actors::supervision::{Supervised, Supervision, SupervisionStatus};
use reelyard_actors::webhook::{
    ChangeWebhookSettings, Webhook, WebhookCollaborators, WebhookName, WebhookSettings,
    WebhookView, WebhookViewHandle,
};
use reqwest::Client;

use super::live_config::ActiveConfig;
use super::settings;

/// The webhooks there are at present.
pub struct WebhookActors {
    arbiter: ArbiterHandle,
    clock: Clock,
    others: WebhookCollaborators,
    hooks: Mutex<BTreeMap<WebhookName, WebhookActor>>,
}

/// One of them.
struct WebhookActor {
    actor: Supervised<Webhook>,
    view: WebhookViewHandle,
    /// What it goes by, also after a restart.
    by: Arc<ArcSwap<ChangeWebhookSettings>>,
}

impl WebhookActors {
    /// None yet. Their actors live where the system began, whoever starts them.
    pub(super) fn new(clock: Clock, others: WebhookCollaborators) -> Self {
        let arbiter = System::current().arbiter().clone();
        WebhookActors { arbiter, clock, others, hooks: Mutex::default() }
    }

    /// Has those that the configuration names, each as that says.
    pub(super) fn apply_config(&self, in_force: &ActiveConfig) {
        let wanted = settings::hooks(&in_force.config);
        let mut hooks = self.hooks();
        hooks.retain(|name, hook| {
            let stays = wanted.contains_key(name);
            if !stays {
                // On the node that tells it; others know of none.
                match hook.view.load().backlog {
                    0 => tracing::info!(hook = %name, "webhook removed, all events were delivered"),
                    untold => tracing::warn!(
                        hook = %name,
                        untold,
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
        let view = WebhookViewHandle::new(ArcSwap::from_pointee(view));
        let http = in_force.webhooks.clone();
        let by = Arc::new(ArcSwap::from_pointee(ChangeWebhookSettings { settings, http }));
        let (shown, in_use) = (Arc::clone(&view), Arc::clone(&by));
        let (clock, others) = (self.clock.clone(), self.others.clone());
        let supervision = Supervision::of(&format!("webhook {name}"));
        let actor = Supervised::start_on(&self.arbiter, supervision, move || {
            let ChangeWebhookSettings { settings, http } =
                ChangeWebhookSettings::clone(&in_use.load());
            let (clock, others) = (clock.clone(), others.clone());
            Webhook::new(name.clone(), settings, http, clock, others, Arc::clone(&shown))
        });
        WebhookActor { actor, view, by }
    }

    /// How each stands, by name.
    pub fn views(&self) -> Vec<Arc<WebhookView>> {
        self.hooks().values().map(|hook| hook.view.load_full()).collect()
    }

    /// How their actors are.
    pub(super) fn statuses(&self) -> Vec<SupervisionStatus> {
        self.hooks().values().map(|hook| hook.actor.status()).collect()
    }

    /// Stops them all.
    pub(super) async fn stop(&self) {
        let hooks = std::mem::take(&mut *self.hooks());
        for hook in hooks.into_values() {
            hook.actor.stop().await;
        }
    }

    fn hooks(&self) -> MutexGuard<'_, BTreeMap<WebhookName, WebhookActor>> {
        // Nothing in here can panic half-way through a change.
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WebhookActor {
    fn change(&self, settings: WebhookSettings, http: &Client) {
        // Over https also whom the system trusts may have changed.
        if self.by.load().settings != settings || settings.url.is_https() {
            let change = ChangeWebhookSettings { settings, http: http.clone() };
            self.by.store(Arc::new(change.clone()));
            self.actor.addr().do_send(change);
        }
    }
}
