//! Answers packed with gzip: they make the first load of the console small on a slow line.

use std::io::Write;

use actix_web::HttpRequest;
use actix_web::http::header::{ACCEPT_ENCODING, HeaderValue};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Value of `Content-Encoding` of a packed body.
pub const GZIP: &str = "gzip";

/// Whether the client of a request unpacks gzip.
pub fn accepts_gzip(request: &HttpRequest) -> bool {
    let lines = request.headers().get_all(ACCEPT_ENCODING);
    lines.filter_map(|line: &HeaderValue| line.to_str().ok()).any(names_gzip)
}

/// Whether a value of `Accept-Encoding` names gzip with a weight above 0.
fn names_gzip(value: &str) -> bool {
    value.split(',').any(|coding| {
        let (name, parameter) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = parameter.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse::<f32>);
        name.trim().eq_ignore_ascii_case(GZIP) && weight.is_ok_and(|weight| weight > 0.0)
    })
}

/// The bytes packed with gzip. None if they did not fit into memory.
pub fn gzip(bytes: &[u8], level: Compression) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), level);
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_client_names_gzip_with_a_weight() {
        for yes in ["gzip", "gzip, deflate, br", "br;q=1.0, GZIP;q=0.5", "deflate,gzip ;q=1"] {
            assert!(names_gzip(yes), "{yes}");
        }
        for no in ["", "identity", "br", "gzip;q=0", "gzip;q=0.0, br", "gzip;q=x", "x-gzip2"] {
            assert!(!names_gzip(no), "{no}");
        }
    }

    #[test]
    fn a_packed_body_unpacks_to_itself() {
        let body = "rows ".repeat(1000);
        let packed = gzip(body.as_bytes(), Compression::fast()).unwrap();
        assert!(packed.len() < 200);
        let mut unpacked = String::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, body);
    }
}
