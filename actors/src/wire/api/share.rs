//! Shares, as the API shows them and takes them.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::clock::Millis;
use crate::share_expiry::{
    BadPath, Deadline, Note, OnlyIf, Owner, RootName, Share, ShareCounters, ShareId, ShareKind,
    SharePath, ShareState, Term, Totals,
};

/// An instant as RFC 3339 has it, with any offset when it is read and in UTC when it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rfc3339(pub Millis);

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A text that is no instant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is no instant: one is written as in 2026-12-31T18:00:00Z or 2026-12-31T18:00:00+09:00"
)]
pub struct BadInstant(String);

impl FromStr for Rfc3339 {
    type Err = BadInstant;

    fn from_str(text: &str) -> Result<Self, BadInstant> {
        let read = text.parse().map(|at: jiff::Timestamp| Millis(at.as_millisecond()));
        // jiff leaves out the last day of 9999, which is a common way to say "for good".
        let last_day = || humantime::parse_rfc3339(text).ok().map(Millis::from);
        let at = read.ok().or_else(last_day).ok_or_else(|| BadInstant(text.to_owned()))?;
        let known = (Millis(0)..=Millis::LAST).contains(&at);
        if known { Ok(Rfc3339(at)) } else { Err(BadInstant(text.to_owned())) }
    }
}

impl Serialize for Rfc3339 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rfc3339 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl utoipa::PartialSchema for Rfc3339 {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .into()
    }
}

impl utoipa::ToSchema for Rfc3339 {}

/// How long something lasts: "7d", "1h 30m", or "never".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// So long.
    For(Duration),
    /// For ever.
    Never,
}

/// The word for no end.
const NEVER: &str = "never";

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ttl::For(duration) => humantime::format_duration(*duration).fmt(f),
            Ttl::Never => f.write_str(NEVER),
        }
    }
}

/// A text that is no time to live.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no time to live: one is written as in 7d, 1h 30m, or never")]
pub struct BadTtl(String);

impl FromStr for Ttl {
    type Err = BadTtl;

    fn from_str(text: &str) -> Result<Self, BadTtl> {
        if text == NEVER {
            return Ok(Ttl::Never);
        }
        humantime::parse_duration(text).map(Ttl::For).map_err(|_| BadTtl(text.to_owned()))
    }
}

impl Serialize for Ttl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ttl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl utoipa::PartialSchema for Ttl {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        String::schema()
    }
}

impl utoipa::ToSchema for Ttl {}

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
    /// What is shared: the name of a root, and the path below it, as in "movies/new/a.mpg".
    pub path: String,
    /// How long it lasts; what the server has by default when neither this nor `expires_at` is given.
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
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub owner: Option<Owner>,
    /// A note for those who manage it. Whoever has the link does not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub note: Option<Note>,
    /// Names the request: repeated under the same name it answers the same share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// Other terms of a share. What is left out stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedTerms {
    /// How long it lasts from now on, or "never" for no end.
    #[serde(default, deserialize_with = "no_null", skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Ttl>,
    /// Until when it lasts, instead of `ttl`.
    #[serde(default, deserialize_with = "no_null", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// Changes nothing unless the deadline it has is such: none, exists, or the new one is greater
    /// or less than it.
    #[serde(default, rename = "if", skip_serializing_if = "Option::is_none")]
    pub only_if: Option<OnlyIf>,
    /// A password, or null for none any more.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub password: Option<Option<Password>>,
    /// How many downloads it allows in all, or null for any number.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub max_downloads: Option<Option<NonZeroU32>>,
    /// Whose it is, or null for nobody's.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub owner: Option<Option<Owner>>,
    /// Its note, or null for none any more.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub note: Option<Option<Note>>,
    /// Names the request, so that repeating it is safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// What is given and null is told apart from what is left out.
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
            "null is no deadline: leave ttl and expires_at out to keep the one it has, or give the \
             ttl \"never\" for none",
        )),
    }
}

