//! The id of a share root.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Recognises a root on every node: 128 random bits. The directory has it in a file, and the journal, too. Shown as
/// 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootId(pub u128);

/// A text that is no id of a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a root has 32 hexadecimal digits")]
pub struct BadRootId;

impl fmt::Display for RootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for RootId {
    type Err = BadRootId;

    fn from_str(text: &str) -> Result<Self, BadRootId> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = if is_hex { u128::from_str_radix(text, 16).ok() } else { None };
        id.map(RootId).ok_or(BadRootId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_shown() {
        let id = RootId(0xabc);
        assert_eq!(id.to_string(), "00000000000000000000000000000abc");
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in
            ["", "abc", "+0000000000000000000000000000abc", "zz000000000000000000000000000abc"]
        {
            assert_eq!(bad.parse::<RootId>(), Err(BadRootId), "{bad}");
        }
    }
}
