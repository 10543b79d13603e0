//! Users, tokens and sessions.

use maud::{Markup, html};

use crate::address::{ROOT, SortBy, encoded, page_query};
use crate::format::{age_tag, count, day_and_time, node_text, visible_text};
use crate::frame::role_words;
use crate::parts::act::{as_command, command, command_menu, list_lines_at, post_button};
use crate::parts::dialog::{AskDialog, ask_dialog};
use crate::parts::filter::{FilterBar, ROWS, filter_bar};
use crate::parts::icon::{Glyph, icon};
use crate::parts::mark::{Tone, tag};
use crate::parts::notice::{empty, notice};
use crate::parts::panel::{PanelHead, flush_panel, page_head};
use crate::parts::table::{
    RowPage, TableColumn, actions_head, column_head, named_table_foot, order_in_force,
};
use crate::text::{Text, access, common, frame};
use crate::viewer::{Moment, Viewer, ViewerRole};

/// Reserved for the token of the configuration. Only the configuration changes it.
const OF_CONFIGURATION: &str = "legacy";

page_query! {
    /// Query parameters of the page Access.
    AccessPageQuery at "/access" {
        /// Action whose dialog is open: `new-token`, `revoke` or `rotate` for a token, `new-user`, `role`,
        /// `password`, `disable` or `remove` for a user.
        ask: String,
        /// Part of a name of a user or token.
        q: String,
        /// The user or token of the dialog.
        name: String,
        /// Cursor of the page of users.
        users: String,
        /// Cursor of the page of tokens.
        tokens: String,
        /// Cursor of the page of sessions.
        sessions: String,
        /// Order of the users; by name without it.
        users_sort: SortBy,
        /// Order of the tokens; by name without it.
        tokens_sort: SortBy,
        /// Order of the sessions; the own one and then newest logins first without it.
        sessions_sort: SortBy,
    }
}

/// A row of the table of users.
#[derive(Clone, Debug, Default)]
pub struct UserLine {
    /// The name that the user signs in with.
    pub name: String,
    /// It decides which rights the user has.
    pub role: ViewerRole,
    /// Too many wrong passwords were given.
    pub is_locked: bool,
    /// An administrator disabled the user.
    pub is_disabled: bool,
    /// Last use of a session.
    pub last_used: Option<Moment>,
}

/// A row of the table of tokens. It never contains the secret.
#[derive(Clone, Debug, Default)]
pub struct TokenLine {
    /// As it was given when the token was made.
    pub name: String,
    /// Rights in the words of the API.
    pub rights: String,
    /// Last call with it; `None` if it was never used.
    pub last_used: Option<Moment>,
    /// End, if it has one.
    pub ends: Option<Moment>,
}

