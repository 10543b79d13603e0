//! The things that an action is for: the picked rows of a page, or all rows that match its filter.
//!
//! A dialog for all matching rows sends the filter and a digest of each row that it counted. The action finds the rows
//! again. It leaves out those that no longer match. If further ones match by now, nothing is done.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::join_all;
use reelyard_api::ProblemKind;
use reelyard_console::Viewer;
use reelyard_console::format::{count, counted, visible_text};
use reelyard_console::parts::act::{CommandLines, CurlCall, name_arguments};
use reelyard_console::parts::dialog::NAMES_LISTED;
use reelyard_console::text::{CountText, Text, common, outcomes};

use super::posted_form::PostedForm;
use crate::http::problem::ProblemResponse;

/// Most rows that one action is for.
pub const MOST_CHOSEN: usize = 10_000;

/// Most names in a command line of a dialog.
pub const MOST_IN_COMMAND: usize = 50;

/// Most lines of a dialog for a command or a call that takes one thing only.
pub const MOST_LINES: usize = 5;

/// Rows that are acted on at the same time: their commits share an entry of the journal.
pub const AT_ONCE: usize = 32;

/// Each row sees what the action on the row before has changed.
pub const ONE_AFTER_ANOTHER: usize = 1;

/// Field of a form with the query of the page whose matching rows are chosen.
const FILTER: &str = "filter";

/// Field of a form with the digests of the rows that the dialog counted.
const DIGEST: &str = "chosen";

/// Bytes of the digest of a row. The digests of all rows fit a form.
const DIGEST_BYTES: usize = 5;

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

/// The lines of an action on these things. One line of `reelyard` names the first [`MOST_IN_COMMAND`]. Each of the first
/// [`MOST_LINES`] has a call of `curl`.
pub fn command_lines<T>(
    things: &[T],
    words: &[&str],
    name: impl Fn(&T) -> String,
    call: impl Fn(&T) -> CurlCall,
) -> CommandLines {
    if things.is_empty() {
        return CommandLines::default();
    }
    let named: Vec<String> = things.iter().take(MOST_IN_COMMAND).map(name).collect();
    let in_reelyard = named.len();
    let words = words.iter().map(|word| (*word).to_owned());
    let curl: Vec<CurlCall> = things.iter().take(MOST_LINES).map(call).collect();
    CommandLines {
        reelyard: vec![words.chain(name_arguments(named)).collect()],
        things: things.len(),
        in_reelyard,
        in_curl: curl.len(),
        curl,
        is_local: false,
    }
}

/// The sentence about the things of an address whose dialog has nothing to act on, by their names.
pub fn gone(viewer: &Viewer, sentence: Text, names: &[String]) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let mut shown: Vec<String> =
        names.iter().take(NAMES_LISTED).map(|name| visible_text(name)).collect();
    if names.len() > NAMES_LISTED {
        let more = count((names.len() - NAMES_LISTED) as u64);
        shown.push(common::AND_MORE.fill(viewer.language, &[("n", &more)]));
    }
    Some(sentence.fill(viewer.language, &[("names", &shown.join(", "))]))
}

/// The fields that a dialog sends for all rows that match this filter.
pub fn fields(filter: String, keys: impl Iterator<Item = String>) -> Vec<(String, String)> {
    let digests: Vec<u8> = keys.flat_map(|key| digest(&key)).collect();
    vec![(FILTER.to_owned(), filter), (DIGEST.to_owned(), URL_SAFE_NO_PAD.encode(digests))]
}

/// The filter of a form whose dialog was for all matching rows.
pub fn filter_of(form: &PostedForm) -> Option<&str> {
    form.first(DIGEST)?;
    Some(form.first(FILTER).unwrap_or_default())
}

/// The number of counted rows that no longer match.
///
/// # Errors
/// The dialog did not count one of these rows.
pub fn gone_since(
    form: &PostedForm,
    keys: impl ExactSizeIterator<Item = String>,
) -> Result<u64, ProblemResponse> {
    let now = keys.len();
    let counted = URL_SAFE_NO_PAD.decode(form.first(DIGEST).unwrap_or_default());
    let counted = counted.unwrap_or_default();
    let counted: HashSet<&[u8]> = counted.chunks(DIGEST_BYTES).collect();
    let new = keys.filter(|key| !counted.contains(digest(key).as_slice())).count();
    if new > 0 {
        let detail = format!(
            "Other rows match the filter now, {now} in all. Look at the rows, and act again if you still want to."
        );
        return Err(ProblemResponse::new(ProblemKind::ChangedMeanwhile, detail));
    }
    Ok(counted.len().saturating_sub(now) as u64)
}

/// The outcome of an action, with the number of counted rows that no longer match.
pub fn with_gone(viewer: &Viewer, outcome: String, gone: u64) -> String {
    if gone == 0 {
        return outcome;
    }
    let left_out = outcomes::LEFT_OUT_GONE.fill(viewer.language, &[("n", &count(gone))]);
    format!("{}. {left_out}", outcome.trim_end_matches('.'))
}

fn digest(key: &str) -> [u8; DIGEST_BYTES] {
    let mut digest = [0; DIGEST_BYTES];
    blake3::Hasher::new().update(key.as_bytes()).finalize_xof().fill(&mut digest);
    digest
}

/// The results of an action on several things.
pub struct ActedOn<R> {
    /// The results of the things that were acted on.
    pub done: Vec<R>,
    /// The refusals that are about one thing each. They hold up no other thing.
    pub left_out: Vec<ProblemResponse>,
    /// The refusal that would meet every further thing, such as a full disk. It ended the action.
    pub stopped: Option<ProblemResponse>,
}

