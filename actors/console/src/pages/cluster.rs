//! The nodes of the cluster: who leads, who votes, who is behind, and what needs attention.

use maud::{Markup, html};

use crate::address::page_query;
use crate::format::{bytes, count, node_text, percent, visible_text};
use crate::frame::NavPage;
use crate::parts::act::{command, reelyard_command};
use crate::parts::dialog::{AskDialog, ask_dialog};
use crate::parts::icon::{Glyph, icon};
use crate::parts::mark::{StateMark, Tone, state, tag};
use crate::parts::notice::notice;
use crate::parts::panel::{Figure, PanelHead, figure_strip, flush_panel, page_head};
use crate::text::{Text, cluster, common};
use crate::viewer::Viewer;

page_query! {
    /// Query parameters of the page Cluster.
    ClusterPageQuery at "/cluster" {
        /// Action whose dialog is open: `invite`, `promote`, `replace`, `transfer` or `remove`.
        ask: String,
        /// Number of the member of the dialog.
        node: String,
        /// Number of the member that replaces it.
        by: String,
    }
}

/// Whether a node leads, votes, or only copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeRank {
    /// It leads.
    Leader,
    /// It votes, and follows the leader.
    #[default]
    Voter,
    /// It has no vote yet.
    Learner,
}

impl NodeRank {
    const fn mark(self) -> StateMark {
        match self {
            NodeRank::Leader => StateMark::new(Glyph::Up, Tone::Ok, cluster::LEADER),
            NodeRank::Voter => StateMark::new(Glyph::Done, Tone::Plain, cluster::VOTER),
            NodeRank::Learner => StateMark::new(Glyph::Work, Tone::Work, cluster::LEARNER),
        }
    }
}

/// A row of the table of nodes.
#[derive(Clone, Debug, Default)]
pub struct MemberLine {
    /// The number that the cluster gave it.
    pub number: u64,
    /// It answers this page.
    pub is_own: bool,
    /// Its part in decisions.
    pub rank: NodeRank,
    /// Where other nodes reach it.
    pub address: String,
    /// Where clients reach it.
    pub api: String,
    /// Entries that it lacks, about how many bytes, and for how many milliseconds. Only the leader knows.
    pub behind: Option<(u64, u64, u64)>,
    /// Milliseconds since its last message.
    pub contact_ms: Option<u64>,
    /// Microseconds of a small message there and back.
    pub round_trip_us: Option<u64>,
    /// Milliseconds by which its wall clock is ahead.
    pub skew_ms: Option<i64>,
    /// Sent bytes and all bytes of a snapshot on its way.
    pub snapshot: Option<(u64, u64)>,
    /// Highest format level of its program.
    pub level: u64,
    /// Version of its program.
    pub version: String,
    /// Its file has other settings of the cluster.
    pub differs: bool,
    /// Why it does not take part.
    pub trouble: Option<String>,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct ClusterPageModel {
    /// The members by number.
    pub members: Vec<MemberLine>,
    /// Number of the leader.
    pub leader: Option<u64>,
    /// The newest term that the node knows.
    pub epoch: u64,
    /// Leaders that began since the start of the node.
    pub leaders: u64,
    /// Requests that the node passed on.
    pub forwarded: u64,
    /// Connections between nodes that one side refused, by reason.
    pub refused: Vec<(String, u64)>,
    /// Why no change would succeed now.
    pub hindrance: Option<String>,
    /// Further warnings, one sentence each.
    pub warnings: Vec<String>,
    /// The command with the secret of an invitation that was just made. It is shown only once.
    pub invited: Option<String>,
    /// Dialog of an action.
    pub ask: Option<AskDialog>,
}

impl ClusterPageModel {
    /// Whether no other node can reach the leader: then it invites nobody.
    pub fn has_no_address(&self) -> bool {
        let leader = self.members.iter().find(|member| Some(member.number) == self.leader);
        leader.is_some_and(|leader| leader.address.is_empty())
    }
}

/// The content of the page.
pub fn render(model: &ClusterPageModel, viewer: &Viewer) -> Markup {
    let language = viewer.language;
    html! {
        (page_head(NavPage::Cluster.title().of(language), cluster::SENTENCE.of(language), invite(viewer, model)))
        @if let Some(join) = &model.invited {
            div.mb { (notice(Tone::Work, cluster::INVITED.of(language), command(language, join), html! {})) }
        }
        (cluster_content(viewer, model))
        @if let Some(ask) = &model.ask { (ask_dialog(viewer, ask)) }
    }
}

/// Warnings, figures and members. The id is `cluster-content`, for live updates.
pub fn cluster_content(viewer: &Viewer, model: &ClusterPageModel) -> Markup {
    let language = viewer.language;
    let warn = |tone: Tone, title: Text, lines: &[String]| {
        let lines = html! { @for line in lines { p { bdi { (node_text(language, line)) } } } };
        html! { div.mb { (notice(tone, title.of(language), lines, html! {})) } }
    };
    html! {
        div #cluster-content {
            @if let Some(why) = &model.hindrance {
                (warn(Tone::Bad, cluster::NO_CHANGE, std::slice::from_ref(why)))
            }
            @if !model.warnings.is_empty() {
                (warn(Tone::Warn, cluster::ATTENTION, &model.warnings))
            }
            @if model.members.len() < 2 { (alone(viewer)) }
            div.mb { (figure_strip("cluster-figures", "s4", NavPage::Cluster.title().of(language), &figures(viewer, model))) }
            (members(viewer, model))
            @if !model.refused.is_empty() { (refused(viewer, &model.refused)) }
        }
    }
}

