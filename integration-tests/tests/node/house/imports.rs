//! Imports between files: no two files use each other, no files form a circle, and folders use only what the map allows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::module_tree::{ModuleTree, Target};
use super::{ARCHITECTURE, root};

/// Each file, with the files that it uses and one name of each.
type Imports = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// The imports between files of one crate. A re-export is none: who uses the name imports the file that
/// defines it.
fn imports_of(tree: &ModuleTree) -> Imports {
    let mut imports = Imports::new();
    for (id, module) in tree.modules.iter().enumerate() {
        let files = imports.entry(module.file.clone()).or_default();
        for path in &module.used {
            let Some(Target::Item(other)) = tree.resolve(id, path) else { continue };
            let other = &tree.modules[other].file;
            if *other != module.file {
                files.entry(other.clone()).or_insert_with(|| path.join("::"));
            }
        }
    }
    imports
}

/// The files that `file` uses, directly or through others.
fn reached_from(imports: &Imports, file: &Path) -> BTreeSet<PathBuf> {
    let mut reached = BTreeSet::new();
    let mut open = vec![file.to_owned()];
    while let Some(file) = open.pop() {
        for other in imports.get(&file).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(other.clone()) {
                open.push(other.clone());
            }
        }
    }
    reached
}

/// The largest sets of files in which each file reaches each other one.
fn circles(imports: &Imports) -> Vec<BTreeSet<PathBuf>> {
    let reached: BTreeMap<&PathBuf, BTreeSet<PathBuf>> =
        imports.keys().map(|file| (file, reached_from(imports, file))).collect();
    let mut circles: Vec<BTreeSet<PathBuf>> = Vec::new();
    for (file, others) in &reached {
        let seen = circles.iter().any(|circle| circle.contains(*file));
        if !seen && others.contains(*file) {
            let back = |other: &&PathBuf| reached.get(other).is_some_and(|all| all.contains(*file));
            circles.push(others.iter().filter(back).cloned().collect());
        }
    }
    circles
}

/// The roots of all production crates: the binary, and the crates of `actors`.
fn crate_roots() -> Result<Vec<PathBuf>> {
    let mut roots = vec![PathBuf::from("src/lib.rs")];
    for entry in fs::read_dir(root().join("actors"))? {
        roots.push(Path::new("actors").join(entry?.file_name()).join("src/lib.rs"));
    }
    anyhow::ensure!(roots.len() > 10, "only {} crates were found", roots.len());
    roots.sort();
    Ok(roots)
}

/// Folders that use each other, and why they stay so.
const CIRCLES_LEFT: [(&[&str], &str); 1] = [(
    &[
        "actors/worker/src/downloader/copying",
        "actors/worker/src/downloader/fetching",
        "actors/worker/src/downloader/legacy",
        "actors/worker/src/downloader/managers",
    ],
    "an order comes from a manager and is fetched, and `legacy` has its own link and fetch",
)];

/// The imports between parts. `part` gives the part that a file belongs to.
fn part_imports(imports: &Imports, part: impl Fn(&Path) -> Option<PathBuf>) -> Imports {
    let mut parts = Imports::new();
    for (file, used) in imports {
        let Some(user) = part(file) else { continue };
        for (other, name) in used {
            if let Some(owner) = part(other).filter(|owner| *owner != user) {
                parts.entry(user.clone()).or_default().insert(owner, name.clone());
            }
        }
    }
    parts
}

/// The folders in a folder, with the folders there that they use. Two actors may use each other: they exchange messages
/// and views.
fn folder_imports(imports: &Imports, source: &Path) -> Imports {
    let is_actor = |folder: &Path| folder.join("messages.rs").exists();
    let mut folders = part_imports(imports, |file| {
        let mut parts = file.strip_prefix(source).ok()?.components();
        let first = parts.next()?;
        parts.next().map(|_| source.join(first))
    });
    for (user, used) in &mut folders {
        used.retain(|owner, _| !(is_actor(owner) && is_actor(user)));
    }
    folders
}

/// One line for each import within a circle.
fn lines_of(circle: &BTreeSet<PathBuf>, imports: &Imports) -> Result<String> {
    let mut lines = String::new();
    for user in circle {
        for (other, name) in imports.get(user).into_iter().flatten() {
            if circle.contains(other) {
                lines += &format!("  {} uses {name} of {}\n", short(user)?, short(other)?);
            }
        }
    }
    Ok(lines)
}

/// All folders with files of a crate, from its root on.
fn folders_of(imports: &Imports, source: &Path) -> BTreeSet<PathBuf> {
    let above = |file: &PathBuf| -> Vec<PathBuf> {
        let above = file.ancestors().skip(1).take_while(|folder| folder.starts_with(source));
        above.map(Path::to_owned).collect()
    };
    imports.keys().flat_map(above).collect()
}

