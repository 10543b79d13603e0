//! One share link: its terms, and who downloaded.

use maud::{Markup, html};

use super::model::{ShareCondition, ShareLine};
use super::query::SharesPageQuery;
use crate::address::ROOT;
use crate::format::{
    bytes, count, day_and_time, file_name, node_sentence, time_tag, until_tag, visible_text,
};
use crate::parts::act::command;
use crate::parts::dialog::{AskDialog, ask_dialog};
use crate::parts::mark::state;
use crate::parts::notice::empty;
use crate::parts::panel::{PanelHead, flush_panel, panel};
use crate::parts::table::{RowPage, table_foot};
use crate::text::{access, common, frame, shares};
use crate::viewer::{Moment, Viewer};

/// A download of a link.
#[derive(Clone, Debug, Default)]
pub struct DownloadLine {
    /// When it began.
    pub at: Moment,
    /// Address of the visitor.
    pub address: String,
    /// Name of the file within a directory; empty for a single file.
    pub name: String,
    /// Bytes sent, if known.
    pub bytes: Option<u64>,
}

/// Everything that the page of a link shows.
#[derive(Clone, Debug, Default)]
pub struct OneSharePageModel {
    /// The facts of its row in the table.
    pub line: ShareLine,
    /// Note; empty for none.
    pub note: String,
    /// Why the node does not know the downloads; empty if it does.
    pub unlogged: String,
    /// Downloads, newest first.
    pub downloads: Vec<DownloadLine>,
    /// Position of the page of downloads.
    pub page: RowPage,
    /// Dialog of an action.
    pub ask: Option<AskDialog>,
}

/// The content of the page.
pub fn render_one(model: &OneSharePageModel, viewer: &Viewer) -> Markup {
    let language = viewer.language;
    let line = &model.line;
    let works = line.condition == ShareCondition::Works;
    let ask = |action: &str| {
        let pick = vec![line.id.clone()];
        SharesPageQuery { pick, ask: action.to_owned(), ..SharesPageQuery::default() }.address()
    };
    html! {
        div.head {
            div {
                nav.crumb aria-label=(frame::SHARES.of(language)) {
                    a href={ (ROOT) "/shares" } { (frame::SHARES.of(language)) } span aria-hidden="true" { "/" }
                }
                h1 dir="auto" { (visible_text(&line.path)) }
                p #page-sentence {
                    (state(language, line.condition.mark())) " "
                    @if let Some(ends) = line.ends {
                        @if works { (shares::ENDS_IN.of(language)) " " (until_tag(viewer, ends)) " · " }
                        (day_and_time(viewer, ends))
                    } @else { (shares::NEVER_ENDS.of(language)) }
                }
            }
            @if viewer.rights.shares && works {
                div.acts {
                    a.btn href=(ask("extend")) { (shares::EXTEND.of(language)) }
                    a.btn.danger href=(ask("revoke")) { (shares::REVOKE.of(language)) }
                }
            }
        }
        div.stack { (terms(viewer, model)) (downloads(viewer, model)) }
        @if let Some(dialog) = &model.ask { (ask_dialog(viewer, dialog)) }
    }
}

fn terms(viewer: &Viewer, model: &OneSharePageModel) -> Markup {
    let language = viewer.language;
    let line = &model.line;
    let head = PanelHead { title: shares::LINK.of(language).to_owned(), ..PanelHead::default() };
    let none = common::NONE.of(language);
    let owner = visible_text(&line.owner);
    let no_limit = || shares::NO_LIMIT.of(language).to_owned();
    let most = line.most.map_or_else(no_limit, count);
    let body = html! {
        @if let Some(address) = &line.address { div.mb { (command(language, address)) } }
        dl.kv {
            dt { (shares::OWNER.of(language)) } dd dir="auto" { @if owner.is_empty() { (none) } @else { (owner) } }
            dt { (shares::DOWNLOADS.of(language)) } dd { (count(line.downloads)) }
            dt { (shares::NEW_MOST.of(language)) } dd { (most) }
            dt { (shares::PASSWORD.of(language)) } dd { @if line.has_password { (shares::WITH_PASSWORD.of(language)) } @else { (none) } }
            @if !model.note.is_empty() { dt { (shares::NOTE.of(language)) } dd dir="auto" { (visible_text(&model.note)) } }
        }
    };
    panel(&head, body)
}

fn downloads(viewer: &Viewer, model: &OneSharePageModel) -> Markup {
    let language = viewer.language;
    let head = PanelHead {
        id: "share-downloads",
        title: shares::DOWNLOADED_BY.of(language).to_owned(),
        ..PanelHead::default()
    };
    if !model.unlogged.is_empty() {
        return flush_panel(&head, empty(&node_sentence(language, &model.unlogged), "", html! {}));
    }
    if model.downloads.is_empty() {
        return flush_panel(&head, empty(shares::NO_DOWNLOADS.of(language), "", html! {}));
    }
    let body = html! {
        table.cards {
            thead { tr {
                th scope="col" { (common::WHEN.of(language)) }
                th scope="col" { (access::ADDRESS.of(language)) }
                th scope="col" { (common::FILE.of(language)) }
                th.num scope="col" { (common::SIZE.of(language)) }
            } }
            tbody {
                @for download in &model.downloads {
                    tr {
                        td.nw data-l=(common::WHEN.of(language)) { (time_tag(viewer, download.at)) }
                        td.mono data-l=(access::ADDRESS.of(language)) { (visible_text(&download.address)) }
                        td.file data-l="" { @if download.name.is_empty() { span.muted { "–" } } @else { (file_name(&download.name, None)) } }
                        td.num.nw data-l=(common::SIZE.of(language)) { (download.bytes.map_or_else(|| "–".to_owned(), bytes)) }
                    }
                }
            }
        }
        (table_foot(viewer, &model.page))
    };
    flush_panel(&head, body)
}
