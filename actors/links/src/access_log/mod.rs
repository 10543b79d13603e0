//! The access log of links: a line for each download of a known share.

mod reader;
mod record;
mod settings;
mod storage;
mod writer;

pub use reader::{LinkAccessPage, LinkAccessReader, LinkAccessRow};
pub(crate) use record::{LinkAccess, SentAnswer};
pub use settings::{AccessLogPlace, AccessLogSettings, LoggedAddress};
pub use writer::{AccessLogStatus, LinkAccessLog};
