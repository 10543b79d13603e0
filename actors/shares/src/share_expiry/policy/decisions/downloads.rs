//! Downloads that count, and those that go on. Pure.

use reelyard_core::clock::Millis;

use crate::share_expiry::messages::TakeDownload;
use crate::share_expiry::policy::decision_context::ShareDecisionContext;
use crate::share_expiry::policy::memory::SharePolicy;
use crate::share_expiry::state::event::{ShareEvent, ShareRefusal};
use crate::share_expiry::state::table::share::ClientKey;

/// The decision on a download request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DownloadDecision {
    /// It must be recorded: as a counted download, or as the whole file after a part.
    Counts(ShareEvent),
    /// It was already counted, because this request is a repetition.
    Counted {
        /// How many downloads were left at that time.
        left: u32,
    },
    /// It is part of a counted download.
    Resumes,
    /// The same, if one that is being counted comes to be.
    ResumesAfter,
    /// The share has no download limit.
    Unlimited,
}

impl SharePolicy {
    /// A client requests bytes of a share.
    pub fn admit_download(
        &self,
        asked: &TakeDownload,
        at: ShareDecisionContext<'_>,
    ) -> Result<DownloadDecision, ShareRefusal> {
        let TakeDownload { id, client, ranged, request } = *asked;
        if let Some(left) = at.table.taken_before(request) {
            return Ok(DownloadDecision::Counted { left });
        }
        if at.in_flight.contains(request) {
            return Ok(DownloadDecision::ResumesAfter);
        }
        let share = at.table.live_at(id, at.latest)?;
        let Some(downloads) = share.downloads() else { return Ok(DownloadDecision::Unlimited) };
        let within = self.settings.resume_within;
        let may_resume = |taken: Millis| at.now < taken.after(within);
        if ranged && downloads.taken_by(client).is_some_and(may_resume) {
            return Ok(DownloadDecision::Resumes);
        }
        let is_beginning = at.is_beginning_whole(id, client);
        if !ranged && !is_beginning && downloads.in_part_by(client).is_some_and(may_resume) {
            return Ok(DownloadDecision::Counts(ShareEvent::WholeBegun { id, client, request }));
        }
        let taking: Vec<ClientKey> = at.taking(id).collect();
        if ranged && taking.contains(&client) {
            return Ok(DownloadDecision::ResumesAfter);
        }
        // Downloads in flight may take the last ones.
        if taking.len() as u64 >= u64::from(downloads.left()) {
            return Err(ShareRefusal::Exhausted);
        }
        // Links are refused by the latest time. While a step of the clock is not confirmed, a download that
        // begins can still be resumed.
        let resume_until = at.latest.after(within);
        let forget_before = at.now.before(within);
        let taken = match ranged {
            true => ShareEvent::TakenInPart { id, client, resume_until, forget_before, request },
            false => ShareEvent::Taken { id, client, resume_until, forget_before, request },
        };
        Ok(DownloadDecision::Counts(taken))
    }
}
