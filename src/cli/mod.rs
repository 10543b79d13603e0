//! The command line: one file per subcommand.

mod access_commands;
mod audit_commands;
mod box_commands;
mod client;
mod cluster_commands;
mod config;
mod demo;
mod guide;
mod node;
mod openapi;
pub(crate) mod output;
mod overview_commands;
mod share_commands;
mod simulate;
mod store;
mod support;
mod worker;
mod yard_commands;

use crate::cli::access_commands::{certs, context, login, token, user, whoami};
use crate::cli::audit_commands::audit;
use crate::cli::box_commands::boxes;
use crate::cli::cluster_commands::cluster;
use crate::cli::overview_commands::{status, top};
use crate::cli::share_commands::share;
use crate::cli::support::layers;
use crate::cli::yard_commands::events;
use crate::cli::yard_commands::files;
use crate::cli::yard_commands::history;
use crate::cli::yard_commands::hosts;
use crate::cli::yard_commands::plan;
use crate::cli::yard_commands::removals;
use crate::cli::yard_commands::tasks;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use support::failure::CommandFailure;

/// The storage side of a video-on-demand cluster: puts the right files on the right servers.
#[derive(Debug, Parser)]
#[command(name = "reelyard", version, after_help = AFTER_HELP, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  reelyard demo                                  run a whole yard on this machine
  reelyard config default node > node.toml       write a commented configuration
  reelyard node --config node.toml               run a node
  reelyard worker --set listen=10.0.0.21:8888 --set node=10.0.0.1:8080 --set base_dir=/data
  reelyard status --url http://10.0.0.1:8080     show what is wrong in the yard, and its figures
  reelyard tasks --watch                         list the copies again and again
  reelyard simulate --days 7 --plots plots       simulate a week of a yard in seconds
  reelyard guide operate                         print a chapter of the guide

Exit codes:
  0    success
  1    failure
  2    the command line or the configuration is wrong; all faults are listed
  3    the node cannot be reached
  4    the node refused the request
  5    the store or the audit is damaged, or its end is missing
  6    a running node uses the store
  7    of \"status\": something is broken in the yard
  123  no box was free in time, or the queue is full; try again later";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a whole yard on this machine, with real files
    Demo(demo::DemoArgs),
    /// Run a node: the control plane
    Node(layers::RunArgs),
    /// Run a worker: one per storage host
    Worker(layers::RunArgs),
    /// Show on one page who leads, what is wrong, and the figures of the yard.
    #[command(after_help = status::AFTER_HELP)]
    Status(status::StatusArgs),
    /// Show the yard on a whole screen, with an answer of the node each second.
    Top(top::TopArgs),
    /// Show the last planning round and the obstacles for further copies.
    Plan(plan::PlanArgs),
    /// List, show, retry and cancel tasks: the copies, newest first.
    Tasks(tasks::TasksArgs),
    /// Show planned removals, and why other copies stay.
    Removals(removals::RemovalsArgs),
    /// Create, list, extend and revoke share links.
    Share(share::ShareArgs),
    /// Lease numbered boxes and manage their pools.
    Box(boxes::BoxArgs),
    /// Create, list, rotate and revoke tokens.
    Token(token::TokenArgs),
    /// Add, list and change users.
    User(user::UserArgs),
    /// Log in to a node as a user, and keep the session.
    Login(login::LoginArgs),
    /// End the session of the context.
    Logout(login::LogoutArgs),
    /// Add, list and choose contexts: named nodes with the credentials for them.
    Context(context::ContextArgs),
    /// Create a private certificate authority, and certificates of hosts.
    Certs(certs::CertsArgs),
    /// List and verify the audit: every change and refused call, with its caller.
    Audit(audit::NodeAuditArgs),
    /// Show your own name and rights.
    Whoami(whoami::WhoamiArgs),
    /// List ended copies and removals, newest first.
    History(history::HistoryArgs),
    /// List the hosts with their state.
    Hosts(hosts::HostsArgs),
    /// List the files with their hosts, best first, and unreadable inputs.
    Files(files::FilesArgs),
    /// Print every change when it happens.
    Events(events::EventsArgs),
    /// Try settings on a simulated yard before you use them.
    #[command(after_help = simulate::AFTER_HELP)]
    Simulate(simulate::SimulateArgs),
    /// Print or search the guide.
    Guide(guide::GuideArgs),
    /// Print the OpenAPI document of the API.
    Openapi,
    /// Form a cluster of several nodes, and show and change its members.
    Cluster(cluster::ClusterArgs),
    /// Check, back up and restore the store of a node.
    Store(store::StoreArgs),
    /// Show, check, reload and import configurations.
    Config(config::ConfigArgs),
}

