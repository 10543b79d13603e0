//! No answer grows with the yard: lists have pages, and other answers have limits.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reelyard_console::format::count;
use reelyard_core::clock::Clock;
use reelyard_core::event::PieceId;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::names::{FileName, NameTable};
use reelyard_integration_tests::fakes::stand_in_cfw::StandInCfw;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_integration_tests::rigs::stores::share_store::created;
use reelyard_integration_tests::rigs::stores::written_events::write_events;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, free_addr, wait_for};
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_protocol::worker::{Blame, TaskId};
use reelyard_shares::share_expiry::{RootName, ShareId, ShareTable};
use reelyard_yard::task_manager::{
    BackingOff, Blamed, GivenUp, NewTask, TaskBook, TaskEnding, TaskEvent,
};

/// Graded files. A list of all is larger than the limit; so are those below.
const FILES: usize = 100_000;
const COPIES: usize = 3_500;
/// More than have series of their own in `/metrics`, and than an explanation lists. All but the first do not answer.
const HOSTS: usize = 1_100;
/// These, and hosts that have left the configuration.
const HOSTS_EVER: usize = 10_000;
/// The number of the file that all configured hosts hold.
const HELD_BY_ALL: usize = 9000;
/// Hosts whose ended copies are still in the list of tasks, which has at most 1,000 of them.
const LISTED_HOSTS: usize = 1_000;
/// Hosts in one event, so that it fits into an entry of the journal.
const NAMED_AT_ONCE: usize = 500;
const LINKS: usize = 100_000;
const BOXES: u32 = 10_000;

/// Refusing destinations with a row of their own in the panel "Why?".
const REFUSALS_WITH_ROW: usize = 20;

/// Largest answer in bytes.
const LARGEST: usize = 1 << 20;

/// Answers that go on, or that a caller asks to be whole.
const WITHOUT_LIMIT: [(&str, &str); 10] = [
    ("/api/v1/events", "a stream"),
    ("/api/v1/shares/events", "a stream"),
    ("/api/v1/audit/events", "a stream"),
    ("/api/v1/audit/export", "a download that is read as it is written"),
    ("/console/files/export", "a download that is read as it is written"),
    ("/console/history/export", "a download that is read as it is written"),
    ("/tasks", "cfm's wire has no pages: old hosts look for their copies in the whole list"),
    ("/dashboard", "a page of cfm: scripts read the whole list"),
    ("/dashboard/filemetas", "a page of cfm: scripts read the whole list"),
    ("/dashboard/hb", "a page of cfm: scripts read the whole list"),
];

/// Calls about one thing that this yard does not have.
const ABSENT: [&str; 2] = ["/api/v1/leases/{id}", "/api/v1/config/versions/1"];

/// Addresses outside of the API.
const PAGES: [&str; 32] = [
    "/readyz",
    "/metrics",
    "/guide",
    "/console",
    "/console?as=table",
    "/console/hosts",
    "/console/files",
    "/console/files?sort=name",
    "/console/files?state=waiting",
    "/console/files?why=file-9000.mpg",
    "/console/tasks",
    "/console/tasks?state=open",
    "/console/tasks?ask=retry",
    "/console/plan",
    "/console/plan?all=copies",
    "/console/plan?all=removals",
    "/console/map",
    "/console/map?view=table",
    "/console/map?view=hosts",
    "/console/shares",
    "/console/shares?sort=path",
    "/console/boxes",
    "/console/boxes?pool=p",
    "/console/history",
    "/console/audit",
    "/console/cluster",
    "/console/settings",
    "/console/access",
    "/console/guide",
    "/console/guide/api",
    "/console/find?q=file",
    "/login",
];

