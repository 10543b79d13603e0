//! The face of a hook's actor.

use actix::Message;

use super::settings::HookSettings;

/// Goes by these settings from now on, and tries at once what could not be told by the former.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct ChangeSettings(pub HookSettings);
