//! The offer of a host for a file in an exchange: the copies with the least demand that make enough room. Pure.

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;

/// A host that can make room, and its copies with the least demand.
pub(super) struct ExchangeHost {
    pub(super) addr: HostAddr,
    /// Free bytes below the limit of the disk, after all open tasks.
    pub(super) room: u64,
    /// Bytes between the low-water mark and the limit, which only hot files use.
    pub(super) for_hot: u64,
    /// The largest number of bytes that may be removed for one file.
    pub(super) share: u64,
    /// Least demand for each byte first.
    pub(super) victims: Vec<Victim>,
    /// Whether the size of a copy with as little demand is being looked up. Until then the host makes no offer.
    pub(super) is_unsized: bool,
    /// Whether it makes room for another file in this round.
    pub(super) is_taken: bool,
}

/// Why no host makes an offer for a file.
#[derive(Clone, Copy, Default)]
pub(super) struct NoExchange {
    /// The smallest number of missing bytes on a host where it is more than one file may remove.
    pub(super) lacking: Option<u64>,
    /// Whether one file may remove enough bytes on some host.
    pub(super) could_make_room: bool,
    /// Whether such a host makes room for another file in this round.
    pub(super) is_taken: bool,
    /// Whether such a host waits for the size of a copy.
    pub(super) is_unsized: bool,
}

/// A copy that may be removed.
#[derive(Clone, Copy)]
pub(super) struct Victim {
    pub(super) file: FileId,
    pub(super) size: u64,
    /// Requests a day, with the memory of deletion.
    pub(super) demand: f64,
}

/// The copies to remove on one host for one file.
pub(super) struct ExchangeOffer {
    /// Index of the host.
    pub(super) host: usize,
    pub(super) goes: u64,
    /// Requests a day for the removed copies, in the proportion of the bytes that the file uses.
    pub(super) lost: f64,
    pub(super) victims: Vec<Victim>,
}

impl ExchangeHost {
    /// The bytes that are missing for a file of this size.
    pub(super) fn lacking(&self, size: u64) -> u64 {
        size.saturating_add(self.for_hot).saturating_sub(self.room).min(size)
    }

    /// The copies to remove for a file of this size: those with the least demand, without copies whose
    /// removal gains nothing. None if that is not possible. An exchange frees no more than the file needs, so
    /// it does not restore room that hot files use above the low-water mark.
    pub(super) fn offer(&self, host: usize, size: u64) -> Option<ExchangeOffer> {
        let lacking = self.lacking(size);
        if lacking == 0 || lacking > self.share || self.is_unsized || self.is_taken {
            return None;
        }
        let mut victims: Vec<Victim> = Vec::new();
        let mut goes = 0_u64;
        for victim in &self.victims {
            if goes >= lacking {
                break;
            }
            goes += victim.size;
            victims.push(*victim);
        }
        for index in (0..victims.len()).rev() {
            if goes - victims[index].size >= lacking {
                goes -= victims.remove(index).size;
            }
        }
        let demand: f64 = victims.iter().map(|victim| victim.demand).sum();
        // The rest of the freed bytes serves other files.
        let lost = demand * (size as f64 / goes as f64).min(1.0);
        (lacking..=self.share).contains(&goes).then_some(ExchangeOffer {
            host,
            goes,
            lost,
            victims,
        })
    }
}
