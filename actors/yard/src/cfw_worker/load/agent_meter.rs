//! Reads the page of a node_exporter, and computes the load of a link from its readings.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_core::host::BitsPerSecond;
use reelyard_core::traffic::meter::Meter;
use reelyard_core::traffic::{Traffic, TrafficBytes};
use reqwest::Method;

use crate::cfw_worker::calls::ask_failure::AskFailure;
use crate::cfw_worker::calls::client::{HostClient, expect_ok, garbled, read_up_to};
use crate::node_exporter::{self, Device};
use crate::settings::hosts::{Agent, AgentUrl};

/// The longest page that is read. The page of a host with hundreds of containers has about a
/// megabyte.
const LONGEST_PAGE: u64 = 8 << 20;

/// The loopback interface: its traffic uses no link.
const LOOPBACK: &str = "lo";

impl HostClient {
    /// Asks an agent for the interfaces of its machine.
    pub async fn devices(&self, url: &AgentUrl) -> Result<BTreeMap<String, Device>, AskFailure> {
        let timeout = self.settings.call_timeout;
        let request = self.http.request(Method::GET, url.url().clone());
        let answer = self.send(request, timeout).await?;
        expect_ok(&answer)?;
        let page = read_up_to(LONGEST_PAGE, answer, timeout).await?;
        let page = std::str::from_utf8(&page).map_err(garbled)?;
        node_exporter::read(page).map_err(garbled)
    }
}

/// The readings of one node_exporter. Pure.
#[derive(Clone, Debug)]
pub(in crate::cfw_worker) struct AgentMeter {
    window: Duration,
    devices: BTreeMap<String, (Meter, Option<BitsPerSecond>)>,
}

impl AgentMeter {
    /// A meter without readings. If it is read every `window`, rates are averages over that time.
    pub fn new(window: Duration) -> Self {
        AgentMeter { window, devices: BTreeMap::new() }
    }

    /// Takes a reading made at `at`.
    pub fn record(&mut self, at: Duration, devices: BTreeMap<String, Device>) {
        self.devices.retain(|name, _| devices.contains_key(name));
        for (name, Device { bytes, speed }) in devices {
            let new = || (Meter::over(self.window), None);
            let (meter, known) = self.devices.entry(name).or_insert_with(new);
            meter.record(at, bytes, TrafficBytes::default());
            *known = speed;
        }
    }

    /// The load of the link of `agent`. None before the second reading.
    ///
    /// # Errors
    /// The page has no interface with the name in the setting.
    pub fn traffic(&self, agent: &Agent) -> Result<Option<Traffic>, AskFailure> {
        let found = match &agent.device {
            Some(name) => {
                let missing = || garbled(format!("it reports no interface {name}"));
                Some(self.devices.get_key_value(name).ok_or_else(missing)?)
            }
            None => self.busiest(),
        };
        let measured = found.and_then(|(name, (meter, speed))| {
            let measured = meter.measured()?;
            Some(Traffic {
                interface: name.clone(),
                speed: agent.link_speed.or(*speed),
                all: measured.all,
                copies: None,
                over_ms: u64::try_from(measured.over.as_millis()).unwrap_or(u64::MAX),
            })
        });
        Ok(measured)
    }

    /// The interface with the most traffic in both directions together. If several have the same (a
    /// bond and its only active card), the one that reports a speed.
    fn busiest(&self) -> Option<(&String, &(Meter, Option<BitsPerSecond>))> {
        let links = self.devices.iter().filter(|(name, _)| *name != LOOPBACK);
        links.max_by_key(|(_, (meter, speed))| {
            let carried = meter
                .measured()
                .map(|measured| measured.all.sends.0.saturating_add(measured.all.receives.0));
            (carried, speed.is_some())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(device: Option<&str>, link_speed: Option<u64>) -> Agent {
        let url = "http://10.0.0.21:9100/metrics".parse().unwrap();
        let link_speed = link_speed.map(BitsPerSecond);
        Agent { url, device: device.map(str::to_owned), link_speed }
    }

    fn devices(devices: &[(&str, u64, Option<u64>)]) -> BTreeMap<String, Device> {
        let device = |(name, sent, speed): &(&str, u64, Option<u64>)| {
            let bytes = TrafficBytes { sent: *sent, received: 0 };
            ((*name).to_owned(), Device { bytes, speed: speed.map(BitsPerSecond) })
        };
        devices.iter().map(device).collect()
    }

    #[test]
    fn the_busiest_interface_counts_unless_one_is_named() {
        let mut meter = AgentMeter::new(Duration::from_secs(10));
        let speed = Some(1_000_000);
        meter.record(
            Duration::ZERO,
            devices(&[("eth0", 5, speed), ("eth1", 0, speed), ("lo", 0, None)]),
        );
        assert_eq!(meter.traffic(&agent(None, None)), Ok(None), "one reading gives no rate");
        let later =
            devices(&[("eth0", 10_005, speed), ("eth1", 40_000, speed), ("lo", 1 << 40, None)]);
        meter.record(Duration::from_secs(10), later);
        let busiest = meter.traffic(&agent(None, None)).unwrap().unwrap();
        assert_eq!((busiest.interface.as_str(), busiest.all.sends.0), ("eth1", 32_000));
        assert_eq!((busiest.speed.unwrap().0, busiest.over_ms), (1_000_000, 10_000));
        assert_eq!(busiest.copies, None);
        let named = meter.traffic(&agent(Some("eth0"), Some(7))).unwrap().unwrap();
        assert_eq!((named.all.sends.0, named.speed.unwrap().0), (8000, 7));
        let missing = meter.traffic(&agent(Some("eth2"), None)).unwrap_err().to_string();
        assert!(missing.contains("no interface eth2"), "{missing}");
        // An interface that has disappeared is not reported any more.
        meter.record(Duration::from_secs(20), devices(&[("eth0", 10_005, speed)]));
        assert_eq!(meter.traffic(&agent(None, None)).unwrap().unwrap().interface, "eth0");
    }
}
