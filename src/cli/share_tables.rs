//! How `reelyard share` shows webhooks and moves.

use std::io::Write;

use comfy_table::Cell;
use reelyard_actors::clock::{Clock, Millis};
use reelyard_actors::wire::api::{HookShown, MoveShown, Rfc3339};

use super::failure::Failure;
use super::output::{self, maybe, number, plain};

pub(super) fn show_hooks(hooks: &[HookShown], out: &mut dyn Write) -> Result<(), Failure> {
    if hooks.is_empty() {
        return Ok(());
    }
    let now = Clock::system().now();
    let header = ["HOOK", "DELIVERED", "FAILED TRIES", "DROPPED", "BACKLOG", "OLDEST", "STATE"];
    let mut table = output::table(&header);
    for hook in hooks {
        table.add_row([
            Cell::new(&hook.name),
            number(hook.delivered),
            number(hook.failed_tries),
            number(hook.dropped),
            number(hook.backlog),
            maybe(hook.oldest, |at| Cell::new(output::age(at, now))),
            Cell::new(hook_state(hook, now)),
        ]);
    }
    Ok(output::print(&table, out)?)
}

pub(super) fn show_moves(moves: &[MoveShown], out: &mut dyn Write) -> Result<(), Failure> {
    let now = Clock::system().now();
    let mut table = output::table(&["NUMBER", "FROM", "TO", "ASKED BY", "SINCE", "WHY"]);
    for unsettled in moves {
        let MoveShown { from, to, asked_by, since: Rfc3339(since), why, .. } = unsettled;
        table.add_row([
            number(unsettled.number),
            Cell::new(plain(from)),
            Cell::new(plain(to)),
            Cell::new(plain(asked_by)),
            Cell::new(output::age(*since, now)),
            maybe(why.as_deref(), |why| Cell::new(plain(why))),
        ]);
    }
    Ok(output::print(&table, out)?)
}

fn hook_state(hook: &HookShown, now: Millis) -> String {
    match &hook.failing {
        Some(failing) => {
            let (reason, again) = (plain(&failing.reason), failing.tried_again);
            format!("fails: {reason}; tried again in {}", output::age(now, again))
        }
        None if !hook.tells => "told by the leader".to_owned(),
        None if hook.told_up_to.is_none() => "begins".to_owned(),
        None => "works".to_owned(),
    }
}
