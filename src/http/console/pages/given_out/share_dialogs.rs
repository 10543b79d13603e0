//! The dialogs before an action on links, and the command lines of a new link.

use reelyard_api::WantedShare;
use reelyard_console::Viewer;
use reelyard_console::address::ROOT;
use reelyard_console::format::counted;
use reelyard_console::pages::shares::{NewLink, ShareCondition, ShareLine, SharesPageQuery};
use reelyard_console::parts::act::{CommandLines, CurlCall};
use reelyard_console::parts::dialog::{AskDialog, AskField};
use reelyard_console::text::{common, outcomes, shares};
use serde_json::json;

use crate::http::console::chosen::{self, ChosenRows, MOST_IN_COMMAND};

/// The dialog of an action on these links, by its word in an address. None for an unknown word, and without
/// links that work. `back` is the page without the dialog.
pub fn of_word(word: &str, lines: &[ShareLine], back: &str, viewer: &Viewer) -> Option<AskDialog> {
    let language = viewer.language;
    let is_working = |line: &&ShareLine| line.condition == ShareCondition::Works;
    let working: Vec<&ShareLine> = lines.iter().filter(is_working).collect();
    let (n, ended) = (working.len() as u64, lines.len() - working.len());
    if n == 0 {
        return None;
    }
    let links = counted(language, common::LINKS, n);
    let mut left_out = Vec::new();
    if ended > 0 {
        let ended = counted(language, common::LINKS, ended as u64);
        left_out.push(outcomes::LEFT_OUT_ENDED.fill(language, &[("links", &ended)]));
    }
    let dialog = AskDialog {
        names: working.iter().map(|line| (line.path.clone(), line.owner.clone())).collect(),
        things: n,
        left_out,
        action: format!("{ROOT}/share-actions/{word}"),
        values: working.iter().map(|line| ("pick".to_owned(), line.id.clone())).collect(),
        reason_label: Some(outcomes::REASON.of(language).to_owned()),
        back: back.to_owned(),
        commands: commands(word, &working),
        ..AskDialog::default()
    };
    match word {
        "revoke" => Some(AskDialog {
            question: counted(language, shares::ASK_REVOKE, n),
            consequence: shares::ASK_REVOKE_TEXT.of(language).to_owned(),
            is_final: true,
            verb: outcomes::VERB_REVOKE_LINKS.fill(language, &[("links", &links)]),
            ..dialog
        }),
        "extend" => Some(AskDialog {
            question: outcomes::ASK_EXTEND.fill(language, &[("links", &links)]),
            consequence: outcomes::ASK_EXTEND_TEXT.of(language).to_owned(),
            fields: vec![AskField {
                label: outcomes::EXTEND_BY.of(language).to_owned(),
                name: "ttl".to_owned(),
                value: "7d".to_owned(),
                is_needed: true,
                ..AskField::default()
            }],
            verb: outcomes::VERB_EXTEND.fill(language, &[("links", &links)]),
            ..dialog
        }),
        _ => None,
    }
}

/// The dialog of the action of a page on all links that match its filter.
pub fn of_matching(
    query: &SharesPageQuery,
    chosen: ChosenRows<ShareLine>,
    back: &str,
    viewer: &Viewer,
) -> Option<AskDialog> {
    let dialog = of_word(&query.ask, &chosen.rows, back, viewer)?;
    let mut left_out = Vec::new();
    if chosen.unsuited > 0 {
        let links = counted(viewer.language, common::LINKS, chosen.unsuited);
        left_out.push(outcomes::LEFT_OUT_ENDED.fill(viewer.language, &[("links", &links)]));
    }
    left_out.extend(chosen.beyond_words(viewer, common::LINKS));
    let filter = SharesPageQuery { pick: Vec::new(), after: String::new(), ..query.clone() };
    let keys = chosen.rows.iter().map(|line| line.id.clone());
    Some(AskDialog { values: chosen::fields(filter.pairs().print(), keys), left_out, ..dialog })
}

/// The same as lines of commands. An extension is one call for each link; the lines have the first.
fn commands(word: &str, lines: &[&ShareLine]) -> CommandLines {
    let ids = lines.iter().take(MOST_IN_COMMAND);
    let ids: Vec<String> = ids.map(|line| line.id.clone()).collect();
    let Some(first) = ids.first() else { return CommandLines::default() };
    if word == "extend" {
        let words = ["share", "extend", first, "--ttl", "7d"].map(str::to_owned);
        return CommandLines {
            reelyard: words.to_vec(),
            curl: Some(CurlCall {
                method: "PATCH".to_owned(),
                path: format!("/shares/{first}"),
                body: json!({ "ttl": "7d", "if": "greater" }).to_string(),
            }),
        };
    }
    let words = ["share", "revoke", "--hard", "--"].map(str::to_owned);
    CommandLines {
        curl: Some(CurlCall {
            method: "POST".to_owned(),
            path: "/shares/revoke".to_owned(),
            body: json!({ "ids": ids, "hard": true }).to_string(),
        }),
        reelyard: words.into_iter().chain(ids).collect(),
    }
}

/// The command lines that create the link of this form. The password is left out.
pub fn create_commands(link: &NewLink) -> CommandLines {
    let path = if link.path.is_empty() { "movies/new/a.mpg" } else { &link.path };
    let ttl = if link.ttl.is_empty() { "7d" } else { &link.ttl };
    let words = ["share", "create", path, "--ttl", ttl].map(str::to_owned);
    let wanted =
        WantedShare { path: path.to_owned(), ttl: ttl.parse().ok(), ..WantedShare::default() };
    // Plain data always serializes.
    let body = serde_json::to_string(&wanted).unwrap_or_default();
    CommandLines {
        reelyard: words.to_vec(),
        curl: Some(CurlCall { method: "POST".to_owned(), path: "/shares".to_owned(), body }),
    }
}
