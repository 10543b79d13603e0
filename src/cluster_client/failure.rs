//! Why no node answered: every address that was tried, with its failure.

use std::fmt;

use reelyard_protocol::tls::TlsTrouble;
use reqwest::Url;

/// A node that could not be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriedNode {
    /// Its address.
    pub url: Url,
    /// The cause as text.
    pub why: String,
}

impl fmt::Display for TriedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.url, self.why)
    }
}

/// Each node with its failure.
pub fn in_words(tried: &[TriedNode]) -> String {
    let each: Vec<String> = tried.iter().map(ToString::to_string).collect();
    each.join("; ")
}

/// No node answered a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoNodeAnswered {
    /// The nodes that were tried, in their order. At least one.
    pub tried: Vec<TriedNode>,
    /// Whether a node may have carried out the request.
    pub was_asked: bool,
    /// Whether the request was not sent to another node because it could be done twice.
    pub stopped_early: bool,
}

impl NoNodeAnswered {
    /// One node, which may have carried out the request.
    pub fn asked(url: &Url, why: impl Into<String>) -> Self {
        let tried = vec![TriedNode { url: url.clone(), why: why.into() }];
        NoNodeAnswered { tried, was_asked: true, stopped_early: false }
    }
}

impl std::error::Error for NoNodeAnswered {}

impl fmt::Display for NoNodeAnswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tried.as_slice() {
            [one] => write!(f, "the node at {} cannot be reached: {}", one.url, one.why)?,
            several => write!(f, "no node can be reached: {}", in_words(several))?,
        }
        if self.stopped_early {
            return f.write_str(
                ". The request has no request id, so it was not sent to another node. It may have been carried out: \
                 look at the present state before you repeat it",
            );
        }
        if self.tried.len() > 1 {
            return f.write_str(". Start one of them, or name other nodes");
        }
        Ok(())
    }
}

/// Why one attempt failed.
pub(super) struct FailedAttempt {
    /// The cause as text.
    pub(super) why: String,
    /// Whether the node may have carried out the request.
    pub(super) was_asked: bool,
}

impl FailedAttempt {
    /// A look at the node failed during a request.
    pub(super) fn of_look(error: &reqwest::Error) -> Self {
        let why =
            if error.is_timeout() { "it does not answer".to_owned() } else { cause_of(error) };
        FailedAttempt { why, was_asked: true }
    }
}

impl From<reqwest::Error> for FailedAttempt {
    fn from(error: reqwest::Error) -> Self {
        FailedAttempt { why: cause_of(&error), was_asked: !error.is_connect() }
    }
}

/// The cause of a failed exchange, with its remedy.
pub fn cause_of(error: &reqwest::Error) -> String {
    if let Some(trouble) = TlsTrouble::of(error) {
        return tls_in_words(&trouble);
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// A failure of TLS with its remedy.
fn tls_in_words(trouble: &TlsTrouble) -> String {
    let remedy = match trouble {
        TlsTrouble::NoTls => "begin the URL with http://",
        TlsTrouble::UnknownAuthority => "name the certificate of that authority by --ca-file",
        TlsTrouble::Other(_) => return trouble.to_string(),
        TlsTrouble::Expired | TlsTrouble::NotYetValid | TlsTrouble::OtherName => {
            trouble.remedy_at_server().unwrap_or_default()
        }
    };
    format!("{trouble}: {remedy}")
}
