//! One tick of the Remover. It records removals whose outcome became clear, and runs a round when that
//! is due. No copy is removed before the hosts of the keepers have confirmed them again and the masters
//! were checked.

use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use futures::future::join_all;
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;
use reelyard_replication::{OwnerCommits, OwnerTicks};

use crate::catalog::{LookUpMasters, MasterLook};
use crate::cfw_worker::Refresh;
use crate::remover::{
    Confirmation, CopyHolderStatus, LookedSize, RecentArrivals, RemovalMode, RemovalProposal,
    RemovalRound, Remover, RoomWanted,
};
use crate::task_manager::done_copies;

/// How long changes are gathered before a tick.
pub(super) const BATCH_DELAY: Duration = Duration::from_millis(5);

/// The longest sleep, so that jumps of the clock and suspends are noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// Time limit of a check of masters.
const LOOK_TIMEOUT: Duration = Duration::from_secs(5);

/// How many masters one request checks.
const MASTERS_AT_ONCE: usize = 256;

/// The longest time from a round that removed something to the next round.
pub const WHILE_THERE_IS_MORE: Duration = Duration::from_secs(2);

impl Remover {
    /// Decides all due work.
    pub(in crate::remover) fn tick(&mut self, ctx: &mut Context<Self>) {
        let now = self.clock.now();
        self.refresh_hosts();
        let (policy, context) = self.at(now);
        let mut events = policy.cleared(context);
        events.extend(policy.forgets(context));
        let to_refresh = policy.to_refresh(context);
        self.commit(events, ctx);
        for host in to_refresh {
            self.refresh(host, ctx);
        }
        if self.next_round.is_some_and(|at| at <= now) && !self.confirming {
            self.round(now, ctx);
        }
        self.wake_after(LONGEST_SLEEP, ctx);
    }

    /// Reads the destinations and the files without room from the TaskManager's view.
    pub(in crate::remover) fn refresh_hosts(&mut self) {
        let view = self.collaborators.tasks.load();
        let destinations = view.hosts.iter().filter(|host| host.role.is_destination());
        let yard: Vec<(HostAddr, CopyHolderStatus)> = destinations
            .map(|host| (host.host, CopyHolderStatus::of(host.record.mode, host.record.lost)))
            .collect();
        self.policy.set_destinations(yard);
        self.policy.refuse_inputs(!view.allows_inputs(self.replica.epoch()));
        let takers = view.hosts.iter().filter(|host| host.no_destination.is_none());
        let rooms = takers.filter_map(|host| Some((host.host, host.most_room?)));
        let wanted = RoomWanted { files: view.plan.wants_room.clone(), rooms: rooms.collect() };
        if self.policy.set_room_wanted(wanted) {
            // A hot file waits for room, so the round runs now.
            let last = self.last.as_ref().map_or(Millis(0), |round| round.at);
            let soon = last.after(WHILE_THERE_IS_MORE);
            self.next_round = self.next_round.map(|planned| planned.min(soon));
        }
    }

    /// Reads the recent arrivals from the TaskManager's view. Turns are frequent and the history is long, so
    /// only rounds and their confirmation read it.
    fn refresh_arrivals(&mut self) {
        let view = self.collaborators.tasks.load();
        let done = done_copies(&view.history);
        let arrivals = RecentArrivals::of(done, self.policy.settings(), self.clock.now());
        self.policy.set_arrivals(arrivals);
    }

    /// Runs a round, and requests the confirmation of its removals.
    pub(in crate::remover) fn round(&mut self, now: Millis, ctx: &mut Context<Self>) {
        self.next_round = Some(now.after(self.policy.settings().interval));
        if self.policy.settings().mode == RemovalMode::Off {
            self.last = None;
            return;
        }
        let started = self.clock.timer();
        self.refresh_arrivals();
        let (policy, context) = self.at(now);
        let proposal = policy.propose(context);
        let took = self.clock.timer() - started;
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if proposal.masters().is_empty() {
            self.last =
                Some(RemovalRound::of(now, took_us, &proposal, self.replica.piece().names()));
        } else {
            self.have_confirmed(now, took_us, proposal, ctx);
        }
    }

