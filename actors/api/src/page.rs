//! Pages of lists.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One page of a list, with the cursor of the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Page<T> {
    /// The items, in the order of the list.
    pub items: Vec<T>,
    /// Where the next page begins; null on the last one.
    #[schema(required)]
    pub next: Option<Cursor>,
}

/// The place where a page begins. Clients send it back unchanged; its form may change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(transparent)]
pub struct Cursor(pub String);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
