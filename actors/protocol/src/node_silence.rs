//! Notices a node that accepts calls and answers nothing: it is paused, or cut off.

use std::time::Duration;

/// How often a node is looked at during a call, and how long it may take to answer. Together they bound how late a
/// silent node is noticed.
#[derive(Clone, Copy, Debug)]
pub struct SilenceLooks {
    /// Pause before each look.
    pub interval: Duration,
    /// Time limit for the answer.
    pub patience: Duration,
}

impl SilenceLooks {
    /// Ends as soon as a look at the health of a node has no answer. Any answer counts, also a refusal.
    pub async fn until_silent(&self, http: &reqwest::Client, health: &str) -> reqwest::Error {
        loop {
            tokio::time::sleep(self.interval).await;
            if let Err(error) = self.look(http, health).await {
                return error;
            }
        }
    }

    /// Looks once.
    ///
    /// # Errors
    /// The node does not answer in time.
    pub async fn look(&self, http: &reqwest::Client, health: &str) -> reqwest::Result<()> {
        http.get(health).timeout(self.patience).send().await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http_client;

    /// The kernel accepts connections for it, and nothing answers: without the looks a call would wait.
    #[tokio::test]
    async fn a_node_that_accepts_and_answers_nothing_is_silent() {
        let paused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/healthz", paused.local_addr().unwrap());
        let http = http_client::without_tls().no_proxy().build().unwrap();
        let (interval, patience) = (Duration::from_millis(1), Duration::from_millis(10));
        let failure = SilenceLooks { interval, patience }.until_silent(&http, &url).await;
        assert!(failure.is_timeout(), "{failure:?}");
    }
}
