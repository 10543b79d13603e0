//! The state of a circuit breaker, as other actors see it.

use reelyard_core::backoff::BackOff;
use serde::{Deserialize, Serialize};

/// A request to a host with its own circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostCallKind {
    /// The program and its version: `GET /info`.
    Info,
    /// Its files: `GET /files` or `GET /inventory`.
    List,
    /// Its disk: `GET /df`.
    Disk,
    /// Deletion of a copy: `DELETE /files/{name}`.
    Delete,
}

/// The state of the calls to a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CircuitState {
    /// Calls are sent as usual.
    #[default]
    Closed,
    /// Calls kept failing: only probes are sent, and no new copies are planned on the host.
    Open,
    /// The calls are tried again: one call and one copy at a time.
    Probation,
}

impl CircuitState {
    /// Whether only probes are sent.
    pub fn is_open(self) -> bool {
        self == CircuitState::Open
    }

    /// Whether one call at a time is sent, as a trial.
    pub fn on_probation(self) -> bool {
        self == CircuitState::Probation
    }
}

/// Calls that kept failing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTrouble {
    /// The kind of call whose failures opened the breaker.
    pub call: HostCallKind,
    /// How often the breaker opened, until when, and why.
    #[serde(flatten)]
    pub back_off: BackOff,
}
