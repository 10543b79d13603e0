//! Copies between two workers, verified and synced, in comparison with nginx and curl, which do neither, and with
//! the same copies over TLS.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_integration_tests::rigs::tls::private_authority::PrivateAuthority;
use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, free_address};
use reelyard_integration_tests::rigs::yard::{RoleProcess, wait_for, wait_until_up};
use reelyard_protocol::worker::{ReportedState, TaskId, TaskOrder};

use crate::figure::{BenchFigure, FigureTarget};
use crate::peers::Nginx;
use crate::usage::{cpu_of, cpu_of_ended_children};

/// The size of the large file in bytes.
const LARGE: u64 = 4 << 30;

/// The number of alternating runs. The best one counts, because noise only slows a run down.
const TIMES: usize = 3;

/// The number of small files.
const SMALL_FILES: usize = 10_000;

/// The size of each small file in bytes.
const SMALL: u64 = 64 << 10;

/// The number of orders that wait at the destination. A real node sends only planned orders too.
const ORDERED_AHEAD: usize = 1024;

/// The longest time for all copies.
const PATIENCE: Duration = Duration::from_secs(600);

/// The cost of a copy.
#[derive(Clone, Copy, Debug)]
struct Cost {
    wall: Duration,
    cpu: Duration,
}

/// Measures one file of 4 GiB, from the order to the verified and synced copy in its place.
pub fn measure_one_file() -> Result<Vec<BenchFigure>> {
    let place = TransferDirectories::new()?;
    place.master("large.mpg", LARGE)?;
    let (ours, theirs) = actix_rt::System::new().block_on(async {
        let yard = TransferYard::start(&place, 1).await?;
        let nginx = Nginx::start(&place.masters(), place.dir.path())?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for turn in 0..TIMES {
            ours.push(yard.copy(&place, &["large.mpg".to_owned()], turn).await?);
            std::fs::remove_file(place.copies().join("large.mpg"))?;
            theirs.push(curl_one(&nginx, &place)?);
            std::fs::remove_file(place.peers_copies().join("large.mpg"))?;
        }
        yard.node.stop().await;
        anyhow::Ok((ours, theirs))
    })?;
    let first = *ours.first().context("no copy was measured")?;
    let (ours, theirs) = (best_of(&ours)?, best_of(&theirs)?);
    let rate = |cost: Cost| LARGE as f64 / cost.wall.as_secs_f64() / 1e6;
    let cpu = |cost: Cost| cost.cpu.as_secs_f64() * f64::from(1 << 30) / LARGE as f64;
    let peer = "nginx + curl + sync, unverified";
    Ok(vec![
        BenchFigure::new(
            "one file of 4 GiB, verified and synced",
            rate(ours),
            "MB/s",
            FigureTarget::TimesPeer(1.3),
        )
        .beside(peer, rate(theirs)),
        BenchFigure::new(
            "… processor time",
            cpu(ours),
            "s/GiB",
            FigureTarget::AtMostTimesPeer(1.0),
        )
        .beside(peer, cpu(theirs)),
        BenchFigure::new(
            "… the first time, when the source does not know its hash",
            rate(first),
            "MB/s",
            FigureTarget::Nothing,
        )
        .beside(peer, rate(theirs)),
    ])
}

