//! The credential of a request, kept for answers that last longer than the request.

use reelyard_access::secrets::{SessionSecret, TokenHash};
use reelyard_core::token::SharedToken;

/// The credential by which a request was authenticated. Middleware inserts it beside the caller.
#[derive(Clone)]
pub enum RequestCredential {
    /// The shared token of the configuration.
    Legacy(SharedToken),
    /// The token with this hash.
    Token(TokenHash),
    /// The session with this secret.
    Session(SessionSecret),
}
