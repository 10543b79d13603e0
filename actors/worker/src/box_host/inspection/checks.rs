//! The rules for a clean box, and the leftovers of a dirty one. Pure.

use std::fmt;
use std::path::PathBuf;

use crate::box_host::template::{Template, TemplateValues};

/// The largest number of processes in the evidence.
const PROCESSES_NAMED: usize = 8;

/// The things that a clean box must not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanBoxChecks {
    /// The user id of box 0; each further box has the next one. A clean box has no process of its user.
    pub first_uid: Option<Uid>,
    /// Paths that a clean box does not have.
    pub no_directory: Vec<Template>,
    /// Control groups that a clean box does not have. An empty one counts, too, because it has the
    /// limits and sub-groups of its holder, and the next holder would get them.
    pub no_cgroup: Vec<Template>,
    /// Whether leftover processes of a box are killed at its cleanup.
    pub kill_left: bool,
    /// How many ids of boxes there are, from 0 on; any number if none. A node's request for a higher id
    /// is refused: the users of such ids belong to others.
    pub boxes: Option<u32>,
}

/// The id of a user other than root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(u32);

impl Uid {
    /// Root is no user of a box, and the largest number means no user at all.
    pub fn new(number: u32) -> Option<Self> {
        (1..u32::MAX).contains(&number).then_some(Uid(number))
    }

    /// The user id as a number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The places where the leftovers of one box are searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftoverTargets {
    /// Its user, if it has one.
    pub uid: Option<Uid>,
    /// Its paths that must not exist.
    pub directories: Vec<PathBuf>,
    /// Its control groups, which must be empty.
    pub cgroups: Vec<PathBuf>,
}

/// Why a box does not belong to a worker: its id is too large. No hook runs for it, and no user's
/// processes are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoxNotServed {
    /// Its number is beyond the boxes in the worker's configuration.
    #[error("box {box_id} does not belong to this worker: its hooks are for boxes below {boxes}")]
    Beyond {
        /// The requested id.
        box_id: u32,
        /// How many boxes the pool has.
        boxes: u32,
    },
    /// The id has no user.
    #[error("box {box_id} would have a user id beyond the largest: first_uid is {first_uid}")]
    NoUser {
        /// The requested id.
        box_id: u32,
        /// The user id of box 0.
        first_uid: Uid,
    },
}

impl CleanBoxChecks {
    /// The places to check for a box.
    ///
    /// # Errors
    /// The box is not one of this worker.
    pub fn of(&self, subject: &TemplateValues) -> Result<LeftoverTargets, BoxNotServed> {
        let box_id = subject.box_id;
        if let Some(boxes) = self.boxes.filter(|boxes| box_id >= *boxes) {
            return Err(BoxNotServed::Beyond { box_id, boxes });
        }
        let user = |first: Uid| {
            let uid = first.0.checked_add(box_id).and_then(Uid::new);
            uid.ok_or(BoxNotServed::NoUser { box_id, first_uid: first })
        };
        let paths = |templates: &[Template]| {
            templates.iter().map(|template| PathBuf::from(template.fill(subject))).collect()
        };
        Ok(LeftoverTargets {
            uid: self.first_uid.map(user).transpose()?,
            directories: paths(&self.no_directory),
            cgroups: paths(&self.no_cgroup),
        })
    }

    /// Whether there are no checks.
    pub fn are_none(&self) -> bool {
        self.first_uid.is_none() && self.no_directory.is_empty() && self.no_cgroup.is_empty()
    }
}

/// A process of a box that still runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftProcess {
    /// Its process id.
    pub pid: i32,
    /// Its program's name.
    pub name: String,
}

/// The leftovers of one box.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoxLeftovers {
    /// The checked user, and its processes.
    pub processes: Option<(Uid, Vec<LeftProcess>)>,
    /// The paths that exist.
    pub directories: Vec<PathBuf>,
    /// The existing control groups, and the processes in them.
    pub cgroups: Vec<(PathBuf, Vec<LeftProcess>)>,
    /// The failed checks with their errors: without them the box cannot count as clean.
    pub unseen: Vec<String>,
}

impl BoxLeftovers {
    /// Whether nothing is left and every check worked.
    pub fn is_clean(&self) -> bool {
        self.processes.as_ref().is_none_or(|(_, left)| left.is_empty())
            && self.directories.is_empty()
            && self.cgroups.is_empty()
            && self.unseen.is_empty()
    }

    /// Whether processes are left over.
    pub fn has_processes(&self) -> bool {
        let of_user = self.processes.iter().map(|(_, left)| left);
        of_user.chain(self.cgroups.iter().map(|(_, left)| left)).any(|left| !left.is_empty())
    }
}

