//! The actor as an owner: its reactions to the journal. It decides nothing by itself.

use std::time::Duration;

use actix::{Context, Handler};
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_replication::{AppliedEvent, JournalCommand, Owner, OwnerCommands, Replicated};

use super::ClusterSettingsActor;
use crate::cluster_settings::state::settings_book::SettingsBook;
use crate::cluster_settings::views::ClusterSettingsView;

impl Handler<JournalCommand> for ClusterSettingsActor {
    type Result = ();

    fn handle(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        self.handle_journal_command(command, ctx);
    }
}

impl Owner for ClusterSettingsActor {
    type Piece = SettingsBook;
    type View = ClusterSettingsView;
    type Change = ();

    const NAME: &'static str = "cluster_settings";
    const SUBJECT: &'static str = "settings of the cluster";

    fn shell(&mut self) -> &mut Replicated<SettingsBook, ClusterSettingsView, ()> {
        &mut self.replica
    }

    fn batch_delay(&self) -> Duration {
        Duration::ZERO
    }

    fn on_applied(&mut self, _: &[AppliedEvent<SettingsBook>], _: &mut Context<Self>) {}

    fn on_leader_started(&mut self, _: Epoch, _: &mut Context<Self>) {}

    fn on_leader_stopped(&mut self, _: &mut Context<Self>) {}

    fn build_view(&mut self) -> ClusterSettingsView {
        ClusterSettingsView {
            book: self.replica.piece().clone(),
            is_ready: self.replica.is_caught_up(),
            epoch: self.replica.epoch(),
        }
    }

    /// The node reloads after a change of the newest version, and records its own settings when it begins to lead.
    fn is_news(before: &ClusterSettingsView, after: &ClusterSettingsView) -> bool {
        let known =
            |view: &ClusterSettingsView| (view.is_ready, view.epoch, view.book.newest_number());
        known(before) != known(after)
    }

    fn changes_of(&mut self, _: &[AppliedEvent<SettingsBook>]) -> Vec<(Millis, ())> {
        Vec::new()
    }

    fn tick(&mut self, _: &mut Context<Self>) {}
}
