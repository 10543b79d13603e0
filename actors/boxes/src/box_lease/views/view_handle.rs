//! The readers' access to boxes: they read the table itself, without a mailbox and without a published
//! copy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use reelyard_core::actor_parts::ViewHandle;
use reelyard_protocol::boxes::{BoxNumber, FenceToken, Holder, LeaseId, PoolName};

use super::box_lease_view::BoxView;
use crate::box_lease::state::audit::{self, AuditCursor, AuditEntry, AuditFilter};
use crate::box_lease::state::box_table::{FoundLease, SharedTable};
use crate::box_lease::state::event::{BoxLogEntry, BoxRefusal};
use crate::box_lease::state::leases::lease::{EndedLease, Lease};
use crate::box_lease::state::pools::pool::{BoxCounts, BoxRecord, PoolTotals};
use crate::box_lease::state::pools::spec::PoolSpec;

/// The most lines of one page.
pub const LARGEST_PAGE: usize = 1000;

/// How many lines a list reads before it returns a page.
const LOOKED_AT: usize = 20_000;

/// The readers' handle on the boxes. Clones share it, and it outlives a restart of the actor.
#[derive(Clone, Default)]
pub struct BoxViewHandle(Arc<BoxViewShared>);

#[derive(Default)]
struct BoxViewShared {
    table: ArcSwap<SharedTable>,
    is_up: AtomicBool,
    view: ViewHandle<BoxView>,
}

/// A pool with its counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolStatus {
    /// The name of the pool.
    pub name: PoolName,
    /// The wanted specification.
    pub spec: Arc<PoolSpec>,
    /// Whether it is removed with its last box.
    pub goes: bool,
    /// The number of boxes in each phase.
    pub counts: BoxCounts,
    /// Totals since the creation of the pool.
    pub totals: PoolTotals,
    /// The last drawn token.
    pub last_token: FenceToken,
    /// Why some of its boxes cannot be granted, if that is so.
    pub hindrance: Option<String>,
}

/// A box with its state and lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxStatus {
    /// The number of the box.
    pub number: BoxNumber,
    /// The state of the box.
    pub record: BoxRecord,
    /// Its lease, if it has one.
    pub lease: Option<Arc<Lease>>,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage<T, K> {
    /// The entries of the page.
    pub lines: Vec<T>,
    /// The start of the next part; none after the last one.
    pub next: Option<K>,
}

impl BoxViewHandle {
    /// Whether the table has every entry that this node had recorded when it started. Until then no
    /// answer about any box is possible.
    pub fn is_up(&self) -> bool {
        self.0.is_up.load(Ordering::Acquire)
    }

    /// The current table. Read it only for a moment, because events wait meanwhile.
    pub fn with_table<T>(
        &self,
        look: impl FnOnce(&crate::box_lease::state::box_table::BoxTable) -> T,
    ) -> T {
        look(&self.0.table.load().read())
    }

    /// The lease of this token, if it is live and its holder knows it: for services that guard the
    /// resource. This is the state on this node. A caller that must be certain asks the leader.
    pub fn verify(&self, lease: LeaseId, token: FenceToken) -> Result<Arc<Lease>, BoxRefusal> {
        self.with_table(|table| table.held(lease, token).cloned())
    }

    /// A live lease, or why there is none.
    pub fn lease(&self, id: LeaseId) -> Result<Arc<Lease>, BoxRefusal> {
        self.with_table(|table| table.live(id).cloned())
    }

    /// The pool and the box of a lease that is live or ended not long ago.
    pub fn box_of_lease(&self, id: LeaseId) -> Option<(PoolName, BoxNumber)> {
        self.with_table(|table| match table.find(id) {
            FoundLease::Live(lease) => Some((lease.pool.clone(), lease.number)),
            FoundLease::Ended(ended) => Some((ended.lease.pool.clone(), ended.lease.number)),
            FoundLease::Unknown => None,
        })
    }

    /// Every pool, sorted by name.
    pub fn pools(&self) -> Vec<PoolStatus> {
        self.with_table(|table| {
            let pools = table.pools().iter();
            pools.map(|(name, pool)| PoolStatus::of(name, pool)).collect()
        })
    }

    /// The pool of this name.
    pub fn pool(&self, name: &PoolName) -> Result<PoolStatus, BoxRefusal> {
        self.with_table(|table| Ok(PoolStatus::of(name, table.pool(name)?)))
    }

    /// The boxes of a pool from a number on, at most `most`, each with its lease.
    pub fn boxes(
        &self,
        name: &PoolName,
        from: BoxNumber,
        most: usize,
    ) -> Result<ListPage<BoxStatus, BoxNumber>, BoxRefusal> {
        let most = most.clamp(1, LARGEST_PAGE);
        self.with_table(|table| {
            let mut boxes = table.pool(name)?.boxes_from(from);
            let status = |(number, record): (BoxNumber, &BoxRecord)| BoxStatus {
                number,
                record: record.clone(),
                lease: table.lease_of(name, number).cloned(),
            };
            let lines = boxes.by_ref().take(most).map(status).collect();
            Ok(ListPage { lines, next: boxes.next().map(|(number, _)| number) })
        })
    }