impl fmt::Display for BoxLeftovers {
    /// The evidence as text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some((uid, left)) = self.processes.as_ref().filter(|(_, left)| !left.is_empty()) {
            parts.push(format!("{} of user {uid} {} left", named(left), are(left.len())));
        }
        if !self.directories.is_empty() {
            let paths: Vec<String> =
                self.directories.iter().map(|path| path.display().to_string()).collect();
            parts.push(format!("{} {} there", paths.join(" and "), are(paths.len())));
        }
        for (path, left) in &self.cgroups {
            let inside = match left.len() {
                0 => "without processes".to_owned(),
                _ => format!("with {}", named(left)),
            };
            parts.push(format!("the control group {} is there, {inside}", path.display()));
        }
        parts.extend(self.unseen.iter().cloned());
        f.write_str(&parts.join("; "))
    }
}

/// Processes by number and program, for the evidence.
pub fn named(left: &[LeftProcess]) -> String {
    let named = left.iter().take(PROCESSES_NAMED);
    let named: Vec<String> =
        named.map(|process| format!("{} ({})", process.pid, process.name)).collect();
    let more = match left.len().saturating_sub(PROCESSES_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let noun = if left.len() == 1 { "process" } else { "processes" };
    format!("{noun} {}{more}", named.join(", "))
}

fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

#[cfg(test)]
mod tests {
    use reelyard_protocol::boxes::{BoxNumber, PoolName};

    use super::*;
    use crate::box_host::template::TemplateBlank;

    fn process(pid: i32, name: &str) -> LeftProcess {
        LeftProcess { pid, name: name.to_owned() }
    }

    #[test]
    fn a_box_is_looked_for_by_its_own_user_and_paths() {
        let path = |text: &str| Template::parse(text, TemplateBlank::IN_PATHS).unwrap();
        let checks = CleanBoxChecks {
            first_uid: Uid::new(60_000),
            no_directory: vec![path("/boxes/{box}")],
            no_cgroup: vec![path("/cg/{pool}-{box}")],
            kill_left: false,
            boxes: None,
        };
        let pool = PoolName::new("p").unwrap();
        let subject = TemplateValues { box_id: 7, ..TemplateValues::idle(pool, BoxNumber(2)) };
        let sought = checks.of(&subject).unwrap();
        assert_eq!(sought.uid.map(Uid::get), Some(60_007));
        assert_eq!(sought.directories, [PathBuf::from("/boxes/7")]);
        assert_eq!(sought.cgroups, [PathBuf::from("/cg/p-7")]);
        let beyond = TemplateValues { box_id: u32::MAX - 60_000, ..subject.clone() };
        assert!(checks.of(&beyond).unwrap_err().to_string().contains("beyond the largest"));
        let of_others = CleanBoxChecks { boxes: Some(7), ..checks.clone() }.of(&subject);
        assert_eq!(of_others, Err(BoxNotServed::Beyond { box_id: 7, boxes: 7 }));
        assert!(CleanBoxChecks { boxes: Some(8), ..checks.clone() }.of(&subject).is_ok());
        assert!(CleanBoxChecks::default().are_none() && !checks.are_none());
        assert_eq!((Uid::new(0), Uid::new(u32::MAX)), (None, None));
    }

    #[test]
    fn leftovers_are_reported() {
        let uid = Uid::new(60_003).unwrap();
        let clean = BoxLeftovers { processes: Some((uid, Vec::new())), ..BoxLeftovers::default() };
        assert!(clean.is_clean() && !clean.has_processes() && clean.to_string().is_empty());
        let left = vec![process(1234, "sleep"), process(1240, "a.out")];
        let dirty = BoxLeftovers {
            processes: Some((uid, left)),
            directories: vec!["/var/local/lib/isolate/3".into()],
            ..clean.clone()
        };
        assert!(!dirty.is_clean() && dirty.has_processes());
        assert_eq!(
            dirty.to_string(),
            "processes 1234 (sleep), 1240 (a.out) of user 60003 are left; \
             /var/local/lib/isolate/3 is there"
        );
        let group = |left| BoxLeftovers { cgroups: vec![("/cg/3".into(), left)], ..clean.clone() };
        let empty = group(Vec::new());
        assert!(!empty.is_clean() && !empty.has_processes());
        assert_eq!(empty.to_string(), "the control group /cg/3 is there, without processes");
        let full = group((1..=10).map(|pid| process(pid, "x")).collect());
        assert!(full.has_processes() && full.to_string().ends_with("8 (x) and 2 more"), "{full}");
        let unseen = BoxLeftovers { unseen: vec!["/x cannot be checked".to_owned()], ..clean };
        assert!(!unseen.is_clean() && unseen.to_string() == "/x cannot be checked");
    }
}
