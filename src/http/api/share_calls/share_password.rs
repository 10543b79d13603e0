//! Passwords of links in requests of the API.

use actix_web::web;
use reelyard_api::Password;
use reelyard_links::{hash_password, is_password};
use reelyard_shares::share_expiry::{PasswordHash, Share, ShareError, ShareRefusal};

use crate::http::problem::ProblemResponse;

/// Hashes a password. The hash is slow by design.
pub(in crate::http::api) async fn hashed(
    password: Option<Password>,
) -> Result<Option<PasswordHash>, ProblemResponse> {
    let Some(Password(password)) = password else { return Ok(None) };
    let hashed = web::block(move || hash_password(&password)).await;
    let hashed = hashed.map_err(|_| ProblemResponse::stopped())?;
    hashed.map(Some).map_err(|bad| ProblemResponse::bad_request(format!("password: {bad}")))
}

/// Checks that a repeated request has the same password as the share. The request id does not
/// contain the password, so this check finds a request with another password.
pub(in crate::http::api) async fn is_the_same(
    given: Option<Password>,
    share: &Share,
) -> Result<(), ProblemResponse> {
    let (Some(Password(given)), Some(hash)) = (given, share.password().cloned()) else {
        return Ok(());
    };
    let is_same = web::block(move || is_password(&hash, &given)).await;
    if is_same.map_err(|_| ProblemResponse::stopped())? {
        return Ok(());
    }
    Err(ShareError::from(ShareRefusal::OtherRequest).into())
}
