//! The sign-in: one card with the fields, and above them what went wrong. The yard has its name there only for people
//! with a session.

use maud::{Markup, html};

use super::document::{CardContext, CardParts, CardWidth, card_shape, document};
use super::link_page::around;
use crate::address::ROOT;
use crate::format::{duration, node_sentence, visible_text};
use crate::parts::icon::Glyph;
use crate::text::{Language, card, common, frame};

/// The command that prints a login link.
const COMMAND: &str = "reelyard login --web";

/// Data for the sign-in.
#[derive(Clone, Debug)]
pub struct SignInModel {
    /// Why the last attempt was refused.
    pub refused: Option<SignInRefusal>,
    /// The present step.
    pub step: SignInStep,
}

/// The content of the card: it depends on the session and the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInStep {
    /// Name and password.
    Password {
        /// The name that was given before.
        name: String,
        /// The page to open afterwards.
        next: String,
    },
    /// A login link, which a button uses: programs that preview links open them too.
    Link {
        /// The secret of the link.
        secret: String,
        /// The page to open afterwards.
        next: String,
    },
    /// The browser has a session.
    SignedIn {
        /// Name of the yard. Only people with a session see it.
        yard: String,
        /// Name and role.
        subject: String,
        /// Rights in words.
        rights: String,
        /// Token against forged forms.
        csrf: String,
    },
}

/// Why a sign-in was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInRefusal {
    /// Wrong name or password.
    Wrong,
    /// The login link was used or has expired.
    UsedLink,
    /// Too many attempts; seconds until the next one.
    TooMany(u64),
    /// Another problem, in the words of the API.
    Other(String),
    /// The browser is signed out. The node could not end the session, with the reason in the words of the API.
    SignedOutHere(String),
}

/// The page of the sign-in.
pub fn sign_in(context: &CardContext, model: &SignInModel) -> Markup {
    let language = context.language;
    let content = html! {
        article.card.sign {
            h1 {
                @match model.step {
                    SignInStep::SignedIn { .. } => { (card::SIGNED_IN_TITLE.of(language)) }
                    _ => { (card::SIGN_IN_TITLE.of(language)) }
                }
            }
            @if let Some(refused) = &model.refused { (refusal(language, refused)) }
            @match &model.step {
                SignInStep::Password { name, next } => { (fields(language, name, next)) }
                SignInStep::Link { secret, next } => { (link(language, secret, next)) }
                SignInStep::SignedIn { yard, subject, rights, csrf } => {
                    p { (around(card::SIGN_IN_YARD.of(language), "yard", html! { bdi { (visible_text(yard)) } })) }
                    (signed_in(language, subject, rights, csrf))
                }
            }
        }
    };
    let title = format!("{} · Reelyard", card::SIGN_IN_TITLE.of(language));
    let foot = html! {};
    document(
        context,
        &CardParts { title, content, width: CardWidth::Narrow, foot, has_script: false },
    )
}

fn refusal(language: Language, refused: &SignInRefusal) -> Markup {
    let words = match refused {
        SignInRefusal::Wrong => card::WRONG_LOGIN.of(language).to_owned(),
        SignInRefusal::UsedLink => card::USED_LOGIN_LINK.of(language).to_owned(),
        SignInRefusal::TooMany(seconds) => {
            let wait = duration(language, *seconds);
            card::TOO_MANY_LOGINS.fill(language, &[("wait", &wait)])
        }
        SignInRefusal::Other(_) => card::NOT_SIGNED_IN.of(language).to_owned(),
        SignInRefusal::SignedOutHere(_) => card::SIGNED_OUT_HERE.of(language).to_owned(),
    };
    let detail = match refused {
        SignInRefusal::Other(detail) | SignInRefusal::SignedOutHere(detail) => Some(detail),
        _ => None,
    };
    html! {
        div.note.bad role="alert" {
            (card_shape(Glyph::Down, "i"))
            div {
                (words)
                @if let Some(detail) = detail { " " span { (node_sentence(language, detail)) } }
            }
        }
    }
}

