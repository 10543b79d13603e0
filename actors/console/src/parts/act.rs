//! Actions: buttons that post forms, and commands to copy.

use maud::{Markup, html};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::icon::{Glyph, icon};
use crate::address::QueryPairs;
use crate::format::{count, visible_text};
use crate::text::{Language, common};
use crate::viewer::Viewer;

/// The id of the form that buttons outside of a form send. `frame` writes it once a page.
pub const ACT_FORM: &str = "act";

/// The header with the reason of a call, as `curl` writes it.
const REASON_HEADER: &str = "Reelyard-Reason";

/// The characters of a reason that are encoded in the header, besides those that are not ASCII.
const IN_HEADER: &AsciiSet = &CONTROLS.add(b'%');

/// The id of the command lines that follow the fields of a form.
pub const FOLLOWED: &str = "commands";

/// The words after `reelyard` that create a pool of boxes, for pages without one.
pub const CREATE_POOL: [&str; 6] = ["box", "pools", "put", "judges", "--size", "32"];

/// The hidden form of all single actions: the token against forged forms, and the way back.
pub fn act_form(viewer: &Viewer, back: &str) -> Markup {
    html! {
        form #(ACT_FORM) method="post" hidden {
            input type="hidden" name="csrf_token" value=(viewer.csrf);
            input type="hidden" name="back" value=(back);
        }
    }
}

/// A button that posts to an address at once.
pub fn post_button(address: &str, class: &str, content: Markup) -> Markup {
    html! {
        button class=(class) type="submit" form=(ACT_FORM) formaction=(address) { (content) }
    }
}

/// A button with a symbol only, which posts to an address at once.
pub fn post_icon(address: &str, glyph: Glyph, label: &str) -> Markup {
    html! {
        button.ib type="submit" form=(ACT_FORM) formaction=(address) aria-label=(label) title=(label) {
            (icon(glyph))
        }
    }
}

/// A link beside a button that acts at once, to the dialog of the same action with its command lines. A row has no
/// lines of its own, so that it stays small. A narrow table leaves the link out: there the dialog of picked rows has the
/// lines.
pub fn as_command(viewer: &Viewer, action: &str, dialog: &str) -> Markup {
    let label = common::AS_COMMAND_OF.fill(viewer.language, &[("action", action)]);
    html! { a.ib.lines href=(dialog) aria-label=(label) title=(label) { (icon(Glyph::Terminal)) } }
}

/// A command with its button that copies it. Without script only the text stands there.
pub fn command(language: Language, line: &str) -> Markup {
    let label = common::COPY_COMMAND.fill(language, &[("command", line)]);
    html! {
        div.cmd {
            code tabindex="0" { (line) }
            button.ib.js-only type="button" data-copy=(line) aria-label=(label) { (icon(Glyph::Copy)) }
        }
    }
}

/// A command of `reelyard` that calls this node, with its button that copies it. The words stand after `reelyard`.
pub fn reelyard_command(viewer: &Viewer, words: &[&str]) -> Markup {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    command(viewer.language, &reelyard_line(viewer, &words, false))
}

/// A part of a command line, quoted for a shell where it needs quotes.
pub fn shell_quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._/:=@%+,".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    if visible_text(text) != text {
        let mut quoted = String::from("$'");
        for letter in text.chars() {
            match letter {
                '\'' | '\\' => quoted.extend(['\\', letter]),
                hidden if visible_text(hidden.encode_utf8(&mut [0; 4])) != String::from(hidden) => {
                    let mut bytes = [0; 4];
                    for byte in hidden.encode_utf8(&mut bytes).bytes() {
                        quoted.push_str(&format!("\\x{byte:02x}"));
                    }
                }
                other => quoted.push(other),
            }
        }
        quoted.push('\'');
        return quoted;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The lines that do the same as a button: those of `reelyard`, and those of `curl`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLines {
    /// The arguments after `reelyard` of each line, unquoted.
    pub reelyard: Vec<Vec<String>>,
    /// The same calls of the API.
    pub curl: Vec<CurlCall>,
    /// Things that the button is for. 0 if all lines are for all of them.
    pub things: usize,
    /// Things that the lines of `reelyard` are for, the first ones.
    pub in_reelyard: usize,
    /// Things that the lines of `curl` are for, the first ones.
    pub in_curl: usize,
    /// The lines of `reelyard` read files of their own host, and call no node.
    pub is_local: bool,
}

