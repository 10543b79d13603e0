//! Each command that a page shows is one of the command line, and each call of `curl` is one of the API.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::console_yard::{ConsoleYard, Visit};

/// A word that no line has: it ends the words of a line.
const END: &str = "\u{1}";

/// The text of an attribute in a document.
fn plain(attribute: &str) -> String {
    let text = attribute.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&amp;", "&")
}

/// The values of an attribute in a document.
pub fn values(document: &str, attribute: &str) -> Vec<String> {
    let start = format!(" {attribute}=\"");
    let found = document.split(start.as_str()).skip(1);
    found.filter_map(|rest| rest.split('"').next()).map(plain).collect()
}

/// The words of lines, as a shell reads them.
fn words(lines: &BTreeSet<String>) -> Result<Vec<Vec<String>>> {
    let mut script = String::new();
    for line in lines {
        script.push_str(&format!("printf '%s\\0' {line} {END}\n"));
    }
    let output = Command::new("bash").args(["-c", &script]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all = String::from_utf8(output.stdout)?;
    let mut read = vec![Vec::new()];
    for word in all.split_terminator('\0') {
        match (word == END, read.last_mut()) {
            (false, Some(line)) => line.push(word.to_owned()),
            _ => read.push(Vec::new()),
        }
    }
    read.pop();
    ensure!(read.len() == lines.len(), "{} lines, {} read", lines.len(), read.len());
    Ok(read)
}

/// Whether a path has the form of a path of the API.
fn has_form(path: &str, form: &str) -> bool {
    let (parts, forms): (Vec<&str>, Vec<&str>) =
        (path.split('/').collect(), form.split('/').collect());
    let is_part =
        |(part, form): (&&str, &&str)| form.starts_with('{') && !part.is_empty() || part == form;
    parts.len() == forms.len() && parts.iter().zip(&forms).all(is_part)
}

/// Checks that a line of `curl` is a call of the API, with parameters of its query that the call has.
fn check_call(line: &[String], document: &Value) -> Result<()> {
    let method = line.iter().position(|word| word == "-X").and_then(|at| line.get(at + 1));
    let method = method.map_or("get".to_owned(), |method| method.to_lowercase());
    let url = line.last().context("no URL")?;
    let begin = url.find("/api/v1").with_context(|| format!("{line:?}"))?;
    let target = &url[begin..];
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let paths = document["paths"].as_object().context("no paths")?;
    // A fixed part goes before a parameter: "/sessions/current".
    let mut forms: Vec<_> = paths.iter().filter(|(form, _)| has_form(path, form)).collect();
    forms.sort_by_key(|(form, _)| form.matches('{').count());
    let (_, calls) = forms.first().with_context(|| format!("no path of the API: {line:?}"))?;
    let call = &calls[&method];
    ensure!(call.is_object(), "no call of the API: {line:?}");
    let known: Vec<&str> = call["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| one["name"].as_str())
        .collect();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let name = pair.split('=').next().unwrap_or_default();
        ensure!(known.contains(&name), "the call has no parameter {name}: {line:?}");
    }
    let has_body = line.iter().any(|word| word == "--json");
    let takes_body = call["requestBody"].is_object();
    ensure!(!has_body || takes_body, "the call has no body: {line:?}");
    Ok(())
}

impl ConsoleYard {
    /// Checks all lines on these pages, and on the pages of all dialogs that they lead to. Returns the number of lines.
    pub fn check_shown_lines(&self, visit: &Visit, pages: &[String]) -> Result<usize> {
        let mut lines = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut rest = pages.to_vec();
        while let Some(path) = rest.pop() {
            if !seen.insert(path.clone()) {
                continue;
            }
            let page = self.page(visit, &path)?;
            let shown: Vec<String> = values(&page, "data-copy");
            let is_dialog = path.contains("ask=");
            ensure!(!is_dialog || !shown.is_empty(), "{path} shows no lines");
            lines.extend(shown);
            if !is_dialog {
                rest.extend(values(&page, "href").into_iter().filter(|link| link.contains("ask=")));
            }
        }
        let of = |word: &str| -> Result<Vec<Vec<String>>> {
            let begin = format!("{word} ");
            words(&lines.iter().filter(|line| line.starts_with(&begin)).cloned().collect())
        };
        let (commands, calls) = (of("reelyard")?, of("curl")?);
        for command in &commands {
            let read = reelyard::cli::command().try_get_matches_from(command);
            ensure!(read.is_ok(), "{command:?}: {}", read.err().context("no error")?);
        }
        let document = self.curl(&["-H", &self.ground.bearer(), "/api/v1/openapi.json"])?.body;
        let document = serde_json::from_str(&document)?;
        calls.iter().try_for_each(|call| check_call(call, &document))?;
        Ok(commands.len() + calls.len())
    }
}

#[test]
fn a_wrong_call_is_noticed() {
    let document = serde_json::json!({ "paths": { "/api/v1/hosts/{host}": {
        "get": { "parameters": [{ "name": "q" }] }, "put": { "requestBody": {} },
    } } });
    let check = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        check_call(&words, &document).is_ok()
    };
    assert!(check("curl http://n/api/v1/hosts/a?q=1"));
    assert!(check("curl -X PUT --json {} http://n/api/v1/hosts/a"));
    for wrong in [
        "curl http://n/api/v1/hosts/a?z=1",
        "curl http://n/api/v1/hosts",
        "curl http://n/api/v1/hosts/",
        "curl -X DELETE http://n/api/v1/hosts/a",
        "curl --json {} http://n/api/v1/hosts/a",
    ] {
        assert!(!check(wrong), "{wrong}");
    }
}