fn fields(language: Language, name: &str, next: &str) -> Markup {
    // After a wrong password the name is right more often than not.
    let (is_first, is_again) = (name.is_empty(), !name.is_empty());
    html! {
        form method="post" action="/login" {
            input type="hidden" name="next" value=(next);
            div.field {
                span { label for="name" { (card::USER.of(language)) } }
                input #name name="name" type="text" value=(name) autocomplete="username" autocapitalize="none"
                    spellcheck="false" required autofocus[is_first];
            }
            div.field {
                span { label for="password" { (card::PASSWORD.of(language)) } }
                input #password name="password" type="password" autocomplete="current-password" required
                    autofocus[is_again];
            }
            button.btn.go.wide type="submit" { (card::SIGN_IN.of(language)) }
        }
        p.foot { (around(card::WITHOUT_USER.of(language), "command", html! { code { (COMMAND) } })) }
    }
}

fn link(language: Language, secret: &str, next: &str) -> Markup {
    html! {
        p { (card::ONE_SESSION.of(language)) }
        form method="post" action="/login" {
            input type="hidden" name="link" value=(secret);
            input type="hidden" name="next" value=(next);
            button.btn.go.wide type="submit" autofocus { (card::SIGN_IN.of(language)) }
        }
    }
}

fn signed_in(language: Language, subject: &str, rights: &str, csrf: &str) -> Markup {
    html! {
        p { bdi { (visible_text(subject)) } " · " span lang="en" { (rights) } }
        ul {
            li { a href=(ROOT) { (card::CONSOLE.of(language)) } }
            li { a href="/dashboard" { (card::COPIES_AND_FILES.of(language)) } }
            li { a href="/api/v1/status" { (card::STATUS.of(language)) } }
            li { a href="/guide" { (frame::GUIDE.of(language)) } }
        }
        form method="post" action="/logout" {
            input type="hidden" name="csrf_token" value=(csrf);
            button.btn.wide type="submit" { (common::SIGN_OUT.of(language)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(language: Language, refused: Option<SignInRefusal>, name: &str) -> String {
        let context = CardContext { language, ..CardContext::default() };
        let step = SignInStep::Password { name: name.into(), next: "/console/hosts".into() };
        sign_in(&context, &SignInModel { refused, step }).into_string()
    }

    #[test]
    fn a_refusal_stands_above_the_fields_in_both_languages() {
        let korean = page(Language::Korean, Some(SignInRefusal::TooMany(90)), "ops");
        let (refused_at, fields) =
            (korean.find("1분 후에").unwrap(), korean.find("id=\"name\"").unwrap());
        assert!(refused_at < fields, "{korean}");
        let detail = SignInRefusal::Other("the node <stops>".into());
        let english = page(Language::English, Some(detail), "");
        assert!(
            english.contains("The sign-in failed.") && english.contains("The node &lt;stops&gt;")
        );
        assert!(!english.contains("<script"), "the sign-in needs no script");
        let here = page(Language::English, Some(SignInRefusal::SignedOutHere("full".into())), "");
        assert!(here.contains("This browser is signed out.") && !here.contains("failed"), "{here}");
        let full = "nothing was changed: the disk of /var/lib is full, 0 B are free: make room for at least 6.0 MiB \
                    there. Until then everything can be read, and people can sign in and out. Links and tokens can be \
                    revoked, and users disabled or removed. Nothing else can be changed";
        let korean = page(Language::Korean, Some(SignInRefusal::Other(full.into())), "");
        assert!(korean.contains("변경하지 않음: 디스크 가득 참: /var/lib"), "{korean}");
    }

    #[test]
    fn the_focus_is_where_a_person_goes_on_typing() {
        let first = page(Language::English, None, "");
        let again = page(Language::English, Some(SignInRefusal::Wrong), "ops-1");
        let focused = |page: &str| {
            page.split('<')
                .find(|tag| tag.contains("autofocus"))
                .map(|tag| tag.contains("id=\"name\""))
        };
        assert_eq!((focused(&first), focused(&again)), (Some(true), Some(false)));
        assert!(again.contains("value=\"ops-1\""));
    }
}
