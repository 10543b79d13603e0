//! Mutual TLS between nodes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::cluster_id::StoreId;
use reelyard_protocol::cluster::{FormatLevels, JoinRequest, JoinSecret, RefusalKind};
use reelyard_replication::{CallKind, CallTarget, FORMAT_LEVEL, Transport};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::support::*;
use crate::transport::{ClusterTls, LinkSecurity, join_cluster};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// An authority that signs certificates for nodes.
struct TestAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    dir: TempDir,
}

impl TestAuthority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "test");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let dir = TempDir::new().unwrap();
        std::fs::write(dir.path().join("ca.crt"), issuer.pem()).unwrap();
        TestAuthority { issuer, dir }
    }

    /// A certificate for this name that ends after these days, signed by this authority, for a node that trusts
    /// `trusted`.
    fn issue_for(&self, name: &str, days: i64, trusted: &TestAuthority) -> ClusterTls {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let now = SystemTime::now();
        let length = DAY * u32::try_from(days.abs()).unwrap();
        params.not_before = (now - DAY * 1000).into();
        params.not_after = (if days > 0 { now + length } else { now - length }).into();
        let key = KeyPair::generate().unwrap();
        let signed = params.signed_by(&key, &self.issuer).unwrap();
        let path = |end: &str| self.dir.path().join(end);
        std::fs::write(path("node.crt"), signed.pem()).unwrap();
        std::fs::write(path("node.key"), key.serialize_pem()).unwrap();
        let ca = trusted.dir.path().join("ca.crt");
        ClusterTls::read(&ca, &path("node.crt"), &path("node.key")).unwrap()
    }

    fn issue(&self, name: &str) -> LinkSecurity {
        LinkSecurity::Tls(self.issue_for(name, 90, self))
    }
}

fn node(number: u64, security: LinkSecurity) -> TestNode {
    TestNode::of(TestMember::new(number), security, Clock::system())
}

async fn call(node: &TestNode, target: &CallTarget) -> Result<Vec<u8>, String> {
    let call = node.transport.call(target, CallKind::Vote, b"hi".to_vec());
    call.await.map_err(|unreachable| unreachable.why)
}

/// The words and the kind of the refusal of this call.
async fn refused(node: &TestNode, target: &CallTarget) -> (RefusalKind, String) {
    let why = call(node, target).await.unwrap_err();
    let refusal = node.peer(target.node).unwrap().last_refusal;
    (refusal.unwrap_or_else(|| panic!("not refused: {why}")).kind, why)
}

#[tokio::test]
async fn members_with_certificates_of_one_authority_talk() {
    let authority = TestAuthority::new();
    let (first, second) =
        (node(1, authority.issue("127.0.0.1")), node(2, authority.issue("localhost")));
    let listener = second.listen();
    let port = listener.address().port();
    let by_name = CallTarget { node: 2, record: record(2, &format!("localhost:{port}")) };
    second.knows(1, record(1, "127.0.0.1:9"));
    assert_eq!(call(&first, &by_name).await.unwrap(), b"hi of node 1");
    let mut stream = first.transport.open_forward(&by_name).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"again").await.unwrap();
    tokio::io::AsyncWriteExt::flush(&mut stream).await.unwrap();
    let mut answer = [0; 15];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"again of node 1");
    // A large part needs many records of TLS.
    let part = vec![1; 1 << 20];
    let answer = first.transport.call(&by_name, CallKind::Snapshot, part).await.unwrap();
    assert_eq!(answer, b"1048576");
}

#[tokio::test]
async fn a_called_node_must_have_the_name_of_its_address() {
    let authority = TestAuthority::new();
    let (first, second) =
        (node(1, authority.issue("127.0.0.1")), node(2, authority.issue("127.0.0.9")));
    let listener = second.listen();
    let (kind, why) = refused(&first, &second.at(listener.address())).await;
    assert_eq!(kind, RefusalKind::Certificate);
    assert!(why.contains("is for another name") && why.contains("cluster certs node"), "{why}");
}

