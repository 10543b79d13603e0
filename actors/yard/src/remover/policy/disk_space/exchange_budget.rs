//! The budget of exchanges, for rounds and for views. Pure.

use serde::{Deserialize, Serialize};

/// The limit of exchanges in 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ExchangeBudget {
    /// Bytes that exchanges may remove in 24 hours.
    pub bytes: u64,
    /// Bytes that they may still remove now.
    pub left: u64,
}
