//! The JSON of cfm: the list of tasks and the body of a change of state.

use std::io;

use reelyard_core::host::BitsPerSecond;
use reelyard_core::names::{FileName, LONGEST_NAME};
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::Serialize;

use crate::worker::TaskId;

/// A header with this program's version in every answer of a Reelyard node to cfm's protocol. Old cfws
/// ignore it. It shows a Reelyard worker that expects an old cfm that a node has replaced the cfm.
pub const REELYARD_HEADER: &str = "Reelyard-Version";

/// The longest name that an old cfw can fetch, in bytes, because a number has up to 19 digits.
pub const LONGEST_NAME_CARRIED: usize = LONGEST_NAME - 20;

/// Value of `copy_speed` for a task without a limit. The protocol has no word for "unlimited", and zero
/// would stop some downloaders. This is the highest rate that a 32-bit downloader can read.
pub const FASTEST_ON_THE_WIRE: BitsPerSecond = BitsPerSecond(i32::MAX as u64);

/// The four states of cfm's wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OldState {
    /// Not started: the word of the protocol is `ready`.
    Ready,
    /// The copy runs: the word of the protocol is `working`.
    Working,
    /// The copy is complete: the word of the protocol is `done`.
    Done,
    /// The copy was given up: the word of the protocol is `timeout`.
    Timeout,
}

/// One task as cfm writes it, fields in cfm's order.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CfmTask {
    /// The number, as a string.
    #[serde(with = "number_in_a_string")]
    pub id: i64,
    /// Unix seconds of its planning.
    pub ctime: i64,
    /// Unix seconds of its last change of state.
    pub mtime: i64,
    /// The state of the task.
    pub status: OldState,
    /// IP address of the source.
    pub src_ip: String,
    /// IP address of the destination.
    pub dst_ip: String,
    /// Path of the master on the source.
    pub file_path: String,
    /// File name without its directory.
    pub file_name: String,
    /// Its rank, 1 = best; 0 for a hot file without a grade.
    pub grade: u32,
    /// Rate limit in bit/s, sent as a string.
    #[serde(with = "number_in_a_string")]
    pub copy_speed: u64,
    /// The source's `ip:port`.
    pub src_addr: String,
    /// The destination's `ip:port`.
    pub dst_addr: String,
}

/// Whether the old programs can carry a name. It must fit into this JSON and into cfw's list of one name a
/// line. With `.` and the task's number it must be one directory entry of cfw's temporary directory.
pub fn carries(name: &FileName) -> bool {
    carries_bytes(name.as_bytes())
}

/// The same for the bytes of a name.
pub fn carries_bytes(name: &[u8]) -> bool {
    let text = std::str::from_utf8(name).ok().filter(|name| name.len() <= LONGEST_NAME_CARRIED);
    text.is_some_and(|text| !text.chars().any(char::is_control))
}

/// The body of `GET /tasks`: a JSON array sorted by id, then a newline.
pub fn write_task_list(mut tasks: Vec<CfmTask>) -> Vec<u8> {
    tasks.sort_unstable_by_key(|task| task.id);
    let mut body = as_go_writes(&tasks);
    body.push(b'\n');
    body
}

/// JSON with the escapes that Go's encoder makes, so that bodies are the same byte for byte.
fn as_go_writes<T: Serialize>(value: &T) -> Vec<u8> {
    let mut body = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut body, GoEscapes);
    // Writing to memory cannot fail, and no type of this protocol has keys that are not strings.
    #[allow(clippy::expect_used)]
    value.serialize(&mut serializer).expect("wire types serialise");
    body
}

/// Writes `<`, `>`, `&`, U+2028 and U+2029 inside strings as `\u....`, as Go does.
struct GoEscapes;

impl serde_json::ser::Formatter for GoEscapes {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut written = 0;
        for (at, c) in fragment.char_indices() {
            if matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') {
                writer.write_all(&fragment.as_bytes()[written..at])?;
                write!(writer, "\\u{:04x}", u32::from(c))?;
                written = at + c.len_utf8();
            }
        }
        writer.write_all(&fragment.as_bytes()[written..])
    }
}

/// Reads the id in `/tasks/{id}` as Go's `strconv.ParseInt(text, 10, 64)` does.
pub fn parse_task_id(text: &str) -> Option<TaskId> {
    text.parse().ok().map(TaskId)
}

