//! Instants in options.

use reelyard_api::Rfc3339;
use reelyard_core::clock::Millis;

use super::failure::CommandFailure;

/// An instant in RFC 3339: the text itself, or this long before `now`.
pub fn instant(
    option: &str,
    text: Option<&str>,
    now: Millis,
) -> Result<Option<String>, CommandFailure> {
    let Some(text) = text else { return Ok(None) };
    if let Ok(ago) = humantime::parse_duration(text) {
        return Ok(Some(now.before(ago).to_string()));
    }
    let at = text.parse::<Rfc3339>();
    let at = at.map_err(|bad| {
        CommandFailure::Usage(format!("{option}: {bad}, or a duration such as 2d"))
    })?;
    Ok(Some(at.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_an_instant_or_a_duration_before_now() {
        let now = Millis(1_800_000_000_000);
        let of =
            |text: &str| instant("--since", Some(text), now).map_err(|error| error.to_string());
        assert_eq!(of("1h"), Ok(Some("2027-01-15T07:00:00.000Z".to_owned())));
        let written = "2026-12-31T18:00:00+09:00";
        assert_eq!(of(written), Ok(Some("2026-12-31T09:00:00.000Z".to_owned())));
        assert!(of("yesterday").is_err_and(|bad| bad.contains("--since") && bad.contains("2d")));
    }
}
