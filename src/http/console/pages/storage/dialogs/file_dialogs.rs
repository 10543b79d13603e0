//! The dialogs before an action on files.

use reelyard_console::Viewer;
use reelyard_console::address::ROOT;
use reelyard_console::format::{bytes, count, counted};
use reelyard_console::pages::files::FilesPageQuery;
use reelyard_console::parts::act::{CommandLines, CurlCall, name_arguments};
use reelyard_console::parts::dialog::{AskDialog, NAMES_LISTED};
use reelyard_console::text::{Text, common, outcomes};
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName, NameText};
use roaring::RoaringBitmap;
use serde_json::json;

use crate::http::console::chosen::{self, ChosenRows, MOST_IN_COMMAND, MOST_LINES};
use crate::http::node_state::NodeHttpState;
use crate::http::overview::PlacedFiles;

/// Texts that differ from action to action.
struct DialogWords {
    question: Text,
    text: Text,
    verb: Text,
    left_out: Text,
}

fn words(ask: &str) -> Option<DialogWords> {
    Some(match ask {
        "pin" => DialogWords {
            question: outcomes::ASK_PIN,
            text: outcomes::ASK_PIN_TEXT,
            verb: outcomes::VERB_PIN,
            left_out: outcomes::LEFT_OUT_PINNED,
        },
        "unpin" => DialogWords {
            question: outcomes::ASK_UNPIN,
            text: outcomes::ASK_UNPIN_TEXT,
            verb: outcomes::VERB_UNPIN,
            left_out: outcomes::LEFT_OUT_UNPINNED,
        },
        "copy" => DialogWords {
            question: outcomes::ASK_COPY,
            text: outcomes::ASK_COPY_TEXT,
            verb: outcomes::VERB_COPY,
            left_out: outcomes::LEFT_OUT_PLACED,
        },
        "pin_copy" => DialogWords {
            question: outcomes::ASK_PIN_COPY,
            text: outcomes::ASK_PIN_COPY_TEXT,
            verb: outcomes::VERB_PIN_COPY,
            left_out: outcomes::LEFT_OUT_PLACED,
        },
        _ => return None,
    })
}

/// The dialog that an address asks for. None without chosen files.
///
/// `matching` gives all files of the filter of the page. It is called only if the address chooses them.
pub fn of_query(
    state: &NodeHttpState,
    query: &FilesPageQuery,
    viewer: &Viewer,
    matching: impl FnOnce() -> Vec<FileId>,
) -> Option<AskDialog> {
    let language = viewer.language;
    let words = words(&query.ask)?;
    let filed = |files: u64| counted(language, common::FILES, files);
    let mut left_out = Vec::new();
    let chosen = match query.all {
        true => suited(state, query, matching()),
        false => suited_picks(state, query),
    };
    if chosen.unsuited > 0 {
        let files = filed(chosen.unsuited);
        left_out.push(words.left_out.fill(language, &[("files", &files)]));
    }
    left_out.extend(chosen.beyond_words(viewer, common::FILES));
    let mut unreadable = query.pick.clone();
    unreadable.retain(|name| !query.all && FileName::from_percent(name).is_err());
    left_out.extend(chosen::gone(viewer, outcomes::NO_FILE_NAMES, &unreadable));
    let names = chosen.rows;
    let keys = names.iter().map(FileName::to_percent);
    let values = match query.all {
        true => chosen::fields(filter(query), keys),
        false => keys.map(|key| ("pick".to_owned(), key)).collect(),
    };
    let n = names.len() as u64;
    if n == 0 && left_out.is_empty() {
        return None;
    }
    let unknown = names.iter().filter(|name| state.names.find(name.as_bytes()).is_none()).count();
    if unknown > 0 {
        let files = filed(unknown as u64);
        left_out.push(outcomes::UNKNOWN_FILES.fill(language, &[("files", &files)]));
    }
    let shown = |name: &FileName| name.to_text().name;
    let listed = names.iter().take(NAMES_LISTED).map(|name| (shown(name), size(state, name)));
    Some(AskDialog {
        question: words.question.fill(language, &[("files", &filed(n))]),
        consequence: consequence(state, words.text, &names, viewer),
        names: listed.collect(),
        things: n,
        left_out,
        verb: words.verb.of(language).to_owned(),
        action: format!("{ROOT}/file-actions/{}", query.ask),
        values,
        reason_label: Some(outcomes::REASON.of(language).to_owned()),
        back: FilesPageQuery { ask: String::new(), ..query.clone() }.address(),
        commands: commands(state, &query.ask, &names),
        ..AskDialog::default()
    })
}

