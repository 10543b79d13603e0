//! The dialogs before an action on links, and the command lines of a new link.

use std::time::Duration;

use reelyard_console::Viewer;
use reelyard_console::address::ROOT;
use reelyard_console::format::{counted, day_and_time, visible_text};
use reelyard_console::pages::shares::{NewLink, ShareCondition, ShareLine, SharesPageQuery};
use reelyard_console::parts::act::{CommandLines, CurlCall};
use reelyard_console::parts::dialog::{AskDialog, AskField, NAMES_LISTED};
use reelyard_console::text::{common, outcomes, shares};
use serde_json::json;

use crate::http::console::chosen::{self, ChosenRows, MOST_IN_COMMAND, MOST_LINES};

/// The lifetime that an extension begins with.
const EXTENDED_BY: &str = "7d";

/// The dialog of the action of the page on these links. None for an unknown word, and without
/// links that work. `back` is the page without the dialog.
pub fn of_word(
    query: &SharesPageQuery,
    lines: &[ShareLine],
    back: &str,
    viewer: &Viewer,
) -> Option<AskDialog> {
    let (language, word) = (viewer.language, query.ask.as_str());
    let ttl = if query.ttl.is_empty() { EXTENDED_BY } else { query.ttl.as_str() };
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
        names: working.iter().take(NAMES_LISTED).map(|line| named(line, viewer)).collect(),
        things: n,
        left_out,
        action: format!("{ROOT}/share-actions/{word}"),
        values: working.iter().map(|line| ("pick".to_owned(), line.id.clone())).collect(),
        reason_label: Some(outcomes::REASON.of(language).to_owned()),
        back: back.to_owned(),
        commands: commands(word, ttl, &working),
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
                value: ttl.to_owned(),
                is_needed: true,
                ..AskField::default()
            }],
            follow: Some(format!(
                "{}&",
                SharesPageQuery { ttl: String::new(), ..query.clone() }.address()
            )),
            verb: outcomes::VERB_EXTEND.fill(language, &[("links", &links)]),
            ..dialog
        }),
        _ => None,
    }
}

/// The path of a link, with its end and its owner: several links may lead to one path.
fn named(line: &ShareLine, viewer: &Viewer) -> (String, String) {
    let mut remark = match line.ends {
        Some(ends) => shares::ENDS_AT.fill(viewer.language, &[("at", &day_and_time(viewer, ends))]),
        None => shares::NEVER_ENDS.of(viewer.language).to_owned(),
    };
    if !line.owner.is_empty() {
        remark.push_str(&format!(" · {}", visible_text(&line.owner)));
    }
    (line.path.clone(), remark)
}

