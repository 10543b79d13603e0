//! The table of all hosts.

mod model;
mod query;
mod render;
mod rows;

pub use model::{
    HostCondition, HostLine, HostModeWord, HostRoleWord, HostTotals, HostsPageModel, LinkShare,
};
pub use query::{HealthFilter, HostsPageQuery, ModeFilter, RoleFilter};
pub use render::{hosts_sentence, live_head, render};
pub use rows::{host_row, host_rows};
