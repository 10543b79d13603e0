//! Exchanges copies in a full yard: a file with much demand replaces the copies with the least demand on
//! one destination. Pure.
//!
//! An exchange takes place if the new file has, for each byte, at least `popularity.keep` times the demand of
//! the removed copies. The host that loses the least demand makes the room. The sum of exchanges within 24
//! hours is limited, and copies stay for a minimum time. So demand that only fluctuates moves nothing.
//! Exchanges begin when the log was observed for that minimum time. Earlier most files have no request yet,
//! and the demand is that of one part of the day.

mod offer;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;

use self::offer::{ExchangeHost, ExchangeOffer, NoExchange, Victim};
use super::exchange_budget::ExchangeBudget;
use super::room::{MOST_JUDGED, RoomSought, RoomVerdict, RoomsJudged};
use crate::catalog::popularity::popularity_order::PopularityOrder;
use crate::catalog::popularity::request_rate::RequestRate;
use crate::remover::policy::arrivals::is_within;
use crate::remover::policy::decision_context::RemoverDecisionContext;
use crate::remover::policy::holders::CopyHolder;
use crate::remover::policy::round::{Removal, RemovalProposal};
use crate::remover::settings::RemovalMode;
use crate::remover::state::event::Intent;
use crate::remover::state::reason::{Reason, Spared};
use crate::room::{RoomMade, WantsRoom};

/// The budget limits every span of 24 hours, not only calendar days.
const BUDGET_PERIOD: Duration = Duration::from_secs(24 * 60 * 60);

