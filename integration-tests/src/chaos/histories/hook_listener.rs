//! A receiver of webhooks that accepts everything. It compares no signatures: other tests do that.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::notifications::NotificationHistory;

/// Starts the receiver on a free address, which it returns.
///
/// # Errors
/// No address is free.
pub async fn listen(history: Arc<NotificationHistory>) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let at = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((caller, _)) = listener.accept().await {
            // A node that is killed ends its connection in the middle.
            tokio::spawn(serve(caller, Arc::clone(&history)));
        }
    });
    Ok(at)
}

async fn serve(caller: TcpStream, history: Arc<NotificationHistory>) -> Result<()> {
    let mut stream = BufReader::new(caller);
    loop {
        let mut length = None;
        loop {
            let mut line = String::new();
            anyhow::ensure!(stream.read_line(&mut line).await? > 0, "the connection ended");
            if line == "\r\n" {
                break;
            }
            let header = line.to_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = Some(value.trim().parse()?);
            }
        }
        let mut body = vec![0; length.context("no length")?];
        stream.read_exact(&mut body).await?;
        history.arrive(&serde_json::from_slice(&body)?);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
    }
}
