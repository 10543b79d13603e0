//! Reads the answer of a node, up to the size that a Reelyard node can send.

use reqwest::Response;

use super::link_error::LinkError;

/// The longest answer that is read, in bytes. The orders of one worker need some hundred bytes each;
/// an old cfm lists all tasks of its yard.
const LONGEST_ANSWER: u64 = 16 << 20;

/// The whole body of an answer.
///
/// # Errors
/// `TooLong` for a longer one, which is not read to its end; `Unreachable` if the connection is lost.
pub(in crate::downloader) async fn body_of(mut response: Response) -> Result<Vec<u8>, LinkError> {
    let too_long = |bytes: u64| bytes > LONGEST_ANSWER;
    if response.content_length().is_some_and(too_long) {
        return Err(LinkError::TooLong(LONGEST_ANSWER));
    }
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if too_long((body.len() + piece.len()) as u64) {
            return Err(LinkError::TooLong(LONGEST_ANSWER));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers one request with `head` and then without end. Answers how much was read.
    async fn endless(head: &'static str) -> (String, tokio::task::JoinHandle<u64>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            let piece = [b"10000\r\n".as_slice(), &[b'x'; 0x10000], b"\r\n"].concat();
            let mut taken = 0;
            while taken < 4 * LONGEST_ANSWER && stream.write_all(&piece).await.is_ok() {
                taken += piece.len() as u64;
            }
            taken
        });
        (url, serving)
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_given_up() {
        for head in [
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n",
        ] {
            let (url, serving) = endless(head).await;
            let http = reelyard_protocol::http_client::without_tls().build().unwrap();
            let response = http.get(url).send().await.unwrap();
            let read = body_of(response).await.map(|body| body.len());
            assert!(matches!(read, Err(LinkError::TooLong(LONGEST_ANSWER))), "{read:?}");
            // Bytes that were under way when the connection was dropped are in buffers of the system.
            assert!(serving.await.unwrap() < 3 * LONGEST_ANSWER);
        }
    }
}