impl CommandLines {
    /// The words after `reelyard`, and the same call: its method, its path and its body in JSON.
    pub fn new(words: &[&str], (method, path, body): (&str, &str, &str)) -> Self {
        CommandLines {
            curl: vec![CurlCall::new(method, path.to_owned(), body.to_owned())],
            ..CommandLines::of_words(words)
        }
    }

    /// The words after `reelyard`, without a call.
    pub fn of_words(words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        CommandLines { reelyard: vec![words], ..CommandLines::default() }
    }

    /// The same lines with this reason for the audit, if it is not empty.
    pub fn with_reason(mut self, reason: &str) -> Self {
        if reason.is_empty() {
            return self;
        }
        for words in &mut self.reelyard {
            *words = with_options(words, &[format!("--reason={reason}")]);
        }
        for call in &mut self.curl {
            call.reason = reason.to_owned();
        }
        self
    }
}

/// The words of a command with further options. Behind `--` are no options.
fn with_options(words: &[String], options: &[String]) -> Vec<String> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    [&words[..end], options, &words[end..]].concat()
}

/// Names as the last arguments of a command. They stand behind `--` if one of them would be read as an option.
pub fn name_arguments(names: Vec<String>) -> Vec<String> {
    let has_dash = names.iter().any(|name| name.starts_with('-'));
    let dashes = has_dash.then(|| "--".to_owned());
    dashes.into_iter().chain(names).collect()
}

/// The lines that show the rows of a list. Each filter is an option of the command and a parameter of the call.
pub fn list_lines(list: &str, filters: &[(&str, String)]) -> CommandLines {
    list_lines_at(&[list], &format!("/{list}"), filters, None)
}

/// The same for a list whose command has several words, or whose call has another path. The option of `flag` has no
/// value.
pub fn list_lines_at(
    command: &[&str],
    path: &str,
    filters: &[(&str, String)],
    flag: Option<&str>,
) -> CommandLines {
    let mut words: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    let mut pairs = QueryPairs::default();
    for (name, value) in filters {
        words.push(format!("--{}={value}", name.replace('_', "-")));
        pairs.add(name, value.clone());
    }
    if let Some(flag) = flag {
        words.push(format!("--{flag}"));
        pairs.add(flag, "true".to_owned());
    }
    let mark = if pairs.pairs().is_empty() { "" } else { "?" };
    let path = format!("{path}{mark}{}", pairs.print());
    CommandLines {
        reelyard: vec![words],
        curl: vec![CurlCall::new("GET", path, String::new())],
        ..CommandLines::default()
    }
}

/// A menu with the lines of commands that show the same as the page. Without lines it says that the filter has none.
pub fn command_menu(viewer: &Viewer, commands: &[CommandLines]) -> Markup {
    html! {
        details.menu.end {
            summary.btn { (icon(Glyph::Terminal)) (common::AS_COMMAND.of(viewer.language)) }
            ul {
                @for lines in commands { li.says { (command_lines(viewer, lines)) } }
                @if commands.is_empty() { li.says { (common::NO_COMMAND.of(viewer.language)) } }
            }
        }
    }
}

/// A call of the API as `curl` makes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CurlCall {
    /// Method, such as `POST`.
    pub method: String,
    /// Path below `/api/v1`, already encoded.
    pub path: String,
    /// Body in JSON, empty for none.
    pub body: String,
    /// Reason for the audit, empty for none.
    pub reason: String,
}

