//! The dialogs before an action on files.

use reelyard_console::Viewer;
use reelyard_console::address::ROOT;
use reelyard_console::format::{bytes, counted};
use reelyard_console::pages::files::FilesPageQuery;
use reelyard_console::parts::act::{CommandLines, CurlCall};
use reelyard_console::parts::dialog::{AskDialog, NAMES_LISTED};
use reelyard_console::text::{Text, common, outcomes};
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName, NameText};
use roaring::RoaringBitmap;
use serde_json::json;

use crate::http::console::chosen::{self, ChosenRows, MOST_IN_COMMAND};
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
    let (names, values) = if query.all {
        let chosen = suited(state, query, matching());
        if chosen.unsuited > 0 {
            let files = filed(chosen.unsuited);
            left_out.push(words.left_out.fill(language, &[("files", &files)]));
        }
        left_out.extend(chosen.beyond_words(viewer, common::FILES));
        let keys = chosen.rows.iter().map(FileName::to_percent);
        let values = chosen::fields(filter(query), keys);
        (chosen.rows, values)
    } else {
        let picked = query.pick.iter().filter_map(|name| FileName::from_percent(name).ok());
        let names: Vec<FileName> = picked.collect();
        let values = names.iter().map(|name| ("pick".to_owned(), name.to_percent())).collect();
        (names, values)
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
    let sum: u64 = names.iter().filter_map(size).sum();
    let text = text.of(viewer.language);
    if sum == 0 {
        return text.to_owned();
    }
    let together = outcomes::SUM_OF_FILES.fill(viewer.language, &[("bytes", &bytes(sum))]);
    format!("{text} {together}")
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
    let pinned: RoaringBitmap =
        state.actors.remover_views.load().pins.keys().map(|file| file.0).collect();
    let done = match query.ask.as_str() {
        "pin" | "unpin" => pinned,
        _ => {
            let (placed, copied) = placed_and_copied(state);
            (placed - pinned) | copied
        }
    };
    let is_suited = |file: &FileId| done.contains(file.0) == (query.ask == "unpin");
    ChosenRows::of(matching, is_suited).map(|file| state.names.name(file))
}

/// The files on any host, and those that are being copied. A pinned file may have a further copy.
fn placed_and_copied(state: &NodeHttpState) -> (RoaringBitmap, RoaringBitmap) {
    let tasks = state.actors.task_views.load();
    let copied = tasks.open.values().filter_map(|task| state.names.find(task.name.as_bytes()));
    let placed = PlacedFiles::new(&tasks, &state.actors.heartbeat_view.load()).all;
    (placed, copied.map(|file| file.0).collect())
}

/// The same as lines of commands. A call of `curl` and a command that copies are for one file: the lines have the first.
/// A copy goes to the destination with the most room.
fn commands(state: &NodeHttpState, ask: &str, names: &[FileName]) -> CommandLines {
    let Some(first) = names.first() else { return CommandLines::default() };
    let method = match ask {
        "pin" => "PUT",
        "unpin" => "DELETE",
        _ => return copy_lines(first, roomiest(state, first)),
    };
    let named = &names[..names.len().min(MOST_IN_COMMAND)];
    let texts: Vec<NameText> = named.iter().map(FileName::to_text).collect();
    // The flag is for all names.
    let are_encoded = texts.iter().any(|text| text.percent_encoded);
    let shown: Vec<String> = match are_encoded {
        true => named.iter().map(FileName::to_percent).collect(),
        false => texts.into_iter().map(|text| text.name).collect(),
    };
    let flag = are_encoded.then(|| "--percent-encoded".to_owned());
    let path = format!("/files/{}/pin", first.to_percent());
    CommandLines {
        reelyard: ["files", ask].map(str::to_owned).into_iter().chain(shown).chain(flag).collect(),
        curl: Some(CurlCall { method: method.to_owned(), path, ..CurlCall::default() }),
    }
}

fn copy_lines(name: &FileName, to: Option<HostAddr>) -> CommandLines {
    let to = to.map_or("10.0.0.21:8888".to_owned(), |host| host.to_string());
    let NameText { name, percent_encoded } = name.to_text();
    let mut body = json!({ "name": name, "destination": to });
    let mut words = vec!["files", "copy", &name, "--to", &to];
    if percent_encoded {
        body["percent_encoded"] = json!(true);
        words.push("--percent-encoded");
    }
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
