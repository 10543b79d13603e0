//! The dialogs before an action on boxes and leases.

use reelyard_boxes::box_lease::BoxViewHandle;
use reelyard_console::Viewer;
use reelyard_console::address::{ROOT, encoded};
use reelyard_console::pages::boxes::BoxesPageQuery;
use reelyard_console::parts::act::{CommandLines, CurlCall};
use reelyard_console::parts::dialog::AskDialog;
use reelyard_console::text::outcomes;

/// The dialog that the state of the page asks for. None for an unknown action or thing.
pub fn of_query(
    views: &BoxViewHandle,
    query: &BoxesPageQuery,
    viewer: &Viewer,
) -> Option<AskDialog> {
    match query.ask.as_str() {
        "revoke" => revoke(views, query, viewer),
        "quarantine" => quarantine(query, viewer),
        _ => None,
    }
}

fn revoke(views: &BoxViewHandle, query: &BoxesPageQuery, viewer: &Viewer) -> Option<AskDialog> {
    let language = viewer.language;
    let lease = views.lease(query.lease.parse().ok()?).ok()?;
    let (id, number) = (lease.id.to_string(), lease.number.to_string());
    let words = ["box", "revoke", &id];
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
        commands: CommandLines {
            reelyard: words.map(str::to_owned).to_vec(),
            curl: Some(CurlCall {
                method: "POST".to_owned(),
                path: format!("/leases/{}/revoke", encoded(&id)),
                body: "{}".to_owned(),
            }),
        },
        ..AskDialog::default()
    })
}

fn quarantine(query: &BoxesPageQuery, viewer: &Viewer) -> Option<AskDialog> {
    let language = viewer.language;
    let number = query.number?.to_string();
    let place = format!("{}/{number}", encoded(&query.pool));
    let words = ["box", "quarantine", &query.pool, &number, "--reason", "…"];
    Some(AskDialog {
        question: outcomes::ASK_QUARANTINE.fill(language, &[("n", &number)]),
        consequence: outcomes::ASK_QUARANTINE_TEXT.of(language).to_owned(),
        names: vec![(format!("{} {number}", query.pool), String::new())],
        things: 1,
        verb: outcomes::VERB_QUARANTINE.of(language).to_owned(),
        action: format!("{ROOT}/boxes/{place}/quarantine"),
        reason_label: Some(outcomes::REASON_NEEDED.of(language).to_owned()),
        back: BoxesPageQuery { ask: String::new(), ..query.clone() }.address(),
        commands: CommandLines {
            reelyard: words.map(str::to_owned).to_vec(),
            curl: Some(CurlCall {
                method: "POST".to_owned(),
                path: format!("/pools/{}/boxes/{number}/quarantine", encoded(&query.pool)),
                body: "{\"reason\":\"…\"}".to_owned(),
            }),
        },
        ..AskDialog::default()
    })
}
