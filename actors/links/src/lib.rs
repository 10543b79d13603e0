//! Public links: serves `/s/{id}` on its own listener. Nothing of the control plane is
//! reachable there.
//!
//! Files and archives are sent from a separate runtime, so that no other task waits for a slow
//! disk. Their bytes pass through no mailbox. Pages are served by actix-web.

mod access;
mod access_log;
mod counters;
mod for_others;
mod operator_warnings;
mod other_nodes;
mod server;
mod service;
mod serving;
mod settings;
mod state;
mod tls_settings;

pub use access::passwords::{BadPassword, LONGEST_PASSWORD, hash_password, is_password};
pub use access::roots::{NotOpened, OpenedShare, Roots};
pub use access_log::{
    AccessLogPlace, AccessLogSettings, AccessLogStatus, LinkAccessLog, LinkAccessPage,
    LinkAccessReader, LinkAccessRow, LoggedAddress,
};
pub use counters::ShareServerCounters;
pub use for_others::{ArchiveForOther, FileForOther, SharedFiles};
pub use other_nodes::{OtherNodes, PassedBytes, PassedFile, Passing};
pub use server::{ShareServer, ShareServerCollaborators, ShareServerMeter};
pub use serving::pages::qr_picture;
pub use settings::{LinksConfig, PublicUrl, ShareServerSettings};
pub use tls_settings::{ApiTlsConfig, CertificateFile, ShareTlsConfig, WorkerTlsConfig};
