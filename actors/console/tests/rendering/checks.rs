//! Every document: no inline style or script, one id each, all links below the console, all in one language.

use std::collections::BTreeSet;

use reelyard_console::Theme;
use reelyard_console::assets::{HTMX, HTMX_EVENTS, HTMX_POLICY, SCRIPT, STYLE};
use reelyard_console::text::Language;

use crate::samples::{NAMES, Sample, all, cards, operator, reader};

/// The values of an attribute in a document.
fn values<'a>(document: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    document.split(start.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

fn documents(check: impl Fn(&str, &str, Language)) {
    for language in Language::ALL {
        for Sample { name, document } in all(&operator(language, Theme::Light)) {
            check(name, &document.into_string(), language);
        }
        for Sample { name, document } in all(&reader(language)) {
            check(name, &document.into_string(), language);
        }
    }
}

#[test]
fn no_document_has_inline_style_or_script() {
    documents(|name, document, _| {
        assert!(!document.contains(" style="), "{name} has a style attribute");
        assert!(!document.contains("<style"), "{name} has a style element");
        assert!(!document.contains(" onclick"), "{name} has a handler");
        for script in document.split("<script").skip(1) {
            assert!(script.starts_with(" src=\"/console/assets/"), "{name}: {:.60}", script);
            assert!(script.contains("nonce="), "{name} has a script without nonce");
        }
    });
}

#[test]
fn an_id_stands_only_once_in_a_document() {
    documents(|name, document, _| {
        let mut seen = BTreeSet::new();
        for id in values(document, "id") {
            assert!(seen.insert(id), "{name} has two elements {id}");
        }
        for form in values(document, "form").into_iter().chain(values(document, "aria-labelledby"))
        {
            assert!(seen.contains(form), "{name} names the missing element {form}");
        }
    });
}

#[test]
fn every_address_is_below_the_console() {
    documents(|name, document, _| {
        for attribute in ["href", "action", "formaction"] {
            for address in values(document, attribute) {
                let is_own = address.starts_with("/console") || address == "/logout";
                let is_part = address.starts_with('#') || address == "data:,";
                assert!(is_own || is_part, "{name} has {attribute}={address}");
                assert!(!address.contains([' ', '<', '\n']), "{name} has {attribute}={address}");
            }
        }
    });
}

#[test]
fn names_are_text_and_have_no_control_characters() {
    let markup = NAMES.iter().find(|name| name.contains("<script>")).unwrap();
    documents(|name, document, _| {
        assert!(!document.contains(markup), "{name} has a name as markup");
        let bad = |letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}';
        assert!(!document.contains(bad), "{name} has a control character");
    });
}

/// The document without the values of its `data-` attributes: the script fills the templates there.
fn without_templates(document: &str) -> String {
    let mut parts = document.split(" data-");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|letter: char| !letter.is_ascii_lowercase() && letter != '-');
        let after_name = end.map_or("", |end| &part[end..]);
        let value = after_name.strip_prefix("=\"").and_then(|value| value.split_once('"'));
        rest.push_str(value.map_or(after_name, |(_, after)| after));
    }
    rest
}

#[test]
fn a_document_has_only_its_own_language() {
    documents(|name, document, language| {
        let opening = format!("<html lang=\"{}\"", language.code());
        assert!(document.contains(&opening), "{name} names another language");
        // A name of a value that was not filled in.
        for word in ["{n}", "{host}", "{at}", "{name}", "{since}"] {
            assert!(!without_templates(document).contains(word), "{name} shows {word}");
        }
    });
}

#[test]
fn a_reader_sees_no_button_that_acts() {
    for language in Language::ALL {
        for Sample { name, document } in all(&reader(language)) {
            let document = document.into_string();
            for address in values(&document, "formaction") {
                // The viewer may end the own session.
                let is_own =
                    address == "/console/preferences" || address.ends_with("/sessions/1/end");
                assert!(is_own, "{name} has a button for {address}");
            }
            // The dialog of the sample is given by its model, not by the rights.
            if name != "hosts-ask" {
                assert!(!document.contains("name=\"pick\""), "{name} has boxes to tick");
            }
        }
    }
}

#[test]
fn a_button_that_acts_at_once_has_a_way_to_its_command() {
    for language in Language::ALL {
        let mut buttons = 0;
        for Sample { name, document } in all(&operator(language, Theme::Light)) {
            let document = document.into_string();
            for button in document.split(" formaction=\"").skip(1) {
                // Choices of the browser have no command.
                let address = button.split('"').next().unwrap();
                if address == "/console/preferences" {
                    continue;
                }
                buttons += 1;
                let after = button.split_once("</button>").unwrap().1;
                let is_beside = after.starts_with("<a class=\"ib lines\" href=\"/console/");
                let dialog = after.split('"').nth(3).unwrap_or_default();
                assert!(is_beside && dialog.contains("ask="), "{name}: {address} {after:.80}");
            }
        }
        assert!(buttons > 10, "only {buttons} such buttons in the samples");
    }
}

#[test]
fn every_button_and_field_has_a_name() {
    documents(|name, document, _| {
        for button in document.split("<button").skip(1) {
            let (attributes, rest) = button.split_once('>').unwrap();
            let inner = rest.split("</button>").next().unwrap();
            let is_symbol = !inner.replace("</svg>", "").split("<svg").any(|part| {
                part.split('>').skip(1).any(|text| text.chars().any(char::is_alphanumeric))
                    || !part.contains('<') && part.chars().any(char::is_alphanumeric)
            });
            let has_label = attributes.contains("aria-label=");
            assert!(!is_symbol || has_label, "{name}: <button{attributes}>");
        }
    });
}

#[test]
fn all_files_of_a_first_load_are_small() {
    let files = [STYLE, SCRIPT, HTMX, HTMX_EVENTS, HTMX_POLICY];
    let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
    // Compressed they are about 30 percent of this, so below 50 KB.
    assert!(bytes < 160_000, "{bytes} bytes");
}

#[test]
fn a_card_loads_nothing_and_has_only_its_own_script() {
    for language in Language::ALL {
        for Sample { name, document } in cards(language, Theme::Auto) {
            let document = document.into_string();
            for address in [values(&document, "src"), values(&document, "action")].concat() {
                assert!(address.starts_with('/'), "{name} loads or posts to {address}");
            }
            for address in values(&document, "href") {
                let is_own = address.starts_with(['/', '#']) || address == "data:,";
                assert!(is_own, "{name} links to {address}");
            }
            assert!(!document.contains(" style=") && !document.contains(" onclick"), "{name}");
            let scripts = document.matches("<script>").count();
            assert_eq!(scripts, usize::from(!name.starts_with("sign-in")), "{name}");
            assert_eq!(document.matches("<style>").count(), 1, "{name}");
            let opening = format!("<html lang=\"{}\"", language.code());
            assert!(document.contains(&opening) && document.contains("\"noindex\""), "{name}");
        }
    }
}
