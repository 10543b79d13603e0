//! Which path of a public link asks for what. Pure.

use reelyard_actors::share_expiry::ShareId;

/// What is asked of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// `/s/{id}`: the page for people.
    Page,
    /// `/s/{id}/file`: the bytes.
    File,
    /// `/s/{id}/zip`: a directory as an archive.
    Zip,
}

/// Takes the path of a request apart. None for what no link has; the id is None where it does not
/// read as one: both look the same from outside.
pub(super) fn parse(path: &str) -> Option<(Option<ShareId>, Part)> {
    let rest = path.strip_prefix("/s/")?;
    let (id, part) = match rest.split_once('/') {
        None => (rest, Part::Page),
        Some((id, "file")) => (id, Part::File),
        Some((id, "zip")) => (id, Part::Zip),
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
        assert_eq!(parse(&format!("/s/{id}")), Some((Some(id), Part::Page)));
        assert_eq!(parse(&format!("/s/{id}/file")), Some((Some(id), Part::File)));
        assert_eq!(parse(&format!("/s/{id}/zip")), Some((Some(id), Part::Zip)));
        assert_eq!(parse("/s/short/file"), Some((None, Part::File)));
        for other in ["/", "/s", "/metrics", "/api/v1/shares"] {
            assert_eq!(parse(other), None, "{other}");
        }
        assert_eq!(parse(&format!("/s/{id}/")), None);
        assert_eq!(parse(&format!("/s/{id}/file/x")), None);
    }
}
