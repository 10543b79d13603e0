//! Share links: what ends next, the table, and a new link.

mod form;
mod model;
mod one;
mod query;
mod render;
mod rows;

pub use form::new_link;
pub use model::{FoundPath, NewLink, ShareCondition, ShareLine, ShareTotals, SharesPageModel};
pub use one::{DownloadLine, OneSharePageModel, render_one};
pub use query::{ShareStateFilter, SharesPageQuery};
pub use render::{failing_hooks, live_head, render, sentence, timeline};
pub use rows::share_rows;
