//! Commands on a stopped node: they give its empty data directory an identity.

use std::io::Write as _;

use anyhow::anyhow;
use reelyard_cluster::{JoinFailed, join_cluster};
use reelyard_core::private_dir;
use reelyard_journal::{StoreIdentity, found_cluster, has_store, keep_joiner, stored_identity};
use reelyard_protocol::cluster::{FormatLevels, JoinAnswer, JoinRequest, JoinSecret};
use reelyard_replication::FORMAT_LEVEL;

use crate::cli::output::Printer;
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::layers::LayerArgs;
use crate::config::{NodeConfig, load_node};
use crate::node::{journal_dir, own_url};

/// Founds a cluster in the data directory of a configuration.
pub fn init(layers: LayerArgs, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let config = load_node(&layers.layers())?;
    let dir = journal_dir(&config.data_dir);
    if has_store(&dir) {
        let detail = format!(
            "{} has the store of a node already: start the node. A node that ran alone is the first one of its \
             cluster",
            config.data_dir.display()
        );
        return Err(CommandFailure::Failed(anyhow!(detail)));
    }
    create_data_dir(&config)?;
    let number = config.node_id.map_or(1, u64::from);
    let identity = found_cluster(&dir, number).map_err(anyhow::Error::from)?;
    writeln!(out, "cluster {}: this is node {number}", identity.cluster)?;
    Ok(out.remark("Start it: reelyard node --config FILE. Then run \"reelyard cluster invite\"")?)
}

/// Makes the node of a configuration a member of the cluster of the member at `at`.
pub fn join(
    at: &str,
    secret: &str,
    layers: LayerArgs,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let config = load_node(&layers.layers())?;
    let Some(cluster_address) = config.cluster.public_address() else {
        let detail = "cluster.listen is not set: the members could not reach this node. Set it in the configuration";
        return Err(CommandFailure::Usage(detail.to_owned()));
    };
    let dir = journal_dir(&config.data_dir);
    let joiner = match stored_identity(&dir).map_err(anyhow::Error::from)? {
        Some(identity) if identity.has_joined && !identity.was_used => identity,
        None if !has_store(&dir) => {
            create_data_dir(&config)?;
            let joiner = StoreIdentity::joiner().map_err(anyhow::Error::from)?;
            // Kept before the request: a repetition gets the same number.
            keep_joiner(&dir, &joiner).map_err(anyhow::Error::from)?;
            joiner
        }
        Some(_) | None => {
            let detail = format!(
                "{} has the store of a node already. A new member begins with an empty data directory",
                config.data_dir.display()
            );
            return Err(CommandFailure::Failed(anyhow!(detail)));
        }
    };
    let request = JoinRequest {
        secret: JoinSecret(secret.to_owned()),
        store: joiner.store,
        cluster_address,
        api_address: own_url(&config, config.listen),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        levels: FormatLevels { min: FORMAT_LEVEL, max: FORMAT_LEVEL },
    };
    let JoinAnswer { cluster, number, members } = ask(at, &config, &request)?;
    let joined = StoreIdentity { member: Some((cluster, number)), ..joiner };
    keep_joiner(&dir, &joined).map_err(anyhow::Error::from)?;
    let count = members.len();
    writeln!(out, "cluster {cluster}: this is node {number}, beside {count} members")?;
    Ok(out.remark(
        "Start it: reelyard node --config FILE. It copies the journal, and votes ten seconds after it is up to date",
    )?)
}

fn ask(at: &str, config: &NodeConfig, request: &JoinRequest) -> Result<JoinAnswer, CommandFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let asked = runtime.block_on(join_cluster(&config.cluster.security(), at, request));
    asked.map_err(|failed| match failed {
        JoinFailed::Unreachable(why) => CommandFailure::NoMember { address: at.to_owned(), why },
        JoinFailed::Refused { why, .. } => CommandFailure::NotThere(format!("{at} refused: {why}")),
    })
}

fn create_data_dir(config: &NodeConfig) -> Result<(), CommandFailure> {
    private_dir::create(&config.data_dir).map_err(|error| {
        let dir = config.data_dir.display();
        CommandFailure::Failed(anyhow!("cannot create data_dir {dir}: {error}"))
    })
}