impl CurlCall {
    /// A call without a reason.
    pub fn new(method: &str, path: String, body: String) -> Self {
        CurlCall { method: method.to_owned(), path, body, reason: String::new() }
    }
}

/// All lines with their buttons. Below lines that are for the first things only, it says for how many.
pub fn command_lines(viewer: &Viewer, lines: &CommandLines) -> Markup {
    let language = viewer.language;
    let left_out = |named: usize| {
        let (n, all) = (count(named as u64), count(lines.things as u64));
        common::LINES_OF_FIRST.fill(language, &[("n", &n), ("all", &all)])
    };
    html! {
        @for words in &lines.reelyard { (command(language, &reelyard_line(viewer, words, lines.is_local))) }
        @if lines.in_reelyard < lines.things { p.muted { (left_out(lines.in_reelyard)) } }
        @for call in &lines.curl { (command(language, &curl_line(viewer, call))) }
        @if lines.in_curl < lines.things { p.muted { (left_out(lines.in_curl)) } }
    }
}

/// The line names the node, so that it needs no context on the host where it is pasted.
fn reelyard_line(viewer: &Viewer, words: &[String], is_local: bool) -> String {
    let is_clear = is_local || viewer.origin.is_empty();
    let url = if is_clear { vec![] } else { vec!["--url".to_owned(), viewer.origin.clone()] };
    let words = with_options(words, &url);
    let words: Vec<String> = words.iter().map(|word| shell_quoted(word)).collect();
    format!("reelyard {}", words.join(" "))
}

