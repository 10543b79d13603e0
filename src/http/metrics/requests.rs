//! Counts the requests of a server by route and status.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::web;

use super::page::metrics_writer::MetricsWriter;

/// Methods that are counted by name. A client could send any number of others.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// The label for unknown routes and unusual methods.
const OTHER: &str = "other";

/// Number of answered requests by route, method and status. Clients cannot add rows without limit.
#[derive(Debug, Default)]
pub struct RequestCounts(Mutex<BTreeMap<(String, &'static str, u16), u64>>);

impl RequestCounts {
    fn count(&self, route: String, method: &'static str, status: u16) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((route, method, status)).or_default() += 1;
    }

    /// Writes the counters.
    pub fn write(&self, sheet: &mut MetricsWriter<'_>) -> fmt::Result {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let series = counts.into_iter().map(|((route, method, status), count)| {
            let labels =
                [("route", route), ("method", method.to_owned()), ("status", status.to_string())];
            (labels, count)
        });
        sheet.counters("http_requests", "HTTP requests answered", series)
    }
}

/// Counts every request with its status.
pub async fn count(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let counts = request.app_data::<web::Data<RequestCounts>>().cloned();
    let route = request.match_pattern().unwrap_or_else(|| OTHER.to_owned());
    let usual = METHODS.into_iter().find(|method| *method == request.method().as_str());
    let method = usual.unwrap_or(OTHER);
    let answered = next.call(request).await;
    if let Some(counts) = counts {
        let status = match &answered {
            Ok(response) => response.status(),
            Err(error) => error.as_response_error().status_code(),
        };
        counts.count(route, method, status.as_u16());
    }
    answered
}
