//! A setting that is changed from outside while others go by it.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;

/// Shows a setting. Clones show the same one.
pub struct LiveSetting<T>(Arc<ArcSwap<T>>);

impl<T> LiveSetting<T> {
    /// A dial that stands at `value`.
    pub fn at(value: T) -> Self {
        LiveSetting(Arc::new(ArcSwap::from_pointee(value)))
    }

    /// Where it stands. To be looked at each time: what is kept does not follow it.
    pub fn now(&self) -> Arc<T> {
        self.0.load_full()
    }

    /// Sets it to `value`, for all reads from now on.
    pub fn set(&self, value: T) {
        self.0.store(Arc::new(value));
    }
}

impl<T> From<T> for LiveSetting<T> {
    fn from(value: T) -> Self {
        LiveSetting::at(value)
    }
}

impl<T> Clone for LiveSetting<T> {
    fn clone(&self) -> Self {
        LiveSetting(Arc::clone(&self.0))
    }
}

impl<T: Default> Default for LiveSetting<T> {
    fn default() -> Self {
        LiveSetting::at(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for LiveSetting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.now().fmt(f)
    }
}
