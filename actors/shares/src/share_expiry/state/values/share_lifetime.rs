//! The lifetime of a share in a request.

use std::time::Duration;

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};

use super::value_types::Deadline;

/// The lifetime of a share in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ShareLifetime {
    /// The default lifetime in the operator's settings.
    #[default]
    Default,
    /// This long from now on.
    Ttl(Duration),
    /// An absolute deadline, in milliseconds.
    At(Millis),
    /// Without a deadline.
    Never,
}

/// The condition on the deadline for a change, as in Redis' `EXPIRE`: "never" counts as infinitely
/// late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnlyIf {
    /// Only if it has none (`NX`).
    None,
    /// Only if it has one (`XX`).
    Exists,
    /// Only if the new one is later (`GT`).
    Greater,
    /// Only if the new one is earlier (`LT`).
    Less,
}

impl OnlyIf {
    /// Whether a deadline may be changed from `present` to `wanted`.
    pub fn holds(self, present: Deadline, wanted: Deadline) -> bool {
        match self {
            OnlyIf::None => present == Deadline::NEVER,
            OnlyIf::Exists => present != Deadline::NEVER,
            OnlyIf::Greater => wanted > present,
            OnlyIf::Less => wanted < present,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_equal_those_of_redis() {
        let (early, late) = (Deadline::at(Millis(5)), Deadline::at(Millis(6)));
        let never = Deadline::NEVER;
        // Condition, and the change that it describes: early to late, late to early, early to early,
        // never to early, early to never, never to never.
        for (only_if, expected) in [
            (OnlyIf::None, [false, false, false, true, false, true]),
            (OnlyIf::Exists, [true, true, true, false, true, false]),
            (OnlyIf::Greater, [true, false, false, false, true, false]),
            (OnlyIf::Less, [false, true, false, true, false, false]),
        ] {
            let pairs = [
                (early, late),
                (late, early),
                (early, early),
                (never, early),
                (early, never),
                (never, never),
            ];
            let results = pairs.map(|(present, wanted)| only_if.holds(present, wanted));
            assert_eq!(results, expected, "{only_if:?}");
        }
    }
}
