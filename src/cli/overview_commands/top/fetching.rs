//! Answers of the node for `reelyard top`. They come from a thread, so that keys never wait for the node.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use reelyard_access::rights::AccessScope;
use reelyard_api::{FileView, HostView, LinkFigures, OverviewView, Page, PoolInfo, TaskView};

use super::panel::TopPanel;
use crate::cli::box_commands::box_tables;
use crate::cli::client::NodeClient;
use crate::cli::output::cell::text;
use crate::cli::output::{ListCell, ListColumn, ListTable, PrintStyle};
use crate::cli::support::failure::CommandFailure;
use crate::cli::yard_commands::{files, hosts, tasks};

/// Pause between two answers.
const PAUSE: Duration = Duration::from_secs(1);

/// Most rows of a panel.
const ROWS: &str = "200";

/// Most copies below the figures.
const FEW: &str = "20";

/// An answer of the node.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// URL of the node.
    pub node: String,
    /// The panel that the table belongs to.
    pub panel: TopPanel,
    /// Troubles and figures.
    pub overview: OverviewView,
    /// The list of the panel.
    pub table: ListTable,
    /// The right that the caller lacks for the list.
    pub missing: Option<AccessScope>,
}

/// Reads the answers for a panel.
///
/// # Errors
/// The node does not answer, or refuses.
pub fn fetch(
    client: &NodeClient,
    panel: TopPanel,
    style: &PrintStyle,
) -> Result<Fetched, CommandFailure> {
    let overview: OverviewView = client.get(&["overview"], &[])?;
    let style = &style.now();
    let missing = missing_right(panel, &overview);
    let table = match panel {
        TopPanel::Overview | TopPanel::Copies => {
            let limit = if panel == TopPanel::Copies { ROWS } else { FEW };
            let query = [("state", "working"), ("limit", limit)];
            let page: Page<TaskView> = client.get(&["tasks"], &query)?;
            tasks::table(&page.items, style)
        }
        TopPanel::Hosts => {
            let page: Page<HostView> = client.get(&["hosts"], &[("limit", ROWS)])?;
            hosts::table(&page.items, style)
        }
        TopPanel::Hot => {
            let query = [("hot", "true"), ("limit", ROWS)];
            let page: Page<FileView> = client.get(&["files"], &query)?;
            files::table(&page.items, style)
        }
        TopPanel::Links => links(overview.links.as_ref()),
        TopPanel::Boxes if missing.is_some() => ListTable::new([ListColumn::left("POOL")]),
        TopPanel::Boxes => {
            let page: Page<PoolInfo> = client.get(&["pools"], &[("limit", ROWS)])?;
            box_tables::pools(&page.items, style)
        }
    };
    Ok(Fetched { node: client.node().to_string(), panel, overview, table, missing })
}

/// The right that the caller lacks for a panel. The overview leaves out what the caller may not read.
pub fn missing_right(panel: TopPanel, overview: &OverviewView) -> Option<AccessScope> {
    match panel {
        TopPanel::Links if overview.links.is_none() => Some(AccessScope::SharesRead),
        TopPanel::Boxes if overview.pools.is_none() => Some(AccessScope::BoxesRead),
        _ => None,
    }
}

/// The links that end next.
fn links(links: Option<&LinkFigures>) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::left("ENDS IN"),
        ListColumn::name("PATH"),
        ListColumn::right("DOWNLOADS"),
    ]);
    for link in links.map(|links| links.next.as_slice()).unwrap_or_default() {
        let downloads = match link.max_downloads {
            Some(most) => format!("{}/{most}", link.downloads),
            None => link.downloads.to_string(),
        };
        table.row([ListCell::Until(link.expires_at.0), text(&link.path), text(downloads)]);
    }
    table
}

/// Begins to read answers, one each second. A panel that is sent is read at once.
pub fn start(
    client: NodeClient,
    style: PrintStyle,
) -> (Sender<TopPanel>, Receiver<Result<Fetched, CommandFailure>>) {
    let (panels, wanted) = channel();
    let (send, answers) = channel();
    std::thread::spawn(move || {
        let mut panel = TopPanel::default();
        loop {
            match wanted.recv_timeout(PAUSE) {
                Ok(next) => panel = wanted.try_iter().last().unwrap_or(next),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if send.send(fetch(&client, panel, &style)).is_err() {
                return;
            }
        }
    });
    (panels, answers)
}
