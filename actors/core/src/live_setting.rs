//! A setting that can be changed while other threads use it.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;

/// Shows a setting. Clones show the same one.
pub struct LiveSetting<T>(Arc<ArcSwap<T>>);

impl<T> LiveSetting<T> {
    /// A setting with `value`.
    pub fn at(value: T) -> Self {
        LiveSetting(Arc::new(ArcSwap::from_pointee(value)))
    }

    /// The current value. Read it at each use: a stored value does not follow changes.
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
