//! The file or directory of a share, wherever it is.

use reelyard_protocol::cluster::shared_files::{NotPassed, SharedContents};
use reelyard_shares::share_expiry::{Share, ShareKind};

use crate::access::refusal::LinkRefusal;
use crate::access::roots::{NotOpened, OpenedShare};
use crate::other_nodes::{OtherNodes, PassedBytes, PassedFile};
use crate::state::ShareServerState;

/// Where the bytes of a shared file are.
pub(crate) enum FileSource {
    /// On the disk of this node.
    Here(OpenedShare),
    /// On the disk of another node.
    Elsewhere(Box<dyn PassedFile>),
}

impl ShareServerState {
    /// The file of a share: opened here, or found at another node if it is not here.
    pub(crate) async fn file_of(&self, share: &Share) -> Result<FileSource, LinkRefusal> {
        let why = match self.open_share(share) {
            Ok(opened) if opened.kind == ShareKind::File => return Ok(FileSource::Here(opened)),
            Ok(opened) => return Err(LinkRefusal::OtherKind { instead: opened.kind }),
            Err(why) => why,
        };
        let is_file = share.kind() == ShareKind::File;
        let Some(others) = self.others_for(&why).filter(|_| is_file) else {
            return Err(self.not_opened(share, why));
        };
        let found = others.find(share.id(), share.root().clone()).await;
        self.passed(share, why, found).map(FileSource::Elsewhere)
    }

    /// The contents of a share at another node, if they are not here.
    pub(crate) async fn contents_elsewhere(
        &self,
        share: &Share,
        why: NotOpened,
    ) -> Result<SharedContents, LinkRefusal> {
        let Some(others) = self.others_for(&why) else {
            return Err(self.not_opened(share, why));
        };
        let found = others.contents(share.id(), share.root().clone()).await;
        self.passed(share, why, found)
    }

    /// The archive of a shared directory at another node, if it is not here.
    pub(crate) async fn archive_elsewhere(
        &self,
        share: &Share,
        why: NotOpened,
    ) -> Result<PassedBytes, LinkRefusal> {
        let is_directory = share.kind() == ShareKind::Directory;
        let Some(others) = self.others_for(&why).filter(|_| is_directory) else {
            return Err(self.not_opened(share, why));
        };
        let is_checked = share.downloads().is_some();
        let found = others.archive(share.id(), share.root().clone(), is_checked).await;
        self.passed(share, why, found)
    }

    fn others_for(&self, why: &NotOpened) -> Option<&dyn OtherNodes> {
        // A mirror may be late on this node, so a missing file may be elsewhere, too.
        let may_be_there = matches!(why, NotOpened::Away(_) | NotOpened::Absent);
        self.others.as_deref().filter(|_| may_be_there)
    }

    /// Counts what another node has, or refuses what was not opened here.
    fn passed<T>(
        &self,
        share: &Share,
        why: NotOpened,
        found: Result<T, NotPassed>,
    ) -> Result<T, LinkRefusal> {
        match found {
            Ok(found) => {
                self.counts.passed.one();
                Ok(found)
            }
            Err(NotPassed::Absent) => Err(LinkRefusal::Absent),
            Err(NotPassed::NoArchive(why)) => Err(LinkRefusal::NoArchive(why)),
            Err(NotPassed::Away | NotPassed::Unknown) => Err(self.not_opened(share, why)),
        }
    }
}