/// The effect, and the size of all files together.
fn consequence(state: &NodeHttpState, text: Text, names: &[FileName], viewer: &Viewer) -> String {
    let sizes = &state.actors.catalog_view.load().master_sizes;
    let size = |name: &FileName| sizes.get(state.names.find(name.as_bytes())?);
    let known: Vec<u64> = names.iter().filter_map(size).collect();
    let text = text.of(viewer.language);
    let together = together(known.iter().sum(), names.len() - known.len(), viewer);
    format!("{text} {together}").trim_end().to_owned()
}

/// The sum of the known sizes, and how many are not known. Empty if nothing is known.
fn together(sum: u64, unknown: usize, viewer: &Viewer) -> String {
    let (bytes, n) = (bytes(sum), count(unknown as u64));
    match (sum, unknown) {
        (0, _) => String::new(),
        (_, 0) => outcomes::SUM_OF_FILES.fill(viewer.language, &[("bytes", &bytes)]),
        _ => outcomes::SUM_AT_LEAST.fill(viewer.language, &[("bytes", &bytes), ("n", &n)]),
    }
}

fn size(state: &NodeHttpState, name: &FileName) -> String {
    let file = state.names.find(name.as_bytes());
    let size = file.and_then(|file| state.actors.catalog_view.load().master_sizes.get(file));
    size.map(bytes).unwrap_or_default()
}

/// The state of the page that finds the files of a dialog again.
fn filter(query: &FilesPageQuery) -> String {
    let filter = FilesPageQuery {
        pick: Vec::new(),
        after: String::new(),
        why: String::new(),
        ..query.clone()
    };
    filter.pairs().print()
}

/// The files among these for which the action of the page can do something.
pub fn suited(
    state: &NodeHttpState,
    query: &FilesPageQuery,
    matching: Vec<FileId>,
) -> ChosenRows<FileName> {
    let done = done(state, &query.ask);
    let is_suited = |file: &FileId| done.contains(file.0) == (query.ask == "unpin");
    ChosenRows::of(matching, is_suited).map(|file| state.names.name(file))
}

/// The same among the picked files. A file that the node does not know stays: the action says why it is refused.
fn suited_picks(state: &NodeHttpState, query: &FilesPageQuery) -> ChosenRows<FileName> {
    let done = done(state, &query.ask);
    let is_suited = |name: &FileName| match state.names.find(name.as_bytes()) {
        Some(file) => done.contains(file.0) == (query.ask == "unpin"),
        None => true,
    };
    let picked = query.pick.iter().filter_map(|name| FileName::from_percent(name).ok());
    ChosenRows::of(picked, is_suited)
}

/// The pinned files, or for a copy the files that the node does not copy.
fn done(state: &NodeHttpState, ask: &str) -> RoaringBitmap {
    let pins = &state.actors.remover_views.load().pins;
    let pinned: RoaringBitmap = pins.keys().map(|file| file.0).collect();
    if matches!(ask, "pin" | "unpin") {
        return pinned;
    }
    let (placed, copied) = placed_and_copied(state);
    match ask {
        // The pin comes first, and a pinned file may have a further copy.
        "pin_copy" => copied,
        _ => (placed - pinned) | copied,
    }
}

/// The files on any host, and those that are being copied.
fn placed_and_copied(state: &NodeHttpState) -> (RoaringBitmap, RoaringBitmap) {
    let tasks = state.actors.task_views.load();
    let copied = tasks.open.values().filter_map(|task| state.names.find(task.name.as_bytes()));
    let placed = PlacedFiles::new(&tasks, &state.actors.heartbeat_view.load()).all;
    (placed, copied.map(|file| file.0).collect())
}

/// The same as lines of commands. A call of `curl` and a command that copies are for one file each.
fn commands(state: &NodeHttpState, ask: &str, names: &[FileName]) -> CommandLines {
    if matches!(ask, "pin" | "unpin") {
        return pin_lines(ask, names);
    }
    let shown = &names[..names.len().min(MOST_LINES)];
    let mut lines = match ask {
        // The node copies a held file only if it is pinned.
        "pin_copy" => pin_lines("pin", shown),
        _ => CommandLines::default(),
    };
    for name in shown {
        let copy = copy_lines(name, roomiest(state, name));
        lines.reelyard.extend(copy.reelyard);
        lines.curl.extend(copy.curl);
    }
    CommandLines { things: names.len(), in_reelyard: shown.len(), in_curl: shown.len(), ..lines }
}