#[test]
fn no_answer_grows_with_the_yard() -> Result<()> {
    let yard = ProcessYard::new(1, 1)?;
    let links = on_a_system(fill_store(&yard))?;
    let node = start(&yard)?;
    std::fs::create_dir(yard.copies(0))?;
    let _source = StandInCfw::start_at(&yard.path("masters"), &yard.source(0).to_string())?;
    let _destination = StandInCfw::start_at(&yard.copies(0), &yard.destination(0).to_string())?;
    wait_for("the node answers", &[&node], || yard.get("/api/v1/status"))?;
    let open = wait_for("all copies are planned", &[&node], || {
        let plan = yard.get("/api/v1/plan")?;
        (plan["planned_total"] == COPIES).then_some(plan)
    })?;
    let history = yard.get("/api/v1/history?limit=1000").context("no history")?;
    let rows = history["items"].as_array().map(Vec::len);
    ensure!(rows == Some(1000) && history["next"].is_string(), "the history has {rows:?} rows");
    an_explanation_counts_the_hosts_that_it_does_not_list(&yard)?;
    a_listed_file_counts_the_destinations_that_it_does_not_name(&yard)?;
    let task = open["planned"][0]["task"].as_str().context("no task")?.to_owned();
    let link = links.first().context("no link")?;
    let mut addresses: Vec<String> = PAGES.map(str::to_owned).to_vec();
    let document = yard.get("/api/v1/openapi.json").context("no document")?;
    for (path, calls) in document["paths"].as_object().context("no paths")? {
        let Some(call) = calls.get("get") else { continue };
        let path = path
            .replace("/files/{name}", "/files/file-9000.mpg")
            .replace("/tasks/{id}", &format!("/tasks/{task}"))
            .replace("/shares/{id}", &format!("/shares/{link}"))
            .replace("{host}", &yard.destination(0).to_string())
            .replace("{pool}", "p")
            .replace("{number}", "1");
        let parameters = call["parameters"].as_array().cloned().unwrap_or_default();
        let has_pages = parameters.iter().any(|parameter| parameter["name"] == "limit");
        addresses.push(if has_pages { format!("{path}?limit=1000") } else { path });
    }
    let orders = format!("/api/v1/workers/{}/tasks", yard.destination(0));
    // A worker gets all its orders. `task.copies_per_source` limits them.
    addresses.retain(|address| *address != orders);
    let mut too_large = Vec::new();
    for address in addresses {
        if WITHOUT_LIMIT.iter().any(|(path, _)| *path == address.split('?').next().unwrap_or("")) {
            continue;
        }
        let mut curl = yard.curl();
        curl.args(["-g", "-w", "\n%{http_code}"]);
        let answer = curl.arg(format!("http://{}{address}", yard.node)).output()?;
        let is_absent = ABSENT.contains(&address.as_str());
        let wanted: &[u8] = if is_absent { b"\n404" } else { b"\n200" };
        ensure!(answer.stdout.ends_with(wanted), "{address} was answered with another status");
        if answer.stdout.len() > LARGEST {
            too_large.push(format!("{address}: {} bytes", answer.stdout.len()));
        }
    }
    assert!(too_large.is_empty(), "answers over {LARGEST} bytes: {too_large:#?}");
    the_pages_of_the_plan_have_each_copy_once(&yard)
}

fn an_explanation_counts_the_hosts_that_it_does_not_list(yard: &ProcessYard) -> Result<()> {
    let answer = yard.get("/api/v1/files/file-9000.mpg/explain").context("no explanation")?;
    let listed = answer["destinations"].as_array().context("no destinations")?;
    let left_out = answer["destinations_left_out"].as_array().context("none is left out")?;
    let counted: u64 = left_out.iter().filter_map(|more| more["hosts"].as_u64()).sum();
    let shown = (listed.len(), counted);
    ensure!(shown == (500, HOSTS as u64 - 500), "listed and counted: {shown:?}");
    let holders = answer["held_on"].as_array().map(Vec::len);
    let more = answer["held_on_left_out"].as_u64().context("no holder is left out")?;
    ensure!(holders == Some(500) && more + 501 >= HOSTS as u64, "{holders:?} and {more} more");
    let agreeing = listed.iter().filter(|destination| destination["says"] == "yes").count();
    let without_row = (HOSTS - agreeing - REFUSALS_WITH_ROW) as u64;
    let page = format!("http://{}/console/files?why=file-9000.mpg", yard.node);
    let page = String::from_utf8(yard.curl().arg(page).output()?.stdout)?;
    let words = format!("and {} more", count(without_row));
    ensure!(page.contains(&words), "the panel does not say: {words}");
    Ok(())
}

