//! Requests to a source: for its data port, and for bytes, over reused connections.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use reelyard_core::host::HostAddr;
use reelyard_core::open_files;
use reelyard_file_server::data_port::{is_hash_path, master_path};
use reelyard_file_server::ticket::{TICKET_HEADER, TICKET_LIFE, TicketKey};
use reelyard_protocol::signed_call::{Addressee, CallText, SIGNATURE_HEADER, SignedCaller};
use reelyard_protocol::worker::{Blame, WorkerInfo};

use super::attempt::{Copying, FetchAttemptFailure};
use super::fetcher::Fetcher;
use super::pipelining::RequestPipeline;
use crate::downloader::copying::cancel::CopyCancellation;
use crate::downloader::copying::order::CopyOrder;
use crate::downloader::fetching::fault::{CopyFault, remote};
use crate::downloader::fetching::source_link::{self, AnswerHead, SourceLink};
use crate::downloader::fetching::source_stream::SourcePort;

/// How long a connection waits for a file descriptor of this process, and how often it looks.
const DESCRIPTOR_PATIENCE: Duration = Duration::from_secs(60);
const DESCRIPTOR_LOOK: Duration = Duration::from_millis(500);

impl Fetcher {
    /// Connects. Without a free file descriptor it waits until there is one.
    fn connect_patiently(
        &self,
        port: SourcePort,
        cancel: &CopyCancellation,
    ) -> io::Result<SourceLink> {
        let begun = Instant::now();
        loop {
            match SourceLink::connect(port, &self.tls.now(), self.timeouts, cancel) {
                Err(error)
                    if open_files::are_exhausted(&error)
                        && begun.elapsed() < DESCRIPTOR_PATIENCE
                        && !cancel.is_cancelled() =>
                {
                    std::thread::sleep(DESCRIPTOR_LOOK);
                }
                other => return other,
            }
        }
    }

    /// A new connection to the data port.
    pub(super) fn connect(&self, copying: &Copying<'_>) -> Result<SourceLink, FetchAttemptFailure> {
        let port = copying.port;
        self.connect_patiently(port, copying.cancel).map_err(|error| {
            self.data_ports.forget(port);
            let doing = format!("the data port {port} cannot be reached");
            FetchAttemptFailure::Off { doing, error, arrived: 0 }
        })
    }

    /// Requests the master over an existing connection, or a new one.
    pub(super) fn get(
        &self,
        copying: &Copying<'_>,
        headers: &[(&str, &str)],
    ) -> Result<(SourceLink, AnswerHead), FetchAttemptFailure> {
        if headers.is_empty()
            && let Some(answered) = self.pipelined_answer(copying)
        {
            return Ok(answered);
        }
        if let Some(mut link) = self.links.take(copying.port)
            && link.watch(copying.cancel).is_ok()
            && let Ok(head) = self.ask(&mut link, copying, &copying.path, headers)
        {
            return Ok((link, head));
        }
        // The connection may have just been closed, which is no fault of the source.
        let mut link = self.connect(copying)?;
        let head = self.ask(&mut link, copying, &copying.path, headers)?;
        Ok((link, head))
    }

    pub(super) fn ask(
        &self,
        link: &mut SourceLink,
        copying: &Copying<'_>,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<AnswerHead, FetchAttemptFailure> {
        let port = copying.port;
        let answered = link
            .send(&[self.request(port.addr, copying.order, path, headers)])
            .and_then(|()| link.answer());
        answered.map_err(|error| {
            self.data_ports.forget(port);
            let doing = format!("the data port {port} did not answer");
            FetchAttemptFailure::Off { doing, error, arrived: 0 }
        })
    }

    /// The text of a request to a data port, with its ticket.
    pub(super) fn request(
        &self,
        addr: SocketAddr,
        order: &CopyOrder,
        path: &str,
        headers: &[(&str, &str)],
    ) -> String {
        let ticket = match &order.tickets {
            Some(tickets) if is_hash_path(path) => Some(tickets.hash.clone()),
            Some(tickets) => Some(tickets.master.clone()),
            None => Option::as_ref(&self.token.now()).map(|token| {
                let end = self.clock.now().after(TICKET_LIFE);
                TicketKey::of(token).sign(addr, path.as_bytes(), end)
            }),
        };
        let ticket = ticket.as_deref().map(|ticket| (TICKET_HEADER, ticket));
        let headers: Vec<_> = ticket.into_iter().chain(headers.iter().copied()).collect();
        source_link::request(addr, path, &headers)
    }

