//! The link as a QR code, to open it on a phone.

use qrcode::QrCode;
use qrcode::render::svg;

/// The QR code of `link` as SVG. None if the link is too long.
pub(super) fn svg(link: &str) -> Option<String> {
    let code = QrCode::new(link).ok()?;
    let picture = code
        .render::<svg::Color<'_>>()
        .min_dimensions(180, 180)
        .dark_color(svg::Color("#000"))
        .light_color(svg::Color("#fff"))
        .build();
    // An SVG inside a page has no XML declaration.
    picture.find("<svg").map(|begin| picture[begin..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_a_picture() {
        let picture = svg("https://share.example.net/s/AAAAAAAAAAAAAAAAAAAAAA").unwrap();
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>"));
        assert_eq!(svg(&"x".repeat(10_000)), None);
    }
}
