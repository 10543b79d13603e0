//! One turn: what has become due is decided, then copies are planned, then the actor sleeps until
//! something changes or the next deadline.

use std::time::{Duration, Instant};

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};

use super::entries::split;
use super::plan::{Round, Yard};
use super::show::LastRound;
use super::{TaskEvent, TaskManager, next_difference};
use crate::catalog::{LookUpMasters, MasterLook};
use crate::cfw_worker::Refresh;
use crate::clock::Millis;
use crate::host::HostAddr;
use crate::journal::{Asked, CommitError, Settlement};
use crate::manager::ClusterId;
use crate::names::FileId;
use crate::supervision::Route;

use super::TaskBook;

/// The name under which the TaskManager commits by itself.
const MYSELF: &str = "task-manager";

/// How long changes are gathered before a turn, so that a burst of them makes one round.
const GATHERING: Duration = Duration::from_millis(5);

/// The longest sleep: jumps of the clock and suspends are noticed after it.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The shortest sleep before a deadline: one that has passed while its event is in flight must
/// not make the actor spin.
const SHORTEST_SLEEP: Duration = Duration::from_millis(20);

/// How long a look at masters may take before their files are passed over for a while.
pub(super) const LOOK_TIMEOUT: Duration = Duration::from_secs(5);

impl TaskManager {
    /// Takes a turn soon: changes that come together are planned with together.
    pub(super) fn soon(&mut self, ctx: &mut Context<Self>) {
        self.wake_after(GATHERING, ctx);
    }

    /// Takes a turn now.
    pub(super) fn turn(&mut self, ctx: &mut Context<Self>) {
        if self.seat.epoch().is_some() {
            let now = self.clock.now();
            let mut events = self.deciding(now).due();
            events.extend(self.differences());
            events.extend(self.naming());
            self.commit(events, ctx);
            self.plan(now, ctx);
            self.check_claims(now, ctx);
            self.sleep(now, ctx);
        }
        self.show();
    }

    fn wake_after(&mut self, delay: Duration, ctx: &mut Context<Self>) {
        let at = Instant::now() + delay;
        match self.wake {
            Some((planned, _)) if planned <= at => return,
            Some((_, timer)) => {
                ctx.cancel_future(timer);
            }
            None => {}
        }
        let timer = ctx.run_later(delay, |manager, ctx| {
            manager.wake = None;
            manager.turn(ctx);
        });
        self.wake = Some((at, timer));
    }

    fn sleep(&mut self, now: Millis, ctx: &mut Context<Self>) {
        let deadline = self.deciding(now).next_deadline();
        let until = deadline.map_or(LONGEST_SLEEP, |deadline| deadline.since(now));
        self.wake_after(until.clamp(SHORTEST_SLEEP, LONGEST_SLEEP), ctx);
    }

    /// Gives the cluster its id, once.
    fn naming(&self) -> Option<TaskEvent> {
        let named = |event: &TaskEvent| matches!(event, TaskEvent::ClusterNamed { .. });
        let is_named =
            self.seat.piece().cluster().is_some() || self.seat.in_flight().events().any(named);
        (!is_named).then(|| TaskEvent::ClusterNamed { cluster: ClusterId::random() })
    }

    /// The next part of every inventory that differs from the placements.
    fn differences(&mut self) -> Vec<TaskEvent> {
        let book = self.seat.piece();
        let differing: Vec<HostAddr> = self
            .hosts
            .iter()
            .filter(|(addr, host)| {
                host.differs && book.hosts().get(addr).is_some_and(|role| role.is_destination())
            })
            .map(|(addr, _)| addr)
            .collect();
        let mut events = Vec::new();
        self.tell_of_strangers();
        for addr in differing {
            let under_way = self.seat.in_flight().events().any(
                |event| matches!(event, TaskEvent::InventoryDiffered { host, .. } if *host == addr),
            );
            let Some(host) = self.hosts.get(addr).filter(|_| !under_way) else {
                continue;
            };
            match next_difference(self.seat.piece(), addr, host) {
                Some(event) => {
                    self.strangers.note_difference(self.seat.piece(), &event, self.clock.now());
                    events.push(event);
                }
                None => self.hosts.set_differs(addr, false),
            }
        }
        events
    }