/// The dialog of the action of a page on all links that match its filter.
pub fn of_matching(
    query: &SharesPageQuery,
    chosen: ChosenRows<ShareLine>,
    back: &str,
    viewer: &Viewer,
) -> Option<AskDialog> {
    let dialog = of_word(query, &chosen.rows, back, viewer)?;
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

/// The same as lines of commands. An extension is one line for each link.
fn commands(word: &str, ttl: &str, lines: &[&ShareLine]) -> CommandLines {
    if word == "extend" {
        return extend_lines(ttl, lines);
    }
    let ids: Vec<&str> = lines.iter().take(MOST_IN_COMMAND).map(|line| line.id.as_str()).collect();
    let words = [&["share", "revoke", "--hard", "--"], &*ids].concat();
    let body = json!({ "ids": ids, "hard": true }).to_string();
    CommandLines {
        things: lines.len(),
        in_reelyard: ids.len(),
        in_curl: ids.len(),
        ..CommandLines::new(&words, ("POST", "/shares/revoke", &body))
    }
}

fn extend_lines(ttl: &str, lines: &[&ShareLine]) -> CommandLines {
    let shown = &lines[..lines.len().min(MOST_LINES)];
    let words = |line: &&ShareLine| ["share", "extend", &line.id, "--ttl", ttl].map(str::to_owned);
    let body = json!({ "ttl": ttl, "if": "greater" }).to_string();
    let call =
        |line: &&ShareLine| CurlCall::new("PATCH", format!("/shares/{}", line.id), body.clone());
    CommandLines {
        reelyard: shown.iter().map(|line| words(line).to_vec()).collect(),
        curl: shown.iter().map(call).collect(),
        things: lines.len(),
        in_reelyard: shown.len(),
        in_curl: shown.len(),
        is_local: false,
    }
}

/// The values of the form of a new link, from its fields: those of an address, or of the form that was sent.
/// `default_ttl` is the lifetime of a link that sets none.
pub fn link_of(default_ttl: Duration, typed: &dyn Fn(&str) -> Option<String>) -> NewLink {
    let given = |name: &str| typed(name).unwrap_or_default();
    let link = NewLink {
        request_id: format!("{:032x}", fastrand::u128(..)),
        path: given("path"),
        // The field replaces the choice above it.
        ttl: typed("ttl").or_else(|| typed("preset")).unwrap_or_default(),
        default_seconds: default_ttl.as_secs(),
        most: given("max_downloads"),
        owner: given("owner"),
        note: given("note"),
        has_password: typed("password").is_some(),
        ..NewLink::default()
    };
    NewLink { commands: create_commands(&link), ..link }
}

/// The command lines that create the link of this form. The command asks for the password; `curl` has a word in its
/// place.
fn create_commands(link: &NewLink) -> CommandLines {
    let path = if link.path.is_empty() { "movies/new/a.mpg" } else { &link.path };
    let mut words = ["share", "create", path].map(str::to_owned).to_vec();
    let mut body = json!({ "path": path });
    let ttl = link.ttl.trim();
    if !ttl.is_empty() {
        words.extend(["--ttl", ttl].map(str::to_owned));
        body["ttl"] = json!(ttl);
    }
    if link.has_password {
        words.push("--password".to_owned());
        body["password"] = json!("PASSWORD");
    }
    let most = link.most.trim();
    if !most.is_empty() {
        words.push(format!("--max-downloads={most}"));
        body["max_downloads"] =
            most.parse::<u32>().map_or_else(|_| json!(most), |most| json!(most));
    }
    for (name, value) in [("owner", &link.owner), ("note", &link.note)] {
        if !value.is_empty() {
            words.push(format!("--{name}={value}"));
            body[name] = json!(value);
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    CommandLines::new(&words, ("POST", "/shares", &body.to_string()))
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use reelyard_console::Moment;
    use reelyard_console::text::Language;

    use super::*;

    fn lines(fields: &[(&str, &str)]) -> (String, String) {
        let typed = |name: &str| {
            let found = fields.iter().find(|(field, _)| *field == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let commands = link_of(Duration::ZERO, &typed).commands;
        (commands.reelyard[0].join(" "), commands.curl[0].body.clone())
    }

    #[test]
    fn links_of_one_path_differ_by_end_and_owner() {
        let mut viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        let mut line = ShareLine { path: "movies/a b.mpg".to_owned(), ..ShareLine::default() };
        let remark = |viewer: &Viewer, line: &ShareLine| named(line, viewer).1;
        assert_eq!(remark(&viewer, &line), "without end");
        line.ends = Some(Moment(86_400_000));
        assert_eq!(remark(&viewer, &line), "ends Fri 2 Jan 00:00");
        line.owner = "press".to_owned();
        assert_eq!(remark(&viewer, &line), "ends Fri 2 Jan 00:00 · press");
        viewer.language = Language::Korean;
        assert!(remark(&viewer, &line).starts_with("만료 "));
        let query = SharesPageQuery { ask: "revoke".to_owned(), ..SharesPageQuery::default() };
        let ask = of_word(&query, &vec![line; 25], "", &viewer).unwrap();
        assert_eq!((ask.names.len(), ask.things), (NAMES_LISTED, 25));
    }

    #[test]
    fn links_are_extended_line_by_line_and_revoked_together() {
        let line = |number: u32| ShareLine { id: format!("id{number}"), ..ShareLine::default() };
        let all: Vec<ShareLine> = (0..60).map(line).collect();
        let all: Vec<&ShareLine> = all.iter().collect();
        let extended = commands("extend", "7d", &all);
        assert_eq!(extended.reelyard[4], ["share", "extend", "id4", "--ttl", "7d"]);
        assert_eq!((extended.reelyard.len(), extended.curl.len()), (5, 5));
        assert_eq!((extended.things, extended.in_reelyard, extended.in_curl), (60, 5, 5));
        let revoked = commands("revoke", "", &all);
        assert_eq!((revoked.reelyard.len(), revoked.reelyard[0].len()), (1, 4 + 50));
        assert_eq!((revoked.things, revoked.in_reelyard, revoked.in_curl), (60, 50, 50));
        assert!(
            revoked.curl[0].body.contains("\"id49\"") && !revoked.curl[0].body.contains("id50")
        );
    }

    #[test]
    fn the_lines_of_a_new_link_follow_every_field() {
        let (line, body) = lines(&[("path", "movies/a.mpg")]);
        assert_eq!(
            (line.as_str(), body.as_str()),
            ("share create movies/a.mpg", r#"{"path":"movies/a.mpg"}"#)
        );
        let (line, body) = lines(&[("path", "movies/a.mpg"), ("preset", "1d")]);
        assert_eq!(line, "share create movies/a.mpg --ttl 1d");
        assert_eq!(body, r#"{"path":"movies/a.mpg","ttl":"1d"}"#);
        let all = [
            ("path", "movies/a.mpg"),
            ("preset", "1d"),
            ("ttl", "90m"),
            ("max_downloads", " 3"),
            ("owner", "press"),
            ("note", "-x y"),
            ("password", "true"),
        ];
        let (line, body) = lines(&all);
        let options = "--ttl 90m --password --max-downloads=3 --owner=press --note=-x y";
        assert_eq!(line, format!("share create movies/a.mpg {options}"));
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        let wanted = json!({
            "path": "movies/a.mpg", "ttl": "90m", "password": "PASSWORD", "max_downloads": 3,
            "owner": "press", "note": "-x y",
        });
        assert_eq!(body, wanted);
        let (_, body) = lines(&[("max_downloads", "many")]);
        assert!(body.contains("\"many\""), "a wrong number stays visible: {body}");
    }
}
