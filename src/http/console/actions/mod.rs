//! The forms that the pages post. Each does what the call of the API with the same name does, and returns to its page.

pub mod access;
pub mod additions;
pub mod audit;
pub mod boxes;
pub mod cluster;
pub mod files;
pub mod hosts;
pub mod settings;
pub mod shares;
pub mod tasks;

use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, ResponseError};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reelyard_console::Viewer;
use reelyard_console::format::{count, node_sentence};
use reelyard_console::parts::notice::{ActionOutcome, UndoAction};
use reelyard_console::text::{node_words, outcomes};
use serde::{Deserialize, Serialize};

use super::chosen::ActedOn;
use super::posted_form::{PostedForm, is_console_path};
use crate::http::problem::ProblemResponse;

/// Cookie with the outcome of the action before. The next page shows it once.
pub const OUTCOME_COOKIE: &str = "reelyard_outcome";

/// Longest title of an outcome in bytes, so that a cookie can hold it with the other texts.
const LONGEST_TITLE: usize = 300;

/// Longest detail of an outcome in bytes.
const LONGEST_TEXT: usize = 900;

/// Longest value of the cookie in bytes. A browser drops a cookie that has more than 4,096 with its name and attributes.
/// An outcome that is longer has no way back.
const LONGEST_COOKIE: usize = 3_950;

/// Longest word of a text that is too long, in characters. A longer word is a name, and is cut first.
const LONGEST_WORD: usize = 40;

/// Refusals of single things that an outcome shows.
const REASONS_SHOWN: usize = 3;

/// An outcome as the cookie holds it.
#[derive(Serialize, Deserialize)]
struct KeptOutcome {
    done: bool,
    title: String,
    detail: String,
    /// The action that takes this one back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undo: Option<KeptUndo>,
}

impl KeptOutcome {
    /// The value of the cookie.
    fn encoded(&self) -> String {
        // Plain data always serializes.
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }
}

/// An action that takes another one back, as the cookie holds it.
#[derive(Clone, Serialize, Deserialize)]
struct KeptUndo {
    action: String,
    dialog: String,
}

/// Returns to the page of the form, which says that the action was carried out.
pub fn done(form: &PostedForm, title: String) -> HttpResponse {
    back(form, &KeptOutcome { done: true, title, detail: String::new(), undo: None })
}

/// The same for an action that `undo` takes back.
pub fn done_with_undo(form: &PostedForm, title: String, undo: UndoAction) -> HttpResponse {
    let undo = Some(KeptUndo { action: undo.action, dialog: undo.dialog });
    back(form, &KeptOutcome { done: true, title, detail: String::new(), undo })
}

/// Returns to the page of the form after an action on several things. The page says what was left out, and why.
pub fn acted_on<R>(
    form: &PostedForm,
    viewer: &Viewer,
    (acted, all): (u64, &ActedOn<R>),
    title: String,
    undo: Option<UndoAction>,
) -> HttpResponse {
    if let Some(why) = &all.stopped {
        return refused(form, viewer, acted, why);
    }
    let Some(first) = all.left_out.first() else {
        return match undo {
            Some(undo) => done_with_undo(form, title, undo),
            None => done(form, title),
        };
    };
    if all.done.is_empty() && all.left_out.len() == 1 {
        return refused(form, viewer, 0, first);
    }
    let title = match all.done.is_empty() {
        true => outcomes::NOTHING_DONE.of(viewer.language).to_owned(),
        false => title,
    };
    let detail = left_out(viewer, &all.left_out);
    let undo = undo.map(|undo| KeptUndo { action: undo.action, dialog: undo.dialog });
    let mut answer = back(form, &KeptOutcome { done: false, title, detail, undo });
    if all.done.is_empty() {
        answer.extensions_mut().insert(first.kind());
    }
    answer
}

/// The number of refused things, and the first reasons.
fn left_out(viewer: &Viewer, refused: &[ProblemResponse]) -> String {
    let language = viewer.language;
    let number = count(refused.len() as u64);
    let mut parts = vec![outcomes::LEFT_OUT_REFUSED.fill(language, &[("n", &number)])];
    let mut reasons: Vec<&str> = Vec::new();
    for refusal in refused {
        let reason = refusal.problem().detail.as_str();
        if !reasons.contains(&reason) && reasons.len() <= REASONS_SHOWN {
            reasons.push(reason);
        }
    }
    for reason in reasons.iter().take(REASONS_SHOWN) {
        let reason = shortened(&node_sentence(language, reason), LONGEST_TEXT / 4);
        parts.push(format!("{}.", reason.trim_end_matches('.')));
    }
    if reasons.len() > REASONS_SHOWN {
        parts.push("…".to_owned());
    }
    parts.join(" ")
}

