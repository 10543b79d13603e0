//! Parts that every actor uses in the same way: its read view, its timers, its subscribers, and the message
//! with new settings. [`Observer`] puts them together for actors without a piece.

mod actor_timer;
mod change_settings;
mod observer;
mod subscriber_list;
mod view_handle;

pub use actor_timer::{ActorTimer, SHARED_PERIOD};
pub use change_settings::ChangeSettings;
pub use observer::{Observer, ObserverShell};
pub use subscriber_list::SubscriberList;
pub use view_handle::ViewHandle;
