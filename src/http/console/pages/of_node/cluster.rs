//! `/console/cluster`: the nodes of the cluster.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_api::{MemberInfo, MemberRank};
use reelyard_console::Viewer;
use reelyard_console::address::ROOT;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::cluster::{
    self, ClusterPageModel, ClusterPageQuery, MemberLine, NodeRank,
};
use reelyard_console::parts::act::CommandLines;
use reelyard_console::parts::dialog::{AskDialog, AskField};
use reelyard_console::text::{Language, cluster as text, outcomes};

use crate::http::api::cluster_calls::cluster::view;
use crate::http::console::answer;
use crate::http::console::live_part::LivePart;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;

/// `GET /console/cluster`.
pub async fn show(
    request: HttpRequest,
    state: Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::YardRead)?;
    let query = ClusterPageQuery::parse(request.query_string());
    let model = model(&state);
    let ask = dialog(&query, &model, &visitor);
    let model = ClusterPageModel { ask, ..model };
    let parts = parts(&model, &visitor.viewer);
    Ok(answer::live_page(&request, &state, &visitor, &parts, "cluster"))
}

/// The part of the page that follows changes.
pub fn live_parts(state: &NodeHttpState, viewer: &Viewer) -> Vec<LivePart> {
    vec![("cluster-content".to_owned(), cluster::cluster_content(viewer, &model(state)))]
}

/// The page around this model.
pub fn parts(model: &ClusterPageModel, viewer: &Viewer) -> PageParts {
    let content = cluster::render(model, viewer);
    PageParts::new(NavPage::Cluster, NavPage::Cluster.title().of(viewer.language), content)
}

/// The cluster as this node knows it.
pub fn model(state: &NodeHttpState) -> ClusterPageModel {
    let view = view(state);
    let own = view.node;
    ClusterPageModel {
        members: view.members.into_iter().map(|member| line(member, own)).collect(),
        leader: view.leader,
        epoch: view.epoch.0,
        leaders: view.leader_changes,
        forwarded: view.forwarded,
        refused: view.refused.into_iter().collect(),
        hindrance: view.hindrance,
        warnings: view.warnings,
        invited: None,
        ask: None,
    }
}

fn line(member: MemberInfo, own: u64) -> MemberLine {
    MemberLine {
        number: member.number,
        is_own: member.number == own,
        rank: match member.rank {
            MemberRank::Leader => NodeRank::Leader,
            MemberRank::Voter => NodeRank::Voter,
            MemberRank::Learner => NodeRank::Learner,
        },
        address: member.cluster_address,
        api: member.api_address,
        behind: member.behind.map(|entries| {
            (entries, member.behind_bytes.unwrap_or(0), member.behind_ms.unwrap_or(0))
        }),
        contact_ms: member.contact_ms,
        round_trip_us: member.round_trip_us,
        skew_ms: member.clock_skew_ms,
        snapshot: member.snapshot.map(|snapshot| (snapshot.sent, snapshot.bytes)),
        level: u64::from(member.format_level),
        version: member.version.unwrap_or_default(),
        differs: member.settings_differ,
        trouble: member.trouble,
    }
}

/// The dialog that the state of the page asks for. None for an unknown word, or without the right.
fn dialog(
    query: &ClusterPageQuery,
    model: &ClusterPageModel,
    visitor: &Visitor,
) -> Option<AskDialog> {
    let (language, rights) = (visitor.viewer.language, visitor.viewer.rights);
    let base = AskDialog {
        things: 1,
        reason_label: Some(outcomes::REASON.of(language).to_owned()),
        back: ClusterPageQuery::path().to_owned(),
        ..AskDialog::default()
    };
    if query.ask == "invite" && model.has_no_address() {
        return None;
    }
    if query.ask == "invite" {
        let body = "{\"name\":\"invite-1\",\"scopes\":[\"cluster:join\"],\"ttl\":\"15m\"}";
        return rights.admin.then(|| AskDialog {
            question: text::ASK_INVITE.of(language).to_owned(),
            consequence: text::ASK_INVITE_TEXT.of(language).to_owned(),
            verb: text::VERB_INVITE.of(language).to_owned(),
            action: format!("{ROOT}/cluster/invite"),
            commands: CommandLines::new(&["cluster", "invite"], ("POST", "/tokens", body)),
            ..base
        });
    }
    let number: u64 = query.node.parse().ok().filter(|_| rights.cluster)?;
    let number = number.to_string();
    let (named, path) = ([("node", number.as_str())], format!("/cluster/members/{number}"));
    let action = format!("{ROOT}{path}/{}", query.ask);
    match query.ask.as_str() {
        "promote" => Some(AskDialog {
            question: text::ASK_PROMOTE.fill(language, &named),
            consequence: text::ASK_PROMOTE_TEXT.of(language).to_owned(),
            verb: text::VERB_PROMOTE.of(language).to_owned(),
            action,
            commands: CommandLines::new(
                &["cluster", "promote", &number],
                ("POST", &format!("{path}/promote"), ""),
            ),
            ..base
        }),
        "replace" => Some(AskDialog { action, ..replace_dialog(query, model, language, base) }),
        "transfer" => Some(AskDialog {
            question: text::ASK_TRANSFER.fill(language, &named),
            consequence: text::ASK_TRANSFER_TEXT.of(language).to_owned(),
            verb: text::VERB_TRANSFER.of(language).to_owned(),
            action,
            commands: CommandLines::new(
                &["cluster", "transfer", &number],
                ("POST", &format!("/cluster/transfer?to={number}"), ""),
            ),
            ..base
        }),
        "remove" => Some(AskDialog {
            question: text::ASK_REMOVE.fill(language, &named),
            consequence: text::ASK_REMOVE_TEXT.of(language).to_owned(),
            is_final: true,
            verb: text::VERB_REMOVE.of(language).to_owned(),
            action,
            commands: CommandLines::new(&["cluster", "remove", &number], ("DELETE", &path, "")),
            ..base
        }),
        _ => None,
    }
}

/// The dialog that replaces a member by another one.
fn replace_dialog(
    query: &ClusterPageQuery,
    model: &ClusterPageModel,
    language: Language,
    base: AskDialog,
) -> AskDialog {
    let old = &query.node;
    let mut others: Vec<&MemberLine> =
        model.members.iter().filter(|member| member.number.to_string() != *old).collect();
    // A node that has just joined comes first.
    others.sort_by_key(|member| (member.rank != NodeRank::Learner, member.number));
    let others: Vec<String> = others.iter().map(|member| member.number.to_string()).collect();
    let chosen = others.iter().find(|number| **number == query.by).or(others.first());
    let by = chosen.cloned().unwrap_or_default();
    let field = AskField {
        label: text::REPLACED_BY.of(language).to_owned(),
        name: "by".to_owned(),
        value: by.clone(),
        choices: others.into_iter().map(|number| (number.clone(), number)).collect(),
        is_needed: true,
        ..AskField::default()
    };
    let asked = ClusterPageQuery { by: String::new(), ..query.clone() };
    AskDialog {
        question: text::ASK_REPLACE.fill(language, &[("node", old)]),
        consequence: text::ASK_REPLACE_TEXT.of(language).to_owned(),
        is_final: true,
        verb: text::VERB_REPLACE.of(language).to_owned(),
        commands: CommandLines::new(
            &["cluster", "replace", old, &by],
            ("POST", &format!("/cluster/members/{old}/replace?by={by}"), ""),
        ),
        follow: Some(format!("{}&", asked.address())),
        fields: vec![field],
        ..base
    }
}