/// A row of the table of signed-in browsers.
#[derive(Clone, Debug, Default)]
pub struct SessionLine {
    /// Number.
    pub id: String,
    /// Name of the user who signed in.
    pub user: String,
    /// Address from which it was last used.
    pub address: String,
    /// Begin.
    pub begun: Moment,
    /// Last request with its cookie.
    pub last_used: Option<Moment>,
    /// End.
    pub ends: Moment,
    /// It is the session of the viewer.
    pub is_own: bool,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct AccessPageModel {
    /// The state of the page, without its dialog.
    pub query: AccessPageQuery,
    /// Rows of this page of the table.
    pub users: Vec<UserLine>,
    /// Position of the page of users.
    pub users_page: RowPage,
    /// Rows of this page of the table.
    pub tokens: Vec<TokenLine>,
    /// Position of the page of tokens.
    pub tokens_page: RowPage,
    /// Sessions, the viewer's own first.
    pub sessions: Vec<SessionLine>,
    /// Position of the page of sessions.
    pub sessions_page: RowPage,
    /// Name and secret of a token that was just made. It is shown only once.
    pub new_secret: Option<(String, String)>,
    /// Dialog of an action.
    pub ask: Option<AskDialog>,
}

/// The content of the page.
pub fn render(model: &AccessPageModel, viewer: &Viewer) -> Markup {
    let language = viewer.language;
    html! {
        (page_head(frame::ACCESS.of(language), access::ACCESS_SENTENCE.of(language), acts(viewer, &model.query)))
        @if let Some((name, secret)) = &model.new_secret {
            @let title = access::NEW_SECRET.fill(language, &[("name", name)]);
            div.mb { (notice(Tone::Work, &title, command(language, secret), html! {})) }
        }
        (filter_bar(viewer, &filters(&model.query)))
        div #(ROWS) .stack { (sessions(viewer, model)) (users(viewer, model)) (tokens(viewer, model)) }
        @if let Some(ask) = &model.ask { (ask_dialog(viewer, ask)) }
    }
}

/// The address of a dialog on the page in this state.
fn ask(query: &AccessPageQuery, action: &str, name: &str) -> String {
    let (ask, name) = (action.to_owned(), name.to_owned());
    AccessPageQuery { ask, name, ..query.clone() }.address()
}

/// One field for all three lists. Their pages begin again when it changes.
fn filters(query: &AccessPageQuery) -> FilterBar {
    FilterBar {
        path: AccessPageQuery::path(),
        field: Some(access::ACCESS_FIELD),
        text: query.q.clone(),
        others: AccessPageQuery {
            users_sort: query.users_sort.clone(),
            tokens_sort: query.tokens_sort.clone(),
            sessions_sort: query.sessions_sort.clone(),
            ..AccessPageQuery::default()
        }
        .pairs()
        .pairs()
        .to_vec(),
        states_label: access::ACCESS_FIELD,
        states: Vec::new(),
        menus: Vec::new(),
        orders: None,
        has_picks: false,
        status: String::new(),
    }
}

/// The three lists as commands, and what can be added.
fn acts(viewer: &Viewer, query: &AccessPageQuery) -> Markup {
    let language = viewer.language;
    let part = Some(query.q.clone()).filter(|part| !part.is_empty());
    let named: Vec<(&str, String)> = part.map(|part| ("contains", part)).into_iter().collect();
    let lines = |command: [&str; 2], path: &str| list_lines_at(&command, path, &named, None);
    let lists = [
        lines(["user", "sessions"], "/sessions"),
        lines(["user", "list"], "/users"),
        lines(["token", "list"], "/tokens"),
    ];
    html! {
        (command_menu(viewer, &lists))
        @if viewer.rights.admin {
            a.btn href=(ask(query, "new-user", "")) { (icon(Glyph::Plus)) (access::NEW_USER.of(language)) }
            a.btn href=(ask(query, "new-token", "")) { (icon(Glyph::Plus)) (access::NEW_TOKEN.of(language)) }
        }
    }
}

fn list<'a>(viewer: &Viewer, id: &'a str, title: Text, page: &RowPage) -> PanelHead<'a> {
    PanelHead {
        class: "c12",
        id,
        title: title.of(viewer.language).to_owned(),
        remark: count(page.total.unwrap_or(page.shown)),
        link: None,
    }
}

