//! Tasks: each ranked file is copied once, no task that was shown is lost, and an ended one does not go on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;
use tokio::time::sleep;

use crate::chaos::chaos_client::ChaosClient;
use crate::chaos::record::ChaosRecord;
use crate::rigs::catalog::catalog_input::{grade_info, replace};

/// Pause between two looks at the tasks, and between two new files.
const LOOK: Duration = Duration::from_secs(1);

/// Size of a master in bytes.
const MASTER_BYTES: usize = 200_000;

/// The states of tasks in which their copies still can change.
const OPEN: [&str; 2] = ["ready", "working"];

/// The ranked files and the tasks that were shown.
#[derive(Debug)]
pub struct TaskHistory {
    masters: PathBuf,
    seen: Mutex<ShownTasks>,
}

#[derive(Debug, Default)]
struct ShownTasks {
    files: Vec<String>,
    /// The last state of each task, by its number.
    states: BTreeMap<String, String>,
}

impl ShownTasks {
    /// The leader shows these tasks: their states by number. The first violation.
    fn show(&mut self, now: &BTreeMap<String, String>) -> Option<String> {
        for (task, before) in &self.states {
            match now.get(task) {
                None => return Some(format!("task {task} was {before}, and is lost")),
                Some(state) if state != before && !OPEN.contains(&before.as_str()) => {
                    return Some(format!("task {task} had ended as {before}, and is {state}"));
                }
                Some(_) => {}
            }
        }
        self.states.clone_from(now);
        None
    }
}

impl TaskHistory {
    /// An empty history of a yard with its masters in `masters`.
    pub fn new(masters: &Path) -> Self {
        TaskHistory { masters: masters.to_owned(), seen: Mutex::default() }
    }

    /// The number of checked copies.
    pub fn summary(&self) -> String {
        format!("{} copies", self.lock().files.len())
    }

    /// The first ranked file that was not copied, or was copied twice.
    pub async fn missing(&self, client: &ChaosClient, copies: &Path) -> Option<String> {
        let files = self.lock().files.clone();
        for name in &files {
            let (copy, master) = (copies.join(name), self.masters.join(name));
            let is_there = match (std::fs::read(copy), std::fs::read(master)) {
                (Ok(copy), Ok(master)) => copy == master,
                _ => false,
            };
            if !is_there {
                return Some(format!("the copy of {name} is not there"));
            }
        }
        let Some(tasks) = tasks_of_leader(client, 0).await else {
            return Some("the tasks cannot be read".to_owned());
        };
        copied_twice(&files, &tasks)
    }

    /// Adds one file to the end of the ranking.
    fn add_file(&self) -> Result<()> {
        let mut seen = self.lock();
        let name = format!("film-{:04}.mpg", seen.files.len());
        let mut bytes = vec![0; MASTER_BYTES];
        fastrand::fill(&mut bytes);
        std::fs::write(self.masters.join(&name), bytes)?;
        seen.files.push(name);
        let ranking = self.masters.with_file_name("input").join(".grade.info");
        Ok(replace(&ranking, &grade_info(&seen.files))?)
    }

    fn lock(&self) -> MutexGuard<'_, ShownTasks> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds files to the ranking and looks at the tasks, until the load ends.
pub async fn watch_copies(client: &ChaosClient, history: &TaskHistory, record: &ChaosRecord) {
    for node in 0.. {
        if let Err(error) = history.add_file() {
            record.violates(format!("a file of the test cannot be written: {error:#}"));
            return;
        }
        if let Some(tasks) = tasks_of_leader(client, node).await {
            let states = tasks.iter().map(|task| (text(task, "id"), text(task, "state")));
            let violation = history.lock().show(&states.collect());
            if let Some(violation) = violation {
                record.violates(violation);
            }
        }
        sleep(LOOK).await;
        if !client.goes_on() {
            return;
        }
    }
}

/// All tasks as the leader knows them. None if no node with a leader answers now.
async fn tasks_of_leader(client: &ChaosClient, node: usize) -> Option<Vec<Value>> {
    client.list(node, "/tasks", "&consistency=leader").await
}

/// The first file without exactly one copy that is done.
fn copied_twice(files: &[String], tasks: &[Value]) -> Option<String> {
    files.iter().find_map(|name| {
        let done = tasks.iter().filter(|task| task["state"] == "done" && task["name"] == *name);
        let copies: Vec<String> = done.map(|task| text(task, "id")).collect();
        (copies.len() != 1)
            .then(|| format!("{name} was copied {} times: tasks {copies:?}", copies.len()))
    })
}

fn text(task: &Value, member: &str) -> String {
    task[member].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn states<const N: usize>(tasks: [(&str, &str); N]) -> BTreeMap<String, String> {
        tasks.map(|(task, state)| (task.to_owned(), state.to_owned())).into()
    }

    #[test]
    fn a_lost_task_and_an_ended_one_that_goes_on_are_violations() {
        let mut shown = ShownTasks::default();
        assert_eq!(shown.show(&states([("1", "ready")])), None);
        assert_eq!(shown.show(&states([("1", "done"), ("2", "ready")])), None);
        let again = shown.show(&states([("1", "working"), ("2", "ready")]));
        assert!(again.is_some_and(|text| text.contains("had ended as done")));
        let lost = shown.show(&states([("1", "done")]));
        assert!(lost.is_some_and(|text| text.contains("task 2 was ready, and is lost")));
    }

    #[test]
    fn a_file_with_two_copies_or_none_is_found() {
        let files = ["a".to_owned()];
        let done = json!({ "name": "a", "state": "done" });
        let failed = json!({ "name": "a", "state": "failed" });
        assert_eq!(copied_twice(&files, &[done.clone(), failed.clone()]), None);
        let twice = copied_twice(&files, &[done.clone(), done]);
        assert!(twice.is_some_and(|text| text.contains("copied 2 times")));
        assert!(copied_twice(&files, &[failed]).is_some_and(|text| text.contains("0 times")));
    }
}
