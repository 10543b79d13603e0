//! The signature of a request, so that a receiver knows its sender and its time. Pure.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The header with the signature: `t=<Unix seconds>,v1=<hex>`. The hex part is the HMAC-SHA256 of
/// `<Unix seconds>.<body>`.
pub const SIGNATURE_HEADER: &str = "Reelyard-Signature";

/// The secret that a hook and its receiver share. `Debug` hides the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Arc<str>);

/// A text that cannot be a secret. Does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret is 16 to 1024 visible ASCII characters without blanks")]
pub struct BadWebhookSecret;

impl WebhookSecret {
    /// Checks that `text` is long enough not to be guessed.
    pub fn new(text: &str) -> Result<Self, BadWebhookSecret> {
        let fits = (16..=1024).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(WebhookSecret(text.into())) } else { Err(BadWebhookSecret) }
    }

    /// The value of [`SIGNATURE_HEADER`] for a body sent at `unix_seconds`.
    pub fn sign(&self, unix_seconds: i64, body: &[u8]) -> String {
        use fmt::Write as _;
        let mut signature = format!("t={unix_seconds},v1=");
        // A key of HMAC may have any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()) else {
            return signature;
        };
        mac.update(unix_seconds.to_string().as_bytes());
        mac.update(b".");
        mac.update(body);
        for byte in mac.finalize().into_bytes() {
            // Writing into a String does not fail.
            let _ = write!(signature, "{byte:02x}");
        }
        signature
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookSecret(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_equals_that_of_openssl() {
        let secret = WebhookSecret::new("whsec-0123456789").unwrap();
        // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac whsec-0123456789
        let hex = "cf8dea5761501b727b10c5111533dd1ce995f14520a8069e2db69ff01090687c";
        assert_eq!(secret.sign(1_700_000_000, b"{\"a\":1}"), format!("t=1700000000,v1={hex}"));
    }

    #[test]
    fn a_secret_is_long_and_never_prints() {
        let secret = WebhookSecret::new("open-sesame-0123").unwrap();
        assert!(!format!("{secret:?}").contains("sesame"));
        for bad in ["short", "with a blank in it", ""] {
            assert_eq!(WebhookSecret::new(bad), Err(BadWebhookSecret));
        }
    }
}
