//! The names that clients give their requests.

use serde::{Deserialize, Deserializer, de};

/// The longest name of a request, in bytes.
const LONGEST: usize = 200;

/// A name of a request, if one is given: 1 to 200 bytes without control characters. An empty name
/// usually comes from a variable that was not set. All users without that variable would then use the
/// same name.
pub(super) fn request_name<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    let fits =
        |name: &String| (1..=LONGEST).contains(&name.len()) && !name.chars().any(char::is_control);
    match name {
        Some(name) if !fits(&name) => Err(de::Error::custom(format!(
            "request_id is a text of 1 to {LONGEST} bytes without control characters, not one of {}. \
             Leave it out if the request is not to be repeated",
            name.len()
        ))),
        name => Ok(name),
    }
}
