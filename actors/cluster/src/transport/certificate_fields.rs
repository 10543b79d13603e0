//! The end of the validity and the names of a certificate (RFC 5280, DER).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reelyard_core::clock::Millis;

const SEQUENCE: u8 = 0x30;
/// The version of a certificate, which old ones leave out.
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const OBJECT_ID: u8 = 0x06;
const OCTETS: u8 = 0x04;
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Values in front of the validity: serial number, algorithm, issuer.
const BEFORE_VALIDITY: usize = 3;

/// The id of the extension with the names: 2.5.29.17.
const SUBJECT_ALT_NAME: [u8; 3] = [0x55, 0x1d, 0x11];

/// The last moment at which the certificate is valid. None if it has another form.
pub(super) fn certificate_end(certificate: &[u8]) -> Option<Millis> {
    let (validity, _) = value_of(SEQUENCE, from_validity(certificate)?)?;
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

/// The DNS names and the addresses that the certificate is for. None if it has another form or no names.
pub(super) fn names_in(certificate: &[u8]) -> Option<Vec<String>> {
    let mut rest = from_validity(certificate)?;
    let extensions = loop {
        let (kind, value, behind) = next_value(rest)?;
        if kind == EXTENSIONS {
            break value;
        }
        rest = behind;
    };
    let (mut extensions, _) = value_of(SEQUENCE, extensions)?;
    loop {
        let (extension, behind) = value_of(SEQUENCE, extensions)?;
        let (id, content) = value_of(OBJECT_ID, extension)?;
        if id == SUBJECT_ALT_NAME {
            return names_of(content);
        }
        extensions = behind;
    }
}

/// The names in the content of their extension, which may begin with a mark.
fn names_of(mut content: &[u8]) -> Option<Vec<String>> {
    let octets = loop {
        let (kind, value, behind) = next_value(content)?;
        if kind == OCTETS {
            break value;
        }
        content = behind;
    };
    let (mut rest, _) = value_of(SEQUENCE, octets)?;
    let mut names = Vec::new();
    while !rest.is_empty() {
        let (kind, value, behind) = next_value(rest)?;
        match kind {
            DNS_NAME => names.push(std::str::from_utf8(value).ok()?.to_owned()),
            IP_ADDRESS => names.push(address_of(value)?.to_string()),
            _ => {}
        }
        rest = behind;
    }
    Some(names)
}

fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(four).into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|sixteen| Ipv6Addr::from(sixteen).into())
}

/// The fields from the validity on.
fn from_validity(certificate: &[u8]) -> Option<&[u8]> {
    let (whole, _) = value_of(SEQUENCE, certificate)?;
    let (mut rest, _) = value_of(SEQUENCE, whole)?;
    if rest.first() == Some(&VERSION) {
        (_, _, rest) = next_value(rest)?;
    }
    for _ in 0..BEFORE_VALIDITY {
        (_, _, rest) = next_value(rest)?;
    }
    Some(rest)
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
    fn names_are_read_as_they_were_given() {
        let given = ["a.example", "10.0.0.1", "2001:db8::1"].map(str::to_owned);
        let params = CertificateParams::new(given.clone()).unwrap();
        let made = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        assert_eq!(names_in(made.der()), Some(given.to_vec()));
        assert_eq!(names_in(&certificate(1_800_000_000)), None);
    }

    #[test]
    fn a_cut_certificate_has_no_end_and_no_names() {
        let whole = certificate(1_800_000_000);
        for length in 0..whole.len() {
            assert_eq!(certificate_end(&whole[..length]), None);
            assert_eq!(names_in(&whole[..length]), None);
        }
        assert_eq!(certificate_end(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