fn refused(viewer: &Viewer, counts: &[(String, u64)]) -> Markup {
    let title = cluster::REFUSED.of(viewer.language);
    let head = PanelHead { id: "cluster-refused", title: title.to_owned(), ..PanelHead::default() };
    let reasons = html! {
        div.tw tabindex="0" role="group" aria-label=(title) {
            table {
                @for (reason, times) in counts {
                    tr { th scope="row" lang="en" { (reason) } td.num { (count(*times)) } }
                }
            }
        }
    };
    flush_panel(&head, reasons)
}

/// How a node that runs alone becomes the first one of a cluster.
fn alone(viewer: &Viewer) -> Markup {
    let language = viewer.language;
    let body = html! {
        p { (cluster::ALONE_TEXT.of(language)) }
        (reelyard_command(viewer, &["config", "reload"]))
        (reelyard_command(viewer, &["cluster", "invite"]))
        (command(language, "reelyard cluster join --at HOST:8082 --secret SECRET --config node.toml"))
    };
    html! { div.mb { (notice(Tone::Work, cluster::ALONE.of(language), body, html! {})) } }
}

fn invite(viewer: &Viewer, model: &ClusterPageModel) -> Markup {
    let language = viewer.language;
    html! {
        @if viewer.rights.admin && model.has_no_address() {
            span #no-address .muted { (cluster::NO_ADDRESS.of(language)) }
            span.btn role="link" aria-disabled="true" aria-describedby="no-address" { (icon(Glyph::Plus)) (cluster::INVITE.of(language)) }
        } @else if viewer.rights.admin {
            a.btn href=(ask("invite", "")) { (icon(Glyph::Plus)) (cluster::INVITE.of(language)) }
        }
    }
}

fn ask(action: &str, node: &str) -> String {
    ClusterPageQuery { ask: action.to_owned(), node: node.to_owned(), by: String::new() }.address()
}

