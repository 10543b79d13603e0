//! The actor as an owner: its ticks, and its reactions to the journal.

use std::time::Duration;

use actix::{Context, Handler};
use reelyard_core::actor_parts::ChangeSettings;
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_replication::{
    AppliedEvent, JournalCommand, Owner, OwnerCommands, OwnerCommits, OwnerTicks, Replicated,
};

use super::AccessActor;
use crate::access::settings::AccessSettings;
use crate::access::state::access_table::AccessTable;
use crate::access::state::event::AccessEvent;
use crate::access::state::values::session::SessionSubject;
use crate::access::views::access_view::AccessView;

/// How long changes are collected before a tick.
const BATCH_DELAY: Duration = Duration::from_millis(5);

/// How often uses are recorded, and ended credentials removed. Refusals compare times and wait for no tick.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(60);

impl Handler<JournalCommand> for AccessActor {
    type Result = ();

    fn handle(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        self.handle_journal_command(command, ctx);
    }
}

impl Owner for AccessActor {
    type Piece = AccessTable;
    type View = AccessView;
    type Change = ();

    const NAME: &'static str = "access";
    const SUBJECT: &'static str = "users and tokens";
    // An old view would accept credentials that were revoked meanwhile.
    const KEEPS_EARLIER_VIEW: bool = false;

    fn shell(&mut self) -> &mut Replicated<AccessTable, AccessView, ()> {
        &mut self.replica
    }

    fn batch_delay(&self) -> Duration {
        BATCH_DELAY
    }

    fn on_applied(&mut self, entry: &[AppliedEvent<AccessTable>], _: &mut Context<Self>) {
        let mut may_differ = false;
        let mut changes_rights = false;
        for applied in entry.iter().filter(|applied| applied.result.is_ok()) {
            may_differ |= !is_use(&applied.event);
            changes_rights |= !only_adds(&applied.event);
            self.forget_failures(&applied.event);
        }
        if may_differ {
            self.has_admin = self.replica.piece().has_admin_credential();
        }
        self.rights_changes += u64::from(changes_rights);
    }

    fn on_installed(&mut self, _: &mut Context<Self>) {
        self.rights_changes += 1;
        self.has_admin = self.replica.piece().has_admin_credential();
    }

    fn on_leader_started(&mut self, _: Epoch, ctx: &mut Context<Self>) {
        self.failures.clear();
        self.steady.restart();
        self.soon(ctx);
    }

    fn on_leader_stopped(&mut self, _: &mut Context<Self>) {
        self.failures.clear();
    }

    fn build_view(&mut self) -> AccessView {
        self.view()
    }

    /// The node waits until it can create the token of the first administrator. Long answers wait for changes of
    /// their caller's rights.
    fn is_news(before: &AccessView, after: &AccessView) -> bool {
        let known =
            |view: &AccessView| (view.is_ready, view.epoch, view.has_admin, view.rights_changes);
        known(before) != known(after)
    }

    fn changes_of(&mut self, _: &[AppliedEvent<AccessTable>]) -> Vec<(Millis, ())> {
        Vec::new()
    }

    fn begin_tick(&mut self, ctx: &mut Context<Self>) {
        // A follower records no uses. It drops them, so that the queue does not grow.
        if self.replica.epoch().is_none() {
            self.context().record_uses(&self.uses.take_all());
        }
        self.wake_after(UPKEEP_INTERVAL, ctx);
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        let is_steady = self.steady.observe(self.clock.now(), self.clock.uptime());
        let mut events = self.context().record_uses(&self.uses.take_all());
        // A removal in flight would be decided again.
        if is_steady && self.replica.in_flight().is_empty() {
            events.extend(self.context().remove_ended());
        }
        self.commit(events, ctx);
    }
}

/// Whether an event only records uses, or ends sessions and links.
fn is_use(event: &AccessEvent) -> bool {
    matches!(
        event,
        AccessEvent::UsesRecorded { .. }
            | AccessEvent::SessionBegun(_)
            | AccessEvent::SessionsSeen { .. }
            | AccessEvent::SessionsEnded { .. }
            | AccessEvent::SessionsOfEnded { .. }
            | AccessEvent::LoginLinkIssued { .. }
            | AccessEvent::LoginLinksForgotten { .. }
    )
}

/// Whether no caller loses rights by this event.
fn only_adds(event: &AccessEvent) -> bool {
    matches!(
        event,
        AccessEvent::UsesRecorded { .. }
            | AccessEvent::SessionBegun(_)
            | AccessEvent::SessionsSeen { .. }
            | AccessEvent::LoginLinkIssued { .. }
            | AccessEvent::LoginLinksForgotten { .. }
    )
}

impl AccessActor {
    /// A login, a lock or its end, or a new password ends a run of wrong passwords.
    fn forget_failures(&mut self, event: &AccessEvent) {
        match event {
            AccessEvent::UserLocked { name, .. }
            | AccessEvent::UserUnlocked { name, .. }
            | AccessEvent::UserPasswordSet { name, .. }
            | AccessEvent::UserRemoved { name, .. } => self.failures.forget(name),
            AccessEvent::SessionBegun(new) => {
                if let SessionSubject::User(name) = &new.subject {
                    self.failures.forget(name);
                }
            }
            _ => {}
        }
    }
}

impl Handler<ChangeSettings<AccessSettings>> for AccessActor {
    type Result = ();

    fn handle(&mut self, change: ChangeSettings<AccessSettings>, ctx: &mut Context<Self>) {
        let ChangeSettings(settings) = change;
        self.settings = settings;
        self.soon(ctx);
        self.renew_view();
    }
}
