//! Rules of the source code: one name per type, and a map with existing names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const ARCHITECTURE: &str = include_str!("../../../ARCHITECTURE.md");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All Rust files of the workspace, each with its path from the root.
fn rust_files() -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["src", "actors", "integration-tests"].map(|top| root().join(top)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(root())?.display().to_string();
                files.push((name, fs::read_to_string(&path)?));
            }
        }
    }
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

/// The paths in backticks of a text that begin with one of the top folders.
fn named_paths(text: &str) -> Vec<&str> {
    let code = text.split('`').skip(1).step_by(2);
    code.filter(|code| {
        let is_path = !code.contains(' ') && !code.contains('*');
        is_path
            && ["src", "actors/src", "integration-tests"].iter().any(|top| code.starts_with(top))
    })
    .collect()
}

#[test]
fn the_map_names_paths_that_exist() -> Result<()> {
    let prose: String = ARCHITECTURE.split("```").step_by(2).collect();
    let paths = named_paths(&prose);
    anyhow::ensure!(paths.len() > 40, "only {} paths were found", paths.len());
    for path in paths {
        assert!(root().join(path).exists(), "ARCHITECTURE.md names {path}, which does not exist");
    }
    Ok(())
}

#[test]
fn the_map_has_every_folder_of_the_system() -> Result<()> {
    for entry in fs::read_dir(root().join("actors/src"))? {
        let path = entry?.path();
        if path.is_dir() {
            let name = path.file_name().and_then(|name| name.to_str()).context("a name")?;
            let row = format!("| `actors/src/{name}` |");
            assert!(ARCHITECTURE.contains(&row), "ARCHITECTURE.md has no row for {name}");
        }
    }
    Ok(())
}

#[test]
fn the_lives_name_functions_that_exist() -> Result<()> {
    let mut seen = 0;
    for line in ARCHITECTURE.lines() {
        let mut words = line.split_whitespace();
        let (Some(file), Some(function)) = (words.next(), words.next()) else { continue };
        let (Some(function), true) = (function.strip_suffix("()"), file.ends_with(".rs")) else {
            continue;
        };
        seen += 1;
        let places = ["actors/src", "src"].map(|top| root().join(top).join(file));
        let path = places.iter().find(|path| path.exists());
        let path =
            path.with_context(|| format!("ARCHITECTURE.md names {file}, which is no file"))?;
        let text = fs::read_to_string(path)?;
        let definition = format!("fn {function}");
        let has = text
            .match_indices(&definition)
            .any(|(at, _)| text[at + definition.len()..].starts_with(['(', '<']));
        assert!(has, "ARCHITECTURE.md names {function} of {file}, which has no such function");
    }
    anyhow::ensure!(seen > 30, "only {seen} functions were found");
    Ok(())
}
