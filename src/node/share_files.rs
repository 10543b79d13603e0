//! The ShareFilesActor of a node: whom it asks, and by what it goes.

use reelyard_actors::clock::Clock;
use reelyard_actors::journal::Journal;
use reelyard_actors::share_expiry::{ShareBoard, ShareExpiry};
use reelyard_actors::share_files::{Collaborators, ShareFiles, ShareFilesBoard, SharedDirs};
use reelyard_actors::supervision::{Supervised, Supervision};

use super::live::Live;
use super::settings;

/// Starts it over these directories.
pub(super) fn start(
    (live, clock): (&Live, &Clock),
    journal: &Journal,
    expiry: &Supervised<ShareExpiry>,
    shares: &ShareBoard,
    dirs: &SharedDirs,
) -> (Supervised<ShareFiles>, ShareFilesBoard) {
    let board = ShareFilesBoard::default();
    let others = Collaborators {
        shares: shares.clone(),
        recall: expiry.route(),
        begin: expiry.route(),
        settle: expiry.route(),
        end: expiry.route(),
        leadership: journal.leadership(),
    };
    let (live, clock, shown, dirs) = (live.clone(), clock.clone(), board.clone(), dirs.clone());
    let actor = Supervised::start(Supervision::of("share_files"), move || {
        let settings = settings::share_files(&live.now().config);
        let (dirs, others) = (dirs.clone(), others.clone());
        ShareFiles::new(settings, dirs, others, clock.clone(), shown.clone())
    });
    (actor, board)
}
