//! `reelyard openapi`

use std::io::Write;

use crate::cli::support::failure::CommandFailure;
use crate::http::api;

/// Prints the OpenAPI document. It calls no node, because the document depends only on the version.
pub fn run(out: &mut dyn Write) -> Result<(), CommandFailure> {
    Ok(out.write_all(api::document().as_bytes())?)
}