/// Returns to the page of the form, which says why the action was refused after `acted` things.
pub fn refused(
    form: &PostedForm,
    viewer: &Viewer,
    acted: u64,
    refused: &ProblemResponse,
) -> HttpResponse {
    let title = match acted {
        0 => outcomes::NOTHING_DONE.of(viewer.language).to_owned(),
        acted => outcomes::STOPPED_AFTER.fill(viewer.language, &[("n", &count(acted))]),
    };
    let (kind, _) = refusal_words(viewer, refused);
    let why = node_words(viewer.language, &refused.problem().detail);
    let detail = format!("{kind}: {why}");
    let mut answer = back(form, &KeptOutcome { done: false, title, detail, undo: None });
    // For the audit.
    answer.extensions_mut().insert(refused.kind());
    answer
}

/// The kind of a problem, and what it is, in the language of the viewer.
pub fn refusal_words(viewer: &Viewer, why: &ProblemResponse) -> (String, String) {
    let problem = why.problem();
    let title = node_sentence(viewer.language, &problem.title);
    (title.trim_end_matches('.').to_owned(), node_sentence(viewer.language, &problem.detail))
}

/// Gives a page with a refused form the status of the refusal, and its kind for the audit.
pub fn mark_refused(answer: &mut HttpResponse, why: &ProblemResponse) {
    *answer.status_mut() = why.status_code();
    answer.extensions_mut().insert(why.kind());
}

fn back(form: &PostedForm, outcome: &KeptOutcome) -> HttpResponse {
    let mut kept = KeptOutcome {
        done: outcome.done,
        title: shortened(&outcome.title, LONGEST_TITLE),
        detail: shortened(&outcome.detail, LONGEST_TEXT),
        undo: outcome.undo.clone(),
    };
    let mut value = kept.encoded();
    if value.len() > LONGEST_COOKIE {
        kept.undo = None;
        value = kept.encoded();
    }
    let cookie = Cookie::build(OUTCOME_COOKIE, value)
        .path("/console")
        .http_only(true)
        .same_site(SameSite::Strict)
        .finish();
    HttpResponse::SeeOther().insert_header((LOCATION, form.back())).cookie(cookie).finish()
}

/// The text in this number of bytes. Names are cut first, and then the middle: the remedy stands at the end. Each cut
/// is marked.
fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let ends_of = |text: &str, letters: usize| {
        let all: Vec<char> = text.chars().collect();
        let (head, tail) = (letters / 2, letters - letters / 2);
        if all.len() <= letters {
            return text.to_owned();
        }
        let (head, tail) = (&all[..head], &all[all.len() - tail..]);
        format!("{}…{}", head.iter().collect::<String>(), tail.iter().collect::<String>())
    };
    let words = text.split(' ').map(|word| ends_of(word, LONGEST_WORD));
    let mut cut = words.collect::<Vec<_>>().join(" ");
    let mut letters = cut.chars().count();
    while cut.len() > most {
        letters = letters * 7 / 8;
        cut = ends_of(&cut, letters);
    }
    cut
}

