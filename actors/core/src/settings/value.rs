//! Types of settings: parsing from TOML and text, and formatting.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use toml::Value;

/// A fault of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Index of the faulty entry of a list; none for the value as a whole.
    pub entry: Option<usize>,
    /// The fault, and the expected value.
    pub what: String,
}

/// The result of parsing a value.
pub type Read<T> = Result<T, Vec<Wrong>>;

/// A fault of the value as a whole.
pub fn wrong<T>(what: impl Into<String>) -> Read<T> {
    Err(vec![Wrong { entry: None, what: what.into() }])
}

/// A type of settings.
pub trait SettingValue: Sized {
    /// Whether values must never be shown, also not in faults.
    const SECRET: bool = false;

    /// Parses a value of the file.
    fn from_toml(value: &Value) -> Read<Self>;

    /// Parses the text of an environment variable or a `--set` argument: as TOML if that gives this
    /// type, otherwise as a string.
    fn from_text(text: &str) -> Read<Self> {
        let as_text = || Self::from_toml(&Value::String(text.to_owned()));
        match text.parse::<Value>() {
            Ok(value) => Self::from_toml(&value).or_else(|wrongs| as_text().or(Err(wrongs))),
            Err(_) => as_text(),
        }
    }

    /// The value of a setting that is not set, for types that have one.
    fn absent() -> Option<Self> {
        None
    }

    /// The value as TOML; none if absent.
    fn to_toml(&self) -> Option<Value>;
}

/// The fault of a value that is not one of these words.
pub fn not_a_word<T>(value: &Value, words: &[&str]) -> Read<T> {
    let quoted_words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let (last, first) =
        quoted_words.split_last().map_or(("", &[][..]), |(last, first)| (last, first));
    wrong(format!("expected {} or {last}, not {}", first.join(", "), quoted(value)))
}

/// A value for a fault: as TOML, shortened if long.
pub fn quoted(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Reads a string for a type that is written as one; `wanted` describes the expected text.
pub fn text<'v>(value: &'v Value, wanted: &str) -> Read<&'v str> {
    match value {
        Value::String(text) => Ok(text),
        other => wrong(format!("expected {wanted}, not {}", quoted(other))),
    }
}

impl<T: SettingValue> SettingValue for Option<T> {
    const SECRET: bool = T::SECRET;

    fn from_toml(value: &Value) -> Read<Self> {
        T::from_toml(value).map(Some)
    }

    fn from_text(text: &str) -> Read<Self> {
        T::from_text(text).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn to_toml(&self) -> Option<Value> {
        self.as_ref().and_then(T::to_toml)
    }
}

impl<T: SettingValue> SettingValue for Vec<T> {
    fn from_toml(value: &Value) -> Read<Self> {
        match value {
            Value::Array(values) => entries(values.iter().map(T::from_toml)),
            other => {
                wrong(format!("expected a list such as [\"a\", \"b\"], not {}", quoted(other)))
            }
        }
    }

    /// Parses a TOML list, or entries separated by commas.
    fn from_text(text: &str) -> Read<Self> {
        match text.parse::<Value>() {
            Ok(value @ Value::Array(_)) => Self::from_toml(&value),
            _ if text.trim().is_empty() => Ok(Vec::new()),
            _ => entries(text.split(',').map(|entry| T::from_text(entry.trim()))),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::Array(self.iter().filter_map(T::to_toml).collect()))
    }
}

/// All entries, or the faults of each faulty entry.
fn entries<T>(read: impl Iterator<Item = Read<T>>) -> Read<Vec<T>> {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (entry, outcome) in read.enumerate() {
        match outcome {
            Ok(value) => good.push(value),
            Err(wrongs) => bad.extend(
                wrongs.into_iter().map(|wrong| Wrong { entry: Some(entry), what: wrong.what }),
            ),
        }
    }
    if bad.is_empty() { Ok(good) } else { Err(bad) }
}

impl SettingValue for bool {
    fn from_toml(value: &Value) -> Read<Self> {
        let not_bool = || wrong(format!("expected true or false, not {}", quoted(value)));
        value.as_bool().map_or_else(not_bool, Ok)
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::Boolean(*self))
    }
}

impl SettingValue for PathBuf {
    fn from_toml(value: &Value) -> Read<Self> {
        match text(value, "a path")? {
            "" => wrong("expected a path, not an empty string"),
            path if path.contains('\0') => wrong("a path cannot hold a NUL byte"),
            path => Ok(PathBuf::from(path)),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.display().to_string()))
    }
}

macro_rules! counts {
    ($($type:ty: $inner:ty),+) => {$(
        impl SettingValue for $type {
            fn from_toml(value: &Value) -> Read<Self> {
                let number = value.as_integer().and_then(|number| <$inner>::try_from(number).ok());
                number.and_then(<$type>::new).map_or_else(
                    || wrong(format!("expected a whole number of at least 1, not {}", quoted(value))),
                    Ok,
                )
            }

            fn to_toml(&self) -> Option<Value> {
                i64::try_from(self.get()).ok().map(Value::Integer)
            }
        }
    )+};
}
counts!(NonZeroU32: u32, NonZeroU64: u64, NonZeroUsize: usize);
