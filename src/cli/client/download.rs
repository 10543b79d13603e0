//! Calls that are answered with a file.

use std::io::Write;
use std::time::Duration;

use reqwest::header;

use super::{NodeClient, TIMEOUT};
use crate::cli::support::failure::CommandFailure;

/// Replaces the time limit of a request, because a large file takes long.
const NO_TIME_LIMIT: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Longest wait for the next bytes.
const SILENCE: Duration = Duration::from_secs(60);

impl NodeClient {
    /// `GET /api/v1/<path>`. Writes the answer to `out` as it arrives.
    pub fn download(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        out: &mut dyn Write,
    ) -> Result<(), CommandFailure> {
        let mut url = self.url_of(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = self.http.get(url).timeout(NO_TIME_LIMIT);
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, token.bearer());
        }
        self.runtime.block_on(async {
            let silent = || self.failed("it does not answer".to_owned());
            let sent = tokio::time::timeout(TIMEOUT, request.send()).await;
            let mut response = match sent.map_err(|_| silent())? {
                Ok(response) => response,
                Err(error) => return Err(self.unreachable(&error)),
            };
            if !response.status().is_success() {
                let status = response.status();
                let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
                return Err(self.problem(status, &body));
            }
            loop {
                let part = tokio::time::timeout(SILENCE, response.chunk()).await;
                match part.map_err(|_| silent())? {
                    Ok(Some(bytes)) => out.write_all(&bytes)?,
                    Ok(None) => return Ok(out.flush()?),
                    Err(error) => return Err(self.unreachable(&error)),
                }
            }
        })
    }
}