/// Whether a refusal is about one thing, and the next thing may be accepted.
fn is_of_one(why: &ProblemResponse) -> bool {
    let kind = why.kind();
    matches!(kind, ProblemKind::HostRefused | ProblemKind::Unreadable)
        || matches!(kind.status(), 400 | 404 | 409 | 410 | 412 | 422)
}

/// Acts on all things, `at_once` at the same time. Ends only after a refusal that is not about one thing.
pub async fn act_on_all<T, R, A>(things: Vec<T>, at_once: usize, act: impl Fn(T) -> A) -> ActedOn<R>
where
    A: Future<Output = Result<R, ProblemResponse>>,
{
    let mut all = ActedOn { done: Vec::new(), left_out: Vec::new(), stopped: None };
    let mut things = things.into_iter();
    while all.stopped.is_none() {
        let acts: Vec<A> = things.by_ref().take(at_once).map(&act).collect();
        if acts.is_empty() {
            break;
        }
        for result in join_all(acts).await {
            match result {
                Ok(result) => all.done.push(result),
                Err(why) if is_of_one(&why) => all.left_out.push(why),
                Err(why) => all.stopped = all.stopped.or(Some(why)),
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use reelyard_console::Moment;
    use reelyard_console::text::Language;

    use super::*;

    #[test]
    fn rows_beyond_the_limit_and_unsuited_ones_are_left_out() {
        let chosen = ChosenRows::of(0..2 * MOST_CHOSEN, |row| row % 4 != 0);
        assert_eq!(chosen.rows.len(), MOST_CHOSEN);
        assert_eq!((chosen.unsuited, chosen.beyond), (5000, 5000));
        assert_eq!(chosen.rows[..3], [1, 2, 3]);
    }

    #[test]
    fn things_that_are_gone_are_named() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        let of = |things: u32| {
            let names: Vec<String> = (0..things).map(|number| number.to_string()).collect();
            gone(&viewer, outcomes::GONE_TASKS, &names)
        };
        assert_eq!(of(0), None);
        assert_eq!(of(1).as_deref(), Some("Tasks that do not exist: 0"));
        let many = "Tasks that do not exist: 0, 1, 2, 3, 4, and 3 more";
        assert_eq!(of(8).as_deref(), Some(many));
    }

    #[test]
    fn lines_for_many_things_name_the_first_ones() {
        let names: Vec<String> = (0..60).map(|number| format!("{number}.mpg")).collect();
        let call =
            |name: &String| CurlCall::new("PUT", format!("/files/{name}/pin"), String::new());
        let lines = |names: &[String]| command_lines(names, &["files", "pin"], String::clone, call);
        let many = lines(&names);
        assert_eq!(many.reelyard[0].len(), 2 + MOST_IN_COMMAND);
        assert_eq!(many.reelyard[0][..4], ["files", "pin", "0.mpg", "1.mpg"]);
        assert_eq!((many.things, many.in_reelyard, many.in_curl), (60, 50, 5));
        let paths: Vec<&str> = many.curl.iter().map(|call| call.path.as_str()).collect();
        assert_eq!((paths.len(), paths[4]), (5, "/files/4.mpg/pin"));
        let few = lines(&names[..3]);
        assert_eq!((few.things, few.in_reelyard, few.in_curl, few.curl.len()), (3, 3, 3, 3));
        let dash = lines(&["-dash.mpg".to_owned()]);
        assert_eq!(dash.reelyard, [["files", "pin", "--", "-dash.mpg"]]);
        assert_eq!(lines(&[]), CommandLines::default());
    }

    #[test]
    fn rows_that_left_are_counted_and_new_ones_are_refused() {
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
        let form = PostedForm::of(fields("q=a".into(), keys(&["a", "b", "c"]).into_iter()));
        assert_eq!(filter_of(&form), Some("q=a"));
        let gone = |now: &[&str]| gone_since(&form, keys(now).into_iter()).ok();
        assert_eq!(gone(&["c", "b", "a"]), Some(0));
        assert_eq!(gone(&["b"]), Some(2));
        assert_eq!(gone(&["a", "b", "d"]), None);
        assert_eq!(gone(&["ab", "c"]), None);
    }

    #[test]
    fn only_a_refusal_about_one_thing_holds_up_no_other() {
        let on_all = |kind: ProblemKind, things: usize, at_once| {
            let act = |thing: usize| async move {
                if thing == 40 {
                    return Err(ProblemResponse::new(kind, "forty"));
                }
                Ok(thing)
            };
            let acts = act_on_all((0..things).collect(), at_once, act);
            let all = futures::executor::block_on(acts);
            (all.done.len(), all.left_out.len(), all.stopped.is_some())
        };
        for kind in [ProblemKind::NotAllowed, ProblemKind::NotFound, ProblemKind::HostRefused] {
            assert_eq!(on_all(kind, 100, AT_ONCE), (99, 1, false));
        }
        for kind in [ProblemKind::NotLeader, ProblemKind::Forbidden, ProblemKind::OutcomeUnknown] {
            assert_eq!(on_all(kind, 100, AT_ONCE), (63, 0, true));
            assert_eq!(on_all(kind, 100, ONE_AFTER_ANOTHER), (40, 0, true));
            assert_eq!(on_all(kind, 40, AT_ONCE), (40, 0, false));
        }
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
        let all = futures::executor::block_on(acts);
        assert_eq!(all.done, [0, 1, 2, 3, 4]);
    }
}
