//! History, audit, settings, access and guide.

use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::access::{
    self, AccessPageModel, AccessPageQuery, SessionLine, TokenLine, UserLine,
};
use reelyard_console::pages::audit::{self, AuditLineView, AuditPageModel, AuditPageQuery};
use reelyard_console::pages::guide::{self, GuideChapter, GuidePageModel};
use reelyard_console::pages::history::{
    self, EndedTroubles, HistoryPageModel, HistoryPageQuery, HistoryRow, HistoryStepFilter,
};
use reelyard_console::pages::settings::{
    self, InputCondition, InputFileLine, RecordedVersion, SettingDifference, SettingEffect,
    SettingLine, SettingsPageModel, SettingsPageQuery, SettingsRecord, ValueOrigin, VersionChanges,
};
use reelyard_console::pages::yard::{EndedTrouble, RecentLine, RecentStep, TroubleCause};
use reelyard_console::parts::act::list_lines_at;
use reelyard_console::parts::table::RowPage;
use reelyard_console::text::Language;
use reelyard_console::{Moment, Viewer, ViewerRole};

use super::{NAMES, NOW, ago};

pub fn past(viewer: &Viewer) -> PageParts {
    let row = |index: usize| HistoryRow {
        line: RecentLine {
            step: [RecentStep::Copied, RecentStep::Removed, RecentStep::Failed][index % 3],
            name: NAMES[index].into(),
            host: "10.4.2.27:8888".into(),
            at: ago(60 + 40_000 * index as i64),
        },
        source: (index % 3 != 1).then(|| "10.4.1.11:8888".to_owned()),
        size: Some(9 << 30),
        asked_by: "planner".into(),
        ending: None,
        reason: if index % 3 == 2 { "no space left on the device".into() } else { String::new() },
    };
    let model = HistoryPageModel {
        kept: 100_000,
        hosts: vec!["10.4.2.27:8888".into()],
        rows: (0..10).map(row).collect(),
        page: RowPage {
            first: 1,
            shown: 10,
            total: None,
            previous: None,
            next: Some("/console/history?after=9".into()),
        },
        span: [None, None],
        troubles: None,
    };
    let query = HistoryPageQuery { host: "10.4.2.27:8888".into(), ..HistoryPageQuery::default() };
    let title = NavPage::History.title().of(viewer.language);
    PageParts::new(NavPage::History, title, history::render(&query, &model, viewer))
}

pub fn ended_troubles(viewer: &Viewer) -> PageParts {
    let host = "10.4.2.27:8888".to_owned();
    let causes = [TroubleCause::Suspect { host }, TroubleCause::NoLeader];
    let rows = causes.map(|cause| EndedTrouble { cause, from: ago(9000), to: ago(8000) });
    let troubles = EndedTroubles { since: ago(90_000), kept: 2, rows: rows.to_vec() };
    let model = HistoryPageModel { troubles: Some(troubles), ..HistoryPageModel::default() };
    let query =
        HistoryPageQuery { step: Some(HistoryStepFilter::Troubles), ..HistoryPageQuery::default() };
    let title = NavPage::History.title().of(viewer.language);
    PageParts::new(NavPage::History, title, history::render(&query, &model, viewer))
}

pub fn changes(viewer: &Viewer) -> PageParts {
    let row = |index: i64| AuditLineView {
        at: ago(300 * index),
        actor: "ops-1".into(),
        address: "10.9.0.14".into(),
        action: "set mode of host".into(),
        object: "10.4.2.38:8888".into(),
        change: "mode: active → maintenance".into(),
        is_refused: index == 2,
        reason: if index == 2 {
            "the role viewer may not change hosts".into()
        } else {
            "new fans".into()
        },
    };
    let model = AuditPageModel {
        matching: Some(412),
        rows: (0..6).map(row).collect(),
        page: RowPage { first: 1, shown: 6, total: Some(412), previous: None, next: None },
        whole_up_to: Some(ago(3600)),
        sorted_among: None,
        broken: None,
        commands: list_lines_at(&["audit", "list"], "/audit", &[], None),
    };
    let title = NavPage::Audit.title().of(viewer.language);
    PageParts::new(NavPage::Audit, title, audit::render(&AuditPageQuery::default(), &model, viewer))
}

