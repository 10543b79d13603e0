//! The file of a share, wherever it is.

use reelyard_shares::share_expiry::{Share, ShareKind};

use super::other_nodes::{NotPassed, PassedFile};
use crate::access::refusal::LinkRefusal;
use crate::access::roots::{NotOpened, OpenedShare};
use crate::state::ShareServerState;

/// Where the bytes of a shared file are.
pub(crate) enum FileSource {
    /// On the disk of this node.
    Here(OpenedShare),
    /// On the disk of another node.
    Elsewhere(Box<dyn PassedFile>),
}

impl ShareServerState {
    /// The file of a share: opened here, or found at another node if the root is away here.
    pub(crate) async fn file_of(&self, share: &Share) -> Result<FileSource, LinkRefusal> {
        let why = match self.open_share(share) {
            Ok(opened) if opened.kind == ShareKind::File => return Ok(FileSource::Here(opened)),
            Ok(opened) => return Err(LinkRefusal::OtherKind { instead: opened.kind }),
            Err(why) => why,
        };
        self.find_elsewhere(share, why).await.map(FileSource::Elsewhere)
    }

    /// The file of a share at another node, if it was not opened here because the root is away.
    pub(crate) async fn find_elsewhere(
        &self,
        share: &Share,
        why: NotOpened,
    ) -> Result<Box<dyn PassedFile>, LinkRefusal> {
        let is_file = share.kind() == ShareKind::File;
        let others = self.others.as_ref().filter(|_| is_file && matches!(why, NotOpened::Away(_)));
        let Some(others) = others else { return Err(self.not_opened(share, why)) };
        match others.find(share.id(), share.root().clone()).await {
            Ok(file) => {
                self.counts.passed.one();
                Ok(file)
            }
            Err(NotPassed::Absent) => Err(LinkRefusal::Absent),
            Err(NotPassed::Away | NotPassed::Unknown) => Err(self.not_opened(share, why)),
        }
    }
}
