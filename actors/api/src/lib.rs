//! The answers of the node's API, version 1, as servers write and clients read them.
//!
//! | call | answer |
//! |---|---|
//! | `GET /api/v1/tasks?state=&host=&blame=&since=&until=&limit=&cursor=` | [`Page`] of [`TaskView`], newest first |
//! | `POST /api/v1/tasks` with [`WantedCopy`] | [`CopyBegun`]; the file is copied now |
//! | `POST /api/v1/tasks/{id}/retry` | [`CopyBegun`]; a failed copy starts again |
//! | `GET /api/v1/tasks/{id}` | [`TaskView`] |
//! | `DELETE /api/v1/tasks/{id}` | 204; cancels a task, or drops an ended one |
//! | `GET /api/v1/hosts?role=&health=&mode=` | [`Page`] of [`HostView`], by address |
//! | `GET /api/v1/hosts/{host}` | [`HostView`] |
//! | `PUT /api/v1/hosts/{host}` with [`WantedRole`] | [`HostChange`]; the host is added |
//! | `DELETE /api/v1/hosts/{host}` | [`HostChange`]; a host that was added is removed |
//! | `PUT /api/v1/hosts/{host}/mode` with [`WantedMode`] | [`HostChange`] |
//! | `POST /api/v1/hosts/{host}/reset` | [`HostReset`]; its breakers are closed |
//! | `POST /api/v1/hosts/{host}/adopt` | [`HostAdopted`]; a worker obeys this cluster |
//! | `GET /api/v1/files?prefix=&state=&host=&hot=&limit=&cursor=` | [`Page`] of [`FileView`], best first |
//! | `GET /api/v1/files/{name}/explain` | [`ExplainView`]; the name percent-encoded, of any bytes |
//! | `GET /api/v1/plan` | [`PlanView`] |
//! | `POST /api/v1/config/reload?dry_run=` | [`ReloadView`]; the node's configuration is read again |
//! | `GET /api/v1/removals` | [`RemovalsView`] |
//! | `POST /api/v1/removals` | 202; the Remover looks at all copies now |
//! | `GET /api/v1/pins?limit=&cursor=` | [`Page`] of [`PinView`], by name |
//! | `PUT`, `DELETE /api/v1/files/{name}/pin` | [`PinSet`] |
//! | `POST /api/v1/shares` with [`WantedShare`] | 201, [`ShareShown`]; creates a link |
//! | `GET /api/v1/shares?owner=&path=&state=&due_before=&limit=&cursor=` | [`Page`] of [`ShareShown`], unordered |
//! | `GET`, `PATCH` with [`WantedTerms`] `/api/v1/shares/{id}` | [`ShareShown`] |
//! | `DELETE /api/v1/shares/{id}?hard=` | 204; the share is revoked |
//! | `POST /api/v1/shares/revoke` with [`WantedRevocation`] | number of revoked shares |
//! | `GET`, `PUT` with [`WantedReclaim`] `/api/v1/shares/reclaim` | [`ReclaimView`] |
//! | `POST /api/v1/shares/clock/confirm` | [`ReclaimView`] |
//! | `GET /api/v1/shares/hooks` | [`Page`] of [`HookShown`], by name |
//! | `GET /api/v1/shares/events?from=` | [`ChangeEvent`]s about shares, as server-sent events |
//! | `POST /api/v1/files/move` with [`WantedMove`] | [`Moved`](reelyard_shares::share_expiry::Moved); its shares follow |
//! | `GET /api/v1/files/moves` | [`Page`] of [`MoveShown`]: those in progress |
//! | `GET /api/v1/pools` | [`Page`] of [`PoolShown`], by name |
//! | `GET`, `PUT` with [`WantedPool`] `/api/v1/pools/{pool}` | [`PoolShown`]; 201 where it was created |
//! | `DELETE /api/v1/pools/{pool}?revoke=` | [`PoolRemoval`] |
//! | `POST /api/v1/pools/{pool}/adopt` | [`PoolAdoption`] |
//! | `POST /api/v1/pools/{pool}/leases` with [`WantedLease`] | 201, [`Granted`]; or server-sent events, if the client accepts them |
//! | `GET /api/v1/pools/{pool}/leases?holder=&limit=&cursor=` | [`Page`] of [`LeaseShown`], by box |
//! | `POST /api/v1/pools/{pool}/recheck` | 202; the host checks the free boxes |
//! | `GET /api/v1/pools/{pool}/boxes?state=&limit=&cursor=` | [`Page`] of [`BoxShown`], by number |
//! | `GET /api/v1/pools/{pool}/boxes/{number}` | [`BoxShown`] |
//! | `POST /api/v1/pools/{pool}/boxes/{number}/quarantine` with [`WantedQuarantine`] | [`BoxShown`] |
//! | `POST /api/v1/pools/{pool}/boxes/{number}/unquarantine` | [`BoxShown`] |
//! | `GET /api/v1/pools/{pool}/audit?holder=&token=&what=&limit=&cursor=` | [`Page`] of [`AuditLine`], newest first |
//! | `GET /api/v1/pools/{pool}/boxes/{number}/audit?holder=&token=&what=&limit=&cursor=` | the same for one box |
//! | `GET /api/v1/leases/{id}` | [`LeaseShown`], live or ended |
//! | `POST /api/v1/leases/{id}/renew` with [`WantedRenewal`] | [`LeaseTold`] |
//! | `POST /api/v1/leases/{id}/release` with [`LeaseToken`] | [`LeaseEnded`] |
//! | `POST /api/v1/leases/{id}/verify` with [`LeaseToken`] | [`LeaseVerified`] |
//! | `POST /api/v1/leases/{id}/revoke` with [`WantedLeaseRevocation`] | [`LeaseEnded`] |
//! | `GET /api/v1/history?file=&host=&what=&limit=&cursor=` | [`Page`] of [`HistoryLine`], newest first |
//! | `GET /api/v1/status` | [`StatusView`] |
//! | `GET /api/v1/events?kinds=` | [`ChangeEvent`]s as they happen, as server-sent events |
//! | `GET /api/v1/openapi.json` | all of this as an OpenAPI document, made of these types |
//!
//! `state` is the state of a task, or `open` for all tasks that have not ended. A page has 100 items unless
//! `limit` sets another number, which is at most 1000. Every path with GET also accepts HEAD. A call refuses
//! parameters that it does not know.
//!
//! The answer to a failed call is a [`Problem`]. Instants are Unix milliseconds. Durations are whole
//! milliseconds or microseconds; their names say which. Sizes are bytes. Requests, and the answers about
//! boxes and shares, use RFC 3339 for instants and texts such as "10s" for durations. Optional members are
//! missing, never null. This version of the API can get more members and loses none.

