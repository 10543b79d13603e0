//! `reelyard user`

use std::io::Write;

use clap::{Args, Subcommand};
use reelyard_access::rights::{Role, UserName};
use reelyard_api::{Page, SessionInfo, UserInfo, WantedUser, WantedUserChange};

use super::name_filter::NameFilter;
use crate::cli::client::{NodeArgs, NodeClient, PageArgs, ViewArgs, filters};
use crate::cli::output::cell::{maybe, state, text};
use crate::cli::output::{ListCell, ListColumn, ListTable, PrintStyle, Printer};
use crate::cli::support::failure::CommandFailure;
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
    List {
        #[command(flatten)]
        names: NameFilter,
        #[command(flatten)]
        view: ViewArgs,
    },
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
    /// List the sessions of users and tokens, newest login first.
    Sessions {
        #[command(flatten)]
        names: NameFilter,
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        view: ViewArgs,
    },
    /// End sessions. Their browsers and programs must log in again.
    EndSession {
        /// Ids of the sessions.
        #[arg(required = true)]
        ids: Vec<String>,
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
    let out = &mut args.node.output.printer(out);
    let client = NodeClient::new(&args.node)?;
    if let UserCommand::List { names, view } = &args.command {
        return view.show(&args.node, &names.web_page(), out, |out| {
            let users: Page<UserInfo> = client.list_all(&["users"], &filters(&names.query()))?;
            out.list(&users, table)
        });
    }
    if let UserCommand::Sessions { names, page, view } = &args.command {
        return view.show(&args.node, &names.web_page(), out, |out| {
            let query = names.query();
            let sessions: Page<SessionInfo> = client.list(&["sessions"], &filters(&query), page)?;
            out.list(&sessions, session_table)
        });
    }
    out.refuse_csv()?;
    match args.command {
        // They were listed above.
        UserCommand::List { .. } | UserCommand::Sessions { .. } => Ok(()),
        UserCommand::EndSession { ids } => {
            for id in ids {
                client.delete(&["sessions", &id])?;
                if !out.is_json() {
                    writeln!(out, "{id}: ended")?;
                }
            }
            Ok(())
        }
        UserCommand::Add { name, role, no_password } => {
            let password = if no_password { None } else { Some(password::ask()?) };
            let wanted = WantedUser { name, role, password, request_id: None };
            let user: UserInfo = client.post_body(&["users"], &wanted)?;
            print_changed(&[user], out)
        }
        UserCommand::Role { name, role } => {
            let wanted = WantedUserChange { role: Some(role), ..WantedUserChange::default() };
            change(&client, &[name], &wanted, out)
        }
        UserCommand::Password { name } => {
            let password = Some(password::ask()?);
            let wanted = WantedUserChange { password, ..WantedUserChange::default() };
            change(&client, &[name], &wanted, out)
        }
        UserCommand::Disable { names } => {
            let wanted = WantedUserChange { disabled: Some(true), ..WantedUserChange::default() };
            change(&client, &names, &wanted, out)
        }
        UserCommand::Enable { names } => {
            let wanted = WantedUserChange { disabled: Some(false), ..WantedUserChange::default() };
            change(&client, &names, &wanted, out)
        }
        UserCommand::Unlock { names } => {
            let wanted = WantedUserChange { unlock: true, ..WantedUserChange::default() };
            change(&client, &names, &wanted, out)
        }
        UserCommand::Remove { names } => {
            for name in names {
                client.delete(&["users", name.as_str()])?;
                if !out.is_json() {
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
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let mut changed = Vec::new();
    for name in names {
        changed.push(client.patch(&["users", name.as_str()], wanted)?);
    }
    print_changed(&changed, out)
}

fn print_changed(users: &[UserInfo], out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if out.is_json() {
        return out.json(users);
    }
    let table = table(users, out.style());
    Ok(out.table(&table)?)
}

fn table(users: &[UserInfo], style: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::name("USER"),
        ListColumn::left("ROLE"),
        ListColumn::left("STATE"),
        ListColumn::left("LAST LOGIN"),
        ListColumn::left("ADDED BY").leaves(1),
    ]);
    for user in users {
        let condition = match (user.disabled, user.locked_until, user.has_password) {
            (true, _, _) => "disabled".to_owned(),
            (false, Some(until), _) => format!("locked until {}", style.clock(until.0)),
            (false, None, false) => "no password".to_owned(),
            (false, None, true) => "active".to_owned(),
        };
        table.row([
            text(&user.name),
            text(user.role),
            state(condition),
            maybe(user.last_login_at, |at| ListCell::At(at.0)),
            text(&user.created_by),
        ]);
    }
    table
}

fn session_table(sessions: &[SessionInfo], _: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::left("SESSION"),
        ListColumn::name("WHO"),
        ListColumn::left("ADDRESS"),
        ListColumn::left("LOGIN").leaves(2),
        ListColumn::left("LAST USE"),
        ListColumn::left("ENDS").leaves(1),
    ]);
    for session in sessions {
        table.row([
            text(&session.id),
            text(&session.subject),
            text(&session.address),
            ListCell::At(session.created_at.0),
            ListCell::At(session.last_seen_at.0),
            ListCell::At(session.ends_at.0),
        ]);
    }
    table
}
