//! Sentences with commands and names of settings between backticks.

use maud::{Markup, html};

/// A sentence whose parts between backticks stand in the letters of code.
pub fn with_code(sentence: &str) -> Markup {
    let mut rest = sentence;
    let mut parts = Vec::new();
    while let Some((plain, after)) = rest.split_once('`')
        && let Some((code, end)) = after.split_once('`')
    {
        parts.push((plain, code));
        rest = end;
    }
    html! { @for (plain, code) in parts { (plain) code { (code) } } (rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stands_between_two_backticks() {
        let shown = |sentence: &str| with_code(sentence).into_string();
        assert_eq!(shown("Use `a<b` and `c`."), "Use <code>a&lt;b</code> and <code>c</code>.");
        assert_eq!(shown("a ` b"), "a ` b");
        assert_eq!(shown(""), "");
    }
}
