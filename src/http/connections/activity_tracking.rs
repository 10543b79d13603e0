//! Reports the activity of connections to the connection limiter.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::HttpMessage;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::error::PayloadError;
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use futures::Stream;

use super::connection_limiter::HttpConnection;

/// Follows each request from its head to the end of its answer. Must be the outermost middleware of
/// a server.
pub async fn track_activity(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let Some(connection) = request.request().conn_data::<HttpConnection>().cloned() else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    match request.take_payload() {
        Payload::None => connection.is_answered(),
        payload => {
            connection.sends();
            let arriving = Arriving { payload, connection: connection.clone() };
            request.set_payload(Payload::Stream { payload: Box::pin(arriving) });
        }
    }
    let answered = next.call(request).await;
    let streams = answered
        .as_ref()
        .is_ok_and(|answer| matches!(answer.response().body().size(), BodySize::Stream));
    if !streams {
        connection.was_answered();
        return Ok(answered?.map_into_boxed_body());
    }
    let answer = answered?.map_into_boxed_body();
    Ok(answer.map_body(|_, body| BoxBody::new(Leaving { body, connection })))
}

/// The body of a request while it arrives.
struct Arriving {
    payload: Payload,
    connection: HttpConnection,
}

impl Stream for Arriving {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = Pin::new(&mut self.payload).poll_next(cx);
        if matches!(next, Poll::Ready(None)) {
            self.connection.is_answered();
        }
        next
    }
}

/// The body of an answer while it is sent, for example a stream of events.
struct Leaving {
    body: BoxBody,
    connection: HttpConnection,
}

impl MessageBody for Leaving {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(cx)
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.connection.was_answered();
    }
}
