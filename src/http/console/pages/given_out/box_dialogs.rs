//! The dialogs before an action on boxes and leases.

use reelyard_boxes::box_lease::BoxViewHandle;
use reelyard_console::Viewer;
use reelyard_console::address::{ROOT, encoded};
use reelyard_console::pages::boxes::BoxesPageQuery;
use reelyard_console::parts::act::CommandLines;
use reelyard_console::parts::dialog::{AskDialog, AskField, typed_reason};
use reelyard_console::text::{Text, access, boxes, outcomes};
use reelyard_protocol::boxes::PoolName;
use serde_json::json;

/// The word of the dialog of a new pool in addresses.
pub const NEW_POOL: &str = "new-pool";

/// The dialog of a new pool with what was typed, by the names of its fields.
pub fn new_pool(viewer: &Viewer, typed: &dyn Fn(&str) -> String) -> AskDialog {
    let language = viewer.language;
    let field = |label: Text, name: &str, is_needed: bool| AskField {
        label: label.of(language).to_owned(),
        name: name.to_owned(),
        value: typed(name),
        is_needed,
        ..AskField::default()
    };
    AskDialog {
        question: outcomes::ASK_NEW_POOL.of(language).to_owned(),
        consequence: outcomes::ASK_NEW_POOL_TEXT.of(language).to_owned(),
        things: 1,
        verb: outcomes::VERB_NEW_POOL.of(language).to_owned(),
        action: format!("{ROOT}/pools/new"),
        commands: pool_lines(typed),
        follow: Some(format!("{}?ask={NEW_POOL}&", BoxesPageQuery::path())),
        fields: vec![
            field(access::NAME, "name", true),
            field(outcomes::FIELD_SIZE, "size", true),
            field(outcomes::FIELD_POOL_HOST, "host", false),
            field(outcomes::FIELD_POOL_TTL, "ttl_default", false),
        ],
        reason_label: Some(outcomes::REASON.of(language).to_owned()),
        back: BoxesPageQuery::path().to_owned(),
        ..AskDialog::default()
    }
}

