//! The current load of this host's link, measured once a second while the worker runs.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use reelyard_core::host::BitsPerSecond;
use reelyard_core::traffic::meter::{Measured, Meter};
use reelyard_core::traffic::{ByteCount, Traffic, TrafficBytes};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use super::link::{NetworkInterface, NoLink};

/// How often the counters are read.
const EVERY: Duration = Duration::from_secs(1);

/// The time over which rates are averaged. Viewers connect and disconnect within seconds, and the
/// planner must not react to each of them.
const WINDOW: Duration = Duration::from_secs(10);

/// A measurement older than this is dropped.
const FRESH_FOR: Duration = Duration::from_secs(10);

/// The measured network link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSettings {
    /// The interface. None for the one that has `address`.
    pub interface: Option<String>,
    /// Capacity of the link. None for the value of the kernel.
    pub speed: Option<BitsPerSecond>,
    /// The address where files are served.
    pub address: IpAddr,
    /// The path of sysfs.
    pub sysfs: PathBuf,
}

/// Counts the bytes that copies have sent from this host and received on it.
#[derive(Clone, Debug, Default)]
pub struct CopyCounts {
    /// Bytes that copies sent from this host.
    pub sent: ByteCount,
    /// Bytes that copies received on this host.
    pub received: ByteCount,
}

impl CopyCounts {
    fn so_far(&self) -> TrafficBytes {
        TrafficBytes { sent: self.sent.so_far(), received: self.received.so_far() }
    }
}

/// A running measurement; it ends when this is dropped.
pub struct LinkGauge {
    shared: Arc<LinkGaugeShared>,
    measuring: JoinHandle<()>,
}

struct LinkGaugeShared {
    settings: ArcSwap<LinkSettings>,
    copies: CopyCounts,
    latest: ArcSwapOption<(Traffic, Instant)>,
}

impl LinkGauge {
    /// Begins to measure. Needs a tokio runtime.
    pub fn start(settings: LinkSettings, copies: CopyCounts) -> Self {
        let settings = ArcSwap::from_pointee(settings);
        let shared = Arc::new(LinkGaugeShared { settings, copies, latest: ArcSwapOption::empty() });
        let measuring = tokio::spawn(measure(Arc::clone(&shared)));
        LinkGauge { shared, measuring }
    }

    /// Measures this link from now on.
    pub fn change_settings(&self, settings: LinkSettings) {
        self.shared.settings.store(Arc::new(settings));
    }

    /// The load of the link. None while it is unknown. Also none for a worker on the loopback interface,
    /// unless a setting names that interface.
    pub fn traffic(&self) -> Option<Traffic> {
        let latest = self.shared.latest.load();
        let (traffic, at) = latest.as_deref()?;
        (at.elapsed() <= FRESH_FOR).then(|| traffic.clone())
    }
}

impl Drop for LinkGauge {
    fn drop(&mut self) {
        self.measuring.abort();
    }
}

async fn measure(shared: Arc<LinkGaugeShared>) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut probe = LinkProbe::of(shared.settings.load_full());
    let began = Instant::now();
    loop {
        ticks.tick().await;
        let asked = Arc::clone(&shared);
        // Some drivers answer slowly.
        let read = tokio::task::spawn_blocking(move || {
            let traffic = probe.read(&asked, began.elapsed());
            (probe, traffic)
        });
        let Ok((back, traffic)) = read.await else { return };
        probe = back;
        shared.latest.store(traffic.map(|traffic| Arc::new((traffic, Instant::now()))));
    }
}

/// The state between two readings.
struct LinkProbe {
    settings: Arc<LinkSettings>,
    link: Option<NetworkInterface>,
    meter: Meter,
    /// Whether the log already has a line about the unreadable link.
    is_warned: bool,
}

impl LinkProbe {
    fn of(settings: Arc<LinkSettings>) -> Self {
        LinkProbe { settings, link: None, meter: Meter::over(WINDOW), is_warned: false }
    }

