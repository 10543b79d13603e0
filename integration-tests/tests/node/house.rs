//! Rules of the source code: one name per type, and documents with existing names.

mod apply_constants;
mod comments;
mod imports;
mod messages;
mod module_tree;
mod owners;
mod test_names;
mod tokens;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const ARCHITECTURE: &str = include_str!("../../../ARCHITECTURE.md");
const CONTRIBUTING: &str = include_str!("../../../CONTRIBUTING.md");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The top folders with source code.
const TOPS: [&str; 3] = ["src", "actors", "integration-tests"];

/// The text of each wanted file below `tops`, with its path from the root.
fn files_below(tops: &[&str], is_wanted: impl Fn(&Path) -> bool) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = tops.iter().map(|top| root().join(top)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if is_wanted(&path) {
                let name = path.strip_prefix(root())?.display().to_string();
                files.push((name, fs::read_to_string(&path)?));
            }
        }
    }
    Ok(files)
}

/// All Rust files of the workspace, each with its path from the root.
fn rust_files() -> Result<Vec<(String, String)>> {
    let files = files_below(&TOPS, |path| path.extension().is_some_and(|end| end == "rs"))?;
    anyhow::ensure!(files.len() > 500, "only {} files were found", files.len());
    Ok(files)
}

/// The type that a line defines outside of traits and functions.
fn defined_type(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().peekable();
    while words.peek()?.starts_with("pub") {
        let word = words.next()?;
        // `pub(in a::b)` contains a blank.
        if word.contains('(') && !word.contains(')') {
            words.find(|word| word.ends_with(')'))?;
        }
    }
    let keyword = words.next()?;
    // An alias within a block is an associated type.
    let is_alias = keyword == "type" && !line.starts_with(' ');
    if !matches!(keyword, "struct" | "enum" | "trait" | "union") && !is_alias {
        return None;
    }
    let name = words.next()?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    let name = &name[..end];
    name.starts_with(char::is_uppercase).then_some(name)
}

#[test]
fn every_type_has_a_name_of_its_own() -> Result<()> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in rust_files()? {
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = defined_type(line) {
                places.entry(name.to_owned()).or_default().push(format!("{file}:{}", number + 1));
            }
        }
    }
    anyhow::ensure!(places.len() > 1000, "only {} types were found", places.len());
    let twice: Vec<String> = places
        .iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(name, places)| format!("{name}: {}", places.join(" ")))
        .collect();
    assert!(twice.is_empty(), "give each of these types a name of its own:\n{}", twice.join("\n"));
    Ok(())
}

#[test]
fn a_definition_is_distinguished_from_other_lines() {
    assert_eq!(defined_type("pub struct CopyKey {"), Some("CopyKey"));
    assert_eq!(defined_type("    pub(super) enum PlanVerdict<'a> {"), Some("PlanVerdict"));
    assert_eq!(defined_type("pub(in crate::cli) struct Args;"), Some("Args"));
    assert_eq!(defined_type("type Read<T> = Result<T, Wrong>;"), Some("Read"));
    for other in
        ["    type Error = io::Error;", "// struct Old {", "let structure = 1;", "fn f() {}"]
    {
        assert_eq!(defined_type(other), None, "{other}");
    }
}

/// The paths in backticks of a document, outside of code blocks, each with its place on the disk. A path
/// that begins with a top folder is one from the root. The name of a Rust file is one from `folder`.
/// Commands, patterns and names with a placeholder are no paths.
fn named_paths<'t>(text: &'t str, folder: Option<&Path>) -> Vec<(&'t str, PathBuf)> {
    let prose = text.split("```").step_by(2);
    let code = prose.flat_map(|prose| prose.split('`').skip(1).step_by(2));
    code.filter(|code| !code.contains([' ', '\n', '*']) && !code.contains("NAME"))
        .filter_map(|code| {
            let top = code.split('/').next().unwrap_or_default();
            if TOPS.contains(&top) {
                return Some((code, root().join(code)));
            }
            folder.filter(|_| code.ends_with(".rs")).map(|folder| (code, folder.join(code)))
        })
        .collect()
}

