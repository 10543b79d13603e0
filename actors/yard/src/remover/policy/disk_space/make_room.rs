//! Removes copies so that a much hotter file gets room. Pure.
//!
//! The planner reports the hot files that fit on no destination. For those with enough rising hits, room
//! is made on the one host where the fewest bytes must be removed. While the order of demand is in force, it
//! is the host that loses the least demand. The worst files of that host are
//! removed, but never more than a share of its disk. The room is reserved for that file (`RoomMade`)
//! until it is placed or no longer hot.

use std::collections::{BTreeMap, BTreeSet};

use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName};

use super::room::{RoomSought, RoomVerdict, RoomsJudged};
use crate::remover::policy::decision_context::RemoverDecisionContext;
use crate::remover::policy::holders::{CopyHolder, CopyHolderStatus};
use crate::remover::policy::round::{Removal, RemovalProposal};
use crate::remover::state::event::Intent;
use crate::remover::state::reason::{Reason, Spared};
use crate::room::{RoomMade, WantsRoom};

/// The largest number of hosts that are examined for one file, those that lack least first.
const MOST_HOSTS: usize = 8;

/// Why a host offers no room.
enum NoOffer {
    /// The sizes of its worst files are not known yet.
    Unsized,
    /// More bytes would have to be removed than allowed.
    TooMuch,
}

/// The copies to remove on one host for one file.
struct Offer {
    host: HostAddr,
    lacking: u64,
    goes: u64,
    /// Requests a day for the removed copies; 0 while the order of demand is not in force.
    lost: f64,
    victims: Vec<(FileId, u64)>,
}

impl Offer {
    /// Whether it loses less demand, or as much demand with fewer bytes.
    fn is_better_than(&self, other: &Offer) -> bool {
        self.lost < other.lost || (self.lost == other.lost && self.goes < other.goes)
    }
}

