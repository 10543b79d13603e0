//! Refuses requests that a browser sends for a foreign page: with a foreign name of this server, or from a foreign
//! origin. A page of another site can otherwise reach a server on loopback (DNS rebinding).

use std::net::IpAddr;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderValue};
use actix_web::http::uri::Authority;
use actix_web::middleware::Next;
use actix_web::{HttpRequest, web};
use reelyard_api::ProblemKind;
use reelyard_core::settings::HostName;

use super::forwarding::ForwardedBy;
use super::problem::ProblemResponse;

/// The names by which clients may call this server, besides `localhost` and IP addresses.
#[derive(Clone, Debug, Default)]
pub struct CalledNames(Vec<String>);

impl CalledNames {
    /// The host name of the system, and the configured names.
    pub fn new(configured: &[HostName]) -> Self {
        let system = rustix::system::uname();
        let of_system = system.nodename().to_string_lossy().to_lowercase();
        let mut names: Vec<String> =
            configured.iter().map(|name| name.as_str().to_owned()).collect();
        names.push(of_system);
        CalledNames(names)
    }

    /// Whether `host`, a name or an address without a port, means this server. An address cannot be rebound to
    /// another server.
    fn contains(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        let is_known = |name: &String| name.eq_ignore_ascii_case(host);
        is_address(host) || host.eq_ignore_ascii_case("localhost") || self.0.iter().any(is_known)
    }

    /// Checks the names in a request.
    ///
    /// # Errors
    ///
    /// The request calls another server, or another site caused it.
    fn check(&self, request: &HttpRequest) -> Result<(), ForeignRequest> {
        let headers = request.headers();
        if let Some(host) = headers.get(header::HOST) {
            let called = host_of(host).ok_or_else(|| ForeignRequest::Host(shown(host)))?;
            if !self.contains(&called) {
                return Err(ForeignRequest::Host(called));
            }
        }
        if !request.method().is_safe()
            && let Some(origin) = headers.get(header::ORIGIN)
        {
            let of_page = origin.to_str().unwrap_or_default();
            let page = of_page.split_once("://").map(|(_, page)| page).unwrap_or_default();
            let called = headers.get(header::HOST).and_then(|host| host.to_str().ok());
            // Any page can have an address as its origin, so an address must be the called one.
            let is_own = called.is_some_and(|called| called.eq_ignore_ascii_case(page));
            let name = HeaderValue::from_str(page).ok().and_then(|page| host_of(&page));
            if !is_own && !name.is_some_and(|name| !is_address(&name) && self.contains(&name)) {
                return Err(ForeignRequest::Origin(shown(origin)));
            }
        }
        Ok(())
    }
}

/// Whether a host is an IP address.
fn is_address(host: &str) -> bool {
    host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
}

/// A request that is meant for another server, or caused by another site.
#[derive(Debug, thiserror::Error)]
enum ForeignRequest {
    #[error(
        "This node is not called '{0}'. Call it by its address, or add the name to http.names and restart the \
         node."
    )]
    Host(String),
    #[error(
        "A page of '{0}' caused this request. This node changes nothing for pages of other sites."
    )]
    Origin(String),
}

/// The host in the value of a `Host` header, without the port.
fn host_of(value: &HeaderValue) -> Option<String> {
    let authority: Authority = value.to_str().ok()?.parse().ok()?;
    Some(authority.host().to_owned())
}

fn shown(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).escape_debug().to_string()
}

/// Whether the middleware [`check`] refuses a request.
pub fn is_foreign(request: &HttpRequest) -> bool {
    let names = request.app_data::<web::Data<CalledNames>>();
    names.is_some_and(|names| names.check(request).is_err())
}

/// Middleware that refuses requests for another server, and changes that a page of another site causes.
pub async fn check(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    // The node that received a forwarded request has checked it by its own names.
    let is_from_node = request.request().conn_data::<ForwardedBy>().is_some();
    if let Some(names) = request.app_data::<web::Data<CalledNames>>()
        && !is_from_node
        && let Err(foreign) = names.check(request.request())
    {
        return Err(ProblemResponse::new(ProblemKind::ForeignRequest, foreign.to_string()).into());
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use reelyard_core::settings::SettingValue;

    use super::*;

    fn refusal(names: &CalledNames, method: &str, headers: &[(&str, &str)]) -> Option<String> {
        let mut request = TestRequest::default().method(method.parse().unwrap());
        for (name, value) in headers {
            request = request.insert_header((*name, *value));
        }
        names.check(&request.to_http_request()).err().map(|foreign| foreign.to_string())
    }

    #[test]
    fn only_known_names_and_addresses_are_accepted() {
        let names = CalledNames::new(&[HostName::from_text("Yard.example").unwrap()]);
        for own in [
            "127.0.0.1:8080",
            "[::1]:8080",
            "localhost",
            "LOCALHOST:1",
            "yard.EXAMPLE:8080",
            "yard.example.",
            "10.0.0.1",
        ] {
            assert_eq!(refusal(&names, "GET", &[("host", own)]), None, "{own}");
        }
        for foreign in
            ["evil.example", "yard.example.evil:8080", "127.0.0.1.evil.example", "", "a b", "%41"]
        {
            let refused = refusal(&names, "GET", &[("host", foreign)]);
            assert!(refused.is_some_and(|why| why.contains("http.names")), "{foreign}");
        }
        assert_eq!(refusal(&names, "GET", &[]), None, "HTTP/1.0 has no Host");
    }

    #[test]
    fn a_page_of_another_site_changes_nothing() {
        let names = CalledNames::new(&[]);
        let own = [("host", "localhost:8080"), ("origin", "http://localhost:8080")];
        assert_eq!(refusal(&names, "POST", &own), None);
        let by_address = [("host", "10.0.0.1:8080"), ("origin", "https://10.0.0.1:8080")];
        assert_eq!(refusal(&names, "POST", &by_address), None);
        for origin in [
            "http://evil.example",
            "null",
            "http://localhost.evil.example",
            "localhost",
            "http://203.0.113.5",
            "http://[::1]:8080",
        ] {
            let foreign = [("host", "localhost:8080"), ("origin", origin)];
            assert!(refusal(&names, "POST", &foreign).is_some(), "{origin}");
            assert_eq!(refusal(&names, "GET", &foreign), None, "{origin}");
        }
    }
}
