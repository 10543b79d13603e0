//! The dialog that adds hosts to the yard.

use reelyard_console::Viewer;
use reelyard_console::address::{ROOT, encoded};
use reelyard_console::pages::hosts::HostsPageQuery;
use reelyard_console::parts::act::{CommandLines, CurlCall};
use reelyard_console::parts::dialog::{AskDialog, AskField};
use reelyard_console::text::{outcomes, states};
use serde_json::json;

use crate::http::console::chosen;

/// The word of this dialog in addresses.
pub const ADD: &str = "add";
/// The field with the addresses of the hosts.
pub const ADDRESSES: &str = "addresses";
/// The field with their role.
pub const ROLE: &str = "as";

/// The dialog with what was typed, by the names of its fields.
pub fn new_hosts(viewer: &Viewer, typed: &dyn Fn(&str) -> String) -> AskDialog {
    let language = viewer.language;
    let (addresses, role) = (typed(ADDRESSES), typed(ROLE));
    let roles = [
        ("destination", states::DESTINATION),
        ("source", states::SOURCE),
        ("both", states::BOTH_ROLES),
    ];
    AskDialog {
        question: outcomes::ASK_ADD_HOSTS.of(language).to_owned(),
        consequence: outcomes::ASK_ADD_HOSTS_TEXT.of(language).to_owned(),
        things: 1,
        verb: outcomes::VERB_ADD_HOSTS.of(language).to_owned(),
        action: format!("{ROOT}/host-actions/{ADD}"),
        commands: lines(&addresses, &role),
        follow: Some(format!("{}?ask={ADD}&", HostsPageQuery::path())),
        fields: vec![
            AskField {
                label: outcomes::FIELD_HOSTS.of(language).to_owned(),
                name: ADDRESSES.to_owned(),
                value: addresses,
                is_needed: true,
                ..AskField::default()
            },
            AskField {
                label: outcomes::FIELD_HOST_ROLE.of(language).to_owned(),
                name: ROLE.to_owned(),
                value: role,
                choices: roles
                    .map(|(word, words)| (word.to_owned(), words.of(language).to_owned()))
                    .to_vec(),
                ..AskField::default()
            },
        ],
        reason_label: Some(outcomes::REASON.of(language).to_owned()),
        back: HostsPageQuery::path().to_owned(),
        ..AskDialog::default()
    }
}

/// The addresses in a field, without the commas and spaces between them.
pub fn separated(addresses: &str) -> impl Iterator<Item = &str> {
    let is_between = |letter: char| letter == ',' || letter.is_whitespace();
    addresses.split(is_between).filter(|address| !address.is_empty())
}

/// The same as lines of commands. `curl` makes one call for each host.
fn lines(addresses: &str, role: &str) -> CommandLines {
    let role = if role.is_empty() { "destination" } else { role };
    let typed: Vec<&str> = separated(addresses).collect();
    let hosts = if typed.is_empty() { vec!["10.0.0.21:8888"] } else { typed };
    let body = json!({ "role": role }).to_string();
    let call =
        |host: &&str| CurlCall::new("PUT", format!("/hosts/{}", encoded(host)), body.clone());
    let words = ["hosts", "add", "--role", role];
    chosen::command_lines(&hosts, &words, |host| (*host).to_owned(), call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_follow_the_addresses_and_the_role() {
        let lines = lines(" 10.0.0.1:8888,10.0.0.2:8888\n", "both");
        let words = ["hosts", "add", "--role", "both", "10.0.0.1:8888", "10.0.0.2:8888"];
        assert_eq!(lines.reelyard, [words]);
        let calls = lines.curl;
        assert!(
            calls.iter().all(|call| call.method == "PUT" && call.body == "{\"role\":\"both\"}")
        );
        let paths: Vec<&str> = calls.iter().map(|call| call.path.as_str()).collect();
        assert_eq!(paths, ["/hosts/10.0.0.1:8888", "/hosts/10.0.0.2:8888"]);
        assert_eq!(super::lines("", "").reelyard[0][3], "destination");
    }
}