/// Measures the same file over TLS beside a copy without it.
pub fn measure_one_file_with_tls() -> Result<Vec<BenchFigure>> {
    let place = TransferDirectories::new()?;
    place.master("large.mpg", LARGE)?;
    let authority = PrivateAuthority::make(place.dir.path().join("certs"))?;
    let (encrypted, plain) = actix_rt::System::new().block_on(async {
        let encrypting = TransferYard::start_with_tls(&place, &authority).await?;
        let plaintext = TransferYard::start(&place, 1).await?;
        let (mut encrypted, mut plain) = (Vec::new(), Vec::new());
        for turn in 0..TIMES {
            for (yard, costs) in [(&encrypting, &mut encrypted), (&plaintext, &mut plain)] {
                costs.push(yard.copy(&place, &["large.mpg".to_owned()], turn).await?);
                std::fs::remove_file(yard.copies.join("large.mpg"))?;
            }
        }
        encrypting.node.stop().await;
        plaintext.node.stop().await;
        anyhow::Ok((best_of(&encrypted)?, best_of(&plain)?))
    })?;
    let rate = |cost: Cost| LARGE as f64 / cost.wall.as_secs_f64() / 1e6;
    let cpu = |cost: Cost| cost.cpu.as_secs_f64() * f64::from(1 << 30) / LARGE as f64;
    let what = "one file of 4 GiB over TLS, verified and synced";
    Ok(vec![
        BenchFigure::new(what, rate(encrypted), "MB/s", FigureTarget::Nothing)
            .beside("the same without TLS", rate(plain)),
        BenchFigure::new("… processor time", cpu(encrypted), "s/GiB", FigureTarget::Nothing)
            .beside("the same without TLS", cpu(plain)),
    ])
}

/// Measures many small files, from the orders to the last copy in its place.
pub fn measure_many_files() -> Result<Vec<BenchFigure>> {
    let place = TransferDirectories::new()?;
    // Each turn has other files, because a file system is slow to reuse inode numbers that it has just freed.
    let turns: Vec<Vec<String>> = (0..TIMES)
        .map(|turn| (0..SMALL_FILES).map(|index| format!("small-{turn}-{index}.mpg")).collect())
        .collect();
    for name in turns.iter().flatten() {
        place.master(name, SMALL)?;
    }
    let (ours, theirs) = actix_rt::System::new().block_on(async {
        let yard = TransferYard::start(&place, 8).await?;
        let nginx = Nginx::start(&place.masters(), place.dir.path())?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for (turn, names) in turns.iter().enumerate() {
            ours.push(yard.copy(&place, names, turn).await?);
            theirs.push(curl_many(&nginx, &place, names)?);
        }
        yard.node.stop().await;
        anyhow::Ok((ours, theirs))
    })?;
    let rate = |cost: Cost| SMALL_FILES as f64 / cost.wall.as_secs_f64();
    let ours = best_of(&ours)?;
    let synced: Vec<Cost> = theirs.iter().map(|costs| costs.synced).collect();
    let unsynced: Vec<Cost> = theirs.iter().map(|costs| costs.unsynced).collect();
    let what = format!("{SMALL_FILES} files of 64 KiB, each verified and synced");
    Ok(vec![
        BenchFigure::new(what, rate(ours), "files/s", FigureTarget::TimesPeer(1.0))
            .beside("nginx + curl -Z 8 + sync, unverified", rate(best_of(&synced)?)),
        BenchFigure::new(
            "… beside one that syncs nothing",
            rate(ours),
            "files/s",
            FigureTarget::Nothing,
        )
        .beside("nginx + curl -Z 8, unverified", rate(best_of(&unsynced)?)),
    ])
}

/// The cost of many files for a peer without syncs, and with one sync at the end.
struct PeersCosts {
    unsynced: Cost,
    synced: Cost,
}

/// The lowest cost.
fn best_of(costs: &[Cost]) -> Result<Cost> {
    costs.iter().copied().min_by_key(|cost| cost.wall).context("no copy was measured")
}

/// The directories of a source and a destination.
struct TransferDirectories {
    dir: tempfile::TempDir,
}

impl TransferDirectories {
    fn new() -> Result<Self> {
        let place = TransferDirectories { dir: tempfile::tempdir()? };
        for dir in [place.masters(), place.copies(), place.peers_copies()] {
            std::fs::create_dir(dir)?;
        }
        Ok(place)
    }

    fn masters(&self) -> PathBuf {
        self.dir.path().join("masters")
    }