    fn have_confirmed(
        &mut self,
        now: Millis,
        took_us: u64,
        proposal: RemovalProposal,
        ctx: &mut Context<Self>,
    ) {
        self.confirming = true;
        let hosts = proposal.to_confirm();
        let workers = hosts.iter().filter_map(|host| self.collaborators.refresh.to(*host));
        let listing = join_all(workers.map(|worker| worker.send(Refresh)));
        let masters = proposal.masters();
        let look_up = &self.collaborators.look_up;
        let looks = join_all(masters.chunks(MASTERS_AT_ONCE).map(|files| {
            let looking = look_up.recipient().send(LookUpMasters { files: files.to_vec() });
            tokio::time::timeout(LOOK_TIMEOUT, looking)
        }));
        let asking = async move {
            // The list of a host reaches this actor as its own message, before this answer does.
            let (_, looks) = futures::join!(listing, looks);
            let looks = looks.into_iter().filter_map(|answer| answer.ok()?.ok());
            looks.flatten().collect::<Vec<(FileId, MasterLook)>>()
        };
        ctx.spawn(asking.into_actor(self).map(move |looks, remover, ctx| {
            remover.confirming = false;
            let (seen, sizes) = Confirmation::of(&proposal, now, looks);
            // A look without an answer is repeated later.
            let is_sized = |(file, size): &(FileId, LookedSize)| {
                proposal.to_size.contains(file) && !matches!(size, LookedSize::Unknown { .. })
            };
            let sized = sizes.iter().any(is_sized);
            remover.policy.learn_sizes(sizes);
            remover.decide(now, took_us, proposal, &seen, ctx);
            if sized {
                // Proposals that waited for these sizes are made now.
                remover.next_round = Some(remover.clock.now());
                remover.soon(ctx);
            }
            remover.renew_view();
        }));
    }

    /// Commits the removals, unless this is a dry run.
    fn decide(
        &mut self,
        at: Millis,
        took_us: u64,
        mut proposal: RemovalProposal,
        seen: &Confirmation,
        ctx: &mut Context<Self>,
    ) {
        if self.replica.epoch().is_none() {
            return;
        }
        self.refresh_hosts();
        self.refresh_arrivals();
        let removals = std::mem::take(&mut proposal.removals);
        let (policy, context) = self.at(self.clock.now());
        let (events, spared) = policy.confirm(removals, seen, context);
        for (_, why) in &spared {
            proposal.spare(*why, 1);
        }
        proposal.show_only(&spared, |name| self.replica.piece().file(name));
        let names = self.replica.piece().names();
        self.last = Some(RemovalRound::decided(at, took_us, &proposal, (&events, spared), names));
        if self.policy.settings().mode == RemovalMode::On && !events.is_empty() {
            self.commit(events, ctx);
            // There may be more removals than one round allows, so the next round does not wait its
            // full time.
            let soon =
                self.clock.now().after(self.policy.settings().interval.min(WHILE_THERE_IS_MORE));
            self.next_round = self.next_round.map(|planned| planned.min(soon));
        }
    }

    /// Reads the files of a host, one read at a time.
    fn refresh(&mut self, host: HostAddr, ctx: &mut Context<Self>) {
        let Some(worker) = self.collaborators.refresh.to(host) else { return };
        if !self.policy.begin_refresh(host, self.clock.now()) {
            return;
        }
        let asking = worker.send(Refresh);
        ctx.spawn(asking.into_actor(self).map(move |answer, remover, ctx| {
            remover.policy.refreshed(host, matches!(answer, Ok(Ok(_))), remover.clock.now());
            remover.soon(ctx);
        }));
    }
}