fn pin_lines(ask: &str, names: &[FileName]) -> CommandLines {
    // The flag is for all names.
    let mut named = names.iter().take(MOST_IN_COMMAND);
    let are_encoded = named.any(|name| name.to_text().percent_encoded);
    let words: &[&str] = match are_encoded {
        true => &["files", ask, "--percent-encoded"],
        false => &["files", ask],
    };
    let shown = |name: &FileName| match are_encoded {
        true => name.to_percent(),
        false => name.to_text().name,
    };
    let method = if ask == "pin" { "PUT" } else { "DELETE" };
    let call = |name: &FileName| {
        CurlCall::new(method, format!("/files/{}/pin", name.to_percent()), String::new())
    };
    chosen::command_lines(names, words, shown, call)
}

/// The lines that copy one file to the destination with the most room.
fn copy_lines(name: &FileName, to: Option<HostAddr>) -> CommandLines {
    let to = to.map_or("10.0.0.21:8888".to_owned(), |host| host.to_string());
    let NameText { name, percent_encoded } = name.to_text();
    let mut body = json!({ "name": name, "destination": to });
    let mut words = vec!["files", "copy", "--to", &to];
    if percent_encoded {
        body["percent_encoded"] = json!(true);
        words.push("--percent-encoded");
    }
    let arguments = name_arguments(vec![name]);
    words.extend(arguments.iter().map(String::as_str));
    CommandLines::new(&words, ("POST", "/tasks", &body.to_string()))
}

/// The destination with the most room that takes copies and does not hold the file. None if no room is known.
fn roomiest(state: &NodeHttpState, name: &FileName) -> Option<HostAddr> {
    let tasks = state.actors.task_views.load();
    let file = state.names.find(name.as_bytes());
    let holds = |host: &HostAddr| {
        let held = tasks.placements.get(host);
        held.zip(file).is_some_and(|(held, file)| held.contains(file.0))
    };
    let takes = tasks.hosts.iter().filter(|host| host.role.is_destination() && !holds(&host.host));
    let takes = takes.filter(|host| host.record.takes_copies() && host.room.is_some());
    takes.max_by_key(|host| host.room).map(|host| host.host)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use reelyard_console::Moment;
    use reelyard_console::text::Language;

    use super::*;

    #[test]
    fn a_sum_says_which_sizes_are_not_known() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        assert_eq!(together(2 << 20, 0, &viewer), "Together they have 2.0 MiB.");
        let part = "Together they have at least 2.0 MiB. Sizes that are not known: 5.";
        assert_eq!(together(2 << 20, 5, &viewer), part);
        assert_eq!(together(0, 5, &viewer), "");
    }

    fn names(texts: &[&[u8]]) -> Vec<FileName> {
        texts.iter().map(|text| FileName::new(*text).unwrap()).collect()
    }

    #[test]
    fn a_name_that_begins_with_a_dash_is_no_option() {
        let line = |texts: &[&[u8]]| pin_lines("pin", &names(texts)).reelyard[0].join(" ");
        assert_eq!(line(&[b"a.mpg"]), "files pin a.mpg");
        assert_eq!(line(&[b"a.mpg", b"-dash.mpg"]), "files pin -- a.mpg -dash.mpg");
        let encoded = line(&[b"-dash.mpg", b"\xff.mpg"]);
        assert_eq!(encoded, "files pin --percent-encoded -- -dash.mpg %FF.mpg");
        let copy = |text: &[u8]| copy_lines(&names(&[text])[0], None).reelyard[0].join(" ");
        assert_eq!(copy(b"a.mpg"), "files copy --to 10.0.0.21:8888 a.mpg");
        assert_eq!(copy(b"-dash.mpg"), "files copy --to 10.0.0.21:8888 -- -dash.mpg");
        for line in [line(&[b"-dash.mpg"]), copy(b"-dash.mpg")] {
            let words: Vec<&str> = ["reelyard"].into_iter().chain(line.split(' ')).collect();
            assert!(crate::cli::command().try_get_matches_from(words).is_ok(), "{line}");
        }
    }

    #[test]
    fn a_call_is_shown_for_each_of_the_first_files() {
        let texts: Vec<String> = (0..7).map(|number| format!("{number}.mpg")).collect();
        let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        let lines = pin_lines("unpin", &names(&texts));
        assert_eq!((lines.things, lines.in_reelyard, lines.in_curl), (7, 7, 5));
        assert_eq!(
            (lines.curl[4].method.as_str(), lines.curl[4].path.as_str()),
            ("DELETE", "/files/4.mpg/pin")
        );
    }
}
