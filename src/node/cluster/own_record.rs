//! The record of this node in the log. Other nodes and clients find the node by it.

use std::time::Duration;

use reelyard_journal::{Journal, MemberChange};
use reelyard_replication::{FORMAT_LEVEL, MemberRecord, NodeIdentity};
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

/// Writes the wanted record into the log whenever this node leads and another one is there. The founder of a
/// cluster gets its addresses this way.
pub async fn keep(journal: Journal, mut wanted: watch::Receiver<MemberRecord>) {
    let mut leadership = journal.leadership();
    loop {
        let own = wanted.borrow_and_update().clone();
        let leads = leadership.borrow_and_update().epoch().is_some();
        let is_pending = leads && !is_recorded(&journal, own).await;
        tokio::select! {
            changed = leadership.changed() => if changed.is_err() { return },
            changed = wanted.changed() => if changed.is_err() { return },
            () = sleep(RETRY), if is_pending => {}
        }
    }
}

/// Whether the record is in the log. Writes it if it is not.
async fn is_recorded(journal: &Journal, own: MemberRecord) -> bool {
    let number = journal.identity().number;
    let present = journal.members().into_iter().find(|member| member.number == number);
    let Some(present) = present else { return false };
    let wanted = MemberRecord { numbers_given: present.record.numbers_given, ..own };
    if present.record == wanted {
        return true;
    }
    match journal.change_members(MemberChange::SetAddresses { number, record: wanted }).await {
        Ok(()) => true,
        Err(error) => {
            tracing::debug!(%error, "the addresses of this node are not recorded yet");
            false
        }
    }
}
