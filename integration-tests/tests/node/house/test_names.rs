//! Names of tests are short sentences.

use anyhow::Result;
use reelyard_integration_tests::probes::python_text::python_text;

use super::words::words;
use super::{files_below, rust_files};

/// The largest number of words in the name of a test.
const LONGEST: usize = 12;

/// Whether a line is the attribute of a test: `#[test]`, `#[actix::test]`, or the like.
fn is_test_attribute(line: &str) -> bool {
    let Some(path) = line.trim().strip_prefix("#[") else { return false };
    let end =
        path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(path.len());
    path[..end].rsplit("::").next() == Some("test")
}

/// The name of the function that a line defines.
fn function(line: &str) -> Option<&str> {
    let rest =
        line.trim().trim_start_matches("pub ").trim_start_matches("async ").strip_prefix("fn ")?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// The names of the tests in a Rust file.
fn tests_of(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in text.lines() {
        is_test |= is_test_attribute(line);
        if let Some(name) = function(line) {
            if is_test {
                names.push(name);
            }
            is_test = false;
        }
    }
    names
}

#[test]
fn names_of_tests_are_short() -> Result<()> {
    let mut long = Vec::new();
    let mut seen = 0;
    for (file, text) in rust_files()? {
        for name in tests_of(&text) {
            seen += 1;
            if words(name).len() > LONGEST {
                long.push(format!("{file}: {name}"));
            }
        }
    }
    anyhow::ensure!(seen > 1500, "only {seen} tests were found");
    for (file, text) in
        files_below(&["src/clients"], |path| path.extension().is_some_and(|end| end == "py"))?
    {
        for (_, line) in python_text(&text).code {
            let code = line.trim().trim_start_matches("async ");
            let Some(name) = code.strip_prefix("def test_") else { continue };
            let name = name.split('(').next().unwrap_or_default();
            if words(name).len() > LONGEST {
                long.push(format!("{file}: {name}"));
            }
        }
    }
    assert!(long.is_empty(), "use at most {LONGEST} words:\n{}", long.join("\n"));
    Ok(())
}

#[test]
fn a_test_is_distinguished_from_other_functions() {
    let text = "#[test]\nfn one() {}\nfn helper() {}\n#[actix::test]\n/// Words.\n#[ignore]\npub async fn two() \
                {}\n#[proptest::property_test(config = c)]\nfn other() {}\n    #[tokio::test(flavor = \"x\")]\n    \
                async fn three() {}\n#[cfg(test)]\nfn no() {}\n";
    assert_eq!(tests_of(text), ["one", "two", "three"]);
}
