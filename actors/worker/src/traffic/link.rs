//! A network interface in the kernel's files below `/sys/class/net`.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use reelyard_core::host::BitsPerSecond;
use reelyard_core::traffic::TrafficBytes;

/// The largest number of stacked interfaces: a network over a bond over a card, and more.
const DEEPEST: u32 = 4;

/// The name of the loopback interface.
const LOOPBACK: &str = "lo";

/// A network interface, below the path of sysfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkInterface {
    name: String,
    dir: PathBuf,
}

/// Why the load of a link is unknown.
#[derive(Debug, thiserror::Error)]
pub enum NoLink {
    /// No interface has that address.
    #[error("no network interface has the address {0}")]
    NoAddress(IpAddr),
    /// The interfaces cannot be listed.
    #[error("the network interfaces cannot be listed: {0}")]
    Unlisted(#[source] io::Error),
    /// Its counters cannot be read.
    #[error("the network interface {name} cannot be read: {error}")]
    Unreadable {
        /// Name of the interface, such as `eth0`.
        name: String,
        /// The error of the file system.
        #[source]
        error: io::Error,
    },
}

impl NetworkInterface {
    /// The interface of that name, below the path `sysfs`.
    pub fn named(name: &str, sysfs: &Path) -> Self {
        NetworkInterface { name: name.to_owned(), dir: sysfs.join("class/net").join(name) }
    }

    /// The interface that has `address`. None for the loopback interface, whose traffic uses no link.
    pub fn with_address(address: IpAddr, sysfs: &Path) -> Result<Option<Self>, NoLink> {
        let all = if_addrs::get_if_addrs().map_err(NoLink::Unlisted)?;
        // Every address of 127.0.0.0/8 is the loopback interface's, listed or not.
        if address.is_loopback() {
            return Ok(None);
        }
        let found = all.into_iter().find(|interface| interface.ip() == address);
        let label = found.ok_or(NoLink::NoAddress(address))?.name;
        match interface_of(&label) {
            LOOPBACK => Ok(None),
            name => Ok(Some(NetworkInterface::named(name, sysfs))),
        }
    }

    /// Name of the interface, such as `eth0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The transferred bytes so far.
    pub fn bytes(&self) -> Result<TrafficBytes, NoLink> {
        let read = |file: &str| -> io::Result<u64> {
            let text = fs::read_to_string(self.dir.join("statistics").join(file))?;
            text.trim()
                .parse()
                .map_err(|_| io::Error::other(format!("{file} does not contain a number")))
        };
        let both = || Ok(TrafficBytes { sent: read("tx_bytes")?, received: read("rx_bytes")? });
        both().map_err(|error| NoLink::Unreadable { name: self.name.clone(), error })
    }

    /// The capacity of the interface; none if the kernel does not know it.
    ///
    /// Only interfaces with hardware beneath them have a reliable value. Others (those of containers and
    /// tunnels) may report a number that means nothing.
    pub fn speed(&self) -> Option<BitsPerSecond> {
        if !has_hardware(&self.dir, DEEPEST) {
            return None;
        }
        let text = fs::read_to_string(self.dir.join("speed")).ok()?;
        // -1 is "unknown"; so is 0, which no link has.
        let megabits: u64 = text.trim().parse().ok()?;
        Some(BitsPerSecond(megabits.checked_mul(1_000_000)?)).filter(|speed| speed.0 > 0)
    }
}

/// The interface in the label of an address: a second address may have the label eth0:1.
fn interface_of(label: &str) -> &str {
    label.split_once(':').map_or(label, |(name, _)| name)
}

/// Whether there is a device below this interface, or below one that it is on top of.
fn has_hardware(dir: &Path, deepest: u32) -> bool {
    if dir.join("device").exists() {
        return true;
    }
    let Some(deeper) = deepest.checked_sub(1) else { return false };
    let Ok(entries) = fs::read_dir(dir) else { return false };
    let is_below = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b"lower_");
    entries
        .filter_map(Result::ok)
        .filter(|entry| is_below(&entry.file_name()))
        .any(|entry| has_hardware(&entry.path(), deeper))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory as sysfs has it, with an interface of this speed.
    fn sysfs(name: &str, speed: &str) -> (tempfile::TempDir, NetworkInterface) {
        let dir = tempfile::tempdir().unwrap();
        let link = NetworkInterface::named(name, dir.path());
        fs::create_dir_all(link.dir.join("statistics")).unwrap();
        fs::write(link.dir.join("speed"), speed).unwrap();
        fs::write(link.dir.join("statistics/tx_bytes"), "18446744073709551615\n").unwrap();
        fs::write(link.dir.join("statistics/rx_bytes"), "12\n").unwrap();
        (dir, link)
    }

