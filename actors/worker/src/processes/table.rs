//! The processes of this machine, as `/proc` lists them.

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, pidfd_send_signal,
    waitid,
};

/// The flag of threads of the kernel in `/proc/PID/stat` (`PF_KTHREAD`).
const OF_THE_KERNEL: u64 = 0x0020_0000;

/// Every process there is.
pub fn processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

/// The parent of a process, also of one that has ended and is not waited for yet.
pub fn parent(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(&stat[after_name + 1..]).ok()?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok().and_then(Pid::from_raw)
}

/// Status of a process that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStatus {
    /// Its program's name, as cut by the kernel.
    pub name: String,
    /// Process group; none if its number is 0, as for processes of the kernel.
    pub group: Option<Pid>,
    /// Whether it is one of the kernel's own.
    is_of_kernel: bool,
    /// The end address of its environment; 0 while its program is being loaded. The kernel sets the first
    /// address earlier, and lists no variable before the end is set.
    environment_end: u64,
}

impl ProcessStatus {
    /// The status of a process; None once it has ended, even if its parent has not waited for it yet.
    pub fn of(pid: Pid) -> Option<Self> {
        ProcessStatus::read(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Whether its program is just being loaded.
    fn loads(&self) -> bool {
        !self.is_of_kernel && self.environment_end == 0
    }

    fn read(stat: &[u8]) -> Option<Self> {
        // The program's name is in parentheses, and may contain parentheses itself.
        let after_name = stat.iter().rposition(|byte| *byte == b')')?;
        let name = stat[..after_name].splitn(2, |byte| *byte == b'(').nth(1)?;
        let fields = std::str::from_utf8(&stat[after_name + 1..]).ok()?;
        // The first of them is the third in proc(5).
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let number = |place: usize| fields.get(place - 3)?.parse::<u64>().ok();
        if matches!(*fields.first()?, "Z" | "X") {
            return None;
        }
        Some(ProcessStatus {
            name: String::from_utf8_lossy(name).into_owned(),
            group: fields.get(2)?.parse().ok().and_then(Pid::from_raw),
            is_of_kernel: number(9)? & OF_THE_KERNEL != 0,
            environment_end: number(51).unwrap_or(0),
        })
    }
}

/// Value of a variable in the environment of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    /// This, when its program began.
    Is(Vec<u8>),
    /// Nothing; or it may not be read.
    Absent,
    /// Not known yet: the program is being loaded.
    NotYet,
}

impl Variable {
    /// The variable of that name in the environment of a process.
    pub fn of(pid: Pid, name: &str) -> Self {
        let path = format!("/proc/{pid}/environ");
        let Ok(mut environment) = std::fs::read(&path) else { return Variable::Absent };
        if environment.is_empty() {
            // Its environment is empty, or the program is just being loaded and may have one by now.
            let Some(before) = ProcessStatus::of(pid) else { return Variable::Absent };
            environment = std::fs::read(&path).unwrap_or_default();
            let is_unchanged = ProcessStatus::of(pid).is_none_or(|after| {
                !after.loads() && before.environment_end == after.environment_end
            });
            if environment.is_empty() {
                return if is_unchanged { Variable::Absent } else { Variable::NotYet };
            }
        }
        let value = |variable: &[u8]| {
            Some(variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_owned())
        };
        let found = environment.split(|byte| *byte == 0).find_map(value);
        found.map_or(Variable::Absent, Variable::Is)
    }
}

/// Sends a signal to a process if `is_meant` holds. If the number belongs to another process meanwhile,
/// that process gets no signal. Answers whether the signal was sent.
pub fn send_signal(pid: Pid, signal: Signal, is_meant: impl FnOnce(Pid) -> bool) -> bool {
    match pidfd_open(pid, PidfdFlags::empty()) {
        // From here on the descriptor names that process, even if its number is used again.
        Ok(process) => is_meant(pid) && pidfd_send_signal(&process, signal).is_ok(),
        Err(Errno::SRCH) => false,
        // Kernels before 5.3 have no such descriptors.
        Err(_) => is_meant(pid) && kill_process(pid, signal).is_ok(),
    }
}

/// Whether a child has ended. It keeps its number until it is waited for.
pub fn has_ended(child: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // An error means that the child no longer exists.
    !matches!(waitid(WaitId::Pid(child), options), Ok(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(state: &str, flags: u64, environment_end: u64) -> Vec<u8> {
        let between: Vec<String> = (10..51).map(|place| place.to_string()).collect();
        let between = between.join(" ");
        format!("17 (a) (b c) {state} 1 16 16 0 -1 {flags} {between} {environment_end} 0\n").into()
    }

    #[test]
    fn a_process_with_any_name_is_read() {
        let process = ProcessStatus::read(&stat("S", 4_194_304, 140_000)).unwrap();
        assert_eq!((process.name.as_str(), process.group), ("a) (b c", Pid::from_raw(16)));
        assert!(!process.loads());
        assert!(ProcessStatus::read(&stat("R", 4_194_304, 0)).unwrap().loads());
        assert!(!ProcessStatus::read(&stat("I", 2_129_984, 0)).unwrap().loads());
        assert_eq!(ProcessStatus::read(&stat("Z", 4_194_304, 0)), None);
        assert_eq!(ProcessStatus::read(b"17 (cut"), None);
    }

    #[test]
    fn a_variable_of_a_process_is_found_once_its_program_is_loaded() {
        for _ in 0..50 {
            let mut command = std::process::Command::new("sleep");
            let mut child = command.arg("600").env("A_MARK", "here").spawn().unwrap();
            let pid = Pid::from_child(&child);
            // A moment ago it was still this process' own program.
            let mut result = Variable::NotYet;
            while result == Variable::NotYet {
                result = Variable::of(pid, "A_MARK");
            }
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(result, Variable::Is(b"here".to_vec()));
        }
    }

    #[test]
    fn a_signal_reaches_only_the_confirmed_process() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(!send_signal(pid, Signal::KILL, |_| false));
        assert!(!has_ended(pid));
        assert!(send_signal(pid, Signal::KILL, |_| true));
        child.wait().unwrap();
        assert!(has_ended(pid) && ProcessStatus::of(pid).is_none());
    }
}
