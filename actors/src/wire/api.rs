//! The answers of the node's API, version 1, as servers write and clients read them.
//!
//! | call | answer |
//! |---|---|
//! | `GET /api/v1/tasks?state=&host=&blame=&since=&until=&limit=&cursor=` | [`Page`] of [`TaskView`], newest first |
//! | `POST /api/v1/tasks` with [`WantedCopy`] | [`CopyBegun`]; the file is copied now |
//! | `POST /api/v1/tasks/{id}/retry` | [`CopyBegun`]; what failed is tried again now |
//! | `GET /api/v1/tasks/{id}` | [`TaskView`] |
//! | `DELETE /api/v1/tasks/{id}` | 204; the task is cancelled, an ended one is dropped |
//! | `GET /api/v1/hosts?role=&health=&mode=` | [`Page`] of [`HostView`], by address |
//! | `GET /api/v1/hosts/{host}` | [`HostView`] |
//! | `PUT /api/v1/hosts/{host}` with [`WantedRole`] | [`HostChange`]; the host is added |
//! | `DELETE /api/v1/hosts/{host}` | [`HostChange`]; a host that was added is removed |
//! | `PUT /api/v1/hosts/{host}/mode` with [`WantedMode`] | [`HostChange`] |
//! | `POST /api/v1/hosts/{host}/reset` | [`HostReset`]; its breakers are closed |
//! | `GET /api/v1/files?prefix=&state=&host=&hot=&limit=&cursor=` | [`Page`] of [`FileView`], best first |
//! | `GET /api/v1/files/{name}/explain` | [`ExplainView`]; the name percent-encoded, of any bytes |
//! | `GET /api/v1/plan` | [`PlanView`] |
//! | `POST /api/v1/config/reload?dry_run=` | [`ReloadView`]; the node's configuration is read again |
//! | `GET /api/v1/removals` | [`RemovalsView`] |
//! | `POST /api/v1/removals` | 202; all copies are looked at now |
//! | `GET /api/v1/pins?limit=&cursor=` | [`Page`] of [`PinView`], by name |
//! | `PUT`, `DELETE /api/v1/files/{name}/pin` | [`PinSet`] |
//! | `POST /api/v1/shares` with [`WantedShare`] | 201, [`ShareShown`]; a link is made |
//! | `GET /api/v1/shares?owner=&path=&state=&due_before=&limit=&cursor=` | [`Page`] of [`ShareShown`], in no order |
//! | `GET`, `PATCH` with [`WantedTerms`] `/api/v1/shares/{id}` | [`ShareShown`] |
//! | `DELETE /api/v1/shares/{id}?hard=` | 204; it is taken back |
//! | `POST /api/v1/shares/revoke` with [`WantedRevocation`] | how many have ended by it |
//! | `GET`, `PUT` with [`WantedReclaim`] `/api/v1/shares/reclaim` | [`ReclaimView`] |
//! | `GET /api/v1/shares/hooks` | [`Page`] of [`HookShown`], by name |
//! | `POST /api/v1/files/move` with [`WantedMove`] | [`Moved`](crate::share_expiry::Moved); its shares follow |
//! | `GET /api/v1/history?file=&host=&what=&limit=&cursor=` | [`Page`] of [`HistoryLine`], newest first |
//! | `GET /api/v1/status` | [`StatusView`] |
//! | `GET /api/v1/events?kinds=` | [`ChangeEvent`]s as they happen, as server-sent events |
//! | `GET /api/v1/openapi.json` | all of this as an OpenAPI document, made of these types |
//!
//! `state` is a task's state, or `open` for those that have not ended. A page has 100 items unless
//! `limit` says otherwise, and at most 1000. What may be read with GET may be asked for with HEAD.
//! A parameter that a call does not know is refused.
//!
//! Whatever goes wrong is answered with a [`Problem`]. Instants are Unix milliseconds, durations
//! whole milliseconds or microseconds (their names say which), sizes bytes. A member that may be
//! missing is left out rather than null. Members can be added in this version, none removed.

mod change;
mod config;
mod explain;
mod file;
mod file_move;
mod host;
mod page;
mod plan;
mod removal;
mod share;
mod share_change;
mod share_hook;
mod status;
mod task;

pub use change::{
    BackOffChange, Change, ChangeEvent, ChangeKind, ConfigurationChange, HostEvent, InputChange,
    LeadershipChange, Missed, NAMES_TOLD, PinChange, PlacementChange, RemovalChange, Reset,
    TaskChange, TaskStep,
};
pub use config::{ReloadView, SettingChange};
pub use explain::ExplainView;
pub use file::{FileState, FileView};
pub use file_move::WantedMove;
pub use host::{
    BackOffView, BreakerOf, BreakerState, BreakerView, DrainView, HostChange, HostReset, HostView,
    Stays, StaysView, WantedMode, WantedRole,
};
pub use page::{Cursor, Page, Problem};
pub use plan::{BackedOff, PlanView, PlannedCopy, Skipped};
pub use removal::{
    Happened, HistoryLine, PinSet, PinView, RemovalView, RemovalsView, RoomSoughtView,
};
pub use share::{
    BadInstant, BadTtl, Password, ReclaimView, Rfc3339, ShareShown, Ttl, TwoTerms, WantedReclaim,
    WantedRevocation, WantedShare, WantedTerms, place, term,
};
pub use share_change::{ShareChange, ShareTold};
pub use share_hook::{HookFailing, HookShown};
pub use status::{ActorView, BadRowView, InputState, InputView, JournalView, NodeRole, StatusView};
pub(crate) use task::optional_id_in_text;
pub use task::{CopyBegun, StateFilter, TaskView, WantedCopy};