/// The lines that create the pool of the form.
fn pool_lines(typed: &dyn Fn(&str) -> String) -> CommandLines {
    let or = |name: &str, example: &str| match typed(name).trim() {
        "" => example.to_owned(),
        given => given.to_owned(),
    };
    let (name, size) = (or("name", "judges"), or("size", "8"));
    let mut words = ["box", "pools", "put", &name, "--size", &size].map(str::to_owned).to_vec();
    let mut body = json!({ "size": size });
    if let Ok(size) = size.parse::<u32>() {
        body["size"] = json!(size);
    }
    for (field, option) in [("host", "host"), ("ttl_default", "ttl-default")] {
        let value = or(field, "");
        if !value.is_empty() {
            words.push(format!("--{option}={value}"));
            body[field] = json!(value);
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    CommandLines::new(&words, ("PUT", &format!("/pools/{}", encoded(&name)), &body.to_string()))
}

/// The dialog that the state of the page asks for. None for an unknown action or thing.
pub fn of_query(
    views: &BoxViewHandle,
    query: &BoxesPageQuery,
    viewer: &Viewer,
) -> Option<AskDialog> {
    match query.ask.as_str() {
        "revoke" => revoke(views, query, viewer),
        "quarantine" => of_present_box(views, query, viewer, quarantine),
        "unquarantine" => of_present_box(views, query, viewer, unquarantine),
        _ => None,
    }
}

/// A dialog about the box of the query. One about a box that the pool lacks only says so.
fn of_present_box(
    views: &BoxViewHandle,
    query: &BoxesPageQuery,
    viewer: &Viewer,
    dialog: fn(&BoxesPageQuery, &Viewer) -> Option<AskDialog>,
) -> Option<AskDialog> {
    let number = query.number?;
    let pool = PoolName::new(&query.pool).ok().and_then(|name| views.pool(&name).ok());
    let numbers = pool.map(|pool| (u64::from(pool.spec.first_id.0), u64::from(pool.spec.size)));
    match numbers {
        Some((first, size)) if (first..first + size).contains(&number) => dialog(query, viewer),
        _ => Some(AskDialog {
            left_out: vec![no_box(query, number, numbers, viewer)],
            things: 0,
            ..of_box(query, &query.ask)?
        }),
    }
}

/// The sentence about a box that does not exist. `numbers` are the first number and the size of its pool.
fn no_box(
    query: &BoxesPageQuery,
    number: u64,
    numbers: Option<(u64, u64)>,
    viewer: &Viewer,
) -> String {
    let (language, pool) = (viewer.language, query.pool.as_str());
    match numbers {
        None => boxes::NO_SUCH_POOL.fill(language, &[("pool", pool)]),
        Some((_, 0)) => boxes::NO_BOX_AT_ALL.fill(language, &[("pool", pool)]),
        Some((first, size)) => {
            let (first, last) = (first.to_string(), (first + size - 1).to_string());
            let (number, first, last) = (number.to_string(), first.as_str(), last.as_str());
            let values = [("pool", pool), ("n", &number), ("first", first), ("last", last)];
            boxes::NO_SUCH_BOX.fill(language, &values)
        }
    }
}

fn revoke(views: &BoxViewHandle, query: &BoxesPageQuery, viewer: &Viewer) -> Option<AskDialog> {
    let language = viewer.language;
    let lease = views.lease(query.lease.parse().ok()?).ok()?;
    let (id, number) = (lease.id.to_string(), lease.number.to_string());
    let reason = typed_reason(viewer);
    let body = if reason.is_empty() { json!({}) } else { json!({ "reason": reason }) };
    let back = BoxesPageQuery { ask: String::new(), lease: String::new(), ..query.clone() };
    Some(AskDialog {
        question: outcomes::ASK_REVOKE_LEASE.fill(language, &[("n", &number)]),
        consequence: outcomes::ASK_REVOKE_LEASE_TEXT.of(language).to_owned(),
        names: vec![(lease.holder.to_string(), format!("{} {number}", lease.pool))],
        things: 1,
        is_final: true,
        verb: outcomes::VERB_REVOKE.of(language).to_owned(),
        action: format!("{ROOT}/leases/{}/revoke", encoded(&id)),
        reason_label: Some(outcomes::REASON.of(language).to_owned()),
        back: back.address(),
        commands: CommandLines::new(
            &["box", "revoke", &id],
            ("POST", &format!("/leases/{}/revoke", encoded(&id)), &body.to_string()),
        ),
        ..AskDialog::default()
    })
}

fn quarantine(query: &BoxesPageQuery, viewer: &Viewer) -> Option<AskDialog> {
    let language = viewer.language;
    let (number, path) = (query.number?.to_string(), box_path(query)?);
    let reason = typed_reason(viewer);
    let mut words = vec!["box", "quarantine", &query.pool, &number];
    // The call needs a reason; a typed one stands behind these words.
    if reason.is_empty() {
        words.push("--reason=…");
    }
    let given = if reason.is_empty() { "…" } else { reason.as_str() };
    let body = json!({ "reason": given }).to_string();
    Some(AskDialog {
        question: outcomes::ASK_QUARANTINE.fill(language, &[("n", &number)]),
        consequence: outcomes::ASK_QUARANTINE_TEXT.of(language).to_owned(),
        verb: outcomes::VERB_QUARANTINE.of(language).to_owned(),
        reason_label: Some(outcomes::REASON_NEEDED.of(language).to_owned()),
        commands: CommandLines::new(&words, ("POST", &format!("{path}/quarantine"), &body)),
        ..of_box(query, "quarantine")?
    })
}

fn unquarantine(query: &BoxesPageQuery, viewer: &Viewer) -> Option<AskDialog> {
    let language = viewer.language;
    let (number, path) = (query.number?.to_string(), box_path(query)?);
    let words = ["box", "unquarantine", &query.pool, &number];
    Some(AskDialog {
        question: outcomes::ASK_UNQUARANTINE.fill(language, &[("n", &number)]),
        consequence: outcomes::ASK_UNQUARANTINE_TEXT.of(language).to_owned(),
        verb: outcomes::VERB_UNQUARANTINE.of(language).to_owned(),
        reason_label: Some(outcomes::REASON.of(language).to_owned()),
        commands: CommandLines::new(&words, ("POST", &format!("{path}/unquarantine"), "")),
        ..of_box(query, "unquarantine")?
    })
}

/// The path of the box in the API.
fn box_path(query: &BoxesPageQuery) -> Option<String> {
    Some(format!("/pools/{}/boxes/{}", encoded(&query.pool), query.number?))
}

/// The parts that dialogs about one box share.
fn of_box(query: &BoxesPageQuery, action: &str) -> Option<AskDialog> {
    let number = query.number?;
    Some(AskDialog {
        names: vec![(format!("{} {number}", query.pool), String::new())],
        things: 1,
        action: format!("{ROOT}/boxes/{}/{number}/{action}", encoded(&query.pool)),
        back: BoxesPageQuery { ask: String::new(), ..query.clone() }.address(),
        ..AskDialog::default()
    })
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use reelyard_console::Moment;
    use reelyard_console::text::Language;

    use super::*;

    #[test]
    fn an_absent_box_is_named_with_the_boxes_of_its_pool() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        let query = BoxesPageQuery {
            pool: "judges".to_owned(),
            number: Some(77),
            ask: "quarantine".to_owned(),
            ..BoxesPageQuery::default()
        };
        let words = |numbers| no_box(&query, 77, numbers, &viewer);
        assert_eq!(words(Some((0, 8))), "Pool judges has no box 77. Its boxes are 0 to 7.");
        assert_eq!(words(Some((0, 0))), "Pool judges has no boxes.");
        assert_eq!(words(None), "There is no pool judges.");
        let ask = of_query(&BoxViewHandle::default(), &query, &viewer).unwrap();
        assert_eq!((ask.things, ask.left_out), (0, vec![words(None)]));
    }

    #[test]
    fn the_lines_of_a_new_pool_follow_its_fields() {
        let fields = [("name", "gpu"), ("size", " 4"), ("host", "10.0.0.9:8888")];
        let typed = |name: &str| {
            let found = fields.iter().find(|(field, _)| *field == name);
            found.map_or_else(String::new, |(_, value)| (*value).to_owned())
        };
        let lines = pool_lines(&typed);
        assert_eq!(lines.reelyard[0].join(" "), "box pools put gpu --size 4 --host=10.0.0.9:8888");
        let call = &lines.curl[0];
        assert_eq!(call.path, "/pools/gpu");
        assert_eq!(call.body, "{\"host\":\"10.0.0.9:8888\",\"size\":4}");
        let empty = pool_lines(&|_| String::new());
        assert_eq!(empty.reelyard[0].join(" "), "box pools put judges --size 8");
    }
}
