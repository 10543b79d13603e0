//! A copy on request: the user names the file and the destination. It follows the rules of a round,
//! except for the order. It goes before better files, it ignores the backoff of a file or a pair, and a
//! source may serve one copy above its limit.

use std::cmp::Reverse;

use reelyard_core::host::{HostAddr, HostMode};
use reelyard_core::names::{FileId, FileName};
use reelyard_protocol::worker::TaskId;

use super::{Candidate, Occupied, Pairing, Planner, PlanningContext, Skip};
use crate::heartbeat::Health;
use crate::task_manager::messages::ByHandRefused;
use crate::task_manager::messages::HostUsability;
use crate::task_manager::policy::plan::hosts::usable_hosts::{
    HeldPairs, UsableDestination, UsableSource,
};
use crate::task_manager::state::event::NewTask;

/// The requested copy.
#[derive(Clone, Debug)]
pub struct ByHand<'a> {
    /// The file to copy.
    pub name: &'a FileName,
    /// The host that will hold the copy; none for the one with the most room.
    pub destination: Option<HostAddr>,
    /// The source; none for any source.
    pub source: Option<HostAddr>,
    /// The requester, for the history.
    pub asked_by: &'a str,
    /// Whether the file is pinned: then the Remover does not remove a surplus copy.
    pub is_pinned: bool,
}

impl Planner {
    /// Plans a copy that a user requested.
    ///
    /// # Errors
    /// Why it cannot be done, in words.
    pub fn by_hand(
        &mut self,
        asked: &ByHand<'_>,
        yard: &PlanningContext<'_>,
    ) -> Result<NewTask, ByHandRefused> {
        self.candidates.refresh(yard.book, yard.hosts, yard.settings);
        let is_one = |host| yard.hosts.get(host).is_some_and(|known| known.role.is_destination());
        if let Some(other) = asked.destination.filter(|host| !is_one(*host)) {
            return Err(ByHandRefused::NoDestination(other));
        }
        let occupied = Occupied::of(yard);
        let of_file = |skip| ByHandRefused::File { name: asked.name.clone(), skip };
        let file = yard.book.names().find(asked.name.as_bytes());
        let file = file.ok_or_else(|| of_file(Skip::NoMaster))?;
        if let Some(task) = yard.copied_by(file) {
            return Err(ByHandRefused::UnderWay { name: asked.name.clone(), task });
        }
        if !self.candidates.lists_master(file) {
            return Err(of_file(Skip::NoMaster));
        }
        if self.candidates.traits().ignored().contains(file.0) {
            return Err(of_file(Skip::Ignored));
        }
        let holders = self.candidates.holders(file, yard.book, yard.hosts);
        let holds = asked.destination.is_some_and(|host| holders.contains(&host));
        if self.candidates.is_placed(file) && !asked.is_pinned && !holds {
            return Err(ByHandRefused::Enough { name: asked.name.clone(), on: holders });
        }
        let master = self.master_cache.get(file, yard.now).unwrap_or(Err(Skip::MasterUnknown));
        let master = master.map_err(of_file)?;
        let mut pairing = Pairing::new(yard, &occupied.held_pairs);
        self.keep_rooms(yard, &occupied, &mut pairing);
        let pair = match asked.destination {
            Some(host) => {
                let to = self.destination(host, file, master.size, &pairing, yard)?;
                (source(asked, &to, &pairing, yard)?, host)
            }
            None => self.roomiest_pair(asked, file, master.size, &pairing, yard)?,
        };
        let (grade, hits) = (self.candidates.grade(file), self.candidates.hits(file));
        let candidate = Candidate { file, grade, hits };
        let speed = yard.rate_for(&[], pair);
        let task = super::new_task(yard, TaskId(yard.first_id()), candidate, &master, pair, speed);
        let asked_by = Some(asked.asked_by.to_owned());
        Ok(NewTask { asked_by, source_cap: task.source_cap.saturating_add(1), ..task })
    }

    /// The source, and the destination with the most room that a source can serve.
    fn roomiest_pair(
        &self,
        asked: &ByHand<'_>,
        file: FileId,
        size: u64,
        pairing: &Pairing,
        yard: &PlanningContext<'_>,
    ) -> Result<(HostAddr, HostAddr), ByHandRefused> {
        let (mut able, mut first) = (Vec::new(), None);
        for (host, _) in yard.hosts.iter().filter(|(_, known)| known.role.is_destination()) {
            match self.destination(host, file, size, pairing, yard) {
                Ok(to) => able.push(to),
                Err(ByHandRefused::Destination { host, usability }) => {
                    first = first.or(Some((host, usability)));
                }
                Err(refused) => return Err(refused),
            }
        }
        able.sort_by_key(|to| Reverse(to.room_for(Some(file), true)));
        let mut refused = ByHandRefused::Nowhere { name: asked.name.clone(), first };
        for to in able {
            match source(asked, &to, pairing, yard) {
                Ok(source) => return Ok((source, to.addr)),
                Err(why) => refused = why,
            }
        }
        Err(refused)
    }

    fn destination(
        &self,
        host: HostAddr,
        file: FileId,
        size: u64,
        pairing: &Pairing,
        yard: &PlanningContext<'_>,
    ) -> Result<UsableDestination, ByHandRefused> {
        let refused = |usability| ByHandRefused::Destination { host, usability };
        if self.candidates.holders(file, yard.book, yard.hosts).contains(&host) {
            return Err(refused(HostUsability::Holds));
        }
        let part = pairing.parts().get(&host).copied().unwrap_or_default();
        if let Some(unusable) = part.no_destination {
            return Err(refused(unusable.into()));
        }
        let usable = pairing.destinations.iter().find(|to| to.addr == host);
        let to = usable.ok_or_else(|| refused(HostUsability::DiskUnknown))?;
        let room = to.room_for(Some(file), true);
        if !to.ours && !self.candidates.traits().old_hosts_carry(file) {
            Err(refused(HostUsability::NameNotCarried))
        } else if size > room.saturating_add(part.on_its_way) {
            Err(refused(HostUsability::TooBig))
        } else if size > room {
            Err(refused(HostUsability::NoRoom))
        } else {
            Ok(to.clone())
        }
    }
}

/// The source for a copy to that destination: one that is up, active and trusted. Sources of the
/// destination's own kind come first, then the least busy.
fn source(
    asked: &ByHand<'_>,
    to: &UsableDestination,
    pairing: &Pairing,
    yard: &PlanningContext<'_>,
) -> Result<HostAddr, ByHandRefused> {
    let most = yard.settings.copies_per_source.max(1);
    let mut able = Vec::new();
    for (addr, host) in yard.hosts.iter() {
        let is_meant = asked.source.is_none_or(|source| source == addr);
        let active = yard.book.host(addr).is_none_or(|record| record.mode == HostMode::Active);
        let link = pairing.parts().get(&addr).and_then(|part| part.source_link);
        let well = host.health == Health::Up
            && !host.calls.is_open()
            && !link.is_some_and(|link| link.is_too_busy());
        let source = UsableSource::of(addr, host);
        let serving = yard.under_way().filter(|copy| copy.source == addr).count();
        let fits = host.role.is_source() && source.goes_with(to, &HeldPairs::default());
        if is_meant && active && well && fits && serving <= most {
            able.push((source.ours != to.ours, serving, addr));
        }
    }
    match (able.into_iter().min(), asked.source) {
        (Some((_, _, addr)), _) => Ok(addr),
        (None, Some(source)) => Err(ByHandRefused::Source(source)),
        (None, None) => Err(ByHandRefused::NoSource),
    }
}
