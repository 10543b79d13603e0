//! Options that select rows of the audit.

use clap::{Args, ValueEnum};
use reelyard_core::clock::Clock;

use crate::cli::support::failure::CommandFailure;
use crate::cli::support::instant::instant;

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
