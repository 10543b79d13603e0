//! The operator's settings of a hook.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use reelyard_core::backoff::ExponentialBackoff;
use reqwest::Url;

use super::signature::WebhookSecret;
use crate::share_expiry::ShareNotificationKind;

/// The longest name of a hook.
const LONGEST_NAME: usize = 64;

/// The name of a hook: lowercase letters, digits, `-` and `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebhookName(String);

/// A text that is no name of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name of a webhook has 1 to 64 lowercase letters, digits, \"-\" and \"_\"")]
pub struct BadWebhookName;

impl WebhookName {
    /// Checks and keeps `text`.
    pub fn new(text: &str) -> Result<Self, BadWebhookName> {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        let good = (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(fits);
        if good { Ok(WebhookName(text.to_owned())) } else { Err(BadWebhookName) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WebhookName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The address of a hook's receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookUrl(Url);

/// Why a text is no URL of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadWebhookUrl {
    /// The text is no URL.
    #[error("expected the URL of a receiver such as http://10.0.0.5:9000/shares")]
    NoUrl,
    /// It contains a user name or a password.
    #[error(
        "the URL of a receiver must not contain a user or a password, because the node shows the URL"
    )]
    User,
}

impl FromStr for WebhookUrl {
    type Err = BadWebhookUrl;

    fn from_str(text: &str) -> Result<Self, BadWebhookUrl> {
        let url: Url = text.parse().map_err(|_| BadWebhookUrl::NoUrl)?;
        match url.scheme() {
            "http" | "https" if url.fragment().is_some() => Err(BadWebhookUrl::NoUrl),
            "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
                Err(BadWebhookUrl::User)
            }
            "http" | "https" => Ok(WebhookUrl(url)),
            _ => Err(BadWebhookUrl::NoUrl),
        }
    }
}

impl WebhookUrl {
    /// Whether TLS is spoken there.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The checked URL.
    pub(super) fn url(&self) -> Url {
        self.0.clone()
    }
}

impl fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// All settings of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSettings {
    /// The URL of the receiver.
    pub url: WebhookUrl,
    /// The key for signing requests.
    pub secret: WebhookSecret,
    /// The kinds that it gets. Other kinds are skipped.
    pub kinds: Vec<ShareNotificationKind>,
    /// How long the receiver may take for an answer.
    pub timeout: Duration,
    /// How long after a failure it is tried again.
    pub cool_down: ExponentialBackoff,
    /// The maximum age of a notification at delivery.
    pub age_limit: Duration,
}

impl WebhookSettings {
    /// Whether it gets some kinds only.
    pub fn chooses(&self) -> bool {
        ShareNotificationKind::all().any(|kind| !self.kinds.contains(&kind))
    }

    /// The time limit of a receiver unless the settings have another.
    pub const TIMEOUT: Duration = Duration::from_secs(10);

    /// A second after the first failure, at most an hour.
    pub const COOL_DOWN: ExponentialBackoff =
        ExponentialBackoff { base: Duration::from_secs(1), cap: Duration::from_secs(60 * 60) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_reached_by_http_or_https() {
        for url in ["http://10.0.0.5:9000/shares?of=yard", "https://a.example/shares"] {
            let read: WebhookUrl = url.parse().unwrap();
            assert_eq!((read.to_string(), read.is_https()), (url.into(), url.contains("s:")));
        }
        let read = |text: &str| text.parse::<WebhookUrl>().unwrap_err();
        assert_eq!(read("http://me:secret@a.example/x"), BadWebhookUrl::User);
        for bad in ["", "a.example", "ftp://a.example", "http://a.example/#x"] {
            assert_eq!(read(bad), BadWebhookUrl::NoUrl, "{bad}");
        }
    }

    #[test]
    fn a_name_can_be_a_key_of_the_configuration() {
        assert!(WebhookName::new("billing-2").is_ok());
        for bad in ["", "Billing", "a.b", "a b"] {
            assert_eq!(WebhookName::new(bad), Err(BadWebhookName), "{bad}");
        }
    }
}
