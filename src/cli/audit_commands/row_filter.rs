//! Options that select rows of the audit.

use clap::{Args, ValueEnum};
use reelyard_api::Rfc3339;
use reelyard_core::clock::{Clock, Millis};

use crate::cli::support::failure::CommandFailure;

#[derive(Clone, Debug, Args)]
pub struct RowFilterArgs {
    /// Only acts of this actor: a kind, a name, or both, such as "user alice".
    #[arg(long)]
    actor: Option<String>,
    /// Only acts on this object: "share ABC", its kind or its name.
    #[arg(long)]
    subject: Option<String>,
    /// Only this operation, such as revokeShare or node.started.
    #[arg(long)]
    operation: Option<String>,
    /// Leave out the accepted acts of this operation, such as takeReports: the reports of workers.
    #[arg(long, value_name = "OPERATION")]
    without: Option<String>,
    /// Only acts since this time (RFC 3339), or within this duration, such as 2d.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only acts before this time (RFC 3339), or before this duration ago.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only accepted acts, or only refused ones
    #[arg(long)]
    outcome: Option<OutcomeArg>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OutcomeArg {
    Accepted,
    Refused,
}

impl RowFilterArgs {
    /// The filter as a query of the API.
    pub fn query(&self) -> Result<Vec<(&'static str, Option<String>)>, CommandFailure> {
        let outcome = self.outcome.map(|outcome| match outcome {
            OutcomeArg::Accepted => "accepted".to_owned(),
            OutcomeArg::Refused => "refused".to_owned(),
        });
        let now = Clock::system().now();
        Ok(vec![
            ("actor", self.actor.clone()),
            ("subject", self.subject.clone()),
            ("operation", self.operation.clone()),
            ("without", self.without.clone()),
            ("since", instant("--since", self.since.as_deref(), now)?),
            ("until", instant("--until", self.until.as_deref(), now)?),
            ("outcome", outcome),
        ])
    }
}

impl RowFilterArgs {
    /// The filter as parameters of the page of the console.
    pub fn of_page(&self) -> Result<Vec<(&'static str, Option<String>)>, CommandFailure> {
        let now = Clock::system().now();
        let outcome = self.outcome.map(|outcome| match outcome {
            OutcomeArg::Accepted => "done".to_owned(),
            OutcomeArg::Refused => "refused".to_owned(),
        });
        Ok(vec![
            ("q", self.subject.clone()),
            ("actor", self.actor.clone()),
            ("action", self.operation.clone()),
            ("reports", self.without.is_none().then(|| "true".to_owned())),
            ("from", instant("--since", self.since.as_deref(), now)?),
            ("to", instant("--until", self.until.as_deref(), now)?),
            ("outcome", outcome),
        ])
    }
}

/// An instant in RFC 3339: the text itself, or this long before `now`.
fn instant(
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
