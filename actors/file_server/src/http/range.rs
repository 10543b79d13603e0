//! The `Range` header (RFC 9110, section 14), as a pure rule.

use std::ops::Range;

/// The bytes of a file to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestedRange {
    /// The whole file: no range was requested, or one that may be ignored (several ranges,
    /// another unit, or a range that cannot be parsed).
    Whole,
    /// These bytes of the file; never empty.
    Part(Range<u64>),
    /// None that the file has.
    Unsatisfiable,
}

/// Reads the value of a `Range` header for a file of `size` bytes.
pub fn wanted(header: Option<&[u8]>, size: u64) -> RequestedRange {
    let spec = header
        .and_then(|value| std::str::from_utf8(value).ok())
        .and_then(|value| value.trim().split_once('='))
        .filter(|(unit, _)| unit.eq_ignore_ascii_case("bytes"))
        .and_then(|(_, spec)| spec.trim().split_once('-'));
    let Some((first, last)) = spec else { return RequestedRange::Whole };
    match (number(first), number(last)) {
        (Number::Is(first), Number::Is(last)) if first <= last => {
            part(first..last.saturating_add(1).min(size))
        }
        (Number::Is(first), Number::Absent) => part(first..size),
        (Number::Absent, Number::Is(count)) => part(size.saturating_sub(count)..size),
        _ => RequestedRange::Whole,
    }
}

fn part(range: Range<u64>) -> RequestedRange {
    if range.is_empty() { RequestedRange::Unsatisfiable } else { RequestedRange::Part(range) }
}

enum Number {
    Absent,
    Is(u64),
    Garbled,
}

fn number(text: &str) -> Number {
    if text.is_empty() {
        Number::Absent
    } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are past the end of every file.
        Number::Is(text.parse().unwrap_or(u64::MAX))
    } else {
        Number::Garbled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_rfc_9110_has_them() {
        let of_100 = |header: &str| wanted(Some(header.as_bytes()), 100);
        assert_eq!(of_100("bytes=0-9"), RequestedRange::Part(0..10));
        assert_eq!(of_100("bytes=90-"), RequestedRange::Part(90..100));
        assert_eq!(of_100("BYTES=90-"), RequestedRange::Part(90..100));
        assert_eq!(of_100("Bytes= 90-"), RequestedRange::Part(90..100));
        assert_eq!(of_100("bytes=90-1000"), RequestedRange::Part(90..100));
        assert_eq!(of_100("bytes=-10"), RequestedRange::Part(90..100));
        assert_eq!(of_100("bytes=-1000"), RequestedRange::Part(0..100));
        assert_eq!(of_100("bytes=99999999999999999999999-"), RequestedRange::Unsatisfiable);
        assert_eq!(of_100("bytes=100-"), RequestedRange::Unsatisfiable);
        assert_eq!(of_100("bytes=-0"), RequestedRange::Unsatisfiable);
        for ignored in ["bytes=9-0", "bytes=0-1,5-6", "lines=0-1", "bytes=x-", "bytes=-", "0-1"] {
            assert_eq!(of_100(ignored), RequestedRange::Whole, "{ignored}");
        }
        assert_eq!(wanted(None, 100), RequestedRange::Whole);
        assert_eq!(wanted(Some(b"bytes=0-0"), 0), RequestedRange::Unsatisfiable);
    }
}
