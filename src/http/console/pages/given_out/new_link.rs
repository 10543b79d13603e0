//! The look at the path of a new link, before the link is made.

use actix_web::web;
use reelyard_console::pages::shares::FoundPath;
use reelyard_links::{NotOpened, Roots};
use reelyard_shares::share_expiry::ShareKind;

use crate::http::api::share_calls::new_share::{no_such, placed};
use crate::http::node_state::NodeHttpState;

/// The file or directory at a path. A path that cannot be shared gives the reason.
pub async fn found(state: &web::Data<NodeHttpState>, path: &str) -> FoundPath {
    if path.is_empty() {
        return FoundPath::NotLooked;
    }
    let (root, below) = match placed(path) {
        Ok(placed) => placed,
        Err(why) => return FoundPath::Refused(why.problem().detail.clone()),
    };
    let roots: Roots = state.share_links.roots.clone();
    let of_root = root.clone();
    match web::block(move || roots.open_at(&of_root, &below)).await {
        Ok(Ok(opened)) => match opened.kind {
            ShareKind::File => FoundPath::File(opened.metadata.len()),
            ShareKind::Directory => FoundPath::Directory,
        },
        Ok(Err(NotOpened::NoRoot)) => FoundPath::Refused(state.share_links.no_root(&root)),
        Ok(Err(why)) => FoundPath::Refused(no_such(path, why).problem().detail.clone()),
        // The node stops.
        Err(_) => FoundPath::NotLooked,
    }
}
