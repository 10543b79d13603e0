//! The actor of one hook: it delivers the notifications of shares to the receiver.

use std::convert::Infallible;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, SpawnHandle, WrapFuture};
use reqwest::Client;
use tokio::sync::watch;
use tokio::time::Instant;

use reelyard_core::actor_parts::{ChangeSettings, Observer, ObserverShell, ViewHandle};
use reelyard_core::clock::Clock;
use reelyard_core::event::Epoch;
use reelyard_core::supervision::Route;
use reelyard_replication::Leadership;

use crate::share_expiry::{
    FetchNotifications, GetDeliveryCursor, RecordDelivery, ShareNotification, ShareViewHandle,
};
use crate::webhook::call;
use crate::webhook::delivery::{DeliveryLogEvent, DeliveryStep, FETCHED, WebhookDelivery};
use crate::webhook::messages::CheckDelivery;
use crate::webhook::settings::{WebhookName, WebhookSettings};
use crate::webhook::views::WebhookView;

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
    shell: ObserverShell<WebhookView, Infallible>,
    name: WebhookName,
    delivery: WebhookDelivery,
    http: Client,
    others: WebhookCollaborators,
    leadership: watch::Receiver<Leadership>,
    /// The epoch in which it delivers notifications.
    epoch: Option<Epoch>,
    /// The request to the receiver.
    sending: Option<SpawnHandle>,
    /// The number of dropped notifications at the last log entry, and its time.
    dropped_warned: (u64, Option<Instant>),
}

impl Webhook {
    /// The actor of the hook `name`. `http` comes from `webhook_client` and is shared by all webhooks
    /// of a process.
    pub fn new(
        name: WebhookName,
        settings: WebhookSettings,
        http: Client,
        clock: Clock,
        others: WebhookCollaborators,
        view: ViewHandle<WebhookView>,
    ) -> Self {
        Webhook {
            name,
            delivery: WebhookDelivery::new(settings),
            http,
            shell: ObserverShell::new(clock, view),
            leadership: others.leadership.clone(),
            others,
            epoch: None,
            sending: None,
            dropped_warned: (0, None),
        }
    }

    fn on_leadership_changed(&mut self, ctx: &mut Context<Self>) {
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

    fn run_step(&mut self, step: DeliveryStep, ctx: &mut Context<Self>) {
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
                            webhook.tick(ctx);
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
                            webhook.tick(ctx);
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
                            webhook.tick(ctx);
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
        let sending = call::send(self.http.clone(), settings, body, self.shell.now());
        let sending = sending.into_actor(self).map(move |result, webhook, ctx| {
            webhook.sending = None;
            let (now, seed) = (webhook.shell.now(), fastrand::u64(..));
            let news = webhook.delivery.sent(number, result, now, seed);
            webhook.log(news);
            webhook.tick(ctx);
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
        let now = self.shell.clock().timer();
        let is_time = last.is_none_or(|last| now - last >= WARN_DROPPED_EVERY);
        if dropped > warned && is_time {
            let (hook, count) = (&self.name, dropped - warned);
            tracing::error!(%hook, count, "notifications too old for a webhook: dropped");
            self.dropped_warned = (dropped, Some(now));
        }
    }

    fn sleep_until_due(&mut self, ctx: &mut Context<Self>) {
        let now = self.shell.now();
        let delay = self.delivery.wake_at().map_or(LONGEST_SLEEP, |at| at.since(now));
        self.sleep(delay.clamp(SHORTEST_SLEEP, LONGEST_SLEEP), ctx);
    }

    /// An item whenever there are new notifications or another leader.
    fn delivery_checks(&self) -> impl futures::Stream<Item = CheckDelivery> + use<> {
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

impl Observer for Webhook {
    type View = WebhookView;
    type Change = Infallible;

    fn shell(&mut self) -> &mut ObserverShell<WebhookView, Infallible> {
        &mut self.shell
    }

    fn build_view(&mut self) -> WebhookView {
        let delivery = &self.delivery;
        WebhookView {
            name: self.name.clone(),
            url: delivery.settings().url.to_string(),
            is_active: delivery.is_active(),
            delivered_up_to: delivery.delivered_up_to(),
            backlog: delivery.backlog(),
            oldest: delivery.oldest(),
            trouble: delivery.trouble().cloned(),
            counters: delivery.counters(),
        }
    }

    /// Carries out the due actions, and sleeps until there are more.
    fn tick(&mut self, ctx: &mut Context<Self>) {
        self.on_leadership_changed(ctx);
        self.delivery.set_next_number(*self.others.views.notifications().borrow());
        for step in self.delivery.steps(self.shell.now()) {
            self.run_step(step, ctx);
        }
        self.report_dropped();
        self.publish_view();
        self.sleep_until_due(ctx);
    }
}

impl Actor for Webhook {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.add_message_stream(self.delivery_checks());
        self.tick(ctx);
    }
}

impl Handler<CheckDelivery> for Webhook {
    type Result = ();

    fn handle(&mut self, _: CheckDelivery, ctx: &mut Context<Self>) {
        self.tick(ctx);
    }
}

/// The settings, and the HTTP client for the receiver. A call that failed is retried at once.
impl Handler<ChangeSettings<(WebhookSettings, Client)>> for Webhook {
    type Result = ();

    fn handle(
        &mut self,
        change: ChangeSettings<(WebhookSettings, Client)>,
        ctx: &mut Context<Self>,
    ) {
        let ChangeSettings((settings, http)) = change;
        if let Some(sending) = self.sending.take() {
            ctx.cancel_future(sending);
        }
        self.http = http;
        self.delivery.change_settings(settings);
        self.tick(ctx);
    }
}
