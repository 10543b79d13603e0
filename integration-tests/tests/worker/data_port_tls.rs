//! Copies from a source with TLS by orders that do not say so: from earlier nodes, or to earlier workers.

use std::path::Path;

use reelyard_file_server::certificate::Certificate;
use reelyard_integration_tests::rigs::tls::private_authority::PrivateAuthority;
use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, started};
use reelyard_protocol::tls::TrustedAuthorities;
use reelyard_protocol::worker::{Blame, ReportedState, TaskOrder};

/// Copies from a source with TLS, also on `listen` if wanted. Returns the end of the copy.
async fn end_with(
    listen_tls: bool,
    change: impl Fn(TaskOrder, &Rig) -> TaskOrder,
) -> ReportedState {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let authority = PrivateAuthority::make(source.place.path().join("certs")).unwrap();
    let own = authority.host(&[&source.host.ip().to_string()]).unwrap();
    let own = Certificate::read(Path::new(&own.certificate), Path::new(&own.key)).unwrap();
    source.master(b"a.mpg", 100_000);
    let mut settings = source.source();
    settings.certificate = Some(own.clone()).filter(|_| listen_tls);
    settings.data_certificate = Some(own);
    let serving = started(settings).await;
    let mut settings = destination.destination(&node.url);
    settings.authorities = TrustedAuthorities::read(Path::new(&authority.ca())).unwrap();
    let fetching = started(settings).await;
    node.order(change(source.order(1, b"a.mpg"), &source));
    let end = node.end_of(1).await;
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
    end
}

/// The data port of the rig.
fn data_port(source: &Rig) -> std::net::SocketAddr {
    let mut addr = source.host.socket();
    addr.set_port(addr.port() + 1);
    addr
}

#[actix::test]
async fn a_plain_request_to_a_port_with_tls_fails_in_words() {
    let end = end_with(true, |order, source| {
        let source_data = Some(data_port(source));
        TaskOrder { source_data, ..order }
    });
    let ReportedState::Failed { blame, reason } = end.await else { panic!("it needs TLS") };
    assert_eq!(blame, Blame::Source, "{reason}");
    assert!(reason.contains("426 for the master") && reason.contains("use https"), "{reason}");
}

#[actix::test]
async fn the_source_itself_says_that_its_data_port_has_tls() {
    let end = end_with(false, |order, _| order).await;
    assert!(matches!(end, ReportedState::Done { .. }), "{end:?}");
    let end = end_with(true, |order, _| TaskOrder { source_tls: true, ..order }).await;
    assert!(matches!(end, ReportedState::Done { .. }), "{end:?}");
}

#[actix::test]
async fn a_port_without_tls_is_not_used_instead() {
    let end = end_with(true, |order, source| {
        // The other end has no TLS.
        let plain = std::net::TcpListener::bind((source.host.ip(), 0)).unwrap();
        let addr = plain.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in plain.incoming().flatten() {
                let _ = std::io::Write::write_all(&mut &stream, b"HTTP/1.1 400 Bad\r\n\r\n");
            }
        });
        TaskOrder { source_data: Some(addr), source_data_tls: true, ..order }
    });
    let ReportedState::Failed { blame, reason } = end.await else { panic!("it needs TLS") };
    assert_eq!(blame, Blame::Source, "{reason}");
    assert!(reason.contains("answers without TLS"), "{reason}");
}
