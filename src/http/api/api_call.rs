//! One call of the API: its route and its documentation.

use std::any::type_name;
use std::collections::BTreeSet;

use actix_web::http::Method;
use actix_web::{FromRequest, Handler, HttpResponse, Responder, Route, guard, middleware, web};
use reelyard_api::{API, ProblemKind, ProblemSet};
use utoipa::__dev::{SchemaReferences, Tags};
use utoipa::openapi::path::{HttpMethod, Operation};
use utoipa::openapi::{RefOr, Schema};

use crate::http::access::{self, CallRights};
use crate::http::forwarding::LeaderNeed;
use crate::http::problem::{OF_EVERY_BODY, OF_EVERY_CALL, OF_EVERY_READ, Refusal};

/// The answer of a handler. Its type names the problems that the call can answer.
pub trait Answer {
    type Problems: ProblemSet;
}

impl<T, S: ProblemSet> Answer for Result<T, Refusal<S>> {
    type Problems = S;
}

impl<T> Answer for web::Json<T> {
    type Problems = ();
}

impl Answer for HttpResponse {
    type Problems = ();
}

/// A call of the API: its route and its documentation.
pub struct ApiCall {
    /// Path below `/api/v1`, with `{parameters}`.
    pub path: String,
    /// GET calls also answer HEAD, unless `held` is set.
    pub method: Method,
    /// Documentation of the call in the OpenAPI document.
    pub operation: Operation,
    /// The rights that its caller needs.
    pub rights: CallRights,
    /// The problems that the call can answer.
    pub refusals: BTreeSet<ProblemKind>,
    /// Adds the schemas that `operation` refers to.
    pub schemas: fn(&mut Vec<(String, RefOr<Schema>)>),
    /// Whether the answer may be held for long. Such a call does not support HEAD.
    held: bool,
    handled: Box<dyn FnOnce(Route) -> Route>,
}

impl ApiCall {
    /// The call that `P` documents and `handler` answers, for callers with these rights.
    pub fn of<P, F, Args>(rights: CallRights, handler: F) -> Self
    where
        P: utoipa::Path + SchemaReferences + for<'t> Tags<'t>,
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + Answer + 'static,
    {
        assert_eq!(
            type_name::<P>().replace("__path_", ""),
            type_name::<F>(),
            "a handler has the documentation of another one"
        );
        let method = match P::methods().first() {
            Some(HttpMethod::Post) => Method::POST,
            Some(HttpMethod::Put) => Method::PUT,
            Some(HttpMethod::Delete) => Method::DELETE,
            Some(HttpMethod::Patch) => Method::PATCH,
            _ => Method::GET,
        };
        let mut operation = P::operation();
        operation.tags = Some(P::tags().into_iter().map(str::to_owned).collect());
        let mut refusals = BTreeSet::from(OF_EVERY_CALL);
        refusals.extend(<F::Output as Answer>::Problems::kinds());
        if method == Method::GET {
            refusals.extend(OF_EVERY_READ);
        }
        if operation.request_body.is_some() {
            refusals.extend(OF_EVERY_BODY);
        }
        let path = P::path();
        refusals.extend(refused_on_the_way(&method, &path));
        ApiCall {
            path,
            method,
            operation,
            rights,
            refusals,
            schemas: <P as SchemaReferences>::schemas,
            held: false,
            handled: Box::new(move |route| route.to(handler)),
        }
    }

    /// For a call whose answer may be held for long.
    pub fn held(mut self) -> Self {
        self.held = true;
        self
    }

    /// The value of the header `Allow`. A call with GET also supports HEAD; the server omits the
    /// body.
    pub fn allow(&self) -> String {
        if self.is_read() { "GET, HEAD".to_owned() } else { self.method.to_string() }
    }

    /// The route of the call for actix.
    pub fn route(self) -> Route {
        let route = if self.is_read() { read() } else { web::method(self.method.clone()) };
        let needed = self.rights.clone();
        let check = middleware::from_fn(move |request, next| {
            access::authorize(needed.clone(), request, next)
        });
        (self.handled)(route).wrap(check)
    }

    fn is_read(&self) -> bool {
        self.method == Method::GET && !self.held
    }
}

/// The problems of a call that goes to the leader, if it does not get there or is not answered.
fn refused_on_the_way(method: &Method, path: &str) -> Vec<ProblemKind> {
    if LeaderNeed::of(method, &format!("{API}{path}")) == LeaderNeed::None {
        return Vec::new();
    }
    let mut kinds = vec![ProblemKind::NotLeader, ProblemKind::Busy];
    if !method.is_safe() {
        kinds.push(ProblemKind::OutcomeUnknown);
    }
    kinds
}

/// A route for GET and HEAD.
pub fn read() -> Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}
