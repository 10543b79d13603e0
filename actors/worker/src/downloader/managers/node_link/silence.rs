//! Notices a node that accepts calls and answers nothing: it is paused, or cut off.

use std::time::Duration;

use super::link_error::LinkError;
use super::shared::NodeLinkShared;

/// How often a node is looked at during a call, and how long it may take. Together they bound how late a silent node is
/// noticed.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
const LOOK_PATIENCE: Duration = Duration::from_secs(1);

/// The answer of a call, or the failure of its node if another node can be called instead.
pub(super) async fn unless_silent<T>(
    link: &NodeLinkShared,
    call: impl Future<Output = Result<T, LinkError>>,
) -> Result<T, LinkError> {
    if link.settings.nodes.len() < 2 {
        return call.await;
    }
    let (http, url) = (link.http.now(), link.url("/healthz"));
    tokio::select! {
        answer = call => answer,
        failure = silence(&http, &url) => Err(failure),
    }
}

/// Ends as soon as a short call is not answered. Any answer counts, also a refusal.
async fn silence(http: &reqwest::Client, url: &str) -> LinkError {
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        if let Err(error) = http.get(url).timeout(LOOK_PATIENCE).send().await {
            return error.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_protocol::http_client;

    use super::*;

    /// The kernel accepts connections for it, and nothing answers: without the looks a call would wait.
    #[tokio::test]
    async fn a_node_that_accepts_and_answers_nothing_is_silent() {
        let paused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/healthz", paused.local_addr().unwrap());
        let http = http_client::without_tls().no_proxy().build().unwrap();
        let failure = silence(&http, &url).await;
        assert!(matches!(failure, LinkError::Unreachable(_)), "{failure}");
    }
}
