//! Comma-separated values, as RFC 4180 has them.

/// First characters that make a spreadsheet read a field as a formula.
const FORMULAS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A row with its end of line.
pub fn row<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let fields: Vec<String> = fields.into_iter().map(field).collect();
    format!("{}\r\n", fields.join(","))
}

/// A field, in quotes where it needs them. An apostrophe in front keeps a spreadsheet from reading it as a formula.
fn field(value: &str) -> String {
    let harmless = if value.starts_with(FORMULAS) { format!("'{value}") } else { value.to_owned() };
    if harmless.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", harmless.replace('"', "\"\""))
    } else {
        harmless
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_never_formulas() {
        assert_eq!(field("a.mpg"), "a.mpg");
        assert_eq!(field("a, \"b\".mpg"), "\"a, \"\"b\"\".mpg\"");
        assert_eq!(field("a\nb"), "\"a\nb\"");
        for formula in ["=1+1", "+1", "-2", "@SUM(A1)", "\tx"] {
            assert_eq!(field(formula), format!("'{formula}"));
        }
        assert_eq!(field("=HYPERLINK(\"x\",\"y\")"), "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
        assert_eq!(row(["a", "b,c"]), "a,\"b,c\"\r\n");
    }
}
