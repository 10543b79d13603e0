//! Downloads that are counted.

use std::time::Duration;

use actix::{Context, Handler, WrapFuture};
use reelyard_replication::{CommitError, Outcomes, OwnerRequests, RequestContext, reply_now};
use tokio::sync::oneshot;

use super::requests::ShareReply;
use crate::share_expiry::{
    ClientKey, DownloadAdmission, DownloadDecision, ShareError, ShareExpiry, ShareOutcome,
    ShareRefusal, ShareTable, TakeDownload,
};

/// When a client may repeat a request whose download may have been counted or not.
const UNKNOWN_FOR: Duration = Duration::from_secs(1);

impl Handler<TakeDownload> for ShareExpiry {
    type Result = ShareReply<DownloadAdmission>;

    fn handle(&mut self, asked: TakeDownload, _: &mut Context<Self>) -> Self::Result {
        let TakeDownload { id, client, request, .. } = asked;
        if let Err(error) = self.replica.leading() {
            return reply_now(Err(error.into()));
        }
        let moment = self.moment();
        let (policy, context) = self.at(moment);
        let event = match policy.admit_download(&asked, context) {
            Err(refusal) => return self.refuse(refusal),
            Ok(DownloadDecision::Counted { left }) => {
                return reply_now(Ok(DownloadAdmission::Counted { left }));
            }
            Ok(DownloadDecision::Unlimited) => return reply_now(Ok(DownloadAdmission::Unlimited)),
            Ok(DownloadDecision::Resumes) => return reply_now(Ok(DownloadAdmission::Resumed)),
            Ok(DownloadDecision::ResumesAfter) => {
                let Some(waiters) = self.taking.get_mut(&(id, client)) else {
                    // The outcome of the counting download is unknown.
                    return reply_now(Err(CommitError::Busy { retry_after: UNKNOWN_FOR }.into()));
                };
                let (waiter, waiting) = oneshot::channel();
                waiters.push(waiter);
                let waiting =
                    async move { waiting.await.unwrap_or(Err(CommitError::Stopped.into())) };
                return Box::pin(waiting.into_actor(self));
            }
            Ok(DownloadDecision::Counts(event)) => event,
        };
        self.taking.entry((id, client)).or_default();
        // The piece itself remembers it for as long as a client may repeat it.
        let asked = RequestContext { by: client_name(client), request, remember: false };
        self.commit_request(vec![(asked, vec![event])], move |expiry, outcomes, _| {
            let admitted = match outcomes {
                Ok(outcomes) => admission(&outcomes),
                Err(error) => Err(error.into()),
            };
            for waiter in expiry.taking.remove(&(id, client)).unwrap_or_default() {
                let resumed = admitted.clone().map(|_| DownloadAdmission::Resumed);
                // The caller may have left.
                let _ = waiter.send(resumed);
            }
            admitted
        })
    }
}

/// The name of a client of a link in the journal.
fn client_name(client: ClientKey) -> String {
    format!("link {:016x}", client.0)
}

fn admission(outcomes: &Outcomes<ShareTable>) -> Result<DownloadAdmission, ShareError> {
    match outcomes.first() {
        Some(Ok(ShareOutcome::Taken { left, .. })) => {
            Ok(DownloadAdmission::Counted { left: *left })
        }
        Some(Ok(_)) => Ok(DownloadAdmission::Unlimited),
        Some(Err(refusal)) => Err(refusal.clone().into()),
        None => Err(ShareRefusal::Unknown.into()),
    }
}
