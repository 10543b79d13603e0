//! The refusal of a query that cannot be read.

use actix_web::error::QueryPayloadError;

use crate::http::problem::ProblemResponse;

/// The refusal, with the parameter and the reason.
pub fn bad_query(error: &QueryPayloadError) -> ProblemResponse {
    match error {
        QueryPayloadError::Deserialize(why) => {
            ProblemResponse::bad_request(format!("the query: {why}"))
        }
        other => ProblemResponse::bad_request(other.to_string()),
    }
}
