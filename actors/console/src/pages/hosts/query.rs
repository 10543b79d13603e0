//! The state of the page Hosts, as its address has it.

use crate::address::{QueryWord, SortBy, page_query};

/// Health of the hosts shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthFilter {
    /// They answer.
    Up,
    /// They answer slowly or not always.
    Suspect,
    /// They do not answer.
    Down,
    /// Not asked, or not yet.
    Unknown,
}

impl QueryWord for HealthFilter {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("up", HealthFilter::Up),
        ("suspect", HealthFilter::Suspect),
        ("down", HealthFilter::Down),
        ("unknown", HealthFilter::Unknown),
    ];
}

/// Role of the hosts shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleFilter {
    /// They serve masters.
    Source,
    /// They take copies.
    Destination,
}

impl QueryWord for RoleFilter {
    const WORDS: &'static [(&'static str, Self)] =
        &[("source", RoleFilter::Source), ("destination", RoleFilter::Destination)];
}

/// Mode of the hosts shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeFilter {
    /// In operation.
    Active,
    /// Being drained.
    Draining,
    /// Neither asked nor used.
    Maintenance,
}

impl QueryWord for ModeFilter {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("active", ModeFilter::Active),
        ("draining", ModeFilter::Draining),
        ("maintenance", ModeFilter::Maintenance),
    ];
}

page_query! {
    /// Query parameters of the page Hosts.
    HostsPageQuery at "/hosts" {
        /// Part of the address of a host.
        q: String,
        /// Only hosts in this state; all without it.
        health: Option<HealthFilter>,
        /// Only sources, or only destinations.
        role: Option<RoleFilter>,
        /// Only hosts that a person has put into this mode.
        mode: Option<ModeFilter>,
        /// Order of the rows.
        sort: SortBy,
        /// Cursor of the page of rows.
        after: String,
        /// Picked hosts.
        pick: Vec<String>,
        /// All rows that match are picked, of every page.
        all: bool,
        /// Action whose dialog is open: `drain`, `maintenance` or `remove`.
        ask: String,
        /// Host whose panel "Why?" is open.
        why: String,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_back_its_state() {
        let query = HostsPageQuery {
            q: "10.4 %&".into(),
            health: Some(HealthFilter::Down),
            role: Some(RoleFilter::Source),
            mode: Some(ModeFilter::Maintenance),
            sort: SortBy::descending("disk"),
            after: "b==".into(),
            pick: vec!["10.4.2.31:8888".into(), "[::1]:8888".into()],
            all: true,
            ask: "drain".into(),
            why: "10.4.2.31:8888".into(),
        };
        let address = query.address();
        assert_eq!(HostsPageQuery::parse(address.split_once('?').unwrap().1), query);
        assert_eq!(HostsPageQuery::parse("health=broken&role="), HostsPageQuery::default());
    }
}
