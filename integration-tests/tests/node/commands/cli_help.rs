//! The help of the command line, and exit codes as the help describes them.

use reelyard_integration_tests::rigs::binary::{ended, reelyard, run};

#[test]
fn the_version_is_printed() {
    let ended = run(&["--version"]);
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.out, format!("reelyard {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_subcommand_has_help() {
    let help = run(&["--help"]);
    assert_eq!(help.code, Some(0));
    for text in ["Examples:", "Exit codes:", "all faults are listed"] {
        assert!(help.out.contains(text), "{text} is not in:\n{}", help.out);
    }
    let mut paths: Vec<Vec<String>> = subcommands(&[]);
    assert!(paths.len() >= 5, "{}", help.out);
    while let Some(path) = paths.pop() {
        let arguments: Vec<&str> = path.iter().map(String::as_str).collect();
        let ended = run(&[&arguments[..], &["--help"]].concat());
        assert_eq!(ended.code, Some(0), "{path:?}: {}", ended.err);
        assert!(ended.out.contains("Usage: reelyard"), "{path:?}: {}", ended.out);
        paths.extend(subcommands(&arguments));
    }
}

/// The subcommands in the help of `path`, without `help`.
fn subcommands(path: &[&str]) -> Vec<Vec<String>> {
    let help = run(&[path, &["--help"]].concat()).out;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| !line.is_empty()).filter_map(|line| {
        // A continuation of the description above has a deeper indentation.
        line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?.split(' ').next()
    });
    let full = |name: &str| path.iter().chain([&name]).map(|part| (*part).to_owned()).collect();
    names.filter(|name| *name != "help").map(full).collect()
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    for arguments in [
        &["playn"][..],
        &["files", "--limit", "0"],
        &["tasks", "show", "seven"],
        &["tasks", "--state", "lost"],
        &["tasks", "cancel"],
        &["hosts", "--url", "ftp://127.0.0.1"],
        &["hosts", "--url", "ftp://127.0.0.1:8080"],
        &["config", "default", "nodes"],
    ] {
        let ended = run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.err);
        assert!(!ended.err.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_token_that_cannot_be_sent_is_not_repeated() {
    let ended = run(&["hosts", "--token", "open sesame"]);
    assert_eq!(ended.code, Some(2));
    assert!(!ended.err.contains("sesame"), "{}", ended.err);
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = ended(reelyard(&["config", "default", "node"]).stdout(writer));
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

#[test]
fn an_output_that_cannot_be_written_is_a_failure() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ended = ended(reelyard(&["config", "default", "node"]).stdout(full));
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("cannot write the output"), "{}", ended.err);
}
