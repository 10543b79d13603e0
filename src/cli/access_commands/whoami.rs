//! `reelyard whoami`

use std::io::Write;

use clap::Args;
use reelyard_api::CallerInfo;

use crate::cli::client::{NodeArgs, NodeClient};
use crate::cli::output::cell::{maybe, text, texts};
use crate::cli::output::{ListColumn, ListTable};
use crate::cli::support::failure::CommandFailure;

#[derive(Debug, Args)]
pub struct WhoamiArgs {
    #[command(flatten)]
    node: NodeArgs,
}

/// Prints the caller and its rights.
pub fn run(args: WhoamiArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let out = &mut args.node.output.printer(out);
    let client = NodeClient::new(&args.node)?;
    let caller: CallerInfo = client.get(&["whoami"], &[])?;
    if out.is_json() {
        return out.json(&caller);
    }
    let mut table = ListTable::new([
        ListColumn::left("CALLER"),
        ListColumn::left("ROLE"),
        ListColumn::reason("SCOPES"),
    ]);
    table.row([text(&caller.name), maybe(caller.role, text), texts(&caller.scopes)]);
    Ok(out.table(&table)?)
}
