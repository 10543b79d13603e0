//! Parses the target of a request for a public link. Pure.

use reelyard_shares::share_expiry::ShareId;

/// The requested part of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkResource {
    /// `/s/{id}`: the page.
    Page,
    /// `/s/{id}/file`: the bytes of the file.
    File,
    /// `/s/{id}/zip`: a directory as an archive.
    Zip,
}

/// The path of a request target, which may be an absolute URL (RFC 9112, section 3.2.2).
fn path(target: &str) -> &str {
    match target.split_once("://") {
        Some((scheme, rest))
            if ["http", "https"].iter().any(|s| scheme.eq_ignore_ascii_case(s)) =>
        {
            rest.find('/').map_or("", |slash| &rest[slash..])
        }
        _ => target,
    }
}

/// Parses a request target. None for a path that is not part of a link. The id is none if it is not
/// valid; it gets the same answer as an unknown one.
pub(crate) fn parse(target: &str) -> Option<(Option<ShareId>, LinkResource)> {
    let rest = path(target).strip_prefix("/s/")?;
    let (id, part) = match rest.split_once('/') {
        None => (rest, LinkResource::Page),
        Some((id, "file")) => (id, LinkResource::File),
        Some((id, "zip")) => (id, LinkResource::Zip),
        Some(_) => return None,
    };
    Some((id.parse().ok(), part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart() {
        let id = ShareId(u128::MAX / 7);
        assert_eq!(parse(&format!("/s/{id}")), Some((Some(id), LinkResource::Page)));
        assert_eq!(parse(&format!("/s/{id}/file")), Some((Some(id), LinkResource::File)));
        assert_eq!(parse(&format!("/s/{id}/zip")), Some((Some(id), LinkResource::Zip)));
        assert_eq!(parse("/s/short/file"), Some((None, LinkResource::File)));
        for server in ["http://h", "HTTPS://[::1]:8081"] {
            assert_eq!(
                parse(&format!("{server}/s/{id}/file")),
                Some((Some(id), LinkResource::File))
            );
            assert_eq!(parse(server), None);
        }
        for other in
            ["/", "/s", "/metrics", "/api/v1/shares", "ftp://h/s/x", "http:/s/x", "/http://h/s/x"]
        {
            assert_eq!(parse(other), None, "{other}");
        }
        assert_eq!(parse(&format!("/s/{id}/")), None);
        assert_eq!(parse(&format!("/s/{id}/file/x")), None);
    }
}
