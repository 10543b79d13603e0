//! The filter of rows in a query.

use reelyard_access::audit::{AuditOutcome, AuditRowFilter};
use reelyard_api::Rfc3339;
use reelyard_core::clock::Millis;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::problem::ProblemResponse;

/// Selects rows of the audit.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditFilterQuery {
    /// Only acts of this actor: a kind, a name, or both as in "user alice".
    pub actor: Option<String>,
    /// Only acts on this object: "share ABC", its kind or its name.
    pub subject: Option<String>,
    /// Only this operation: the id of the call in this document, or a name such as "node.started".
    pub operation: Option<String>,
    /// Leave out the accepted acts of this operation, such as "takeReports": the reports of workers. Refused ones stay.
    pub without: Option<String>,
    /// Only acts at or after this time, in RFC 3339.
    pub since: Option<String>,
    /// Only acts before this time, in RFC 3339.
    pub until: Option<String>,
    /// Only accepted acts, or only refused ones.
    #[param(inline)]
    pub outcome: Option<AuditOutcome>,
}

impl AuditFilterQuery {
    /// The filter.
    ///
    /// # Errors
    ///
    /// A time is not in RFC 3339.
    pub fn filter(self) -> Result<AuditRowFilter, ProblemResponse> {
        Ok(AuditRowFilter {
            since: instant("since", self.since.as_deref())?,
            until: instant("until", self.until.as_deref())?,
            actor: self.actor,
            subject: self.subject,
            operation: self.operation,
            without: self.without,
            outcome: self.outcome,
        })
    }
}

/// The instant in a parameter.
///
/// # Errors
///
/// It is not in RFC 3339.
pub fn instant(what: &str, text: Option<&str>) -> Result<Option<Millis>, ProblemResponse> {
    let Some(text) = text else { return Ok(None) };
    // A "+" in a query is decoded as a space.
    let read = text.replace(' ', "+").parse::<Rfc3339>();
    let read = read.map_err(|bad| ProblemResponse::bad_request(format!("{what}: {bad}")))?;
    Ok(Some(read.0))
}