/// The words in backticks of a document, outside of code blocks, that have the form of the name of a test. The names
/// of metrics begin with that of the program.
fn named_tests(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let code = prose.flat_map(|prose| prose.split('`').skip(1).step_by(2));
    let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    code.filter(|code| code.chars().all(is_of_name) && code.matches('_').count() > 2)
        .filter(|code| !code.starts_with("reelyard_"))
        .collect()
}

#[test]
fn documents_name_tests_that_exist() -> Result<()> {
    let code: String = rust_files()?.into_iter().map(|(_, text)| text).collect();
    let functions: BTreeSet<&str> =
        code.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next()).collect();
    let mut documents = files_below(&TOPS, |path| path.ends_with("README.md"))?;
    documents.push(("ARCHITECTURE.md".to_owned(), ARCHITECTURE.to_owned()));
    documents.push(("CONTRIBUTING.md".to_owned(), CONTRIBUTING.to_owned()));
    let (mut seen, mut absent) = (0, Vec::new());
    for (document, text) in &documents {
        for name in named_tests(text) {
            seen += 1;
            if !functions.contains(name) {
                absent.push(format!("{document}: {name}"));
            }
        }
    }
    anyhow::ensure!(seen > 50, "only {seen} names of tests");
    assert!(absent.is_empty(), "these tests do not exist:\n{}", absent.join("\n"));
    Ok(())
}

#[test]
fn documents_name_paths_that_exist() -> Result<()> {
    let documents = [("ARCHITECTURE.md", ARCHITECTURE, 40), ("CONTRIBUTING.md", CONTRIBUTING, 15)];
    for (document, text, least) in documents {
        let paths = named_paths(text, None);
        anyhow::ensure!(paths.len() > least, "only {} paths in {document}", paths.len());
        for (name, path) in paths {
            assert!(path.exists(), "{document} names {name}, which does not exist");
        }
    }
    let readmes = files_below(&["actors"], |path| path.ends_with("README.md"))?;
    let mut seen = 0;
    for (readme, text) in &readmes {
        let file = root().join(readme);
        for (name, path) in named_paths(text, file.parent()) {
            seen += 1;
            assert!(path.exists(), "{readme} names {name}, which does not exist");
        }
    }
    anyhow::ensure!(seen > 25, "only {seen} paths in {} files", readmes.len());
    Ok(())
}

#[test]
fn a_path_is_distinguished_from_other_code() {
    let text = "`src/a.rs` `actors` `b.rs` `c/d.rs` `src/*.rs` `src/NAME.rs` `src/run X` `source`\n\
                ```text\n`src/e.rs`\n```\n`GET /f` `/g`";
    let names = |folder| -> Vec<&str> {
        named_paths(text, folder).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(None), ["src/a.rs", "actors"]);
    let folder = Path::new("/folder");
    assert_eq!(names(Some(folder)), ["src/a.rs", "actors", "b.rs", "c/d.rs"]);
    assert_eq!(named_tests("`a_b_c_d` `a_b_c` `reelyard_a_b_c` `a::b_c_d_e`"), ["a_b_c_d"]);
    let paths = named_paths(text, Some(folder));
    assert_eq!(paths[0].1, root().join("src/a.rs"));
    assert_eq!(paths[3].1, Path::new("/folder/c/d.rs"));
}

/// The crates of `actors`, by name.
fn crates() -> Result<Vec<String>> {
    let mut crates = Vec::new();
    for entry in fs::read_dir(root().join("actors"))? {
        crates.push(entry?.file_name().to_string_lossy().into_owned());
    }
    crates.sort();
    anyhow::ensure!(crates.len() > 10, "only {} crates were found", crates.len());
    Ok(crates)
}

