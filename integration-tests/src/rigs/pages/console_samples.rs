//! The sample pages of the console, served on loopback with their style, scripts and policies.

use std::collections::BTreeMap;

use anyhow::Result;
use reelyard_console::Theme;
use reelyard_console::assets::ASSETS;
use reelyard_console::card::{link_policy, sign_in_policy};
use reelyard_console::frame::security_policy;
use reelyard_console::text::Language;

use self::samples::{Sample, all, cards, operator};
use crate::rigs::pages::fixed_pages::{FixedAnswer, FixedPages};

/// The samples that the tests of the console's crate check.
#[path = "../../../../actors/console/tests/rendering/samples/mod.rs"]
#[allow(dead_code, reason = "the tests of the console's crate use more of it")]
mod samples;

/// The served sample pages.
pub struct ConsoleSamples {
    pages: FixedPages,
    /// The paths of all documents, such as `/en/yard`.
    pub paths: Vec<String>,
}

impl ConsoleSamples {
    /// Serves all samples in both languages.
    ///
    /// # Errors
    /// No address is free.
    pub fn start() -> Result<Self> {
        let mut answers = BTreeMap::new();
        let mut paths = Vec::new();
        for language in Language::ALL {
            for (Sample { name, document }, policy) in documents(language) {
                let path = format!("/{}/{name}", language.code());
                let body = document.into_string().into_bytes();
                let content_type = "text/html; charset=utf-8".to_owned();
                answers.insert(path.clone(), FixedAnswer { content_type, policy, body });
                paths.push(path);
            }
        }
        for asset in ASSETS {
            let content_type = asset.content_type.to_owned();
            let body = asset.bytes.to_vec();
            let answer = FixedAnswer { content_type, policy: String::new(), body };
            answers.insert(asset.address(), answer);
        }
        Ok(ConsoleSamples { pages: FixedPages::start(answers)?, paths })
    }

    /// The paths of the documents in this language.
    pub fn paths_in(&self, language: &str) -> Vec<String> {
        let start = format!("/{language}/");
        self.paths.iter().filter(|path| path.starts_with(&start)).cloned().collect()
    }

    /// The URL of a document.
    pub fn url(&self, path: &str) -> String {
        self.pages.url(path)
    }
}

/// The documents in a language, with their policies.
fn documents(language: Language) -> Vec<(Sample, String)> {
    let viewer = operator(language, Theme::Light);
    let mut documents = Vec::new();
    for sample in all(&viewer) {
        documents.push((sample, security_policy(&viewer.nonce)));
    }
    for sample in cards(language, Theme::Light) {
        let is_sign_in = sample.name.starts_with("sign-in");
        let policy = if is_sign_in { sign_in_policy() } else { link_policy() };
        documents.push((sample, policy.to_owned()));
    }
    documents
}
