//! The actor: its reactions to messages and to commands of the journal.

mod requests;
mod tick;

use actix::{Actor, Context};
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::Clock;
use reelyard_replication::{LogHandle, OwnerCommands, Replicated};

use super::state::settings_book::SettingsBook;
use super::views::ClusterSettingsView;

/// The actor that owns the settings of a cluster. Every node runs one: on the leader it decides, on followers it
/// only applies.
pub struct ClusterSettingsActor {
    replica: Replicated<SettingsBook, ClusterSettingsView, ()>,
}

impl ClusterSettingsActor {
    /// It registers itself with the journal when it starts.
    pub fn new(
        clock: Clock,
        journal: impl Into<LogHandle>,
        view: ViewHandle<ClusterSettingsView>,
    ) -> Self {
        let replica = Replicated::new(SettingsBook::default(), journal, clock, view);
        ClusterSettingsActor { replica }
    }
}

impl Actor for ClusterSettingsActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.join_journal(ctx);
    }
}
