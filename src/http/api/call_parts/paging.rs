//! Pages of lists: page size and cursor.

use std::num::{IntErrorKind, NonZeroUsize};

use reelyard_api::{Cursor, Page};
use serde::Deserialize;
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
    pub fn position<K: std::str::FromStr>(&self) -> Result<Option<K>, ProblemResponse> {
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

/// Returns a page of at most `limit` items. The items start at the requested position, and `key`
/// gives the cursor after an item.
pub fn page<T, K: std::fmt::Display>(
    items: impl IntoIterator<Item = T>,
    limit: usize,
    key: impl Fn(&T) -> K,
) -> Page<T> {
    let mut items = items.into_iter();
    let first: Vec<T> = items.by_ref().take(limit).collect();
    let next = items.next().and(first.last()).map(|last| Cursor(key(last).to_string()));
    Page { items: first, next }
}

/// Returns a page of a list that is made again for each call. The cursor is a position in it.
///
/// # Errors
/// The limit or the cursor is not valid.
pub fn page_by_position<T>(
    query: &PageQuery,
    items: impl Iterator<Item = T>,
) -> Result<Page<T>, ProblemResponse> {
    let (limit, from) = (query.limit()?, query.position::<usize>()?.unwrap_or(0));
    let mut behind = items.skip(from);
    let items: Vec<T> = behind.by_ref().take(limit).collect();
    let next = behind.next().map(|_| Cursor((from + items.len()).to_string()));
    Ok(Page { items, next })
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
    fn pages_by_position_are_together_the_whole_list() {
        let (mut cursor, mut seen) = (None, Vec::new());
        loop {
            let query = PageQuery { limit: Some("3".to_owned()), cursor };
            let page = page_by_position(&query, 0..7).unwrap();
            assert!(page.items.len() <= 3);
            seen.extend(page.items);
            cursor = page.next.map(|next| next.0);
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, (0..7).collect::<Vec<_>>());
        let behind = PageQuery { limit: None, cursor: Some("99".to_owned()) };
        assert_eq!(page_by_position(&behind, 0..7).unwrap(), Page { items: vec![], next: None });
    }
}
