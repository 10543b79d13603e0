//! Clients that send slowly, read nothing, or only hold connections, on a real node.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use reelyard_integration_tests::probes::waiting::PATIENCE;
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::yard::{ProcessYard, free_addr, holds, wait_for};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The largest number of connections from one address in this test.
const PER_ADDRESS: usize = 8;

fn sent(to: SocketAddr, text: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(to)?;
    stream.write_all(text.as_bytes())?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Whether the other end has closed the connection, with or without earlier data.
fn is_closed(stream: &mut TcpStream) -> bool {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}

/// The head of a request for the stream of events.
fn events(ground: &ProcessYard) -> String {
    let bearer = ground.bearer();
    format!(
        "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n{bearer}\r\nAccept: text/event-stream\r\n\r\n"
    )
}

#[test]
fn slow_bodies_are_cut_and_block_no_client() -> Result<()> {
    let ground = ProcessYard::new(0, 0)?;
    let per_address = PER_ADDRESS.to_string();
    let settings =
        [("http.connections_per_address", &*per_address), ("http.request_timeout", "4s")];
    let node = ground.start_node(&settings)?;
    let status = || ground.get("/api/v1/status").map(drop);
    wait_for("the node answers", &[&node], status)?;
    let mut events = sent(ground.node, &events(&ground))?;
    wait_for("the stream of events begins", &[&node], || events.peek(&mut [0]).ok())?;
    // cfm's wire needs no token, and accepts up to 64 KiB.
    let slow = "PATCH /tasks/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n{";
    let begun = Instant::now();
    let mut all = Vec::new();
    for _ in 0..5 * PER_ADDRESS {
        all.push(sent(ground.node, slow)?);
    }
    // From the same address: slow connections are closed for it. Until all slow ones were accepted, it may lose its own.
    wait_for("the API answers", &[&node], status)?;
    ensure!(begun.elapsed() < Duration::from_secs(3), "the API was locked out");
    let mut closed = 0;
    while closed < 4 * PER_ADDRESS {
        ensure!(begun.elapsed() < Duration::from_secs(3), "only {closed} made room");
        closed = all.iter_mut().filter_map(|stream| is_closed(stream).then_some(())).count();
    }
    while !all.iter_mut().all(is_closed) {
        ensure!(begun.elapsed() < PATIENCE, "slow bodies are not cut");
        std::thread::sleep(Duration::from_millis(50));
    }
    ensure!(begun.elapsed() >= Duration::from_secs(4), "they were cut before their time");
    ensure!(!is_closed(&mut events), "a stream of events was cut");
    Ok(())
}

#[test]
fn a_client_beyond_the_connections_of_its_address_is_refused_in_words() -> Result<()> {
    let ground = ProcessYard::new(0, 0)?;
    let per_address = PER_ADDRESS.to_string();
    let node = ground.start_node(&[("http.connections_per_address", &*per_address)])?;
    wait_for("the node answers", &[&node], || ground.get("/api/v1/status").map(drop))?;
    let events = events(&ground);
    let mut streams = Vec::new();
    for _ in 0..PER_ADDRESS {
        let stream = sent(ground.node, &events)?;
        wait_for("a stream of events begins", &[&node], || stream.peek(&mut [0]).ok())?;
        streams.push(stream);
    }
    let mut refused = TcpStream::connect(ground.node)?;
    refused.set_read_timeout(Some(PATIENCE))?;
    let mut answer = String::new();
    refused.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("Retry-After: 1"), "{answer}");
    ensure!(answer.ends_with("\r\n\r\ntoo many connections, retry shortly\n"), "{answer}");
    streams.pop();
    wait_for("there is room again", &[&node], || ground.get("/api/v1/status").map(drop))
}

/// Slow connections to the API, and the same number to the server of links.
const SLOW: usize = 1500;

/// Raises the limit of open files of this process, so that it can hold all slow connections.
fn allow_slow_connections() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let needed = 2 * SLOW as u64 + 200;
    if limit.current.is_some_and(|current| current < needed) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(needed), ..limit })?;
    }
    Ok(())
}

#[test]
fn three_thousand_slow_connections_stop_no_call_link_or_copy() -> Result<()> {
    allow_slow_connections()?;
    let ground = ProcessYard::new(1, 1)?;
    std::fs::write(ground.path("input/film"), "the film")?;
    let links = free_addr(Ipv4Addr::LOCALHOST)?;
    let (root, listen) = (ground.path("input").display().to_string(), links.to_string());
    let roots = format!("{{ input = \"{root}\" }}");
    let node = ground.start_node(&[("share.roots", &*roots), ("share.listen", &*listen)])?;
    let (source, destination) = (ground.start_source(0, &[])?, ground.start_destination(0, &[])?);
    let roles = [&node, &source, &destination];
    wait_for("the node answers", &roles, || ground.get("/api/v1/status").map(drop))?;
    let url = format!("http://{}", ground.node);
    let created = binary::run(&["share", "create", "input/film", "--ttl", "1h", "--url", &url]);
    ensure!(created.code == Some(0), "{}", created.err);
    let link = format!("{}/file", created.out.trim());

    let body = "PATCH /tasks/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n{";
    let head = "GET /s/none HTTP/1.1\r\nHost: x\r\n";
    let mut slow = Vec::new();
    for _ in 0..SLOW {
        slow.push(sent(ground.node, body)?);
        slow.push(sent(links, head)?);
    }
    wait_for("the API answers", &roles, || ground.get("/api/v1/status").map(drop))?;
    let served = Command::new("curl").args(["-sSf", "-m", "20", &link]).output()?;
    ensure!(served.stdout == b"the film", "{link}: {}", served.status);
    let master = ground.master(b"new.mpg", 5000)?;
    ground.grade(&[b"new.mpg"])?;
    let copy = ground.copies(0).join("new.mpg");
    wait_for("the copy", &roles, || holds(&copy, &master).then_some(()))?;
    drop(slow);
    Ok(())
}