#[test]
fn the_map_has_every_crate_and_every_actor() -> Result<()> {
    for name in crates()? {
        let row = format!("| `actors/{name}` |");
        assert!(ARCHITECTURE.contains(&row), "ARCHITECTURE.md has no row for the crate {name}");
        for entry in fs::read_dir(root().join("actors").join(&name).join("src"))? {
            let path = entry?.path();
            if path.is_dir() && path.join("README.md").exists() {
                let folder = path.file_name().and_then(|name| name.to_str()).context("a name")?;
                let row = format!("| `actors/{name}/src/{folder}` |");
                assert!(ARCHITECTURE.contains(&row), "ARCHITECTURE.md has no row for {folder}");
            }
        }
    }
    Ok(())
}

/// Crates that only the unit tests of a crate use. The answers to hooks in an earlier epoch are tested inside of BoxLease,
/// with the epochs of a true journal.
const IN_UNIT_TESTS: [(&str, &str); 1] = [("boxes", "journal")];

#[test]
fn crates_use_only_the_crates_that_the_map_allows() -> Result<()> {
    let crates = crates()?;
    for name in &crates {
        let row =
            ARCHITECTURE.lines().find(|line| line.starts_with(&format!("| `actors/{name}` |")));
        let row = row.with_context(|| format!("ARCHITECTURE.md has no row for {name}"))?;
        let allowed = row.split('|').nth(3).context("a third column")?;
        let allowed: Vec<&str> = allowed.split(',').map(str::trim).collect();
        let manifest = fs::read_to_string(root().join("actors").join(name).join("Cargo.toml"))?;
        let (dependencies, of_tests) =
            manifest.split_once("[dev-dependencies]").unwrap_or((manifest.as_str(), ""));
        for other in &crates {
            let package = format!("reelyard-{}.workspace", other.replace('_', "-"));
            let is_in = |part: &str| part.lines().any(|line| line.starts_with(&package));
            let is_allowed = allowed.contains(&other.as_str());
            let uses = is_in(dependencies);
            assert_eq!(uses, is_allowed, "the crate {name} uses {other}: what the map allows");
            let of_tests = is_in(of_tests);
            let is_allowed = IN_UNIT_TESTS.contains(&(name.as_str(), other.as_str()));
            assert_eq!(of_tests, is_allowed, "unit tests of the crate {name} use {other}");
        }
    }
    Ok(())
}

/// Dependencies whose name stands only in a macro or a file of another crate.
const NAMED_ELSEWHERE: [&str; 3] = ["serde-reflection", "serde_json", "maud"];

#[test]
fn crates_name_all_their_dependencies_in_code() -> Result<()> {
    let mut folders = vec!["src".to_owned(), "integration-tests".to_owned()];
    folders.extend(crates()?.into_iter().map(|name| format!("actors/{name}")));
    let mut seen = 0;
    for folder in folders {
        let code: String =
            files_below(&[&folder], |path| path.extension().is_some_and(|end| end == "rs"))?
                .into_iter()
                .map(|(_, text)| text)
                .collect();
        let words: BTreeSet<&str> =
            code.split(|it: char| !it.is_alphanumeric() && it != '_').collect();
        let home = if folder == "src" { root() } else { root().join(&folder) };
        let manifest: toml::Table = fs::read_to_string(home.join("Cargo.toml"))?.parse()?;
        for table in ["dependencies", "dev-dependencies"] {
            for name in manifest.get(table).and_then(toml::Value::as_table).into_iter().flatten() {
                let name = name.0.as_str();
                seen += 1;
                let is_used = words.contains(name.replace('-', "_").as_str());
                assert!(is_used || NAMED_ELSEWHERE.contains(&name), "{folder} does not use {name}");
            }
        }
    }
    anyhow::ensure!(seen > 100, "only {seen} dependencies were found");
    Ok(())
}