impl RemoverDecisionContext<'_> {
    /// The reserved rooms by host, decided and unapplied ones included.
    pub(super) fn rooms_made(&self) -> BTreeMap<HostAddr, RoomMade> {
        let mut made = self.book.rooms_made(self.settings, self.now);
        for Intent { host, reason, .. } in self.setting_out() {
            if let Some((better, size)) = reason.better() {
                let file = self.book.file(better);
                let until = self.now.after(self.settings.keep_room_for);
                let is_exchange = matches!(reason, Reason::Exchanged { .. });
                made.insert(*host, RoomMade { file, size, until, freed: 0, is_exchange });
            }
        }
        made
    }

    /// Proposes removals to make room, for one file per host.
    pub fn propose_room(&self, proposal: &mut RemovalProposal) {
        if self.settings.make_room_percent == 0 {
            return;
        }
        let made = self.rooms_awaited();
        let mut taken: BTreeSet<HostAddr> = made.keys().copied().collect();
        // A host with running removals will soon report other figures, so it is left out.
        taken.extend(proposal.under_way.going.iter().map(|(host, _)| *host));
        let mut judged = RoomsJudged::default();
        for wish in self.room_wanted.files.iter().filter(|wish| !self.is_for_exchange(wish)) {
            if judged.are_enough() {
                break;
            }
            let earlier = made.iter().find(|(_, room)| room.file == wish.file);
            let from = self.settings.make_room_hits;
            let verdict = match earlier {
                // The room stays, but no more copies are removed for a file that has cooled down.
                Some((host, _)) if wish.hits < from => RoomVerdict::MadeEarlier { host: *host },
                Some((host, room)) => self.make_up_for(*host, room, wish, proposal),
                None if wish.hits < from => RoomVerdict::TooFewHits { from },
                None => self.make_room(wish, &mut taken, proposal),
            };
            let is_impossible = matches!(verdict, RoomVerdict::TooMuch { .. });
            judged.add(RoomSought { wish: *wish, verdict }, is_impossible, &mut proposal.rooms);
        }
    }

    /// Rooms for files that still need them, on hosts that can take these files. A room is free for any
    /// file if its file is placed, is being copied, or is no longer hot.
    fn rooms_awaited(&self) -> BTreeMap<HostAddr, RoomMade> {
        let mut made = self.rooms_made();
        made.retain(|addr, room| {
            self.room_wanted.needs(room.file, room.is_exchange) && self.can_take(*addr, room.file)
        });
        made
    }

    /// Whether a host serves now and does not hold this file.
    pub(super) fn can_take(&self, addr: HostAddr, file: FileId) -> bool {
        let holder = self.holders.get(addr).filter(|host| host.is_askable());
        holder.is_some_and(|host| host.status == CopyHolderStatus::Serves && !host.lists(file))
    }

    /// Completes room that was made and turned out too small, because other files arrived or a removed
    /// file was smaller than reported. The rest of the share of the same disk makes up for it.
    fn make_up_for(
        &self,
        addr: HostAddr,
        room: &RoomMade,
        wish: &WantsRoom,
        proposal: &mut RemovalProposal,
    ) -> RoomVerdict {
        let earlier = RoomVerdict::MadeEarlier { host: addr };
        let Some(host) = self.holders.get(addr) else { return earlier };
        let Some(left) = self.present_room(addr, host) else { return earlier };
        let lacking = wish.size.saturating_sub(left);
        let is_at_work = proposal.under_way.is_at_work_on(addr);
        if lacking == 0 || is_at_work || !self.may_make_room(addr, host, proposal) {
            return earlier;
        }
        match self.offer(wish, lacking, room.freed, (addr, host), proposal) {
            Ok(offer) => self.propose_offer(offer, wish, proposal),
            Err(_) => earlier,
        }
    }

    fn make_room(
        &self,
        wish: &WantsRoom,
        taken: &mut BTreeSet<HostAddr>,
        proposal: &mut RemovalProposal,
    ) -> RoomVerdict {
        let can_take = |addr: HostAddr, host: &CopyHolder| {
            !taken.contains(&addr)
                && !host.lists(wish.file)
                && (wish.old_hosts_carry || host.is_ours())
        };
        let mut hosts: Vec<(u64, HostAddr, &CopyHolder)> = self
            .holders
            .askable()
            .filter(|(addr, host)| can_take(*addr, host))
            .filter(|(addr, host)| self.may_make_room(*addr, host, proposal))
            .filter_map(|(addr, host)| {
                let left = self.present_room(addr, host)?;
                Some((wish.size.saturating_sub(left), addr, host))
            })
            .collect();
        hosts.sort_unstable_by_key(|(lacking, addr, _)| (*lacking, *addr));
        if let Some((0, host, _)) = hosts.first() {
            return RoomVerdict::MayFit { host: *host };
        }
        let least = hosts.first().map(|(lacking, ..)| *lacking);
        let mut best: Option<Offer> = None;
        let mut are_unsized = false;
        for (lacking, addr, host) in hosts.into_iter().take(MOST_HOSTS) {
            match self.offer(wish, lacking, 0, (addr, host), proposal) {
                Ok(offer) if best.as_ref().is_none_or(|best| offer.is_better_than(best)) => {
                    best = Some(offer);
                }
                Ok(_) | Err(NoOffer::TooMuch) => {}
                Err(NoOffer::Unsized) => are_unsized = true,
            }
        }
        match best {
            Some(offer) => {
                taken.insert(offer.host);
                self.propose_offer(offer, wish, proposal)
            }
            None if are_unsized => RoomVerdict::SizesUnknown,
            None => RoomVerdict::TooMuch { lacking: least },
        }
    }

    /// Proposes the removals of an offer.
    fn propose_offer(
        &self,
        offer: Offer,
        wish: &WantsRoom,
        proposal: &mut RemovalProposal,
    ) -> RoomVerdict {
        let Offer { host, lacking, goes, victims, .. } = offer;
        for (file, size) in victims {
            let reason = Reason::MakesRoom {
                better: self.name(wish.file),
                better_size: wish.size,
                better_grade: (wish.grade > 0).then_some(wish.grade),
                better_hits: wish.hits,
                grade: self.grade(file),
            };
            proposal.add(Removal { host, file, size: Some(size), reason, keeper: None });
        }
        RoomVerdict::Made { host, lacking, goes }
    }

    /// The bytes that the planner counted as free on a host, if it counted them after the last removal there.
    pub(super) fn present_room(&self, addr: HostAddr, host: &CopyHolder) -> Option<u64> {
        let room = self.room_wanted.rooms.get(&addr)?;
        host.is_present(room.disk_read_at).then_some(room.bytes)
    }

    /// Whether room is made on a host at all now.
    pub(super) fn may_make_room(
        &self,
        addr: HostAddr,
        host: &CopyHolder,
        proposal: &RemovalProposal,
    ) -> bool {
        host.status == CopyHolderStatus::Serves
            && self.keeps_all(host).is_none()
            && host.present_disk().is_some()
            && !proposal.relieving.contains(&addr)
    }

    /// The copies to remove on a host: its worst files, until there is room. The total, bytes removed
    /// earlier for this file included, never exceeds the share of a disk for one file.
    fn offer(
        &self,
        wish: &WantsRoom,
        lacking: u64,
        freed: u64,
        (addr, host): (HostAddr, &CopyHolder),
        proposal: &mut RemovalProposal,
    ) -> Result<Offer, NoOffer> {
        let disk = host.present_disk().ok_or(NoOffer::TooMuch)?;
        let share = disk.mark(self.settings.make_room_percent).saturating_sub(freed);
        if lacking == 0 || lacking > share || wish.size > self.marks(disk).0 {
            return Err(NoOffer::TooMuch);
        }
        let (mut victims, mut goes, mut are_unsized) = (Vec::new(), 0_u64, false);
        for file in self.worst_to_keep(addr, host) {
            if goes >= lacking || victims.len() == self.settings.most_per_host {
                break;
            }
            if self.arrivals.came_hot.contains(&(addr, file)) {
                proposal.spare(Spared::CameHot, 1);
                continue;
            }
            if self.spares(addr, file, proposal).is_some() {
                continue;
            }
            match self.size(file) {
                // Its master could not be checked, so its size is unknown: it is kept.
                None if self.has_no_size(file) => {}
                // A file of unknown size blocks the better ones after it until its size is known.
                None => {
                    proposal.wants_size(file);
                    are_unsized = true;
                }
                Some(size) if size > share => {}
                Some(size) => {
                    goes = goes.saturating_add(size);
                    victims.push((file, size));
                }
            }
        }
        if are_unsized {
            return Err(NoOffer::Unsized);
        }
        // The last copy may have replaced better ones whose removal gains nothing.
        for index in (0..victims.len()).rev() {
            let size = victims[index].1;
            if goes - size >= lacking {
                goes -= size;
                victims.remove(index);
            }
        }
        let lost = self.lost_demand(&victims);
        let offer = Offer { host: addr, lacking, goes, lost, victims };
        if (lacking..=share).contains(&goes) { Ok(offer) } else { Err(NoOffer::TooMuch) }
    }

    /// The files that may be removed, worst first. While the order of demand is in force, these are the ones
    /// with the least demand.
    fn worst_to_keep(&self, addr: HostAddr, host: &CopyHolder) -> Vec<FileId> {
        if self.demand_in_force().is_none() {
            return self.worst_first(host);
        }
        let least = self.least_demanded.of(addr).iter().copied();
        least.filter(|file| host.lists(*file)).collect()
    }

    fn lost_demand(&self, victims: &[(FileId, u64)]) -> f64 {
        let Some(demand) = self.demand_in_force() else { return 0.0 };
        victims.iter().map(|(file, _)| self.holders.kept_demand(*file, demand).per_day()).sum()
    }

    /// The files whose room would not be enough, because one of the copies to remove for them is kept.
    pub(in crate::remover) fn in_vain(
        &self,
        removals: &[Removal],
        stays: impl Fn(&Removal) -> bool,
    ) -> BTreeSet<FileName> {
        let kept = removals.iter().filter(|removal| stays(removal));
        kept.filter_map(|removal| Some(removal.reason.better()?.0.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reelyard_core::clock::Millis;
    use reelyard_core::event::RequestId;
    use reelyard_core::host::HostKind;
    use reelyard_protocol::legacy::cfw::DiskFigures;
    use reelyard_replication::{AppliedEvent, InFlight, Piece};

    use super::*;
    use crate::catalog::ranking::{RankedFile, Ranking};
    use crate::catalog::sources::masters::Masters;
    use crate::cfw_worker::{HostObserved, Inventory};
    use crate::heartbeat::{Health, HealthChanged};
    use crate::remover::policy::looked_size::LookedSize;
    use crate::remover::samples::{host, name};
    use crate::remover::{
        Confirmation, Ending, RecentArrivals, RemovalBook, RemovalEvent, RemovalOutcome,
        RemoverPieceContext, RemoverPolicy, RemoverSettings, RoomWanted,
    };
    use crate::room::CountedRoom;

    const NOW: Millis = Millis(10_000_000);

    /// Hosts of 1000 bytes with a limit of 90 %; files by rank, each with its size and its host.
    struct MakeRoomFixture {
        policy: RemoverPolicy,
        book: RemovalBook,
        files: Vec<FileId>,
        now: Millis,
        /// When the disks were read from which the planner counts.
        read_at: Millis,
        wanted: RoomWanted,
    }

    fn yard(files: &[(&str, u64, u8)], hosts: u8) -> MakeRoomFixture {
        let settings = RemoverSettings {
            make_room_hits: 6,
            make_room_percent: 30,
            old_host_quiet: std::time::Duration::ZERO,
            ..RemoverSettings::default()
        };
        let (mut policy, book) = (RemoverPolicy::new(settings), RemovalBook::default());
        let ids: Vec<FileId> = files.iter().map(|(text, ..)| book.file(&name(text))).collect();
        let ranked = ids.iter().zip(files).map(|(file, (_, size, _))| RankedFile {
            file: *file,
            size: Some(*size),
            listed_on: Vec::new(),
        });
        policy.set_ranking(Arc::new(Ranking::from_files(ranked)));
        let all = ids.iter().map(|file| file.0).collect();
        policy.set_masters(Arc::new(Masters { files: all, ..Masters::default() }));
        policy.set_hosts(
            (1..=hosts).map(|last| (host(last), CopyHolderStatus::Serves)),
            Default::default(),
        );
        for last in 1..=hosts {
            let (host, at) = (host(last), NOW);
            let (from, to) = (Health::Unknown, Health::Up);
            policy.health_changed(&HealthChanged { host, from, to, at });
            let held = ids.iter().zip(files).filter(|(_, (.., on))| *on == last);
            let used: u64 = held.clone().map(|(_, (_, size, _))| size).sum();
            let files = held.map(|(file, _)| file.0).collect();
            let disk = DiskFigures { used, avail: 1000 - used, ..DiskFigures::default() };
            let inventory = Some(Arc::new(Inventory { files, unreadable_names: 0, at }));
            let disk = Some((disk, at));
            policy.observe(&HostObserved {
                host,
                kind: HostKind::Cfw,
                inventory,
                disk,
                traffic: None,
                at,
            });
        }
        MakeRoomFixture {
            policy,
            book,
            files: ids,
            now: NOW,
            read_at: NOW,
            wanted: RoomWanted::default(),
        }
    }

    impl MakeRoomFixture {
        /// The planner has no room for these: index, hits; nothing is on its way.
        fn want(&mut self, wishes: &[(usize, u64, u32)], rooms: &[(u8, u64)]) {
            let files = wishes.iter().map(|&(index, size, hits)| {
                let file = self.files[index];
                WantsRoom { file, size, hits, grade: 1, old_hosts_carry: true }
            });
            let room = |bytes| CountedRoom { bytes, disk_read_at: self.read_at };
            let rooms = rooms.iter().map(|&(last, bytes)| (host(last), room(bytes))).collect();
            self.wanted = RoomWanted { files: files.collect(), rooms };
            self.policy.set_room_wanted(self.wanted.clone());
        }

        fn propose(&mut self) -> RemovalProposal {
            let in_flight = InFlight::default();
            let (book, now) = (&self.book, self.now);
            self.policy.propose(RemoverPieceContext { book, in_flight: &in_flight, now })
        }

        fn goes(proposal: &RemovalProposal) -> Vec<(HostAddr, FileId)> {
            proposal.removals.iter().map(|removal| (removal.host, removal.file)).collect()
        }
    }

    #[test]
    fn the_worst_files_go_where_the_fewest_bytes_do() {
        let files = [("new", 300, 0), ("a", 400, 1), ("b", 200, 1), ("c", 200, 1), ("d", 880, 2)];
        let mut yard = yard(&files, 2);
        yard.want(&[(0, 300, 9)], &[(1, 100), (2, 20)]);
        let proposal = yard.propose();
        assert_eq!(MakeRoomFixture::goes(&proposal), [(host(1), yard.files[3])]);
        let made = RoomVerdict::Made { host: host(1), lacking: 200, goes: 200 };
        assert_eq!(proposal.rooms[0].verdict, made);
        assert!(matches!(
            &proposal.removals[0].reason,
            Reason::MakesRoom { better, better_size: 300, better_hits: 9, .. } if *better == name("new")
        ));
    }

    #[test]
    fn room_needs_enough_hits_and_at_most_its_share_of_a_disk() {
        let files = [("new", 500, 0), ("a", 400, 1), ("b", 250, 1), ("c", 250, 1)];
        let mut yard = yard(&files, 1);
        yard.want(&[(0, 500, 9)], &[(1, 0)]);
        let too_much = RoomVerdict::TooMuch { lacking: Some(500) };
        assert_eq!(yard.propose().rooms[0].verdict, too_much);
        yard.want(&[(0, 300, 5)], &[(1, 0)]);
        let proposal = yard.propose();
        assert_eq!(proposal.rooms[0].verdict, RoomVerdict::TooFewHits { from: 6 });
        assert!(proposal.removals.is_empty());
        yard.want(&[(0, 300, 6)], &[]);
        assert_eq!(yard.propose().rooms[0].verdict, RoomVerdict::TooMuch { lacking: None });
    }

    #[test]
    fn nothing_is_removed_while_a_host_may_have_room() {
        let files = [("new", 300, 0), ("a", 400, 1), ("b", 200, 1), ("c", 400, 2)];
        let mut yard = yard(&files, 2);
        yard.want(&[(0, 300, 9)], &[(1, 300), (2, 100)]);
        let proposal = yard.propose();
        assert_eq!(proposal.removals, []);
        assert_eq!(proposal.rooms[0].verdict, RoomVerdict::MayFit { host: host(1) });
    }

    #[test]
    fn a_file_that_came_as_hot_is_not_removed_for_the_next() {
        let mut yard = yard(&[("new", 300, 0), ("a", 400, 1), ("b", 290, 1), ("c", 200, 1)], 1);
        let came_hot = [(host(1), yard.files[3])].into();
        let arrivals = RecentArrivals { came_hot, ..RecentArrivals::default() };
        yard.policy.set_hosts([(host(1), CopyHolderStatus::Serves)], arrivals);
        yard.want(&[(0, 200, 9)], &[(1, 10)]);
        let proposal = yard.propose();
        assert_eq!(MakeRoomFixture::goes(&proposal), [(host(1), yard.files[2])]);
        assert_eq!(proposal.spared.get(&Spared::CameHot), Some(&1));
    }

    /// The victims of the one wish are gone, and the host was read again after that.
    fn after_one_room() -> MakeRoomFixture {
        let files = [("x", 200, 0), ("y", 200, 0), ("a", 500, 1), ("b", 200, 1), ("c", 200, 1)];
        let mut yard = yard(&files, 1);
        yard.want(&[(0, 200, 9)], &[(1, 0)]);
        let removals = yard.propose().removals;
        let masters = yard.files.iter().copied().collect();
        let seen = Confirmation { asked_at: NOW, masters, ..Confirmation::default() };
        let in_flight = InFlight::default();
        let context = RemoverPieceContext { book: &yard.book, in_flight: &in_flight, now: NOW };
        let (events, _) = yard.policy.confirm(removals, &seen, context);
        let ended = RemovalEvent::Ended { host: host(1), name: name("c"), ending: Ending::Removed };
        for event in events.into_iter().chain([ended]) {
            let result = yard.book.apply(NOW, &event);
            // The clock of another leader was ahead: it says nothing about the looks of this node.
            let at = NOW.after(std::time::Duration::from_secs(3_600));
            let applied = AppliedEvent { request: RequestId(0), at, event, result: result.clone() };
            assert_eq!(result, Ok(RemovalOutcome::Applied));
            yard.policy.on_applied(&applied, &yard.book, true, NOW);
        }
        let at = Millis(NOW.0 + 1);
        (yard.now, yard.read_at) = (at, at);
        let held = [2, 3].map(|index| yard.files[index].0).into_iter().collect();
        let inventory = Some(Arc::new(Inventory { files: held, unreadable_names: 0, at }));
        let disk = DiskFigures { used: 700, avail: 300, ..DiskFigures::default() };
        let disk = Some((disk, at));
        let kind = HostKind::Cfw;
        yard.policy.observe(&HostObserved {
            host: host(1),
            kind,
            inventory,
            disk,
            traffic: None,
            at,
        });
        yard
    }

    #[test]
    fn a_host_makes_room_for_the_next_file_after_the_first() {
        let mut yard = after_one_room();
        yard.want(&[(0, 200, 9), (1, 200, 8)], &[(1, 200)]);
        let proposal = yard.propose();
        assert_eq!(proposal.rooms[1].verdict, RoomVerdict::TooMuch { lacking: None });
        // The first is on its way: the planner has no wish for it, and counts it.
        yard.want(&[(1, 200, 8)], &[(1, 0)]);
        assert_eq!(MakeRoomFixture::goes(&yard.propose()), [(host(1), yard.files[3])]);
    }

    #[test]
    fn too_little_room_is_extended_within_the_share_of_the_disk() {
        // Another file took 60 of the 200 bytes.
        let mut yard = after_one_room();
        yard.want(&[(0, 200, 9)], &[(1, 140)]);
        let proposal = yard.propose();
        assert_eq!(proposal.removals, [], "200 of 300 went, and the next would be 200 more");
        let earlier = RoomVerdict::MadeEarlier { host: host(1) };
        assert_eq!(proposal.rooms[0].verdict, earlier);
        yard.policy.learn_sizes(vec![(yard.files[3], LookedSize::Bytes(80))]);
        let counted_at = std::mem::replace(&mut yard.read_at, NOW);
        yard.want(&[(0, 200, 9)], &[(1, 140)]);
        assert_eq!(yard.propose().rooms[0].verdict, earlier, "counted before the removal ended");
        yard.read_at = counted_at;
        yard.want(&[(0, 200, 9)], &[(1, 140)]);
        let made = RoomVerdict::Made { host: host(1), lacking: 60, goes: 80 };
        assert_eq!(yard.propose().rooms[0].verdict, made);
    }

    #[test]
    fn no_more_copies_are_removed_for_a_file_that_has_cooled_down() {
        let mut yard = after_one_room();
        yard.policy.learn_sizes(vec![(yard.files[3], LookedSize::Bytes(80))]);
        yard.want(&[(0, 200, 5)], &[(1, 140)]);
        let proposal = yard.propose();
        assert_eq!(proposal.removals, []);
        assert_eq!(proposal.rooms[0].verdict, RoomVerdict::MadeEarlier { host: host(1) });
    }

    #[test]
    fn room_for_a_file_that_cooled_down_is_free_for_the_next() {
        let mut yard = after_one_room();
        // It still is among the files with much demand.
        yard.want(&[(0, 200, 0), (1, 200, 8)], &[(1, 0)]);
        assert_eq!(MakeRoomFixture::goes(&yard.propose()), [(host(1), yard.files[3])]);
    }

    #[test]
    fn a_host_that_cannot_take_the_file_makes_no_room() {
        let files = [("new", 300, 0), ("a", 400, 1), ("b", 300, 1), ("c", 300, 2)];
        let mut yard = yard(&files, 2);
        yard.want(&[(0, 300, 9)], &[(2, 0)]);
        assert_eq!(
            MakeRoomFixture::goes(&yard.propose()),
            [(host(2), yard.files[3])],
            "its room is unknown"
        );
        yard.want(&[(2, 300, 9)], &[(1, 0)]);
        assert!(yard.propose().removals.is_empty(), "it holds one already");
        yard.want(&[(0, 300, 9)], &[(1, 0), (2, 0)]);
        let mut wanted = yard.wanted.clone();
        wanted.files[0].old_hosts_carry = false;
        yard.policy.set_room_wanted(wanted);
        assert!(yard.propose().removals.is_empty(), "old hosts cannot carry its name");
    }

    #[test]
    fn nothing_goes_that_nothing_is_gained_by() {
        let files = [("new", 300, 0), ("a", 500, 1), ("b", 290, 1), ("c", 50, 1), ("d", 50, 1)];
        let mut yard = yard(&files, 1);
        yard.want(&[(0, 300, 9)], &[(1, 20)]);
        assert_eq!(
            MakeRoomFixture::goes(&yard.propose()),
            [(host(1), yard.files[2])],
            "b alone will do"
        );
    }

    #[test]
    fn room_is_made_once_per_file_and_for_one_file_per_host() {
        let files = [("x", 200, 0), ("y", 200, 0), ("a", 500, 1), ("b", 200, 1), ("c", 200, 1)];
        let mut yard = yard(&files, 1);
        yard.want(&[(0, 200, 9), (1, 200, 8)], &[(1, 0)]);
        let proposal = yard.propose();
        assert_eq!(MakeRoomFixture::goes(&proposal), [(host(1), yard.files[4])]);
        assert_eq!(proposal.rooms[1].verdict, RoomVerdict::TooMuch { lacking: None });

        let seen = Confirmation {
            asked_at: NOW,
            masters: yard.files.iter().copied().collect(),
            ..Confirmation::default()
        };
        let in_flight = InFlight::default();
        let context = RemoverPieceContext { book: &yard.book, in_flight: &in_flight, now: NOW };
        let (events, _) = yard.policy.confirm(proposal.removals, &seen, context);
        for event in events {
            assert_eq!(yard.book.apply(NOW, &event), Ok(RemovalOutcome::Applied));
        }
        let ended = RemovalEvent::Ended { host: host(1), name: name("c"), ending: Ending::Removed };
        for event in [None, Some(ended)] {
            if let Some(event) = event {
                let result = yard.book.apply(NOW, &event);
                let applied = AppliedEvent { request: RequestId(0), at: NOW, event, result };
                yard.policy.on_applied(&applied, &yard.book, true, NOW);
            }
            let proposal = yard.propose();
            assert_eq!(proposal.rooms[0].verdict, RoomVerdict::MadeEarlier { host: host(1) });
            assert_eq!(proposal.removals, []);
        }
        let later = NOW.after(yard.policy.settings().keep_room_for);
        assert!(yard.book.rooms_made(yard.policy.settings(), later).is_empty());
    }

    #[test]
    fn files_of_unknown_size_are_measured_first() {
        let mut yard = yard(&[("new", 300, 0), ("a", 295, 1), ("b", 290, 1)], 1);
        let ranked = [1, 0].map(|index| RankedFile {
            file: yard.files[index],
            size: Some(295),
            listed_on: Vec::new(),
        });
        yard.policy.set_ranking(Arc::new(Ranking::from_files(ranked)));
        yard.want(&[(0, 300, 9)], &[(1, 20)]);
        let proposal = yard.propose();
        assert_eq!(proposal.rooms[0].verdict, RoomVerdict::SizesUnknown);
        assert_eq!((proposal.masters(), proposal.removals.len()), (vec![yard.files[2]], 0));
        yard.policy.learn_sizes(vec![(yard.files[2], LookedSize::Bytes(290))]);
        assert_eq!(MakeRoomFixture::goes(&yard.propose()), [(host(1), yard.files[2])]);
    }

    #[test]
    fn the_removals_for_one_file_happen_together_or_not_at_all() {
        let files = [("new", 300, 0), ("a", 500, 1), ("b", 150, 1), ("c", 150, 1)];
        let mut yard = yard(&files, 1);
        let wish = [(0, 300, 9)];
        yard.want(&wish, &[(1, 0)]);
        let removals = yard.propose().removals;
        assert_eq!(removals.len(), 2);
        let spared = |yard: &MakeRoomFixture, masters: &[FileId]| {
            let masters = masters.iter().copied().collect();
            let seen = Confirmation { asked_at: NOW, masters, ..Confirmation::default() };
            let in_flight = InFlight::default();
            let context = RemoverPieceContext { book: &yard.book, in_flight: &in_flight, now: NOW };
            let (events, spared) = yard.policy.confirm(removals.clone(), &seen, context);
            (events.len(), spared.into_iter().map(|(_, why)| why).collect::<Vec<_>>())
        };
        assert_eq!(spared(&yard, &yard.files), (2, vec![]));
        let (only_c, all) = ([yard.files[3]], yard.files.clone());
        assert_eq!(spared(&yard, &only_c), (0, vec![Spared::InVain, Spared::MasterUnknown]));
        yard.want(&[], &[(1, 0)]);
        assert_eq!(spared(&yard, &all), (0, vec![Spared::NotNeeded, Spared::NotNeeded]));
    }
}