impl<'a> RemoverDecisionContext<'a> {
    /// The demand for all files, if it is measured.
    pub(in crate::remover) fn demand(&self) -> Option<&'a PopularityOrder> {
        self.inputs.ranking.as_ref()?.demand().map(|demand| &**demand)
    }

    /// The demand for all files, if its order is in force.
    pub(in crate::remover) fn demand_in_force(&self) -> Option<&'a PopularityOrder> {
        let is_in_force = self.inputs.ranking.as_ref().is_some_and(|all| all.is_by_demand());
        self.demand().filter(|_| is_in_force)
    }

    /// These files, least demand for each byte first.
    pub(super) fn least_demand_first(
        &self,
        files: impl Iterator<Item = FileId>,
        demand: &PopularityOrder,
    ) -> Vec<FileId> {
        let score = |file| {
            self.holders.kept_demand(file, demand).per_day() / demand.size_or_mean(self.size(file))
        };
        let mut scored: Vec<(f64, FileId)> = files.map(|file| (score(file), file)).collect();
        scored.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        scored.into_iter().map(|(_, file)| file).collect()
    }

    /// Whether only an exchange makes room for a file: it is not hot, or has too few hits for more.
    pub(super) fn is_for_exchange(&self, wish: &WantsRoom) -> bool {
        let is_by_demand = self.demand_in_force().is_some();
        !wish.is_hot() || (is_by_demand && wish.hits < self.settings.make_room_hits)
    }

    /// Proposes exchanges for the files with the most demand that fit nowhere: one on each host. In the mode
    /// "shadow" it adds only the verdicts.
    pub fn propose_exchanges(&self, proposal: &mut RemovalProposal) {
        let Some(demand) = self.demand() else { return };
        let mut budget = self.budget(proposal);
        let files = self.room_wanted.files.iter().copied();
        if self.demand_in_force().is_some() {
            let wishes = files.filter(|wish| self.is_for_exchange(wish)).collect();
            self.exchange_for(wishes, demand, &mut budget, proposal);
        } else {
            let mut trial = proposal.clone();
            trial.rooms.clear();
            let mut spent = budget;
            let wishes = files.filter(|wish| wish.hits < self.settings.make_room_hits).collect();
            self.exchange_for(wishes, demand, &mut spent, &mut trial);
            proposal.show_exchanges(trial.rooms);
            proposal.to_size = trial.to_size;
        }
        proposal.exchange_budget = Some(budget);
    }

    /// The verdict on an exchange for one file, as if it came first in the next round. None while demand is not
    /// measured, and before the first round with this ranking.
    pub fn exchange_outlook(&self, wish: WantsRoom) -> Option<RoomVerdict> {
        let demand = self.demand()?;
        if !self.inputs.ranking.as_ref().is_some_and(|ranking| self.least_demanded.is_of(ranking)) {
            return None;
        }
        let mut trial = RemovalProposal::default();
        trial.under_way = self.under_way();
        let mut budget = self.budget(&trial);
        self.exchange_for(vec![wish], demand, &mut budget, &mut trial);
        let sought = trial.rooms.pop()?;
        Some(sought.only_shown().verdict)
    }

    fn exchange_for(
        &self,
        wishes: Vec<WantsRoom>,
        demand: &PopularityOrder,
        budget: &mut ExchangeBudget,
        proposal: &mut RemovalProposal,
    ) {
        if wishes.is_empty() {
            return;
        }
        if demand.observed() < self.settings.exchange.min_stay {
            let observed = demand.observed().as_secs();
            let needed = self.settings.exchange.min_stay.as_secs();
            let verdict = RoomVerdict::TooShortLog { observed, needed };
            let waiting =
                wishes.iter().map(|wish| RoomSought { wish: *wish, verdict: verdict.clone() });
            proposal.rooms.extend(waiting.take(MOST_JUDGED));
            return;
        }
        let largest = wishes.iter().map(|wish| wish.size).max().unwrap_or(0);
        let made = self.rooms_for_exchanges();
        let in_vain = self.exchanged_in_vain();
        let mut hosts = self.exchange_hosts(demand, largest, &made, proposal);
        let mut judged = RoomsJudged::default();
        for wish in wishes {
            if judged.are_enough() {
                break;
            }
            let made_earlier = made.iter().find(|(_, room)| room.file == wish.file);
            let verdict = match (made_earlier, in_vain.get(&wish.file)) {
                (Some((host, _)), _) => RoomVerdict::MadeEarlier { host: *host },
                (None, Some(did_not_arrive)) => did_not_arrive.clone(),
                (None, None) => {
                    self.exchange(&wish, demand, &mut hosts, &mut budget.left, proposal)
                }
            };
            let is_impossible = match verdict {
                RoomVerdict::TooMuch { .. } | RoomVerdict::DidNotArrive { .. } => true,
                RoomVerdict::BudgetSpent { goes, .. } => goes > budget.bytes,
                RoomVerdict::TooLittleDemand { needed: None, .. } => !hosts.is_empty(),
                _ => false,
            };
            judged.add(RoomSought { wish, verdict }, is_impossible, &mut proposal.rooms);
        }
    }

    fn exchange(
        &self,
        wish: &WantsRoom,
        demand: &PopularityOrder,
        hosts: &mut [ExchangeHost],
        left: &mut u64,
        proposal: &mut RemovalProposal,
    ) -> RoomVerdict {
        let copies = self.holders.serving_copies(wish.file);
        let gained = demand.demand(wish.file).rate.divided_by(copies + 1);
        let offer = match self.cheapest_offer(wish, hosts) {
            Ok(offer) => offer,
            Err(NoExchange { is_unsized: true, .. }) => return RoomVerdict::SizesUnknown,
            Err(NoExchange { is_taken: true, .. }) => return RoomVerdict::AfterOthers,
            Err(NoExchange { could_make_room: false, lacking, .. }) if !hosts.is_empty() => {
                return RoomVerdict::TooMuch { lacking };
            }
            Err(_) => {
                let demand = gained.thousandths();
                return RoomVerdict::TooLittleDemand { demand, needed: None, host: None };
            }
        };
        let needed = offer.lost * self.settings.exchange.keep.get();
        if gained.per_day() < needed || gained == RequestRate::default() {
            let needed = Some(thousandths(needed).max(1));
            let host = Some(hosts[offer.host].addr);
            return RoomVerdict::TooLittleDemand { demand: gained.thousandths(), needed, host };
        }
        // Hot files are exempt from the budget.
        if !wish.is_hot() {
            if offer.goes > *left {
                return RoomVerdict::BudgetSpent { goes: offer.goes, left: *left };
            }
            *left -= offer.goes;
        }
        let taken = &mut hosts[offer.host];
        taken.is_taken = true;
        let host = taken.addr;
        for victim in &offer.victims {
            // Its other copies have more demand from now on.
            if self.holders.listed(victim.file) > 1 {
                let is_other = |other: &Victim| other.file != victim.file;
                hosts.iter_mut().for_each(|host| host.victims.retain(is_other));
            }
            let reason = self.exchange_reason(wish, gained, victim);
            let Victim { file, size, .. } = *victim;
            proposal.add(Removal { host, file, size: Some(size), reason, keeper: None });
        }
        RoomVerdict::Exchanged {
            host,
            goes: offer.goes,
            demand: gained.thousandths(),
            lost: thousandths(offer.lost),
            files: offer.victims.iter().map(|victim| self.name(victim.file).to_text()).collect(),
            is_only_shown: self.settings.mode != RemovalMode::On,
        }
    }

    /// Only [`Reason::Exchanged`] counts for the budget.
    fn exchange_reason(&self, wish: &WantsRoom, gained: RequestRate, victim: &Victim) -> Reason {
        let (better, better_size) = (self.name(wish.file), wish.size);
        if wish.is_hot() {
            return Reason::MakesRoom {
                better,
                better_size,
                better_grade: self.grade(wish.file),
                better_hits: wish.hits,
                grade: self.grade(victim.file),
            };
        }
        let (better_demand, demand) = (gained.thousandths(), thousandths(victim.demand));
        Reason::Exchanged { better, better_size, better_demand, demand }
    }

    /// The rooms that were made, without those of hosts that cannot take their files now. Room for a file that was
    /// hot is free for any file once it has cooled down.
    fn rooms_for_exchanges(&self) -> BTreeMap<HostAddr, RoomMade> {
        let mut made = self.rooms_made();
        made.retain(|addr, room| {
            self.can_take(*addr, room.file)
                && (room.is_exchange || self.room_wanted.needs(room.file, false))
        });
        made
    }

    /// Files whose copies did not arrive although copies were exchanged for them on hosts that can take them. The
    /// next exchange follows as late as for a copy that arrived. Otherwise a master that cannot be read would cost
    /// other copies every hour.
    fn exchanged_in_vain(&self) -> BTreeMap<FileId, RoomVerdict> {
        let min_stay = self.settings.exchange.min_stay;
        let mut in_vain = BTreeMap::new();
        let ended = self.book.history().newest_first().map(|(_, record)| record);
        for record in ended.filter(|record| is_within(record.at, min_stay, self.now)) {
            let Reason::Exchanged { better, .. } = &record.reason else { continue };
            let (file, host) = (self.book.file(better), record.host);
            let has_none = self.holders.serving_copies(file) == 0 && self.can_take(host, file);
            if has_none && record.ending.is_gone() {
                let wait = record.at.after(min_stay).since(self.now).as_secs();
                in_vain.entry(file).or_insert(RoomVerdict::DidNotArrive { host, wait });
            }
        }
        in_vain
    }

    /// The offer that loses the least demand, then the fewest bytes.
    fn cheapest_offer(
        &self,
        wish: &WantsRoom,
        hosts: &[ExchangeHost],
    ) -> Result<ExchangeOffer, NoExchange> {
        let mut best: Option<ExchangeOffer> = None;
        let mut none = NoExchange::default();
        for (index, host) in hosts.iter().enumerate() {
            let Some(holder) = self.holders.get(host.addr) else { continue };
            if holder.lists(wish.file) || !(wish.old_hosts_carry || holder.is_ours()) {
                continue;
            }
            let lacking = host.lacking(wish.size);
            if lacking > host.share {
                none.lacking = none.lacking.into_iter().chain([lacking]).min();
                continue;
            }
            none.could_make_room = true;
            none.is_unsized |= host.is_unsized && !host.is_taken;
            none.is_taken |= host.is_taken;
            let Some(offer) = host.offer(index, wish.size) else { continue };
            let is_better = best.as_ref().is_none_or(|best| {
                offer.lost < best.lost || (offer.lost == best.lost && offer.goes < best.goes)
            });
            if is_better {
                best = Some(offer);
            }
        }
        best.ok_or(none)
    }

    /// The hosts that can make room now for files of up to `largest` bytes. A host with running removals, or
    /// with room that waits for its file, is left out.
    fn exchange_hosts(
        &self,
        demand: &PopularityOrder,
        largest: u64,
        made: &BTreeMap<HostAddr, RoomMade>,
        proposal: &mut RemovalProposal,
    ) -> Vec<ExchangeHost> {
        let mut busy: BTreeSet<HostAddr> =
            proposal.under_way.going.iter().map(|(host, _)| *host).collect();
        busy.extend(made.keys());
        let mut hosts = Vec::new();
        for (addr, holder) in self.holders.askable() {
            let Some(room) = self.present_room(addr, holder) else { continue };
            if busy.contains(&addr) || !self.may_make_room(addr, holder, proposal) {
                continue;
            }
            let Some(disk) = holder.present_disk() else { continue };
            let (limit, low_water) = self.marks(disk);
            let share = disk.mark(self.settings.make_room_percent);
            let for_hot = limit - low_water;
            let enough = largest.saturating_add(for_hot).saturating_sub(room).min(share);
            let (victims, is_unsized) =
                self.victims((addr, holder), demand, (enough, share), proposal);
            hosts.push(ExchangeHost {
                addr,
                room,
                for_hot,
                share,
                victims,
                is_unsized,
                is_taken: false,
            });
        }
        hosts
    }

    /// The copies of a host with the least demand that an exchange may remove, each of at most `share` bytes.
    /// Together they have at least `enough` bytes, if there are that many. Also answers whether the size of one among them is being looked up.
    fn victims(
        &self,
        (addr, holder): (HostAddr, &CopyHolder),
        demand: &PopularityOrder,
        (enough, share): (u64, u64),
        proposal: &mut RemovalProposal,
    ) -> (Vec<Victim>, bool) {
        let (mut victims, mut without_size) = (Vec::new(), 0);
        let mut bytes = 0_u64;
        for file in self.least_demanded.of(addr).iter().copied() {
            if victims.len() + without_size >= self.settings.most_per_host || bytes >= enough {
                break;
            }
            if !holder.lists(file) {
                continue;
            }
            let copy = (addr, file);
            let stays = self.arrivals.min_stay.contains(&copy);
            if stays || self.arrivals.came_hot.contains(&copy) {
                proposal.spare(if stays { Spared::MinStay } else { Spared::CameHot }, 1);
                continue;
            }
            if self.spares(addr, file, proposal).is_some() {
                continue;
            }
            match self.size(file) {
                Some(size) if size > share => {}
                Some(size) => {
                    let demand = self.holders.kept_demand(file, demand).per_day();
                    victims.push(Victim { file, size, demand });
                    bytes = bytes.saturating_add(size);
                }
                // Its master could not be checked: it is kept.
                None if self.has_no_size(file) => {}
                None => {
                    proposal.wants_size(file);
                    without_size += 1;
                    bytes = bytes.saturating_add(demand.mean_size as u64);
                }
            }
        }
        (victims, without_size > 0)
    }

    /// The budget without what the exchanges of the last 24 hours have used.
    fn budget(&self, proposal: &RemovalProposal) -> ExchangeBudget {
        let disks = self.holders.askable().filter_map(|(_, holder)| holder.disk.as_ref());
        let disks = disks.fold(0_u64, |sum, (disk, _)| sum.saturating_add(disk.mark(100)));
        let bytes = self.settings.exchange.daily_budget.bytes(disks);
        let decided = proposal.removals.iter().map(|removal| (&removal.reason, removal.size));
        let running = self.book.open().values().map(|open| (&open.intent.reason, open.intent.size));
        let setting_out = self.setting_out().map(|Intent { reason, size, .. }| (reason, *size));
        let ended = self.book.history().newest_first().map(|(_, record)| record);
        let ended = ended.filter(|record| is_within(record.at, BUDGET_PERIOD, self.now));
        let ended = ended.filter(|record| record.ending.is_gone());
        let ended = ended.map(|record| (&record.reason, record.size));
        let mut spent = 0_u64;
        for (reason, size) in decided.chain(running).chain(setting_out).chain(ended) {
            if matches!(reason, Reason::Exchanged { .. }) {
                spent = spent.saturating_add(size.unwrap_or(0));
            }
        }
        ExchangeBudget { bytes, left: bytes.saturating_sub(spent) }
    }
}

/// Requests a day, in thousandths.
fn thousandths(per_day: f64) -> u64 {
    (per_day * 1000.0).round() as u64
}

#[cfg(test)]
mod tests;
