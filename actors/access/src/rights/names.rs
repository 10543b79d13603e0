//! The names of users and tokens, each checked once. Pure.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use reelyard_core::host::HostAddr;
use serde::{Deserialize, Serialize};

/// The longest name of a user or a token, in bytes. Part of the event version.
pub const LONGEST_ACCESS_NAME: usize = 64;

/// The beginning of the name of a worker's token. The canonical address of its host follows.
const OF_WORKER: &str = "worker/";

/// A text that is no name. It does not repeat the text, which could control a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAccessName {
    /// No name of a user.
    #[error(
        "the name of a user has 1 to {LONGEST_ACCESS_NAME} characters of a-z, 0-9, \".\", \"_\" and \"-\", and \
         begins with a letter or digit"
    )]
    User,
    /// No name of a token.
    #[error(
        "the name of a token has 1 to {LONGEST_ACCESS_NAME} characters of a-z, 0-9, \".\", \"_\" and \"-\", and \
         begins with a letter or digit. The token of a worker is named worker/IP:PORT"
    )]
    Token,
}

fn is_name(text: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = |byte: u8| is_first(byte) || matches!(byte, b'.' | b'_' | b'-');
    let length_fits = text.len() <= LONGEST_ACCESS_NAME;
    length_fits && text.bytes().next().is_some_and(is_first) && text.bytes().all(fits)
}

macro_rules! access_name {
    ($(#[$doc:meta])* $name:ident, $bad:ident, $fits:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The characters of the name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadAccessName;

            fn from_str(text: &str) -> Result<Self, BadAccessName> {
                let fits: fn(&str) -> bool = $fits;
                if fits(text) { Ok($name(text.into())) } else { Err(BadAccessName::$bad) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadAccessName;

            fn try_from(text: String) -> Result<Self, BadAccessName> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.as_str().to_owned()
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                String::schema()
            }
        }

        impl utoipa::ToSchema for $name {}
    };
}

access_name!(
    /// The unique name of a person, in small letters.
    UserName,
    User,
    is_name
);
access_name!(
    /// The name of a token. The name of a worker's token follows from its host, so a host has at most one.
    TokenName,
    Token,
    |text| is_name(text) || host_of(text).is_some()
);

/// The host in the name of a worker's token.
fn host_of(name: &str) -> Option<HostAddr> {
    let text = name.strip_prefix(OF_WORKER)?;
    let host: HostAddr = text.parse().ok()?;
    (host.to_string() == text).then_some(host)
}

impl TokenName {
    /// The name of the token of the first administrator.
    pub const ADMIN: &str = "admin";

    /// The name of the token in the configuration. No token of the journal has it.
    pub const LEGACY: &str = "legacy";

    /// The name of the token of a worker.
    pub fn of_worker(host: HostAddr) -> Self {
        TokenName(format!("{OF_WORKER}{host}").into())
    }

    /// The name of the token of the first administrator.
    pub fn admin() -> Self {
        TokenName(Self::ADMIN.into())
    }

    /// The host of a worker's token; none for another token.
    pub fn worker(&self) -> Option<HostAddr> {
        host_of(&self.0)
    }

    /// Whether no request may create a token of this name.
    pub fn is_reserved(&self) -> bool {
        [Self::ADMIN, Self::LEGACY].contains(&self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_few_characters_and_begin_with_a_letter_or_digit() {
        let longest = "x".repeat(LONGEST_ACCESS_NAME);
        for good in ["a", "0", "alice", "ci-1.main_2", &longest] {
            assert_eq!(good.parse::<UserName>().unwrap().as_str(), good);
            assert_eq!(good.parse::<TokenName>().unwrap().to_string(), good);
        }
        let too_long = "x".repeat(LONGEST_ACCESS_NAME + 1);
        for bad in [
            "",
            "-a",
            ".a",
            "_a",
            "Alice",
            "a b",
            "a/b",
            "a\n",
            "\u{1b}[31m",
            "a\0",
            "é",
            "a\u{202e}",
            &too_long,
        ] {
            assert_eq!(bad.parse::<UserName>(), Err(BadAccessName::User), "{bad:?}");
            assert_eq!(bad.parse::<TokenName>(), Err(BadAccessName::Token), "{bad:?}");
        }
        assert!(!"a\u{1b}".parse::<UserName>().unwrap_err().to_string().contains('\u{1b}'));
    }

    #[test]
    fn the_token_of_a_worker_has_the_name_of_its_host() {
        for host in ["10.0.0.21:8888", "[2001:db8::25]:8888"] {
            let host: HostAddr = host.parse().unwrap();
            let name = TokenName::of_worker(host);
            assert_eq!(name.as_str().parse(), Ok(name.clone()));
            assert_eq!(name.worker(), Some(host));
        }
        for bad in [
            "worker/",
            "worker/10.0.0.21",
            "worker/10.0.0.21:0",
            "worker/010.0.0.21:1",
            "worker/a:1",
            "worker/10.0.0.21:08888",
            "worker/[2001:DB8::25]:8888",
        ] {
            assert!(bad.parse::<TokenName>().is_err(), "{bad}");
        }
        assert_eq!("ci".parse::<TokenName>().unwrap().worker(), None);
        assert!(
            TokenName::admin().is_reserved()
                && "legacy".parse::<TokenName>().unwrap().is_reserved()
        );
    }

    #[test]
    fn a_stored_name_is_checked() {
        let name: UserName = "alice".parse().unwrap();
        let bytes = postcard::to_stdvec(&name).unwrap();
        assert_eq!(bytes, b"\x05alice");
        assert_eq!(postcard::from_bytes::<UserName>(&bytes), Ok(name));
        assert!(postcard::from_bytes::<UserName>(b"\x05Alice").is_err());
    }
}
