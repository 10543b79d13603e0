//! The constants that `apply` uses are part of the version of the events, because every replay of a log must
//! give the same piece.

use std::collections::BTreeSet;

use anyhow::Result;

use super::{OWNERS, production_code, rust_files};

/// The comment of a constant or function that `apply` uses.
const MARK: &str = "Part of the event version.";

/// The comment of any other constant in the room `state`.
const OTHER: &str = "No event depends on it.";

/// The marked constants. A value never changes: a new event carries the other value, and `apply` keeps this
/// one for the events of earlier versions.
const KEPT: [&str; 33] = [
    "DOWNLOAD_REMEMBERED_FOR = Duration::from_secs(60)",
    "LARGEST_POOL = 65_536",
    "LONGEST_ACCESS_NAME = 64",
    "LONGEST_AGEING = Duration::from_secs(24 * 60 * 60)",
    "LONGEST_HASH = 256",
    "LONGEST_HOLDER = 200",
    "LONGEST_LABEL = 200",
    "LONGEST_NAME = 255",
    "LONGEST_NAME = 64",
    "LONGEST_NOTE = 2000",
    "LONGEST_OUTPUT = 1024",
    "LONGEST_OWNER = 200",
    "LONGEST_PASSWORD_HASH = 512",
    "LONGEST_PATH = 4096",
    "LONGEST_REASON = 500",
    "LONGEST_REASON_OF_CHANGE = 2_000",
    "LONGEST_ROOT = 64",
    "LONGEST_TEXT = 1_000_000",
    "MOST_KEPT_BYTES = 4_000_000",
    "MOST_LABELS = 32",
    "MOST_LOGIN_LINKS = 100",
    "MOST_MOVES = 32",
    "MOST_RANGES = 16",
    "MOST_SCOPES = 64",
    "MOST_SESSIONS = 20_000",
    "MOST_SESSIONS_OF_ONE = 100",
    "MOST_SLOTS = 1_000_000",
    "MOST_TAKERS = 10_000",
    "MOST_TOKENS = 10_000",
    "MOST_USERS = 10_000",
    "MOST_VERSIONS = 100",
    "REMEMBERED_FOR = Duration::from_secs(15 * 60)",
    "SHORTEST_TIME = Duration::from_millis(1)",
];

/// Functions of the room `state` with numbers on which no event depends. They read or make texts, order shares in
/// memory, propose when old rows go, or fill in values that a client leaves out.
const WITH_NUMBERS: [(&str, &str); 9] = [
    ("actors/boxes/src/box_lease/state/pools/spec.rs", "of"),
    ("actors/shares/src/share_expiry/state/event.rs", "whole_seconds"),
    ("actors/shares/src/share_expiry/state/table/order.rs", "at"),
    ("actors/shares/src/share_expiry/state/table/order.rs", "id"),
    ("actors/shares/src/share_expiry/state/table/shards.rs", "hash"),
    ("actors/shares/src/share_expiry/state/table/shards.rs", "place"),
    ("actors/shares/src/share_expiry/state/values/root_id.rs", "from_str"),
    ("actors/yard/src/remover/state/reason.rs", "per_day"),
    ("actors/yard/src/task_manager/state/copy_history.rs", "history_to_forget"),
];

/// A constant outside of functions and blocks.
#[derive(Debug, PartialEq, Eq)]
struct DocumentedConstant {
    comment: String,
    name: String,
    value: String,
}

fn constants(text: &str) -> Vec<DocumentedConstant> {
    let (mut constants, mut comment) = (Vec::new(), String::new());
    for line in text.lines() {
        if let Some(part) = line.strip_prefix("///") {
            comment.push_str(part);
            continue;
        }
        let is_item = line.starts_with("const ") || line.starts_with("pub");
        let definition = line.split_once("const ").filter(|_| is_item).map(|(_, rest)| rest);
        let parts =
            definition.and_then(|rest| Some((rest.split_once(':')?.0, rest.split_once(" = ")?.1)));
        let comment = std::mem::take(&mut comment);
        if let Some((name, value)) = parts {
            let (name, value) = (name.to_owned(), value.trim_end_matches(';').to_owned());
            constants.push(DocumentedConstant { comment, name, value });
        }
    }
    constants
}