fn figures(viewer: &Viewer, model: &ClusterPageModel) -> Vec<Figure> {
    let language = viewer.language;
    let figure = |name: Text, value: String, detail: String| Figure {
        name: name.of(language).to_owned(),
        value,
        detail,
        ..Figure::default()
    };
    let voters = model.members.iter().filter(|line| line.rank != NodeRank::Learner).count() as u64;
    let leader = match model.leader {
        Some(leader) => leader.to_string(),
        None => cluster::NOBODY.of(language).to_owned(),
    };
    let epoch = cluster::EPOCH.fill(language, &[("epoch", &model.epoch.to_string())]);
    let majority = cluster::MAJORITY.fill(language, &[("n", &count(voters / 2 + 1))]);
    let since = cluster::SINCE_START.of(language).to_owned();
    vec![
        figure(cluster::LED_BY, leader, epoch),
        figure(cluster::VOTERS, count(voters), majority),
        figure(cluster::LEADERS, count(model.leaders), since.clone()),
        figure(cluster::PASSED_ON, count(model.forwarded), since),
    ]
}

fn members(viewer: &Viewer, model: &ClusterPageModel) -> Markup {
    let language = viewer.language;
    let head = PanelHead {
        id: "cluster-members",
        class: "mb",
        title: cluster::MEMBERS.of(language).to_owned(),
        remark: count(model.members.len() as u64),
        ..PanelHead::default()
    };
    let columns = [cluster::NODE, cluster::RANK, cluster::ADDRESS];
    let figures =
        [cluster::BEHIND, cluster::CONTACT, cluster::ROUND_TRIP, cluster::SKEW, cluster::LEVEL];
    let body = html! {
        div.tw tabindex="0" role="group" aria-label=(cluster::MEMBERS.of(language)) {
            table.cards {
                thead { tr {
                    @for column in columns { th scope="col" { (column.of(language)) } }
                    @for column in figures { th.num scope="col" { (column.of(language)) } }
                    th.act scope="col" { span.vh { (common::ACTIONS.of(language)) } }
                } }
                tbody { @for line in &model.members { (member(viewer, model, line)) } }
            }
        }
    };
    flush_panel(&head, body)
}

fn member(viewer: &Viewer, model: &ClusterPageModel, line: &MemberLine) -> Markup {
    let language = viewer.language;
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    let lag = line.behind.filter(|(entries, ..)| *entries > 0);
    let lag =
        lag.map(|(_, size, ms)| format!("{}, {}.{} s", bytes(size), ms / 1000, ms % 1000 / 100));
    let millis = |value: u64| format!("{} ms", count(value));
    let round_trip = line.round_trip_us.map(|us| format!("{}.{:02} ms", us / 1000, us % 1000 / 10));
    html! {
        tr {
            td.b data-l=(cluster::NODE.of(language)) { (line.number) @if line.is_own { " " (tag(None, Tone::Work, cluster::THIS_NODE.of(language))) } }
            td.wide data-l=(cluster::RANK.of(language)) {
                @if let Some(why) = &line.trouble {
                    (state(language, StateMark { glyph: Glyph::Down, tone: Tone::Bad, ..line.rank.mark() }))
                    " " small.muted { bdi { (node_text(language, why)) } }
                } @else { (state(language, line.rank.mark())) }
                @if line.differs { " " (tag(Some(Glyph::Warn), Tone::Warn, cluster::OTHER_SETTINGS.of(language))) }
                @if let Some((sent, all)) = line.snapshot {
                    @let share = percent(if all == 0 { 100.0 } else { sent as f64 * 100.0 / all as f64 });
                    " " (tag(Some(Glyph::Work), Tone::Work, &cluster::SNAPSHOT.fill(language, &[("percent", &share), ("bytes", &bytes(all))])))
                }
            }
            td.two.wide.nw data-l=(cluster::ADDRESS.of(language)) { span.mono { (visible_text(&line.address)) } small { bdi { (visible_text(&line.api)) } } }
            td.num.two data-l=(cluster::BEHIND.of(language)) {
                (or_dash(line.behind.map(|(entries, ..)| count(entries))))
                @if let Some(lag) = lag { small.nw { (lag) } }
            }
            td.num data-l=(cluster::CONTACT.of(language)) { (or_dash(line.contact_ms.map(millis))) }
            td.num data-l=(cluster::ROUND_TRIP.of(language)) { (or_dash(round_trip)) }
            td.num data-l=(cluster::SKEW.of(language)) { (or_dash(line.skew_ms.map(|ms| format!("{ms} ms")))) }
            td.num data-l=(cluster::LEVEL.of(language)) { (line.level) @if !line.version.is_empty() { " " small.muted { (line.version) } } }
            td.act { @if viewer.rights.cluster { (actions(viewer, line, &model.members)) } }
        }
    }
}

