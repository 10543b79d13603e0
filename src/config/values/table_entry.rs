//! Sets one entry of a table from an argument or a variable, for example `media` of
//! `share.roots.media=/data`.

use toml::{Table, Value};

/// Sets the entry of `table` at the dotted key `entry`. `text` is a TOML value if it parses, else a
/// string. Returns false if a part of the key before the last exists and is not a table.
pub fn set(table: &mut Table, entry: &str, text: &str) -> bool {
    let value = text.parse().unwrap_or_else(|_| Value::String(text.to_owned()));
    let mut parts = parts(entry);
    let Some(last) = parts.pop() else { return false };
    let mut table = table;
    for part in parts {
        let inner = table.entry(part).or_insert_with(|| Value::Table(Table::new()));
        let Value::Table(inner) = inner else { return false };
        table = inner;
    }
    table.insert(last, value);
    true
}

/// Splits a dotted key. A key that is not valid TOML, such as the address of a host, is one part.
fn parts(entry: &str) -> Vec<String> {
    let Ok(read) = format!("{entry} = 0").parse::<Table>() else { return vec![entry.to_owned()] };
    let (mut parts, mut rest) = (Vec::new(), read);
    // A table that is parsed from one key has one entry.
    while let Some((part, value)) = rest.into_iter().next() {
        parts.push(part);
        match value {
            Value::Table(inner) => rest = inner,
            _ => break,
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(entry: &str, text: &str) -> Option<String> {
        let mut table: Table = "a = 1\nb = { c = 2 }".parse().unwrap();
        set(&mut table, entry, text).then(|| Value::Table(table).to_string())
    }

    #[test]
    fn a_key_names_an_entry_at_any_depth() {
        for (entry, text, wanted) in [
            ("a", "/x", r#"{ a = "/x", b = { c = 2 } }"#),
            ("b.c", "[1, 2]", "{ a = 1, b = { c = [1, 2] } }"),
            ("b.d.e", "10s", r#"{ a = 1, b = { c = 2, d = { e = "10s" } } }"#),
            ("10.0.0.1:80", "off", r#"{ "10.0.0.1:80" = "off", a = 1, b = { c = 2 } }"#),
            ("\"10.0.0.1:80\".x", "1", r#"{ "10.0.0.1:80" = { x = 1 }, a = 1, b = { c = 2 } }"#),
        ] {
            assert_eq!(after(entry, text).as_deref(), Some(wanted), "{entry}");
        }
        assert_eq!(after("a.b", "1"), None, "a is no table");
    }
}
