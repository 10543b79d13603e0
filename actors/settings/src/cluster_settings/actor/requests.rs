//! The request to record settings.

use std::sync::Arc;

use actix::{Context, Handler};
use reelyard_replication::{
    CommitError, Outcomes, OwnerReply, OwnerRequests, RequestContext, reply_now,
};

use super::ClusterSettingsActor;
use crate::cluster_settings::messages::{ClusterSettingsError, RecordSettings};
use crate::cluster_settings::policy::record::record;
use crate::cluster_settings::state::event::SettingsRefusal;
use crate::cluster_settings::state::settings_book::{SettingsBook, SettingsVersion};

impl Handler<RecordSettings> for ClusterSettingsActor {
    type Result = OwnerReply<Self, Arc<SettingsVersion>, ClusterSettingsError>;

    fn handle(&mut self, asked: RecordSettings, _: &mut Context<Self>) -> Self::Result {
        if let Err(error) = self.replica.leading() {
            return reply_now(Err(error.into()));
        }
        // The parts of two texts would mix.
        if !self.replica.in_flight().is_empty() {
            return reply_now(Err(SettingsRefusal::UnderWay.into()));
        }
        let events = match record(self.replica.piece(), &asked) {
            Ok(events) => events,
            Err(refusal) => {
                tracing::info!(by = asked.by, %refusal, "settings of the cluster were refused");
                return reply_now(Err(refusal.into()));
            }
        };
        if events.is_empty() {
            return reply_now(self.newest());
        }
        // The text makes a repetition harmless. A remembered part could complete another text.
        let request = RequestContext { by: asked.by, request: asked.request, remember: false };
        self.commit_in_parts(request, events, |actor, outcomes, _| actor.recorded(outcomes))
    }
}

impl ClusterSettingsActor {
    /// The version that a commit recorded.
    fn recorded(
        &self,
        outcomes: Result<Outcomes<SettingsBook>, CommitError>,
    ) -> Result<Arc<SettingsVersion>, ClusterSettingsError> {
        for outcome in outcomes? {
            outcome?;
        }
        let version = self.newest()?;
        tracing::info!(
            version = version.number,
            by = version.by,
            why = version.why,
            "settings of the cluster were recorded"
        );
        Ok(version)
    }

    fn newest(&self) -> Result<Arc<SettingsVersion>, ClusterSettingsError> {
        let newest = self.replica.piece().newest().cloned();
        // Answered only after a version was found or recorded.
        newest.ok_or_else(|| SettingsRefusal::Incomplete { version: 1 }.into())
    }
}
