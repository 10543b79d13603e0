//! The HTTP calls of jobs to a node. Each is a task of its own, which ends with its connection.

use std::future::Future;

use actix::dev::ToEnvelope;
use actix::{Addr, Handler, Message};
use reelyard_api::{Granted, GrantedLease};
use reelyard_boxes::box_lease::{
    AcquireRoutes, Acquisition, BoxCounts, BoxError, BoxLease, BoxLeaseRequest, PutPool,
    RevokeLease,
};
use reelyard_core::supervision::Route;
use reelyard_protocol::boxes::PoolName;
use serde::Serialize;

use super::SimulatedNode;
use super::outbox::NodeRequest;
use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::{BoxCall, SimulatedResponse};
use crate::simulation::environment::parties::Party;
use crate::simulation::scene::operator::OperatorAction;
use crate::simulation::scene::pool_name;
use crate::trace;

/// The delay before the operator repeats a request, in milliseconds.
const ASK_AGAIN_AFTER: u64 = 1500;

impl SimulatedNode {
    pub(super) fn box_call(&mut self, caller: (Party, u64), call: BoxCall) {
        let Some(process) = &self.process else { return };
        let (boxes, clock) = (process.boxes.addr.clone(), process.clock.clone());
        match call {
            BoxCall::Acquire(ask) => self.acquire(caller, ask),
            BoxCall::Renew(renew) => self.answer_later(caller, async move {
                let renewed = asked(boxes, renew).await;
                respond(200, renewed.map(|lease| GrantedLease::of(&lease, clock.now())))
            }),
            BoxCall::Release(release) => {
                self.answer_later(caller, async move { respond(200, asked(boxes, release).await) });
            }
            BoxCall::HangUp => {
                if let Some(task) = self.open_calls.remove(&caller) {
                    task.abort();
                }
            }
        }
    }

    fn acquire(&mut self, caller: (Party, u64), ask: BoxLeaseRequest) {
        let Some(process) = &self.process else { return };
        let (boxes, clock) = (&process.boxes.addr, process.clock.clone());
        let routes = AcquireRoutes {
            acquire: Route::fixed(boxes.clone().recipient()),
            leave: Route::fixed(boxes.clone().recipient()),
        };
        self.answer_later(caller, async move {
            let granted = match Acquisition::begin(&routes, ask) {
                Ok(acquisition) => acquisition.await,
                Err(error) => Err(error),
            };
            respond(201, granted.map(|grant| Granted::of(&grant, clock.now())))
        });
    }

    /// Creates or changes the pool for the operator, until that is acknowledged.
    pub fn put_pool(&mut self, context: &mut Context, size: u32) {
        let Some(process) = &mut self.process else { return };
        let spec = self.scene.pool_of(size);
        trace!(context, "the operator puts a pool of {size} boxes");
        let put = PutPool {
            pool: pool_name(),
            spec,
            by_settings: None,
            asked_by: "the operator".to_owned(),
            request: None,
        };
        let putting = asked(process.boxes.addr.clone(), put);
        let outbox = process.outbox.clone();
        process.spawn(async move {
            if putting.await.is_err() {
                let again = OperatorAction::PutPool { size };
                outbox.push(NodeRequest::Again(ASK_AGAIN_AFTER, again));
            }
        });
    }

    /// The boxes of each pool, by their phases.
    pub fn pools(&self) -> Vec<(PoolName, BoxCounts)> {
        let pools = self.process.as_ref().map(|process| process.boxes_view.pools());
        pools.into_iter().flatten().map(|pool| (pool.name, pool.counts)).collect()
    }

    /// Revokes the lease of the lowest box for the operator.
    pub fn revoke_lease(&mut self, context: &mut Context) {
        let Some(process) = &mut self.process else { return };
        let page = process.boxes_view.leases(&pool_name(), None, Default::default(), 1);
        let Some(lease) = page.ok().and_then(|page| page.lines.first().cloned()) else { return };
        trace!(context, "the operator revokes {}", lease.id);
        let asked_by = "the operator".to_owned();
        process.boxes.addr.do_send(RevokeLease {
            lease: lease.id,
            reason: None,
            asked_by,
            request: None,
        });
    }
}

/// Sends a request to the owner of boxes.
fn asked<M, T>(
    boxes: Addr<BoxLease>,
    message: M,
) -> impl Future<Output = Result<T, BoxError>> + 'static
where
    M: Message<Result = Result<T, BoxError>> + Send + 'static,
    T: Send + 'static,
    BoxLease: Handler<M>,
    actix::Context<BoxLease>: ToEnvelope<BoxLease, M>,
{
    let asking = boxes.send(message);
    async move { asking.await.unwrap_or(Err(BoxError::Lost)) }
}

/// The answer of the API in its status: whether a repetition may help.
fn respond<T: Serialize>(status: u16, result: Result<T, BoxError>) -> SimulatedResponse {
    match result {
        Ok(answer) => {
            let body = serde_json::to_vec(&answer).unwrap_or_default();
            SimulatedResponse { status, body }
        }
        Err(BoxError::Refused(_) | BoxError::TimedOut { .. } | BoxError::QueueFull { .. }) => {
            SimulatedResponse::status(409)
        }
        Err(_) => SimulatedResponse::status(503),
    }
}
