//! Callers whose downloads are being counted.

use crate::share_expiry::{DownloadAdmission, ShareError};
use tokio::sync::oneshot;

/// The callers whose downloads are being counted.
pub(crate) type DownloadWaiters = Vec<oneshot::Sender<Result<DownloadAdmission, ShareError>>>;