    /// The source's data port, if no request is needed to find it.
    pub(super) fn known_data_port(&self, order: &CopyOrder) -> Option<SourcePort> {
        order.source_data.or_else(|| self.data_ports.of(order.source.socket()))
    }

    /// The source's data port: from its `/info`, otherwise the port after its own. An old cfw has no
    /// data port, and does not know this request. It may also be unreachable, because cfws of different
    /// hosts do not call each other.
    pub(super) fn ask_for_data_port(
        &self,
        order: &CopyOrder,
        cancel: &CopyCancellation,
    ) -> Result<Option<SourcePort>, CopyFault> {
        let host = order.source.socket();
        if let Some(port) = self.data_ports.of(host) {
            return Ok(Some(port));
        }
        let (status, text) =
            match self.ask_for_info(SourcePort { addr: host, tls: order.source_tls }, cancel) {
                Ok((404, _)) => return Ok(None),
                Err(_) if self.external.now().is_some() => return Ok(None),
                asked => asked.map_err(|error| {
                    remote(format_args!("the source {host} cannot be reached"), &error)
                })?,
            };
        let info = serde_json::from_slice::<WorkerInfo>(&text).ok().filter(|_| status == 200);
        match (info, host.port().checked_add(1)) {
            (Some(info), _) => {
                let port = SourcePort { addr: info.data_listen, tls: info.data_tls };
                self.data_ports.remember(host, port);
                Ok(Some(port))
            }
            (None, Some(port)) => {
                Ok(Some(SourcePort { addr: SocketAddr::new(host.ip(), port), tls: false }))
            }
            (None, None) => {
                let reason = format!("the source {host} reports no data port");
                Err(CopyFault::Blamed(Blame::Source, reason))
            }
        }
    }

    /// Status and text of a source's `/info`. The request is signed if the program asks for it, which
    /// no old cfw does.
    fn ask_for_info(
        &self,
        port: SourcePort,
        cancel: &CopyCancellation,
    ) -> io::Result<(u16, Vec<u8>)> {
        let host = port.addr;
        let ask = |header: Option<(&str, &str)>| {
            let mut link = self.connect_patiently(port, cancel)?;
            link.send(&[source_link::request(host, "/info", header.as_slice())])?;
            let head = link.answer()?;
            let text = link.read_text(&head)?;
            io::Result::Ok((head, text))
        };
        let (head, text) = ask(None)?;
        let (401, Some(challenge), Some(token)) = (head.status, head.challenge, &*self.token.now())
        else {
            return Ok((head.status, text));
        };
        let to = Addressee::Worker(HostAddr::from(host));
        let call = CallText { to, method: "GET", target: "/info", epoch: b"", manager: b"" };
        let signature = SignedCaller::signature(token, &call, challenge);
        let (head, text) = ask(Some((SIGNATURE_HEADER, &signature)))?;
        Ok((head.status, text))
    }
}

impl Fetcher {
    /// Requests the masters of a batch, in its order. Copies from a source whose data port is not known
    /// yet are not requested ahead.
    pub fn pipeline_requests<'a>(
        &self,
        run: impl Iterator<Item = &'a CopyOrder>,
    ) -> RequestPipeline {
        let mut run = run.peekable();
        let port = run.peek().and_then(|first| self.known_data_port(first));
        let Some(port) = port else { return RequestPipeline::default() };
        let (mut paths, mut requests) = (VecDeque::new(), Vec::new());
        for order in run {
            let path = master_path(&order.dir, &order.name, false);
            requests.push(self.request(port.addr, order, &path, &[]));
            paths.push_back(path);
        }
        let link = match self.links.take(port) {
            Some(link) => Ok(link),
            None => {
                let cancel = CopyCancellation::default();
                SourceLink::connect(port, &self.tls.now(), self.timeouts, &cancel)
            }
        };
        match link.and_then(|mut link| link.send(&requests).map(|()| link)) {
            Ok(link) => RequestPipeline::of(port, paths, link),
            // Each copy connects separately and reports its own error.
            Err(_) => RequestPipeline::default(),
        }
    }

    /// The answer to an early request. None if there is none, or the connection was lost.
    pub(super) fn pipelined_answer(
        &self,
        copying: &Copying<'_>,
    ) -> Option<(SourceLink, AnswerHead)> {
        let mut link = copying.ahead.link_to(copying.port, &copying.path)?;
        link.watch(copying.cancel).ok()?;
        let head = link.answer().ok()?;
        Some((link, head))
    }
}