#[tokio::test]
async fn a_caller_must_have_the_name_in_the_list_of_members() {
    let authority = TestAuthority::new();
    let (first, second) =
        (node(1, authority.issue("127.0.0.7")), node(2, authority.issue("127.0.0.1")));
    let listener = second.listen();
    let target = second.at(listener.address());
    // Without a list the number cannot be checked: the node may be behind.
    call(&first, &target).await.unwrap();
    second.knows(1, record(1, "127.0.0.8:8082"));
    let forward = first.transport.open_forward(&target).await.unwrap_err();
    assert!(forward.why.contains("names 127.0.0.7, and not 127.0.0.8"), "{forward}");
    let refusal = second.peer(1).unwrap().last_refusal.unwrap();
    assert_eq!((refusal.kind, refusal.is_ours), (RefusalKind::Certificate, true));
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused_on_both_sides() {
    let (ours, theirs) = (TestAuthority::new(), TestAuthority::new());
    let second = node(2, ours.issue("127.0.0.1"));
    let listener = second.listen();
    let target = second.at(listener.address());
    // The caller trusts the listener, and not the other way round.
    let foreign = node(1, LinkSecurity::Tls(theirs.issue_for("127.0.0.1", 90, &ours)));
    let (kind, why) = refused(&foreign, &target).await;
    assert_eq!(kind, RefusalKind::Certificate, "{why}");
    let refusals = || second.transport.refusals_of_others();
    until("counted", || refusals().get(&RefusalKind::Certificate) == Some(&1)).await;
    // The caller does not trust the listener.
    let (kind, why) = refused(&node(1, theirs.issue("127.0.0.1")), &target).await;
    assert_eq!(kind, RefusalKind::Certificate);
    assert!(why.contains("unknown authority"), "{why}");
}

#[tokio::test]
async fn a_caller_without_a_certificate_is_refused() {
    let authority = TestAuthority::new();
    let second = node(2, authority.issue("127.0.0.1"));
    let listener = second.listen();
    let mut roots = RootCertStore::empty();
    roots.add(authority.issuer.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tcp = TcpStream::connect(listener.address()).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, tcp).await.unwrap();
    let mut answer = Vec::new();
    assert!(stream.read_to_end(&mut answer).await.is_err() && answer.is_empty());
    let refusals = || second.transport.refusals_of_others();
    until("counted", || refusals().get(&RefusalKind::Certificate) == Some(&1)).await;
}

#[tokio::test]
async fn an_ended_certificate_is_refused_on_both_sides() {
    let authority = TestAuthority::new();
    let ended = || LinkSecurity::Tls(authority.issue_for("127.0.0.1", -1, &authority));
    let second = node(2, authority.issue("127.0.0.1"));
    let listener = second.listen();
    let (kind, why) = refused(&node(1, ended()), &second.at(listener.address())).await;
    assert_eq!(kind, RefusalKind::Certificate, "{why}");
    let third = node(3, ended());
    let listener = third.listen();
    let first = node(1, authority.issue("127.0.0.1"));
    let (kind, why) = refused(&first, &third.at(listener.address())).await;
    assert_eq!(kind, RefusalKind::Certificate);
    assert!(why.contains("has expired"), "{why}");
}

#[tokio::test]
async fn tls_on_one_side_only_is_named_on_both_sides() {
    let authority = TestAuthority::new();
    let encrypted = |number| node(number, authority.issue("127.0.0.1"));
    let plain = |number| node(number, LinkSecurity::PlainOnLoopback);
    for (caller, called) in [(encrypted(1), plain(2)), (plain(1), encrypted(2))] {
        let listener = called.listen();
        let (kind, why) = refused(&caller, &called.at(listener.address())).await;
        assert!(matches!(kind, RefusalKind::Tls | RefusalKind::Garbage), "{kind}: {why}");
        assert!(why.contains("TLS") && why.contains("cluster.tls"), "{why}");
        let refusals = || called.transport.refusals_of_others();
        until("counted", || refusals().get(&RefusalKind::Tls) == Some(&1)).await;
    }
}

#[tokio::test]
async fn new_certificates_are_used_by_new_connections() {
    let (former, later) = (TestAuthority::new(), TestAuthority::new());
    let (first, second) = (node(1, former.issue("127.0.0.1")), node(2, former.issue("127.0.0.1")));
    let listener = second.listen();
    let target = second.at(listener.address());
    second.knows(1, record(1, "127.0.0.1:9"));
    call(&first, &target).await.unwrap();
    second.local.set_security(later.issue("127.0.0.1"));
    // The connection stays. A new one of the caller fails until it has a new certificate too.
    call(&first, &target).await.unwrap();
    assert!(first.transport.open_forward(&target).await.is_err());
    first.local.set_security(later.issue("127.0.0.1"));
    first.transport.open_forward(&target).await.unwrap();
}

#[tokio::test]
async fn a_newcomer_joins_with_a_certificate_of_the_same_authority() {
    let (authority, other) = (TestAuthority::new(), TestAuthority::new());
    let member = node(1, authority.issue("127.0.0.1"));
    let listener = member.listen();
    let request = JoinRequest {
        secret: JoinSecret("right".to_owned()),
        store: StoreId::from(9),
        cluster_address: "d.example:8082".to_owned(),
        api_address: String::new(),
        program: String::new(),
        levels: FormatLevels { min: FORMAT_LEVEL, max: FORMAT_LEVEL },
    };
    let address = listener.address().to_string();
    let security = authority.issue("d.example");
    let answer = join_cluster(&security, &address, &request).await.unwrap();
    assert_eq!(answer.number, 4);
    for refused in [other.issue("d.example"), LinkSecurity::PlainOnLoopback] {
        join_cluster(&refused, &address, &request).await.unwrap_err();
    }
}

#[test]
fn an_address_outside_is_allowed_with_certificates() {
    let security = TestAuthority::new().issue("192.0.2.1");
    let address: SocketAddr = "192.0.2.1:8082".parse().unwrap();
    assert_eq!(security.check_address(address), Ok(()));
}

#[test]
fn a_certificate_says_its_names_and_its_end() {
    let authority = TestAuthority::new();
    let tls = authority.issue_for("127.0.0.1", 20, &authority);
    assert_eq!(tls.check_own_name("127.0.0.1:8082"), Ok(()));
    let why = tls.check_own_name("10.0.0.1:8082").unwrap_err();
    assert!(why.contains("not 10.0.0.1"), "{why}");
    let now = Millis::from(SystemTime::now());
    let left = tls.ends().since(now);
    assert!(left > DAY * 19 && left <= DAY * 20, "{left:?}");
}
