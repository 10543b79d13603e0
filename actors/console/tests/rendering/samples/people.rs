//! Names that hurt, and usual ones.

/// Names of files: usual, Korean, right to left, markup, controls, and 255 bytes.
pub const NAMES: [&str; 12] = [
    "M141A7SGL1500001_K202611230141.mpg",
    "M017A7SGL1500001_K202611230017.mpg",
    "M001A7SGL1500001_K202611210001.mpg",
    "opening night (final-cut).mpg",
    "<script>alert(1)</script>.mpg",
    "영화-예고편-겨울편(감독판).mpg",
    "다큐멘터리-바다의-끝에서-감독판-확장본-감독판-확장본-감독판-확장본-감독판-확장본-감독판-확장본-감독판-확장본-감독판-확장본-최종-UHD-HDR10_K1.mpg",
    "فيلم وثائقي عن البحر والصحراء.mpg",
    "line\nbreak\tand\u{202e}gpm.exe",
    "100%41 real #1?&a=b.mpg",
    "MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM.mpg",
    "M204A7SGL1500001_K202611200204.mpg",
];
