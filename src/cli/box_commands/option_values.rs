//! Parsers of option values of `reelyard box`.

use reelyard_boxes::box_lease::Priority;
use reelyard_protocol::boxes::FenceToken;

pub fn fence(text: &str) -> Result<FenceToken, std::num::ParseIntError> {
    text.parse().map(FenceToken)
}

pub fn priority(text: &str) -> Result<Priority, String> {
    let number: i64 = text.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    Priority::try_from(number).map_err(|bad| bad.to_string())
}
