//! The administrator's token of a node on the same host, for an operator who may read its file.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use reelyard_api::Problem;
use reelyard_core::bounded_read::{self, InputSource};
use reelyard_core::token::SharedToken;
use reelyard_protocol::node_address::NodeAddresses;
use reqwest::{ClientBuilder, StatusCode, Url};

use crate::cluster_client::is_loopback;

/// Time limit for the question to the node.
const PATIENCE: Duration = Duration::from_secs(3);

/// Pause between two questions to a node that does not answer.
const PAUSE: Duration = Duration::from_millis(100);

/// The only accepted name of the file.
const FILE_NAME: &str = "admin.token";

/// The tables of TCP sockets.
const SOCKET_TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// State of a listening socket in these tables.
const LISTENING: &str = "0A";

/// The token of the nodes, if they run on this host and the file of one is readable. None otherwise: then the
/// node refuses the call with its own words.
///
/// If nothing listens at their addresses, or they are starting, they are asked again for `patience`.
pub fn find(nodes: &NodeAddresses, http: ClientBuilder, patience: Duration) -> Option<SharedToken> {
    if !nodes.iter().all(is_loopback) {
        return None;
    }
    let http = http.no_proxy().timeout(PATIENCE).build().ok()?;
    let until = Instant::now() + patience;
    let (answering, refusal) = loop {
        let answer = nodes.iter().find_map(|url| Some((url, ask(url, &http).ok()?)));
        match answer {
            Some(answer) => break answer,
            None if Instant::now() < until => std::thread::sleep(PAUSE),
            None => return None,
        }
    };
    let file = refusal?.token_file?;
    // Another program on a port could name any file. The token goes only to programs of the file's owner.
    let owner = std::fs::metadata(&file).ok()?.uid();
    let is_of_owner = |url: &Url| {
        let owners = url.port_or_known_default().map(listener_owners).unwrap_or_default();
        owners.contains(&owner) || (url != answering && owners.is_empty())
    };
    if file.file_name()? != FILE_NAME || !nodes.iter().all(is_of_owner) {
        return None;
    }
    read(&file)
}

/// The refusal of a call without a token. None if the answer is another one. A node that is starting has no answer yet.
fn ask(url: &Url, http: &reqwest::Client) -> anyhow::Result<Option<Problem>> {
    let mut url = url.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(["api", "v1", "whoami"]);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (status, body) = runtime.block_on(async {
        let answer = http.get(url).send().await?;
        let status = answer.status();
        anyhow::Ok((status, answer.bytes().await?))
    })?;
    anyhow::ensure!(status != StatusCode::SERVICE_UNAVAILABLE, "the node is starting");
    let is_refusal = status == StatusCode::UNAUTHORIZED;
    Ok(is_refusal.then(|| serde_json::from_slice(&body).ok()).flatten())
}

fn read(file: &Path) -> Option<SharedToken> {
    let text = bounded_read::read_text(file, InputSource::File).ok()?;
    SharedToken::new(text.trim()).ok()
}

/// The users whose processes listen on this port.
fn listener_owners(port: u16) -> Vec<u32> {
    let tables = SOCKET_TABLES.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    tables.flat_map(|table| owners_in(&table, port)).collect()
}

fn owners_in(table: &str, port: u16) -> Vec<u32> {
    let mut owners = Vec::new();
    for line in table.lines().skip(1) {
        let mut fields = line.split_whitespace();
        let (local, state) = (fields.nth(1), fields.nth(1));
        let of_port = local.and_then(|local| local.rsplit_once(':'));
        let of_port = of_port.and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
        if of_port == Some(port) && state == Some(LISTENING) {
            owners.extend(fields.nth(3).and_then(|owner| owner.parse::<u32>().ok()));
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use reelyard_protocol::http_client;

    use super::*;

    #[test]
    fn the_owner_of_a_listening_socket_is_read() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 123 1
   1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1002        0 124 1
   2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 125 1
";
        assert_eq!(owners_in(table, 8080), [1001]);
        assert_eq!(owners_in(table, 8081), [0]);
        assert_eq!(owners_in(table, 40000), [0_u32; 0]);
    }

    #[test]
    fn the_owner_of_a_real_listener_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = rustix::process::getuid().as_raw();
        assert_eq!(listener_owners(port), [own]);
    }

    #[test]
    fn a_node_on_another_host_is_not_asked() {
        for foreign in ["192.0.2.1:8080", "node.example:8080", "127.0.0.1:8080,192.0.2.1:8080"] {
            let http = http_client::without_tls();
            assert!(find(&foreign.parse().unwrap(), http, Duration::ZERO).is_none(), "{foreign}");
        }
    }
}