/// Heads that sort one of the lists, given by the keys of their columns.
fn heads(
    viewer: &Viewer,
    columns: &[(Text, &'static str)],
    sort: &SortBy,
    address: &dyn Fn(SortBy) -> AccessPageQuery,
) -> Markup {
    html! {
        thead { tr {
            @for (words, key) in columns {
                @let column = TableColumn::sorted(*words, key, "");
                (column_head(viewer, &column, sort, &|sort| address(sort).address()))
            }
            (actions_head(viewer))
        } }
    }
}

/// The name of the steps through a list: "Pages: Users".
fn pages_of(viewer: &Viewer, list: Text) -> String {
    let language = viewer.language;
    format!("{}: {}", common::PAGES.of(language), list.of(language))
}

fn used(viewer: &Viewer, at: Option<Moment>) -> Markup {
    match at {
        Some(at) => age_tag(viewer, at),
        None => html! { span.muted { (access::NEVER.of(viewer.language)) } },
    }
}

/// A list without a row that matches the filter.
fn unmatched(viewer: &Viewer, head: &PanelHead<'_>, query: &AccessPageQuery) -> Markup {
    let text = visible_text(&query.q);
    let title = access::ACCESS_NONE.fill(viewer.language, &[("text", &text)]);
    let clear = html! { a.btn.sm href=(AccessPageQuery::path()) { (common::CLEAR_FILTER.of(viewer.language)) } };
    flush_panel(head, empty(&title, "", clear))
}

fn users(viewer: &Viewer, model: &AccessPageModel) -> Markup {
    let language = viewer.language;
    let head = list(viewer, "access-users", access::USERS, &model.users_page);
    let sort = order_in_force(&model.query.users_sort, SortBy::ascending("name"));
    if model.users.is_empty() && !model.query.q.is_empty() {
        return unmatched(viewer, &head, &model.query);
    }
    if model.users.is_empty() {
        let new_user = html! {
            @if viewer.rights.admin { a.btn.sm.go href=(ask(&model.query, "new-user", "")) { (access::NEW_USER.of(language)) } }
        };
        return flush_panel(
            &head,
            empty(access::NO_USERS.of(language), access::NO_USERS_BODY.of(language), new_user),
        );
    }
    let body = html! {
        table.cards {
            (heads(viewer, &[(access::NAME, "name"), (access::ROLE, "role"), (access::LAST_USED, "used")], &sort, &|users_sort| {
                AccessPageQuery { users_sort, users: String::new(), ..model.query.clone() }
            }))
            tbody {
                @for user in &model.users {
                    tr {
                        td.b.wide data-l=(access::NAME.of(language)) { bdi { (user.name) } @if user.is_locked { " " (tag(None, Tone::Bad, access::LOCKED.of(language))) } @if user.is_disabled { " " (tag(None, Tone::Hold, access::DISABLED.of(language))) } }
                        td.nw data-l=(access::ROLE.of(language)) { (role_words(user.role).of(language)) }
                        td data-l=(access::LAST_USED.of(language)) { (used(viewer, user.last_used)) }
                        td.act {
                            @if viewer.rights.admin { (user_actions(viewer, &model.query, user)) }
                        }
                    }
                }
            }
        }
        (named_table_foot(viewer, &model.users_page, &pages_of(viewer, access::USERS)))
    };
    flush_panel(&head, body)
}

/// Whether this user or token is the viewer. Nobody may remove, disable or weaken itself.
fn is_own(viewer: &Viewer, kind: &str, name: &str) -> bool {
    viewer.user == format!("{kind} {name}")
}

fn user_actions(viewer: &Viewer, query: &AccessPageQuery, user: &UserLine) -> Markup {
    let language = viewer.language;
    let is_own = is_own(viewer, "user", &user.name);
    let post = |action: &str, words: Text| {
        let address = format!("{ROOT}/access/users/{}/{action}", encoded(&user.name));
        let label = format!("{}, {}", words.of(language), user.name);
        html! {
            (post_button(&address, "btn sm", html! { (words.of(language)) }))
            (as_command(viewer, &label, &ask(query, action, &user.name)))
        }
    };
    html! {
        @if user.is_locked { (post("unlock", access::UNLOCK)) " " }
        @if user.is_disabled { (post("enable", access::ENABLE)) " " }
        @if !user.is_disabled && !is_own { a.btn.sm href=(ask(query, "disable", &user.name)) { (access::DISABLE.of(language)) } " " }
        @if !is_own { a.btn.sm href=(ask(query, "role", &user.name)) { (access::CHANGE_ROLE.of(language)) } " " }
        a.btn.sm href=(ask(query, "password", &user.name)) { (access::SET_PASSWORD.of(language)) }
        @if !is_own { " " a.btn.sm href=(ask(query, "remove", &user.name)) { (access::REMOVE_USER.of(language)) } }
    }
}

/// The rights of a token: the words of a role, the host of a worker, or the scopes.
fn rights_words(viewer: &Viewer, rights: &str) -> String {
    let role = match rights {
        "viewer" => ViewerRole::Viewer,
        "operator" => ViewerRole::Operator,
        "admin" => ViewerRole::Admin,
        other => return node_text(viewer.language, other),
    };
    role_words(role).of(viewer.language).to_owned()
}

fn tokens(viewer: &Viewer, model: &AccessPageModel) -> Markup {
    let language = viewer.language;
    let head = list(viewer, "access-tokens", access::TOKENS, &model.tokens_page);
    let sort = order_in_force(&model.query.tokens_sort, SortBy::ascending("name"));
    if model.tokens.is_empty() && !model.query.q.is_empty() {
        return unmatched(viewer, &head, &model.query);
    }
    if model.tokens.is_empty() {
        return flush_panel(
            &head,
            empty(access::NO_TOKENS.of(language), access::NO_TOKENS_BODY.of(language), html! {}),
        );
    }
    let body = html! {
        table.cards {
            (heads(viewer, &[(access::NAME, "name"), (access::ROLE, "role"), (access::LAST_USED, "used"), (access::ENDS, "ends")], &sort, &|tokens_sort| {
                AccessPageQuery { tokens_sort, tokens: String::new(), ..model.query.clone() }
            }))
            tbody {
                @for token in &model.tokens {
                    tr {
                        td.b.wide data-l=(access::NAME.of(language)) { bdi { (token.name) } }
                        td.wide data-l=(access::ROLE.of(language)) { (rights_words(viewer, &token.rights)) }
                        td data-l=(access::LAST_USED.of(language)) { (used(viewer, token.last_used)) }
                        td.nw data-l=(access::ENDS.of(language)) { @match token.ends { Some(at) => (day_and_time(viewer, at)), None => span.muted { (access::NEVER.of(language)) } } }
                        td.act {
                            @if viewer.rights.admin && token.name != OF_CONFIGURATION {
                                a.btn.sm href=(ask(&model.query, "rotate", &token.name)) { (access::ROTATE_TOKEN.of(language)) }
                                @if !is_own(viewer, "token", &token.name) {
                                    " " a.btn.sm href=(ask(&model.query, "revoke", &token.name)) { (access::REVOKE_TOKEN.of(language)) }
                                }
                            }
                        }
                    }
                }
            }
        }
        (named_table_foot(viewer, &model.tokens_page, &pages_of(viewer, access::TOKENS)))
    };
    flush_panel(&head, body)
}

fn sessions(viewer: &Viewer, model: &AccessPageModel) -> Markup {
    let language = viewer.language;
    let head = list(viewer, "access-sessions", access::SESSIONS, &model.sessions_page);
    let sort = order_in_force(&model.query.sessions_sort, SortBy::descending("begun"));
    if model.sessions.is_empty() && !model.query.q.is_empty() {
        return unmatched(viewer, &head, &model.query);
    }
    if model.sessions.is_empty() {
        return flush_panel(&head, empty(access::NO_SESSIONS.of(language), "", html! {}));
    }
    let body = html! {
        table.cards {
            (heads(viewer, &[(access::USER, "name"), (access::ADDRESS, "address"), (access::BEGUN, "begun"), (access::LAST_USED, "used"), (access::ENDS, "ends")], &sort, &|sessions_sort| {
                AccessPageQuery { sessions_sort, sessions: String::new(), ..model.query.clone() }
            }))
            tbody {
                @for session in &model.sessions {
                    @let label = access::END_SESSION_OF.fill(language, &[("user", &session.user)]);
                    tr {
                        td.b data-l=(access::USER.of(language)) { bdi { (session.user) } @if session.is_own { " " (tag(None, Tone::Work, access::THIS_SESSION.of(language))) } }
                        td.mono data-l=(access::ADDRESS.of(language)) { (session.address) }
                        td data-l=(access::BEGUN.of(language)) { (age_tag(viewer, session.begun)) }
                        td data-l=(access::LAST_USED.of(language)) { (used(viewer, session.last_used)) }
                        td.nw data-l=(access::ENDS.of(language)) { (day_and_time(viewer, session.ends)) }
                        td.act {
                            @if session.is_own {
                                (post_button(&format!("{ROOT}/access/sessions/{}/end", encoded(&session.id)), "btn sm", html! { (access::END_SESSION.of(language)) span.vh { " " (label) } }))
                                @if viewer.rights.admin { (as_command(viewer, &label, &ask(&model.query, "end", &session.id))) }
                            } @else if viewer.rights.admin {
                                a.btn.sm href=(ask(&model.query, "end", &session.id)) { (access::END_OTHER_SESSION.of(language)) span.vh { " " (label) } }
                            }
                        }
                    }
                }
            }
        }
        (named_table_foot(viewer, &model.sessions_page, &pages_of(viewer, access::SESSIONS)))
    };
    flush_panel(&head, body)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::text::Language;

    #[test]
    fn the_own_row_offers_nothing_that_would_be_refused() {
        let mut viewer =
            Viewer::without_session(Language::English, TimeZone::UTC, Moment::default());
        viewer.rights.admin = true;
        viewer.user = "user adm".to_owned();
        let user = |name: &str| UserLine {
            name: name.to_owned(),
            role: ViewerRole::Admin,
            is_locked: false,
            is_disabled: false,
            last_used: None,
        };
        let token = |name: &str| TokenLine { name: name.to_owned(), ..TokenLine::default() };
        let model = AccessPageModel {
            users: vec![user("adm"), user("jo")],
            tokens: vec![token("adm"), token("ops")],
            ..AccessPageModel::default()
        };
        let offers = |page: &str, action: &str, name: &str| {
            page.contains(&format!("ask={action}&amp;name={name}\""))
        };
        let page = render(&model, &viewer).into_string();
        for action in ["disable", "role", "remove"] {
            assert!(!offers(&page, action, "adm"), "{action}: {page}");
            assert!(offers(&page, action, "jo"), "{action}: {page}");
        }
        assert!(offers(&page, "password", "adm") && offers(&page, "revoke", "adm"), "{page}");
        viewer.user = "token ops".to_owned();
        let page = render(&model, &viewer).into_string();
        assert!(!offers(&page, "revoke", "ops") && offers(&page, "revoke", "adm"), "{page}");
        assert!(offers(&page, "rotate", "ops") && offers(&page, "remove", "adm"), "{page}");
    }

    #[test]
    fn an_address_gives_back_its_state() {
        let query = AccessPageQuery {
            ask: "revoke".into(),
            q: "back".into(),
            name: "worker/10.4.2.31:8888".into(),
            users: "a b".into(),
            tokens: "c".into(),
            sessions: "7.d".into(),
            users_sort: SortBy::descending("role"),
            tokens_sort: SortBy::ascending("ends"),
            sessions_sort: SortBy::descending("used"),
        };
        assert_eq!(AccessPageQuery::parse(query.address().split_once('?').unwrap().1), query);
    }
}
