//! The power of a cluster fails during a flush of one of its stores, again and again. The cluster itself goes on: each
//! failure leaves images of its disks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;
use reelyard_journal::StoreObserver;
use tempfile::TempDir;

use crate::probes::journal_power::Plug;

/// The rest of a cluster after the power of all nodes failed at one moment.
#[derive(Debug)]
pub struct PowerFailure {
    /// The node whose flush was under way.
    pub flushing: u64,
    /// A state that the disk of each node may hold. Together these nodes are a quorum.
    pub images: BTreeMap<u64, TempDir>,
    /// The commits that were acknowledged before.
    pub acknowledged: Vec<u64>,
}

/// The disks of a cluster. Clones share the same disks.
#[derive(Clone, Debug)]
pub struct ClusterPower(Arc<Mutex<PowerState>>);

#[derive(Debug)]
struct PowerState {
    plugs: BTreeMap<u64, Arc<Plug>>,
    /// The nodes at whose flushes the power fails.
    flushing: Vec<u64>,
    /// Each of these is a quorum together with each node of `flushing`. With a node that is not one of them, all are.
    others: Vec<u64>,
    failures: Vec<PowerFailure>,
    acknowledged: Vec<u64>,
    rng: Rng,
}

impl ClusterPower {
    /// Power for a cluster without nodes. The same `seed` damages the same images in the same way.
    pub fn new(seed: u64) -> Self {
        ClusterPower(Arc::new(Mutex::new(PowerState {
            plugs: BTreeMap::new(),
            flushing: Vec::new(),
            others: Vec::new(),
            failures: Vec::new(),
            acknowledged: Vec::new(),
            rng: Rng::with_seed(seed),
        })))
    }

    /// Observes the store of `node` in `dir` from now on.
    pub fn plug_in(&self, node: u64, dir: &Path) -> Arc<dyn StoreObserver> {
        self.state().plugs.insert(node, Plug::of(dir));
        Arc::new(PluggedNode { power: self.clone(), node })
    }

    /// Remembers a commit that is acknowledged: each later image must hold it.
    pub fn acknowledged(&self, id: u64) {
        self.state().acknowledged.push(id);
    }

    /// Lets the power fail at each flush of these nodes. An image of one of the others is taken with each, and images of
    /// all others if the flushing node is not one of them.
    pub fn fail_at_flushes_of(&self, flushing: &[u64], others: &[u64]) {
        let mut state = self.state();
        state.flushing = flushing.to_vec();
        state.others = others.to_vec();
    }

    /// Lets the power fail no more, and answers the failures so far.
    pub fn failures(&self) -> Vec<PowerFailure> {
        let mut state = self.state();
        state.flushing.clear();
        std::mem::take(&mut state.failures)
    }

    fn state(&self) -> MutexGuard<'_, PowerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PowerState {
    fn fail(&mut self, flushing: u64) {
        let others: Vec<u64> =
            self.others.iter().copied().filter(|other| *other != flushing).collect();
        let mut images = BTreeMap::new();
        let with = match others.len() == self.others.len() {
            true => others,
            false => self.rng.choice(others).into_iter().collect(),
        };
        for node in std::iter::once(flushing).chain(with) {
            let image = TempDir::new().unwrap_or_else(|error| panic!("an image: {error}"));
            self.plugs[&node].pull(image.path(), &mut self.rng);
            images.insert(node, image);
        }
        let acknowledged = self.acknowledged.clone();
        self.failures.push(PowerFailure { flushing, images, acknowledged });
    }
}

/// The store of one node. No other store ends a flush while images are taken, so the images are of one moment.
#[derive(Debug)]
struct PluggedNode {
    power: ClusterPower,
    node: u64,
}

impl PluggedNode {
    fn flushed(&self, record: impl Fn(&Plug)) {
        let mut state = self.power.state();
        if state.flushing.contains(&self.node) {
            state.fail(self.node);
        }
        record(&state.plugs[&self.node]);
    }
}

impl StoreObserver for PluggedNode {
    fn store_synced(&self) {
        self.flushed(|plug| plug.store_synced());
    }

    fn mark_synced(&self) {
        self.flushed(|plug| plug.mark_synced());
    }
}
