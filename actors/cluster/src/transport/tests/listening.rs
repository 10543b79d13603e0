//! Start and stop of the listener.

use reelyard_replication::{CallKind, Transport};

use super::support::*;
use crate::transport::{LinkSecurity, ListenError, ListenerLimits};

#[tokio::test]
async fn a_listener_moves_to_another_address_at_run_time() {
    let (first, second, listener, target) = pair();
    let call = |target| first.transport.call(&target, CallKind::Vote, b"hi".to_vec());
    call(target.clone()).await.unwrap();
    let other = second.listen();
    let former = listener.address();
    listener.stop().await;
    until("its connections have ended", || second.peer(1).unwrap().connections == 0).await;
    call(second.at(other.address())).await.unwrap();
    let _again = second.listen_on(former, ListenerLimits::default());
}

#[test]
fn without_tls_only_this_machine_is_served() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:8082"] {
        let refused = LinkSecurity::PlainOnLoopback.check_address(address.parse().unwrap());
        let why = refused.unwrap_err();
        assert!(why.contains("cluster.tls.ca_file") && why.contains("127.0.0.1:8082"), "{why}");
        assert_eq!(LinkSecurity::PlainEverywhere.check_address(address.parse().unwrap()), Ok(()));
    }
    for address in ["127.0.0.1:0", "127.9.9.9:1", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
        assert_eq!(LinkSecurity::PlainOnLoopback.check_address(address.parse().unwrap()), Ok(()));
    }
}

#[tokio::test]
async fn an_address_in_use_is_reported_with_its_value() {
    let node = TestNode::new(1);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = node.try_listen(address, ListenerLimits::default()).unwrap_err();
    assert!(matches!(error, ListenError::Bind { .. }));
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}
