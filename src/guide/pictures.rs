//! The pictures of the chapters. `integration-tests/pictures` takes them.

/// A picture of a page.
#[derive(Clone, Copy, Debug)]
pub struct GuidePicture {
    /// Name of the file, as chapters link to it.
    pub name: &'static str,
    /// The picture as PNG.
    pub bytes: &'static [u8],
}

macro_rules! pictures {
    ($($name:literal),+ $(,)?) => {
        /// Every picture.
        pub static PICTURES: &[GuidePicture] = &[$(GuidePicture {
            name: $name,
            bytes: include_bytes!(concat!("pictures/", $name)),
        }),+];
    };
}

pictures![
    "files.en.png",
    "files.ko.png",
    "link.en.png",
    "link.ko.png",
    "shares.en.png",
    "shares.ko.png",
    "yard.en.png",
    "yard.ko.png",
];

/// The picture with this name of its file.
pub fn picture(name: &str) -> Option<&'static GuidePicture> {
    PICTURES.iter().find(|picture| picture.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::{CHAPTERS, GuideLanguage};

    #[test]
    fn every_picture_is_small_and_shown_in_a_chapter() {
        for picture in PICTURES {
            assert!(picture.bytes.starts_with(b"\x89PNG"), "{}", picture.name);
            assert!(picture.bytes.len() <= 150_000, "{}: {}", picture.name, picture.bytes.len());
            let shown = [GuideLanguage::English, GuideLanguage::Korean].iter().any(|language| {
                let link = format!("pictures/{})", picture.name);
                CHAPTERS.iter().any(|chapter| chapter.text(*language).contains(&link))
            });
            assert!(shown, "no chapter shows {}", picture.name);
        }
    }

    #[test]
    fn every_picture_of_a_chapter_exists() {
        let mut shown = 0;
        for chapter in &CHAPTERS {
            for language in [GuideLanguage::English, GuideLanguage::Korean] {
                for part in chapter.text(language).split("pictures/").skip(1) {
                    let name = part.split(')').next().unwrap_or_default();
                    assert!(picture(name).is_some(), "{}: {name}", chapter.topic);
                    shown += 1;
                }
            }
        }
        assert!(shown >= PICTURES.len());
    }
}