mod boxes;
mod change;
mod config;
mod instant;
mod page;
mod request_name;
mod shares;
mod span;
mod status;
mod yard;

pub use boxes::box_shown::{AuditLine, BoxShown, CareKind, CareShown, WantedQuarantine};
pub use boxes::lease::{
    Granted, LeaseEnded, LeaseShown, LeaseState, LeaseToken, LeaseTold, LeaseVerified, WaitShown,
    WantedLease, WantedLeaseRevocation, WantedRenewal,
};
pub use boxes::pool::{
    BoxesShown, PoolAdoption, PoolRemoval, PoolShown, TotalsShown, WantedPool, WantedSlots,
};
pub use change::{
    BackOffChange, Change, ChangeEvent, ChangeKind, ConfigurationChange, LeadershipChange, Reset,
    TaskChange,
};
pub use config::{ReloadView, SettingChange};
pub use instant::{BadInstant, BadTtl, Rfc3339, Ttl};
pub use page::{Cursor, Page, Problem};
pub use reelyard_boxes::box_lease::{BoxChange, LeaseOf};
pub use reelyard_core::change_feed::Missed;
pub use reelyard_shares::share_expiry::{ShareChange, ShareTold};
pub use reelyard_yard::changes::{
    HostEvent, InputChange, NAMES_TOLD, PinChange, PlacementChange, RemovalChange, TaskStep,
};
pub use shares::file_move::{MoveShown, WantedMove};
pub use shares::share::{
    Password, ReclaimView, ShareShown, TwoTerms, WantedReclaim, WantedRevocation, WantedShare,
    WantedTerms, place, term,
};
pub use shares::share_hook::{HookFailing, HookShown};
pub use span::{BadSpan, Span};
pub use status::{ActorView, BadRowView, InputState, InputView, JournalView, NodeRole, StatusView};
pub use yard::explain::ExplainView;
pub use yard::file::{FileState, FileView};
pub use yard::host::{
    BackOffView, BreakerOf, BreakerState, BreakerView, DrainView, HostAdopted, HostChange,
    HostReset, HostView, Stays, StaysView, WantedMode, WantedRole,
};
pub use yard::plan::{BackedOff, PlanView, PlannedCopy, Skipped};
pub use yard::removal::{
    Happened, HistoryLine, PinSet, PinView, RemovalView, RemovalsView, RoomSoughtView,
};
pub use yard::task::{CopyBegun, StateFilter, TaskView, WantedCopy};