/// The outcome in the cookie of a request.
pub fn outcome_of(cookie: &str) -> Option<ActionOutcome> {
    let json = URL_SAFE_NO_PAD.decode(cookie).ok()?;
    let kept: KeptOutcome = serde_json::from_slice(&json).ok()?;
    let is_safe = |undo: &KeptUndo| is_console_path(&undo.action) && is_console_path(&undo.dialog);
    let undo = kept.undo.filter(is_safe);
    Some(ActionOutcome {
        is_done: kept.done,
        title: kept.title,
        detail: kept.detail,
        next: None,
        undo: undo.map(|undo| UndoAction { action: undo.action, dialog: undo.dialog }),
    })
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use reelyard_access::rights::BadAccessName;
    use reelyard_api::{Problem, ProblemKind};
    use reelyard_boxes::box_lease::{BadSpec, BoxRefusal};
    use reelyard_console::Moment;
    use reelyard_console::text::Language;
    use reelyard_core::names::FileName;
    use reelyard_links::NotOpened;
    use reelyard_protocol::boxes::{BoxNumber, IdRange, PoolName, Reason};
    use reelyard_yard::remover::{CopyOutlook, Ending, Spared};

    use super::*;
    use crate::http::api::share_calls::new_share::{no_such, placed};
    use crate::http::api::yard_calls::pins;

    #[test]
    fn a_long_outcome_keeps_its_remedy_and_marks_the_cut() {
        let name = "n".repeat(255);
        let long = format!("{name}: all copies exist; pin the file first: reelyard files pin");
        let cut = shortened(&long, 200);
        assert!(cut.len() <= 200 && cut.starts_with("nnn") && cut.contains('…'), "{cut}");
        assert!(
            cut.ends_with(": all copies exist; pin the file first: reelyard files pin"),
            "{cut}"
        );
        let words = shortened(&format!("{}the end", "사본 ".repeat(300)), LONGEST_TEXT);
        assert!(words.len() <= LONGEST_TEXT && words.ends_with("the end"), "{words}");
        assert_eq!(shortened("short", 5), "short");

        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        let address = format!("/console/{}", "a".repeat(780));
        let undo = || UndoAction { action: address.clone(), dialog: address.clone() };
        let left_out = (0..9).map(|n| ProblemResponse::bad_request(format!("{n} {long} \"")));
        let all = ActedOn { done: vec![()], left_out: left_out.collect(), stopped: None };
        let form = PostedForm::default();
        let answer = acted_on(&form, &viewer, (1, &all), "사".repeat(400), Some(undo()));
        let cookie = answer.cookies().find(|cookie| cookie.name() == OUTCOME_COOKIE).unwrap();
        // A browser drops a longer cookie.
        assert!(cookie.to_string().len() <= 4096, "{}", cookie.to_string().len());
        let kept = outcome_of(cookie.value()).unwrap();
        assert!(kept.detail.contains("refused them: 9. 0 nnn") && kept.detail.ends_with('…'));
        assert!(kept.undo.is_some());

        // The longest name, whose bytes are all percent-encoded twice, has a way back; two of them have none.
        for (names, is_kept) in [(1, true), (2, false)] {
            let address = format!("/console/files/{}/unpin", "%25EC".repeat(255 * names));
            let undo = UndoAction { action: address.clone(), dialog: address };
            let answer = done_with_undo(&form, "Pinned: 1".to_owned(), undo);
            let cookie = answer.cookies().find(|cookie| cookie.name() == OUTCOME_COOKIE).unwrap();
            assert!(cookie.to_string().len() <= 4096, "{}", cookie.to_string().len());
            assert_eq!(outcome_of(cookie.value()).unwrap().undo.is_some(), is_kept, "{names}");
        }
    }

    /// Refusals that a form can meet, in the words of the node.
    fn refusals_of_forms() -> Vec<String> {
        let host = || "10.0.0.9:8888".parse().unwrap();
        let name = |text: &str| FileName::new(text.as_bytes()).unwrap_err().to_string();
        let path = |text: &str| placed(text).unwrap_err().problem().detail.clone();
        let pool = || PoolName::new("judges").unwrap();
        let mut all: Vec<String> = ["", ".", "a/b", "a\0b"].map(name).to_vec();
        all.push(name(&"n".repeat(256)));
        all.extend(["UP/a", "m//a", "m/../a", "m/a\0"].map(path));
        all.push(path(&format!("m/{}", "n".repeat(5000))));
        for why in [
            NotOpened::Absent,
            NotOpened::Outside,
            NotOpened::Special,
            NotOpened::Denied,
            NotOpened::Away("it is not mounted".to_owned()),
        ] {
            all.push(no_such("m/a b.mpg", why).problem().detail.clone());
        }
        all.push("No share root is named 'nope'. Configured roots: movies. Add it to [share.roots] and reload.".to_owned());
        let file = FileName::new(b"nothere.mpg").unwrap();
        all.push(pins::unknown(&file).problem().detail.clone());
        all.push(PoolName::new("-").unwrap_err().to_string());
        all.push(Reason::new("").unwrap_err().to_string());
        all.push(BadAccessName::User.to_string());
        all.push(BadAccessName::Token.to_string());
        for refusal in [
            BoxRefusal::NoPool { pool: pool() },
            BoxRefusal::NoBox { pool: pool(), number: BoxNumber(77) },
            BoxRefusal::PoolInUse { pool: pool() },
            BoxRefusal::PoolGoes { pool: pool() },
            BoxRefusal::IdsTaken {
                pool: pool(),
                ids: IdRange { first: 0, count: 3 },
                hooks: "isolate".to_owned(),
                host: host(),
                other: pool(),
            },
            BoxRefusal::BadSpec(BadSpec::Size),
            BoxRefusal::BadSpec(BadSpec::Ttl),
        ] {
            all.push(refusal.to_string());
        }
        all
    }

    #[test]
    fn a_refusal_and_a_decision_are_in_the_language_of_the_viewer() {
        let is_korean = |english: &str| {
            let shown = node_words(Language::Korean, english);
            assert!(
                shown.chars().any(|letter| ('가'..='힣').contains(&letter)),
                "{english}: {shown}"
            );
        };
        for kind in ProblemKind::ALL {
            is_korean(&Problem::new(*kind, String::new()).title);
        }
        for why in
            [Spared::NoMaster, Spared::Hot, Spared::OnlyCopy, Spared::InVain, Spared::MinStay]
        {
            is_korean(why.words());
            is_korean(&CopyOutlook::Stays { why }.words());
        }
        for detail in refusals_of_forms() {
            let shown = node_words(Language::Korean, &detail);
            let has_english = |words: &str| words.split(' ').any(|word| word == "the");
            is_korean(&detail);
            assert!(!has_english(&shown), "{detail}: {shown}");
        }
        is_korean(&Ending::NotAsked { why: "its host cannot be called now".to_owned() }.words());
    }
}
