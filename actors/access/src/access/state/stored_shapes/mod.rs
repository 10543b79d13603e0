//! The shapes of all types that events, outcomes, refusals and snapshot rows of access consist of.

use std::net::IpAddr;

use reelyard_replication::check_stored_shapes;

use super::event::{AccessEvent, AccessOutcome, AccessRefusal};
use super::snapshot::AccessSnapshotRow;
use super::values::session::SessionSubject;
use crate::rights::{AccessScope, BadRights, Rights, Role};
use reelyard_core::address_range::{AddressRange, CallerAddress};

#[test]
fn stored_shapes_of_access_stay() {
    let range: AddressRange = "10.0.0.0/8".parse().unwrap();
    let address = CallerAddress::from(IpAddr::from([10, 0, 0, 1]));
    check_stored_shapes!(
        "kept.txt",
        values: [range, address, AccessScope::YardRead, "10.0.0.1:1".parse::<reelyard_core::host::HostAddr>().unwrap()],
        types: [
            Role,
            Rights,
            BadRights,
            SessionSubject,
            AccessEvent,
            AccessOutcome,
            AccessRefusal,
            AccessSnapshotRow,
        ],
    );
}
