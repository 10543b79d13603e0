//! The guide and the README: plain sentences, valid links, existing commands and settings.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use reelyard::guide::{CHAPTERS, Chapter, GuideLanguage, anchors, chapter};
use reelyard_api::ProblemKind;
use reelyard_integration_tests::probes::code_blocks::{CodeBlock, calls, code_blocks};
use reelyard_integration_tests::probes::prose;
use reelyard_integration_tests::rigs::binary::run;
use reelyard_integration_tests::rigs::tls::certificate::Pem;

const README: &str = include_str!("../../../../README.md");

/// The largest number of lines of the README.
const README_LINES: usize = 150;

/// The names of the blocks that a test of `walks` runs.
const RUN: [&str; 20] = [
    "access",
    "prepare",
    "node",
    "workers",
    "look",
    "second destination",
    "copies",
    "simulate",
    "links",
    "store",
    "boxes",
    "boxes by curl",
    "box run",
    "cleaning worker",
    "overview",
    "output",
    "first of three",
    "invite",
    "other two",
    "cluster status",
];

/// The English texts, by file name.
fn english() -> Vec<(String, &'static str)> {
    let name = |chapter: &Chapter| format!("src/guide/{}.md", chapter.topic);
    let chapters = CHAPTERS.iter().map(|one| (name(one), one.text(GuideLanguage::English)));
    chapters.chain([("README.md".to_owned(), README)]).collect()
}

/// The Korean texts, by file name.
fn korean() -> Vec<(String, &'static str)> {
    let written =
        CHAPTERS.iter().filter(|one| one.language(GuideLanguage::Korean) == GuideLanguage::Korean);
    let name = |chapter: &Chapter| format!("src/guide/ko/{}.md", chapter.topic);
    written.map(|one| (name(one), one.text(GuideLanguage::Korean))).collect()
}

/// The blocks of all texts whose kind begins with this word, by file name.
fn blocks_of(word: &str) -> Vec<(String, CodeBlock<'static>)> {
    let of_text = |(file, text): (String, &'static str)| {
        code_blocks(text).into_iter().map(move |block| (file.clone(), block))
    };
    let all = english().into_iter().chain(korean()).flat_map(of_text);
    all.filter(|(_, block)| block.kind.split(' ').next() == Some(word)).collect()
}

#[test]
fn sentences_are_short_and_words_are_plain() {
    let faults: Vec<String> = english()
        .iter()
        .flat_map(|(file, text)| {
            let paragraphs = prose::of_markdown(text);
            let clauses = prose::clauses_as_subjects(&paragraphs);
            prose::faults(&paragraphs)
                .into_iter()
                .chain(clauses)
                .map(move |fault| format!("{file}:{fault}"))
        })
        .collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn the_readme_is_short_and_its_commands_match_the_guide() {
    assert!(README.lines().count() <= README_LINES, "{} lines", README.lines().count());
    let known: Vec<String> = CHAPTERS
        .iter()
        .flat_map(|one| code_blocks(one.text(GuideLanguage::English)))
        .flat_map(|block| block.commands())
        .collect();
    for block in code_blocks(README).iter().filter(|block| block.kind == "sh") {
        for command in block.commands() {
            assert!(known.contains(&command), "only the README has: {command}");
        }
    }
}

/// The addresses of the links in a text, without code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect();
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        found.extend(targets.map(|(target, _)| target.to_owned()));
    }
    found
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_exist() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut seen = 0;
    for (file, text) in english().into_iter().chain(korean()) {
        for link in links(text) {
            seen += 1;
            if link.starts_with("https://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let here = root.join(&file);
            let folder = here.parent().context("a folder")?;
            let target: PathBuf = if path.is_empty() { here.clone() } else { folder.join(path) };
            assert!(target.exists(), "{file}: {link}");
            // A page of the guide can link only to pages of the guide.
            let is_chapter = target.extension().is_some_and(|end| end == "md")
                && target.canonicalize()?.starts_with(root.join("src/guide").canonicalize()?);
            let is_picture = link.contains("pictures/") && link.ends_with(".png");
            assert!(is_chapter || is_picture || file == "README.md", "{file}: {link}");
            if !anchor.is_empty() {
                let there = anchors(&std::fs::read_to_string(&target)?);
                assert!(there.iter().any(|one| one == anchor), "{file}: {link}: {there:?}");
            }
        }
    }
    assert!(seen > 40, "{seen} links were found");
    Ok(())
}

#[test]
fn korean_chapters_have_the_commands_and_sections_of_the_english_ones() -> Result<()> {
    let all = korean();
    assert_eq!(all.len(), 8);
    for (file, text) in all {
        let topic =
            Path::new(&file).file_stem().and_then(|stem| stem.to_str()).context("a name")?;
        let english = chapter(topic)?.text(GuideLanguage::English);
        let commands = |text| {
            let blocks = code_blocks(text).into_iter();
            blocks.map(|block| (block.kind, block.walk, block.commands())).collect::<Vec<_>>()
        };
        assert_eq!(commands(text), commands(english), "{file}");
        let levels = |text: &str| {
            let lines = prose::of_markdown(text).into_iter().map(|one| one.line);
            let first = |line: usize| text.lines().nth(line - 1).unwrap_or_default();
            let marks = lines.map(|line| first(line).chars().take_while(|c| *c == '#').count());
            marks.filter(|level| *level > 0).collect::<Vec<_>>()
        };
        assert_eq!(levels(text), levels(english), "{file}");
        let rows = |text| prose::of_markdown(text).into_iter().filter(|one| one.is_row).count();
        assert_eq!(rows(text), rows(english), "{file}: rows of tables");
    }
    Ok(())
}

