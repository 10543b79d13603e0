//! The record of this node in the log. Other nodes and clients find the node by it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use reelyard_journal::Journal;
use reelyard_replication::{FORMAT_LEVEL, Member, MemberRecord, NodeIdentity};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::config::NodeConfig;

/// Pause after a change that was not possible, for example because of another one.
const RETRY: Duration = Duration::from_secs(1);

/// The record that this node wants in the log.
pub fn own_record(identity: NodeIdentity, config: &NodeConfig, api_address: &str) -> MemberRecord {
    MemberRecord {
        store: Some(identity.store),
        cluster_address: config.cluster.public_address().unwrap_or_default(),
        api_address: api_address.to_owned(),
        format_level: FORMAT_LEVEL,
        numbers_given: 0,
    }
}

/// The URL of the API of the node that listens on `listen`. Without a name of its own, the API of all interfaces
/// is reached at the host of the cluster address.
pub fn own_url(config: &NodeConfig, listen: SocketAddr) -> String {
    let scheme = if config.tls.is_on() { "https" } else { "http" };
    if let Some(name) = config.http.names.first() {
        return format!("{scheme}://{}:{}", name.as_str(), listen.port());
    }
    if !listen.ip().is_unspecified() {
        return format!("{scheme}://{listen}");
    }
    let of_cluster = config.cluster.public_address();
    match of_cluster.as_deref().and_then(|address| address.rsplit_once(':')) {
        Some((host, _)) => format!("{scheme}://{host}:{}", listen.port()),
        None => format!("{scheme}://{}:{}", Ipv4Addr::LOCALHOST, listen.port()),
    }
}

/// Puts the wanted record into the log whenever another one is there. A node with a new address calls the leader, which
/// could not find it otherwise.
pub async fn keep(journal: Journal, mut wanted: watch::Receiver<MemberRecord>) {
    let (mut leadership, mut members) = (journal.leadership(), journal.member_changes());
    loop {
        let own = wanted.borrow_and_update().clone();
        leadership.mark_unchanged();
        let present = members.borrow_and_update().clone();
        let is_pending = !is_recorded(&journal, &present, own).await;
        tokio::select! {
            changed = leadership.changed() => if changed.is_err() { return },
            changed = wanted.changed() => if changed.is_err() { return },
            changed = members.changed() => if changed.is_err() { return },
            () = sleep(RETRY), if is_pending => {}
        }
    }
}

/// Whether the record is in the log. Puts it there if it is not. A node that is no member has none.
async fn is_recorded(journal: &Journal, members: &[Member], own: MemberRecord) -> bool {
    let number = journal.identity().number;
    let Some(present) = members.iter().find(|member| member.number == number) else { return true };
    let wanted = MemberRecord { numbers_given: present.record.numbers_given, ..own };
    // Without cluster.listen no other node reaches this one.
    let is_alone = members.len() == 1;
    if present.record == wanted || (wanted.cluster_address.is_empty() && !is_alone) {
        return true;
    }
    match journal.keep_record(wanted).await {
        Ok(()) => true,
        Err(error) => {
            tracing::debug!(%error, "the addresses of this node are not recorded yet");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;
    use crate::node::LoadedNodeConfig;

    #[test]
    fn an_api_on_all_interfaces_is_recorded_with_the_cluster_host() {
        let url = |set: &[&str]| {
            let set = set.iter().map(|text| (*text).to_owned()).collect();
            let loaded = LoadedNodeConfig::read(Layers { set, ..Layers::default() }).unwrap();
            own_url(&loaded.config, loaded.config.listen)
        };
        let all = "listen=0.0.0.0:8080";
        assert_eq!(url(&[all, "insecure=true"]), "http://127.0.0.1:8080");
        let in_cluster = [
            all,
            "insecure=true",
            "cluster.listen=0.0.0.0:8082",
            "cluster.address=10.0.0.1:8082",
            "cluster.insecure=true",
        ];
        assert_eq!(url(&in_cluster), "http://10.0.0.1:8080");
        assert_eq!(url(&["listen=127.0.0.2:8080"]), "http://127.0.0.2:8080");
    }
}
