//! The page of a refusal: it has no frame, because the visitor may not be known.

use maud::{DOCTYPE, Markup, html};

use crate::address::{ROOT, encoded};
use crate::assets::STYLE;
use crate::format::node_text;
use crate::text::{Language, Text, refusals};
use crate::viewer::Theme;

/// The Content-Security-Policy of a refusal.
pub const REFUSAL_POLICY: &str = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; \
                                  form-action 'none'; frame-ancestors 'none'";

/// Facts of a refusal.
#[derive(Clone, Debug, Default)]
pub struct RefusalPage {
    /// Status of the answer, such as 404.
    pub status: u16,
    /// The node is starting: then the status alone does not say what to do.
    pub is_starting: bool,
    /// The form was of another session or site: rights have no part in it.
    pub is_foreign: bool,
    /// Reason in the words of the node, which are English.
    pub detail: String,
    /// Language of the page.
    pub language: Language,
    /// Colours of the page.
    pub theme: Theme,
    /// The page that the visitor came from, to return to after a sign-in; empty if it is not known.
    pub from: String,
}

/// Title and next step of a status.
const fn words(status: u16) -> (Text, Text) {
    match status {
        401 => (refusals::SIGNED_OUT, refusals::SIGNED_OUT_NEXT),
        403 => (refusals::FORBIDDEN, refusals::FORBIDDEN_NEXT),
        404 | 410 => (refusals::NOT_FOUND, refusals::NOT_FOUND_NEXT),
        409 | 412 => (refusals::CONFLICT, refusals::CONFLICT_NEXT),
        429 => (refusals::TOO_MANY, refusals::TOO_MANY_NEXT),
        507 => (refusals::FULL, refusals::FULL_NEXT),
        500..=599 => (refusals::BUSY, refusals::BUSY_NEXT),
        _ => (refusals::OTHER, refusals::OTHER_NEXT),
    }
}

/// The address of the sign-in that returns to a page.
fn sign_in(from: &str) -> String {
    if from.is_empty() { "/login".to_owned() } else { format!("/login?next={}", encoded(from)) }
}

/// The whole page. It shows the refused request, the next step, and the node's reason.
pub fn refusal_page(refusal: &RefusalPage) -> Markup {
    let language = refusal.language;
    let (title, next) = if refusal.is_starting {
        (refusals::STARTING, refusals::STARTING_NEXT)
    } else if refusal.is_foreign {
        (refusals::FOREIGN, refusals::FOREIGN_NEXT)
    } else {
        words(refusal.status)
    };
    html! {
        (DOCTYPE)
        html lang=(language.code()) data-theme=(refusal.theme.word()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { (title.of(language)) " · Reelyard" }
                link rel="stylesheet" href=(STYLE.address());
                link rel="icon" href="data:,";
            }
            body {
                main #main .refusal {
                    section.panel {
                        div.body {
                            p.muted { (refusal.status) " · Reelyard" }
                            h1 { (title.of(language)) }
                            p role="alert" { (next.of(language)) }
                            @if !refusal.detail.is_empty() {
                                p.soft { (refusals::DETAIL.of(language)) ": " bdi { (node_text(language, &refusal.detail)) } }
                            }
                            div.acts.mt {
                                @if refusal.status == 401 { a.btn.go href=(sign_in(&refusal.from)) { (refusals::SIGN_IN.of(language)) } }
                                @else { a.btn.go href=(ROOT) { (refusals::TO_YARD.of(language)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_of_another_session_is_not_a_matter_of_rights() {
        let page = |language| {
            let refusal =
                RefusalPage { status: 403, is_foreign: true, language, ..RefusalPage::default() };
            refusal_page(&refusal).into_string()
        };
        let english = page(Language::English);
        assert!(english.contains("Load the page again") && !english.contains("right"), "{english}");
        let korean = page(Language::Korean);
        assert!(korean.contains("페이지를 다시 연 뒤") && !korean.contains("권한"), "{korean}");
    }

    #[test]
    fn each_status_has_its_words_in_both_languages() {
        for language in Language::ALL {
            let mut titles = Vec::new();
            for status in [400, 401, 403, 404, 409, 429, 503, 507] {
                let detail = "no host is named <b>".to_owned();
                let theme = Theme::Dark;
                let page = refusal_page(&RefusalPage {
                    status,
                    detail,
                    language,
                    theme,
                    ..RefusalPage::default()
                });
                let page = page.into_string();
                let title = page.split("<h1>").nth(1).unwrap().split('<').next().unwrap();
                titles.push(title.to_owned());
                assert!(page.contains(&format!("lang=\"{}\"", language.code())), "{page}");
                assert!(page.contains("data-theme=\"dark\"") && page.contains("named &lt;b&gt;"));
            }
            titles.dedup();
            assert_eq!(titles.len(), 8, "{titles:?}");
        }
    }
}
