//! The table `[box]` of a worker.

use std::num::NonZeroU32;

use reelyard_core::settings;
use reelyard_core::settings::SettingsReader;

use super::hook_table::BoxHooks;

/// The largest number of programs for boxes at a time. More would leave no threads for the rest of a
/// worker.
const MOST_HOOKS_AT_ONCE: u32 = 256;

settings! {
    /// Boxes that this worker hosts for pools of the node: the programs that prepare and clean a
    /// box, and the checks of a clean box. Only this configuration sets them; a node cannot change
    /// them.
    pub struct BoxHostConfig [node] {
        /// Number of hooks that run at the same time, at most 256. A pool without a running hook may
        /// start one beyond this number, so that a pool with hanging hooks delays no other pool.
        hooks_at_once: NonZeroU32 = Default "16",
        /// Hooks by name. A pool names its hooks in `hooks`; the default is the pool's own name. A
        /// worker with hooks needs a token, unless it listens on the loopback interface only. Each
        /// table [box.hooks.NAME] may have
        ///   file             file with these settings; settings in the table take precedence
        ///   init, cleanup    program with its arguments, started without a shell. Without a program
        ///                    there is nothing to do. {box}, {number}, {pool}, {token} and {holder}
        ///                    are replaced. A holder chooses its own name, so write
        ///                    --holder={holder}, or put {holder} behind --
        ///   init_timeout, cleanup_timeout   time limits: 1m by default, 10m at most
        ///   stop_grace       time between SIGTERM and SIGKILL for the program and its child
        ///                    processes: 5s
        ///   env              environment, in addition to PATH and LANG: { NAME = "value" }
        ///   done             exit codes that mean success: 0 by default
        ///   cleanup_again_on exit codes after which a cleanup runs again at once, up to 3 times
        ///   first_uid        user id of box 0; each further box has the next one. A clean box has no
        ///                    process of its user. This check needs root
        ///   boxes            number of ids, from 0 on: 1000 with first_uid, else no limit. The worker
        ///                    refuses ids beyond it
        ///   no_directory     paths that must not exist in a clean box; {box} and {pool} are replaced
        ///   no_cgroup        control groups that must not exist in a clean box, even if empty
        ///   kill_left        whether the worker kills remaining processes of a box that is cleaned:
        ///                    false
        ///   system_users     whether kill_left may be used with users below 1000: false
        hooks: BoxHooks = Default "{}",
    }
}

impl BoxHostConfig {
    /// Reads the files of hooks, and records what is wrong.
    pub fn resolve(&mut self, reader: &mut SettingsReader) {
        self.hooks.resolve(reader);
        if self.hooks_at_once.get() > MOST_HOOKS_AT_ONCE {
            let what = format!("expected at most {MOST_HOOKS_AT_ONCE}: each hook needs a thread");
            reader.fault("box.hooks_at_once", what);
        }
    }
}
