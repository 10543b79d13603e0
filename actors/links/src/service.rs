//! The service of public links: it sends files and archives, and passes every other request to
//! the pages.

use std::net::IpAddr;

use reelyard_core::address_range::caller_network;
use reelyard_file_server::SendFailure;
use reelyard_file_server::certificate::Certificate;
use reelyard_file_server::http::request_head::BadHead;
use reelyard_file_server::server::{Answered, ConnectionHandover, FileService, ServedRequest};
use reelyard_shares::share_expiry::{ShareId, ShareLookup};

use crate::access::link::{self, LinkResource};
use crate::access_log::{LinkAccess, SentAnswer};
use crate::serving::link_head::link_head;
use crate::serving::link_request::LinkRequest;
use crate::serving::{archive, download};
use crate::state::ShareServerState;

impl FileService for ShareServerState {
    async fn answer(&self, request: &ServedRequest<'_>) -> Result<Answered, SendFailure> {
        let head = request.head;
        let (id, part) = match link::parse(head.path) {
            Some((id, part @ (LinkResource::File | LinkResource::Zip)))
                if matches!(head.method, "GET" | "HEAD") =>
            {
                (id, part)
            }
            _ => return Ok(Answered::HandOver { length: head.length_with_body() }),
        };
        self.counts.requests.one();
        // For an HTTP/1.0 client only the end of the connection marks a complete archive.
        let ends_by_closing = part == LinkResource::Zip && !head.is_1_1;
        let keep_alive = request.may_keep_alive() && !ends_by_closing;
        let sent = SentAnswer::default();
        let link_request = LinkRequest { request, id, keep_alive, sent };
        let answered = match part {
            LinkResource::Zip => archive::answer(&link_request, self).await,
            _ => download::answer(&link_request, self).await,
        };
        self.log_access(&link_request, part);
        match answered {
            Ok(watch) => Ok(Answered::Sent { keep_alive, watch }),
            Err(failure) => {
                self.record_failure(id, &failure);
                Err(failure)
            }
        }
    }

    fn refuse_unread(&self, bad: BadHead) -> Vec<u8> {
        self.counts.requests.one();
        let text = match bad {
            BadHead::TooLong => "The request is too long.\n",
            BadHead::Garbled => "This is not an HTTP request.\n",
            BadHead::Host => "A request needs exactly one Host header.\n",
        };
        let mut head = link_head(bad.status(), false, self.clock.now());
        head.header("Content-Type", "text/plain; charset=utf-8");
        head.finish_with(text.as_bytes(), false)
    }

    /// A trusted proxy has no limit, because many visitors use it.
    fn limited_client(&self, peer: IpAddr) -> Option<IpAddr> {
        let is_trusted = self.settings.trusted_proxies.contains(&peer);
        (!is_trusted).then(|| caller_network(peer))
    }

    fn certificate(&self) -> Option<Certificate> {
        (self.certificate)()
    }

    fn take_over(&self, connection: ConnectionHandover) {
        self.pages.hand_over(connection);
    }
}

impl ShareServerState {
    /// Logs the answer to a request for a known share. Guesses of ids are only counted, so that they cannot fill
    /// the log.
    fn log_access(&self, request: &LinkRequest<'_>, part: LinkResource) {
        let Some(share) = request.id.filter(|_| self.access_log.is_on()) else { return };
        if request.is_head() || matches!(self.views.find(share), ShareLookup::Unknown) {
            return;
        }
        let (status, bytes) = request.sent.so_far();
        let agent = request.request.head.header("user-agent");
        self.access_log.record(LinkAccess {
            at: self.clock.now(),
            share,
            address: request.client(self),
            user_agent: agent.map(LinkAccess::agent),
            part: if part == LinkResource::Zip { "zip" } else { "file" },
            status,
            bytes,
        });
    }

    fn record_failure(&self, id: Option<ShareId>, failure: &SendFailure) {
        match failure {
            SendFailure::Left => {}
            SendFailure::TooSlow => self.counts.too_slow.one(),
            SendFailure::Cut => {
                self.counts.cut.one();
                tracing::info!(?id, "a running download was cut");
            }
            SendFailure::Unreadable(error) => {
                self.counts.broken_off.one();
                tracing::warn!(?id, %error, "a download failed");
            }
        }
    }
}
