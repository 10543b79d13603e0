//! Whether two nodes may talk, by their hellos. Pure, apart from reading the facts of this node.

use reelyard_protocol::cluster::{
    AddressedNode, ConnectionRefusal, Greeting, HelloNode, NodeHello, PROTOCOL_VERSIONS,
    ReadGreeting, RefusalKind,
};
use reelyard_replication::{CallTarget, NodeIdentity};

use super::local_node::LocalNode;

type HelloVerdict<T> = Result<T, ConnectionRefusal>;

fn refuse<T>(kind: RefusalKind, why: String) -> HelloVerdict<T> {
    Err(ConnectionRefusal::new(kind, why))
}

/// The hello in a greeting, if a version is common and the other side does not refuse.
pub(super) fn hello_in(read: ReadGreeting) -> HelloVerdict<Result<NodeHello, ConnectionRefusal>> {
    match read.greeting {
        Some(Greeting::Hello(hello)) => Ok(Ok(*hello)),
        Some(Greeting::Refused(refusal)) => Ok(Err(refusal)),
        None => refuse(
            RefusalKind::Protocol,
            format!(
                "one program knows versions {} of the calls between nodes, the other one {PROTOCOL_VERSIONS}: \
                 run versions of reelyard that follow each other",
                read.versions
            ),
        ),
    }
}

/// Checks the hello of a caller that calls as a member.
pub(super) fn check_caller(local: &LocalNode, hello: &NodeHello) -> HelloVerdict<NodeIdentity> {
    let sender = check_common(local, hello)?;
    let own = local.member().identity();
    let Some(AddressedNode { number, store }) = hello.expected else {
        return refuse(
            RefusalKind::AnotherNode,
            "the caller does not say which node it expects".to_owned(),
        );
    };
    if number != own.number {
        return refuse(
            RefusalKind::AnotherNode,
            format!(
                "this is node {}, not node {number}: check the cluster addresses of both members",
                own.number
            ),
        );
    }
    if store.is_some_and(|store| store != own.store) {
        return refuse(RefusalKind::AnotherNode, emptied(number));
    }
    if local.was_removed(sender.number) {
        return refuse(
            RefusalKind::Removed,
            format!(
                "node {0} was removed from the cluster, and no node gets number {0} again: join with an empty \
                 data_dir and a new invitation",
                sender.number
            ),
        );
    }
    let member = local.record_of(sender.number);
    let known = member.and_then(|record| record.store);
    if known.is_some_and(|known| known != sender.store) {
        return refuse(RefusalKind::AnotherStore, emptied(sender.number));
    }
    Ok(sender)
}

/// Checks the answer of a node that this one called.
pub(super) fn check_answer(
    local: &LocalNode,
    target: &CallTarget,
    hello: &NodeHello,
) -> HelloVerdict<NodeIdentity> {
    let sender = check_common(local, hello)?;
    if sender.number != target.node {
        return refuse(
            RefusalKind::AnotherNode,
            format!(
                "node {} answers at {}, not node {}: check the cluster addresses of both members",
                sender.number, target.record.cluster_address, target.node
            ),
        );
    }
    if target.record.store.is_some_and(|store| store != sender.store) {
        return refuse(RefusalKind::AnotherNode, emptied(target.node));
    }
    Ok(sender)
}

/// Checks the hello of a node that wants to join.
pub(super) fn check_newcomer(local: &LocalNode, hello: &NodeHello) -> HelloVerdict<()> {
    check_levels(local, hello)
}

fn emptied(number: u64) -> String {
    format!(
        "node {number} has another store than the member with this number: its disk was emptied or exchanged. \
         Remove it by \"reelyard cluster remove {number}\", and let it join with an empty directory"
    )
}

/// The checks of both sides.
fn check_common(local: &LocalNode, hello: &NodeHello) -> HelloVerdict<NodeIdentity> {
    let own = local.member().identity();
    let Some(HelloNode { cluster, number, store }) = hello.sender else {
        return refuse(RefusalKind::AnotherNode, "the node is no member of a cluster".to_owned());
    };
    if cluster != own.cluster {
        return refuse(
            RefusalKind::AnotherCluster,
            format!(
                "node {number} is of cluster {cluster}, and node {} is of cluster {}: check the cluster addresses",
                own.number, own.cluster
            ),
        );
    }
    if number == own.number {
        return refuse(
            RefusalKind::AnotherNode,
            format!(
                "both sides are node {number}: check the cluster addresses, and start no copy of a store"
            ),
        );
    }
    check_levels(local, hello)?;
    let times = local.member().times();
    if hello.times != times {
        return refuse(
            RefusalKind::Timing,
            format!(
                "node {number} has {}, and node {} has {times}: use the same journal.heartbeat, \
                 journal.election_min, journal.election_max and cluster.clock_bound on all nodes",
                hello.times, own.number
            ),
        );
    }
    Ok(NodeIdentity { cluster, number, store })
}

fn check_levels(local: &LocalNode, hello: &NodeHello) -> HelloVerdict<()> {
    let own = local.hello(hello.purpose, None).levels;
    if own.overlap(hello.levels) {
        return Ok(());
    }
    refuse(
        RefusalKind::FormatLevel,
        format!(
            "one program (version {}) reads format levels {}, the other one {own}: run versions of reelyard that \
             follow each other",
            hello.program, hello.levels
        ),
    )
}
