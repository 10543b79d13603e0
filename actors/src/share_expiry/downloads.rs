//! Downloads that are counted.

use std::time::Duration;

use actix::{ActorFutureExt, Context, Handler, WrapFuture};
use tokio::sync::oneshot;

use super::requests::{Answer, answer};
use super::{
    Admission, ClientKey, ShareError, ShareExpiry, ShareOutcome, ShareRefusal, ShareTable,
    TakeDownload, Taking,
};
use crate::journal::{Asked, CommitError, Outcomes};

/// Those who wait for a download of theirs that is being counted.
pub(super) type Waiters = Vec<oneshot::Sender<Result<Admission, ShareError>>>;

/// When a client may ask again whose download may have been counted or not.
const UNKNOWN_FOR: Duration = Duration::from_secs(1);

impl Handler<TakeDownload> for ShareExpiry {
    type Result = Answer<Admission>;

    fn handle(&mut self, asked: TakeDownload, _: &mut Context<Self>) -> Self::Result {
        let TakeDownload { id, client, request, .. } = asked;
        let read = |_: &Self, outcomes: &Outcomes<ShareTable>| admission(outcomes);
        if let Err(error) = self.seat.leading() {
            return answer(Err(error.into()));
        }
        let moment = self.moment();
        let (desk, standpoint) = self.at(moment);
        let event = match desk.take(&asked, standpoint) {
            Err(refusal) => return self.refuse(refusal),
            Ok(Taking::Counted { left }) => return answer(Ok(Admission::Counted { left })),
            Ok(Taking::Unlimited) => return answer(Ok(Admission::Unlimited)),
            Ok(Taking::Resumes) => return answer(Ok(Admission::Resumed)),
            Ok(Taking::ResumesAfter) => {
                let Some(waiters) = self.taking.get_mut(&(id, client)) else {
                    // What came of the one that counts is unknown.
                    return answer(Err(CommitError::Busy { retry_after: UNKNOWN_FOR }.into()));
                };
                let (waiter, waiting) = oneshot::channel();
                waiters.push(waiter);
                let waiting =
                    async move { waiting.await.unwrap_or(Err(CommitError::Stopped.into())) };
                return Box::pin(waiting.into_actor(self));
            }
            Ok(Taking::Counts(event)) => event,
        };
        self.taking.entry((id, client)).or_default();
        // The piece itself remembers it, and no longer than anybody repeats it.
        let asked = Asked { by: client_name(client), request, remember: false };
        let counting = self.commit_for(asked, vec![event], read);
        Box::pin(counting.map(move |admitted, expiry, _| {
            for waiter in expiry.taking.remove(&(id, client)).unwrap_or_default() {
                let resumed = admitted.clone().map(|_| Admission::Resumed);
                // Whoever waited may have gone.
                let _ = waiter.send(resumed);
            }
            admitted
        }))
    }
}

/// How a client of a link is named in the journal.
fn client_name(client: ClientKey) -> String {
    format!("link {:016x}", client.0)
}

fn admission(outcomes: &Outcomes<ShareTable>) -> Result<Admission, ShareError> {
    match outcomes.first() {
        Some(Ok(ShareOutcome::Taken { left, .. })) => Ok(Admission::Counted { left: *left }),
        Some(Ok(_)) => Ok(Admission::Unlimited),
        Some(Err(refusal)) => Err(refusal.clone().into()),
        None => Err(ShareRefusal::Unknown.into()),
    }
}
