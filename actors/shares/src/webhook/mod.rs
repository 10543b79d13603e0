#![doc = include_str!("README.md")]

mod call;
mod delivery;
#[cfg(test)]
mod delivery_tests;
mod hook_table;
mod messages;
mod settings;
mod signature;
mod views;

use std::time::{Duration, Instant};

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, SpawnHandle, WrapFuture,
};
use reqwest::Client;
use tokio::sync::watch;

pub use call::webhook_client;
pub use delivery::{DeliveryFailure, DeliveryLogEvent, DeliveryStep, FETCHED, WebhookDelivery};
pub use hook_table::{HookConfig, Hooks, WebhookConfig};
pub use messages::ChangeWebhookSettings;
pub use settings::{BadWebhookName, BadWebhookUrl, WebhookName, WebhookSettings, WebhookUrl};
pub use signature::{BadWebhookSecret, SIGNATURE_HEADER, WebhookSecret};
pub use views::{ReceiverTrouble, WebhookCounters, WebhookView, WebhookViewHandle};

use reelyard_core::clock::Clock;
use reelyard_core::event::Epoch;
use reelyard_core::supervision::Route;
use reelyard_replication::Leadership;

use crate::share_expiry::{
    FetchNotifications, GetDeliveryCursor, RecordDelivery, ShareNotification, ShareViewHandle,
};

/// The longest sleep: missed wake-ups are noticed after it.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The shortest pause between two steps of the delivery.
const SHORTEST_SLEEP: Duration = Duration::from_millis(5);

/// The shortest time between two log lines about dropped notifications.
const WARN_DROPPED_EVERY: Duration = Duration::from_secs(60);

/// The actors that a hook's actor asks.
#[derive(Clone)]
pub struct WebhookCollaborators {
    /// Fetches notifications.
    pub notifications: Route<FetchNotifications>,
    /// Asks for the cursor of the hook,
    pub cursor: Route<GetDeliveryCursor>,
    /// and records the cursor.
    pub delivered: Route<RecordDelivery>,
    /// The number of notifications.
    pub views: ShareViewHandle,
    /// The leader: only its hooks deliver.
    pub leadership: watch::Receiver<Leadership>,
    /// Writes the body of a request: the JSON of the event stream.
    pub body: fn(ShareNotification) -> serde_json::Result<Vec<u8>>,
}

/// The actor of one hook.
pub struct Webhook {
    name: WebhookName,
    delivery: WebhookDelivery,
    http: Client,
    clock: Clock,
    others: WebhookCollaborators,
    view: WebhookViewHandle,
    leadership: watch::Receiver<Leadership>,
    /// The epoch in which it delivers notifications.
    epoch: Option<Epoch>,
    /// The request to the receiver.
    sending: Option<SpawnHandle>,
    timer: Option<SpawnHandle>,
    /// The number of dropped notifications at the last log entry, and its time.
    dropped_warned: (u64, Option<Instant>),
}

/// There may be work.
#[derive(Message)]
#[rtype(result = "()")]
struct CheckDelivery;

impl Webhook {
    /// The actor of the hook `name`. `http` comes from [`webhook_client`] and is shared by all webhooks
    /// of a process.
    pub fn new(
        name: WebhookName,
        settings: WebhookSettings,
        http: Client,
        clock: Clock,
        others: WebhookCollaborators,
        view: WebhookViewHandle,
    ) -> Self {
        Webhook {
            name,
            delivery: WebhookDelivery::new(settings),
            http,
            clock,
            leadership: others.leadership.clone(),
            others,
            view,
            epoch: None,
            sending: None,
            timer: None,
            dropped_warned: (0, None),
        }
    }

    /// Carries out the due actions, and sleeps until there are more.
    fn look(&mut self, ctx: &mut Context<Self>) {
        self.follow_leadership(ctx);
        self.delivery.set_next_number(*self.others.views.notifications().borrow());
        for step in self.delivery.steps(self.clock.now()) {
            self.take(step, ctx);
        }
        self.report_dropped();
        self.show();
        self.sleep(ctx);
    }

    fn follow_leadership(&mut self, ctx: &mut Context<Self>) {
        let epoch = self.leadership.borrow().epoch();
        if epoch == self.epoch {
            return;
        }
        self.epoch = epoch;
        if let Some(sending) = self.sending.take() {
            ctx.cancel_future(sending);
        }
        match epoch {
            Some(_) => self.delivery.begin(),
            None => self.delivery.end(),
        }
    }

