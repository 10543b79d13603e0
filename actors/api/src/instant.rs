//! Instants and lifetimes in the bodies of API requests and answers.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use reelyard_core::clock::Millis;
use serde::{Deserialize, Deserializer, Serialize, de};

/// An instant in the form of RFC 3339. Requests may use any offset; answers use UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rfc3339(pub Millis);

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Error: a text is not an instant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a time: write 2026-12-31T18:00:00Z or 2026-12-31T18:00:00+09:00")]
pub struct BadInstant(String);

impl FromStr for Rfc3339 {
    type Err = BadInstant;

    fn from_str(text: &str) -> Result<Self, BadInstant> {
        let read = text.parse().map(|at: jiff::Timestamp| Millis(at.as_millisecond()));
        // jiff leaves out the last day of 9999, which is a common way to say "permanently".
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

/// A lifetime: "7d", "1h 30m", or "never".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// Ends this long after the request.
    For(Duration),
    /// Without a deadline.
    Never,
}

/// The text that means "without a deadline".
const NEVER: &str = "never";

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ttl::For(duration) => humantime::format_duration(*duration).fmt(f),
            Ttl::Never => f.write_str(NEVER),
        }
    }
}

/// Error: a text is not a lifetime.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a lifetime: write 7d, 1h 30m or never")]
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
    }
}
