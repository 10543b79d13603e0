//! Ends a call to a silent node, if another one can be called.

use std::time::Duration;

use reelyard_protocol::node_silence::SilenceLooks;

use super::link_error::LinkError;
use super::shared::NodeLinkShared;

/// A silent node is noticed within 3 s.
const LOOKS: SilenceLooks =
    SilenceLooks { interval: Duration::from_secs(2), patience: Duration::from_secs(1) };

/// The answer of a call, or the failure of its node if another node can be called instead.
pub(super) async fn unless_silent<T>(
    link: &NodeLinkShared,
    call: impl Future<Output = Result<T, LinkError>>,
) -> Result<T, LinkError> {
    if !link.nodes.has_others() {
        return call.await;
    }
    let (http, url) = (link.http.now(), link.url("/healthz"));
    tokio::select! {
        answer = call => answer,
        failure = LOOKS.until_silent(&http, &url) => Err(failure.into()),
    }
}
