//! Starts the ShareFilesActor of a node with its collaborators and settings.

use std::sync::Arc;

use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::Clock;
use reelyard_core::supervision::{Supervised, Supervision};
use reelyard_journal::Journal;
use reelyard_shares::share_expiry::{ShareExpiry, ShareViewHandle};
use reelyard_shares::share_files::{
    FilesElsewhere, ShareFiles, ShareFilesCollaborators, ShareFilesView, SharedDirs,
};

use crate::node::live_config::LiveConfig;

/// Starts the actor for these roots.
pub(super) fn start(
    (live, clock): (&LiveConfig, &Clock),
    journal: &Journal,
    expiry: &Supervised<ShareExpiry>,
    shares: &ShareViewHandle,
    (dirs, elsewhere): (&SharedDirs, &Arc<dyn FilesElsewhere>),
) -> (Supervised<ShareFiles>, ViewHandle<ShareFilesView>) {
    let views = ViewHandle::default();
    let others = ShareFilesCollaborators {
        shares: shares.clone(),
        recall: expiry.route(),
        begin: expiry.route(),
        settle: expiry.route(),
        end: expiry.route(),
        record_roots: expiry.route(),
        leadership: journal.leadership(),
        members: journal.member_changes(),
        elsewhere: Arc::clone(elsewhere),
    };
    let (live, clock, view_handle, dirs) =
        (live.clone(), clock.clone(), views.clone(), dirs.clone());
    let actor = Supervised::start(Supervision::of("share_files"), move || {
        let settings = live.now().config.share.files.clone();
        let (dirs, others) = (dirs.clone(), others.clone());
        ShareFiles::new(settings, dirs, others, clock.clone(), view_handle.clone())
    });
    (actor, views)
}
