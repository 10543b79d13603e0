//! The list of files of an old cfw.

use reelyard_core::names::NameTable;
use reelyard_protocol::inventory::listing::ListForm;
use reqwest::header::TRANSFER_ENCODING;
use reqwest::{Method, Response};

use crate::cfw_worker::calls::ask_failure::AskFailure;
use crate::cfw_worker::calls::client::{HostClient, expect_ok};
use crate::cfw_worker::lists::holdings::{Extent, InventoryAnswer};

impl HostClient {
    /// `GET /files` of an old cfw.
    pub(in crate::cfw_worker) async fn names(
        &self,
        names: NameTable,
    ) -> Result<InventoryAnswer, AskFailure> {
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
        let listed = self.read_list(answer, ListForm::Names, names).await?;
        Ok(InventoryAnswer { extent: Extent::Whole, cursor: None, listed })
    }
}

/// Whether a body that was cut off would be noticed. A body that ends with the connection
/// always looks complete.
fn has_body_end(answer: &Response) -> bool {
    answer.content_length().is_some() || answer.headers().contains_key(TRANSFER_ENCODING)
}