fn actions(viewer: &Viewer, line: &MemberLine, members: &[MemberLine]) -> Markup {
    let language = viewer.language;
    let number = line.number.to_string();
    html! {
        @match line.rank {
            NodeRank::Learner => { a.btn.sm href=(ask("promote", &number)) { (cluster::PROMOTE.of(language)) } " " }
            NodeRank::Voter => { a.btn.sm href=(ask("transfer", &number)) { (cluster::TRANSFER.of(language)) } " " }
            NodeRank::Leader => {}
        }
        @if members.len() > 1 && line.rank != NodeRank::Learner {
            a.btn.sm href=(ask("replace", &number)) { (cluster::REPLACE.of(language)) } " "
        }
        @if members.len() > 1 {
            a.btn.sm href=(ask("remove", &number)) { (cluster::REMOVE.of(language)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::text::Language;
    use crate::viewer::Moment;

    fn shown(model: &ClusterPageModel, is_admin: bool) -> String {
        let mut viewer =
            Viewer::without_session(Language::English, TimeZone::UTC, Moment::default());
        viewer.rights.admin = is_admin;
        viewer.rights.cluster = is_admin;
        render(model, &viewer).into_string()
    }

    #[test]
    fn an_address_gives_back_its_state() {
        let query = ClusterPageQuery { ask: "replace".into(), node: "3".into(), by: "4".into() };
        assert_eq!(ClusterPageQuery::parse(query.address().split_once('?').unwrap().1), query);
    }

    #[test]
    fn actions_are_shown_only_to_those_who_may_act() {
        let address = || "10.0.0.1:8082".to_owned();
        let line =
            |number, rank| MemberLine { number, rank, address: address(), ..MemberLine::default() };
        let members =
            vec![line(1, NodeRank::Leader), line(2, NodeRank::Learner), line(3, NodeRank::Voter)];
        let model = ClusterPageModel { members, leader: Some(1), ..ClusterPageModel::default() };
        let page = shown(&model, true);
        for wanted in [
            "ask=invite",
            "ask=promote&amp;node=2",
            "ask=replace&amp;node=1",
            "ask=transfer&amp;node=3",
            "ask=remove&amp;node=1",
        ] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        for refused in
            ["ask=promote&amp;node=1", "ask=replace&amp;node=2", "ask=transfer&amp;node=1"]
        {
            assert!(!page.contains(refused), "{refused}: {page}");
        }
        let page = shown(&model, false);
        assert!(!page.contains("ask="), "{page}");
    }

    #[test]
    fn a_node_alone_is_shown_the_way_to_a_cluster() {
        let alone = ClusterPageModel {
            members: vec![MemberLine { number: 1, is_own: true, ..MemberLine::default() }],
            ..ClusterPageModel::default()
        };
        let page = shown(&alone, true);
        assert!(page.contains("reelyard cluster join") && !page.contains("ask=remove"), "{page}");
    }

    #[test]
    fn a_node_without_an_address_says_why_it_invites_nobody() {
        let member = MemberLine { number: 1, rank: NodeRank::Leader, ..MemberLine::default() };
        let mut model = ClusterPageModel {
            members: vec![member],
            leader: Some(1),
            ..ClusterPageModel::default()
        };
        let page = shown(&model, true);
        assert!(!page.contains("ask=invite") && page.contains("aria-disabled=\"true\""), "{page}");
        assert!(page.contains("cluster.listen is not set"), "{page}");
        assert!(!shown(&model, false).contains("cluster.listen is not set"));
        model.members[0].address = "10.0.0.1:8082".to_owned();
        assert!(shown(&model, true).contains("ask=invite"));
    }
}
