//! The rooms of an owner that others use: its messages and its views.

use std::path::Path;

use anyhow::{Context, Result};

use super::module_tree::{ModuleTree, Target};
use super::{OWNERS, root};

/// The owner of a file, and the room of the file in it.
fn room_of(file: &Path) -> Option<(&'static str, String)> {
    let file = file.strip_prefix(root()).ok()?;
    let owner = OWNERS.iter().find(|owner| file.starts_with(owner))?;
    let room = file.strip_prefix(owner).ok()?.iter().next()?;
    Some((owner, room.to_str()?.trim_end_matches(".rs").to_owned()))
}

/// Whether a file of the room `room` of `owner` must not use `other_room` of `other`.
fn is_refused(owner: &str, room: &str, other: &str, other_room: &str) -> bool {
    match owner == other {
        true => {
            let above: &[&str] = match room {
                "state" => &["messages", "policy", "views", "actor"],
                "policy" => &["views", "actor"],
                "views" => &["actor"],
                "messages" => &["policy", "actor"],
                "settings" => &["messages", "policy", "views", "actor"],
                _ => &[],
            };
            above.contains(&other_room)
        }
        false => !["messages", "views"].contains(&other_room),
    }
}

#[test]
fn others_use_only_messages_and_views_of_an_owner() -> Result<()> {
    let mut refused = Vec::new();
    let mut seen = 0;
    for name in ["yard", "shares", "boxes", "access", "settings"] {
        let tree = ModuleTree::read(&root().join("actors").join(name).join("src/lib.rs"))?;
        for (id, module) in tree.modules.iter().enumerate() {
            let Some((owner, room)) = room_of(&module.file) else { continue };
            for path in &module.used {
                let Some(Target::Item(other)) = tree.resolve(id, path) else { continue };
                let Some((other, other_room)) = room_of(&tree.modules[other].file) else {
                    continue;
                };
                seen += 1;
                if is_refused(owner, &room, other, &other_room) {
                    let file = module.file.strip_prefix(root()).context("a file of the yard")?;
                    refused.push(format!("{} uses {}", file.display(), path.join("::")));
                }
            }
        }
    }
    anyhow::ensure!(seen > 1000, "only {seen} uses were found");
    assert!(refused.is_empty(), "use a message or a view instead:\n{}", refused.join("\n"));
    Ok(())
}

#[test]
fn the_state_of_another_owner_is_refused() {
    let [tasks, removals, ..] = OWNERS;
    assert!(is_refused(removals, "policy", tasks, "state"));
    assert!(is_refused(removals, "actor", tasks, "policy"));
    assert!(!is_refused(removals, "actor", tasks, "views"));
    assert!(is_refused(tasks, "messages", tasks, "policy"));
    assert!(is_refused(tasks, "state", tasks, "policy"));
    assert!(is_refused(tasks, "settings", tasks, "policy"));
    assert!(!is_refused(tasks, "policy", tasks, "state"));
    let file = root().join(tasks).join("state/task.rs");
    assert_eq!(room_of(&file), Some((tasks, "state".to_owned())));
    assert_eq!(room_of(&root().join(tasks).join("messages.rs")).unwrap().1, "messages");
}
