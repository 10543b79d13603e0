//! The list of files of an old cfw.

use reelyard_core::names::NameTable;
use reelyard_protocol::inventory::listing::{FileListing, ListForm};
use reqwest::header::TRANSFER_ENCODING;
use reqwest::{Method, Response};
use roaring::RoaringBitmap;

use crate::cfw_worker::calls::ask_failure::AskFailure;
use crate::cfw_worker::calls::client::{HostClient, expect_ok};
use crate::cfw_worker::lists::holdings::{Extent, InventoryAnswer};
use crate::cfw_worker::lists::list_body::ListFingerprint;

impl HostClient {
    /// `GET /files` of an old cfw. It always sends the whole list. If the list has the fingerprint
    /// `known`, its names are not read.
    pub(in crate::cfw_worker) async fn names(
        &self,
        names: NameTable,
        files: &RoaringBitmap,
        known: Option<ListFingerprint>,
    ) -> Result<InventoryAnswer, AskFailure> {
        let mut answer = self.ask_for_names().await?;
        if let Some(known) = known.filter(|known| answer.content_length() == Some(known.length())) {
            if self.read_fingerprint(answer).await? == known {
                let listed = FileListing::default();
                let (extent, body) = (Extent::Unchanged, Some(known));
                return Ok(InventoryAnswer { extent, cursor: None, listed, body });
            }
            // Another list of the same length. Its bytes were not kept.
            answer = self.ask_for_names().await?;
        }
        let (listed, body) = self.read_list(answer, ListForm::Names, names, files).await?;
        Ok(InventoryAnswer { extent: Extent::Whole, cursor: None, listed, body: Some(body) })
    }

    async fn ask_for_names(&self) -> Result<Response, AskFailure> {
        let request = self.request(Method::GET, "/files");
        let answer = self.send(request, self.settings.list_timeout).await?;
        expect_ok(&answer)?;
        if !has_body_end(&answer) {
            return Err(AskFailure::Garbled(
                "the answer has neither Content-Length nor chunked encoding, so the node cannot know \
                 whether the list is complete"
                    .to_owned(),
            ));
        }
        Ok(answer)
    }
}

/// Whether a body that was cut off would be noticed. A body that ends with the connection
/// always looks complete.
fn has_body_end(answer: &Response) -> bool {
    answer.content_length().is_some() || answer.headers().contains_key(TRANSFER_ENCODING)
}
