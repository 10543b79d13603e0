//! Pages of lists: page size and cursor.

use std::fmt;
use std::num::{IntErrorKind, NonZeroUsize};
use std::str::FromStr;

use reelyard_api::{Cursor, Page};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::http::problem::ProblemResponse;

/// Page size when the client sets none.
const USUAL: usize = 100;
/// Largest page size.
const MOST: usize = 1000;

/// The page parameters of a query.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Largest number of items; above 1000 counts as 1000.
    // A string, so that a refusal can quote it.
    #[param(value_type = Option<u32>, minimum = 1, default = 100)]
    pub limit: Option<String>,
    /// Cursor to continue a list: `next` of the previous page.
    pub cursor: Option<String>,
}

impl PageQuery {
    /// The page size.
    pub fn limit(&self) -> Result<usize, ProblemResponse> {
        let Some(text) = &self.limit else { return Ok(USUAL) };
        match text.parse::<NonZeroUsize>() {
            Ok(limit) => Ok(limit.get().min(MOST)),
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => Ok(MOST),
            Err(_) => Err(ProblemResponse::bad_request(format!(
                "limit: expected a number of at least 1, not \"{text}\""
            ))),
        }
    }

    /// The position of the cursor: the key that [`page`] made it from.
    pub fn position<K: FromStr>(&self) -> Result<Option<K>, ProblemResponse> {
        let read = |cursor: &String| {
            let unknown = || {
                ProblemResponse::bad_request(format!(
                    "cursor: \"{cursor}\" is not a cursor of this list: use `next` of the previous page"
                ))
            };
            cursor.parse().map_err(|_| unknown())
        };
        self.cursor.as_ref().map(read).transpose()
    }
}

/// The page parameters of a list of names, with a filter.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NamedPageQuery {
    /// Only those with this text in their name.
    pub contains: Option<String>,
    /// Largest number of items; above 1000 counts as 1000.
    #[param(value_type = Option<u32>, minimum = 1, default = 100)]
    pub limit: Option<String>,
    /// Cursor to continue a list: `next` of the previous page.
    pub cursor: Option<String>,
}

impl NamedPageQuery {
    /// The page parameters alone.
    pub fn paging(&self) -> PageQuery {
        PageQuery { limit: self.limit.clone(), cursor: self.cursor.clone() }
    }

    /// Whether the filter lets this name through.
    pub fn takes(&self, name: &str) -> bool {
        self.contains.as_ref().is_none_or(|part| name.contains(part))
    }
}

/// Returns a page of at most `limit` items. The items start at the requested position, and `key`
/// gives the cursor after an item.
pub fn page<T, K: fmt::Display>(
    items: impl IntoIterator<Item = T>,
    limit: usize,
    key: impl Fn(&T) -> K,
) -> Page<T> {
    let mut items = items.into_iter();
    let first: Vec<T> = items.by_ref().take(limit).collect();
    let next = items.next().and(first.last()).map(|last| Cursor(key(last).to_string()));
    Page { items: first, next }
}

/// Returns a page of a list in the order of its keys. The cursor is a key, so no row is missed when others come or go
/// between two calls. No two rows have the same key.
///
/// # Errors
/// The limit or the cursor is not valid.
pub fn page_by_key<T, K: Ord + Serialize + DeserializeOwned>(
    query: &PageQuery,
    items: impl Iterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Result<Page<T>, ProblemResponse> {
    let (limit, after) = (query.limit()?, query.position::<KeyCursor<K>>()?);
    let keyed = items.map(|item| (key(&item), item));
    let mut behind: Vec<(K, T)> =
        keyed.filter(|(key, _)| after.as_ref().is_none_or(|after| *key > after.0)).collect();
    if limit < behind.len() {
        // The first item of the next page is kept: it says that there is one.
        behind.select_nth_unstable_by(limit, |a, b| a.0.cmp(&b.0));
        behind.truncate(limit + 1);
    }
    behind.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let items = behind.into_iter().map(|(_, item)| item);
    Ok(page(items, limit, |item| KeyCursor(key(item))))
}

/// A key as the text of a cursor.
struct KeyCursor<K>(K);

impl<K: Serialize> fmt::Display for KeyCursor<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys consist of addresses, names and numbers: each has a form in JSON.
        f.write_str(&serde_json::to_string(&self.0).map_err(|_| fmt::Error)?)
    }
}

impl<K: DeserializeOwned> FromStr for KeyCursor<K> {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text).map(KeyCursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_more_than_a_page_takes_counts_as_a_page() {
        let limit = |text: &str| {
            let page = PageQuery { limit: Some(text.to_owned()), cursor: None };
            page.limit().ok()
        };
        assert_eq!((limit("7"), limit("1001")), (Some(7), Some(MOST)));
        assert_eq!(limit("99999999999999999999"), Some(MOST));
        for bad in ["", "0", "-1", "-99999999999999999999", "x"] {
            assert_eq!(limit(bad), None, "{bad}");
        }
    }

    #[test]
    fn only_a_page_with_more_behind_it_has_a_next() {
        let numbers = |n: u32| page(0..n, 3, |last| *last);
        assert_eq!(numbers(3), Page { items: vec![0, 1, 2], next: None });
        assert_eq!(numbers(4), Page { items: vec![0, 1, 2], next: Some(Cursor("2".into())) });
        assert_eq!(numbers(0), Page { items: vec![], next: None });
    }

    #[test]
    fn pages_by_key_miss_no_row_that_stays() {
        let mut rows: Vec<(u32, String)> =
            (0..9).map(|number| (number % 2, format!("\"{number}/"))).collect();
        let all = rows.clone();
        let (mut cursor, mut seen) = (None, Vec::new());
        loop {
            let query = PageQuery { limit: Some("2".to_owned()), cursor };
            let page = page_by_key(&query, rows.iter().cloned(), Clone::clone).unwrap();
            assert!(page.items.len() <= 2);
            // All that was listed goes before the next call.
            rows.retain(|row| !page.items.contains(row));
            seen.extend(page.items);
            cursor = page.next.map(|next| next.0);
            if cursor.is_none() {
                break;
            }
        }
        let mut sorted = all;
        sorted.sort();
        assert_eq!(seen, sorted);
        let bad = PageQuery { limit: None, cursor: Some("99".to_owned()) };
        assert!(page_by_key(&bad, rows.iter().cloned(), Clone::clone).is_err());
    }
}