/// The whole command line for tools: every subcommand with its arguments and help.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command of this process.
pub fn main() -> ExitCode {
    // Not locked, because other threads of a role may write too.
    let mut out = io::BufWriter::new(io::stdout());
    let outcome = run(Cli::parse().command, &mut out);
    let failure = match outcome.and_then(|code| ended(code, out.flush())) {
        Ok(code) => return code,
        Err(failure) => failure,
    };
    if !failure.is_closed_pipe() {
        // If even this write fails, the exit code still reports the failure.
        let message = failure.to_string();
        let message: Vec<String> = message.lines().map(output::plain).collect();
        let _ = writeln!(io::stderr(), "reelyard: {}", message.join("\n"));
    }
    ExitCode::from(failure.exit_code())
}

/// The end of a command whose last output was written with this result. Its verdict holds although nobody reads on.
fn ended(code: ExitCode, flushed: io::Result<()>) -> Result<ExitCode, CommandFailure> {
    match flushed.map_err(CommandFailure::from) {
        Err(failure) if !failure.is_closed_pipe() => Err(failure),
        _ => Ok(code),
    }
}

fn run(command: Command, out: &mut dyn Write) -> Result<ExitCode, CommandFailure> {
    match command {
        Command::Demo(args) => return demo::run(args),
        Command::Store(args) => return store::run(args, out),
        Command::Audit(args) => return audit::run(args, out),
        Command::Status(args) => return status::run(args, out),
        Command::Top(args) => top::run(args, out),
        Command::Node(args) => node::run(args),
        Command::Worker(args) => worker::run(args),
        Command::Plan(args) => plan::run(args, out),
        Command::Tasks(args) => tasks::run(args, out),
        Command::Removals(args) => removals::run(args, out),
        Command::Share(args) => share::run(args, out),
        Command::Box(args) => return boxes::run(args, out),
        Command::Token(args) => token::run(args, out),
        Command::User(args) => user::run(args, out),
        Command::Login(args) => login::run(args, out),
        Command::Logout(args) => login::log_out(args, out),
        Command::Context(args) => context::run(args, out),
        Command::Certs(args) => certs::run(args, out),
        Command::Whoami(args) => whoami::run(args, out),
        Command::History(args) => history::run(args, out),
        Command::Hosts(args) => hosts::run(args, out),
        Command::Files(args) => files::run(args, out),
        Command::Events(args) => events::run(args, out),
        Command::Simulate(args) => simulate::run(args, out),
        Command::Guide(args) => guide::run(args, out),
        Command::Openapi => openapi::run(out),
        Command::Cluster(args) => cluster::run(args, out),
        Command::Config(args) => config::run(args, out),
    }?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use reelyard_console::parts::act::CREATE_POOL;

    use super::*;

    #[test]
    fn the_console_shows_a_command_that_exists() {
        let words = [&["reelyard"][..], &CREATE_POOL, &["--url", "http://yard:8080"]].concat();
        assert!(Cli::try_parse_from(&words).is_ok(), "{words:?}");
        assert!(Cli::try_parse_from(["reelyard", "boxes", "pool", "create"]).is_err());
    }
}
