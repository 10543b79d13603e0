//! Requests of nodes that are no members yet.

use reelyard_core::cluster_id::StoreId;
use reelyard_protocol::cluster::{FormatLevels, JoinRequest, JoinSecret};
use reelyard_replication::FORMAT_LEVEL;

use super::support::*;
use crate::transport::{JoinFailed, LinkSecurity, join_cluster};

fn request(secret: &str) -> JoinRequest {
    JoinRequest {
        secret: JoinSecret(secret.to_owned()),
        store: StoreId::from(0xb4),
        cluster_address: "127.0.0.1:8092".to_owned(),
        api_address: String::new(),
        program: "0.1.0".to_owned(),
        levels: FormatLevels { min: FORMAT_LEVEL, max: FORMAT_LEVEL },
    }
}

#[tokio::test]
async fn a_newcomer_with_the_secret_gets_a_number() {
    let member = TestNode::new(1);
    let listener = member.listen();
    let (plain, address) = (LinkSecurity::PlainOnLoopback, listener.address().to_string());
    let answer = join_cluster(&plain, &address, &request("right")).await.unwrap();
    assert_eq!((answer.number, answer.cluster), (4, identity(4).cluster));
    let refused = join_cluster(&plain, &address, &request("wrong")).await.unwrap_err();
    let JoinFailed::Refused { kind, why } = refused else { panic!("{refused}") };
    assert_eq!(kind, "secret");
    assert!(why.contains("ask for a new invitation"), "{why}");
}

#[tokio::test]
async fn a_member_that_is_not_there_is_reported() {
    let member = TestNode::new(1);
    let listener = member.listen();
    let address = listener.address().to_string();
    listener.stop().await;
    let failed = join_cluster(&LinkSecurity::PlainOnLoopback, &address, &request("right")).await;
    assert!(
        matches!(failed, Err(JoinFailed::Unreachable(ref why)) if why.contains(&address)),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_secret_leaves_this_machine_only_encrypted() {
    let failed =
        join_cluster(&LinkSecurity::PlainOnLoopback, "192.0.2.1:8082", &request("right")).await;
    let Err(JoinFailed::Unreachable(why)) = failed else { panic!("{failed:?}") };
    assert!(why.contains("outside this machine") && why.contains("cluster.tls"), "{why}");
}
