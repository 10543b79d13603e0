//! `reelyard token`

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use reelyard_access::rights::{AccessScope, Role, TokenName};
use reelyard_api::{NewTokenInfo, Page, Rfc3339, TokenInfo, Ttl, WantedRotation, WantedToken};
use reelyard_core::address_range::AddressRange;
use reelyard_core::host::HostAddr;

use super::name_filter::NameFilter;
use super::token_recover::{self, RecoverArgs};
use crate::cli::client::{NodeArgs, NodeClient, ViewArgs, filters};
use crate::cli::output::cell::{maybe, text};
use crate::cli::output::{ListCell, ListColumn, ListTable, PrintStyle, Printer};
use crate::cli::support::failure::CommandFailure;

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
    List {
        #[command(flatten)]
        names: NameFilter,
        #[command(flatten)]
        view: ViewArgs,
    },
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
    let command = match args.command {
        TokenCommand::Recover(recover) => return token_recover::run(recover, out),
        command => command,
    };
    let out = &mut args.node.output.printer(out);
    let client = NodeClient::new(&args.node)?;
    if let TokenCommand::List { names, view } = &command {
        return view.show(&args.node, &names.web_page(), out, |out| {
            let tokens: Page<TokenInfo> = client.list_all(&["tokens"], &filters(&names.query()))?;
            out.list(&tokens, table)
        });
    }
    out.refuse_csv()?;
    match command {
        TokenCommand::Create(wanted) => create(&client, *wanted, out),
        TokenCommand::Rotate { name, ttl, expires_at } => {
            let wanted = WantedRotation { ttl, expires_at, request_id: None };
            let rotated: NewTokenInfo =
                client.post_body(&["tokens", name.as_str(), "rotate"], &wanted)?;
            print_secret(&rotated, out)
        }
        TokenCommand::Revoke { names } => {
            for name in names {
                client.delete(&["tokens", name.as_str()])?;
                if !out.is_json() {
                    writeln!(out, "{name}: revoked")?;
                }
            }
            Ok(())
        }
        // These end above.
        TokenCommand::List { .. } | TokenCommand::Recover(_) => Ok(()),
    }
}

fn create(
    client: &NodeClient,
    wanted: CreateTokenArgs,
    out: &mut Printer<'_>,
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
        (Ok(created), None) => print_secret(&created, out),
        (Ok(created), Some((path, mut file))) => {
            writeln!(file, "{}", created.token)?;
            file.sync_all()?;
            if out.is_json() {
                return out.json(&created.info);
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
fn print_secret(created: &NewTokenInfo, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if out.is_json() {
        return out.json(created);
    }
    Ok(writeln!(out, "{}", created.token)?)
}

fn table(tokens: &[TokenInfo], style: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::name("TOKEN"),
        ListColumn::name("RIGHTS"),
        ListColumn::left("FROM").leaves(2),
        ListColumn::left("EXPIRES"),
        ListColumn::left("LAST USED"),
        ListColumn::left("USED FROM").leaves(3),
        ListColumn::left("CREATED BY").leaves(1),
    ]);
    for token in tokens {
        let from: Vec<String> = token.addresses.iter().map(ToString::to_string).collect();
        let from = if from.is_empty() { "anywhere".to_owned() } else { from.join(" ") };
        let expires = match (token.expires_at, token.expired) {
            (None, _) => text("never"),
            (Some(at), false) => ListCell::At(at.0),
            (Some(at), true) => text(format!("{} (expired)", style.clock(at.0))),
        };
        table.row([
            text(&token.name),
            text(rights(token)),
            text(from),
            expires,
            maybe(token.last_used_at, |at| ListCell::At(at.0)),
            maybe(token.last_used_from.as_ref(), text),
            text(&token.created_by),
        ]);
    }
    table
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
