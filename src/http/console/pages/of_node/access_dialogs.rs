//! The dialogs before a change of users and tokens.

use reelyard_console::Viewer;
use reelyard_console::address::{ROOT, encoded};
use reelyard_console::pages::access::AccessPageQuery;
use reelyard_console::parts::act::CommandLines;
use reelyard_console::parts::dialog::{AskDialog, AskField};
use reelyard_console::text::{Text, access, outcomes};
use serde_json::json;

/// The value of the field for rights that stands for single scopes.
pub const BY_SCOPES: &str = "scopes";

/// The dialog that the state of the page asks for, with the values of its fields in the address. None for an unknown
/// word.
pub fn of_query(
    query: &AccessPageQuery,
    typed: &dyn Fn(&str) -> String,
    viewer: &Viewer,
) -> Option<AskDialog> {
    let name = query.name.as_str();
    let dialog = match query.ask.as_str() {
        "new-user" => new_user(viewer, typed),
        "new-token" => new_token(viewer, typed),
        _ if name.is_empty() => return None,
        "role" => change_role(name, typed("role"), viewer),
        "password" => set_password(name, viewer),
        "disable" => disable(name, viewer),
        "enable" => enable(name, viewer),
        "unlock" => unlock(name, viewer),
        "end" => end_session(name, viewer),
        "remove" => remove(name, viewer),
        "revoke" => revoke(name, viewer),
        "rotate" => rotate(name, viewer),
        _ => return None,
    };
    let back = AccessPageQuery { ask: String::new(), name: String::new(), ..query.clone() };
    Some(AskDialog { back: back.address(), ..dialog })
}

/// The form of a new user with what was typed, by the names of its fields.
pub fn new_user(viewer: &Viewer, typed: &dyn Fn(&str) -> String) -> AskDialog {
    let language = viewer.language;
    AskDialog {
        question: outcomes::ASK_NEW_USER.of(language).to_owned(),
        consequence: outcomes::ASK_NEW_USER_TEXT.of(language).to_owned(),
        fields: vec![
            needed(viewer, access::NAME, "name", typed("name")),
            roles(viewer, access::ROLE, "role", typed("role")),
            AskField {
                label: outcomes::FIELD_PASSWORD.of(language).to_owned(),
                name: "password".to_owned(),
                is_password: true,
                ..AskField::default()
            },
        ],
        verb: outcomes::VERB_ADD_USER.of(language).to_owned(),
        action: format!("{ROOT}/access/users/new"),
        commands: user_lines(typed),
        follow: Some(of_dialog("new-user")),
        ..base(viewer, "", "")
    }
}

/// The form of a new token with what was typed, by the names of its fields.
pub fn new_token(viewer: &Viewer, typed: &dyn Fn(&str) -> String) -> AskDialog {
    let language = viewer.language;
    let mut rights = roles(viewer, outcomes::FIELD_RIGHTS, "rights", typed("rights"));
    let by_scopes = outcomes::RIGHTS_BY_SCOPES.of(language).to_owned();
    rights.choices.push((BY_SCOPES.to_owned(), by_scopes));
    let optional = |label: Text, name: &str| AskField {
        label: label.of(language).to_owned(),
        name: name.to_owned(),
        value: typed(name),
        ..AskField::default()
    };
    AskDialog {
        question: outcomes::ASK_NEW_TOKEN.of(language).to_owned(),
        consequence: outcomes::ASK_NEW_TOKEN_TEXT.of(language).to_owned(),
        fields: vec![
            needed(viewer, access::NAME, "name", typed("name")),
            rights,
            optional(outcomes::FIELD_SCOPES, "scopes"),
            optional(outcomes::FIELD_TTL, "ttl"),
        ],
        verb: outcomes::VERB_CREATE_TOKEN.of(language).to_owned(),
        action: format!("{ROOT}/access/tokens/new"),
        commands: token_lines(typed),
        follow: Some(of_dialog("new-token")),
        ..base(viewer, "", "")
    }
}

/// The address of a dialog, up to the values of its fields.
fn of_dialog(ask: &str) -> String {
    format!("{}?ask={ask}&", AccessPageQuery::path())
}

fn or(typed: String, example: &str) -> String {
    if typed.trim().is_empty() { example.to_owned() } else { typed.trim().to_owned() }
}

