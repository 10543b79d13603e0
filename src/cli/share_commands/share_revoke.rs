//! `reelyard share revoke`

use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;
use reelyard_api::{ProblemKind, ShareInfo, WantedRevocation};
use reelyard_shares::share_expiry::{Revoked, ShareId, ShareOwner};

use super::share_ref::ShareRef;
use crate::cli::client::NodeClient;
use crate::cli::output::Printer;
use crate::cli::support::failure::CommandFailure;

#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// Ids or links of the shares. Put -- before an id that begins with "-".
    #[arg(required_unless_present_any = ["owner", "path"])]
    shares: Vec<ShareRef>,
    /// All shares of this owner; with --path only those below the path.
    #[arg(long, value_parser = ShareOwner::new, conflicts_with = "shares")]
    owner: Option<ShareOwner>,
    /// All shares of this path and below it; with --owner only those of the owner.
    #[arg(long, conflicts_with = "shares")]
    path: Option<String>,
    /// Also cut running downloads.
    #[arg(long)]
    hard: bool,
}

/// Revokes shares, and reports named shares that the node does not know.
pub fn revoke(
    client: &NodeClient,
    wanted: RevokeArgs,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let RevokeArgs { shares, owner, path, hard } = wanted;
    // Removes duplicates.
    let ids: BTreeSet<ShareId> = shares.into_iter().map(|share| share.0).collect();
    let named = (!ids.is_empty()).then(|| ids.iter().copied().collect());
    let wanted = WantedRevocation { ids: named, owner, path, hard };
    let revoked: Revoked = client.post_body(&["shares", "revoke"], &wanted)?;
    let unknown = if revoked.others == 0 { Vec::new() } else { unknown(client, &ids)? };
    if out.is_json() {
        out.json(&revoked)?;
    } else {
        print_revocations(&revoked, unknown.len() as u64, out)?;
    }
    if unknown.is_empty() { Ok(()) } else { Err(CommandFailure::NotThere(unknown.join("\n"))) }
}

/// A message for each share that the node does not know.
fn unknown(client: &NodeClient, ids: &BTreeSet<ShareId>) -> Result<Vec<String>, CommandFailure> {
    let mut unknown = Vec::new();
    for id in ids {
        match client.get::<ShareInfo>(&["shares", &id.to_string()], &[]) {
            Err(CommandFailure::Refused(problem))
                if problem.known_kind() == Some(ProblemKind::NotFound) =>
            {
                unknown.push(format!("share {id} does not exist"));
            }
            // It exists or has ended.
            Ok(_) | Err(CommandFailure::Refused(_)) => {}
            Err(failed) => return Err(failed),
        }
    }
    Ok(unknown)
}

fn print_revocations(
    revoked: &Revoked,
    unknown: u64,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let others = match revoked.others.saturating_sub(unknown) {
        0 => String::new(),
        others => format!("; {others} had already ended"),
    };
    let none = if *revoked == Revoked::default() { "; nothing matched" } else { "" };
    Ok(writeln!(out, "{} ended{others}{none}", revoked.ended)?)
}