    /// The box of this number, with its lease.
    pub fn one_box(&self, name: &PoolName, number: BoxNumber) -> Result<BoxStatus, BoxRefusal> {
        self.with_table(|table| {
            let record = table.pool(name)?.find(number);
            let record = record.ok_or_else(|| BoxRefusal::NoBox { pool: name.clone(), number })?;
            let (record, lease) = (record.clone(), table.lease_of(name, number).cloned());
            Ok(BoxStatus { number, record, lease })
        })
    }

    /// The live leases of a pool whose boxes have that number or a higher one, ordered by box. They belong
    /// to one holder or to all. At most `most`; more may follow even if a page is short.
    pub fn leases(
        &self,
        name: &PoolName,
        holder: Option<&Holder>,
        from: BoxNumber,
        most: usize,
    ) -> Result<ListPage<Arc<Lease>, BoxNumber>, BoxRefusal> {
        self.with_table(|table| {
            let mut page = ListPage { lines: Vec::new(), next: None };
            for (looked_at, (number, _)) in table.pool(name)?.boxes_from(from).enumerate() {
                if page.lines.len() == most.clamp(1, LARGEST_PAGE) || looked_at == LOOKED_AT {
                    page.next = Some(number);
                    break;
                }
                let lease = table.lease_of(name, number);
                let wanted = lease.filter(|lease| holder.is_none_or(|who| *who == lease.holder));
                page.lines.extend(wanted.cloned());
            }
            Ok(page)
        })
    }

    /// The history of boxes from a cursor on, newest first, at most `most` lines. More may follow even if
    /// a page is short.
    pub fn audit(
        &self,
        filter: &AuditFilter,
        from: AuditCursor,
        most: usize,
    ) -> ListPage<AuditEntry, AuditCursor> {
        let (ended, log) =
            self.with_table(|table| (table.ended().clone(), table.box_log().clone()));
        let most = most.clamp(1, LARGEST_PAGE);
        let (lines, next) = audit::newest((&ended, &log), filter, from, most, LOOKED_AT);
        ListPage { lines, next }
    }

    /// The ended leases of a pool or of one box before a number, newest first, at most `most`. More may
    /// follow even if a page is short.
    pub fn ended(
        &self,
        pool: &PoolName,
        number: Option<BoxNumber>,
        before: u64,
        most: usize,
    ) -> ListPage<EndedLease, u64> {
        let list = self.with_table(|table| table.ended().clone());
        newest(&list, before, most, |ended: &EndedLease| {
            ended.lease.pool == *pool && number.is_none_or(|number| ended.lease.number == number)
        })
    }

    /// The hook runs and quarantines of a pool or of one box before a number, newest first, at most `most`
    /// lines. More may follow even if a page is short.
    pub fn box_log(
        &self,
        pool: &PoolName,
        number: Option<BoxNumber>,
        before: u64,
        most: usize,
    ) -> ListPage<BoxLogEntry, u64> {
        let list = self.with_table(|table| table.box_log().clone());
        newest(&list, before, most, |line: &BoxLogEntry| {
            line.pool == *pool && number.is_none_or(|number| line.number == number)
        })
    }

    /// The current view of the actor: the waiting requests, and the counters.
    pub fn view(&self) -> Arc<BoxView> {
        self.0.view.load()
    }

    /// Lets readers read this table from now on.
    pub(in crate::box_lease) fn attach_table(&self, table: &SharedTable) {
        self.0.table.store(Arc::new(table.clone()));
        self.0.is_up.store(true, Ordering::Release);
    }

    /// Where the actor publishes its view.
    pub(in crate::box_lease) fn view_handle(&self) -> ViewHandle<BoxView> {
        self.0.view.clone()
    }
}

fn newest<T: Clone>(
    list: &reelyard_core::history::BoundedLog<T>,
    before: u64,
    most: usize,
    takes: impl Fn(&T) -> bool,
) -> ListPage<T, u64> {
    let mut page = ListPage { lines: Vec::new(), next: None };
    for (looked_at, (number, line)) in list.newest_before(before).enumerate() {
        if page.lines.len() == most.clamp(1, LARGEST_PAGE) || looked_at == LOOKED_AT {
            page.next = Some(number + 1);
            break;
        }
        if takes(line) {
            page.lines.push(line.clone());
        }
    }
    page
}

impl PoolStatus {
    fn of(name: &PoolName, pool: &crate::box_lease::state::pools::pool::Pool) -> Self {
        PoolStatus {
            name: name.clone(),
            spec: Arc::clone(pool.spec()),
            goes: pool.goes(),
            counts: pool.counts(),
            totals: pool.totals(),
            last_token: pool.last_token(),
            hindrance: pool.grant_obstacle(),
        }
    }
}
