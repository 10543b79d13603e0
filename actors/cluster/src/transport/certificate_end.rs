//! The end of the validity of a certificate (RFC 5280, DER).

use reelyard_core::clock::Millis;

const SEQUENCE: u8 = 0x30;
/// The version of a certificate, which old ones leave out.
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Values in front of the validity: serial number, algorithm, issuer.
const BEFORE_VALIDITY: usize = 3;

/// The last moment at which the certificate is valid. None if it has another form.
pub(super) fn certificate_end(certificate: &[u8]) -> Option<Millis> {
    let (whole, _) = value_of(SEQUENCE, certificate)?;
    let (mut rest, _) = value_of(SEQUENCE, whole)?;
    if rest.first() == Some(&VERSION) {
        (_, _, rest) = next_value(rest)?;
    }
    for _ in 0..BEFORE_VALIDITY {
        (_, _, rest) = next_value(rest)?;
    }
    let (validity, _) = value_of(SEQUENCE, rest)?;
    let (_, _, rest) = next_value(validity)?;
    let (kind, end, _) = next_value(rest)?;
    let digits = std::str::from_utf8(end).ok()?.strip_suffix('Z')?;
    let digits = match kind {
        // Two digits of a year before 2050.
        UTC_TIME => format!("{}{digits}", if digits < "50" { "20" } else { "19" }),
        GENERALIZED_TIME => digits.to_owned(),
        _ => return None,
    };
    if digits.len() != 14 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let (date, time) = digits.split_at(8);
    let text = format!(
        "{}-{}-{}T{}:{}:{}Z",
        &date[..4],
        &date[4..6],
        &date[6..],
        &time[..2],
        &time[2..4],
        &time[4..]
    );
    humantime::parse_rfc3339(&text).ok().map(Millis::from)
}

/// The value of this kind at the beginning, and the bytes behind it.
fn value_of(kind: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (found, value, rest) = next_value(bytes)?;
    (found == kind).then_some((value, rest))
}

/// The kind and the bytes of the first value, and the bytes behind it.
fn next_value(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&kind, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (value, rest) = rest.split_at_checked(length)?;
    Some((kind, value, rest))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    fn certificate(end_seconds: u64) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.not_after = (UNIX_EPOCH + Duration::from_secs(end_seconds)).into();
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn the_end_is_read_in_both_forms_of_time() {
        // From 2050 on, the year has four digits.
        for seconds in [1_800_000_000, 2_524_607_999, 2_524_608_000, 4_000_000_000] {
            let end = certificate_end(&certificate(seconds));
            assert_eq!(end, Some(Millis::from_unix_seconds(seconds.try_into().unwrap())));
        }
    }

    #[test]
    fn a_cut_certificate_has_no_end() {
        let whole = certificate(1_800_000_000);
        for length in 0..whole.len() {
            assert_eq!(certificate_end(&whole[..length]), None);
        }
        assert_eq!(certificate_end(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
