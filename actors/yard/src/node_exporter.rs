//! The network interfaces in the text format of Prometheus' node_exporter: three of its series. Pure.
//!
//! Only these lines are read, and strictly; all other lines are skipped.

use std::collections::BTreeMap;

use reelyard_core::host::BitsPerSecond;
use reelyard_core::traffic::TrafficBytes;

/// The counters of one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// The transferred bytes so far.
    pub bytes: TrafficBytes,
    /// Its capacity, if reported.
    pub speed: Option<BitsPerSecond>,
}

/// Why an answer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPage {
    /// A line of one of the series cannot be read.
    #[error("line {0} is not a metric line of the Prometheus text format")]
    Line(usize),
    /// It reports no interface.
    #[error("it reports no network interface (node_network_transmit_bytes_total)")]
    NoDevice,
}

/// An interface with the values that were read so far.
#[derive(Default)]
struct PartialDevice {
    sent: Option<u64>,
    received: Option<u64>,
    speed: Option<BitsPerSecond>,
}

const SENT: &str = "node_network_transmit_bytes_total";
const RECEIVED: &str = "node_network_receive_bytes_total";
const SPEED: &str = "node_network_speed_bytes";

/// Reads the interfaces with counters of both directions, by name.
pub fn read(page: &str) -> Result<BTreeMap<String, Device>, BadPage> {
    let mut partial: BTreeMap<String, PartialDevice> = BTreeMap::new();
    for (number, line) in page.lines().enumerate() {
        let bad = || BadPage::Line(number + 1);
        let Some((series, rest)) = line.split_once('{') else { continue };
        if ![SENT, RECEIVED, SPEED].contains(&series) {
            continue;
        }
        let (device, value) = sample(rest).ok_or_else(bad)?;
        let device = partial.entry(device).or_default();
        match series {
            SENT => device.sent = Some(count(value).ok_or_else(bad)?),
            RECEIVED => device.received = Some(count(value).ok_or_else(bad)?),
            // node_exporter reports an unknown speed as a negative number.
            _ => device.speed = bits(value),
        }
    }
    let devices: BTreeMap<String, Device> = partial
        .into_iter()
        .filter_map(|(name, device)| {
            let bytes = TrafficBytes { sent: device.sent?, received: device.received? };
            Some((name, Device { bytes, speed: device.speed }))
        })
        .collect();
    if devices.is_empty() { Err(BadPage::NoDevice) } else { Ok(devices) }
}

/// The device and the value of a line, from behind its first brace.
fn sample(mut rest: &str) -> Option<(String, f64)> {
    let mut device = None;
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(behind) = rest.strip_prefix('}') {
            // A time may follow.
            let value = behind.split_ascii_whitespace().next()?.parse().ok()?;
            return Some((device?, value));
        }
        let (label, quoted) = rest.split_once("=\"")?;
        let (text, behind) = unquoted(quoted)?;
        if label == "device" {
            device = Some(text);
        }
        rest = behind;
    }
}

/// The text of a label up to its closing quotation mark, and the rest of the line.
fn unquoted(quoted: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((text, &quoted[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => text.push('\n'),
                escaped @ ('\\' | '"') => text.push(escaped),
                _ => return None,
            },
            char => text.push(char),
        }
    }
    None
}

/// A count of bytes. Large ones are written in short, as 1.234e+13.
fn count(value: f64) -> Option<u64> {
    // Above 2^53 a float cannot hold every integer; a few bytes more or less do not matter.
    (value.is_finite() && value >= 0.0 && value < u64::MAX as f64).then_some(value as u64)
}

fn bits(bytes_per_second: f64) -> Option<BitsPerSecond> {
    count(bytes_per_second * 8.0).filter(|bits| *bits > 0).map(BitsPerSecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"# HELP node_network_receive_bytes_total Network device statistic receive_bytes.
# TYPE node_network_receive_bytes_total counter
node_network_receive_bytes_total{device="eth0"} 1.234567e+13
node_network_receive_bytes_total{device="lo"} 200
# TYPE node_network_speed_bytes gauge
node_network_speed_bytes{device="eth0"} 1.25e+09
node_network_speed_bytes{device="veth1"} -125000
# TYPE node_network_transmit_bytes_total counter
node_network_transmit_bytes_total{device="eth0"} 42
node_network_transmit_bytes_total{device="lo"} 200
node_network_transmit_bytes_total{device="half"} 1
node_network_transmit_packets_total{device="eth0"} nonsense
node_load1 0.5
"#;

    #[test]
    fn interfaces_are_read_with_their_speed_if_it_is_known() {
        let devices = read(PAGE).unwrap();
        assert_eq!(
            devices.keys().collect::<Vec<_>>(),
            ["eth0", "lo"],
            "one direction alone does not count"
        );
        let eth0 = devices["eth0"];
        assert_eq!(eth0.bytes, TrafficBytes { sent: 42, received: 12_345_670_000_000 });
        assert_eq!(eth0.speed, Some(BitsPerSecond(10_000_000_000)));
        assert_eq!(devices["lo"].speed, None);
    }

    #[test]
    fn labels_may_be_many_and_escaped_and_a_time_may_follow() {
        let page = "node_network_receive_bytes_total{a=\"x,}\",device=\"a\\\"b\\\\\",z=\"\\n\",} 7 1700000000000\n\
                    node_network_transmit_bytes_total{device=\"a\\\"b\\\\\"} 8\n";
        let devices = read(page).unwrap();
        assert_eq!(devices["a\"b\\"].bytes, TrafficBytes { sent: 8, received: 7 });
    }

    #[test]
    fn an_unreadable_page_is_refused_with_its_line() {
        for bad in [
            "node_network_transmit_bytes_total{device=\"eth0\"} many",
            "node_network_transmit_bytes_total{device=\"eth0\"} -1",
            "node_network_transmit_bytes_total{device=\"eth0\"} NaN",
            "node_network_transmit_bytes_total{device=\"eth0\"}",
            "node_network_transmit_bytes_total{device=\"eth0} 1",
            "node_network_transmit_bytes_total{device=\"eth\\0\"} 1",
            "node_network_transmit_bytes_total{interface=\"eth0\"} 1",
        ] {
            assert_eq!(read(&format!("# a page\n{bad}\n")), Err(BadPage::Line(2)), "{bad}");
        }
        assert_eq!(read("<html>not found</html>"), Err(BadPage::NoDevice));
        assert_eq!(read(""), Err(BadPage::NoDevice));
    }
}
