//! Maps method and path to a call by the rules of cfw's router, as a pure function. As in
//! cfw, paths are percent-decoded once before they are split.

use percent_encoding::percent_decode_str;
use reelyard_core::names::{BadFileName, FileName};

use crate::http::clean_path::{cleaned, written};

/// A parsed request to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerHttpCall {
    /// `HEAD /hb`: cfw's probe.
    Heartbeat,
    /// `GET /files`: cfw's list of the copies.
    Files,
    /// `GET /df`: cfw's disk figures.
    Disk,
    /// `DELETE /files/{name}`. The handler refuses an invalid name.
    Delete(Result<FileName, BadFileName>),
    /// `GET /info`: version, roles and settings of this worker.
    Info,
    /// `GET /inventory`
    Inventory,
    /// `GET /metrics`: for Prometheus.
    Metrics,
    /// `GET /healthz`: liveness.
    Healthz,
    /// `GET /readyz`: readiness.
    Readyz,
    /// `POST /boxes/run`
    RunHook,
    /// `POST /boxes/look`
    LookAtBoxes,
    /// `POST /boxes/adopt`
    AdoptBoxes,
    /// `POST /adopt`: obey the calling cluster from now on.
    Adopt,
    /// The path was not clean (`..`, `//`): 301 to this path, without a body.
    Clean(String),
    /// The path ended in a slash: 301 to this path.
    WithoutSlash(String),
    /// The path does not support the method (405).
    Method,
    /// The path does not exist (404).
    Nothing,
}

/// Parses `method` and the raw `path` of the request line.
pub fn route(method: &str, path: &str) -> WorkerHttpCall {
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    if let Some(clean) = cleaned(&decoded) {
        return WorkerHttpCall::Clean(written(&clean));
    }
    let bare = match decoded.strip_suffix(b"/") {
        Some(bare) if !bare.is_empty() => bare,
        _ => &decoded,
    };
    let Some((wanted, call)) = call_of(bare) else { return WorkerHttpCall::Nothing };
    if wanted != method {
        WorkerHttpCall::Method
    } else if bare.len() < decoded.len() {
        WorkerHttpCall::WithoutSlash(written(bare))
    } else {
        call
    }
}

/// The method of a path, and its call.
fn call_of(path: &[u8]) -> Option<(&'static str, WorkerHttpCall)> {
    match path {
        b"/hb" => Some(("HEAD", WorkerHttpCall::Heartbeat)),
        b"/files" => Some(("GET", WorkerHttpCall::Files)),
        b"/df" => Some(("GET", WorkerHttpCall::Disk)),
        b"/info" => Some(("GET", WorkerHttpCall::Info)),
        b"/inventory" => Some(("GET", WorkerHttpCall::Inventory)),
        b"/metrics" => Some(("GET", WorkerHttpCall::Metrics)),
        b"/healthz" => Some(("GET", WorkerHttpCall::Healthz)),
        b"/readyz" => Some(("GET", WorkerHttpCall::Readyz)),
        b"/boxes/run" => Some(("POST", WorkerHttpCall::RunHook)),
        b"/boxes/look" => Some(("POST", WorkerHttpCall::LookAtBoxes)),
        b"/boxes/adopt" => Some(("POST", WorkerHttpCall::AdoptBoxes)),
        b"/adopt" => Some(("POST", WorkerHttpCall::Adopt)),
        _ => {
            let name = path.strip_prefix(b"/files/")?;
            let is_one_segment = !name.is_empty() && !name.contains(&b'/');
            is_one_segment.then(|| ("DELETE", WorkerHttpCall::Delete(FileName::new(name))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_cfw_are_known_by_method_and_path() {
        assert_eq!(route("HEAD", "/hb"), WorkerHttpCall::Heartbeat);
        assert_eq!(route("GET", "/files"), WorkerHttpCall::Files);
        assert_eq!(route("GET", "/df"), WorkerHttpCall::Disk);
        for (method, path) in [
            ("GET", "/hb"),
            ("GET", "/hb/"),
            ("HEAD", "/files"),
            ("POST", "/df"),
            ("GET", "/files/x"),
        ] {
            assert_eq!(route(method, path), WorkerHttpCall::Method, "{method} {path}");
        }
        for path in ["/", "", "/x", "/files/a%2Fb", "/hb/x"] {
            let expected = if path.is_empty() {
                WorkerHttpCall::Clean("/".into())
            } else {
                WorkerHttpCall::Nothing
            };
            assert_eq!(route("GET", path), expected, "{path}");
        }
    }

    #[test]
    fn paths_are_cleaned_by_redirect() {
        assert_eq!(route("GET", "/files/"), WorkerHttpCall::WithoutSlash("/files".into()));
        assert_eq!(
            route("DELETE", "/files/a%20b/"),
            WorkerHttpCall::WithoutSlash("/files/a%20b".into())
        );
        assert_eq!(route("GET", "//files"), WorkerHttpCall::Clean("/files".into()));
        assert_eq!(route("DELETE", "/files/../../etc"), WorkerHttpCall::Clean("/etc".into()));
        assert_eq!(route("DELETE", "/files/%2e%2e"), WorkerHttpCall::Clean("/".into()));
        assert_eq!(
            route("DELETE", "/files/x%2F..%2Fa%23b"),
            WorkerHttpCall::Clean("/files/a%23b".into())
        );
    }

    #[test]
    fn a_name_is_decoded_exactly_once() {
        let deleted = |path: &str| match route("DELETE", path) {
            WorkerHttpCall::Delete(Ok(name)) => name.as_bytes().to_vec(),
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(deleted("/files/a%23b.mpg"), b"a#b.mpg");
        assert_eq!(deleted("/files/%25411.mpg"), b"%411.mpg");
        assert_eq!(deleted("/files/%FF%0A"), b"\xff\n");
        assert_eq!(deleted("/files/a+b"), b"a+b");
        let long = format!("/files/{}", "x".repeat(256));
        assert_eq!(route("DELETE", &long), WorkerHttpCall::Delete(Err(BadFileName::TooLong)));
    }
}
