//! Numbers with their nouns.

use std::fmt::Display;

/// A count with its noun: "1 share", "2 shares". `one` is the noun for one thing, `many` for all other counts.
pub fn counted(count: impl Display, one: &str, many: &str) -> String {
    let count = count.to_string();
    let noun = if count == "1" { one } else { many };
    format!("{count} {noun}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_takes_the_singular() {
        for (count, expected) in
            [(0, "0 copies"), (1, "1 copy"), (2, "2 copies"), (11, "11 copies")]
        {
            assert_eq!(counted(count, "copy", "copies"), expected);
        }
    }
}
