//! The program of a session, as it names itself. Pure.

use std::fmt;
use std::sync::Arc;

use reelyard_core::display_text::misleads;
use serde::{Deserialize, Serialize};

/// Longest kept name, in characters. No event depends on it.
const LONGEST_KEPT: usize = 200;

/// The name that a program sent, without characters that could control a terminal. It proves nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct UserAgent(Arc<str>);

impl UserAgent {
    /// The beginning of `text`. Each misleading character becomes a blank.
    pub fn cut(text: &str) -> Self {
        let plain = text.chars().take(LONGEST_KEPT).map(|c| if misleads(c) { ' ' } else { c });
        UserAgent(plain.collect::<String>().into())
    }

    /// The characters of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<String> for UserAgent {
    fn from(text: String) -> Self {
        UserAgent(text.into())
    }
}

impl From<UserAgent> for String {
    fn from(agent: UserAgent) -> String {
        agent.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_or_misleading_name_is_cut_and_made_plain() {
        assert_eq!(UserAgent::cut("curl/8.1").as_str(), "curl/8.1");
        assert_eq!(UserAgent::cut("a\u{1b}[31m\nb\u{202e}").as_str(), "a [31m b ");
        assert_eq!(UserAgent::cut(&"é".repeat(1000)).as_str().chars().count(), 200);
    }
}