#[test]
fn constants_of_apply_keep_their_values() -> Result<()> {
    let mut marked: Vec<String> = Vec::new();
    for (_, text) in rust_files()? {
        let constants = constants(&text).into_iter().filter(|one| one.comment.contains(MARK));
        marked.extend(constants.map(|one| format!("{} = {}", one.name, one.value)));
    }
    marked.sort();
    assert_eq!(marked, KEPT, "a new event carries another value: see CONTRIBUTING.md");
    Ok(())
}

/// Ends of the files of stored forms, and of tests.
const FORMATS: [&str; 6] =
    ["snapshot.rs", "stored.rs", "event_v1.rs", "event_v2.rs", "_tests.rs", "stored_shapes/mod.rs"];

/// The files of the rooms `state`, without those of stored forms.
fn files_of_state() -> Result<Vec<(String, String)>> {
    let mut files = rust_files()?;
    files.retain(|(file, _)| {
        let in_state = OWNERS.iter().any(|owner| file.starts_with(&format!("{owner}/state/")));
        let is_format = FORMATS.iter().any(|end| file.ends_with(end));
        in_state && !is_format
    });
    Ok(files)
}

/// The functions whose code has a duration, or a number of at least two digits.
fn functions_with_numbers(code: &str) -> BTreeSet<&str> {
    let (mut found, mut function) = (BTreeSet::new(), "");
    for line in code.lines() {
        if let Some((_, rest)) = line.split_once("fn ") {
            function = rest.split(['(', '<']).next().unwrap_or_default();
        }
        let is_constant = !line.starts_with(' ') && line.contains("const ");
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        // Without the texts in it.
        let mut parts = line.split('"').step_by(2);
        let is_long = parts.any(|part| {
            let mut numbers = part
                .split(|c| !is_word(c))
                .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
            numbers.any(|word| word.chars().filter(char::is_ascii_digit).count() > 1)
        });
        if !is_constant && (is_long || line.contains("Duration::from_")) {
            found.insert(function);
        }
    }
    found
}

#[test]
fn numbers_in_functions_of_state_are_constants() -> Result<()> {
    let (files, mut found) = (files_of_state()?, BTreeSet::new());
    for (file, text) in &files {
        let code = production_code(text);
        for function in functions_with_numbers(&code) {
            found.insert((file.as_str(), function.to_owned()));
        }
    }
    let named = WITH_NUMBERS.map(|(file, function)| (file, function.to_owned()));
    assert_eq!(
        found,
        BTreeSet::from(named),
        "make it a constant, and say that events depend on it"
    );
    Ok(())
}

#[test]
fn each_constant_of_state_says_whether_events_depend_on_it() -> Result<()> {
    let mut seen = 0;
    for (file, text) in files_of_state()? {
        for DocumentedConstant { comment, name, .. } in constants(&text) {
            seen += 1;
            assert!(
                comment.contains(MARK) != comment.contains(OTHER),
                "{file}: the comment of {name} ends with \"{MARK}\" or \"{OTHER}\""
            );
        }
    }
    anyhow::ensure!(seen > 15, "only {seen} constants were found");
    Ok(())
}

#[test]
fn a_constant_is_read_with_its_comment() {
    let text = "/// One. Part\n/// of it.\npub(in crate::a) const MOST: usize = 1_000;\n\n    const IN: u8 = 1;\n\
                const OTHER: u8 = 2;\npub fn f() {}\n";
    let [most, other] = &constants(text)[..] else { panic!("{:?}", constants(text)) };
    assert_eq!((most.comment.as_str(), most.value.as_str()), (" One. Part of it.", "1_000"));
    assert_eq!((most.name.as_str(), other.name.as_str()), ("MOST", "OTHER"));
    assert_eq!(other.comment, "");
}

#[test]
fn a_function_is_found_by_its_numbers() {
    let code = "const A: u64 = 1_000;\nfn none() -> u64 {\n    A * 2\n}\nfn long<T>() {\n    f(32)\n}\nfn text() {\n    f(\"4096\")\n}\n\
                fn span() {\n    Duration::from_secs(1)\n}\n";
    assert_eq!(functions_with_numbers(code), BTreeSet::from(["long", "span"]));
}
