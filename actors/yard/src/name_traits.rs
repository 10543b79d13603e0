//! Properties of a name: whether it is ignored, and whether old hosts can carry it.

use std::sync::Arc;

use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_protocol::legacy::cfm;
use roaring::RoaringBitmap;

/// Traits of every name met so far. Names never change, so each is examined once. Only a change of the
/// ignored prefixes examines them again.
#[derive(Clone, Debug, Default)]
pub struct NameTraits {
    ignore_prefixes: Vec<Vec<u8>>,
    looked_at: u32,
    ignored: Arc<RoaringBitmap>,
    uncarried: RoaringBitmap,
}

impl NameTraits {
    /// Examines the names that are new in `names`.
    pub fn learn(&mut self, names: &NameTable, ignore_prefixes: &[Vec<u8>]) {
        if self.ignore_prefixes != ignore_prefixes {
            let ignore_prefixes = ignore_prefixes.to_vec();
            *self = NameTraits { ignore_prefixes, ..NameTraits::default() };
        }
        let met = names.ids_given();
        for id in self.looked_at..met {
            let name = names.name(FileId(id));
            if is_ignored(&name, ignore_prefixes) {
                Arc::make_mut(&mut self.ignored).insert(id);
            }
            if !cfm::carries(&name) {
                self.uncarried.insert(id);
            }
        }
        self.looked_at = met;
    }

    /// The files whose names begin with an ignored prefix.
    pub fn ignored(&self) -> &Arc<RoaringBitmap> {
        &self.ignored
    }

    /// Whether old hosts can carry the name of `file`.
    pub fn old_hosts_carry(&self, file: FileId) -> bool {
        file.0 < self.looked_at && !self.uncarried.contains(file.0)
    }
}

fn is_ignored(name: &FileName, prefixes: &[Vec<u8>]) -> bool {
    prefixes.iter().any(|prefix| name.as_bytes().starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_looked_at_once_each() {
        let names = NameTable::new();
        let prefixes = [b"M64".to_vec()];
        let id = |bytes: &[u8]| names.intern(&FileName::new(bytes).unwrap());
        let (ad, plain) = (id(b"M64x.mpg"), id(b"xM64.mpg"));
        let mut traits = NameTraits::default();
        traits.learn(&names, &prefixes);
        assert!(traits.ignored().contains(ad.0) && !traits.ignored().contains(plain.0));
        let later = id(b"M64y.mpg");
        assert!(!traits.old_hosts_carry(later));
        traits.learn(&names, &prefixes);
        assert!(traits.ignored().contains(later.0) && traits.old_hosts_carry(later));
    }

    #[test]
    fn other_prefixes_are_looked_for_in_every_name() {
        let names = NameTable::new();
        let [one, other] = ["M64x.mpg", "MN1x.mpg"]
            .map(|name| names.intern(&FileName::new(name.as_bytes()).unwrap()));
        let mut traits = NameTraits::default();
        let mut ignored = |prefix: &[u8]| {
            traits.learn(&names, &[prefix.to_vec()]);
            [one, other].map(|file| traits.ignored().contains(file.0))
        };
        assert_eq!([ignored(b"M64"), ignored(b"MN1")], [[true, false], [false, true]]);
        assert!(traits.old_hosts_carry(one));
    }

    #[test]
    fn an_old_host_carries_at_most_235_bytes_without_control_characters() {
        let carries = |bytes: Vec<u8>| cfm::carries(&FileName::new(bytes).unwrap());
        assert!(carries(vec![b'x'; 235]) && !carries(vec![b'x'; 236]));
        assert!(carries("빛 #?%41.mpg".into()));
        for bad in [&b"\xff"[..], b"a\nb", b"a\tb", b"a\rb", b"\x7f", b"\xc2\x85"] {
            assert!(!carries(bad.to_vec()), "{bad:?}");
        }
    }
}
