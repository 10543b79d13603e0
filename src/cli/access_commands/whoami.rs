//! `reelyard whoami`

use std::io::Write;

use clap::Args;
use comfy_table::Cell;
use reelyard_api::CallerInfo;

use crate::cli::client::{NodeArgs, NodeClient};
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::output::{self, plain};

#[derive(Debug, Args)]
pub struct WhoamiArgs {
    #[command(flatten)]
    node: NodeArgs,
}

/// Prints the caller and its rights.
pub fn run(args: WhoamiArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let client = NodeClient::new(&args.node)?;
    let caller: CallerInfo = client.get(&["whoami"], &[])?;
    if args.node.json {
        return Ok(output::json(&caller, out)?);
    }
    let scopes: Vec<String> = caller.scopes.iter().map(ToString::to_string).collect();
    let role = caller.role.map_or("-".to_owned(), |role| role.to_string());
    let mut table = output::table(&["CALLER", "ROLE", "SCOPES"]);
    table.add_row([Cell::new(plain(&caller.name)), Cell::new(role), Cell::new(scopes.join(" "))]);
    Ok(output::print(&table, out)?)
}
