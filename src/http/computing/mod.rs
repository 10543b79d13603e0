//! Computing answers apart from the threads that answer requests: a limit on the work, and answers that several
//! readers share.

mod shared_answer;
mod work_limit;

use actix_web::web;
pub use shared_answer::SharedAnswer;
pub use work_limit::WorkLimit;

use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Computes a part of an answer on a thread for long work. A million files or a thousand hosts would hold up the other
/// requests of a thread.
///
/// # Errors
/// The node is busy with other answers, or stops.
pub async fn computed<T: Send + 'static>(
    state: &web::Data<NodeHttpState>,
    work: impl FnOnce(&NodeHttpState) -> T + Send + 'static,
) -> Result<T, ProblemResponse> {
    let place = state.page_work.place().await?;
    let of_work = state.clone();
    let computed = web::block(move || {
        let computed = work(&of_work);
        // Held to the end: the visitor may be gone before.
        drop(place);
        computed
    });
    computed.await.map_err(|_| ProblemResponse::stopped())
}
