//! The address of a node as people write it: in options, in configurations and in programs.

use reqwest::Url;

/// A text that is not the address of a node. It shows no user name and no password, since its text goes to
/// terminals and logs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadNodeAddress {
    /// No URL, another scheme, or no host.
    #[error(
        "\"{0}\" is not the address of a node: expected host:port, http://host:port or https://host:port"
    )]
    NotHttp(String),
    /// A user name or a password stands before the host. Other users of the host can see command lines.
    #[error(
        "\"{0}\" has a user name or a password before the host: remove it, and give a token instead"
    )]
    HasUser(String),
}

/// The URL of a node from its text. Without a scheme it is http.
///
/// # Errors
/// The text is no URL of http or https, or it has a user name or a password.
pub fn node_address(text: &str) -> Result<Url, BadNodeAddress> {
    let with_scheme = match text.split_once("://") {
        Some(_) => text.to_owned(),
        None => format!("http://{text}"),
    };
    let not_http = || BadNodeAddress::NotHttp(without_user(text));
    let url = Url::parse(&with_scheme).map_err(|_| not_http())?;
    if !["http", "https"].contains(&url.scheme()) || !url.has_host() {
        return Err(not_http());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BadNodeAddress::HasUser(without_user(text)));
    }
    Ok(url)
}

/// The text with `…` instead of everything that may be a user name or a password.
fn without_user(text: &str) -> String {
    let Some((user, host)) = text.rsplit_once('@') else { return text.to_owned() };
    // Other schemes may be parts of a password.
    let scheme = ["http://", "https://"].into_iter().find(|scheme| user.starts_with(scheme));
    format!("{}…@{host}", scheme.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_or_without_its_scheme() {
        for text in ["127.0.0.1:8080", "http://127.0.0.1:8080", "http://127.0.0.1:8080/"] {
            let read = node_address(text).map(|url| url.to_string());
            assert_eq!(read, Ok("http://127.0.0.1:8080/".to_owned()), "{text}");
        }
        assert!(node_address("https://yard/below").is_ok_and(|url| url.path() == "/below"));
        for bad in ["", "ftp://x:1", "a b:1", "http://", "mailto:a"] {
            let refused = node_address(bad);
            assert!(matches!(refused, Err(BadNodeAddress::NotHttp(_))), "{bad}: {refused:?}");
        }
    }

    #[test]
    fn a_refusal_shows_no_user_and_no_password() {
        let refused = [
            "http://ci:hidden@yard:8080",
            "https://:hidden@yard",
            "http://hidden@yard",
            "ci:hidden@yard:8080",
            "http://ci:hid/hidden@yard",
            "ftp://ci:hidden@yard",
            "ci:hidden://x@yard",
            "hidden://ci@yard",
            "http://ci:hidden@ya rd",
        ];
        for text in refused {
            let shown = node_address(text).expect_err(text).to_string();
            assert!(!shown.contains("hidden"), "{shown}");
            assert!(shown.contains("ya"), "the host shows: {shown}");
        }
    }
}