/// The lines that add the user of the form. The command asks for the password.
fn user_lines(typed: &dyn Fn(&str) -> String) -> CommandLines {
    let (name, role) = (or(typed("name"), "alice"), or(typed("role"), "viewer"));
    let mut body = json!({ "name": name, "role": role });
    if !typed("password").is_empty() {
        body["password"] = json!("PASSWORD");
    }
    let words = ["user", "add", &name, "--role", &role];
    CommandLines::new(&words, ("POST", "/users", &body.to_string()))
}

/// The lines that create the token of the form.
fn token_lines(typed: &dyn Fn(&str) -> String) -> CommandLines {
    let (name, rights) = (or(typed("name"), "backup"), or(typed("rights"), "viewer"));
    let mut words = vec!["token".to_owned(), "create".to_owned(), name.clone()];
    let mut body = json!({ "name": name });
    if rights == BY_SCOPES {
        let scopes = typed("scopes");
        let scopes: Vec<&str> = scopes.split_whitespace().collect();
        words.extend(scopes.iter().map(|scope| format!("--scope={scope}")));
        body["scopes"] = json!(scopes);
    } else {
        words.extend(["--role".to_owned(), rights.clone()]);
        body["role"] = json!(rights);
    }
    let ttl = typed("ttl");
    if !ttl.trim().is_empty() {
        words.push(format!("--ttl={}", ttl.trim()));
        body["ttl"] = json!(ttl.trim());
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    CommandLines::new(&words, ("POST", "/tokens", &body.to_string()))
}

fn change_role(name: &str, role: String, viewer: &Viewer) -> AskDialog {
    let language = viewer.language;
    let role = or(role, "viewer");
    let body = json!({ "role": role }).to_string();
    AskDialog {
        question: outcomes::ASK_ROLE.fill(language, &[("name", name)]),
        consequence: outcomes::ASK_ROLE_TEXT.of(language).to_owned(),
        commands: CommandLines::new(
            &["user", "role", name, &role],
            ("PATCH", &of_user(name), &body),
        ),
        follow: Some(format!("{}name={}&", of_dialog("role"), encoded(name))),
        fields: vec![roles(viewer, access::ROLE, "role", role)],
        verb: outcomes::VERB_ROLE.of(language).to_owned(),
        action: format!("{ROOT}/access/users/{}/role", encoded(name)),
        ..base(viewer, name, "")
    }
}

fn set_password(name: &str, viewer: &Viewer) -> AskDialog {
    let language = viewer.language;
    AskDialog {
        question: outcomes::ASK_PASSWORD.fill(language, &[("name", name)]),
        consequence: outcomes::ASK_PASSWORD_TEXT.of(language).to_owned(),
        fields: vec![AskField {
            is_password: true,
            ..needed(viewer, outcomes::FIELD_PASSWORD, "password", String::new())
        }],
        verb: outcomes::VERB_PASSWORD.of(language).to_owned(),
        action: format!("{ROOT}/access/users/{}/password", encoded(name)),
        commands: CommandLines::new(
            &["user", "password", name],
            ("PATCH", &of_user(name), "{\"password\":\"…\"}"),
        ),
        ..base(viewer, name, "")
    }
}

fn disable(name: &str, viewer: &Viewer) -> AskDialog {
    let language = viewer.language;
    AskDialog {
        question: outcomes::ASK_DISABLE.fill(language, &[("name", name)]),
        consequence: outcomes::ASK_DISABLE_TEXT.of(language).to_owned(),
        verb: outcomes::VERB_DISABLE.of(language).to_owned(),
        action: format!("{ROOT}/access/users/{}/disable", encoded(name)),
        commands: CommandLines::new(
            &["user", "disable", name],
            ("PATCH", &of_user(name), "{\"disabled\":true}"),
        ),
        ..base(viewer, name, "")
    }
}

fn enable(name: &str, viewer: &Viewer) -> AskDialog {
    let language = viewer.language;
    AskDialog {
        question: outcomes::ASK_ENABLE.fill(language, &[("name", name)]),
        consequence: outcomes::ASK_ENABLE_TEXT.of(language).to_owned(),
        verb: access::ENABLE.of(language).to_owned(),
        action: format!("{ROOT}/access/users/{}/enable", encoded(name)),
        commands: CommandLines::new(
            &["user", "enable", name],
            ("PATCH", &of_user(name), "{\"disabled\":false}"),
        ),
        ..base(viewer, name, "")
    }
}

fn unlock(name: &str, viewer: &Viewer) -> AskDialog {
    let language = viewer.language;
    AskDialog {
        question: outcomes::ASK_UNLOCK.fill(language, &[("name", name)]),
        consequence: outcomes::ASK_UNLOCK_TEXT.of(language).to_owned(),
        verb: access::UNLOCK.of(language).to_owned(),
        action: format!("{ROOT}/access/users/{}/unlock", encoded(name)),
        commands: CommandLines::new(
            &["user", "unlock", name],
            ("PATCH", &of_user(name), "{\"unlock\":true}"),
        ),
        ..base(viewer, name, "")
    }
}

/// The dialog of a session, by its id.
fn end_session(id: &str, viewer: &Viewer) -> AskDialog {
    let language = viewer.language;
    AskDialog {
        question: outcomes::ASK_END_SESSION.of(language).to_owned(),
        consequence: outcomes::ASK_END_SESSION_TEXT.of(language).to_owned(),
        verb: access::END_SESSION.of(language).to_owned(),
        action: format!("{ROOT}/access/sessions/{}/end", encoded(id)),
        commands: CommandLines::new(
            &["user", "end-session", id],
            ("DELETE", &format!("/sessions/{}", encoded(id)), ""),
        ),
        ..base(viewer, id, "")
    }
}

fn remove(name: &str, viewer: &Viewer) -> AskDialog {
    let language = viewer.language;
    AskDialog {
        question: outcomes::ASK_REMOVE_USER.fill(language, &[("name", name)]),
        consequence: outcomes::ASK_REMOVE_USER_TEXT.of(language).to_owned(),
        is_final: true,
        verb: outcomes::VERB_REMOVE.of(language).to_owned(),
        action: format!("{ROOT}/access/users/{}/remove", encoded(name)),
        commands: CommandLines::new(&["user", "remove", name], ("DELETE", &of_user(name), "")),
        ..base(viewer, name, "")
    }
}

fn revoke(name: &str, viewer: &Viewer) -> AskDialog {
    let language = viewer.language;
    AskDialog {
        question: outcomes::ASK_REVOKE_TOKEN.fill(language, &[("name", name)]),
        consequence: outcomes::ASK_REVOKE_TOKEN_TEXT.of(language).to_owned(),
        is_final: true,
        verb: outcomes::VERB_REVOKE.of(language).to_owned(),
        action: format!("{ROOT}/access/tokens/{}/revoke", encoded(name)),
        commands: CommandLines::new(&["token", "revoke", name], ("DELETE", &of_token(name), "")),
        ..base(viewer, name, "")
    }
}

fn rotate(name: &str, viewer: &Viewer) -> AskDialog {
    let language = viewer.language;
    AskDialog {
        question: outcomes::ASK_ROTATE_TOKEN.fill(language, &[("name", name)]),
        consequence: outcomes::ASK_ROTATE_TOKEN_TEXT.of(language).to_owned(),
        is_final: true,
        verb: outcomes::VERB_ROTATE.of(language).to_owned(),
        action: format!("{ROOT}/access/tokens/{}/rotate", encoded(name)),
        commands: CommandLines::new(
            &["token", "rotate", name],
            ("POST", &format!("{}/rotate", of_token(name)), "{}"),
        ),
        ..base(viewer, name, "")
    }
}

/// The parts that all dialogs share: the name, the field for a reason, and the way back.
fn base(viewer: &Viewer, name: &str, remark: &str) -> AskDialog {
    let named = (!name.is_empty()).then(|| (name.to_owned(), remark.to_owned()));
    AskDialog {
        names: named.into_iter().collect(),
        things: 1,
        reason_label: Some(outcomes::REASON.of(viewer.language).to_owned()),
        back: AccessPageQuery::path().to_owned(),
        ..AskDialog::default()
    }
}

fn needed(viewer: &Viewer, label: Text, name: &str, value: String) -> AskField {
    AskField {
        label: label.of(viewer.language).to_owned(),
        name: name.to_owned(),
        value,
        is_needed: true,
        ..AskField::default()
    }
}

/// A field for a role. Its values are the words of the API.
fn roles(viewer: &Viewer, label: Text, name: &str, value: String) -> AskField {
    use reelyard_console::ViewerRole::{Admin, Operator, Viewer as Reads};
    let roles = [("viewer", Reads), ("operator", Operator), ("admin", Admin)];
    let words = |role| reelyard_console::frame::role_words(role).of(viewer.language).to_owned();
    AskField {
        choices: roles.map(|(word, role)| (word.to_owned(), words(role))).to_vec(),
        ..needed(viewer, label, name, value)
    }
}

fn of_user(name: &str) -> String {
    format!("/users/{}", encoded(name))
}

fn of_token(name: &str) -> String {
    format!("/tokens/{}", encoded(name))
}
