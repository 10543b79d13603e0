//! One request for a file or an archive.

use std::net::IpAddr;

use reelyard_file_server::server::ServedRequest;
use reelyard_file_server::{SendFailure, SendWatch};
use reelyard_shares::share_expiry::{Share, ShareId};

use super::link_head::link_head;
use crate::access::refusal::LinkRefusal;
use crate::access_log::SentAnswer;
use crate::state::ShareServerState;

/// One request for a file or an archive.
pub(crate) struct LinkRequest<'c> {
    pub(crate) request: &'c ServedRequest<'c>,
    pub(crate) id: Option<ShareId>,
    /// Whether the connection stays open after the answer.
    pub(crate) keep_alive: bool,
    /// The answer, for the access log.
    pub(crate) sent: SentAnswer,
}

impl LinkRequest<'_> {
    /// Whether the answer has no body.
    pub(crate) fn is_head(&self) -> bool {
        self.request.head.is_head()
    }

    /// The visitor, behind trusted proxies.
    pub(crate) fn client(&self, state: &ShareServerState) -> IpAddr {
        let forwarded = self.request.head.all("x-forwarded-for");
        state.client(self.request.peer().ip(), forwarded)
    }

    /// Sends what was prepared for a share, or refuses the request. A preparation may take long, so the share is checked
    /// once more.
    pub(crate) async fn answer<P, F>(
        &self,
        state: &ShareServerState,
        prepared: Result<P, LinkRefusal>,
        share: impl FnOnce(&P) -> &Share,
        send: impl FnOnce(P) -> F,
    ) -> Result<Option<Box<dyn SendWatch>>, SendFailure>
    where
        F: Future<Output = Result<Option<Box<dyn SendWatch>>, SendFailure>>,
    {
        let checked = prepared.and_then(|prepared| {
            state.check_still_live(share(&prepared))?;
            Ok(prepared)
        });
        match checked {
            Ok(prepared) => send(prepared).await,
            Err(refusal) => self.refuse(&refusal, state).await.map(|()| None),
        }
    }

    /// Refuses the request with plain text.
    pub(crate) async fn refuse(
        &self,
        refusal: &LinkRefusal,
        state: &ShareServerState,
    ) -> Result<(), SendFailure> {
        if matches!(refusal, LinkRefusal::Throttled(_) | LinkRefusal::TooManyArchives) {
            state.counts.throttled.one();
        }
        self.sent.begin(refusal.status().0);
        let mut head = link_head(refusal.status(), self.keep_alive, state.clock.now());
        if let Some(seconds) = refusal.retry_after() {
            head.header("Retry-After", seconds);
        }
        if let LinkRefusal::Password { .. } = refusal {
            head.header("WWW-Authenticate", "Basic realm=\"share\", charset=\"UTF-8\"");
        }
        head.header("Cache-Control", "no-store");
        head.header("Content-Type", "text/plain; charset=utf-8");
        let text = refusal.text() + "\n";
        self.request.send(&head.finish_with(text.as_bytes(), self.is_head())).await
    }
}
