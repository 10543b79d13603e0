//! A call with entries that outlives the patience of openraft, which waits one heartbeat for an answer.

use std::time::{Duration, Instant};

use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse};
use openraft::{LogId, Vote};
use tokio::task::JoinHandle;

use super::append_budget::AppendBudget;
use super::peer::{AppendAnswer, Peer};
use crate::raft::Types;

/// A call with entries whose answer openraft does not have yet.
pub(super) struct AppendOnWay {
    /// The leader that sends them.
    vote: Vote<u64>,
    /// The entry before the first one.
    before: Option<LogId<u64>>,
    /// The last entry that was sent.
    last: Option<LogId<u64>>,
    /// Whether the budget left entries out.
    is_cut: bool,
    began: Instant,
    call: JoinHandle<AppendAnswer>,
}

impl AppendOnWay {
    /// Sends as many of the entries as the budget allows.
    pub(super) fn begin(
        peer: &Peer,
        mut request: AppendEntriesRequest<Types>,
        budget: &AppendBudget,
    ) -> Self {
        let sent = budget.fitting(&request.entries);
        let is_cut = sent < request.entries.len();
        request.entries.truncate(sent);
        AppendOnWay {
            vote: request.vote,
            before: request.prev_log_id,
            last: request.entries.last().map(|entry| entry.log_id),
            is_cut,
            began: Instant::now(),
            call: peer.start_append(request),
        }
    }

    /// Whether the answer also counts for this request, which may have more entries.
    pub(super) fn begins_like(&self, request: &AppendEntriesRequest<Types>) -> bool {
        (self.vote, self.before) == (request.vote, request.prev_log_id)
    }

    /// The answer, as one to a request with entries up to `wanted`. Without an answer, another `.await` waits on.
    pub(super) async fn answer(
        &mut self,
        peer: &Peer,
        wanted: LogId<u64>,
        (budget, heartbeat): (&mut AppendBudget, Duration),
    ) -> AppendAnswer {
        let answer = peer.append_answer(&mut self.call).await;
        match &answer {
            Ok(_) => budget.answered(self.began.elapsed(), heartbeat, self.is_cut),
            Err(_) => budget.lost(),
        }
        match answer {
            Ok(AppendEntriesResponse::Success) if self.last < Some(wanted) => {
                Ok(AppendEntriesResponse::PartialSuccess(self.last))
            }
            answer => answer,
        }
    }
}
