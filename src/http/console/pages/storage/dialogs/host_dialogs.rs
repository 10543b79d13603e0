//! The dialogs before an action on hosts.

use reelyard_console::Viewer;
use reelyard_console::address::{ROOT, encoded};
use reelyard_console::format::{count, counted};
use reelyard_console::pages::hosts::{HostLine, HostsPageQuery};
use reelyard_console::parts::act::{CommandLines, CurlCall};
use reelyard_console::parts::dialog::{AskDialog, NAMES_LISTED};
use reelyard_console::text::{common, hosts as words, outcomes};

use crate::http::console::changed_meanwhile::SEEN;
use crate::http::console::chosen::{self, ChosenRows};

/// The words of the actions in addresses.
pub const WORDS: [&str; 7] =
    ["drain", "maintenance", "remove", "active", "reset", "probe", "adopt"];

/// The dialog of an action on these hosts, by its word in an address. None for an unknown word, and without hosts.
/// `back` is the page without the dialog.
pub fn of_word(word: &str, lines: &[HostLine], back: &str, viewer: &Viewer) -> Option<AskDialog> {
    if lines.is_empty() { None } else { dialog(word, lines, back, viewer) }
}

fn dialog(word: &str, lines: &[HostLine], back: &str, viewer: &Viewer) -> Option<AskDialog> {
    let language = viewer.language;
    let n = lines.len() as u64;
    let hosts = counted(language, common::HOSTS, n);
    let asks = |question| counted(language, question, n);
    let (question, text, verb, mode) = match word {
        "drain" => (asks(words::ASK_DRAIN), words::ASK_DRAIN_TEXT, words::VERB_DRAIN, "draining"),
        "maintenance" => (
            asks(words::ASK_MAINTAIN),
            words::ASK_MAINTAIN_TEXT,
            words::VERB_MAINTAIN,
            "maintenance",
        ),
        "remove" => (asks(words::ASK_REMOVE), words::ASK_REMOVE_TEXT, words::VERB_REMOVE, ""),
        "active" => {
            let question = outcomes::ASK_ACTIVATE.fill(language, &[("hosts", &hosts)]);
            (question, outcomes::ASK_ACTIVATE_TEXT, outcomes::VERB_ACTIVATE, "active")
        }
        "reset" => {
            let question = outcomes::ASK_TRUST.fill(language, &[("hosts", &hosts)]);
            (question, outcomes::ASK_TRUST_TEXT, outcomes::VERB_TRUST, "")
        }
        "probe" => {
            let question = outcomes::ASK_PROBE.fill(language, &[("hosts", &hosts)]);
            (question, outcomes::ASK_PROBE_TEXT, outcomes::VERB_PROBE, "")
        }
        "adopt" => {
            let question = outcomes::ASK_ADOPT.of(language).to_owned();
            (question, outcomes::ASK_ADOPT_TEXT, outcomes::VERB_ADOPT, "")
        }
        _ => return None,
    };
    let remark = |line: &HostLine| {
        let files = line.files.map(|files| counted(language, common::FILES, files));
        files.unwrap_or_default()
    };
    let together = together(lines, viewer);
    Some(AskDialog {
        question,
        consequence: format!("{} {together}", text.of(language)).trim_end().to_owned(),
        names: lines
            .iter()
            .take(NAMES_LISTED)
            .map(|line| (line.host.clone(), remark(line)))
            .collect(),
        things: n,
        only_there: None,
        left_out: Vec::new(),
        warning: None,
        refused: None,
        is_final: word == "remove",
        verb: verb.fill(language, &[("hosts", &hosts)]),
        action: format!("{ROOT}/host-actions/{word}"),
        values: lines.iter().flat_map(values).collect(),
        fields: Vec::new(),
        follow: None,
        reason_label: Some(outcomes::REASON.of(language).to_owned()),
        back: back.to_owned(),
        commands: commands(word, mode, lines),
    })
}

/// The files of several hosts together, and of how many they are not known. Empty if nothing is known.
fn together(lines: &[HostLine], viewer: &Viewer) -> String {
    let known: Vec<u64> = lines.iter().filter_map(|line| line.files).collect();
    let held: u64 = known.iter().sum();
    if lines.len() < 2 || held == 0 {
        return String::new();
    }
    let files = counted(viewer.language, common::FILES, held);
    match (lines.len() - known.len()) as u64 {
        0 => outcomes::SUM_OF_HOSTS.fill(viewer.language, &[("files", &files)]),
        unknown => {
            let values = [("files", files.as_str()), ("n", &count(unknown))];
            outcomes::HELD_AT_LEAST.fill(viewer.language, &values)
        }
    }
}

/// The dialog of the action of a page on the picked hosts, or on all that match its filter.
pub fn of_chosen(
    query: &HostsPageQuery,
    chosen: ChosenRows<HostLine>,
    back: &str,
    viewer: &Viewer,
) -> Option<AskDialog> {
    if chosen.rows.is_empty() && chosen.unsuited == 0 {
        return None;
    }
    let dialog = dialog(&query.ask, &chosen.rows, back, viewer)?;
    let mut left_out = Vec::new();
    if chosen.unsuited > 0 {
        let hosts = counted(viewer.language, common::HOSTS, chosen.unsuited);
        left_out.push(outcomes::LEFT_OUT_MODE.fill(viewer.language, &[("hosts", &hosts)]));
    }
    left_out.extend(chosen.beyond_words(viewer, common::HOSTS));
    if !query.all {
        return Some(AskDialog { left_out, ..dialog });
    }
    let filter = HostsPageQuery {
        pick: Vec::new(),
        after: String::new(),
        why: String::new(),
        ..query.clone()
    };
    let keys = chosen.rows.iter().map(key);
    Some(AskDialog { values: chosen::fields(filter.pairs().print(), keys), left_out, ..dialog })
}

/// A host with the mode that the page showed: another mode is another row.
pub fn key(line: &HostLine) -> String {
    format!("{} {}", line.host, line.mode.word())
}

/// The host, and the mode that the page showed.
fn values(line: &HostLine) -> [(String, String); 2] {
    [("pick".to_owned(), line.host.clone()), (SEEN.to_owned(), key(line))]
}

/// The same as lines of commands. `curl` makes one call for each host.
fn commands(word: &str, mode: &str, lines: &[HostLine]) -> CommandLines {
    let command = match word {
        "active" => "activate",
        "maintenance" => "maintain",
        word => word,
    };
    let call = |line: &HostLine| {
        let host = encoded(&line.host);
        let (method, path, body) = match word {
            "remove" => ("DELETE", format!("/hosts/{host}"), String::new()),
            "adopt" | "reset" | "probe" => ("POST", format!("/hosts/{host}/{word}"), String::new()),
            _ => ("PUT", format!("/hosts/{host}/mode"), format!("{{\"mode\":\"{mode}\"}}")),
        };
        CurlCall::new(method, path, body)
    };
    chosen::command_lines(lines, &["hosts", command], |line| line.host.clone(), call)
}
