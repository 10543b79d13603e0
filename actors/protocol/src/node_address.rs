//! The address of a node as people write it: in options, in configurations and in programs.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use reqwest::Url;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The header of an answer with the URLs of all members of the cluster, with commas between them.
pub const MEMBERS_HEADER: &str = "reelyard-members";

/// The most members that are learned from one answer.
const MOST_LEARNED: usize = 32;

/// The members that the node at `named_by` names in [`MEMBERS_HEADER`], and that its client may call.
///
/// A client proves its token to them, so a member counts only if it has the scheme of the node. A member on loopback
/// is meant for the host of the node: it counts only if the node is on loopback, too.
pub fn named_members(named_by: &Url, members: &str) -> Vec<Url> {
    let is_meant = |url: &Url| {
        url.scheme() == named_by.scheme() && (!is_loopback(url) || is_loopback(named_by))
    };
    let named = members.split(',').map(str::trim).take(MOST_LEARNED);
    named.filter_map(|text| node_address(text).ok()).filter(is_meant).collect()
}

/// Whether a URL names the host of the client itself.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// A text that is not the address of a node. It shows no user name and no password, since its text goes to
/// terminals and logs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadNodeAddress {
    /// No URL, another scheme, or no host.
    #[error(
        "\"{0}\" is not the address of a node: expected host:port, http://host:port or https://host:port"
    )]
    NotHttp(String),
    /// A user name or a password stands before the host. Other users of the host can see command lines.
    #[error(
        "\"{0}\" has a user name or a password before the host: remove it, and give a token instead"
    )]
    HasUser(String),
}

/// The URL of a node from its text. Without a scheme it is http.
///
/// # Errors
/// The text is no URL of http or https, or it has a user name or a password.
pub fn node_address(text: &str) -> Result<Url, BadNodeAddress> {
    let with_scheme = match text.split_once("://") {
        Some(_) => text.to_owned(),
        None => format!("http://{text}"),
    };
    let not_http = || BadNodeAddress::NotHttp(without_user(text));
    let url = Url::parse(&with_scheme).map_err(|_| not_http())?;
    if !["http", "https"].contains(&url.scheme()) || !url.has_host() {
        return Err(not_http());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BadNodeAddress::HasUser(without_user(text)));
    }
    Ok(url)
}

/// The addresses of nodes of one cluster, at least one. A text has commas between them; a file has one text, or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAddresses {
    first: Url,
    more: Vec<Url>,
}

impl NodeAddresses {
    /// The address that comes first.
    pub fn first(&self) -> &Url {
        &self.first
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Url> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// Whether all of `others` are among them.
    pub fn include(&self, others: &NodeAddresses) -> bool {
        others.iter().all(|other| self.iter().any(|own| own == other))
    }

    /// Whether one of them is an address with TLS.
    pub fn have_tls(&self) -> bool {
        self.iter().any(|url| url.scheme() == "https")
    }

    fn of(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, BadNodeAddress> {
        let mut all: Option<NodeAddresses> = None;
        for text in texts {
            let url = node_address(text.as_ref().trim())?;
            match &mut all {
                None => all = Some(NodeAddresses { first: url, more: Vec::new() }),
                Some(known) if known.iter().any(|one| *one == url) => {}
                Some(known) => known.more.push(url),
            }
        }
        all.ok_or_else(|| BadNodeAddress::NotHttp(String::new()))
    }
}

impl From<Url> for NodeAddresses {
    fn from(url: Url) -> Self {
        NodeAddresses { first: url, more: Vec::new() }
    }
}

impl FromStr for NodeAddresses {
    type Err = BadNodeAddress;

    fn from_str(text: &str) -> Result<Self, BadNodeAddress> {
        NodeAddresses::of(text.split(','))
    }
}

impl fmt::Display for NodeAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        self.more.iter().try_for_each(|url| write!(f, ",{url}"))
    }
}

impl Serialize for NodeAddresses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.more.as_slice() {
            [] => serializer.serialize_str(self.first.as_str()),
            _ => serializer.collect_seq(self.iter().map(Url::as_str)),
        }
    }
}

impl<'de> Deserialize<'de> for NodeAddresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = match TextOrList::deserialize(deserializer)? {
            TextOrList::Text(text) => text.parse(),
            TextOrList::List(texts) => NodeAddresses::of(texts),
        };
        read.map_err(de::Error::custom)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TextOrList {
    Text(String),
    List(Vec<String>),
}

/// The text with `…` instead of everything that may be a user name or a password.
fn without_user(text: &str) -> String {
    let Some((user, host)) = text.rsplit_once('@') else { return text.to_owned() };
    // Other schemes may be parts of a password.
    let scheme = ["http://", "https://"].into_iter().find(|scheme| user.starts_with(scheme));
    format!("{}…@{host}", scheme.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_or_without_its_scheme() {
        for text in ["127.0.0.1:8080", "http://127.0.0.1:8080", "http://127.0.0.1:8080/"] {
            let read = node_address(text).map(|url| url.to_string());
            assert_eq!(read, Ok("http://127.0.0.1:8080/".to_owned()), "{text}");
        }
        assert!(node_address("https://yard/below").is_ok_and(|url| url.path() == "/below"));
        for bad in ["", "ftp://x:1", "a b:1", "http://", "mailto:a"] {
            let refused = node_address(bad);
            assert!(matches!(refused, Err(BadNodeAddress::NotHttp(_))), "{bad}: {refused:?}");
        }
    }

    #[test]
    fn several_addresses_are_read_once_each() {
        let several: NodeAddresses = "a:1, https://b:2,a:1".parse().unwrap();
        assert_eq!(several.to_string(), "http://a:1/,https://b:2/");
        assert!(several.have_tls() && several.first().as_str() == "http://a:1/");
        let one: NodeAddresses = "b:2".parse().unwrap();
        let http: NodeAddresses = "b:2,a:1".parse().unwrap();
        assert!(http.include(&one) && !several.include(&one) && !one.include(&http));
        for bad in ["", ",", "a:1,", "a:1,ftp://b"] {
            assert!(bad.parse::<NodeAddresses>().is_err(), "{bad}");
        }
    }

    #[test]
    fn one_address_is_stored_as_a_text_and_several_as_a_list() {
        for (text, stored) in
            [("a:1", r#""http://a:1/""#), ("a:1,b:2", r#"["http://a:1/","http://b:2/"]"#)]
        {
            let addresses: NodeAddresses = text.parse().unwrap();
            assert_eq!(serde_json::to_string(&addresses).unwrap(), stored);
            assert_eq!(serde_json::from_str::<NodeAddresses>(stored).unwrap(), addresses);
        }
        let bad = serde_json::from_str::<NodeAddresses>("[]");
        assert!(bad.is_err(), "{bad:?}");
    }

    #[test]
    fn a_refusal_shows_no_user_and_no_password() {
        let refused = [
            "http://ci:hidden@yard:8080",
            "https://:hidden@yard",
            "http://hidden@yard",
            "ci:hidden@yard:8080",
            "http://ci:hid/hidden@yard",
            "ftp://ci:hidden@yard",
            "ci:hidden://x@yard",
            "hidden://ci@yard",
            "http://ci:hidden@ya rd",
        ];
        for text in refused {
            let shown = node_address(text).expect_err(text).to_string();
            assert!(!shown.contains("hidden"), "{shown}");
            assert!(shown.contains("ya"), "the host shows: {shown}");
        }
    }
}
