//! Texts outside the guide are in plain English, too: help, settings, the API, and the Python client.

use std::fmt::Write;
use std::path::Path;

use clap::Command;
use reelyard::config::{NodeConfig, WorkerConfig, example};
use reelyard_integration_tests::probes::prose::{self, Paragraph};
use reelyard_integration_tests::probes::python_text::python_text;

/// Fails with the faults of `texts`, each with the name of its text.
fn assert_plain(texts: Vec<(String, Vec<Paragraph>)>) {
    let mut faults = String::new();
    for (name, paragraphs) in &texts {
        let clauses = prose::clauses_as_subjects(paragraphs);
        for fault in prose::faults(paragraphs).into_iter().chain(clauses) {
            let _ = writeln!(faults, "{name}:{fault}");
        }
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(texts.len() > 5, "only {} texts were found", texts.len());
}

/// Adds the help of `command` and of all its subcommands.
fn collect_help(path: &str, command: &Command, texts: &mut Vec<(String, Vec<Paragraph>)>) {
    let path = format!("{path} {}", command.get_name());
    for text in [command.get_about(), command.get_long_about()].into_iter().flatten() {
        texts.push((path.clone(), prose::of_markdown(&text.to_string())));
    }
    if let Some(after) = command.get_after_help() {
        texts.push((path.clone(), prose::of_help(&after.to_string())));
    }
    for argument in command.get_arguments() {
        if let Some(help) = argument.get_help() {
            let name = format!("{path} {}", argument.get_id());
            texts.push((name, prose::of_markdown(&help.to_string())));
        }
    }
    for below in command.get_subcommands() {
        collect_help(&path, below, texts);
    }
}

#[test]
fn help_is_plain() {
    let mut texts = Vec::new();
    collect_help("", &reelyard::cli::command(), &mut texts);
    assert_plain(texts);
}

#[test]
fn comments_of_settings_are_plain() {
    let mut texts = Vec::new();
    for (role, file) in [("node", example::<NodeConfig>()), ("worker", example::<WorkerConfig>())] {
        for paragraph in prose::of_comments(&file) {
            texts.push((format!("{role}.toml"), vec![paragraph]));
        }
    }
    assert_plain(texts);
}

/// Adds the summaries and descriptions of a document and of all its parts.
fn collect_descriptions(
    path: &str,
    part: &serde_json::Value,
    texts: &mut Vec<(String, Vec<Paragraph>)>,
) {
    if let Some(members) = part.as_object() {
        for (name, member) in members {
            let path = format!("{path}/{name}");
            match member.as_str() {
                Some(text) if name == "summary" || name == "description" => {
                    texts.push((path, prose::of_markdown(text)));
                }
                _ => collect_descriptions(&path, member, texts),
            }
        }
    }
    for (at, item) in part.as_array().into_iter().flatten().enumerate() {
        collect_descriptions(&format!("{path}/{at}"), item, texts);
    }
}

#[test]
fn the_api_document_is_plain() {
    let ended = reelyard_integration_tests::rigs::binary::run(&["openapi"]);
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let mut texts = Vec::new();
    collect_descriptions("", &document, &mut texts);
    assert!(texts.len() > 1500, "only {} texts were found", texts.len());
    assert_plain(texts);
}

#[test]
fn documents_of_the_sources_are_plain() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"] {
        files.push(root.join(name));
    }
    let mut folders = vec![root.join("actors")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                files.push(path);
            }
        }
    }
    let mut texts = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        texts.push((file.display().to_string(), prose::of_markdown(&text)));
    }
    assert!(texts.len() > 15, "only {} documents were found", texts.len());
    assert_plain(texts);
}

#[test]
fn the_python_client_is_plain() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/clients/python");
    let mut texts = Vec::new();
    for folder in ["", "src/reelyard_boxes", "tests"] {
        for entry in std::fs::read_dir(package.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.display().to_string();
            let Some(end) = path.extension() else { continue };
            if end == "md" {
                let text = std::fs::read_to_string(&path).unwrap();
                texts.push((name, prose::of_markdown(&text)));
            } else if end == "py" {
                let mut parts = python_text(&std::fs::read_to_string(&path).unwrap());
                // Errors and log messages are within the code.
                for (line, text) in parts.code {
                    parts.paragraphs.push(Paragraph { line, text, is_row: true });
                }
                texts.push((name, parts.paragraphs));
            }
        }
    }
    let sentences = texts.iter().flat_map(|(_, paragraphs)| paragraphs).filter(|one| !one.is_row);
    assert!(sentences.count() > 150);
    assert_plain(texts);
}
