//! What an operator can set of a hook.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;

use super::signature::HookSecret;
use crate::back_off::CoolDown;
use crate::share_expiry::What;

/// The longest name of a hook.
const LONGEST_NAME: usize = 64;

/// What a hook is called: lowercase letters, digits, `-` and `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HookName(String);

/// A text that is no name of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name of a webhook has 1 to 64 lowercase letters, digits, \"-\" and \"_\"")]
pub struct BadHookName;

impl HookName {
    /// Checks `text`.
    pub fn new(text: &str) -> Result<Self, BadHookName> {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        let good = (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(fits);
        if good { Ok(HookName(text.to_owned())) } else { Err(BadHookName) }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HookName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Where a hook's receiver is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookUrl(Url);

/// Why a text is no URL of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHookUrl {
    /// It is none at all.
    #[error("expected the URL of a receiver such as http://10.0.0.5:9000/shares")]
    NoUrl,
    /// It carries a name or a password.
    #[error("the URL of a receiver must not contain a user or a password, because it is shown")]
    User,
}

impl FromStr for HookUrl {
    type Err = BadHookUrl;

    fn from_str(text: &str) -> Result<Self, BadHookUrl> {
        let url: Url = text.parse().map_err(|_| BadHookUrl::NoUrl)?;
        match url.scheme() {
            "http" | "https" if url.fragment().is_some() => Err(BadHookUrl::NoUrl),
            "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
                Err(BadHookUrl::User)
            }
            "http" | "https" => Ok(HookUrl(url)),
            _ => Err(BadHookUrl::NoUrl),
        }
    }
}

impl HookUrl {
    /// Whether TLS is spoken there.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The URL.
    pub(super) fn url(&self) -> Url {
        self.0.clone()
    }
}

impl fmt::Display for HookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Everything that can be set of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSettings {
    /// Where its receiver is.
    pub url: HookUrl,
    /// What requests are signed with.
    pub secret: HookSecret,
    /// What it is told of. The rest is passed over.
    pub kinds: Vec<What>,
    /// How long the receiver may take for an answer.
    pub timeout: Duration,
    /// How long after a failure it is tried again.
    pub cool_down: CoolDown,
    /// How old a happening may be that is still told.
    pub age_limit: Duration,
}

impl HookSettings {
    /// Whether it is told of some kinds only.
    pub fn chooses(&self) -> bool {
        What::all().any(|kind| !self.kinds.contains(&kind))
    }

    /// How long the receiver may take unless somebody says.
    pub const TIMEOUT: Duration = Duration::from_secs(10);

    /// After a second, and at most an hour.
    pub const COOL_DOWN: CoolDown =
        CoolDown { base: Duration::from_secs(1), cap: Duration::from_secs(60 * 60) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_reached_by_http_or_https() {
        for url in ["http://10.0.0.5:9000/shares?of=yard", "https://a.example/shares"] {
            let read: HookUrl = url.parse().unwrap();
            assert_eq!((read.to_string(), read.is_https()), (url.into(), url.contains("s:")));
        }
        let read = |text: &str| text.parse::<HookUrl>().unwrap_err();
        assert_eq!(read("http://me:secret@a.example/x"), BadHookUrl::User);
        for bad in ["", "a.example", "ftp://a.example", "http://a.example/#x"] {
            assert_eq!(read(bad), BadHookUrl::NoUrl, "{bad}");
        }
    }

    #[test]
    fn a_name_can_be_a_key_of_the_configuration() {
        assert!(HookName::new("billing-2").is_ok());
        for bad in ["", "Billing", "a.b", "a b"] {
            assert_eq!(HookName::new(bad), Err(BadHookName), "{bad}");
        }
    }
}
