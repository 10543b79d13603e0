//! The arguments of `reelyard box run`, and its help.

use std::ffi::OsString;

use clap::Args;
use reelyard_api::Span;
use reelyard_protocol::boxes::Holder;

use crate::cli::box_commands::lease_options::LeaseOptions;

/// Help text below the options.
pub const AFTER_HELP: &str = "\
In the arguments of the command, {box}, {token}, {pool} and {lease} are replaced. The environment of
the command contains them as REELYARD_BOX, REELYARD_BOX_TOKEN, REELYARD_BOX_POOL and REELYARD_BOX_LEASE.

The lease is renewed while the command runs. When the command ends, all processes that it started are
ended, and the box is released. This includes processes in another session or without the environment.
SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to the command. During the wait for a box they leave
the queue. Signals that are ignored at the start stay ignored, as with nohup.

Two processes do this: the one that you start, and its child that holds the lease and runs the command.
If the first is killed, the second ends the command with all its processes and releases the box. It
sends SIGTERM, and SIGKILL after --grace. If the second is killed, the first kills all processes of the
command; the box is free after the ttl. There are two limits. If both are killed at the same moment,
only the command itself ends, not the processes that it started. A process of another user, for example
by a set-user-ID bit, is ended only if this command runs as root.

Ctrl-Z (SIGTSTP) also stops the command, and the lease is not renewed. After SIGCONT the command
continues if its lease is still valid; otherwise it is ended. SIGSTOP of the first process stops nothing
else. SIGSTOP of the second leaves the command running without renewal, and another holder gets its box
after the ttl. After SIGCONT it ends a command whose lease is over at once.

If its node dies or is silent, the lease is renewed at another node of the cluster. If no node answers, the
lease is lost at the end of its ttl. A command that ignores SIGTERM then has
--grace more time. Set the grace of the pool (default 5s) to a longer time, so that the box is not
cleaned before.

Exit codes: the code of the command, 128+n if signal n ended it, or
  2    the command line is wrong
  123  no box was free within --wait
  124  the lease was lost before the command ended; the command was ended
  125  there is no box for another reason: the node refused or cannot be reached, or the process
       that holds the lease was killed
  126  the command cannot be run
  127  the command does not exist

Example: reelyard box run --pool judge --wait 5m -- isolate --box-id={box} --run -- ./solution";

/// Arguments of `reelyard box run`.
#[derive(Debug, Args)]
pub struct BoxRunArgs {
    /// Name of the pool.
    #[arg(long)]
    pub(super) pool: String,
    /// Name of the holder [default: this host and process].
    #[arg(long, value_parser = Holder::new)]
    pub(super) holder: Option<Holder>,
    #[command(flatten)]
    pub(super) options: LeaseOptions,
    /// Time between SIGTERM and SIGKILL for the command after the lease is lost.
    #[arg(long, default_value = "3s")]
    pub(super) grace: Span,
    /// Command with its arguments.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

/// Arguments of the process that becomes the command.
#[derive(Debug, Args)]
pub struct BecomeArgs {
    /// Process id of the runner that starts it
    pub(super) parent: i32,
    /// Command with its arguments.
    #[arg(required = true, last = true)]
    pub(super) command: Vec<OsString>,
}
