//! Explains the outlook of the copies of one file. Pure.

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;

use super::decision_context::{RemovalsUnderWay, RemoverDecisionContext};
use super::duplicates::FileCopies;
use super::holders::CopyHolderStatus;
use super::round::Removal;
use crate::remover::messages::{CopyDecision, CopyOutlook};
use crate::remover::state::reason::Spared;

impl RemoverDecisionContext<'_> {
    /// The outlook of each copy of `file` that one of `hosts` listed.
    pub fn explain(&self, file: FileId, hosts: &[HostAddr]) -> Vec<CopyDecision> {
        let under_way = self.under_way();
        let stock = self.copies_of(file, &under_way);
        let too_many = self.too_many(file, &stock);
        let lists =
            |host: &&HostAddr| self.holders.get(**host).is_some_and(|holder| holder.lists(file));
        let decision = |host: &HostAddr| CopyDecision {
            host: *host,
            outlook: self.outlook(*host, file, &stock, &too_many, &under_way),
        };
        hosts.iter().filter(lists).map(decision).collect()
    }

    fn outlook(
        &self,
        host: HostAddr,
        file: FileId,
        stock: &FileCopies,
        too_many: &[Removal],
        under_way: &RemovalsUnderWay,
    ) -> CopyOutlook {
        if let Some(open) = self.book.open().get(&(host, file)) {
            let (reason, keeper) = (open.intent.reason.clone(), open.intent.keeper);
            return CopyOutlook::Going { reason, keeper };
        }
        if under_way.going.contains(&(host, file)) {
            return CopyOutlook::Stays { why: Spared::UnderWay };
        }
        let holder = self.holders.get(host);
        let why_not = self.untouchable(file);
        let why_not = why_not.or_else(|| holder.and_then(|holder| self.keeps_all(holder)));
        if let Some(why) = why_not {
            return CopyOutlook::Stays { why };
        }
        if stock.doubted.contains(&host) {
            return CopyOutlook::Stays { why: Spared::InDoubt };
        }
        if let Some(removal) = too_many.iter().find(|removal| removal.host == host) {
            return CopyOutlook::Goes { reason: removal.reason.clone(), keeper: removal.keeper };
        }
        let leaves = holder.is_some_and(|holder| holder.status == CopyHolderStatus::Leaves);
        CopyOutlook::Stays { why: if leaves { Spared::OnlyCopy } else { Spared::Wanted } }
    }
}
