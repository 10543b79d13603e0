//! Boxes over HTTP: grants and cycles of a node with real clients.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_integration_tests::rigs::yard::{RoleProcess, free_addr};
use reqwest::Method;
use serde_json::json;

use crate::figure::{BenchFigure, FigureTarget};
use crate::peers::node_api::BenchApi;
use crate::peers::wrk;
use crate::subjects::boxes::box_actor::CLIENTS;

/// The number of boxes: one is always free.
pub const BOXES: u32 = 1000;

/// The number of grants for the measurement of latency.
const GRANTS: usize = 1000;

/// The duration of the measurement of cycles.
const SPAN: Duration = Duration::from_secs(8);

/// The number of alternating runs. The best one counts, because noise only slows a run down.
const TIMES: usize = 3;

/// The requests of `wrk`: an acquisition, then the release of the granted box.
pub const CYCLES: &str = r#"
    wrk.method = 'POST'
    wrk.headers['Content-Type'] = 'application/json'
    local wanted = '{"holder":"a bench","ttl":"1m","wait":"10s"}'
    local held = {}
    function request()
        local lease = table.remove(held)
        if lease then
            return wrk.format(nil, '/api/v1/leases/' .. lease[1] .. '/release', nil, '{"token":' .. lease[2] .. '}')
        end
        return wrk.format(nil, '/api/v1/pools/p/leases', nil, wanted)
    end
    function response(status, headers, body)
        if status == 201 then
            held[#held + 1] = { body:match('"lease_id":"([^"]+)"'), body:match('"token":(%d+)') }
        end
    end
"#;

/// Measures a grant of a free box, and cycles of one client and of many.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let dir = tempfile::tempdir_in(std::env::current_dir()?)?;
    let node = BoxBenchNode::start(dir.path())?;
    let granted = on_a_system(node.granted())?;
    let authorized = wrk::authorized(&node.api.authorization(), CYCLES);
    let script = wrk::script(dir.path(), &authorized)?;
    let cycles = |clients| -> Result<f64> {
        let mut best: f64 = 0.0;
        for _ in 0..TIMES {
            best =
                best.max(wrk::answers_per_second(&node.api.url(), &script, clients, SPAN)? / 2.0);
        }
        Ok(best)
    };
    let (one, many) = (cycles(1)?, cycles(CLIENTS)?);
    let what = |by: &str| format!("a box acquired and released over HTTP, durable, {by}");
    Ok(vec![
        BenchFigure::new(
            "a free box granted over HTTP, durable, p50",
            granted,
            "ms",
            FigureTarget::AtMost(1.0),
        ),
        BenchFigure::new(what("one client"), one, "/s", FigureTarget::AtLeast(700.0)),
        BenchFigure::new(what("64 clients"), many, "/s", FigureTarget::AtLeast(8_000.0)),
    ])
}

struct BoxBenchNode {
    _role: RoleProcess,
    api: BenchApi,
}

impl BoxBenchNode {
    fn start(dir: &Path) -> Result<Self> {
        let listen = free_addr(Ipv4Addr::LOCALHOST)?;
        let settings = [
            ("listen", listen.to_string()),
            ("data_dir", dir.join("node").display().to_string()),
            ("box.pools", format!("{{ p = {{ size = {BOXES}, queue_limit = 10000 }} }}")),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value));
        let role = RoleProcess::start("node", &settings, dir.join("node.log"))?;
        let node = BoxBenchNode { _role: role, api: BenchApi::new(listen, &dir.join("node"))? };
        on_a_system(async {
            let until = Instant::now() + Duration::from_secs(20);
            while node.api.ask(Method::GET, "/pools/p", None).await.is_err() {
                ensure!(Instant::now() < until, "the node has no pool");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(node)
        })
    }

    /// The median time of a grant, in milliseconds.
    async fn granted(&self) -> Result<f64> {
        let mut took = Vec::new();
        for _ in 0..GRANTS {
            let wanted = json!({ "holder": "a bench", "ttl": "1m", "wait": "0s" });
            let began = Instant::now();
            let lease = self.api.ask(Method::POST, "/pools/p/leases", Some(wanted)).await?;
            took.push(began.elapsed());
            let id = lease["lease_id"].as_str().context("a lease without an id")?;
            let token = json!({ "token": lease["token"] });
            self.api.ask(Method::POST, &format!("/leases/{id}/release"), Some(token)).await?;
        }
        took.sort_unstable();
        Ok(took[took.len() / 2].as_secs_f64() * 1e3)
    }
}