fn a_listed_file_counts_the_destinations_that_it_does_not_name(yard: &ProcessYard) -> Result<()> {
    let page = yard.get("/api/v1/files?contains=file-9000.mpg").context("no files")?;
    let file = &page["items"][0];
    let shown = (file["placed_on"].as_array().map(Vec::len), file["placed_on_left_out"].as_u64());
    // The first host has answered, and does not list it.
    let holders = HOSTS as u64 - 1;
    ensure!(shown == (Some(20), Some(holders - 20)), "named and counted: {shown:?}");
    Ok(())
}

/// The copies by their sizes. The largest one is planned last and shown first.
fn the_pages_of_the_plan_have_each_copy_once(yard: &ProcessYard) -> Result<()> {
    let mut shown = Vec::new();
    let mut next = Some("/console/plan?all=copies&copies_sort=-size".to_owned());
    while let Some(address) = next {
        let answer = yard.curl().arg(format!("http://{}{address}", yard.node)).output()?.stdout;
        ensure!(answer.len() <= LARGEST, "{address}: {} bytes", answer.len());
        let page = String::from_utf8(answer)?;
        let copies = page.split("id=\"line\"").nth(1).context("no copies")?;
        let copies = copies.split("</section>").next().unwrap_or_default();
        let titles = copies.split("title=\"").skip(1).filter_map(|title| title.split('"').next());
        shown.extend(titles.filter(|title| title.starts_with("file-")).map(str::to_owned));
        let link = copies.split("\" rel=\"next\"").next().filter(|before| *before != copies);
        let link = link.and_then(|before| before.rsplit("href=\"").next());
        next = link.map(|link| link.replace("&amp;", "&"));
    }
    let by_size: Vec<String> = (0..COPIES).rev().map(|file| format!("file-{file}.mpg")).collect();
    let wrong = shown.iter().zip(&by_size).position(|(one, other)| one != other);
    ensure!(shown.len() == COPIES && wrong.is_none(), "{} copies, {wrong:?}", shown.len());
    Ok(())
}

fn start(yard: &ProcessYard) -> Result<RoleProcess> {
    let names: Vec<String> = (0..FILES).map(|file| format!("file-{file}.mpg")).collect();
    let graded: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
    yard.grade(&graded)?;
    // Each master is larger than those of better grades.
    for (size, name) in (1..).zip(names.iter().take(COPIES)) {
        File::create(yard.path("masters").join(name))?.set_len(size)?;
    }
    let links = free_addr(std::net::Ipv4Addr::LOCALHOST)?;
    let masters = yard.path("masters");
    let settings = yard.node_file().replace(
        &format!("hosts.destinations = [\"{}\"]", yard.destination(0)),
        &format!("hosts.destinations = {:?}", destinations(yard, HOSTS)),
    );
    let settings =
        settings.replace("heartbeat.interval = \"300ms\"", "heartbeat.interval = \"1m\"");
    let more = format!(
        "listen = {:?}\ndata_dir = {:?}\nshare.roots = {{ movies = {masters:?} }}\n\
         share.listen = {:?}\nbox.pools = {{ p = {{ size = {BOXES} }} }}\n\
         task.copies_per_source = {COPIES}\n",
        yard.node.to_string(),
        yard.path("node"),
        links.to_string(),
    );
    std::fs::write(yard.path("node.toml"), settings + &more)?;
    RoleProcess::start_by_file("node", &yard.path("node.toml"), yard.path("node.log"))
}

/// The destination of the yard, and hosts that do not answer.
fn destinations(yard: &ProcessYard, hosts: usize) -> Vec<String> {
    let absent = (1..hosts).map(|host| format!("127.255.{}.{}:9", host / 250, host % 250 + 1));
    std::iter::once(yard.destination(0).to_string()).chain(absent).collect()
}

