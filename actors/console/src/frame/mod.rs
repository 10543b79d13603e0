//! The frame of every page: top bar, side bar, tabs, and the head of the document.

mod navigation;
mod page;
mod refusal;
mod top_bar;

pub use navigation::{NavCounts, NavPage, may_open, side_bar, tabs};
pub use page::{FrameModel, PageParts, live_frame, live_part, live_row, page, security_policy};
pub use refusal::{REFUSAL_POLICY, RefusalPage, refusal_page};
pub use top_bar::{LiveMark, live_mark, role_words};
