//! Shares, as the API shows them and takes them.

use std::fmt;
use std::num::NonZeroU32;

use reelyard_core::clock::Millis;
use reelyard_shares::share_expiry::{
    BadPath, Deadline, OnlyIf, RootName, Share, ShareCounters, ShareId, ShareKind, ShareLifetime,
    ShareNote, ShareOwner, SharePath, ShareState, Totals,
};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::instant::{Rfc3339, Ttl};
use crate::request_name::request_name;

/// A password as it is given. It never prints.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(not shown)")
    }
}

/// A share that is wanted.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedShare {
    /// Path to share: the name of a root, and the path below it, as in "movies/new/a.mpg".
    pub path: String,
    /// Lifetime. The server's default holds when neither this nor `expires_at` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Ttl>,
    /// Until when it lasts, instead of `ttl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// A password that is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub password: Option<Password>,
    /// How many downloads it allows.
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
    /// Names the request: repeated under the same name it answers the same share.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "request_name")]
    pub request_id: Option<String>,
}

/// New terms of a share. Terms that are left out stay as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedTerms {
    /// How long it lasts from now on, or "never" for no end.
    #[serde(default, deserialize_with = "no_null", skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Ttl>,
    /// Until when it lasts, instead of `ttl`.
    #[serde(default, deserialize_with = "no_null", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// Condition: the change applies only if the present deadline is missing, exists, or is earlier
    /// or later than the new one.
    #[serde(default, rename = "if", skip_serializing_if = "Option::is_none")]
    pub only_if: Option<OnlyIf>,
    /// A password, or null for none any more.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub password: Option<Option<Password>>,
    /// How many downloads it allows in all, or null for any number: none of those that were taken
    /// before count against a limit that is set after that.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub max_downloads: Option<Option<NonZeroU32>>,
    /// The owner of the share, or null to remove the owner.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub owner: Option<Option<ShareOwner>>,
    /// Its note, or null for none any more.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub note: Option<Option<ShareNote>>,
    /// Names the request, so that repeating it is safe.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "request_name")]
    pub request_id: Option<String>,
}

/// Distinguishes `null` from a missing member.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// Refuses null where others might take it for no end, and where it would change nothing.
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

/// Two deadlines at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ttl and expires_at cannot be used together: give one of them")]
pub struct TwoTerms;

/// The term that is meant by a time to live or an instant, if either is given.
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
pub struct ShareShown {
    /// Its id, which is the secret of its link.
    #[schema(value_type = String)]
    pub id: ShareId,
    /// The link that clients open.
    pub url: String,
    /// Shared path: the name of a root, and the path below it.
    pub path: String,
    /// Kind of the shared path: file or directory.
    pub kind: ShareKind,
    /// Present state of the share.
    pub state: ShareState,
    /// Time of the creation.
    pub created_at: Rfc3339,
    /// When it ends. Missing when it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// Whether a password is asked for.
    pub has_password: bool,
    /// How many downloads it allows. Missing when any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_downloads: Option<u32>,
    /// How many of these were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downloads: Option<u32>,
    /// How often it was used, as far as the node that answers saw it since its start.
    pub uses: u32,
    /// Owner, as the requester named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub owner: Option<ShareOwner>,
    /// Note of the requester.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub note: Option<ShareNote>,
    /// How often its terms were changed.
    pub generation: u32,
}

impl ShareShown {
    /// View of the share at `now`, with a link that begins with `public_url`.
    pub fn of(share: &Share, public_url: &str, now: Millis) -> Self {
        let id = share.id();
        ShareShown {
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
            note: share.note().cloned(),
            generation: share.generation(),
        }
    }
}

/// When a deadline comes, if ever.
pub fn instant(deadline: Deadline) -> Option<Rfc3339> {
    deadline.instant().map(Rfc3339)
}

fn full_path(root: &str, path: &str) -> String {
    if path.is_empty() { root.to_owned() } else { format!("{root}/{path}") }
}

/// Shares that are to be taken back: by their ids, or all that a filter takes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedRevocation {
    /// Revokes the shares with these ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub ids: Option<Vec<ShareId>>,
    /// Those of this owner; with `path`, only those of them that are below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub owner: Option<ShareOwner>,
    /// Those of this path, and of all below it; with `owner`, only the owner's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether running downloads are cut.
    #[serde(default)]
    pub hard: bool,
}

/// Request to pause or resume reclaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedReclaim {
    /// Nothing is reclaimed while this is true. Links are still refused after their deadlines.
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
    /// Of these, how many are due and not reclaimed.
    pub backlog: u64,
    /// Ended ones that are remembered.
    pub tombstones: u64,
    /// Requests that were refused because a deadline had come, by this node since its start.
    pub refused_by_time: u64,
    /// Totals of all shares since the first start.
    pub totals: Totals,
    /// Counters of this node since its start.
    pub counters: ShareCounters,
}

/// The root and the path that "root/path" names. A directory may be written with a slash at its end,
/// as shells complete it.
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
    fn null_is_told_apart_from_what_is_left_out() {
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
