//! The dialogs before a change of users and tokens.

use reelyard_console::Viewer;
use reelyard_console::address::{ROOT, encoded};
use reelyard_console::pages::access::AccessPageQuery;
use reelyard_console::parts::act::CommandLines;
use reelyard_console::parts::dialog::{AskDialog, AskField};
use reelyard_console::text::{Text, access, outcomes};

/// The value of the field for rights that stands for single scopes.
pub const BY_SCOPES: &str = "scopes";

/// The dialog that the state of the page asks for. None for an unknown word.
pub fn of_query(query: &AccessPageQuery, viewer: &Viewer) -> Option<AskDialog> {
    let name = query.name.as_str();
    match query.ask.as_str() {
        "new-user" => Some(new_user(viewer, &|_| String::new())),
        "new-token" => Some(new_token(viewer, &|_| String::new())),
        _ if name.is_empty() => None,
        "role" => Some(change_role(name, viewer)),
        "password" => Some(set_password(name, viewer)),
        "disable" => Some(disable(name, viewer)),
        "remove" => Some(remove(name, viewer)),
        "revoke" => Some(revoke(name, viewer)),
        "rotate" => Some(rotate(name, viewer)),
        _ => None,
    }
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
        commands: CommandLines::new(
            &["user", "add", "alice", "--role", "viewer"],
            ("POST", "/users", "{\"name\":\"alice\",\"role\":\"viewer\"}"),
        ),
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
        commands: CommandLines::new(
            &["token", "create", "backup", "--role", "viewer"],
            ("POST", "/tokens", "{\"name\":\"backup\",\"role\":\"viewer\"}"),
        ),
        ..base(viewer, "", "")
    }
}

fn change_role(name: &str, viewer: &Viewer) -> AskDialog {
    let language = viewer.language;
    AskDialog {
        question: outcomes::ASK_ROLE.fill(language, &[("name", name)]),
        consequence: outcomes::ASK_ROLE_TEXT.of(language).to_owned(),
        fields: vec![roles(viewer, access::ROLE, "role", String::new())],
        verb: outcomes::VERB_ROLE.of(language).to_owned(),
        action: format!("{ROOT}/access/users/{}/role", encoded(name)),
        commands: CommandLines::new(
            &["user", "role", name, "viewer"],
            ("PATCH", &of_user(name), "{\"role\":\"viewer\"}"),
        ),
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