    /// The counters at `at`, since some beginning.
    fn read(&mut self, shared: &LinkGaugeShared, at: Duration) -> Option<Traffic> {
        let settings = shared.settings.load_full();
        if settings != self.settings {
            *self = LinkProbe::of(settings);
        }
        match self.try_read(shared, at) {
            Ok(traffic) => {
                self.is_warned = false;
                traffic
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_warned, true) {
                    tracing::warn!(%error, "the load of the network link could not be measured");
                }
                // The address may have moved to another interface.
                self.link = None;
                self.meter = Meter::over(WINDOW);
                None
            }
        }
    }

    fn try_read(
        &mut self,
        shared: &LinkGaugeShared,
        at: Duration,
    ) -> Result<Option<Traffic>, NoLink> {
        if self.link.is_none() {
            self.link = self.settings.link()?;
        }
        let Some(link) = &self.link else { return Ok(None) };
        // The copies first: bytes that they send meanwhile count as other traffic, for one reading.
        let copies = shared.copies.so_far();
        self.meter.record(at, link.bytes()?, copies);
        let Some(Measured { all, copies, over }) = self.meter.measured() else { return Ok(None) };
        Ok(Some(Traffic {
            interface: link.name().to_owned(),
            speed: self.settings.speed.or_else(|| link.speed()),
            all,
            copies: Some(copies),
            over_ms: u64::try_from(over.as_millis()).unwrap_or(u64::MAX),
        }))
    }
}

impl LinkSettings {
    fn link(&self) -> Result<Option<NetworkInterface>, NoLink> {
        match &self.interface {
            Some(name) => Ok(Some(NetworkInterface::named(name, &self.sysfs))),
            None => NetworkInterface::with_address(self.address, &self.sysfs),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_link_is_read_beside_copies_and_again_after_its_absence() {
        let dir = tempfile::tempdir().unwrap();
        let statistics = dir.path().join("class/net/eth7/statistics");
        let put = |sent: u64| {
            fs::create_dir_all(&statistics).unwrap();
            fs::write(statistics.join("rx_bytes"), "0").unwrap();
            fs::write(statistics.join("tx_bytes"), sent.to_string()).unwrap();
        };
        let settings = LinkSettings {
            interface: Some("eth7".to_owned()),
            speed: Some(BitsPerSecond(1_000_000)),
            address: "127.0.0.1".parse().unwrap(),
            sysfs: dir.path().to_owned(),
        };
        let copies = CopyCounts::default();
        let shared = LinkGaugeShared {
            settings: ArcSwap::from_pointee(settings),
            copies: copies.clone(),
            latest: ArcSwapOption::empty(),
        };
        let mut probe = LinkProbe::of(shared.settings.load_full());
        let mut second = 0;
        let mut read = |probe: &mut LinkProbe| {
            second += 1;
            probe.read(&shared, Duration::from_secs(second))
        };
        assert_eq!(read(&mut probe), None, "there is no such interface");
        put(1000);
        assert_eq!(read(&mut probe), None, "one reading gives no rate");
        put(1_001_000);
        copies.sent.add(750_000);
        let traffic = read(&mut probe).unwrap();
        let besides = traffic.all.without(traffic.copies.unwrap());
        assert_eq!(besides.sends, BitsPerSecond(2_000_000), "{traffic:?}");
        assert_eq!((traffic.interface.as_str(), traffic.speed.unwrap().0), ("eth7", 1_000_000));
        fs::remove_dir_all(&statistics).unwrap();
        assert_eq!(read(&mut probe), None);
        put(5);
        assert_eq!(read(&mut probe), None);
        assert!(read(&mut probe).is_some());
    }

    #[test]
    fn the_loopback_interface_is_no_link_unless_it_is_named() {
        let settings = |interface: Option<&str>| LinkSettings {
            interface: interface.map(str::to_owned),
            speed: None,
            address: "127.0.0.9".parse().unwrap(),
            sysfs: "/sys".into(),
        };
        assert_eq!(settings(None).link().unwrap(), None);
        assert!(settings(Some("lo")).link().unwrap().is_some());
    }
}
