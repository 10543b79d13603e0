//! Short sample events of all owners, and how a test finds the variants without a sample.

mod access;
mod boxes;
mod removals;
mod settings;
mod shares;
mod tasks;

use std::collections::BTreeSet;

pub use access::access_samples;
pub use boxes::box_samples;
use reelyard_core::clock::Millis;
use reelyard_core::event::{Commit, EncodedEvent, Epoch, RequestId};
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_replication::{Ownership, Piece, RequestContext};
pub use removals::removal_samples;
pub use settings::settings_samples;
pub use shares::share_samples;
pub use tasks::task_samples;

/// The time of the first sample commit.
pub const START: Millis = Millis(1_800_000_000_000);

/// The epoch of all sample commits.
pub const EPOCH: Epoch = Epoch(3);

/// A host with this last number.
fn host(last: u8) -> HostAddr {
    format!("10.0.0.{last}:8888").parse().unwrap()
}

/// A host with an IPv6 address.
fn other_host() -> HostAddr {
    "[2001:db8::25]:8888".parse().unwrap()
}

fn file(name: &str) -> FileName {
    FileName::new(name).unwrap()
}

/// The time this many milliseconds after [`START`].
fn after(millis: i64) -> Millis {
    Millis(START.0 + millis)
}

/// A commit of these events, as a leader sends it to the journal. The number is its request.
pub fn commit<P: Piece + Default>(number: u32, events: Vec<P::Event>) -> Commit {
    let mut owned = Ownership::<P>::new(P::default());
    owned.become_leader(EPOCH);
    let asked = RequestContext::by_request("operator", RequestId(0xa000 + u128::from(number)));
    owned.begin_commit(after(1000 * i64::from(number)), asked, events).unwrap()
}

/// The event as the journal stores it.
pub fn encoded<P: Piece + Default>(event: &P::Event) -> EncodedEvent {
    commit::<P>(0, vec![event.clone()]).events.remove(0)
}

/// The number that postcard gives the variant of an event. No owner has 128 variants.
fn variant(encoded: &EncodedEvent) -> u8 {
    encoded.body[0]
}

/// How many variants the events of a piece have. Without its fields, a known variant ends too early. An
/// unknown one is another error.
fn variants<P: Piece + Default>() -> u8 {
    let error = |variant: u8| {
        let event = EncodedEvent { version: P::EVENT_VERSION, body: vec![variant] };
        P::decode(&event).err().map(|error| error.to_string())
    };
    let unknown = error(127).unwrap();
    (0..127).find(|variant| error(*variant).as_ref() == Some(&unknown)).unwrap()
}

/// Fails with the number of each variant that is not among the events.
pub fn has_every_variant<P: Piece + Default>(events: &[P::Event], without: &[P::Event]) {
    let events = events.iter().chain(without);
    let numbers: BTreeSet<u8> = events.map(|event| variant(&encoded::<P>(event))).collect();
    let missing: Vec<u8> =
        (0..variants::<P>()).filter(|number| !numbers.contains(number)).collect();
    let name = std::any::type_name::<P::Event>();
    assert!(missing.is_empty(), "variants of {name} without a sample, counted from 0: {missing:?}");
}
