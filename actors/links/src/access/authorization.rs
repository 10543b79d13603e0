//! Authorization of visitors: checks the link, the password and the remaining downloads.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use reelyard_core::address_range::caller_network;
use reelyard_core::event::RequestId;
use reelyard_file_server::http::request_head::RequestHead;
use reelyard_replication::CommitError;
use reelyard_shares::share_expiry::{
    ClientKey, DownloadLimit, Share, ShareError, ShareId, ShareLookup, TakeDownload,
};
use tokio::time::{sleep, timeout};

use super::client_address::client;
use super::passwords::of_basic;
use super::refusal::LinkRefusal;
use super::roots::NotOpened;
use crate::state::ShareServerState;

/// Time limit for counting a download.
const TAKE_PATIENCE: Duration = Duration::from_secs(10);

/// Pause before the next query whether a download was counted.
const ASK_AGAIN: Duration = Duration::from_millis(250);

impl ShareServerState {
    /// The client of a request, behind trusted proxies.
    pub(crate) fn client<'v>(
        &self,
        peer: IpAddr,
        forwarded: impl DoubleEndedIterator<Item = &'v [u8]>,
    ) -> IpAddr {
        let client = client(peer, &self.settings.trusted_proxies, forwarded);
        if let Some(garbled) = client.garbled
            && !self.warned_of_proxy.swap(true, Ordering::Relaxed)
        {
            let wrote = String::from_utf8_lossy(garbled);
            tracing::warn!(
                proxy = %client.address, ?wrote,
                "a trusted proxy sent an invalid client address: all its visitors count as one \
                 client; check the forwarding header of the proxy"
            );
        }
        client.address
    }

    /// The share of a link, if the link is valid now. An invalid id gets the same answer as an
    /// unknown link.
    ///
    /// An address with too many wrong guesses is throttled for all links until it may guess again.
    /// Otherwise the answer for an existing link would reveal it.
    pub(crate) fn find(
        &self,
        id: Option<ShareId>,
        client: IpAddr,
    ) -> Result<Arc<Share>, LinkRefusal> {
        if let Some(why) = (self.not_ready)() {
            return Err(LinkRefusal::NotNow(why));
        }
        let network = caller_network(client);
        if let Err(wait) = self.guesses.may(&network) {
            return Err(LinkRefusal::Throttled(wait));
        }
        let found = id.map_or(ShareLookup::Unknown, |id| self.views.find(id));
        let refusal = match found {
            ShareLookup::Live(share) if share.is_live(self.refusal_time()) => return Ok(share),
            ShareLookup::Live(share) => {
                self.views.refused_by_time();
                due(&share)
            }
            ShareLookup::Ended(tombstone) => {
                LinkRefusal::Ended { at: tombstone.refused_since(), why: tombstone.why }
            }
            ShareLookup::Unknown => match self.guesses.one(&network) {
                Ok(()) => LinkRefusal::Unknown,
                Err(wait) => LinkRefusal::Throttled(wait),
            },
        };
        match &refusal {
            LinkRefusal::Ended { .. } => self.counts.ended.one(),
            _ => self.counts.unknown.one(),
        }
        Err(refusal)
    }

    /// Checks a share again when its answer is written. The request may have waited, or the process may have been
    /// paused.
    pub(crate) fn check_still_live(&self, share: &Share) -> Result<(), LinkRefusal> {
        if let Some(why) = (self.not_ready)() {
            return Err(LinkRefusal::NotNow(why));
        }
        if share.is_live(self.refusal_time()) {
            return Ok(());
        }
        self.views.refused_by_time();
        self.counts.ended.one();
        Err(due(share))
    }

    /// Admits a visitor with a valid cookie or the right password.
    pub(crate) async fn check_access(
        &self,
        share: &Share,
        head: &RequestHead<'_>,
        client: IpAddr,
    ) -> Result<(), LinkRefusal> {
        if share.password().is_none() || self.passwords.admits_cookie(share, head.all("cookie")) {
            return Ok(());
        }
        match head.header("authorization").and_then(of_basic) {
            Some(given) => {
                self.check_password(share, &given, client).await?;
                self.check_unchanged(share, client)
            }
            None => Err(LinkRefusal::Password { wrong: false }),
        }
    }

    /// Checks that the share did not change during the slow check of its password.
    fn check_unchanged(&self, share: &Share, client: IpAddr) -> Result<(), LinkRefusal> {
        let now = self.find(Some(share.id()), client)?;
        let is_same = now.password() == share.password();
        if is_same { Ok(()) } else { Err(LinkRefusal::Password { wrong: false }) }
    }

    /// Checks a password, and counts wrong ones.
    pub(crate) async fn check_password(
        &self,
        share: &Share,
        given: &[u8],
        client: IpAddr,
    ) -> Result<(), LinkRefusal> {
        let checked = self.passwords.check(share, given, client).await;
        if matches!(checked, Err(LinkRefusal::Password { .. })) {
            self.counts.wrong_passwords.one();
        }
        checked
    }

    /// The refusal when a shared file cannot be opened.
    pub(crate) fn not_opened(&self, share: &Share, why: NotOpened) -> LinkRefusal {
        match why {
            NotOpened::Failed(error) => {
                self.warnings.warn_unreadable(share.id(), &error);
                LinkRefusal::Failed
            }
            NotOpened::Away(_) => {
                self.warnings.warn_unreadable(share.id(), &why);
                LinkRefusal::NotNow("the directory of the file is not available".to_owned())
            }
            // The visitor cannot repair this, but the operator can.
            NotOpened::Denied => {
                self.warnings.warn_unreadable(share.id(), &why);
                LinkRefusal::Absent
            }
            why => {
                tracing::debug!(id = ?share.id(), %why, "the shared file does not exist now");
                LinkRefusal::Absent
            }
        }
    }

    /// The refusal when another node has the file, and does not send it.
    pub(crate) fn not_fetched(&self, share: &Share, error: &io::Error) -> LinkRefusal {
        self.warnings.warn_unreadable(share.id(), error);
        LinkRefusal::NotNow("the node with the file does not send it".to_owned())
    }

    /// Refuses new visitors when no download is left. This includes requests for the page, which
    /// are not counted.
    pub(crate) fn check_downloads_left(
        &self,
        share: &Share,
        client: IpAddr,
    ) -> Result<(), LinkRefusal> {
        let key = ClientKey::of(share.id(), caller_network(client));
        let may = |downloads: DownloadLimit<'_>| {
            share.exhausted().is_none() || downloads.taken_by(key).is_some()
        };
        if share.downloads().is_none_or(may) { Ok(()) } else { Err(LinkRefusal::Exhausted) }
    }

    /// Whether a client may download everything: a download is left, or the client has already
    /// started a counted one.
    pub(crate) fn may_begin(&self, share: &Share, client: IpAddr) -> bool {
        let key = ClientKey::of(share.id(), caller_network(client));
        let may = |downloads: DownloadLimit<'_>| {
            downloads.left() > 0 || downloads.in_part_by(key).is_some()
        };
        share.downloads().is_none_or(may)
    }

    /// The refusal for a client that has a counted download and requests the whole file again: it
    /// may only resume. Many clients can share one address, and each of them would get the file
    /// although no download is left.
    pub(crate) fn held(&self, share: &Share, client: IpAddr, why: LinkRefusal) -> LinkRefusal {
        if why != LinkRefusal::Exhausted {
            return why;
        }
        match self.find(Some(share.id()), client) {
            Ok(now)
                if now.exhausted().is_some() && self.check_downloads_left(&now, client).is_ok() =>
            {
                LinkRefusal::Held
            }
            _ => why,
        }
    }

    /// Counts a download, here or at the leader. If the outcome is unknown, it asks again with the same request id,
    /// because the download may have been counted.
    async fn counted(&self, asked: TakeDownload) -> Result<(), ShareError> {
        loop {
            let answer = self.take.recipient().send(asked.clone()).await;
            let request = asked.request;
            let unknown = Err(CommitError::Unknown { request }.into());
            let answer = match (answer.unwrap_or(unknown).map(drop), &self.others) {
                (Err(ShareError::Journal(CommitError::NotLeader { .. })), Some(others)) => {
                    others.take(asked.clone()).await
                }
                (answer, _) => answer,
            };
            match answer {
                Err(ShareError::Journal(
                    CommitError::Unknown { .. } | CommitError::Busy { .. } | CommitError::Deposed,
                )) => sleep(ASK_AGAIN).await,
                answer => return answer,
            }
        }
    }

    /// Counts a download if downloads are limited. This is the last check before bytes are sent.
    pub(crate) async fn count_download(
        &self,
        share: &Share,
        client: IpAddr,
        ranged: bool,
    ) -> Result<(), LinkRefusal> {
        if share.downloads().is_some() {
            let (id, request) = (share.id(), RequestId::random());
            let key = ClientKey::of(id, caller_network(client));
            let asked = TakeDownload { id, client: key, ranged, request };
            let answer = timeout(TAKE_PATIENCE, self.counted(asked)).await;
            match answer.unwrap_or(Err(CommitError::Unknown { request }.into())) {
                Ok(()) => {}
                // The table may now have the cause and the time of the end.
                Err(error) => {
                    if let ShareError::Journal(why) = &error {
                        self.warnings.warn_uncounted(why);
                    }
                    return Err(match (&error, self.find(Some(id), client)) {
                        (ShareError::Refused(_), Err(refusal)) => refusal,
                        _ => LinkRefusal::of(error, self.refusal_time()),
                    });
                }
            }
        }
        self.views.record_use(share, self.refusal_time());
        Ok(())
    }
}

/// The refusal for a share that is past its deadline but not reclaimed yet.
fn due(share: &Share) -> LinkRefusal {
    let due = share.due();
    let at = due.instant().unwrap_or_default();
    LinkRefusal::Ended { at, why: share.why_due() }
}
