//! Selects the surplus copies of a file, and the copies to keep. Pure.
//!
//! Only copies count that callable hosts list now. The files of a silent host are unknown: they do not
//! count and are not removed. The copies to keep are selected on hosts that count. Copies on draining
//! hosts are removed once there are enough others.

use std::cmp::Reverse;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;
use roaring::RoaringBitmap;

use super::decision_context::{RemovalsUnderWay, RemoverDecisionContext};
use super::holders::{CopyHolder, CopyHolderStatus};
use super::round::{Removal, RemovalProposal};
use crate::remover::state::reason::{Reason, Spared};
use crate::settings::remover::KeptBy;

impl RemoverDecisionContext<'_> {
    /// Files that may lose a copy: files with surplus copies by the lists, and files on hosts that are
    /// being drained.
    fn in_question(&self) -> RoaringBitmap {
        let repeated = self.holders.repeated();
        let mut question = if self.settings.copies.are_several() {
            let is_too_often =
                |file: &u32| self.holders.listed(FileId(*file)) > self.wanted(FileId(*file));
            repeated.iter().filter(is_too_often).collect()
        } else {
            repeated.clone()
        };
        let leaving =
            self.holders.askable().filter(|(_, host)| host.status == CopyHolderStatus::Leaves);
        leaving.filter_map(|(_, host)| host.files()).for_each(|files| question |= files);
        if let Some(masters) = &self.inputs.masters {
            question &= &masters.files;
        }
        question - &*self.inputs.ignored
    }

    /// Proposes the removal of surplus copies, for as many files as one round checks. The round starts
    /// after the file at which the last round stopped, so every file gets its turn.
    pub fn propose_duplicates(&self, after: Option<FileId>, proposal: &mut RemovalProposal) {
        let question = self.in_question();
        let most = self.settings.most_duplicates as u64;
        let from = after.map_or(0, |file| file.0.saturating_add(1));
        let behind = question.range(from..);
        let files: Vec<u32> = if question.len() <= most {
            question.iter().collect()
        } else {
            behind.chain(question.iter()).take(most as usize).collect()
        };
        proposal.looked_to = files.last().copied().map(FileId);
        for file in files.into_iter().map(FileId) {
            self.propose_for(file, proposal);
        }
    }

    fn propose_for(&self, file: FileId, proposal: &mut RemovalProposal) {
        let stock = self.copies_of(file, &proposal.under_way);
        if stock.serving.is_empty() || stock.serving.len() + stock.leaving.len() < 2 {
            return;
        }
        if let Some(why) = self.untouchable(file) {
            proposal.spare(why, 1);
            return;
        }
        for removal in self.too_many(file, &stock) {
            let host = self.holders.get(removal.host);
            match host.and_then(|host| self.keeps_all(host)) {
                Some(why) => proposal.spare(why, 1),
                None if proposal.is_full(removal.host, self.settings) => {
                    proposal.spare(Spared::Enough, 1);
                }
                None => proposal.add(removal),
            }
        }
    }

    /// The listed copies of `file` without those under removal.
    pub fn copies_of(&self, file: FileId, under_way: &RemovalsUnderWay) -> FileCopies {
        let mut stock = FileCopies::default();
        for (addr, host) in self.holders.askable().filter(|(_, host)| host.lists(file)) {
            if under_way.going.contains(&(addr, file)) {
                continue;
            }
            if self.book.is_doubted((addr, file), self.now) {
                stock.doubted.push(addr);
            } else if host.status == CopyHolderStatus::Leaves {
                stock.leaving.push(addr);
            } else {
                stock.serving.push(addr);
            }
        }
        stock.serving.sort_by_cached_key(|addr| self.precedence(*addr));
        stock
    }

    /// The order in which copies are kept: copies on hosts with the lowest value are kept first.
    fn precedence(&self, addr: HostAddr) -> (bool, Reverse<u64>, String) {
        let host = self.holders.get(addr);
        match self.settings.keep {
            KeptBy::Cfm => (false, Reverse(0), addr.to_string()),
            KeptBy::Room => {
                let on_probation = host.is_some_and(|host| host.calls.on_probation());
                let room = |host: &CopyHolder| host.room(self.settings.storage_limit_percent);
                (on_probation, Reverse(host.map_or(0, room)), addr.to_string())
            }
        }
    }

    /// The surplus copies in `stock`.
    pub fn too_many(&self, file: FileId, stock: &FileCopies) -> Vec<Removal> {
        let wanted = self.wanted(file).max(1);
        let copies = stock.serving.len();
        let size = self.size(file);
        // If there are fewer hosts than wanted copies, one copy on each host is enough.
        let enough = wanted.min(self.serving_hosts()).max(1);
        let Some(&keeper) = stock.serving.first().filter(|_| copies >= enough) else {
            return Vec::new();
        };
        let keeper = Some(keeper);
        let duplicate = Reason::Duplicate {
            copies: u32::try_from(copies).unwrap_or(u32::MAX),
            wanted: u32::try_from(wanted).unwrap_or(u32::MAX),
            kept_by: self.settings.keep,
        };
        let draining = Reason::Draining { elsewhere: u32::try_from(copies).unwrap_or(u32::MAX) };
        let removal = |host: &HostAddr, reason: &Reason| {
            let (host, reason) = (*host, reason.clone());
            Removal { host, file, size, reason, keeper }
        };
        let more = stock.serving.iter().skip(wanted).map(|host| removal(host, &duplicate));
        more.chain(stock.leaving.iter().map(|host| removal(host, &draining))).collect()
    }

    fn serving_hosts(&self) -> usize {
        self.holders.iter().filter(|(_, host)| host.status == CopyHolderStatus::Serves).count()
    }
}

/// The copies of one file on hosts that can be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCopies {
    /// Hosts that count, in the order in which their copies are kept.
    pub serving: Vec<HostAddr>,
    /// On hosts that are being drained.
    pub leaving: Vec<HostAddr>,
    /// Hosts whose copy is in doubt: an earlier removal may still arrive.
    pub doubted: Vec<HostAddr>,
}
