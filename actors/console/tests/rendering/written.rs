//! Writes all samples to `target/console-samples`, so that a browser can take pictures of them.

use std::fs;
use std::path::PathBuf;

use reelyard_console::Theme;
use reelyard_console::assets::ASSETS;
use reelyard_console::text::Language;

use crate::samples::{all, cards, operator};

/// The folder of the samples. A server on it shows them with their assets.
fn folder() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    target.parent().unwrap_or(&target).join("console-samples")
}

#[test]
fn samples_are_written_for_pictures() {
    let folder = folder();
    for asset in ASSETS {
        let file = folder.join(asset.address().trim_start_matches('/'));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, asset.bytes).unwrap();
    }
    let mut written = 0;
    for language in Language::ALL {
        for theme in Theme::ALL {
            let viewer = operator(language, theme);
            for sample in all(&viewer).into_iter().chain(cards(language, theme)) {
                let name = format!("{}.{}.{}.html", sample.name, language.code(), theme.word());
                let document = sample.document.into_string();
                assert!(document.len() < 1 << 20, "{name} has {} bytes", document.len());
                fs::write(folder.join(&name), document).unwrap();
                written += 1;
            }
        }
    }
    assert!(written >= 80, "only {written} pages were written");
}
