//! Roots that disappear, appear, or become other directories.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, Handler, WrapFuture};
use reelyard_core::actor_parts::Observer;
use tokio::task::spawn_blocking;

use super::ShareFiles;
use crate::share_expiry::{RecordRoots, RootId, RootName};
use crate::share_files::dirs::{IdentifiedRoots, SharedDirs};
use crate::share_files::messages::CheckRoots;

/// The reason for each root that cannot be reached.
type UnreachableRoots = BTreeMap<RootName, String>;

/// A look at all roots.
struct RootLook {
    /// Roots that were opened.
    came: Vec<RootName>,
    unreachable: UnreachableRoots,
    identified: IdentifiedRoots,
}

/// Opens roots that have appeared, and reports the roots that still cannot be reached. The roots in
/// `shared` have shares. Roots that are not in `known` get ids. Blocks on the disk.
fn look(
    dirs: &SharedDirs,
    shared: &BTreeSet<RootName>,
    known: Option<&BTreeMap<RootName, RootId>>,
) -> RootLook {
    let came = dirs.reopen_changed();
    let identified = known.map(|known| dirs.identify(known)).unwrap_or_default();
    let why = |name: RootName| {
        let why = dirs.unreachable(&name, shared.contains(&name))?;
        Some((name, why))
    };
    let unreachable = dirs.names().into_iter().filter_map(why).collect();
    RootLook { came, unreachable, identified }
}

impl ShareFiles {
    /// Checks all roots, unless a check is running, because a disk may hang.
    pub(super) fn look_at_roots(&mut self, ctx: &mut Context<Self>) {
        // Also while a look hangs on a disk.
        let dirs = self.dirs();
        if std::mem::replace(&mut self.looking_at_roots, true) {
            return;
        }
        let shared = self.shared.clone();
        let record = self.others.record_roots.clone();
        let is_recording = self.leads() && self.others.members.borrow().len() > 1;
        let known = is_recording.then(|| Arc::clone(&self.others.shares.view().root_ids));
        let looking = async move {
            let looked =
                spawn_blocking(move || look(&dirs, &shared, known.as_deref())).await.ok()?;
            let found = looked.identified.found.clone();
            if !found.is_empty() {
                // If it fails, the next look tries again.
                let _ = record.recipient().send(RecordRoots { found }).await;
            }
            Some(looked)
        };
        ctx.spawn(looking.into_actor(self).map(|looked, files, _| {
            files.looking_at_roots = false;
            if let Some(RootLook { came, unreachable, identified }) = looked {
                files.publish_roots(came, &unreachable);
                files.publish_unidentified(identified.failed);
                files.publish_view();
            }
        }));
    }

    /// Records which roots have no id, and logs the changes.
    fn publish_unidentified(&mut self, failed: BTreeMap<RootName, String>) {
        for (root, why) in &failed {
            if !self.view.unidentified.contains_key(root) {
                tracing::warn!(%root, why, "root without an id: no node notices if its directory is another one");
            }
        }
        self.view.unidentified = failed;
    }

    /// Records which roots cannot be reached, and logs the changes. The roots `came` were opened.
    pub(super) fn publish_roots(
        &mut self,
        came: impl IntoIterator<Item = RootName>,
        unreachable: &UnreachableRoots,
    ) {
        for (root, why) in unreachable {
            if !self.view.unreachable.contains_key(root) {
                tracing::warn!(%root, why, "root unreachable: none of its shares end as removed");
            }
        }
        let mut back: BTreeSet<RootName> = self.view.unreachable.keys().cloned().collect();
        back.extend(came);
        for root in back.iter().filter(|root| !unreachable.contains_key(root)) {
            tracing::info!(%root, "root reachable again");
        }
        self.view.unreachable.clone_from(unreachable);
    }
}

impl Handler<CheckRoots> for ShareFiles {
    type Result = ();

    fn handle(&mut self, _: CheckRoots, ctx: &mut Context<Self>) {
        self.look_at_roots(ctx);
    }
}
