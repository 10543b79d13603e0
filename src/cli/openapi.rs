//! `reelyard openapi`

use std::io::Write;

use super::failure::CommandFailure;
use crate::http::api;

/// Prints what the API is. Asks no node: every node of this version answers the same.
pub fn run(out: &mut dyn Write) -> Result<(), CommandFailure> {
    Ok(out.write_all(api::document().as_bytes())?)
}