/// The folders of the owners of pieces.
const OWNERS: [&str; 6] = [
    "actors/yard/src/task_manager",
    "actors/yard/src/remover",
    "actors/shares/src/share_expiry",
    "actors/boxes/src/box_lease",
    "actors/access/src/access",
    "actors/settings/src/cluster_settings",
];

#[test]
fn every_owner_has_the_same_rooms() {
    for owner in OWNERS {
        for room in ["README.md", "messages.rs", "settings.rs", "state", "policy", "actor", "views"]
        {
            // The owner of the settings has none of its own.
            if room == "settings.rs" && owner.ends_with("cluster_settings") {
                continue;
            }
            assert!(root().join(owner).join(room).exists(), "{owner} has no {room}");
        }
    }
}

/// The folders of the observers of a node.
const OBSERVERS: [&str; 5] = [
    "actors/yard/src/catalog",
    "actors/yard/src/heartbeat",
    "actors/yard/src/cfw_worker",
    "actors/shares/src/share_files",
    "actors/shares/src/webhook",
];

#[test]
fn every_observer_has_the_same_rooms() -> Result<()> {
    for observer in OBSERVERS {
        let folder = root().join(observer);
        for room in ["README.md", "messages.rs", "settings.rs", "views.rs"] {
            assert!(folder.join(room).exists(), "{observer} has no {room}");
        }
        let actor = ["actor.rs", "actor/mod.rs"].map(|file| folder.join(file));
        let actor = actor.iter().find(|file| file.exists());
        let actor = actor.with_context(|| format!("{observer} has no actor"))?;
        let code = std::fs::read_to_string(actor)?;
        assert!(code.contains("impl Observer for "), "{observer} does not use the shared shell");
    }
    Ok(())
}

/// The production code of a file: everything before its unit tests, without comments.
fn production_code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn state_and_policy_are_pure() -> Result<()> {
    let impure = [
        "tracing::",
        "Instant::now",
        "SystemTime",
        "fastrand",
        "::random()",
        "std::fs",
        "actix",
        "tokio::spawn",
        "tokio::time",
    ];
    let mut seen = 0;
    for (file, text) in rust_files()? {
        let in_room = OWNERS.iter().any(|owner| {
            ["state", "policy"].iter().any(|room| file.starts_with(&format!("{owner}/{room}/")))
        });
        let is_test = file.ends_with("_tests.rs") || file.ends_with("samples.rs");
        if !in_room || is_test {
            continue;
        }
        seen += 1;
        let code = production_code(&text);
        for word in impure {
            assert!(!code.contains(word), "{file} uses {word}: state and policy are pure");
        }
    }
    anyhow::ensure!(seen > 60, "only {seen} files were found");
    Ok(())
}

/// The structs with named fields that a file declares as readable from bytes.
fn readable_structs(text: &str) -> Vec<&str> {
    let mut structs = Vec::new();
    for part in text.split("#[derive(").skip(1) {
        let Some((traits, behind)) = part.split_once(")]") else { continue };
        let declaration =
            behind.lines().find(|line| line.contains("struct ") || line.contains("enum "));
        let declaration = declaration.filter(|line| line.contains("struct ") && line.contains('{'));
        let name = declaration.and_then(defined_type);
        structs.extend(name.filter(|_| traits.contains("Deserialize")));
    }
    structs
}

#[test]
fn only_stored_forms_are_read_from_the_store() -> Result<()> {
    // A part of an event, and a refusal. `Moved` and `Totals` are JSON of the API only.
    let known = ["BackingOff", "BadShareText", "Moved", "Totals"];
    let mut seen = Vec::new();
    for (file, text) in rust_files()? {
        let in_state = OWNERS.iter().any(|owner| file.starts_with(&format!("{owner}/state/")));
        let is_format = ["event.rs", "event_v2.rs", "stored.rs", "stored_move.rs", "snapshot.rs"]
            .iter()
            .any(|end| file.ends_with(end));
        let is_checked = |name: &&str| in_state && !is_format && !name.starts_with("Stored");
        for name in readable_structs(&text).into_iter().filter(is_checked) {
            assert!(
                known.contains(&name),
                "{file}: {name} derives Deserialize, so a row or an event can hold it, and a new field \
                 would change stored bytes: give it a stored form"
            );
            seen.push(name.to_owned());
        }
    }
    anyhow::ensure!(seen.len() == known.len(), "known, but not found: {seen:?}");
    Ok(())
}

