//! The read view of an actor.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use tokio::sync::watch;

/// Where an actor publishes its read view, so that readers need no message. Clones share the view. It outlives
/// a restart of the actor: the next incarnation publishes to the same handle.
pub struct ViewHandle<V>(Arc<PublishedView<V>>);

struct PublishedView<V> {
    view: ArcSwap<V>,
    was_published: AtomicBool,
    news: watch::Sender<u64>,
}

impl<V> ViewHandle<V> {
    /// A handle that shows `first` until the actor publishes.
    pub fn new(first: V) -> Self {
        let (view, news) = (ArcSwap::from_pointee(first), watch::Sender::new(0));
        ViewHandle(Arc::new(PublishedView { view, was_published: AtomicBool::new(false), news }))
    }

    /// The latest view.
    pub fn load(&self) -> Arc<V> {
        self.0.view.load_full()
    }

    /// Publishes a view. Nobody who waits for [`ViewHandle::news`] wakes.
    pub fn publish(&self, view: V) {
        self.0.view.store(Arc::new(view));
        self.0.was_published.store(true, Ordering::Release);
    }

    /// Publishes a view that differs in something for which readers wait.
    pub fn publish_news(&self, view: V) {
        self.publish(view);
        self.0.news.send_modify(|count| *count += 1);
    }

    /// Whether an actor has published here, perhaps an earlier incarnation.
    pub fn was_published(&self) -> bool {
        self.0.was_published.load(Ordering::Acquire)
    }

    /// Counts the views that were published as news, for readers that wait for the next one.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.0.news.subscribe()
    }
}

impl<V> Clone for ViewHandle<V> {
    fn clone(&self) -> Self {
        ViewHandle(Arc::clone(&self.0))
    }
}

impl<V: Default> Default for ViewHandle<V> {
    fn default() -> Self {
        ViewHandle::new(V::default())
    }
}

impl<V: fmt::Debug> fmt::Debug for ViewHandle<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_each_view_and_wake_for_news_only() {
        let actor = ViewHandle::<&str>::default();
        let reader = actor.clone();
        let mut news = reader.news();
        actor.publish("same");
        assert_eq!((*reader.load(), news.has_changed().unwrap()), ("same", false));
        actor.publish_news("other");
        assert_eq!((*reader.load(), news.has_changed().unwrap()), ("other", true));
        news.mark_unchanged();
        assert!(!news.has_changed().unwrap());
    }
}
