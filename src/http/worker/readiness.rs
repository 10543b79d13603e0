//! `/readyz` of a worker: whether its node sends orders, and whether its disks are readable.

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use reelyard_worker::downloader::managers::node_link::NodeLinkView;

use super::state::WorkerHttp;
use crate::http::health::readiness;

/// `GET /readyz`: 200, or 503 with one line per missing condition.
pub(super) async fn readyz(http: Arc<WorkerHttp>) -> HttpResponse {
    let node = http.node.as_ref().and_then(|line| of_node(&line.load()));
    let disks = web::block(move || of_disks(&http)).await;
    let disks = disks.unwrap_or_else(|error| vec![format!("cannot read the disks: {error}")]);
    let missing: Vec<String> = node.into_iter().chain(disks).collect();
    readiness(&missing, &[])
}

/// Why no orders arrive from the node; none if they do.
fn of_node(line: &NodeLinkView) -> Option<String> {
    match (&line.error, line.answered) {
        (Some(error), Some(last)) => {
            Some(format!("the node {} {error}; it answered last at {last}", line.node))
        }
        (Some(error), None) => Some(format!(
            "the node {} {error}; it has not answered since this worker started",
            line.node
        )),
        (None, None) => Some("the node has not answered yet since this worker started".to_owned()),
        (None, Some(_)) => None,
    }
}

/// The unreadable directories with the reason. Blocks on the disks.
fn of_disks(http: &WorkerHttp) -> Vec<String> {
    let base = http.base.as_ref().and_then(|base| base.disk().err());
    let base = base.map(|error| format!("the base directory cannot be read: {error}"));
    let sources = http.source_dirs.iter().filter_map(|dir| {
        let error = std::fs::read_dir(dir).err()?;
        Some(format!("the source directory {} cannot be read: {error}", dir.display()))
    });
    base.into_iter().chain(sources).collect()
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;

    use super::*;

    #[test]
    fn a_node_that_gives_no_orders_is_named_with_the_reason() {
        let mut line = NodeLinkView::default();
        assert!(of_node(&line).unwrap().contains("not answered yet"));
        line.answered = Some(Millis(1_795_240_000_000));
        assert_eq!(of_node(&line), None);
        line.node = "http://10.0.0.1:8080".to_owned();
        line.error = Some("has another token than this worker".to_owned());
        let result = of_node(&line).unwrap();
        let expected = "the node http://10.0.0.1:8080 has another token than this worker; it \
                        answered last at ";
        assert!(result.starts_with(expected), "{result}");
    }
}