#[test]
fn a_readable_struct_is_distinguished_from_other_types() {
    let text = "#[derive(Clone, Deserialize)]\npub struct One {\n}\n#[derive(\n    Clone,\n    \
                Deserialize,\n)]\n#[serde(x)]\nstruct Two {\n}\n#[derive(Clone)]\nstruct Three {\n}\n\
                #[derive(Deserialize)]\nstruct Four(u8);\n#[derive(Deserialize)]\nenum Five {\n}\n";
    assert_eq!(readable_structs(text), ["One", "Two"]);
}

#[test]
fn owners_read_clocks_and_draw_ids_by_their_shell() -> Result<()> {
    let refused =
        ["Instant::now", "SystemTime", "fastrand", "getrandom", "::random()", "elapsed()"];
    let mut seen = 0;
    for (file, text) in rust_files()? {
        let is_owner = OWNERS.iter().any(|owner| file.starts_with(&format!("{owner}/")));
        let is_shell = file.starts_with("actors/replication/src/");
        if !is_owner && !is_shell || file.ends_with("_tests.rs") {
            continue;
        }
        seen += 1;
        let code = production_code(&text);
        for word in refused {
            assert!(!code.contains(word), "{file} uses {word}: take it from the shell");
        }
    }
    anyhow::ensure!(seen > 150, "only {seen} files were found");
    Ok(())
}

/// The files and functions that the diagrams of a document name.
fn diagram_lines(text: &str) -> Vec<(&str, &str)> {
    let mut named = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(file), Some(function)) = (words.next(), words.next()) else { continue };
        if let (Some(function), true) = (function.strip_suffix("()"), file.ends_with(".rs")) {
            named.push((file, function));
        }
    }
    named
}

/// Refuses a diagram line whose file is in none of the folders, or has no such function.
fn check_diagram_line(
    document: &str,
    (file, function): (&str, &str),
    folders: &[PathBuf],
) -> Result<()> {
    let path = folders.iter().map(|folder| folder.join(file)).find(|path| path.exists());
    let path = path.with_context(|| format!("{document} names {file}, which is no file"))?;
    let text = fs::read_to_string(path)?;
    let definition = format!("fn {function}");
    let has = text
        .match_indices(&definition)
        .any(|(at, _)| text[at + definition.len()..].starts_with(['(', '<']));
    anyhow::ensure!(has, "{document} names {function} of {file}, which has no such function");
    Ok(())
}

#[test]
fn the_lives_name_functions_that_exist() -> Result<()> {
    let mut folders = vec![root().join("src"), root().join("actors")];
    for name in crates()? {
        folders.push(root().join("actors").join(name).join("src"));
    }
    let named = diagram_lines(ARCHITECTURE);
    anyhow::ensure!(named.len() > 30, "only {} functions were found", named.len());
    for line in named {
        check_diagram_line("ARCHITECTURE.md", line, &folders)?;
    }
    Ok(())
}

#[test]
fn every_owner_explains_its_parts_a_request_and_its_invariants() -> Result<()> {
    for owner in OWNERS {
        let folder = root().join(owner);
        let text = fs::read_to_string(folder.join("README.md"))?;
        for heading in ["# Parts\n", "# Invariants\n"] {
            assert!(text.contains(heading), "the README of {owner} lacks {heading:?}");
        }
        let named = diagram_lines(&text);
        assert!(named.len() >= 4, "the README of {owner} shows no way of a request");
        for line in named {
            check_diagram_line(owner, line, std::slice::from_ref(&folder))?;
        }
    }
    Ok(())
}
