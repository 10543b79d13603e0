//! Sample pages without the frame: share links in all their states, and the sign-in.

use maud::Markup;
use reelyard_console::card::{
    CardContext, ChoiceForm, LinkContents, LinkPageModel, LinkRefusalKind, LinkRefusalModel,
    LinkedDownload, LinkedEntry, QrPicture, SignInModel, SignInRefusal, SignInStep, link_page,
    link_refusal, password_page, sign_in,
};
use reelyard_console::text::Language;
use reelyard_console::{Moment, Theme};

use super::{NAMES, NOW, Sample, ago};

/// All samples in this language and theme.
pub fn cards(language: Language, theme: Theme) -> Vec<Sample> {
    let link = CardContext {
        language,
        theme,
        now: NOW,
        site: "share.example.net".into(),
        choices: ChoiceForm::Here,
    };
    let choices = ChoiceForm::Elsewhere("/console/preferences".into(), "/login".into());
    let login = CardContext { site: "Reelyard".into(), choices, ..link.clone() };
    let mut samples = Vec::new();
    let mut add = |name: &'static str, document: Markup| samples.push(Sample { name, document });
    add("link-file", link_page(&link, &file(language)));
    add("link-held", link_page(&link, &held(language)));
    add("link-directory", link_page(&link, &directory()));
    add("link-password", password_page(&link, "/s/0123456789abcdefghijkl", false));
    add("link-wrong-password", password_page(&link, "/s/0123456789abcdefghijkl", true));
    for (name, kind, at) in [
        ("link-expired", LinkRefusalKind::Expired, Some(ago(1200))),
        ("link-used", LinkRefusalKind::Used, None),
        ("link-revoked", LinkRefusalKind::Revoked, Some(ago(1320))),
        ("link-unknown", LinkRefusalKind::Unknown, None),
        ("link-throttled", LinkRefusalKind::TooMany(42), None),
        ("link-absent", LinkRefusalKind::Absent, None),
        ("link-unreadable", LinkRefusalKind::Unreadable, None),
        ("link-held", LinkRefusalKind::Held, None),
        ("link-replaced", LinkRefusalKind::Replaced, None),
        ("link-directory", LinkRefusalKind::IsDirectory, None),
        ("link-no-archive", LinkRefusalKind::NoArchive, None),
        ("link-archives", LinkRefusalKind::TooManyArchives(10), None),
    ] {
        add(name, link_refusal(&link, &LinkRefusalModel { kind, at, detail: String::new() }));
    }
    let fresh = SignInStep::Password { name: String::new(), next: "/console/hosts".into() };
    let again = SignInStep::Password { name: "ops-1".into(), next: String::new() };
    let by_link = SignInStep::Link { secret: "secret-of-a-link".into(), next: String::new() };
    let inside = SignInStep::SignedIn {
        yard: "yard-east".into(),
        subject: "user ops-1".into(),
        rights: "the role operator".into(),
        csrf: "csrf-token".into(),
    };
    for (name, step, refused) in [
        ("sign-in", fresh, None),
        ("sign-in-wrong", again, Some(SignInRefusal::Wrong)),
        ("sign-in-link", by_link, None),
        ("sign-in-done", inside, None),
    ] {
        let model = SignInModel { refused, step };
        add(name, sign_in(&login, &model));
    }
    samples
}

fn file(language: Language) -> LinkPageModel {
    let name = match language {
        Language::English => "opening night (final-cut).mpg",
        Language::Korean => "개봉-전-시사회(최종 편집본).mpg",
    };
    LinkPageModel {
        name: name.into(),
        contents: LinkContents::File(9_347_231_744),
        media_type: "video/mpeg".into(),
        ends: Some(Moment(NOW.0 + 603_672_000)),
        downloads: Some((4, 5)),
        download: LinkedDownload::At("/s/0123456789abcdefghijkl/file".into()),
        address: Some("https://share.example.net/s/0123456789abcdefghijkl".into()),
        qr: Some(code()),
        has_password: false,
    }
}

fn held(language: Language) -> LinkPageModel {
    LinkPageModel { downloads: Some((0, 5)), download: LinkedDownload::Held, ..file(language) }
}

fn directory() -> LinkPageModel {
    let sizes = [Some(432_013_312), None, Some(406_847_488), Some(1_288_490_188)];
    let names = [NAMES[5], "extras", NAMES[6], NAMES[7]];
    let entries = names.iter().zip(sizes);
    let entries = entries.map(|(name, size)| LinkedEntry { name: (*name).to_owned(), size });
    LinkPageModel {
        name: "2026-winter".into(),
        contents: LinkContents::Directory { entries: entries.collect(), others: 0, goes_on: false },
        media_type: String::new(),
        ends: Some(Moment(NOW.0 + 13_150_000)),
        downloads: None,
        download: LinkedDownload::At("/s/0123456789abcdefghijkl/zip".into()),
        ..file(Language::English)
    }
}

/// A picture that looks like a code: this crate draws codes, but does not compute them.
fn code() -> QrPicture {
    const SIDE: u64 = 29;
    let mut path = String::new();
    for (x, y) in (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (x, y))) {
        let corners = [(0, 0), (SIDE - 7, 0), (0, SIDE - 7)];
        let from_middle = corners.map(|(left, top)| x.abs_diff(left + 3).max(y.abs_diff(top + 3)));
        let is_dark = match from_middle.into_iter().min() {
            Some(0 | 1 | 3) => true,
            Some(2 | 4) => false,
            _ => (x * 7 + y * 13 + x * y) % 5 < 2,
        };
        if is_dark {
            path.push_str(&format!("M{} {}h1v1h-1z", x + 4, y + 4));
        }
    }
    QrPicture { path, side: SIDE + 8 }
}
