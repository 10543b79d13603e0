//! `/api/v1/files/{name}/explain`: why a file is or is not planned.

use actix_web::{HttpRequest, web};
use reelyard_actors::names::FileName;
use reelyard_actors::task_manager::ExplainFile;
use reelyard_actors::wire::api::ExplainView;

use super::NoQuery;
use crate::http::node::NodeState;
use crate::http::problem::Refusal;

/// `GET /files/{name}/explain`. A name nobody knows is explained like any other.
#[utoipa::path(
    get,
    path = "/files/{name}/explain",
    tag = "files",
    operation_id = "explainFile",
    summary = "Why a file is or is not planned, and what every host says to it",
    description = "A name that nobody knows is explained like any other.",
    params(("name" = String, Path, description = "Its name, percent-encoded, of any bytes")),
    responses((status = 200, description = "The explanation", body = ExplainView))
)]
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeState>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<ExplainView>, Refusal> {
    // As it stands in the request line: a name is decoded exactly once, and may be of any bytes.
    let segment = name_segment(request.uri().path());
    let name = FileName::from_percent(segment)
        .map_err(|bad| Refusal::bad_request(format!("\"{segment}\": {bad}")))?;
    let explanation = state.actors.task_manager.ask(ExplainFile { name: name.clone() }).await?;
    Ok(web::Json(ExplainView::of(&name, explanation)))
}

/// The file's name in the path, as it stands there.
fn name_segment(path: &str) -> &str {
    let file = path.strip_suffix("/explain").unwrap_or(path);
    file.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_named_like_the_call() {
        assert_eq!(name_segment("/api/v1/files/a%2Fb.mpg/explain"), "a%2Fb.mpg");
        assert_eq!(name_segment("/api/v1/files/explain/explain"), "explain");
    }
}