/// Writes all links, and the ended copies of all hosts, into the store of a node that has not started yet.
async fn fill_store(yard: &ProcessYard) -> Result<Vec<ShareId>> {
    let options = JournalOptions::alone(yard.path("node").join("journal"), 1);
    let pieces = [PieceId::Tasks, PieceId::Shares];
    let journal = Journal::open(options, Arc::new(NoPeers), &pieces).await?;
    let root = RootName::new("movies")?;
    let end = Clock::system().now().after(Duration::from_secs(86_400));
    let ids: Vec<ShareId> = (0..LINKS).map(|_| ShareId::random()).collect::<Result<_, _>>()?;
    let path = |number| format!("file-{}.mpg", number % COPIES);
    let links = ids.iter().zip(0..).map(|(id, number)| created(*id, &root, path(number), end));
    let links = links.collect::<Result<Vec<_>>>()?;
    let (tasks, table) = (TaskBook::new(NameTable::new()), ShareTable::default());
    futures::try_join!(
        write_events(&journal, tasks, ended_copies(yard)?),
        write_events(&journal, table, links),
    )?;
    journal.stop().await;
    Ok(ids)
}

/// All hosts, and copies to them that ended. The configured hosts hold one file. Each host but the first failed for a
/// reason of its own and backs off.
fn ended_copies(yard: &ProcessYard) -> Result<Vec<TaskEvent>> {
    let source: HostAddr = yard.source(0).to_string().parse()?;
    let hosts = destinations(yard, HOSTS_EVER)
        .iter()
        .map(|host| host.parse())
        .collect::<Result<Vec<_>, _>>()?;
    let mut named: Vec<(HostAddr, HostRole)> = vec![(source, HostRole::Source)];
    named.extend(hosts.iter().map(|host| (*host, HostRole::Destination)));
    let named = named.chunks(NAMED_AT_ONCE).map(<[_]>::to_vec);
    let mut events: Vec<TaskEvent> =
        named.map(|named| TaskEvent::HostsNamed { named, dropped: Vec::new() }).collect();
    let until = Clock::system().now().after(Duration::from_secs(3600));
    for (place, host) in hosts.iter().enumerate() {
        let mut tasks = Vec::new();
        if place < HOSTS {
            let id = TaskId(i64::try_from(place + 1)?);
            events.push(TaskEvent::Created(ended_copy(id, HELD_BY_ALL, source, *host)?));
            events.push(TaskEvent::Completed { id, size: Some(1), hash: None });
            tasks.push(id);
        }
        if place > 0 {
            let id = TaskId(i64::try_from(HOSTS + place)?);
            let file = COPIES + place % (FILES - COPIES);
            events.push(TaskEvent::Created(ended_copy(id, file, source, *host)?));
            let reason = format!("disk {place} of the destination cannot be written");
            let blame = Some(Blame::Destination);
            let ending = TaskEnding { how: GivenUp::Failed, reason, blame };
            let back_off = Some(BackingOff { blamed: Blamed::Destination(*host), until });
            events.push(TaskEvent::Ended { id, ending, back_off });
            tasks.push(id);
        }
        // The list keeps the copies of the last hosts. The history keeps all.
        if place + LISTED_HOSTS < hosts.len() {
            events.push(TaskEvent::Forgot { tasks, back_offs: Vec::new() });
        }
    }
    Ok(events)
}

fn ended_copy(id: TaskId, file: usize, source: HostAddr, destination: HostAddr) -> Result<NewTask> {
    Ok(NewTask {
        id,
        name: FileName::new(format!("file-{file}.mpg"))?,
        dir: "/masters".to_owned(),
        source,
        destination,
        grade: u32::try_from(file + 1)?,
        hits: 0,
        size: 1,
        copy_speed: None,
        source_cap: u32::try_from(COPIES)?,
        asked_by: None,
    })
}
