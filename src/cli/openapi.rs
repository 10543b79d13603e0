//! `reelyard openapi`

use std::io::Write;

use super::failure::Failure;
use crate::http::api;

/// Prints what the API is. Asks no node: every node of this version answers the same.
pub fn run(out: &mut dyn Write) -> Result<(), Failure> {
    Ok(out.write_all(api::document().as_bytes())?)
}
