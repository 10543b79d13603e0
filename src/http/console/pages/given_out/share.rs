//! `/console/shares/{id}`: one link and its downloads.

use actix_web::web::{Data, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_api::{DownloadInfo, Page, ProblemKind, Rfc3339};
use reelyard_console::Moment;
use reelyard_console::address::{QueryPairs, ROOT, encoded};
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::shares::{self, DownloadLine, OneSharePageModel};
use reelyard_console::parts::table::RowPage;

use super::shares::line;
use crate::http::api::call_parts::{NoQuery, PageQuery};
use crate::http::api::share_calls::downloads;
use crate::http::api::share_calls::shares::one;
use crate::http::console::answer;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// Rows of a page.
const ROWS: usize = 50;

/// `GET /console/shares/{id}`.
pub async fn show(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    id: Path<String>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::SharesRead)?;
    let path = || Path::from(id.clone());
    let share = one(state.clone(), path(), Query(NoQuery {})).await;
    let share = share.map_err(Refusal::into_response)?.into_inner();
    let pairs = QueryPairs::parse(request.query_string());
    let cursor = pairs.first("after").filter(|after| !after.is_empty()).map(str::to_owned);
    let is_first = cursor.is_none();
    let paging = Query(PageQuery { limit: Some(ROWS.to_string()), cursor });
    let log = downloads::list(state.clone(), path(), paging).await;
    let (log, unlogged) = known(log.map_err(Refusal::into_response).map(|log| log.into_inner()))?;
    let next =
        log.next.map(|next| format!("{ROOT}/shares/{}?after={}", encoded(&id), encoded(&next.0)));
    let model = OneSharePageModel {
        line: line(&share),
        note: share.note.as_ref().map(|note| note.as_str().to_owned()).unwrap_or_default(),
        unlogged,
        page: RowPage {
            first: u64::from(is_first && !log.items.is_empty()),
            shown: log.items.len() as u64,
            total: None,
            previous: None,
            next,
        },
        downloads: log.items.into_iter().map(download).collect(),
        ask: None,
    };
    let content = shares::render_one(&model, &visitor.viewer);
    let parts = PageParts::new(NavPage::Shares, &share.path, content);
    Ok(answer::page(&request, &state, &visitor, &parts))
}

/// The downloads, or why the node does not log them.
fn known(
    log: Result<Page<DownloadInfo>, ProblemResponse>,
) -> Result<(Page<DownloadInfo>, String), ProblemResponse> {
    match log {
        Ok(log) => Ok((log, String::new())),
        Err(refused) if refused.kind() == ProblemKind::NotAllowed => {
            let nothing = Page { items: Vec::new(), next: None };
            Ok((nothing, refused.problem().detail.clone()))
        }
        Err(refused) => Err(refused),
    }
}

fn download(info: DownloadInfo) -> DownloadLine {
    let at = info.at.parse::<Rfc3339>().map(|at| Moment(at.0.0)).unwrap_or_default();
    DownloadLine { at, address: info.address, name: String::new(), bytes: Some(info.bytes) }
}
