//! Calls that are answered with a file.

use std::io::Write;
use std::time::{Duration, Instant};

use reqwest::Method;

use super::NodeClient;
use crate::cli::support::failure::CommandFailure;
use crate::cluster_client::{ANSWER_TIME, AnswerBody, ApiAnswer, ApiRequest, ApiTarget};

/// Longest wait for the next bytes.
const SILENCE: Duration = Duration::from_secs(60);

impl NodeClient {
    /// `GET /api/v1/<path>`. Writes the answer to `out` as it arrives. Another node is asked only before the first byte.
    pub fn download(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        out: &mut dyn Write,
    ) -> Result<(), CommandFailure> {
        let target = ApiTarget::of(path).with_query(query);
        let request = ApiRequest::new(Method::GET, target).as_stream();
        self.runtime.block_on(async {
            let until = Instant::now() + ANSWER_TIME;
            let answer = self.cluster.call_until(&request, until).await?;
            let node = answer.node.clone();
            let mut response = match answer.body {
                AnswerBody::Stream(response) => response,
                body => return Err(self.refusal(&ApiAnswer { body, ..answer }).await),
            };
            while let Some(part) = self.cluster.next_part(&node, &mut response, SILENCE).await? {
                out.write_all(&part)?;
            }
            Ok(out.flush()?)
        })
    }
}