#[test]
fn neither_files_nor_folders_import_each_other() -> Result<()> {
    let (mut found, mut left) = (Vec::new(), BTreeSet::new());
    let (mut files, mut folders) = (0, 0);
    for crate_root in crate_roots()? {
        let crate_root = root().join(crate_root);
        let of_files = imports_of(&ModuleTree::read(&crate_root)?);
        let source = crate_root.parent().context("a folder")?;
        let folders_of = folders_of(&of_files, source);
        files += of_files.len();
        folders += folders_of.len();
        let of_folders = folders_of.iter().map(|folder| folder_imports(&of_files, folder));
        for imports in of_folders.chain([of_files.clone()]) {
            for circle in circles(&imports) {
                let names: Vec<String> =
                    circle.iter().map(|file| short(file)).collect::<Result<_>>()?;
                if CIRCLES_LEFT.iter().any(|(known, _)| *known == names) {
                    left.insert(names);
                    continue;
                }
                let lines = lines_of(&circle, &imports)?;
                found.push(format!("{} in a circle:\n{lines}", circle.len()));
            }
        }
    }
    anyhow::ensure!(files > 500 && folders > 30, "only {files} files and {folders} folders");
    assert_eq!(
        left.len(),
        CIRCLES_LEFT.len(),
        "a circle is gone: remove it from the list: {left:?}"
    );
    assert!(found.is_empty(), "{} circles of imports:\n{}", found.len(), found.join("\n"));
    Ok(())
}

fn short(file: &Path) -> Result<String> {
    Ok(file.strip_prefix(root()).context("a file of the workspace")?.display().to_string())
}

#[test]
fn a_circle_has_the_files_that_reach_each_other() {
    let file = |name: &str| PathBuf::from(name);
    let uses = |names: &[&str]| names.iter().map(|name| (file(name), String::new())).collect();
    let imports = Imports::from([
        (file("a"), uses(&["b"])),
        (file("b"), uses(&["c", "d"])),
        (file("c"), uses(&["a"])),
        (file("d"), uses(&["e"])),
        (file("e"), uses(&[])),
        (file("f"), uses(&["a"])),
    ]);
    let expected = BTreeSet::from(["a", "b", "c"].map(file));
    assert_eq!(circles(&imports), [expected]);
}

/// The heading of the table of `ARCHITECTURE.md` with the parts of crates that use others.
const PARTS_TABLE: &str = "| Part | May use | Why |";

/// The crates whose parts are in the table.
const CRATES_WITH_PARTS: [&str; 2] = ["src", "actors/yard/src"];

/// The parts that each part may use, by the table.
fn allowed_parts(document: &str) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let (_, table) = document.split_once(PARTS_TABLE).context("a table of parts")?;
    let mut allowed = BTreeMap::new();
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let (part, others) = (cells.next().context("a part")?, cells.next().context("others")?);
        let others = others.split(',').map(|other| other.trim().to_owned()).collect();
        let name = part.trim_matches('`').trim_end_matches(".rs").to_owned();
        let known = allowed.insert(name, others);
        anyhow::ensure!(known.is_none(), "two rows for {part}");
    }
    Ok(allowed)
}

/// The parts of a crate that each part uses: its folders, and the files beside them.
fn used_parts(source: &Path, imports: &Imports) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let parts = part_imports(imports, |file| {
        let inside = file.strip_prefix(source).ok()?;
        let first = Path::new(inside.components().next()?.as_os_str()).with_extension("");
        (!inside.ends_with("lib.rs")).then(|| source.join(first))
    });
    let mut used = BTreeMap::new();
    for (part, others) in parts {
        let others =
            others.keys().map(|other| Ok(other.strip_prefix(source)?.display().to_string()));
        used.insert(short(&part)?, others.collect::<Result<_>>()?);
    }
    Ok(used)
}

#[test]
fn folders_use_only_the_folders_that_the_map_allows() -> Result<()> {
    let mut used = BTreeMap::new();
    for source in CRATES_WITH_PARTS {
        let source = root().join(source);
        let imports = imports_of(&ModuleTree::read(&source.join("lib.rs"))?);
        used.append(&mut used_parts(&source, &imports)?);
    }
    anyhow::ensure!(used.len() > 12, "only {} parts use others", used.len());
    let allowed = allowed_parts(ARCHITECTURE)?;
    let mut faults = Vec::new();
    for part in used.keys().chain(allowed.keys()).collect::<BTreeSet<_>>() {
        let (used, allowed) = (used.get(part), allowed.get(part));
        if used != allowed {
            faults.push(format!("{part} uses {used:?}, and the table allows {allowed:?}"));
        }
    }
    assert!(
        faults.is_empty(),
        "change the import, or the table with a reason:\n{}",
        faults.join("\n")
    );
    Ok(())
}

#[test]
fn a_part_is_compared_with_its_row() -> Result<()> {
    let file = |name: &str| root().join("src").join(name);
    let uses = |names: &[&str]| names.iter().map(|name| (file(name), String::new())).collect();
    let imports = Imports::from([
        (file("node/a.rs"), uses(&["node/b.rs", "config/mod.rs", "logging.rs"])),
        (file("running/a.rs"), uses(&["running.rs"])),
        (file("running.rs"), uses(&["node/a.rs"])),
        (file("lib.rs"), uses(&["node/a.rs"])),
    ]);
    let table = format!(
        "text\n{PARTS_TABLE}\n|---|---|---|\n| `src/node` | config, logging | because |\n\
         | `src/running` | node | |\n\n| `other` | table | |\n"
    );
    assert_eq!(used_parts(&root().join("src"), &imports)?, allowed_parts(&table)?);
    Ok(())
}
