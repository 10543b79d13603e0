//! Roots that disappear, appear, or become other directories.

use std::collections::{BTreeMap, BTreeSet};

use actix::{ActorFutureExt, AsyncContext, Context, Handler, WrapFuture};
use reelyard_core::actor_parts::Observer;
use tokio::task::spawn_blocking;

use super::ShareFiles;
use crate::share_expiry::RootName;
use crate::share_files::dirs::SharedDirs;
use crate::share_files::messages::CheckRoots;

/// The reason for each root that cannot be reached.
type UnreachableRoots = BTreeMap<RootName, String>;

/// Opens roots that have appeared, and reports the roots that still cannot be reached. The roots in
/// `shared` have shares. Blocks on the disk.
fn look(dirs: &SharedDirs, shared: &BTreeSet<RootName>) -> (Vec<RootName>, UnreachableRoots) {
    let came = dirs.reopen_changed();
    let why = |name: RootName| {
        let why = dirs.unreachable(&name, shared.contains(&name))?;
        Some((name, why))
    };
    (came, dirs.names().into_iter().filter_map(why).collect())
}

impl ShareFiles {
    /// Checks all roots, unless a check is running, because a disk may hang.
    pub(super) fn look_at_roots(&mut self, ctx: &mut Context<Self>) {
        if std::mem::replace(&mut self.looking_at_roots, true) {
            return;
        }
        let (dirs, shared) = (self.dirs.clone(), self.shared.clone());
        let looking = spawn_blocking(move || look(&dirs, &shared));
        ctx.spawn(looking.into_actor(self).map(|looked, files, _| {
            files.looking_at_roots = false;
            if let Ok((came, unreachable)) = looked {
                files.publish_roots(came, &unreachable);
                files.publish_view();
            }
        }));
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
