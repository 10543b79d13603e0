//! Cleans and encodes paths like Go's router, because both old programs use it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// The characters that Go does not escape in a path.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');

/// Removes empty, `.` and `..` segments from a decoded path; a trailing slash stays. None if the
/// path is already clean.
pub fn cleaned(path: &[u8]) -> Option<Vec<u8>> {
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&byte| byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => drop(segments.pop()),
            name => segments.push(name),
        }
    }
    let mut cleaned = vec![b'/'];
    cleaned.extend(segments.join(&b'/'));
    if path.ends_with(b"/") && !segments.is_empty() {
        cleaned.push(b'/');
    }
    (cleaned != path).then_some(cleaned)
}

/// Encodes a decoded path for a `Location` header.
pub fn written(path: &[u8]) -> String {
    percent_encode(path, KEPT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_and_double_slashes_are_cleaned_away() {
        for (path, clean) in [
            ("//tasks", "/tasks"),
            ("/tasks//5", "/tasks/5"),
            ("/dashboard/../tasks/", "/tasks/"),
            ("/../../etc/passwd", "/etc/passwd"),
            ("/./", "/"),
            ("/tasks/..", "/"),
            ("", "/"),
        ] {
            assert_eq!(cleaned(path.as_bytes()).as_deref(), Some(clean.as_bytes()), "{path}");
        }
        for path in ["/", "/tasks", "/tasks/", "/tasks/+5", "/tasks/..x"] {
            assert_eq!(cleaned(path.as_bytes()), None, "{path}");
        }
    }

    #[test]
    fn a_path_is_written_as_go_writes_it() {
        assert_eq!(written(b"/a b,c;d?e#f%/\xff"), "/a%20b,c;d%3Fe%23f%25/%FF");
    }
}