/// Two deadlines at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ttl and expires_at are two ways to say the same: give one of them")]
pub struct TwoTerms;

/// The term that is meant by a time to live or an instant, if either is given.
pub fn term(ttl: Option<Ttl>, expires_at: Option<Rfc3339>) -> Result<Option<Term>, TwoTerms> {
    match (ttl, expires_at) {
        (Some(_), Some(_)) => Err(TwoTerms),
        (Some(Ttl::For(duration)), None) => Ok(Some(Term::Ttl(duration))),
        (Some(Ttl::Never), None) => Ok(Some(Term::Never)),
        (None, Some(Rfc3339(at))) => Ok(Some(Term::At(at))),
        (None, None) => Ok(None),
    }
}

/// A share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ShareShown {
    /// Its id, which is the secret of its link.
    #[schema(value_type = String)]
    pub id: ShareId,
    /// Its link.
    pub url: String,
    /// What is shared: the name of a root, and the path below it.
    pub path: String,
    /// What that is.
    pub kind: ShareKind,
    /// Where it stands.
    pub state: ShareState,
    /// When it was created.
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
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub owner: Option<Owner>,
    /// Its note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub note: Option<Note>,
    /// How often its terms were changed.
    pub generation: u32,
}

impl ShareShown {
    /// As it stands at `now`, under links that begin with `public_url`.
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
    /// These.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub ids: Option<Vec<ShareId>>,
    /// Those of this owner; with `path`, only those of them that are below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub owner: Option<Owner>,
    /// Those of this path, and of all below it; with `owner`, only the owner's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether running downloads are cut.
    #[serde(default)]
    pub hard: bool,
}

/// Whether what is due is to be reclaimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedReclaim {
    /// Nothing is reclaimed while it is paused. Links are refused at their deadlines all the same.
    pub paused: bool,
}

/// How reclaim stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ReclaimView {
    /// Who paused it, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<String>,
    /// Shares that have not ended.
    pub shares: u64,
    /// Of these, how many are due and not reclaimed.
    pub backlog: u64,
    /// Ended ones that are remembered.
    pub tombstones: u64,
    /// Requests that were refused because a deadline had come, by this node since its start.
    pub refused_by_time: u64,
    /// What became of all shares.
    pub totals: Totals,
    /// What this node counted since its start.
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
    fn an_instant_is_read_with_any_offset_and_written_in_utc() {
        let instant: Rfc3339 = "2026-12-31T18:00:00+09:00".parse().unwrap();
        assert_eq!(instant.to_string(), "2026-12-31T09:00:00.000Z");
        for bad in ["tomorrow", "2026-12-31", "2026-12-31T18:00:00", "1969-12-31T23:59:59Z"] {
            assert!(bad.parse::<Rfc3339>().unwrap_err().to_string().contains(bad), "{bad}");
        }
    }

    #[test]
    fn every_instant_that_is_shown_is_read() {
        for text in
            ["9999-12-31T23:59:59.999Z", "9999-12-31T00:00:00.000Z", "1970-01-01T00:00:00.000Z"]
        {
            assert_eq!(text.parse::<Rfc3339>().unwrap().to_string(), text);
        }
        assert_eq!("9999-12-31T23:59:59.999Z".parse(), Ok(Rfc3339(Millis::LAST)));
    }

    #[test]
    fn a_time_to_live_is_a_duration_or_never() {
        assert_eq!("7d".parse(), Ok(Ttl::For(Duration::from_secs(7 * 86_400))));
        assert_eq!("never".parse(), Ok(Ttl::Never));
        assert!("7".parse::<Ttl>().is_err() && "".parse::<Ttl>().is_err());
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
            assert!(refused.contains("null is no deadline"), "{refused}");
        }
    }

    #[test]
    fn a_directory_is_meant_with_and_without_a_slash_at_its_end() {
        assert_eq!(place("movies/new/"), place("movies/new"));
        assert_eq!(place("movies/"), place("movies"));
        assert!(place("/").is_err() && place("movies//new").is_err());
    }
}
