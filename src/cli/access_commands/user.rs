//! `reelyard user`

use std::io::Write;

use clap::{Args, Subcommand};
use comfy_table::Cell;
use reelyard_access::rights::{Role, UserName};
use reelyard_api::{Page, UserInfo, WantedUser, WantedUserChange};

use crate::cli::client::{NodeArgs, NodeClient};
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::output::{self, maybe, plain};
use crate::cli::support::password;

#[derive(Debug, Args)]
pub struct UserArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(subcommand)]
    command: UserCommand,
}

#[derive(Debug, Subcommand)]
enum UserCommand {
    /// List all users.
    List,
    /// Add a user. The password is read from standard input.
    Add {
        /// Unique name of the user.
        name: UserName,
        /// Role: viewer, operator or admin.
        #[arg(long)]
        role: Role,
        /// Add the user without a password. The user cannot log in before one is set.
        #[arg(long)]
        no_password: bool,
    },
    /// Give a user another role. A weaker role ends the sessions of the user.
    Role {
        /// Name of the user.
        name: UserName,
        /// Role: viewer, operator or admin.
        role: Role,
    },
    /// Set the password of a user, read from standard input. It ends the sessions of the user.
    Password {
        /// Name of the user.
        name: UserName,
    },
    /// Disable users and end their sessions.
    Disable {
        /// Names of the users.
        #[arg(required = true)]
        names: Vec<UserName>,
    },
    /// Enable disabled users again.
    Enable {
        /// Names of the users.
        #[arg(required = true)]
        names: Vec<UserName>,
    },
    /// End the lock of users after wrong passwords.
    Unlock {
        /// Names of the users.
        #[arg(required = true)]
        names: Vec<UserName>,
    },
    /// Remove users and end their sessions.
    Remove {
        /// Names of the users.
        #[arg(required = true)]
        names: Vec<UserName>,
    },
}

/// Prints users or changes them.
pub fn run(args: UserArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let (client, json) = (NodeClient::new(&args.node)?, args.node.json);
    match args.command {
        UserCommand::List => {
            let users: Page<UserInfo> = client.list_all(&["users"])?;
            if json {
                return Ok(output::json(&users, out)?);
            }
            print_users(&users.items, out)
        }
        UserCommand::Add { name, role, no_password } => {
            let password = if no_password { None } else { Some(password::ask()?) };
            let wanted = WantedUser { name, role, password, request_id: None };
            let user: UserInfo = client.post_body(&["users"], &wanted)?;
            print_changed(&[user], json, out)
        }
        UserCommand::Role { name, role } => {
            let wanted = WantedUserChange { role: Some(role), ..WantedUserChange::default() };
            change(&client, &[name], &wanted, json, out)
        }
        UserCommand::Password { name } => {
            let password = Some(password::ask()?);
            let wanted = WantedUserChange { password, ..WantedUserChange::default() };
            change(&client, &[name], &wanted, json, out)
        }
        UserCommand::Disable { names } => {
            let wanted = WantedUserChange { disabled: Some(true), ..WantedUserChange::default() };
            change(&client, &names, &wanted, json, out)
        }
        UserCommand::Enable { names } => {
            let wanted = WantedUserChange { disabled: Some(false), ..WantedUserChange::default() };
            change(&client, &names, &wanted, json, out)
        }
        UserCommand::Unlock { names } => {
            let wanted = WantedUserChange { unlock: true, ..WantedUserChange::default() };
            change(&client, &names, &wanted, json, out)
        }
        UserCommand::Remove { names } => {
            for name in names {
                client.delete(&["users", name.as_str()])?;
                if !json {
                    writeln!(out, "{name}: removed")?;
                }
            }
            Ok(())
        }
    }
}

fn change(
    client: &NodeClient,
    names: &[UserName],
    wanted: &WantedUserChange,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let mut changed = Vec::new();
    for name in names {
        changed.push(client.patch(&["users", name.as_str()], wanted)?);
    }
    print_changed(&changed, json, out)
}

fn print_changed(
    users: &[UserInfo],
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    if json { Ok(output::json(&users, out)?) } else { print_users(users, out) }
}

fn print_users(users: &[UserInfo], out: &mut dyn Write) -> Result<(), CommandFailure> {
    let mut table = output::table(&["USER", "ROLE", "STATE", "LAST LOGIN", "ADDED BY"]);
    for user in users {
        let state = match (user.disabled, user.locked_until, user.has_password) {
            (true, _, _) => "disabled".to_owned(),
            (false, Some(until), _) => format!("locked until {until}"),
            (false, None, false) => "no password".to_owned(),
            (false, None, true) => "active".to_owned(),
        };
        table.add_row([
            Cell::new(plain(&user.name)),
            Cell::new(user.role),
            Cell::new(state),
            maybe(user.last_login_at, Cell::new),
            Cell::new(plain(&user.created_by)),
        ]);
    }
    Ok(output::print(&table, out)?)
}
