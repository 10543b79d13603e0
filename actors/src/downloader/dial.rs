//! A setting that is changed from outside while others go by it.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;

/// Shows a setting. Clones show the same one.
pub struct Dial<T>(Arc<ArcSwap<T>>);

impl<T> Dial<T> {
    /// A dial that stands at `value`.
    pub fn at(value: T) -> Self {
        Dial(Arc::new(ArcSwap::from_pointee(value)))
    }

    /// Where it stands. To be looked at each time: what is kept does not follow it.
    pub fn now(&self) -> Arc<T> {
        self.0.load_full()
    }

    /// Turns it to `value`, for whoever looks from now on.
    pub fn turn(&self, value: T) {
        self.0.store(Arc::new(value));
    }
}

impl<T> From<T> for Dial<T> {
    fn from(value: T) -> Self {
        Dial::at(value)
    }
}

impl<T> Clone for Dial<T> {
    fn clone(&self) -> Self {
        Dial(Arc::clone(&self.0))
    }
}

impl<T: Default> Default for Dial<T> {
    fn default() -> Self {
        Dial::at(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Dial<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.now().fmt(f)
    }
}
