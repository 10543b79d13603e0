//! The query of a call without parameters.

use serde::Deserialize;

/// The query of a call without parameters: every parameter is refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoQuery {}
