//! Models of sample pages.

mod cards;
mod files;
mod given_out;
mod hosts;
mod nodes;
mod people;
mod record;
mod tasks;
mod yard;

use jiff::tz::TimeZone;
use maud::Markup;
use reelyard_console::frame::{FrameModel, LiveMark, PageParts, RefusalPage, page, refusal_page};
use reelyard_console::pages::find::palette;
use reelyard_console::parts::notice::{ActionOutcome, UndoAction};
use reelyard_console::text::Language;
use reelyard_console::{Density, Moment, ReadableAreas, Theme, Viewer, ViewerRights, ViewerRole};

pub use cards::cards;
pub use people::NAMES;

/// The instant of all samples: 2026-11-23 14:20:00 in Seoul.
pub const NOW: Moment = Moment(1_795_411_200_000);

/// An instant some seconds before [`NOW`].
pub fn ago(seconds: i64) -> Moment {
    Moment(NOW.0 - seconds * 1000)
}

/// A viewer who may do everything.
pub fn operator(language: Language, theme: Theme) -> Viewer {
    Viewer {
        user: "ops-2".into(),
        role: ViewerRole::Operator,
        rights: ViewerRights {
            storage: true,
            shares: true,
            boxes: true,
            config: true,
            admin: true,
            cluster: true,
            reads: ReadableAreas::ALL,
        },
        language,
        theme,
        density: Density::Usual,
        zone: TimeZone::get("Asia/Seoul").unwrap_or(TimeZone::UTC),
        now: NOW,
        csrf: "csrf-token-of-the-session".into(),
        nonce: "c2FtcGxlLW5vbmNl".into(),
        origin: "https://yard-east:8080".into(),
        here: String::new(),
    }
}

/// A viewer who may only read.
pub fn reader(language: Language) -> Viewer {
    Viewer {
        role: ViewerRole::Viewer,
        rights: ViewerRights {
            reads: ReadableAreas { access: false, audit: false, ..ReadableAreas::ALL },
            ..ViewerRights::default()
        },
        ..operator(language, Theme::Light)
    }
}

/// The facts of the frame.
fn frame(here: &str) -> FrameModel {
    FrameModel {
        yard: "yard-east".into(),
        node: 1,
        leader: Some(1),
        epoch: 4,
        version: "0.1.0".into(),
        hosts_down: 1,
        tasks_failed: 46,
        boxes_quarantined: 0,
        not_ready: Vec::new(),
        live: LiveMark::Live,
        stream: None,
        here: here.into(),
        outcome: None,
        palette: None,
    }
}

/// The outcome of an action with its way back.
fn pinned() -> ActionOutcome {
    let undo = UndoAction {
        action: "/console/files/a.mpg/unpin".into(),
        dialog: "/console/files?pick=a.mpg&ask=unpin".into(),
    };
    ActionOutcome { is_done: true, title: "1".into(), undo: Some(undo), ..ActionOutcome::default() }
}

/// A rendered sample with its name.
pub struct Sample {
    /// Name of the page and its state.
    pub name: &'static str,
    /// A whole page as HTML, with its frame.
    pub document: Markup,
}

/// All samples for a viewer.
pub fn all(viewer: &Viewer) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut add = |name: &'static str, parts: PageParts| {
        // The page Find has its own field.
        let palette = (name != "find").then(|| palette(viewer, "/console"));
        let outcome = (name == "cluster" && viewer.rights.storage).then(pinned);
        let model = FrameModel { palette, outcome, ..frame("/console") };
        let document = page(&parts, &model, viewer);
        samples.push(Sample { name, document });
    };
    add("yard", yard::trouble(viewer));
    add("yard-healthy", yard::healthy(viewer));
    add("yard-empty", yard::empty(viewer));
    add("hosts", hosts::table(viewer));
    add("hosts-ask", hosts::ask(viewer));
    add("hosts-why", hosts::why(viewer));
    add("host", hosts::one(viewer));
    add("host-table", hosts::one_with_table(viewer));
    add("files", files::table(viewer));
    add("files-why", files::why(viewer));
    add("files-out-of-reach", files::out_of_reach(viewer));
    add("files-nothing", files::nothing(viewer));
    add("tasks", tasks::table(viewer));
    add("shares", given_out::links(viewer));
    add("share", given_out::one_link(viewer));
    add("find", given_out::found(viewer));
    add("boxes", given_out::pools(viewer));
    add("plan", given_out::round(viewer));
    add("map", given_out::requests(viewer));
    add("map-table", given_out::requests_table(viewer));
    add("history", record::past(viewer));
    add("history-troubles", record::ended_troubles(viewer));
    add("audit", record::changes(viewer));
    add("cluster", nodes::three(viewer));
    add("settings", record::values(viewer));
    add("access", record::people(viewer));
    add("guide", record::manual(viewer));
    for (name, status, detail) in [
        ("refusal", 404, "10.4.2.99:8888 is not a host of this yard"),
        ("refusal-busy", 503, "the node computes other pages"),
    ] {
        let detail = detail.to_owned();
        let (language, theme) = (viewer.language, viewer.theme);
        let document = refusal_page(&RefusalPage {
            status,
            detail,
            language,
            theme,
            ..RefusalPage::default()
        });
        samples.push(Sample { name, document });
    }
    samples
}
