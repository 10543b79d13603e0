//! Durations in the bodies of API requests and answers.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The longest duration in a request. A client that needs more omits the limit.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// A duration: "10s", "1h 30m". A number without a unit means seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// Error: a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a duration of at most 10 years: write \"10s\" or \"1h 30m\"")]
pub struct BadSpan(String);

impl Span {
    fn of_seconds(seconds: f64) -> Option<Self> {
        let duration = Duration::try_from_secs_f64(seconds).ok()?;
        (duration <= LONGEST).then_some(Span(duration))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl FromStr for Span {
    type Err = BadSpan;

    fn from_str(text: &str) -> Result<Self, BadSpan> {
        let bad = || BadSpan(format!("\"{text}\""));
        if let Ok(seconds) = text.parse() {
            return Span::of_seconds(seconds).ok_or_else(bad);
        }
        let read = humantime::parse_duration(text).ok().filter(|duration| *duration <= LONGEST);
        read.map(Span).ok_or_else(bad)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpanVisitor;

        impl de::Visitor<'_> for SpanVisitor {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration, as in \"10s\" or \"1h 30m\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<Span, E> {
                Span::of_seconds(seconds).ok_or_else(|| E::custom(BadSpan(seconds.to_string())))
            }

            fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<Span, E> {
                // A longer span exceeds the precision of the other type.
                self.visit_f64(seconds as f64)
            }

            fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Span, E> {
                self.visit_f64(seconds as f64)
            }
        }

        deserializer.deserialize_any(SpanVisitor)
    }
}

impl utoipa::PartialSchema for Span {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
        ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::String, Type::Number]))
            .description(Some(
                "A duration, as in \"10s\" or \"1h 30m\"; a bare number counts seconds",
            ))
            .examples(["10s"])
            .into()
    }
}

impl utoipa::ToSchema for Span {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_written_as_people_write_it() {
        let read = |json: &str| serde_json::from_str::<Span>(json);
        for (json, millis, shown) in [
            ("\"10s\"", 10_000, "10s"),
            ("\"1h 30m\"", 5_400_000, "1h 30m"),
            ("\"0s\"", 0, "0s"),
            ("\"250ms\"", 250, "250ms"),
            ("0", 0, "0s"),
            ("30", 30_000, "30s"),
            ("0.5", 500, "500ms"),
            ("\"30\"", 30_000, "30s"),
        ] {
            let span = read(json).unwrap();
            assert_eq!(span.0, Duration::from_millis(millis), "{json}");
            assert_eq!(span.to_string(), shown);
            assert_eq!(span.to_string().parse(), Ok(span));
        }
        assert!(read("\"3650days\"").is_ok());
        for bad in ["\"3651days\"", "\"\"", "\"soon\"", "-1", "1e300", "\"-1s\"", "\"NaN\"", "true"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(read("\"soon\"").unwrap_err().to_string().contains("\"soon\" is not a duration"));
    }
}
