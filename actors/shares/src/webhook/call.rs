//! One request to a receiver.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_protocol::http_client;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};

use super::delivery::DeliveryFailure;
use super::settings::WebhookSettings;
use super::signature::SIGNATURE_HEADER;

/// At most this much of an answer is read, so that its connection can be used again.
const READ_OF_ANSWER: usize = 64 << 10;

/// At most this long an answer is read.
const READ_FOR: Duration = Duration::from_secs(1);

/// How long an unused connection is kept. Servers usually keep it longer, so no request is sent
/// on a connection that the server is closing.
const IDLE_CONNECTION: Duration = Duration::from_secs(4);

/// The HTTP client for all hooks of a process: it keeps their connections. With `https`, also for
/// receivers whose certificate the system trusts now.
pub fn webhook_client(https: bool) -> Result<Client, reqwest::Error> {
    let trusting =
        if https { http_client::with_system_roots() } else { http_client::without_tls() };
    trusting
        .pool_idle_timeout(IDLE_CONNECTION)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .http1_only()
        .user_agent(concat!("reelyard/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Sends one notification. Every status outside 2xx is a failure.
pub(super) async fn send(
    http: Client,
    settings: WebhookSettings,
    body: serde_json::Result<Vec<u8>>,
    now: Millis,
) -> Result<(), DeliveryFailure> {
    let body = body.map_err(|error| DeliveryFailure::because(error.to_string()))?;
    let signature = settings.secret.sign(now.unix_seconds(), &body);
    let request = http
        .post(settings.url.url())
        .timeout(settings.timeout)
        .header(CONTENT_TYPE, "application/json")
        .header(SIGNATURE_HEADER, signature)
        .body(body);
    let mut answer = request.send().await.map_err(|error| failed(&error, settings.timeout))?;
    let status = answer.status();
    if !status.is_success() {
        let retry_after = retry_after(&answer, now);
        return Err(DeliveryFailure {
            reason: format!("the receiver answered {}", status_text(status)),
            retry_after,
        });
    }
    // The receiver took it, so the rest of the answer does not matter. Other notifications wait.
    let _ = tokio::time::timeout(READ_FOR, read_rest(&mut answer)).await;
    Ok(())
}

/// Reads the allowed part of an answer.
async fn read_rest(answer: &mut Response) {
    let mut read = 0;
    while let Ok(Some(piece)) = answer.chunk().await {
        read += piece.len();
        if read > READ_OF_ANSWER {
            return;
        }
    }
}

impl DeliveryFailure {
    fn because(reason: String) -> Self {
        DeliveryFailure { reason, retry_after: None }
    }
}

fn status_text(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(phrase) => format!("{} {phrase}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// The error without the URL, because the reader knows the hook.
fn failed(error: &reqwest::Error, timeout: Duration) -> DeliveryFailure {
    if error.is_timeout() {
        let timeout = humantime::format_duration(timeout);
        return DeliveryFailure::because(format!("it did not answer within {timeout}"));
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let what = if error.is_connect() { "it cannot be reached" } else { "the request broke off" };
    DeliveryFailure::because(format!("{what}: {cause}"))
}

/// The pause that a receiver requests, in seconds or as an instant.
fn retry_after(answer: &Response, now: Millis) -> Option<Duration> {
    let reply = answer.headers().get(RETRY_AFTER)?.to_str().ok()?;
    read_retry_after(reply, now)
}

fn read_retry_after(value: &str, now: Millis) -> Option<Duration> {
    let value = value.trim();
    match value.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(value).ok().map(|at| Millis::from(at).since(now)),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::super::delivery_tests::settings;
    use super::*;

    #[tokio::test]
    async fn a_2xx_answer_is_accepted_before_its_body_ends() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let receiver = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx").await.unwrap();
            // Open until it is aborted.
            std::future::pending::<()>().await;
            drop(stream);
        });
        let timeout = Duration::from_secs(600);
        let settings = WebhookSettings { url: url.parse().unwrap(), timeout, ..settings(&[]) };
        let sending = send(webhook_client(false).unwrap(), settings, Ok(b"{}".to_vec()), Millis(0));
        let sent = tokio::time::timeout(Duration::from_secs(60), sending).await;
        assert_eq!(sent, Ok(Ok(())));
        receiver.abort();
    }

    #[test]
    fn a_receiver_says_when_in_seconds_or_as_an_instant() {
        let now = Millis(784_111_777_000);
        let read = |value: &str| read_retry_after(value, now);
        assert_eq!(read(" 120 "), Some(Duration::from_secs(120)));
        let minute_later = "Sun, 06 Nov 1994 08:50:37 GMT";
        assert_eq!(read(minute_later), Some(Duration::from_secs(60)));
        assert_eq!(read("Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(read("soon"), None);
    }
}
