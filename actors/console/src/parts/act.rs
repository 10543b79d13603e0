//! Actions: buttons that post forms, and commands to copy.

use maud::{Markup, html};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::icon::{Glyph, icon};
use crate::address::QueryPairs;
use crate::format::visible_text;
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

/// The command that creates a pool of boxes, for pages without one.
pub const CREATE_POOL: &str = "reelyard box pools put judges --size 32";

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
/// lines of its own, because all viewers share it and each has another address of the node. A narrow table leaves the
/// link out: there the dialog of picked rows has the lines.
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

/// The lines that do the same as a button: one of `reelyard`, one of `curl`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLines {
    /// The arguments after `reelyard`, each unquoted.
    pub reelyard: Vec<String>,
    /// The same call of the API.
    pub curl: Option<CurlCall>,
}

impl CommandLines {
    /// The words after `reelyard`, and the same call: its method, its path and its body in JSON.
    pub fn new(words: &[&str], (method, path, body): (&str, &str, &str)) -> Self {
        CommandLines {
            reelyard: words.iter().map(|word| (*word).to_owned()).collect(),
            curl: Some(CurlCall {
                method: method.to_owned(),
                path: path.to_owned(),
                body: body.to_owned(),
                reason: String::new(),
            }),
        }
    }

    /// The same lines with this reason for the audit, if it is not empty.
    pub fn with_reason(mut self, reason: &str) -> Self {
        if reason.is_empty() {
            return self;
        }
        if !self.reelyard.is_empty() {
            // Behind "--" are no options.
            let end = self.reelyard.iter().position(|word| word == "--");
            let end = end.unwrap_or(self.reelyard.len());
            self.reelyard.insert(end, format!("--reason={reason}"));
        }
        if let Some(call) = &mut self.curl {
            call.reason = reason.to_owned();
        }
        self
    }
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
    let curl = Some(CurlCall { method: "GET".to_owned(), path, ..CurlCall::default() });
    CommandLines { reelyard: words, curl }
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

/// Both lines with their buttons.
pub fn command_lines(viewer: &Viewer, lines: &CommandLines) -> Markup {
    let language = viewer.language;
    let words: Vec<String> = lines.reelyard.iter().map(|word| shell_quoted(word)).collect();
    html! {
        @if !words.is_empty() { (command(language, &format!("reelyard {}", words.join(" ")))) }
        @if let Some(call) = &lines.curl { (command(language, &curl_line(viewer, call))) }
    }
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
        let words = |words: &[&str], reason: &str| lines(words).with_reason(reason).reelyard;
        assert_eq!(words(&["tasks", "retry", "7"], "a b"), ["tasks", "retry", "7", "--reason=a b"]);
        assert_eq!(words(&["share", "--", "-x"], "a"), ["share", "--reason=a", "--", "-x"]);
        assert_eq!(words(&["tasks"], ""), ["tasks"]);
        assert_eq!(words(&[], "a"), [""; 0]);
        assert_eq!(lines(&[]).with_reason("a").curl.unwrap().reason, "a");
    }

    #[test]
    fn a_call_of_curl_has_its_body() {
        let call = CurlCall {
            method: "POST".into(),
            path: "/tasks".into(),
            body: "{\"name\":\"it's\"}".into(),
            reason: String::new(),
        };
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
        let list = CurlCall {
            method: "GET".into(),
            path: "/files?hot=true".into(),
            ..CurlCall::default()
        };
        assert_eq!(
            curl_line(&viewer, &list),
            "curl -H \"Authorization: Bearer $REELYARD_TOKEN\" 'http://10.4.1.2:8080/api/v1/files?hot=true'"
        );
    }
}
