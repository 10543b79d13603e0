//! The shared token, from its setting or a file.

use std::path::Path;

use reelyard_core::bounded_read::{self, InputSource};
use reelyard_core::token::SharedToken;

use reelyard_core::settings::SettingsReader;

/// The token, from the one of the two settings that is set.
pub fn resolve_token(
    token: Option<SharedToken>,
    file: Option<&Path>,
    reader: &mut SettingsReader,
) -> Option<SharedToken> {
    let Some(path) = file else { return token };
    if token.is_some() {
        reader.fault("token_file", "token is set as well: expected one of the two");
        return token;
    }
    match bounded_read::read_text(path, InputSource::File) {
        Ok(text) => {
            let fault = |bad| reader.fault("token_file", format!("{}: {bad}", path.display()));
            SharedToken::new(text.trim()).map_err(fault).ok()
        }
        Err(error) => {
            reader.fault("token_file", format!("{} cannot be read: {error}", path.display()));
            None
        }
    }
}