    #[test]
    fn counters_are_read_and_their_faults_reported() {
        let (_dir, link) = sysfs("eth0", "10000\n");
        assert_eq!(link.bytes().unwrap(), TrafficBytes { sent: u64::MAX, received: 12 });
        fs::write(link.dir.join("statistics/rx_bytes"), "many\n").unwrap();
        let error = link.bytes().unwrap_err().to_string();
        assert!(
            error.contains("eth0") && error.contains("rx_bytes does not contain a number"),
            "{error}"
        );
    }

    #[test]
    fn the_speed_of_hardware_is_believed_and_of_nothing_else() {
        let (_dir, link) = sysfs("eth0", "10000\n");
        assert_eq!(link.speed(), None, "the speed of a virtual interface means nothing");
        fs::create_dir(link.dir.join("device")).unwrap();
        assert_eq!(link.speed(), Some(BitsPerSecond(10_000_000_000)));
        for unknown in ["-1\n", "0\n", ""] {
            fs::write(link.dir.join("speed"), unknown).unwrap();
            assert_eq!(link.speed(), None, "{unknown:?}");
        }
    }

    #[test]
    fn a_network_over_a_bond_of_cards_has_its_reported_speed() {
        let (dir, network) = sysfs("bond0.7", "20000\n");
        let class = dir.path().join("class/net");
        for name in ["bond0", "eth0/device"] {
            fs::create_dir_all(class.join(name)).unwrap();
        }
        symlink(class.join("bond0"), network.dir.join("lower_bond0")).unwrap();
        assert_eq!(network.speed(), None);
        symlink(class.join("eth0"), class.join("bond0/lower_eth0")).unwrap();
        assert_eq!(network.speed(), Some(BitsPerSecond(20_000_000_000)));
        // A loop is no hardware.
        let (dir, link) = sysfs("odd", "1\n");
        symlink(dir.path().join("class/net/odd"), link.dir.join("lower_odd")).unwrap();
        assert_eq!(link.speed(), None);
    }

    #[test]
    fn an_interface_is_found_by_its_address() {
        let sysfs = Path::new("/sys");
        for loopback in ["127.0.0.1", "127.9.8.7", "::1"] {
            assert_eq!(
                NetworkInterface::with_address(loopback.parse().unwrap(), sysfs).unwrap(),
                None
            );
        }
        let unknown = NetworkInterface::with_address("198.51.100.231".parse().unwrap(), sysfs);
        assert!(matches!(unknown, Err(NoLink::NoAddress(_))));
        assert_eq!(["eth0", "eth0:1", "lo:2"].map(interface_of), ["eth0", "eth0", LOOPBACK]);
        // Each interface of this machine is found, and can be read.
        let all = if_addrs::get_if_addrs().unwrap().into_iter();
        for interface in all.filter(|interface| interface.name != LOOPBACK) {
            let link = NetworkInterface::with_address(interface.ip(), sysfs).unwrap().unwrap();
            link.bytes().unwrap();
        }
        NetworkInterface::named(LOOPBACK, sysfs).bytes().unwrap();
    }
}
