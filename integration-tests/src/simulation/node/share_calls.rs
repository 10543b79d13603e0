//! The HTTP calls of visitors to a node: the API of shares, and the links themselves.

use std::future::Future;

use actix::dev::ToEnvelope;
use actix::{Addr, Handler, Message};
use reelyard_shares::share_expiry::{
    DownloadAdmission, Share, ShareError, ShareExpiry, ShareId, ShareLookup, ShareMoment,
    TakeDownload,
};

use super::SimulatedNode;
use crate::simulation::environment::context::Context;
use crate::simulation::environment::machine::WALL;
use crate::simulation::environment::messages::{ShareCall, SimulatedResponse, UNCOUNTED};
use crate::simulation::environment::parties::Party;
use crate::simulation::invariants::links::{AnsweringNode, LinkAnswer};

impl SimulatedNode {
    pub(super) fn share_call(
        &mut self,
        context: &mut Context,
        caller: (Party, u64),
        call: ShareCall,
    ) {
        let Some(process) = &self.process else { return };
        let shares = process.shares.addr.clone();
        match call {
            ShareCall::Create(create) => {
                let creating = asked(&shares, create);
                self.answer_later(caller, async move {
                    match creating.await {
                        Ok(share) => created(share.id()),
                        Err(failed) => failed,
                    }
                });
            }
            ShareCall::Change(change) => {
                let changing = asked(&shares, change);
                self.answer_later(caller, async move { done(changing.await) });
            }
            ShareCall::Revoke(revoke) => {
                let revoking = asked(&shares, revoke);
                self.answer_later(caller, async move { done(revoking.await) });
            }
            ShareCall::Open(take) => self.open_link(context, caller, take),
        }
    }

    /// Serves a link, after the rules of the server of links.
    fn open_link(&mut self, context: &mut Context, caller: (Party, u64), take: TakeDownload) {
        let Some(process) = &self.process else { return };
        if !process.shares_view.is_up() {
            let starting = SimulatedResponse::status(503);
            return context.answer(self.party(), caller.0, caller.1, starting);
        }
        let ShareMoment { latest, .. } = process.shares_view.moment(&process.clock);
        let found = process.shares_view.find(take.id);
        let answer = match &found {
            ShareLookup::Live(share) if share.is_live(latest) => LinkAnswer::Served,
            ShareLookup::Live(_) => LinkAnswer::Due,
            ShareLookup::Ended(_) => LinkAnswer::Ended,
            ShareLookup::Unknown => LinkAnswer::Unknown,
        };
        let by = AnsweringNode {
            node: self.id,
            life: self.life,
            applied: self.applied,
            wall: self.machine.wall(),
        };
        context.judge.opened(by, take.id, answer);
        match found {
            ShareLookup::Live(share) if answer == LinkAnswer::Served => {
                self.serve_link(context, caller, &share, take);
            }
            _ => context.answer(self.party(), caller.0, caller.1, SimulatedResponse::status(410)),
        }
    }

    /// A limited share counts the download before it is served.
    fn serve_link(
        &mut self,
        context: &mut Context,
        caller: (Party, u64),
        share: &Share,
        take: TakeDownload,
    ) {
        let Some(process) = &self.process else { return };
        if share.downloads().is_none() {
            context.judge.served_uncounted(take.id);
            let served = SimulatedResponse::status(200);
            return context.answer(self.party(), caller.0, caller.1, served);
        }
        let taking = asked(&process.shares.addr, take);
        self.answer_later(caller, async move {
            match taking.await {
                Ok(DownloadAdmission::Unlimited) => SimulatedResponse::status(UNCOUNTED),
                taken => done(taken),
            }
        });
    }

    /// How far the clock of its machine is ahead of the correct time, in milliseconds.
    pub fn clock_ahead(&self, context: &Context) -> i64 {
        let truly = i64::try_from(context.now()).unwrap_or(i64::MAX);
        self.machine.wall().0 - WALL - truly
    }
}

fn created(id: ShareId) -> SimulatedResponse {
    SimulatedResponse { status: 201, body: serde_json::to_vec(&id).unwrap_or_default() }
}

/// Sends a request to the owner of shares. An error is its answer, whose status says whether a repetition may help.
fn asked<M, T>(
    shares: &Addr<ShareExpiry>,
    message: M,
) -> impl Future<Output = Result<T, SimulatedResponse>> + 'static
where
    M: Message<Result = Result<T, ShareError>> + Send + 'static,
    T: Send + 'static,
    ShareExpiry: Handler<M>,
    actix::Context<ShareExpiry>: ToEnvelope<ShareExpiry, M>,
{
    let asking = shares.send(message);
    async move {
        match asking.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(ShareError::Refused(_))) => Err(SimulatedResponse::status(409)),
            Ok(Err(ShareError::Journal(_))) | Err(_) => Err(SimulatedResponse::status(503)),
        }
    }
}

/// The answer to a request whose result nobody reads.
fn done<T>(result: Result<T, SimulatedResponse>) -> SimulatedResponse {
    match result {
        Ok(_) => SimulatedResponse::status(200),
        Err(failed) => failed,
    }
}