pub fn values(viewer: &Viewer) -> PageParts {
    let line = |section: &str, name: &str, value: Option<&str>, origin| SettingLine {
        section: section.into(),
        name: name.into(),
        meaning: "How full a destination may become.".into(),
        value: value.map(String::from),
        origin,
        default: Some("90".into()),
        ..SettingLine::default()
    };
    let model = SettingsPageModel {
        page: RowPage { first: 1, shown: 2, total: Some(2), previous: None, next: None },
        sections: vec!["storage".into(), "task".into()],
        settings: vec![
            line("storage", "limit_percent", Some("90"), ValueOrigin::Default),
            line("storage", "low_water_percent", Some("85"), ValueOrigin::File),
            line("api", "listen", None, ValueOrigin::CommandLine),
            SettingLine {
                is_secret: true,
                ..line("api", "token_secret", Some("hidden-value"), ValueOrigin::Environment)
            },
        ],
        total: 148,
        file: Some("/etc/reelyard/node.toml".into()),
        unusable: None,
        changed: 31,
        differences: vec![
            SettingDifference {
                setting: "storage.limit_percent".into(),
                before: "90".into(),
                after: "88".into(),
                meaning: "How full a destination may become.".into(),
                consequence: "Destinations above 88%: 1. Their worst copies are removed.".into(),
                effect: SettingEffect::AtReload,
                is_for_all_nodes: true,
            },
            SettingDifference {
                setting: "task.timeout".into(),
                before: "\"41m\"".into(),
                after: "\"7m\"".into(),
                meaning: "Longest time of a copy.".into(),
                effect: SettingEffect::Never,
                is_for_all_nodes: true,
                ..SettingDifference::default()
            },
            SettingDifference {
                setting: "api.listen".into(),
                before: "0.0.0.0:8080".into(),
                after: "0.0.0.0:8090".into(),
                meaning: "Address of the API.".into(),
                effect: SettingEffect::AfterRestart,
                ..SettingDifference::default()
            },
        ],
        record: Some(on_record()),
        ask: None,
        inputs: vec![
            InputFileLine {
                setting: "catalog.grade_info_file".into(),
                path: "/data/.grade.info".into(),
                condition: InputCondition::Good,
                detail: String::new(),
                read: Some(ago(30)),
                rows: 18_430,
                bad_rows: 0,
            },
            InputFileLine {
                setting: "catalog.hitcount_file".into(),
                path: "/data/.hitcount.history".into(),
                condition: InputCondition::Unreadable,
                detail: "permission denied".into(),
                read: Some(ago(2760)),
                rows: 120,
                bad_rows: 2,
            },
            InputFileLine { setting: "catalog.event_log".into(), ..InputFileLine::default() },
        ],
    };
    let title = NavPage::Settings.title().of(viewer.language);
    PageParts::new(
        NavPage::Settings,
        title,
        settings::render(&SettingsPageQuery::default(), &model, viewer),
    )
}

fn on_record() -> SettingsRecord {
    let version = |number: u64, by: &str, reason: &str| RecordedVersion {
        number,
        at: ago(90_000 * (8 - number as i64)),
        by: by.into(),
        reason: reason.into(),
    };
    let changed = SettingDifference {
        setting: "hosts.destinations".into(),
        before: "[\"10.4.2.30:8888\"]".into(),
        after: "[\"10.4.2.30:8888\", \"10.4.2.31:8888\"]".into(),
        meaning: "Addresses of the destinations.".into(),
        effect: SettingEffect::OnRecord,
        is_for_all_nodes: true,
        ..SettingDifference::default()
    };
    SettingsRecord {
        newest: 7,
        versions: vec![
            version(7, "token deploy", "one more host"),
            version(6, "ops-1", "the link of the new rack is not ready: <b>wait</b>"),
            version(5, "ops-2", ""),
        ],
        page: RowPage {
            first: 1,
            shown: 3,
            total: Some(7),
            previous: None,
            next: Some("/console/settings?older=5".into()),
        },
        shown: Some(VersionChanges {
            number: 7,
            before: Some(6),
            changes: vec![changed],
            unusable: None,
        }),
        file: "/etc/reelyard/node.toml".into(),
    }
}

pub fn people(viewer: &Viewer) -> PageParts {
    let user = |name: &str, role, is_locked| UserLine {
        name: name.into(),
        role,
        is_locked,
        is_disabled: is_locked,
        last_used: Some(ago(400)),
    };
    let session = |id: &str, is_own| SessionLine {
        id: id.into(),
        user: "ops-2".into(),
        address: "10.9.0.14".into(),
        begun: ago(9000),
        last_used: Some(ago(4)),
        ends: Moment(NOW.0 + 30_000_000),
        is_own,
    };
    let model = AccessPageModel {
        query: AccessPageQuery::default(),
        users: vec![
            user("ops-1", ViewerRole::Admin, false),
            user("ops-2", ViewerRole::Operator, true),
        ],
        tokens: vec![TokenLine {
            name: "worker/10.4.2.31:8888".into(),
            rights: "worker of its host".into(),
            last_used: None,
            ends: None,
        }],
        sessions: vec![session("1", true), session("2", false)],
        users_page: RowPage { first: 1, shown: 2, total: Some(2), ..RowPage::default() },
        tokens_page: RowPage { first: 1, shown: 1, total: Some(1), ..RowPage::default() },
        sessions_page: RowPage { first: 1, shown: 2, total: Some(2), ..RowPage::default() },
        new_secret: Some(("billing".into(), "ry_8Zt3mVx1RkE0bNa".into())),
        ask: None,
    };
    let title = NavPage::Access.title().of(viewer.language);
    PageParts::new(NavPage::Access, title, access::render(&model, viewer))
}

pub fn manual(viewer: &Viewer) -> PageParts {
    let chapter = |word: &str, title: &str| GuideChapter { word: word.into(), title: title.into() };
    let model = GuidePageModel {
        chapters: vec![chapter("begin", "First steps"), chapter("api", "The API")],
        current: "begin".into(),
        language: Language::English,
        html: "<h2>First steps</h2><p>Name the hosts in the configuration.</p>".into(),
    };
    let title = NavPage::Guide.title().of(viewer.language);
    PageParts::new(NavPage::Guide, title, guide::render(&model, viewer))
}
