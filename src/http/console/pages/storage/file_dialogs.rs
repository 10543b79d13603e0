//! The dialogs before an action on files.

use reelyard_console::Viewer;
use reelyard_console::address::ROOT;
use reelyard_console::format::counted;
use reelyard_console::pages::files::FilesPageQuery;
use reelyard_console::parts::act::CommandLines;
use reelyard_console::parts::dialog::AskDialog;
use reelyard_console::text::{common, outcomes};

use crate::http::node_state::NodeHttpState;

/// The dialog that an address asks for. None without picked files.
pub fn of_query(
    state: &NodeHttpState,
    query: &FilesPageQuery,
    viewer: &Viewer,
) -> Option<AskDialog> {
    let language = viewer.language;
    let n = query.pick.len() as u64;
    if n == 0 {
        return None;
    }
    let files = counted(language, common::FILES, n);
    let values = [("files", files.as_str())];
    let (question, text, verb) = match query.ask.as_str() {
        "pin" => (outcomes::ASK_PIN, outcomes::ASK_PIN_TEXT, outcomes::VERB_PIN),
        "unpin" => (outcomes::ASK_UNPIN, outcomes::ASK_UNPIN_TEXT, outcomes::VERB_UNPIN),
        "copy" => (outcomes::ASK_COPY, outcomes::ASK_COPY_TEXT, outcomes::VERB_COPY),
        _ => return None,
    };
    let mut names = Vec::new();
    let mut unknown: u64 = 0;
    for picked in &query.pick {
        let name = percent_encoding::percent_decode_str(picked).decode_utf8_lossy().into_owned();
        unknown += u64::from(state.names.find(name.as_bytes()).is_none());
        names.push((name, String::new()));
    }
    let left_out = (unknown > 0).then(|| {
        let unknown = counted(language, common::FILES, unknown);
        outcomes::UNKNOWN_FILES.fill(language, &[("files", &unknown)])
    });
    let command = match query.ask.as_str() {
        "copy" => Vec::new(),
        word => vec!["files".to_owned(), word.to_owned()],
    };
    let named = names.iter().map(|(name, _)| name.clone());
    Some(AskDialog {
        question: question.fill(language, &values),
        consequence: text.of(language).to_owned(),
        things: n,
        left_out: left_out.into_iter().collect(),
        verb: verb.of(language).to_owned(),
        action: format!("{ROOT}/file-actions/{}", query.ask),
        values: query.pick.iter().map(|picked| ("pick".to_owned(), picked.clone())).collect(),
        reason_label: Some(outcomes::REASON.of(language).to_owned()),
        back: FilesPageQuery { ask: String::new(), ..query.clone() }.address(),
        commands: CommandLines { reelyard: commands(command, named), curl: None },
        names,
        ..AskDialog::default()
    })
}

/// The words of a command with these names; none without a command.
fn commands(mut words: Vec<String>, names: impl Iterator<Item = String>) -> Vec<String> {
    if !words.is_empty() {
        words.extend(names);
    }
    words
}
