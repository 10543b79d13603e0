//! Shares: requests and answers of the API.

use std::fmt;
use std::num::NonZeroU32;

use reelyard_core::clock::Millis;
use reelyard_shares::share_expiry::{
    BadPath, Deadline, OnlyIf, PasswordHash, RootName, Share, ShareCounters, ShareId, ShareKind,
    ShareLifetime, ShareNote, ShareOwner, SharePath, ShareState, ShareTerm, ShareTerms, Totals,
};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::instant::{Rfc3339, Ttl};
use crate::request_name::request_name;

/// A password in plain text, as the client sent it. Debug output does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(not shown)")
    }
}

/// Request to create a share.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedShare {
    /// Path to share: the name of a root, and the path below it, as in "movies/new/a.mpg".
    pub path: String,
    /// Lifetime. Default without this and `expires_at`: the default of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Ttl>,
    /// Deadline of the share, instead of `ttl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// Password that visitors must enter. Missing for a share without a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub password: Option<Password>,
    /// Download limit. Missing for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub max_downloads: Option<NonZeroU32>,
    /// Owner, as the requester named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub owner: Option<ShareOwner>,
    /// A note for operators. The public link does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub note: Option<ShareNote>,
    /// Idempotency key. The same key gets the same share.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "request_name")]
    pub request_id: Option<String>,
}

impl WantedShare {
    /// The terms, with the hash of the password.
    pub fn terms(&self, password: Option<PasswordHash>) -> ShareTerms {
        ShareTerms { note: self.note.clone(), password, max_downloads: self.max_downloads }
    }
}

/// New terms of a share. A missing member keeps its current value.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedTerms {
    /// New lifetime from now, or "never" for no deadline.
    #[serde(default, deserialize_with = "no_null", skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Ttl>,
    /// Deadline of the share, instead of `ttl`.
    #[serde(default, deserialize_with = "no_null", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// Condition: the change applies only if the current deadline is missing, exists, or is earlier or
    /// later than the new one.
    #[serde(default, rename = "if", skip_serializing_if = "Option::is_none")]
    pub only_if: Option<OnlyIf>,
    /// New password; null removes it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub password: Option<Option<Password>>,
    /// Download limit; null removes it. Downloads before the limit was set do not count.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub max_downloads: Option<Option<NonZeroU32>>,
    /// New owner; null removes it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub owner: Option<Option<ShareOwner>>,
    /// New note; null removes it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub note: Option<Option<ShareNote>>,
    /// Idempotency key: a repetition of the request is safe.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "request_name")]
    pub request_id: Option<String>,
}

impl WantedTerms {
    /// The members that null removes. All other members are never null.
    pub const REMOVED_BY_NULL: &[&str] = &["password", "max_downloads", "owner", "note"];

    /// The terms that change, with the hash of the new password.
    pub fn terms(&self, password: Option<Option<PasswordHash>>) -> Vec<ShareTerm> {
        let terms = [
            self.note.clone().map(ShareTerm::Note),
            password.map(ShareTerm::Password),
            self.max_downloads.map(ShareTerm::MaxDownloads),
        ];
        terms.into_iter().flatten().collect()
    }
}

/// Distinguishes `null` from a missing member.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// Refuses null: a client could mean "no deadline", but null would change nothing.
fn no_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    match Option::<T>::deserialize(deserializer)? {
        Some(value) => Ok(Some(value)),
        None => Err(de::Error::custom(
            "a deadline cannot be null: omit ttl and expires_at to keep the present deadline, or set ttl \
             to \"never\" to remove it",
        )),
    }
}

/// A request with both `ttl` and `expires_at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ttl and expires_at cannot be used together: give one of them")]
pub struct TwoTerms;

/// The lifetime that a request sets by `ttl` or `expires_at`; none if it sets neither.
pub fn term(
    ttl: Option<Ttl>,
    expires_at: Option<Rfc3339>,
) -> Result<Option<ShareLifetime>, TwoTerms> {
    match (ttl, expires_at) {
        (Some(_), Some(_)) => Err(TwoTerms),
        (Some(Ttl::For(duration)), None) => Ok(Some(ShareLifetime::Ttl(duration))),
        (Some(Ttl::Never), None) => Ok(Some(ShareLifetime::Never)),
        (None, Some(Rfc3339(at))) => Ok(Some(ShareLifetime::At(at))),
        (None, None) => Ok(None),
    }
}

