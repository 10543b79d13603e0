//! A share in the arguments of a command.

use reelyard_shares::share_expiry::ShareId;

/// A share, by id or link.
#[derive(Clone, Copy, Debug)]
pub struct ShareRef(pub ShareId);

impl std::str::FromStr for ShareRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A copied link may have a path after the id, a query and a fragment.
        let link = text.split(['?', '#']).next().unwrap_or(text);
        let id = link.rsplit_once("/s/").map_or(link, |(_, id)| id);
        let id = id.strip_suffix('/').unwrap_or(id);
        let id = id.strip_suffix("/file").or_else(|| id.strip_suffix("/zip")).unwrap_or(id);
        id.parse().map(ShareRef).map_err(|_| format!("\"{text}\" is neither an id nor a link"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_taken_as_people_paste_it() {
        let id = "AAAAAAAAAAAAAAAAAAAAAA";
        let link = format!("https://share.example.net/s/{id}");
        for more in ["", "/", "/file", "/zip", "/file/", "?x", "#a", "/?x=/s/y", "/file?a#b"] {
            for text in [format!("{link}{more}"), format!("{id}{more}")] {
                let read: ShareRef = text.parse().unwrap();
                assert_eq!(read.0.to_string(), id, "{text}");
            }
        }
        for bad in ["", "https://share.example.net/", "AAAA", &format!("{link}/other")] {
            assert!(bad.parse::<ShareRef>().is_err(), "{bad}");
        }
    }
}
