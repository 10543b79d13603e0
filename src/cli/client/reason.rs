//! The header with the reason of a change.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use reelyard_access::audit::{LARGEST_REASON, REASON_HEADER};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::cli::support::failure::CommandFailure;

/// The characters that are encoded, besides those that are not ASCII.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%');

/// The headers that every request has, with this reason.
pub fn headers(reason: Option<&str>) -> Result<HeaderMap, CommandFailure> {
    let mut headers = HeaderMap::new();
    let Some(reason) = reason else { return Ok(headers) };
    if reason.chars().count() > LARGEST_REASON {
        let text = format!("--reason: at most {LARGEST_REASON} characters");
        return Err(CommandFailure::Usage(text));
    }
    let encoded = utf8_percent_encode(reason, ENCODED).to_string();
    let value = HeaderValue::from_str(&encoded).map_err(anyhow::Error::from)?;
    headers.insert(HeaderName::from_static(REASON_HEADER), value);
    Ok(headers)
}
