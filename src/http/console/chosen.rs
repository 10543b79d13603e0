//! The things that an action is for: the picked rows of a page, or all rows that match its filter.
//!
//! A dialog for all matching rows sends the filter and a digest of the rows that it counted. The action finds the
//! rows again. If they are others by now, nothing is done.

use futures::future::join_all;
use reelyard_api::ProblemKind;
use reelyard_console::Viewer;
use reelyard_console::format::{count, counted};
use reelyard_console::text::{CountText, common};

use super::posted_form::PostedForm;
use crate::http::problem::ProblemResponse;

/// Most rows that one action is for.
pub const MOST_CHOSEN: usize = 10_000;

/// Most things that a row of the audit names.
const NAMED: usize = 8;

/// Most names in a command line of a dialog.
pub const MOST_IN_COMMAND: usize = 50;

/// Rows that are acted on at the same time: their commits share an entry of the journal.
pub const AT_ONCE: usize = 32;

/// Each row sees what the action on the row before has changed.
pub const ONE_AFTER_ANOTHER: usize = 1;

/// Field of a form with the query of the page whose matching rows are chosen.
const FILTER: &str = "filter";

/// Field of a form with the digest of the rows that the dialog counted.
const DIGEST: &str = "chosen";

/// The rows of a filter for one action.
pub struct ChosenRows<T> {
    /// The rows, at most [`MOST_CHOSEN`].
    pub rows: Vec<T>,
    /// Rows that match, and that the action can do nothing for.
    pub unsuited: u64,
    /// Rows beyond the limit.
    pub beyond: u64,
}

impl<T> ChosenRows<T> {
    /// The first of all rows that match and are suited for the action.
    pub fn of(matching: impl IntoIterator<Item = T>, is_suited: impl Fn(&T) -> bool) -> Self {
        let mut chosen = ChosenRows { rows: Vec::new(), unsuited: 0, beyond: 0 };
        for row in matching {
            if !is_suited(&row) {
                chosen.unsuited += 1;
            } else if chosen.rows.len() < MOST_CHOSEN {
                chosen.rows.push(row);
            } else {
                chosen.beyond += 1;
            }
        }
        chosen
    }

    /// The same rows in another form.
    pub fn map<R>(self, form: impl FnMut(T) -> R) -> ChosenRows<R> {
        let ChosenRows { rows, unsuited, beyond } = self;
        ChosenRows { rows: rows.into_iter().map(form).collect(), unsuited, beyond }
    }

    /// The sentence about rows beyond the limit.
    pub fn beyond_words(&self, viewer: &Viewer, things: CountText) -> Option<String> {
        let words = || {
            let things = counted(viewer.language, things, self.beyond);
            let values = [("most", count(MOST_CHOSEN as u64)), ("things", things)];
            let values = [("most", &*values[0].1), ("things", &*values[1].1)];
            common::LEFT_OUT_MORE.fill(viewer.language, &values)
        };
        (self.beyond > 0).then(words)
    }
}

/// The fields that a dialog sends for all rows that match this filter.
pub fn fields(filter: String, keys: impl Iterator<Item = String>) -> Vec<(String, String)> {
    vec![(FILTER.to_owned(), filter), (DIGEST.to_owned(), digest(keys))]
}

/// The filter of a form whose dialog was for all matching rows.
pub fn filter_of(form: &PostedForm) -> Option<&str> {
    form.first(DIGEST)?;
    Some(form.first(FILTER).unwrap_or_default())
}

/// The refusal if these rows are not those that the dialog counted.
pub fn changed_since(
    form: &PostedForm,
    keys: impl ExactSizeIterator<Item = String>,
) -> Option<ProblemResponse> {
    let now = keys.len();
    let is_same = form.first(DIGEST) == Some(digest(keys).as_str());
    let refusal = || {
        let detail = format!(
            "Other rows match the filter now, {now} in all. Nothing was done. Look at the rows, and act again if you \
             still want to."
        );
        ProblemResponse::new(ProblemKind::ChangedMeanwhile, detail)
    };
    (!is_same).then(refusal)
}

/// A digest of rows in any order.
fn digest(keys: impl Iterator<Item = String>) -> String {
    let mut keys: Vec<String> = keys.collect();
    keys.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    for key in &keys {
        hasher.update(&(key.len() as u64).to_le_bytes());
        hasher.update(key.as_bytes());
    }
    hasher.finalize().to_hex().chars().take(24).collect()
}

/// The first names, and the number of the others.
pub fn named<N: AsRef<str>>(names: &[N]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Acts on all things, `at_once` at the same time. Ends after the first refusal. Returns the results of the things
/// that were acted on, and the refusal.
pub async fn act_on_all<T, R, A>(
    things: Vec<T>,
    at_once: usize,
    act: impl Fn(T) -> A,
) -> (Vec<R>, Option<ProblemResponse>)
where
    A: Future<Output = Result<R, ProblemResponse>>,
{
    let (mut done, mut refused) = (Vec::new(), None);
    let mut things = things.into_iter();
    while refused.is_none() {
        let acts: Vec<A> = things.by_ref().take(at_once).map(&act).collect();
        if acts.is_empty() {
            break;
        }
        for result in join_all(acts).await {
            match result {
                Ok(result) => done.push(result),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
    }
    (done, refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_beyond_the_limit_and_unsuited_ones_are_left_out() {
        let chosen = ChosenRows::of(0..2 * MOST_CHOSEN, |row| row % 4 != 0);
        assert_eq!(chosen.rows.len(), MOST_CHOSEN);
        assert_eq!((chosen.unsuited, chosen.beyond), (5000, 5000));
        assert_eq!(chosen.rows[..3], [1, 2, 3]);
    }

    #[test]
    fn a_digest_depends_on_the_rows_and_not_on_their_order() {
        let of = |keys: &[&str]| digest(keys.iter().map(|key| (*key).to_owned()));
        assert_eq!(of(&["a", "b"]), of(&["b", "a"]));
        assert_ne!(of(&["a", "b"]), of(&["ab"]));
        assert_ne!(of(&["a"]), of(&["b"]));
    }

    #[test]
    fn many_names_are_counted() {
        let names: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        assert_eq!(named(&names), "0, 1, 2, 3, 4, 5, 6, 7 and 12 more");
        assert_eq!(named(&names[..2]), "0, 1");
    }

    #[test]
    fn an_action_ends_after_the_batch_with_a_refusal() {
        let act = |thing: usize| async move {
            if thing == 40 {
                return Err(ProblemResponse::bad_request("forty"));
            }
            Ok(thing)
        };
        let on_all = |things: usize, at_once| {
            let acts = act_on_all((0..things).collect(), at_once, act);
            let (done, refused) = futures::executor::block_on(acts);
            (done.len(), refused.is_some())
        };
        assert_eq!(on_all(100, AT_ONCE), (63, true));
        assert_eq!(on_all(100, ONE_AFTER_ANOTHER), (40, true));
        assert_eq!(on_all(40, AT_ONCE), (40, false));
    }

    #[test]
    fn each_thing_sees_the_effect_of_the_one_before() {
        let taken = std::cell::Cell::new(0);
        let act = |_: usize| async {
            let seen = taken.get();
            tokio::task::yield_now().await;
            taken.set(seen + 1);
            Ok(seen)
        };
        let acts = act_on_all((0..5).collect(), ONE_AFTER_ANOTHER, act);
        let (seen, _) = futures::executor::block_on(acts);
        assert_eq!(seen, [0, 1, 2, 3, 4]);
    }
}