    fn copies(&self) -> PathBuf {
        self.dir.path().join("copies")
    }

    fn peers_copies(&self) -> PathBuf {
        self.dir.path().join("peers-copies")
    }

    /// Writes a master of incompressible bytes.
    fn master(&self, name: &str, size: u64) -> Result<()> {
        let mut part = vec![0; size.min(1 << 20) as usize];
        let mut random = fastrand::Rng::with_seed(size);
        let mut file = std::fs::File::create(self.masters().join(name))?;
        for _ in 0..size.div_ceil(part.len() as u64) {
            random.fill(&mut part);
            std::io::Write::write_all(&mut file, &part)?;
        }
        // Without this sync, the write-back of the master would count as cost of the copies.
        if size > 1 << 20 {
            file.sync_all()?;
        }
        Ok(())
    }
}

/// A source process, a destination process, and a node that sends orders.
struct TransferYard {
    node: FakeNode,
    source: HostAddr,
    /// Whether the source uses TLS on both ports.
    tls: bool,
    copies: PathBuf,
    roles: [RoleProcess; 2],
}

/// A setting of a process.
type WorkerSetting = (String, String);

fn setting(key: &str, value: &dyn std::fmt::Display) -> WorkerSetting {
    (key.to_owned(), value.to_string())
}

impl TransferYard {
    async fn start(place: &TransferDirectories, copies_at_once: usize) -> Result<Self> {
        let hosts = (free_address(), free_address());
        Self::start_with(place, place.copies(), copies_at_once, hosts, (&[], &[])).await
    }

    /// A source with TLS, and a destination for one copy at a time that trusts it.
    async fn start_with_tls(
        place: &TransferDirectories,
        authority: &PrivateAuthority,
    ) -> Result<Self> {
        let (source, destination) = (free_address(), free_address());
        let own = authority.host(&[&source.ip().to_string()])?;
        let certificate = own.settings().map(|(key, value)| setting(key, &value));
        let of_source = [&certificate[..], &[setting("tls.data", &true)]].concat();
        let trust = [setting("node_ca_file", &authority.ca())];
        let copies = place.dir.path().join("encrypted-copies");
        std::fs::create_dir(&copies)?;
        Self::start_with(place, copies, 1, (source, destination), (&of_source, &trust)).await
    }

    async fn start_with(
        place: &TransferDirectories,
        copies: PathBuf,
        copies_at_once: usize,
        (source, destination): (HostAddr, HostAddr),
        (of_source, of_destination): (&[WorkerSetting], &[WorkerSetting]),
    ) -> Result<Self> {
        let node = FakeNode::start();
        let tls = !of_source.is_empty();
        let dir = place.dir.path();
        let start = |what: &str, settings: &[WorkerSetting]| {
            let what = format!("{what}-{}", destination.socket().port());
            let state = setting("state_dir", &dir.join(&what).display());
            let settings = [settings, &[state]].concat();
            RoleProcess::start("worker", &settings, dir.join(format!("{what}.log")))
        };
        let masters = format!("[\"{}\"]", place.masters().display());
        let settings = [setting("listen", &source), setting("source_dirs", &masters)];
        let source_role = start("source", &[&settings, of_source].concat())?;
        wait_until_listening(source.socket(), &source_role)?;
        let settings = [
            setting("listen", &destination),
            setting("node", &node.url.trim_start_matches("http://")),
            setting("base_dir", &copies.display()),
            setting("storage.limit_percent", &100),
            setting("copies_at_once", &copies_at_once),
        ];
        let destination_role = start("destination", &[&settings, of_destination].concat())?;
        wait_until_up(destination.socket(), &destination_role)?;
        Ok(TransferYard { node, source, tls, copies, roles: [source_role, destination_role] })
    }

    fn cpu(&self) -> Result<Duration> {
        let mut used = Duration::ZERO;
        for role in &self.roles {
            used += cpu_of(role.process().context("a worker has ended")?)?;
        }
        Ok(used)
    }

