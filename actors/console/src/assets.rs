//! The files that pages load: style, script, shapes and third-party programs.
//!
//! The table names package, version, licence and SHA-256 of each file. A test recomputes the hashes.
//! The hash is part of the address, so that a browser may keep a file without asking again.

use crate::address::ROOT;

/// A file that pages load.
#[derive(Clone, Copy, Debug)]
pub struct ConsoleAsset {
    /// Name of the file in its address.
    pub name: &'static str,
    /// Value of `Content-Type`.
    pub content_type: &'static str,
    /// The file.
    pub bytes: &'static [u8],
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: &'static str,
    /// Package and version in the npm registry, or `reelyard` for an own file.
    pub package: &'static str,
    /// SPDX expression of the licence.
    pub licence: &'static str,
}

impl ConsoleAsset {
    /// The address of the file. It changes with each change of the file.
    pub fn address(&self) -> String {
        format!("{ROOT}/assets/{}/{}", self.short_hash(), self.name)
    }

    /// The part of the hash that stands in the address.
    pub fn short_hash(&self) -> &'static str {
        self.sha256.get(..12).unwrap_or(self.sha256)
    }
}

macro_rules! assets {
    ($($(#[$doc:meta])* $constant:ident = $path:literal, $name:literal, $type:literal,
        $package:literal, $licence:literal, $sha256:literal;)+) => {
        $($(#[$doc])* pub const $constant: ConsoleAsset = ConsoleAsset {
            name: $name,
            content_type: $type,
            bytes: include_bytes!(concat!("../assets/", $path)),
            sha256: $sha256,
            package: $package,
            licence: $licence,
        };)+
        /// All files.
        pub const ASSETS: &[ConsoleAsset] = &[$($constant),+];
    };
}

assets! {
    /// Colours, letters and layout.
    STYLE = "console.css", "console.css", "text/css; charset=utf-8",
        "reelyard", "MIT OR Apache-2.0",
        "59cfeb4c4e8ae11520b719fcf9c74e9d7f879a33c7e5ed7245f71f0a5f850e6d";
    /// Keys, ages, selection, copying and dialogs.
    SCRIPT = "console.js", "console.js", "text/javascript; charset=utf-8",
        "reelyard", "MIT OR Apache-2.0",
        "13483b182e1370499fda6504ed55256805e28a59fd28c9be79cd7c718a9cd9e6";
    /// Shapes of states, and icons.
    SPRITE = "sprite.svg", "sprite.svg", "image/svg+xml",
        "reelyard", "MIT OR Apache-2.0",
        "6e65a0b36a510b29ff766d9bee2e8bea4aa3fe52e10092d0a29392cadd649698";
    /// Partial updates of a page.
    HTMX = "third_party/htmx.min.js", "htmx.js", "text/javascript; charset=utf-8",
        "htmx.org 4.0.1 dist/htmx.min.js", "0BSD",
        "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130";
    /// Extension of htmx for server-sent events.
    HTMX_EVENTS = "third_party/hx-sse.min.js", "hx-sse.js", "text/javascript; charset=utf-8",
        "htmx.org 4.0.1 dist/ext/hx-sse.min.js", "0BSD",
        "18ef2761356ec1fe0bb6d92612315b37517a7c1e9856b661c5ae81fef239d103";
    /// Extension of htmx that accepts only attributes with the nonce of the page.
    HTMX_POLICY = "third_party/hx-csp.min.js", "hx-csp.js", "text/javascript; charset=utf-8",
        "htmx.org 4.0.1 dist/ext/hx-csp.min.js", "0BSD",
        "a7e1e6711ae6c3e50ad300fba7936cbe8d07599cdae313414a179ddd6b26e143";
    /// The 0BSD text that htmx and its extensions come with.
    HTMX_LICENCE = "third_party/htmx.LICENSE", "htmx.LICENSE", "text/plain; charset=utf-8",
        "htmx.org 4.0.1 LICENSE", "0BSD",
        "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38";
}

/// The file with this hash and name in its address.
pub fn find(short_hash: &str, name: &str) -> Option<&'static ConsoleAsset> {
    ASSETS.iter().find(|asset| asset.name == name && asset.short_hash() == short_hash)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn each_file_has_its_hash() {
        let mut wrong = Vec::new();
        for asset in ASSETS {
            let digest = Sha256::digest(asset.bytes);
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            if hex != asset.sha256 {
                wrong.push(format!("{}: {hex}", asset.name));
            }
            assert_eq!(
                find(asset.short_hash(), asset.name).map(|found| found.name),
                Some(asset.name)
            );
        }
        assert!(wrong.is_empty(), "write these hashes into the table:\n{}", wrong.join("\n"));
        assert!(find("000000000000", "htmx.js").is_none());
    }

    /// The rules of the block that begins with `selector`.
    fn block<'a>(style: &'a str, selector: &str) -> &'a str {
        let (_, rest) = style.split_once(&format!("{selector} {{\n")).unwrap();
        rest.split_once('}').unwrap().0
    }

    /// Without a choice of the viewer, the browser chooses one of these themes.
    #[test]
    fn the_automatic_theme_has_the_values_of_dark_and_contrast() {
        let style = std::str::from_utf8(STYLE.bytes).unwrap();
        for (asked, theme) in [("color-scheme: dark", "dark"), ("contrast: more", "contrast")] {
            let automatic = format!("@media screen and (prefers-{asked}) {{ [data-theme='auto']");
            let chosen = format!("\n[data-theme='{theme}']");
            assert_eq!(block(style, &automatic), block(style, &chosen), "{theme}");
        }
        let card = include_str!("../assets/card.css");
        let outside = style.matches("[data-theme").count() + card.matches("[data-theme").count();
        assert_eq!(outside, 4, "a rule outside these blocks names a theme: use a token");
    }
}
