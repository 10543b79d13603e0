//! Finds the client of a request behind trusted proxies. Pure.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The client according to the trusted proxies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkClient<'v> {
    /// Address that limits per client use.
    pub(crate) address: IpAddr,
    /// The invalid address that a trusted proxy sent. The proxy itself then counts as the client.
    pub(crate) garbled: Option<&'v [u8]>,
}

/// The client behind `peer`. This is `peer` itself unless it is a trusted proxy. Otherwise it is
/// the last address in `forwarded` that is not trusted; these are the values of `X-Forwarded-For`
/// in order.
pub(crate) fn client<'v>(
    peer: IpAddr,
    trusted: &[IpAddr],
    forwarded: impl DoubleEndedIterator<Item = &'v [u8]>,
) -> LinkClient<'v> {
    let mut client = LinkClient { address: peer.to_canonical(), garbled: None };
    let hops = forwarded.rev().flat_map(|value| value.rsplit(|&byte| byte == b','));
    for hop in hops {
        if !trusted.contains(&client.address) {
            break;
        }
        let Some(before) = read(hop) else {
            client.garbled = Some(hop);
            break;
        };
        client.address = before.to_canonical();
    }
    client
}

/// Parses an address as proxies write it: with or without a port; IPv6 also in brackets.
fn read(hop: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(hop).ok()?.trim();
    let with_port = || text.parse().ok().map(|hop: SocketAddr| hop.ip());
    let in_brackets = || {
        let bare: Ipv6Addr = text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
        Some(IpAddr::from(bare))
    };
    text.parse().ok().or_else(with_port).or_else(in_brackets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn only_a_trusted_proxy_speaks_for_others() {
        let proxies = [ip("127.0.0.1"), ip("10.0.0.1")];
        let of = |peer: &str, values: &[&str]| {
            client(ip(peer), &proxies, values.iter().map(|value| value.as_bytes())).address
        };
        assert_eq!(of("192.0.2.1", &["198.51.100.7"]), ip("192.0.2.1"));
        assert_eq!(of("127.0.0.1", &["198.51.100.7"]), ip("198.51.100.7"));
        assert_eq!(of("::ffff:127.0.0.1", &["198.51.100.7"]), ip("198.51.100.7"));
        // The value from the client comes before the value that the proxy adds.
        assert_eq!(of("127.0.0.1", &["1.2.3.4, 198.51.100.7"]), ip("198.51.100.7"));
        assert_eq!(of("127.0.0.1", &["1.2.3.4", "198.51.100.7, 10.0.0.1"]), ip("198.51.100.7"));
        assert_eq!(of("127.0.0.1", &["garbage"]), ip("127.0.0.1"));
        assert_eq!(of("127.0.0.1", &[]), ip("127.0.0.1"));
    }

    #[test]
    fn proxies_write_addresses_in_brackets_and_with_ports_too() {
        let proxy = ip("127.0.0.1");
        let behind =
            |value: &'static str| client(proxy, &[proxy], std::iter::once(value.as_bytes()));
        let of = |value| {
            let client = behind(value);
            assert_eq!(client.garbled, None, "{value}");
            client.address
        };
        assert_eq!(of("203.0.113.7:5555"), ip("203.0.113.7"));
        for value in ["[2001:db8::1]", " [2001:db8::1]:443 ", "2001:db8::1"] {
            assert_eq!(of(value), ip("2001:db8::1"), "{value}");
        }
        assert_eq!(of("[::ffff:203.0.113.7]:80, 127.0.0.1:9"), ip("203.0.113.7"));
        for garbage in ["unknown", "", "[]", "[203.0.113.7", "203.0.113.7:x"] {
            let client = behind(garbage);
            assert_eq!((client.address, client.garbled), (proxy, Some(garbage.as_bytes())));
        }
    }
}