    fn take(&mut self, step: DeliveryStep, ctx: &mut Context<Self>) {
        let (hook, epoch) = (self.name.as_str().to_owned(), self.epoch);
        // Answers to requests of another epoch are ignored. The timer repeats a request without an answer
        // after a while.
        match step {
            DeliveryStep::AskCursor => {
                let asked = self.others.cursor.recipient().send(GetDeliveryCursor { hook });
                ctx.spawn(asked.into_actor(self).map(move |cursor, webhook, ctx| {
                    if webhook.epoch == epoch {
                        let cursor = cursor.ok().flatten();
                        webhook.delivery.set_cursor(cursor);
                        if cursor.is_some() {
                            webhook.look(ctx);
                        }
                    }
                }));
            }
            DeliveryStep::Fetch(from) => {
                let asked = FetchNotifications { from, most: FETCHED };
                let asked = self.others.notifications.recipient().send(asked);
                ctx.spawn(asked.into_actor(self).map(move |fetched, webhook, ctx| {
                    if webhook.epoch == epoch {
                        let is_answered = fetched.is_ok();
                        webhook.delivery.fetched(from, fetched.ok());
                        if is_answered {
                            webhook.look(ctx);
                        }
                    }
                }));
            }
            DeliveryStep::Count(from) => {
                let asked = FetchNotifications { from, most: FETCHED };
                let asked = self.others.notifications.recipient().send(asked);
                ctx.spawn(asked.into_actor(self).map(move |looked_at, webhook, ctx| {
                    if webhook.epoch == epoch {
                        let is_answered = looked_at.is_ok();
                        webhook.delivery.counted(from, looked_at.ok());
                        if is_answered {
                            webhook.look(ctx);
                        }
                    }
                }));
            }
            DeliveryStep::Record(up_to) => {
                let delivered = RecordDelivery { hook, up_to };
                let asked = self.others.delivered.recipient().send(delivered);
                ctx.spawn(asked.into_actor(self).map(move |recorded, webhook, _| {
                    if webhook.epoch == epoch {
                        let is_on_record = matches!(recorded, Ok(Ok(())));
                        webhook.delivery.recorded(up_to, is_on_record);
                    }
                }));
            }
            DeliveryStep::Send(notification) => self.send(*notification, ctx),
        }
    }

    fn send(&mut self, notification: ShareNotification, ctx: &mut Context<Self>) {
        let (number, settings) = (notification.number, self.delivery.settings().clone());
        let body = (self.others.body)(notification);
        let sending = call::send(self.http.clone(), settings, body, self.clock.now());
        let sending = sending.into_actor(self).map(move |result, webhook, ctx| {
            webhook.sending = None;
            let (now, seed) = (webhook.clock.now(), fastrand::u64(..));
            let news = webhook.delivery.sent(number, result, now, seed);
            webhook.log(news);
            webhook.look(ctx);
        });
        self.sending = Some(ctx.spawn(sending));
    }

    fn log(&self, news: Option<DeliveryLogEvent>) {
        let hook = &self.name;
        match news {
            Some(DeliveryLogEvent::Fails) => {
                let reason = self.delivery.trouble().map(|trouble| trouble.reason.as_str());
                tracing::warn!(%hook, reason, "webhook failed; retrying");
            }
            Some(DeliveryLogEvent::Recovered(tries)) => {
                tracing::info!(%hook, failed_tries = tries, "webhook works again");
            }
            None => {}
        }
    }

    fn report_dropped(&mut self) {
        let (warned, last) = self.dropped_warned;
        let dropped = self.delivery.counters().dropped;
        let is_time = last.is_none_or(|last| last.elapsed() >= WARN_DROPPED_EVERY);
        if dropped > warned && is_time {
            let (hook, count) = (&self.name, dropped - warned);
            tracing::error!(%hook, count, "notifications too old for a webhook: dropped");
            self.dropped_warned = (dropped, Some(Instant::now()));
        }
    }

    fn show(&self) {
        let delivery = &self.delivery;
        self.view.store(std::sync::Arc::new(WebhookView {
            name: self.name.clone(),
            url: delivery.settings().url.to_string(),
            is_active: delivery.is_active(),
            delivered_up_to: delivery.delivered_up_to(),
            backlog: delivery.backlog(),
            oldest: delivery.oldest(),
            trouble: delivery.trouble().cloned(),
            counters: delivery.counters(),
        }));
    }

    fn sleep(&mut self, ctx: &mut Context<Self>) {
        let now = self.clock.now();
        let nap = self.delivery.wake_at().map_or(LONGEST_SLEEP, |at| at.since(now));
        let nap = nap.clamp(SHORTEST_SLEEP, LONGEST_SLEEP);
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
        self.timer = Some(ctx.run_later(nap, |webhook, ctx| {
            webhook.timer = None;
            webhook.look(ctx);
        }));
    }

    /// An item when there are new notifications, or another leader.
    fn signs(&self) -> impl futures::Stream<Item = CheckDelivery> + use<> {
        let watched = (self.others.views.notifications(), self.leadership.clone());
        futures::stream::unfold(watched, |(mut notifications, mut leadership)| async {
            let is_open = tokio::select! {
                changed = notifications.changed() => changed.is_ok(),
                changed = leadership.changed() => changed.is_ok(),
            };
            is_open.then_some((CheckDelivery, (notifications, leadership)))
        })
    }
}

impl Actor for Webhook {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.add_message_stream(self.signs());
        self.look(ctx);
    }
}

impl Handler<CheckDelivery> for Webhook {
    type Result = ();

    fn handle(&mut self, _: CheckDelivery, ctx: &mut Context<Self>) {
        self.look(ctx);
    }
}

impl Handler<ChangeWebhookSettings> for Webhook {
    type Result = ();

    fn handle(&mut self, change: ChangeWebhookSettings, ctx: &mut Context<Self>) {
        if let Some(sending) = self.sending.take() {
            ctx.cancel_future(sending);
        }
        self.http = change.http;
        self.delivery.change_settings(change.settings);
        self.look(ctx);
    }
}