    /// Orders copies of `names` and waits until each is reported as done.
    async fn copy(
        &self,
        place: &TransferDirectories,
        names: &[String],
        turn: usize,
    ) -> Result<Cost> {
        let first = i64::try_from(1 + turn * names.len())?;
        let dir = place.masters();
        let mut orders = Vec::new();
        for (id, name) in (first..).zip(names) {
            orders.push(TaskOrder {
                id: TaskId(id),
                name: FileName::new(name.as_bytes())?,
                dir: dir.display().to_string(),
                source: self.source,
                source_data: None,
                source_data_tls: false,
                source_tls: self.tls,
                size: std::fs::metadata(dir.join(name))?.len(),
                copy_speed: None,
                tickets: None,
            });
        }
        let (began, cpu) = (Instant::now(), self.cpu()?);
        let (reported, mut ordered) = (self.node.ends(), 0);
        let mut orders = orders.into_iter();
        loop {
            let ended = self.node.ends() - reported;
            if ended == names.len() {
                break;
            }
            // In rounds, as a node plans.
            if ordered - ended <= ORDERED_AHEAD / 2 {
                for order in orders.by_ref().take(ORDERED_AHEAD - (ordered - ended)) {
                    self.node.order(order);
                    ordered += 1;
                }
            }
            ensure!(began.elapsed() < PATIENCE, "the copies took too long");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let cost = Cost { wall: began.elapsed(), cpu: self.cpu()? - cpu };
        for report in self.node.reports() {
            if let ReportedState::Failed { reason, .. } = report.state {
                bail!("{} was not copied: {reason}", report.name);
            }
        }
        Ok(cost)
    }
}

fn wait_until_listening(addr: SocketAddr, role: &RoleProcess) -> Result<()> {
    wait_for("the source listens", &[role], || TcpStream::connect(addr).ok().map(drop))
}

fn curl_one(nginx: &Nginx, place: &TransferDirectories) -> Result<Cost> {
    let copy = place.peers_copies().join("large.mpg");
    let (began, cpu) = (Instant::now(), nginx.cpu()?);
    let url = format!("{}/large.mpg", nginx.url());
    let curl = used(Command::new("curl").args(["-sSf", "-o"]).arg(&copy).arg(url))?;
    let sync = used(Command::new("sync").arg(&copy))?;
    Ok(Cost { wall: began.elapsed(), cpu: curl + sync + nginx.cpu()? - cpu })
}

fn curl_many(nginx: &Nginx, place: &TransferDirectories, names: &[String]) -> Result<PeersCosts> {
    let list = place.dir.path().join("curl.conf");
    let (url, copies) = (nginx.url(), place.peers_copies());
    let lines = names.iter().map(|name| {
        format!("url = \"{url}/{name}\"\noutput = \"{}\"\n", copies.join(name).display())
    });
    std::fs::write(&list, lines.collect::<String>())?;
    let (began, cpu) = (Instant::now(), nginx.cpu()?);
    let mut curl = Command::new("curl");
    let curl = used(
        curl.args(["-sSf", "--no-progress-meter", "-Z", "--parallel-max", "8", "-K"]).arg(&list),
    )?;
    let unsynced = Cost { wall: began.elapsed(), cpu: curl + nginx.cpu()? - cpu };
    let sync = used(Command::new("sync").arg("--file-system").arg(&copies))?;
    let synced = Cost { wall: began.elapsed(), cpu: unsynced.cpu + sync };
    let copied = names.iter().filter(|name| copies.join(name).exists()).count();
    ensure!(copied == names.len(), "curl copied {copied} files");
    Ok(PeersCosts { unsynced, synced })
}

/// Runs `command` to its end and returns its processor time.
fn used(command: &mut Command) -> Result<Duration> {
    let before = cpu_of_ended_children()?;
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(cpu_of_ended_children()? - before)
}
