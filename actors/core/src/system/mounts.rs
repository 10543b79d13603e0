//! Whether the file system of a path reports changes.

use rustix::fs::StatFs;

/// File systems that other machines change too, by their `statfs` number: the kernel reports only changes
/// that were made through this machine.
const SHARED: [(u32, &str); 13] = [
    (0x0000_6969, "nfs"),
    (0x0000_517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x6573_5546, "fuse"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "ceph"),
    (0x5346_414f, "afs"),
    (0x7375_7245, "coda"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x0116_1970, "gfs2"),
    (0x7461_636f, "ocfs2"),
];

/// The kind of a file system on which the kernel does not report changes by other machines. None for all
/// other kinds.
pub fn unwatchable_kind(figures: &StatFs) -> Option<&'static str> {
    // The number has 32 bits, in a field that is wider or signed on some machines.
    kind_of(figures.f_type as u32)
}

fn kind_of(number: u32) -> Option<&'static str> {
    SHARED.iter().find(|(known, _)| *known == number).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_file_systems_can_be_watched_and_shared_ones_cannot() {
        let proc = rustix::fs::statfs("/proc").unwrap();
        assert_eq!(unwatchable_kind(&proc), None);
        assert_eq!(kind_of(0x6969), Some("nfs"));
        assert_eq!(kind_of(0xff53_4d42), Some("cifs"));
        // ext4.
        assert_eq!(kind_of(0xef53), None);
    }
}