    fn plan(&mut self, now: Millis, ctx: &mut Context<Self>) {
        let started = Instant::now();
        let round = self.planner.round(&Yard {
            book: self.seat.piece(),
            in_flight: self.seat.in_flight(),
            hosts: &self.hosts,
            settings: &self.settings,
            leading_since: self.signs.since(),
            now,
        });
        self.counters.rounds += 1;
        let created = round.tasks.iter().cloned().map(TaskEvent::Created).collect();
        self.commit(created, ctx);
        self.look_up(round.to_look_up.clone(), ctx);
        self.note_round(LastRound { at: now, took: started.elapsed(), round });
    }

    /// Remembers a round, and tells of it when it planned or when what it waits for changed.
    fn note_round(&mut self, last: LastRound) {
        let Round { tasks, waiting, .. } = &last.round;
        let before = self.last_round.as_ref().and_then(|before| before.round.waiting.as_ref());
        if !tasks.is_empty() || before != waiting.as_ref() {
            let took_us = last.took.as_micros();
            tracing::debug!(planned = tasks.len(), ?waiting, took_us, "planned a round");
        }
        for task in tasks {
            let (id, file) = (task.id, &task.name);
            let (source, destination) = (task.source, task.destination);
            tracing::info!(%id, %file, %source, %destination, size = task.size, "copy planned");
        }
        self.last_round = Some(last);
    }

    /// Commits events of the TaskManager's own, cut to entries.
    pub(super) fn commit(&mut self, events: Vec<TaskEvent>, ctx: &mut Context<Self>) {
        let now = self.clock.now();
        for events in split(events) {
            let committing = self.seat.commit(now, Asked::by_itself(MYSELF), events);
            let settling = committing.into_actor(self).map(|settlement, manager, ctx| {
                // What was refused or lost is decided anew from how things stand then.
                let _ = manager.settled(settlement, ctx);
            });
            ctx.spawn(settling);
        }
    }

    /// Takes a commit that came back.
    pub(super) fn settled(
        &mut self,
        settlement: Settlement<TaskBook>,
        ctx: &mut Context<Self>,
    ) -> Result<crate::journal::Outcomes<TaskBook>, CommitError> {
        let settled = self.seat.settle(settlement);
        if let Err(error) = &settled {
            self.counters.uncommitted += 1;
            tracing::warn!(%error, "a commit of tasks came back without an outcome");
            let pause = match error {
                CommitError::Busy { retry_after } => *retry_after,
                _ => LONGEST_SLEEP,
            };
            self.wake_after(pause, ctx);
        }
        settled
    }

    /// Has masters looked at, one list at a time.
    fn look_up(&mut self, files: Vec<FileId>, ctx: &mut Context<Self>) {
        if files.is_empty() || self.looking {
            return;
        }
        self.looking = true;
        let asking =
            self.collaborators.look_up.recipient().send(LookUpMasters { files: files.clone() });
        let asking = tokio::time::timeout(LOOK_TIMEOUT, asking);
        ctx.spawn(asking.into_actor(self).map(move |answer, manager, ctx| {
            manager.looking = false;
            let now = manager.clock.now();
            // A file without an answer is passed over for a while, so that it starves no other.
            let unknown = files.into_iter().map(|file| (file, MasterLook::Unknown));
            manager.planner.learn(unknown, &manager.settings, now);
            match answer {
                Ok(Ok(seen)) => manager.planner.learn(seen, &manager.settings, now),
                Ok(Err(error)) => tracing::warn!(%error, "the catalog did not look up masters"),
                Err(_) => tracing::warn!("looking up masters took too long"),
            }
            manager.turn(ctx);
        }));
    }

    /// Has the hosts looked at that claim to be done with something.
    fn check_claims(&mut self, now: Millis, ctx: &mut Context<Self>) {
        for host in self.deciding(now).claims_to_check() {
            let later = self.ask_again.get(&host).is_some_and(|at| now < *at);
            if !later {
                self.refresh(host, ctx);
            }
        }
    }

    /// Has a host looked at. What it holds is told to all subscribers, this actor among them.
    pub(super) fn refresh(&mut self, host: HostAddr, ctx: &mut Context<Self>) {
        let Some(worker) = self.collaborators.refresh.get(&host).map(Route::recipient) else {
            return;
        };
        if !self.refreshing.insert(host) {
            return;
        }
        let asking = worker.send(Refresh);
        ctx.spawn(asking.into_actor(self).map(move |answer, manager, ctx| {
            manager.refreshing.remove(&host);
            if matches!(answer, Ok(Ok(_))) {
                manager.ask_again.remove(&host);
            } else {
                let again = manager.clock.now().after(manager.settings.ask_again_after);
                manager.ask_again.insert(host, again);
            }
            manager.soon(ctx);
        }));
    }
}