#[test]
fn every_walk_has_a_test_that_runs_it() {
    let mut marked: Vec<&str> = CHAPTERS
        .iter()
        .flat_map(|one| code_blocks(one.text(GuideLanguage::English)))
        .filter_map(|block| block.walk)
        .filter(|walk| *walk != "guide")
        .collect();
    let mut run = RUN.to_vec();
    marked.sort_unstable();
    run.sort_unstable();
    assert_eq!(marked, run);
}

#[test]
fn every_command_is_one_that_the_program_knows() {
    let command = reelyard::cli::command();
    let subcommands: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let mut seen = 0;
    for (file, block) in blocks_of("sh").into_iter().filter(|(_, block)| block.walk.is_none()) {
        for line in block.commands() {
            for call in calls(&line, &subcommands) {
                seen += 1;
                let read = command.clone().try_get_matches_from(&call);
                let asks_version = call.iter().any(|word| word == "--version");
                assert!(read.is_ok() || asks_version, "{file}: {line}: {}", read.unwrap_err());
            }
        }
    }
    assert!(seen > 30, "{seen} calls were found");
    let listed = chapter("command-line").map(|one| one.text(GuideLanguage::English)).unwrap();
    for name in subcommands {
        assert!(listed.contains(&format!("`reelyard {name}`")), "no row for {name}");
    }
}

#[test]
fn the_chapter_on_the_api_lists_every_call_for_people() -> Result<()> {
    let document: serde_json::Value = serde_json::from_str(reelyard::http::api::document())?;
    let listed = chapter("api")?.text(GuideLanguage::English);
    let paths = document["paths"].as_object().context("paths")?.keys();
    let paths = paths.filter_map(|path| path.strip_prefix("/api/v1"));
    let mut seen = 0;
    for path in paths.filter(|path| !path.starts_with("/workers/")) {
        seen += 1;
        let ends = ["`", "?", " "].map(|end| format!("{path}{end}"));
        assert!(ends.iter().any(|whole| listed.contains(whole)), "{path} is not in api.md");
    }
    assert!(seen > 30, "{seen} paths were found");
    Ok(())
}

/// The words in the second column of each table row that begins with a status.
fn problems_of(text: &str) -> Vec<(u16, &str)> {
    let mut problems = Vec::new();
    for row in text.lines().filter_map(|line| line.strip_prefix("| ")) {
        let mut cells = row.split(" | ");
        let Some(Ok(status)) = cells.next().map(str::parse) else { continue };
        let words = cells.next().unwrap_or_default().split('`').skip(1).step_by(2);
        problems.extend(words.map(|word| (status, word)));
    }
    problems
}

#[test]
fn the_chapter_on_the_api_has_the_table_of_problems() -> Result<()> {
    let mut table = "| Status | Problem | Meaning |\n|---|---|---|\n".to_owned();
    for kind in ProblemKind::ALL {
        let (status, word, advice) = (kind.status(), kind.word(), kind.advice());
        table.push_str(&format!("| {status} | `{word}` | {advice}. |\n"));
    }
    let listed = chapter("api")?.text(GuideLanguage::English);
    assert!(listed.contains(&table), "src/guide/api.md needs this table:\n{table}");
    Ok(())
}

#[test]
fn the_chapter_on_boxes_names_problems_that_exist() -> Result<()> {
    let named = problems_of(chapter("boxes")?.text(GuideLanguage::English));
    assert!(named.len() > 20, "{named:?}");
    for (status, word) in named {
        let known = ProblemKind::ALL.iter().find(|kind| kind.word() == word);
        assert_eq!(known.map(|kind| kind.status()), Some(status), "{word}");
    }
    Ok(())
}

#[test]
fn every_configuration_is_one_that_a_role_starts_with() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let etc = dir.path().display().to_string();
    Pem::make(dir.path(), "share");
    for name in ["yard.example", "10.0.0.21", "ca"] {
        Pem::make(dir.path(), name);
    }
    std::fs::write(dir.path().join("token"), "a-long-random-text")?;
    std::fs::write(dir.path().join("billing"), "a-long-random-text")?;
    let file = dir.path().join("config.toml");
    let mut seen = 0;
    for (name, block) in blocks_of("toml") {
        seen += 1;
        let role = block.kind.split(' ').nth(1).unwrap_or("node");
        std::fs::write(&file, block.code.replace("/etc/reelyard", &etc))?;
        let path = file.display().to_string();
        let mut arguments = vec!["config", "check", role, "--config", &path];
        if role == "worker" {
            arguments.extend(["--set", "listen=127.0.0.1:8888", "--set", "source_dirs=/"]);
        } else {
            arguments.extend(["--set", "hosts.sources=[\"127.0.0.11:8888\"]"]);
            arguments.extend(["--set", "hosts.destinations=[\"10.0.0.21:8888\"]"]);
        }
        let checked = run(&arguments);
        assert_eq!(checked.code, Some(0), "{name}:\n{}\n{}", block.code, checked.err);
    }
    assert!(seen >= 8, "{seen} configurations were found");
    Ok(())
}
