//! The link as a QR code, to open it on a phone.

use qrcode::{Color, QrCode};
use reelyard_console::card::QrPicture;

/// White modules around the code, so that cameras find it.
const MARGIN: usize = 4;

/// The QR code of `link`. None if the link is too long.
pub fn qr_picture(link: &str) -> Option<QrPicture> {
    let code = QrCode::new(link).ok()?;
    let width = code.width();
    let mut path = String::new();
    for (index, color) in code.to_colors().into_iter().enumerate() {
        if color == Color::Dark {
            let (x, y) = (index % width + MARGIN, index / width + MARGIN);
            path.push_str(&format!("M{x} {y}h1v1h-1z"));
        }
    }
    Some(QrPicture { path, side: (width + 2 * MARGIN) as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_a_picture() {
        let picture = qr_picture("https://share.example.net/s/AAAAAAAAAAAAAAAAAAAAAA").unwrap();
        // Three corners and the margin are in every code.
        assert!(picture.path.starts_with("M4 4h1v1h-1zM5 4h1v1h-1z") && picture.side > 28);
        assert_eq!(qr_picture(&"x".repeat(10_000)), None);
    }
}
