//! The actor: its reactions to messages and to commands of the journal.

pub(in crate::access) mod requests;
pub(in crate::access) mod tick;

use actix::{Actor, Context};
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::Clock;
use reelyard_replication::{LogHandle, OwnerCommands, OwnerTicks, Replicated};

use crate::access::policy::decision_context::AccessDecisionContext;
use crate::access::policy::login_failures::LoginFailures;
use crate::access::policy::steady_clock::SteadyClock;
use crate::access::settings::AccessSettings;
use crate::access::state::access_table::AccessTable;
use crate::access::state::values::use_queue::UseQueue;
use crate::access::views::access_view::AccessView;

/// The actor that owns users, tokens and sessions. Every node runs one: on the leader it decides, on followers it
/// only applies.
pub struct AccessActor {
    replica: Replicated<AccessTable, AccessView, ()>,
    settings: AccessSettings,
    clock: Clock,
    failures: LoginFailures,
    steady: SteadyClock,
    uses: UseQueue,
    /// Whether a user or token can administrate the yard at any time. Renewed after changes of users and tokens.
    has_admin: bool,
    /// Counts the entries that may have taken rights away.
    rights_changes: u64,
}

impl AccessActor {
    /// An AccessActor. It registers itself with the journal when it starts.
    pub fn new(
        settings: AccessSettings,
        clock: Clock,
        journal: impl Into<LogHandle>,
        view: ViewHandle<AccessView>,
    ) -> Self {
        AccessActor {
            replica: Replicated::new(AccessTable::default(), journal, clock.clone(), view),
            settings,
            clock,
            failures: LoginFailures::default(),
            steady: SteadyClock::default(),
            uses: UseQueue::default(),
            has_admin: false,
            rights_changes: 0,
        }
    }

    /// The piece, the settings and the time, for a decision.
    fn context(&self) -> AccessDecisionContext<'_> {
        let (table, settings) = (self.replica.piece(), &self.settings);
        AccessDecisionContext { table, settings, now: self.clock.now() }
    }

    /// The read view as it is now.
    fn view(&self) -> AccessView {
        let (settings, uses) = (self.settings.clone(), self.uses.clone());
        let mut view = AccessView::of(self.replica.piece(), settings, uses, self.has_admin);
        view.is_ready = self.replica.is_caught_up();
        view.epoch = self.replica.epoch();
        view.uncommitted = self.replica.uncommitted();
        view.rights_changes = self.rights_changes;
        view
    }
}

impl Actor for AccessActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.join_journal(ctx);
        self.soon(ctx);
    }
}
