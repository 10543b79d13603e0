//! Finds every descendant of this process, and ends them all.
//!
//! Once a process is a subreaper (see `PR_SET_CHILD_SUBREAPER` in prctl(2)), the kernel gives it
//! each descendant whose parent ends. No descendant can leave then, in any session, group or
//! environment. None is left exactly when this process has no child.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, set_child_subreaper, wait};

use super::table::{parent, processes, send_signal};

/// The longest wait for the end after SIGKILL. Only processes that hang in the kernel, or that may not be
/// signalled, take longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Longer chains of parents are cut: deeper processes move up when their parents are killed.
const DEEPEST: usize = 4096;

/// Makes this process the subreaper of its descendants.
///
/// # Errors
/// Those of prctl(2); before Linux 3.4.
pub fn become_subreaper() -> std::io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Collects children of this process that have ended, and reports each to `ended`. Answers whether
/// there is a child still.
pub fn collect(mut ended: impl FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended(pid, status),
            Ok(None) => return true,
            Err(rustix::io::Errno::INTR) => {}
            // There is no child.
            Err(_) => return false,
        }
    }
}

/// Ends every descendant: SIGTERM, and SIGKILL for those that still live after `grace`. Reports each
/// child that ends to `ended`. Answers whether none is left.
///
/// This process has to be a subreaper, and nothing else in it may wait for a child.
pub async fn end(grace: Duration, mut ended: impl FnMut(Pid, WaitStatus)) -> bool {
    if !collect(&mut ended) {
        return true;
    }
    if !grace.is_zero() && signal_until_ended(Signal::TERM, grace, &mut ended).await {
        return true;
    }
    signal_until_ended(Signal::KILL, PATIENCE, &mut ended).await
}

async fn signal_until_ended(
    signal: Signal,
    patience: Duration,
    ended: &mut impl FnMut(Pid, WaitStatus),
) -> bool {
    let (own, began) = (getpid(), Instant::now());
    let mut signalled = HashSet::new();
    loop {
        let parents = processes().filter_map(|pid| Some((pid, parent(pid)?))).collect();
        for pid in below(own, &parents) {
            // A program may treat a second SIGTERM as a request to end at once.
            if signalled.insert(pid) || signal == Signal::KILL {
                // This fails for a process that has just ended, and for one of another user.
                send_signal(pid, signal, |pid| is_below(own, pid));
                if signal == Signal::TERM {
                    // A stopped process gets SIGTERM only after it continues.
                    send_signal(pid, Signal::CONT, |pid| is_below(own, pid));
                }
            }
        }
        if !collect(&mut *ended) {
            return true;
        }
        if began.elapsed() >= patience {
            return false;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The processes below `root`, from a table that maps each process to its parent. Changes during
/// the read of the table may be missing: a later read finds them.
fn below(root: Pid, parents: &HashMap<Pid, Pid>) -> Vec<Pid> {
    let chain =
        |pid: &Pid| std::iter::successors(parents.get(pid).copied(), |up| parents.get(up).copied());
    let is_below = |pid: &Pid| chain(pid).take(DEEPEST).any(|up| up == root);
    parents.keys().copied().filter(is_below).collect()
}

fn is_below(root: Pid, pid: Pid) -> bool {
    let chain = std::iter::successors(parent(pid), |up| parent(*up));
    chain.take(DEEPEST).any(|up| up == root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_at_any_depth() {
        let pid = |number| Pid::from_raw(number).unwrap();
        let chains =
            [(2, 1), (10, 2), (11, 10), (12, 11), (20, 1), (21, 20), (31, 30), (40, 41), (41, 40)];
        let parents = chains.into_iter().map(|(child, parent)| (pid(child), pid(parent))).collect();
        let found = |root| {
            let mut found: Vec<i32> =
                below(pid(root), &parents).into_iter().map(Pid::as_raw_pid).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(found(2), [10, 11, 12]);
        assert_eq!(found(12), [0; 0]);
        // The parent of 31 ended while the table was read; 40 and 41 are numbers used again.
        assert_eq!(found(1), [2, 10, 11, 12, 20, 21]);
    }

    #[test]
    fn a_process_is_below_its_parents() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(is_below(getpid(), pid) && !is_below(pid, getpid()));
        assert!(!is_below(pid, pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_below(getpid(), pid));
    }
}
