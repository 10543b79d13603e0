//! Whose request it is. Pure.

use std::net::{IpAddr, Ipv6Addr};

/// The address of the client behind `peer`: `peer` itself unless it is a trusted proxy, else the
/// last address in `forwarded` (the values of `X-Forwarded-For`, in order) that is not one.
pub(super) fn client<'v>(
    peer: IpAddr,
    trusted: &[IpAddr],
    forwarded: impl DoubleEndedIterator<Item = &'v [u8]>,
) -> IpAddr {
    let mut client = peer.to_canonical();
    let hops = forwarded.rev().flat_map(|value| value.rsplit(|&byte| byte == b','));
    for hop in hops {
        if !trusted.contains(&client) {
            break;
        }
        let read = std::str::from_utf8(hop).ok().and_then(|text| text.trim().parse().ok());
        let Some(before) = read else { break };
        client = IpAddr::to_canonical(&before);
    }
    client
}

/// What stands for a client where it is counted: one line of an Internet provider. A customer has
/// all of an IPv6 network of 64 bits.
pub(super) fn line(client: IpAddr) -> IpAddr {
    match client {
        IpAddr::V4(_) => client,
        IpAddr::V6(v6) => Ipv6Addr::from(u128::from(v6) & !u128::from(u64::MAX)).into(),
    }
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
            client(ip(peer), &proxies, values.iter().map(|value| value.as_bytes()))
        };
        assert_eq!(of("192.0.2.1", &["198.51.100.7"]), ip("192.0.2.1"));
        assert_eq!(of("127.0.0.1", &["198.51.100.7"]), ip("198.51.100.7"));
        assert_eq!(of("::ffff:127.0.0.1", &["198.51.100.7"]), ip("198.51.100.7"));
        // What the client itself claims stands before what the proxy adds.
        assert_eq!(of("127.0.0.1", &["1.2.3.4, 198.51.100.7"]), ip("198.51.100.7"));
        assert_eq!(of("127.0.0.1", &["1.2.3.4", "198.51.100.7, 10.0.0.1"]), ip("198.51.100.7"));
        assert_eq!(of("127.0.0.1", &["garbage"]), ip("127.0.0.1"));
        assert_eq!(of("127.0.0.1", &[]), ip("127.0.0.1"));
    }

    #[test]
    fn one_network_is_one_line() {
        assert_eq!(line(ip("2001:db8:1:2:3::4")), line(ip("2001:db8:1:2::9")));
        assert_ne!(line(ip("2001:db8:1:2::9")), line(ip("2001:db8:1:3::9")));
        assert_eq!(line(ip("192.0.2.1")), ip("192.0.2.1"));
    }
}
