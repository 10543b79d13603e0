//! Renders a chapter as HTML.

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

use super::GuideLanguage;
use super::headings::{Anchors, heading_text};

/// The HTML body of a chapter. Headings have anchors, links between chapters go to their pages in
/// `language`, and wide tables scroll.
pub fn to_html(text: &str, language: GuideLanguage) -> String {
    // HTML in the chapters only contains marks for tests.
    let parsed = Parser::new_ext(text, Options::ENABLE_TABLES);
    let mut events: Vec<Event<'_>> = parsed.filter(|event| !is_html(event)).collect();
    let mut anchors = Anchors::default();
    for at in 0..events.len() {
        let (before, behind) = events.split_at_mut(at + 1);
        match before.last_mut() {
            Some(Event::Start(Tag::Heading { id, .. })) => {
                *id = Some(CowStr::from(anchors.next(&heading_text(behind))));
            }
            Some(Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, .. })) => {
                if let Some(page) = page_of(dest_url, language) {
                    *dest_url = CowStr::from(page);
                }
            }
            Some(Event::Start(Tag::Image { dest_url, .. })) => {
                if let Some(name) = picture_of(dest_url) {
                    *dest_url = CowStr::from(format!("/guide/pictures/{name}"));
                }
            }
            _ => {}
        }
    }
    let framed = events.into_iter().flat_map(|event| match event {
        Event::Start(Tag::Table(_)) => {
            vec![Event::Html("<div class=\"wide\" tabindex=\"0\">".into()), event]
        }
        Event::End(TagEnd::Table) => vec![event, Event::Html("</div>".into())],
        event => vec![event],
    });
    let mut page = String::new();
    html::push_html(&mut page, framed);
    // Long lines of code scroll, also by keys.
    page.replace("<pre>", "<pre tabindex=\"0\">")
}

fn is_html(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::Html(_)
            | Event::InlineHtml(_)
            | Event::Start(Tag::HtmlBlock)
            | Event::End(TagEnd::HtmlBlock)
    )
}

/// The picture that a chapter shows by its file, such as `../pictures/yard.ko.png`.
fn picture_of(link: &str) -> Option<&str> {
    link.trim_start_matches("../").strip_prefix("pictures/")
}

/// The page of a chapter that a link names by its file, such as `../links.md#tls`.
fn page_of(link: &str, language: GuideLanguage) -> Option<String> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let topic = file.rsplit('/').next()?.strip_suffix(".md")?;
    let anchor = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
    Some(format!("/guide/{topic}?lang={}{anchor}", language.tag()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> String {
        to_html(text, GuideLanguage::Korean)
    }

    #[test]
    fn links_between_chapters_lead_to_their_pages() {
        let page =
            made("See [rates](../copies.md#rates), [here](#tls) and [b](https://b.example/).\n");
        assert!(page.contains("href=\"/guide/copies?lang=ko#rates\""), "{page}");
        assert!(page.contains("href=\"#tls\""), "{page}");
        assert!(page.contains("href=\"https://b.example/\""), "{page}");
    }

    #[test]
    fn headings_have_anchors_and_tables_scroll() {
        let page = made("# One `two`\n\n| a | b |\n|---|---|\n| 1 | < |\n");
        assert!(page.contains("<h1 id=\"one-two\">"), "{page}");
        assert!(page.contains("<div class=\"wide\" tabindex=\"0\"><table>"), "{page}");
        assert!(page.contains("<td>&lt;</td>"), "{page}");
    }

    #[test]
    fn pictures_have_an_address_of_their_own() {
        let page = made("![The page Yard](../pictures/yard.ko.png)\n");
        assert!(
            page.contains("src=\"/guide/pictures/yard.ko.png\" alt=\"The page Yard\""),
            "{page}"
        );
    }

    #[test]
    fn html_is_left_out() {
        let page = made("<!-- walk: look -->\n```sh\nls\n```\n\na <b>c</b>\n");
        assert!(!page.contains("walk") && !page.contains("<b>"), "{page}");
        assert!(page.contains("<code class=\"language-sh\">ls"), "{page}");
    }
}