/// The lines of a form whose fields they follow. The script asks for the element again after a field was changed.
pub fn followed_lines(viewer: &Viewer, lines: &CommandLines) -> Markup {
    html! { div #(FOLLOWED) { (command_lines(viewer, lines)) } }
}

/// The token is in the environment, where the commands of `reelyard` read it too.
fn curl_line(viewer: &Viewer, call: &CurlCall) -> String {
    let mut line = "curl".to_owned();
    if call.method != "GET" {
        line.push_str(&format!(" -X {}", call.method));
    }
    // A node without logins has no users.
    if !viewer.user.is_empty() {
        line.push_str(" -H \"Authorization: Bearer $REELYARD_TOKEN\"");
    }
    if !call.reason.is_empty() {
        let reason = utf8_percent_encode(&call.reason, IN_HEADER);
        line.push_str(&format!(" -H {}", shell_quoted(&format!("{REASON_HEADER}: {reason}"))));
    }
    if !call.body.is_empty() {
        line.push_str(&format!(" --json {}", shell_quoted(&call.body)));
    }
    format!("{line} {}", shell_quoted(&format!("{}/api/v1{}", viewer.origin, call.path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::viewer::Moment;

    #[test]
    fn a_name_is_one_word_of_the_shell() {
        assert_eq!(shell_quoted("a.mpg"), "a.mpg");
        assert_eq!(shell_quoted("opening night.mpg"), "'opening night.mpg'");
        assert_eq!(shell_quoted("it's $(rm -rf) `x`"), "'it'\\''s $(rm -rf) `x`'");
        assert_eq!(shell_quoted("a\nb'"), "$'a\\x0ab\\''");
        assert_eq!(shell_quoted("--host"), "--host", "an option stays readable");
        assert_eq!(shell_quoted(""), "''");
    }

    #[test]
    fn a_reason_is_an_option_and_a_header() {
        let lines = |words: &[&str]| CommandLines::new(words, ("POST", "/x", ""));
        let words =
            |words: &[&str], reason: &str| lines(words).with_reason(reason).reelyard.concat();
        assert_eq!(words(&["tasks", "retry", "7"], "a b"), ["tasks", "retry", "7", "--reason=a b"]);
        assert_eq!(words(&["share", "--", "-x"], "a"), ["share", "--reason=a", "--", "-x"]);
        assert_eq!(words(&["tasks"], ""), ["tasks"]);
        assert_eq!(lines(&[]).with_reason("a").curl[0].reason, "a");
    }

    #[test]
    fn a_line_of_reelyard_names_its_node() {
        let zone = jiff::tz::TimeZone::UTC;
        let mut viewer = Viewer::without_session(Language::English, zone, Moment(0));
        let line = |viewer: &Viewer, words: &[&str], is_local: bool| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            reelyard_line(viewer, &words, is_local)
        };
        viewer.origin = "https://[fd00::1]:8080".to_owned();
        let url = "--url 'https://[fd00::1]:8080'";
        assert_eq!(line(&viewer, &["hosts"], false), format!("reelyard hosts {url}"));
        let pin = ["files", "pin", "--", "-a.mpg"];
        assert_eq!(line(&viewer, &pin, false), format!("reelyard files pin {url} -- -a.mpg"));
        assert_eq!(line(&viewer, &["config", "show"], true), "reelyard config show");
        viewer.origin.clear();
        assert_eq!(line(&viewer, &["hosts"], false), "reelyard hosts");
    }

    #[test]
    fn names_that_look_like_options_stand_behind_dashes() {
        let arguments = |names: &[&str]| {
            name_arguments(names.iter().map(|name| (*name).to_owned()).collect()).join(" ")
        };
        assert_eq!(arguments(&["a", "b-c"]), "a b-c");
        assert_eq!(arguments(&["a", "-b"]), "-- a -b");
    }

    #[test]
    fn lines_for_the_first_things_say_so() {
        let zone = jiff::tz::TimeZone::UTC;
        let viewer = Viewer::without_session(Language::English, zone, Moment(0));
        let lines = CommandLines { things: 1200, in_reelyard: 50, in_curl: 5, ..lines_of_a_test() };
        let page = command_lines(&viewer, &lines).into_string();
        let places = [
            "data-copy=\"reelyard",
            "the first 50 of 1,200",
            "data-copy=\"curl",
            "the first 5 of 1,200",
        ];
        let places = places.map(|part| page.find(part).unwrap());
        assert!(places.is_sorted(), "{page}");
        let all = CommandLines { things: 5, in_reelyard: 5, in_curl: 5, ..lines_of_a_test() };
        assert!(!command_lines(&viewer, &all).into_string().contains("the first"));
    }

    fn lines_of_a_test() -> CommandLines {
        CommandLines::new(&["tasks", "retry", "7"], ("POST", "/tasks/7/retry", ""))
    }

    #[test]
    fn a_call_of_curl_has_its_body() {
        let call = CurlCall::new("POST", "/tasks".into(), "{\"name\":\"it's\"}".into());
        let zone = jiff::tz::TimeZone::UTC;
        let mut viewer = Viewer::without_session(Language::English, zone, Moment(0));
        viewer.origin = "http://10.4.1.2:8080".to_owned();
        assert_eq!(
            curl_line(&viewer, &call),
            "curl -X POST --json '{\"name\":\"it'\\''s\"}' http://10.4.1.2:8080/api/v1/tasks"
        );
        viewer.user = "ops".to_owned();
        let reason = "it's 5% 고장".to_owned();
        assert_eq!(
            curl_line(&viewer, &CurlCall { reason, body: String::new(), ..call }),
            "curl -X POST -H \"Authorization: Bearer $REELYARD_TOKEN\" \
             -H 'Reelyard-Reason: it'\\''s 5%25 %EA%B3%A0%EC%9E%A5' http://10.4.1.2:8080/api/v1/tasks"
        );
        let list = CurlCall::new("GET", "/files?hot=true".into(), String::new());
        assert_eq!(
            curl_line(&viewer, &list),
            "curl -H \"Authorization: Bearer $REELYARD_TOKEN\" 'http://10.4.1.2:8080/api/v1/files?hot=true'"
        );
    }
}