/// A share and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ShareInfo {
    /// Its id, which is the secret of its link.
    #[schema(value_type = String)]
    pub id: ShareId,
    /// The link that clients open.
    pub url: String,
    /// Shared path: the name of a root, and the path below it.
    pub path: String,
    /// Kind of the shared path: file or directory.
    pub kind: ShareKind,
    /// Current state of the share.
    pub state: ShareState,
    /// Time of the creation.
    pub created_at: Rfc3339,
    /// Deadline. Missing for a share without a deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// Whether visitors must enter a password.
    pub has_password: bool,
    /// Download limit. Missing for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_downloads: Option<u32>,
    /// Downloads that count against the limit. Missing for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downloads: Option<u32>,
    /// Uses that this node has counted since it started.
    pub uses: u32,
    /// Owner, as the requester named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub owner: Option<ShareOwner>,
    /// Note of the requester.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub note: Option<ShareNote>,
    /// Number of changes of its terms.
    pub generation: u32,
}

impl ShareInfo {
    /// View of the share at `now`, with a link that begins with `public_url`.
    pub fn of(share: &Share, public_url: &str, now: Millis) -> Self {
        let id = share.id();
        ShareInfo {
            id,
            url: format!("{public_url}/s/{id}"),
            path: full_path(share.root().as_str(), share.path().as_str()),
            kind: share.kind(),
            state: share.state(now),
            created_at: Rfc3339(share.created()),
            expires_at: instant(share.due()),
            has_password: share.password().is_some(),
            max_downloads: share.downloads().map(|downloads| downloads.most()),
            downloads: share.downloads().map(|downloads| downloads.taken()),
            uses: share.uses(),
            owner: share.owner().cloned(),
            note: share.terms().note.clone(),
            generation: share.generation(),
        }
    }
}

/// The instant of a deadline; none for "never".
pub fn instant(deadline: Deadline) -> Option<Rfc3339> {
    deadline.instant().map(Rfc3339)
}

fn full_path(root: &str, path: &str) -> String {
    if path.is_empty() { root.to_owned() } else { format!("{root}/{path}") }
}

/// Request to revoke shares: by their ids, or all shares that match the filter.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedRevocation {
    /// Revokes the shares with these ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub ids: Option<Vec<ShareId>>,
    /// Revokes the shares of this owner. With `path`: only those at or below the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub owner: Option<ShareOwner>,
    /// Revokes the shares at or below this path. With `owner`: only the shares of the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Cuts running downloads, too.
    #[serde(default)]
    pub hard: bool,
}

/// Request to pause or resume reclaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedReclaim {
    /// While true, nothing is reclaimed. Links are still refused after their deadlines.
    pub paused: bool,
}

/// State of reclaim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ReclaimView {
    /// Operator who paused it, while it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<String>,
    /// Problem of the wall clock and its remedy, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// Shares that have not ended.
    pub shares: u64,
    /// Shares that are due and not yet reclaimed.
    pub backlog: u64,
    /// Ended shares that the node remembers.
    pub tombstones: u64,
    /// Requests that this node refused since its start because a deadline had passed.
    pub refused_by_time: u64,
    /// Totals of all shares since the first start.
    pub totals: Totals,
    /// Counters of this node since its start.
    pub counters: ShareCounters,
}

/// Splits "root/path" into the root and the path. A slash at the end is allowed, because shells add one to
/// directories.
pub fn place(text: &str) -> Result<(RootName, SharePath), BadPath> {
    let text = text.trim_end_matches('/');
    let (root, path) = text.split_once('/').unwrap_or((text, ""));
    Ok((RootName::new(root)?, SharePath::new(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_end_is_given_or_none() {
        let both = term(Some(Ttl::Never), Some(Rfc3339(Millis(5))));
        assert_eq!(both, Err(TwoTerms));
    }

    #[test]
    fn null_differs_from_a_missing_member() {
        let terms = |json: &str| serde_json::from_str::<WantedTerms>(json).unwrap();
        assert_eq!(terms("{}").max_downloads, None);
        assert_eq!(terms(r#"{"max_downloads": null}"#).max_downloads, Some(None));
        assert_eq!(terms(r#"{"password": "x"}"#).password, Some(Some(Password("x".to_owned()))));
        assert!(!format!("{:?}", terms(r#"{"password": "opensesame"}"#)).contains("opensesame"));
        assert_eq!(serde_json::to_string(&terms(r#"{"note":null}"#)).unwrap(), r#"{"note":null}"#);
    }

    #[test]
    fn null_is_no_deadline() {
        for body in [r#"{"expires_at":null}"#, r#"{"ttl":null}"#] {
            let refused = serde_json::from_str::<WantedTerms>(body).unwrap_err().to_string();
            assert!(refused.contains("a deadline cannot be null"), "{refused}");
        }
    }

    #[test]
    fn a_directory_is_meant_with_and_without_a_slash_at_its_end() {
        assert_eq!(place("movies/new/"), place("movies/new"));
        assert_eq!(place("movies/"), place("movies"));
        assert!(place("/").is_err() && place("movies//new").is_err());
    }
}
