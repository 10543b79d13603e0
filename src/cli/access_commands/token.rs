//! `reelyard token`

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use comfy_table::Cell;
use reelyard_access::rights::{AccessScope, Role, TokenName};
use reelyard_api::{NewTokenInfo, Page, Rfc3339, TokenInfo, Ttl, WantedRotation, WantedToken};
use reelyard_core::address_range::AddressRange;
use reelyard_core::host::HostAddr;

use super::token_recover::{self, RecoverArgs};
use crate::cli::client::{NodeArgs, NodeClient};
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::output::{self, maybe, plain};

#[derive(Debug, Args)]
pub struct TokenArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// List all tokens, without their secrets.
    List,
    /// Create a token and print its secret, once.
    Create(Box<CreateTokenArgs>),
    /// Give a token another secret and print it, once. The former secret is refused at once.
    Rotate {
        /// Name of the token.
        name: TokenName,
        /// Lifetime of the new secret, or "never". Default: the end of the former one.
        #[arg(long, conflicts_with = "expires_at")]
        ttl: Option<Ttl>,
        /// End of the new secret, such as 2026-12-31T18:00:00Z.
        #[arg(long)]
        expires_at: Option<Rfc3339>,
    },
    /// Revoke tokens. They are refused at once.
    Revoke {
        /// Names of the tokens.
        #[arg(required = true)]
        names: Vec<TokenName>,
    },
    /// Replace a lost token of the administrator. Run it on the host of the node.
    Recover(RecoverArgs),
}

#[derive(Debug, Args)]
struct CreateTokenArgs {
    /// Unique name of the token. The token of a worker has the name of its host.
    #[arg(required_unless_present = "worker")]
    name: Option<TokenName>,
    /// Role: viewer, operator or admin.
    #[arg(long, conflicts_with_all = ["scope", "worker"], required_unless_present_any = ["scope", "worker"])]
    role: Option<Role>,
    /// Scope such as shares:write or boxes:lease:judges. Repeat it for more scopes.
    #[arg(long, conflicts_with = "worker")]
    scope: Vec<AccessScope>,
    /// The host (ip:port) whose worker gets the token.
    #[arg(long, conflicts_with = "name")]
    worker: Option<HostAddr>,
    /// Replace the token of the same worker.
    #[arg(long, requires = "worker")]
    replace: bool,
    /// Lifetime such as 30d. Default: no end.
    #[arg(long, conflicts_with = "expires_at")]
    ttl: Option<Ttl>,
    /// End of the token, such as 2026-12-31T18:00:00Z.
    #[arg(long)]
    expires_at: Option<Rfc3339>,
    /// Address or network from which the token is accepted, such as 10.0.0.0/8. Repeat it for more.
    #[arg(long, value_name = "RANGE")]
    from: Vec<AddressRange>,
    /// Write the secret to this new file, with mode 0600, instead of printing it.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Prints tokens or changes them.
pub fn run(args: TokenArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let json = args.node.json;
    let command = match args.command {
        TokenCommand::Recover(recover) => return token_recover::run(recover, out),
        command => command,
    };
    let client = NodeClient::new(&args.node)?;
    match command {
        TokenCommand::List => {
            let tokens: Page<TokenInfo> = client.list_all(&["tokens"])?;
            if json {
                return Ok(output::json(&tokens, out)?);
            }
            print_tokens(&tokens.items, out)
        }
        TokenCommand::Create(wanted) => create(&client, *wanted, json, out),
        TokenCommand::Rotate { name, ttl, expires_at } => {
            let wanted = WantedRotation { ttl, expires_at, request_id: None };
            let rotated: NewTokenInfo =
                client.post_body(&["tokens", name.as_str(), "rotate"], &wanted)?;
            print_secret(&rotated, json, out)
        }
        TokenCommand::Revoke { names } => {
            for name in names {
                client.delete(&["tokens", name.as_str()])?;
                if !json {
                    writeln!(out, "{name}: revoked")?;
                }
            }
            Ok(())
        }
        TokenCommand::Recover(recover) => token_recover::run(recover, out),
    }
}

fn create(
    client: &NodeClient,
    wanted: CreateTokenArgs,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let CreateTokenArgs { name, role, scope, worker, replace, ttl, expires_at, from, out: file } =
        wanted;
    // Opened first: a secret that cannot be written anywhere would be lost.
    let file = file.map(|path| token_recover::create_private(&path).map(|file| (path, file)));
    let file = file.transpose()?;
    let wanted = WantedToken {
        name,
        role,
        scopes: scope,
        worker,
        ttl,
        expires_at,
        addresses: from,
        replace,
        request_id: None,
    };
    let created: Result<NewTokenInfo, CommandFailure> = client.post_body(&["tokens"], &wanted);
    match (created, file) {
        (Ok(created), None) => print_secret(&created, json, out),
        (Ok(created), Some((path, mut file))) => {
            writeln!(file, "{}", created.token)?;
            file.sync_all()?;
            if json {
                return Ok(output::json(&created.info, out)?);
            }
            Ok(writeln!(out, "{}: written to {}", created.info.name, path.display())?)
        }
        (Err(failed), None) => Err(failed),
        (Err(failed), Some((path, _))) => {
            // The file is empty and new. If it cannot be removed, an empty file stays.
            let _ = std::fs::remove_file(path);
            Err(failed)
        }
    }
}

/// Prints only the secret, so that scripts can use it.
fn print_secret(
    created: &NewTokenInfo,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    if json {
        return Ok(output::json(created, out)?);
    }
    Ok(writeln!(out, "{}", created.token)?)
}

fn print_tokens(tokens: &[TokenInfo], out: &mut dyn Write) -> Result<(), CommandFailure> {
    let header = ["TOKEN", "RIGHTS", "FROM", "EXPIRES", "LAST USED", "CREATED BY"];
    let mut table = output::table(&header);
    for token in tokens {
        let from: Vec<String> = token.addresses.iter().map(ToString::to_string).collect();
        let from = if from.is_empty() { "anywhere".to_owned() } else { from.join(" ") };
        let expires = match (token.expires_at, token.expired) {
            (None, _) => "never".to_owned(),
            (Some(at), false) => at.to_string(),
            (Some(at), true) => format!("{at} (expired)"),
        };
        let used = match (token.last_used_at, &token.last_used_from) {
            (Some(at), Some(from)) => format!("{at} from {from}"),
            (Some(at), None) => at.to_string(),
            (None, _) => "-".to_owned(),
        };
        table.add_row([
            Cell::new(plain(&token.name)),
            Cell::new(rights(token)),
            Cell::new(from),
            Cell::new(expires),
            Cell::new(plain(&used)),
            maybe(Some(&token.created_by), |by| Cell::new(plain(by))),
        ]);
    }
    Ok(output::print(&table, out)?)
}

fn rights(token: &TokenInfo) -> String {
    match (token.role, token.worker) {
        (Some(role), _) => role.to_string(),
        (None, Some(_)) => "its worker".to_owned(),
        (None, None) => {
            let scopes: Vec<String> = token.scopes.iter().map(ToString::to_string).collect();
            scopes.join(" ")
        }
    }
}
