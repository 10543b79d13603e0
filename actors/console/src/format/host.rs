//! Addresses of hosts: the port is greyed, and left out in narrow places.

use maud::{Markup, html};

use crate::address::host_page;

/// Address and port of a host. The port keeps its colon and is empty if there is none.
fn parts(host: &str) -> (&str, &str) {
    match host.rfind(':') {
        Some(at) => host.split_at(at),
        None => (host, ""),
    }
}

/// The last number of an address of version 4, such as ".31"; other addresses stay whole.
pub fn short_host(host: &str) -> String {
    let (address, _) = parts(host);
    match address.rfind('.') {
        Some(at) => address[at..].to_owned(),
        None => address.to_owned(),
    }
}

/// The address of a host without its port, for sentences.
pub fn bare_host(host: &str) -> &str {
    parts(host).0
}

/// A link to the page of a host, with its greyed port.
pub fn host_link(host: &str) -> Markup {
    let (address, port) = parts(host);
    html! { a.addr href=(host_page(host)) { (address) @if !port.is_empty() { i { (port) } } } }
}

/// A link to the page of a host without its port, which is hidden text.
pub fn host_short(host: &str) -> Markup {
    let (address, port) = parts(host);
    html! { a.addr href=(host_page(host)) title=(host) { (address) span.vh { (port) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_place_has_the_last_number() {
        assert_eq!(short_host("10.4.2.31:8888"), ".31");
        assert_eq!(short_host("[::1]:8888"), "[::1]");
        assert!(host_link("10.4.2.31:8888").into_string().contains("10.4.2.31<i>:8888</i>"));
    }
}
