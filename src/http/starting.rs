//! The answers of a node until it serves: a large journal opens for minutes.

use std::net::TcpListener;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::http::header::ACCEPT;
use actix_web::{App, HttpRequest, HttpResponse, ResponseError, middleware, web};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::connections::{
    self, CertificateSource, HttpConnectionLimiter, HttpLimits, ServerSettings,
};
use super::problem::ProblemResponse;
use super::{api, console, health};

/// A start that takes less time gives no such answers: its clients wait for the node, and are not refused.
pub const SHORT_START: Duration = Duration::from_secs(1);

/// Threads and times of the server. It keeps no connection, so that the server of the node gets all of them.
const SERVED: ServerSettings = ServerSettings {
    threads: Some(1),
    head_time: Duration::from_secs(5),
    keep_alive: Duration::ZERO,
    stop_patience_seconds: 1,
};

/// Limits of its connections. The answers are short, and refused clients get a similar one.
const LIMITS: HttpLimits = HttpLimits {
    connections: 256,
    per_address: 128,
    request_time: Duration::from_secs(5),
    stall: Duration::from_secs(5),
    least_pace: 4 << 10,
};

/// The answers on the listener of a node that is starting. They end with this value.
pub struct StartingAnswers {
    ended: oneshot::Sender<()>,
    answering: JoinHandle<()>,
}

impl StartingAnswers {
    /// Answers on this listener from `after` on. Needs an actix system.
    pub fn begin(listener: TcpListener, certificate: CertificateSource, after: Duration) -> Self {
        let (ended, mut end) = oneshot::channel();
        let answering = actix_web::rt::spawn(async move {
            if timeout(after, &mut end).await.is_ok() {
                return;
            }
            match serve(listener, certificate) {
                Ok(server) => {
                    tracing::info!("the node is starting: until it serves, it answers with 503");
                    // Also an error of the start ends the answers.
                    let _ = end.await;
                    server.stop(true).await;
                }
                Err(error) => tracing::warn!(%error, "the node answers nothing until it serves"),
            }
        });
        StartingAnswers { ended, answering }
    }

    /// Ends the answers. Then another server can use the listener.
    pub async fn end(self) {
        drop(self.ended);
        // The task does not panic.
        let _ = self.answering.await;
    }
}

fn serve(listener: TcpListener, certificate: CertificateSource) -> std::io::Result<ServerHandle> {
    let app = || {
        App::new()
            .wrap(middleware::from_fn(connections::track_activity))
            .service(web::resource("/healthz").route(api::read().to(health::healthz)))
            .service(web::resource("/readyz").route(api::read().to(not_ready)))
            .configure(console::asset_routes)
            .default_service(web::to(starting))
    };
    connections::serve(listener, &SERVED, &HttpConnectionLimiter::new(LIMITS), certificate, app)
}

/// `GET /readyz`: 503 with the reason.
async fn not_ready() -> HttpResponse {
    health::readiness(&[ProblemResponse::starting().problem().detail.clone()], &[])
}

/// A page for a browser, and the problem for a program.
async fn starting(request: HttpRequest) -> HttpResponse {
    let accepts = request.headers().get(ACCEPT).map_or(&b""[..], |accepts| accepts.as_bytes());
    match memchr::memmem::find(accepts, b"text/html") {
        Some(_) => console::starting_page(&request),
        None => ProblemResponse::starting().error_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::sync::Arc;

    use super::*;

    async fn get(at: SocketAddr, path: &'static str, header: &'static str) -> String {
        let call = move || {
            let mut stream = TcpStream::connect(at).unwrap();
            write!(stream, "GET {path} HTTP/1.1\r\nHost: node\r\n{header}\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        tokio::task::spawn_blocking(call).await.unwrap()
    }

    fn begin(listener: &TcpListener, after: Duration) -> StartingAnswers {
        StartingAnswers::begin(listener.try_clone().unwrap(), Arc::new(|| None), after)
    }

    #[test]
    fn a_starting_node_answers_until_it_serves() {
        actix_web::rt::System::new().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let at = listener.local_addr().unwrap();
            let answers = begin(&listener, Duration::ZERO);
            let problem = get(at, "/api/v1/hosts", "Accept: */*").await;
            let (head, body) = problem.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 503 "), "{problem}");
            assert!(head.to_ascii_lowercase().contains("retry-after: 1"), "{problem}");
            assert!(head.contains("application/problem+json"), "{problem}");
            assert!(body.contains("/starting\"") || body.contains(":starting\""), "{problem}");
            for (language, words) in
                [("en", "The node is starting"), ("ko", "노드가 시작 중입니다")]
            {
                let header = match language {
                    "en" => "Accept: text/html\r\nAccept-Language: en",
                    _ => "Accept: text/html\r\nAccept-Language: ko",
                };
                let page = get(at, "/console/hosts?q=a", header).await;
                assert!(page.starts_with("HTTP/1.1 503 ") && page.contains(words), "{page}");
                assert!(page.to_ascii_lowercase().contains("retry-after: 1"), "{page}");
            }
            assert!(get(at, "/healthz", "Accept: */*").await.starts_with("HTTP/1.1 200 "));
            let ready = get(at, "/readyz", "Accept: */*").await;
            assert!(ready.starts_with("HTTP/1.1 503 ") && ready.contains("is starting"), "{ready}");
            let style = reelyard_console::assets::STYLE.address();
            let style = get(at, style.leak(), "Accept: */*").await;
            assert!(style.starts_with("HTTP/1.1 200 "), "{style}");
            // The next server has the listener for itself.
            answers.end().await;
            let next = TcpListener::try_clone(&listener).unwrap();
            let app = || {
                App::new()
                    .wrap(middleware::from_fn(connections::track_activity))
                    .default_service(web::to(|| async { HttpResponse::Ok().body("served") }))
            };
            let limiter = HttpConnectionLimiter::new(LIMITS);
            let served = connections::serve(next, &SERVED, &limiter, Arc::new(|| None), app);
            assert!(get(at, "/", "Accept: text/html").await.ends_with("served"));
            served.unwrap().stop(true).await;
        });
    }

    #[test]
    fn clients_of_a_short_start_wait() {
        actix_web::rt::System::new().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            begin(&listener, Duration::from_secs(600)).end().await;
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            assert!(listener.accept().is_ok(), "nobody else took the connection");
            drop(client);
        });
    }
}
