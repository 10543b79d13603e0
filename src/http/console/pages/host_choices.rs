//! The hosts in the menu of a filter.

use reelyard_core::host::HostAddr;

/// Most hosts of a menu. Nobody looks through more: a large yard has the filter of the page Hosts.
const MOST: usize = 200;

/// The hosts to choose from. With too many hosts it is only the chosen one.
pub fn host_choices<'a>(
    hosts: impl ExactSizeIterator<Item = &'a HostAddr>,
    chosen: &str,
) -> Vec<String> {
    if hosts.len() <= MOST {
        return hosts.map(HostAddr::to_string).collect();
    }
    if chosen.is_empty() { Vec::new() } else { vec![chosen.to_owned()] }
}