/// Why the body of a `PATCH` is answered with 400.
#[derive(Debug, thiserror::Error)]
pub enum BadChange {
    /// It is not JSON, or no object.
    #[error("the body is not a JSON object: {0}")]
    NotJson(#[from] serde_json::Error),
    /// Its status is none of cfm's four.
    #[error("the status must be ready, working, done or timeout")]
    UnknownStatus,
}

/// Reads the body of `PATCH /tasks/{id}`. None when it names no status: cfm looks for the task
/// before it refuses that.
///
/// It follows Go's decoder. The case of the key does not matter; other keys and bytes after the object are
/// ignored. If a key is repeated, the last valid value counts, but any invalid one makes the body invalid.
/// `null` instead of an object changes nothing, and invalid UTF-8 is replaced.
pub fn parse_change(body: &[u8]) -> Result<Option<OldState>, BadChange> {
    let text = String::from_utf8_lossy(body);
    let mut reader = serde_json::Deserializer::from_str(&text);
    let change = Option::<PatchFields>::deserialize(&mut reader)?.unwrap_or_default();
    if change.has_unknown_status {
        return Err(BadChange::UnknownStatus);
    }
    Ok(change.status)
}

/// Values of the keys of a body.
#[derive(Default)]
struct PatchFields {
    status: Option<OldState>,
    has_unknown_status: bool,
}

impl<'de> Deserialize<'de> for PatchFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PatchFieldsVisitor;
        impl<'de> Visitor<'de> for PatchFieldsVisitor {
            type Value = PatchFields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PatchFields, A::Error> {
                let mut change = PatchFields::default();
                while let Some(key) = map.next_key::<String>()? {
                    if !is_status_key(&key) {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    match map.next_value::<StatusValue>()?.0 {
                        Some(status) => change.status = Some(status),
                        None => change.has_unknown_status = true,
                    }
                }
                Ok(change)
            }
        }
        deserializer.deserialize_map(PatchFieldsVisitor)
    }
}

/// Go compares keys with Unicode's simple case folding. There a long s equals an s.
fn is_status_key(key: &str) -> bool {
    key.replace('\u{17f}', "s").eq_ignore_ascii_case("status")
}

/// A value of the key `status`. None for any other value than one of the four words.
struct StatusValue(Option<OldState>);

impl<'de> Deserialize<'de> for StatusValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StatusValueVisitor;
        impl<'de> Visitor<'de> for StatusValueVisitor {
            type Value = Option<OldState>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a value")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Self::Value, E> {
                Ok(match word {
                    "ready" => Some(OldState::Ready),
                    "working" => Some(OldState::Working),
                    "done" => Some(OldState::Done),
                    "timeout" => Some(OldState::Timeout),
                    _ => None,
                })
            }

            fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(None)
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
                Ok(None)
            }

            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> {
                Ok(None)
            }

            fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self::Value, E> {
                Ok(None)
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
                Ok(None)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(None)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(None)
            }
        }
        deserializer.deserialize_any(StatusValueVisitor).map(StatusValue)
    }
}

/// Numbers that this protocol carries as strings.
pub(super) mod number_in_a_string {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<T: Display, S: Serializer>(number: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_go_does() {
        let body = as_go_writes(&"a<b>&\u{2028}\u{2029}\"\\\té\u{1}");
        let expected = r#""a\u003cb\u003e\u0026\u2028\u2029\"\\\té\u0001""#;
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }

    #[test]
    fn a_body_is_read_as_go_reads_it() {
        let read = |body: &[u8]| parse_change(body).ok();
        let done = Some(Some(OldState::Done));
        assert_eq!(read(br#"{"status":"done"}"#), done);
        assert_eq!(read(br#"{"STATUS":"done","more":[{"status":1}]} trailing"#), done);
        assert_eq!(read("{\"\u{17f}tatus\":\"done\"}".as_bytes()), done);
        assert_eq!(read(br#"{"status":"ready","Status":"done"}"#), done);
        assert_eq!(read(b"{\"a\xff\":\"\xff\",\"status\":\"done\"}"), done);
        assert_eq!(read(b"{}"), Some(None));
        assert_eq!(read(b"null"), Some(None));
        let bad = [
            "",
            "{",
            "[]",
            "\"done\"",
            "{\"status\":null}",
            "{\"status\":\"failed\"}",
            "{\"status\":3}",
            "{\"status\":[\"done\"]}",
            "{\"status\":\"failed\",\"status\":\"done\"}",
            "status=done",
        ];
        for body in bad {
            assert_eq!(read(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn ids_are_read_as_go_reads_them() {
        assert_eq!(parse_task_id("+5"), Some(TaskId(5)));
        assert_eq!(parse_task_id("-9223372036854775808"), Some(TaskId(i64::MIN)));
        for bad in ["", "+", "5a", " 5", "0x5", "1_000", "9223372036854775808", "5.0"] {
            assert_eq!(parse_task_id(bad), None, "{bad}");
        }
    }
}
