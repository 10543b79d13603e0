//! `/console/files/export`: the files that match the filter of the page, as comma-separated values.

use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures::stream::unfold;
use reelyard_access::rights::AccessScope;
use reelyard_console::pages::files::FilesPageQuery;
use reelyard_core::names::FileId;

use super::files::sorted_files;
use crate::csv;
use crate::http::api::yard_calls::files::FileListSnapshot;
use crate::http::computing::computed;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;

/// The first line.
const HEAD: &str = "rank,name,name_is_encoded,state,hosts,hits,requests_a_day,size,score\r\n";

/// Rows that are written at once.
const AT_ONCE: usize = 500;

/// `GET /console/files/export`: all files that match, in the order of the page. Each part of the answer
/// is written when the client has read the one before.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    Visitor::of(&request, &state, &AccessScope::YardRead)?;
    let query = FilesPageQuery::parse(request.query_string());
    let matching = move |state: &NodeHttpState| sorted_files(state, &query);
    let files = computed(&state, matching).await?;
    // It is read once: its cost grows with the open copies.
    let snapshot = FileListSnapshot::new(&state);
    let rows = unfold(
        (Some(HEAD.to_owned()), 0, files, snapshot, state),
        |(head, first, files, snapshot, state)| async move {
            let end = files.len().min(first + AT_ONCE);
            let shown =
                files.get(first..end).filter(|shown| head.is_some() || !shown.is_empty())?;
            let mut text = head.unwrap_or_default();
            text.push_str(&rows(&state, &snapshot, shown));
            Some((
                Ok::<Bytes, std::io::Error>(Bytes::from(text)),
                (None, end, files, snapshot, state),
            ))
        },
    );
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/csv; charset=utf-8"))
        .insert_header((CONTENT_DISPOSITION, "attachment; filename=\"files.csv\""))
        .streaming(rows))
}

/// The rows of these files.
fn rows(state: &NodeHttpState, files: &FileListSnapshot, shown: &[FileId]) -> String {
    shown.iter().map(|file| row(state, files, *file)).collect()
}

fn row(state: &NodeHttpState, files: &FileListSnapshot, file: FileId) -> String {
    let view = files.file_view(file, &state.names.name(file));
    let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let (rank, size) = (number(view.rank.map(u64::from)), number(view.size));
    let hosts: Vec<String> = view.placed_on.iter().map(ToString::to_string).collect();
    let a_day = view.requests_a_day.map(|requests| requests.to_string()).unwrap_or_default();
    let score = view.score.map(|score| score.to_string()).unwrap_or_default();
    let encoded = view.name.percent_encoded.to_string();
    // Plain words always serialize.
    let state = serde_json::to_value(view.state).ok();
    let state = state.as_ref().and_then(|word| word.as_str()).unwrap_or_default();
    let (hosts, hits) = (hosts.join(" "), view.hits.to_string());
    csv::row([
        rank.as_str(),
        &view.name.name,
        &encoded,
        state,
        &hosts,
        &hits,
        &a_day,
        &size,
        &score,
    ])
}
