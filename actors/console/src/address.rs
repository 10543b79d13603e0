//! Addresses of pages, and the query parameters that hold the state of a page.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The path in front of every page of the console.
pub const ROOT: &str = "/console";

/// Characters that a query or a segment of a path has as they are.
const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// The text as a segment of a path, or as a value of a query.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// The address of the page of one host, without a query.
pub fn host_page(host: &str) -> String {
    format!("{ROOT}/hosts/{}", encoded(host))
}

/// The names and values of a query string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryPairs(Vec<(String, String)>);

impl QueryPairs {
    /// Reads a query string. Bytes that are no UTF-8 become U+FFFD.
    pub fn parse(query: &str) -> QueryPairs {
        let mut pairs = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            pairs.push((decoded(name), decoded(value)));
        }
        QueryPairs(pairs)
    }

    /// The first value of a name.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|pair| pair.0 == name).map(|pair| pair.1.as_str())
    }

    /// All values of a name, in their order.
    pub fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|pair| pair.0 == name).map(|pair| pair.1.clone()).collect()
    }

    /// Adds a pair at the end.
    pub fn add(&mut self, name: &str, value: String) {
        self.0.push((name.to_owned(), value));
    }

    /// The pairs in their order.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// The query string without its question mark.
    pub fn print(&self) -> String {
        let parts: Vec<String> = self
            .0
            .iter()
            .map(|pair| format!("{}={}", encoded(&pair.0), encoded(&pair.1)))
            .collect();
        parts.join("&")
    }
}

fn decoded(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

/// A value of a query parameter. The default value is left out of the address.
pub trait QueryValue: Sized + Default + PartialEq {
    /// The value of these texts; the default if they are not readable.
    fn of_texts(texts: &[String]) -> Self;

    /// The texts of this value, one a pair.
    fn texts(&self) -> Vec<String>;
}

impl QueryValue for String {
    fn of_texts(texts: &[String]) -> Self {
        texts.first().cloned().unwrap_or_default()
    }

    fn texts(&self) -> Vec<String> {
        vec![self.clone()]
    }
}

impl QueryValue for Vec<String> {
    fn of_texts(texts: &[String]) -> Self {
        texts.to_vec()
    }

    fn texts(&self) -> Vec<String> {
        self.clone()
    }
}

impl QueryValue for bool {
    fn of_texts(texts: &[String]) -> Self {
        texts.first().is_some_and(|text| text == "true" || text == "on")
    }

    fn texts(&self) -> Vec<String> {
        vec![self.to_string()]
    }
}

impl QueryValue for Option<u64> {
    fn of_texts(texts: &[String]) -> Self {
        texts.first().and_then(|text| text.parse().ok())
    }

    fn texts(&self) -> Vec<String> {
        self.iter().map(u64::to_string).collect()
    }
}

/// The column by which a table is sorted. Without a column the page has its own order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SortBy {
    /// The key of the column, empty for the order of the page.
    pub key: String,
    /// Largest first.
    pub descending: bool,
}

impl SortBy {
    /// Ascending by this column.
    pub fn ascending(key: &str) -> SortBy {
        SortBy { key: key.to_owned(), descending: false }
    }

    /// Descending by this column.
    pub fn descending(key: &str) -> SortBy {
        SortBy { key: key.to_owned(), descending: true }
    }
}

impl QueryValue for SortBy {
    fn of_texts(texts: &[String]) -> Self {
        let text = texts.first().map(String::as_str).unwrap_or_default();
        let (key, descending) = match text.strip_prefix('-') {
            Some(key) => (key, true),
            None => (text, false),
        };
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
            return SortBy::default();
        }
        SortBy { key: key.to_owned(), descending }
    }

    fn texts(&self) -> Vec<String> {
        let sign = if self.descending { "-" } else { "" };
        vec![format!("{sign}{}", self.key)]
    }
}

/// A word of a closed list, as an address has it.
pub trait QueryWord: Sized + Copy + PartialEq + 'static {
    /// The values with their words.
    const WORDS: &'static [(&'static str, Self)];

    /// The word of this value.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|pair| pair.1 == self).map_or("", |pair| pair.0)
    }
}

impl<W: QueryWord> QueryValue for Option<W> {
    fn of_texts(texts: &[String]) -> Self {
        let text = texts.first()?;
        W::WORDS.iter().find(|pair| pair.0 == text).map(|pair| pair.1)
    }

    fn texts(&self) -> Vec<String> {
        self.iter().map(|value| value.word().to_owned()).collect()
    }
}

/// Declares the state of a page: its path below [`ROOT`] and its query parameters.
macro_rules! page_query {
    ($(#[$doc:meta])* $name:ident at $path:literal {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)+
        }

        impl $name {
            /// Reads a query string. Unknown names and unreadable values are ignored.
            pub fn parse(query: &str) -> Self {
                let pairs = crate::address::QueryPairs::parse(query);
                $name {
                    $($field: crate::address::QueryValue::of_texts(&pairs.all(stringify!($field))),)+
                }
            }

            /// The parameters that differ from their default.
            pub fn pairs(&self) -> crate::address::QueryPairs {
                use crate::address::QueryValue;
                let mut pairs = crate::address::QueryPairs::default();
                $(if self.$field != <$type>::default() {
                    for text in self.$field.texts() {
                        pairs.add(stringify!($field), text);
                    }
                })+
                pairs
            }

            /// The path of the page, without parameters.
            pub fn path() -> &'static str {
                concat!("/console", $path)
            }

            /// The address of the page in this state.
            pub fn address(&self) -> String {
                let query = self.pairs().print();
                let mark = if query.is_empty() { "" } else { "?" };
                format!("{}{mark}{query}", Self::path())
            }
        }
    };
}

pub(crate) use page_query;

#[cfg(test)]
mod tests {
    use super::*;

    page_query! {
        /// A page of the tests.
        SampleQuery at "/sample" {
            /// A text.
            q: String,
            /// An order.
            sort: SortBy,
            /// A list.
            pick: Vec<String>,
            /// A switch.
            compact: bool,
        }
    }

    #[test]
    fn an_address_gives_back_its_state() {
        let query = SampleQuery {
            q: "a b&c=d+e%20<é>\n".to_owned(),
            sort: SortBy::descending("disk"),
            pick: vec!["10.4.2.31:8888".to_owned(), String::new()],
            compact: true,
        };
        let address = query.address();
        let (path, rest) = address.split_once('?').unwrap();
        assert_eq!(path, "/console/sample");
        assert_eq!(SampleQuery::parse(rest), query);
        assert_eq!(SampleQuery::default().address(), "/console/sample");
    }

    #[test]
    fn an_unreadable_value_is_the_default() {
        let query = SampleQuery::parse("sort=%3Cscript%3E&compact=maybe&other=1&q&&=");
        assert_eq!(query, SampleQuery::default());
        assert_eq!(SampleQuery::parse("q=%FF").q, "\u{fffd}");
    }
}
