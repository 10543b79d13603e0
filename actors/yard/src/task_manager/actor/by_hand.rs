//! Copies on request: the master is checked, the copy is decided and committed, and the caller is
//! answered.

use actix::fut::wrap_future;
use actix::{ActorFutureExt, Context, Handler};
use reelyard_protocol::worker::TaskId;
use reelyard_replication::{OwnerReply, OwnerRequests, RequestContext, reply_now};

use super::tick::LOOK_TIMEOUT;
use crate::catalog::LookUpMasters;
use crate::task_manager::policy::by_hand::{newest_task, repeated_copy};
use crate::task_manager::{CopyFile, CopyRefused, RetryTask, TaskManager};

type CopyReply = OwnerReply<TaskManager, TaskId, CopyRefused>;

impl Handler<CopyFile> for TaskManager {
    type Result = CopyReply;

    fn handle(&mut self, copy: CopyFile, _: &mut Context<Self>) -> CopyReply {
        let is_repeated = self.replica.recall(copy.request).is_some();
        if is_repeated || self.replica.epoch().is_none() {
            return self.copy_now(copy);
        }
        self.policy.set_removals(self.collaborators.removals.load());
        let (policy, context) = self.at(self.clock.now());
        let Some(file) = policy.wants_look(&copy.name, context) else {
            return self.copy_now(copy);
        };
        let look_up = self.collaborators.look_up.recipient();
        let looking = look_up.send(LookUpMasters { files: vec![file] });
        let looking = wrap_future::<_, Self>(tokio::time::timeout(LOOK_TIMEOUT, looking));
        Box::pin(looking.then(move |answer, manager, _: &mut Context<Self>| {
            let seen = answer.ok().and_then(Result::ok).unwrap_or_default();
            manager.policy.learn(file, seen, manager.clock.now());
            manager.copy_now(copy)
        }))
    }
}

impl Handler<RetryTask> for TaskManager {
    type Result = CopyReply;

    fn handle(&mut self, retry: RetryTask, ctx: &mut Context<Self>) -> CopyReply {
        let RetryTask { id, asked_by, request } = retry;
        let (name, destination) = match repeated_copy(self.replica.piece(), id) {
            Ok(copy) => copy,
            Err(refused) => return reply_now(Err(refused)),
        };
        let (destination, source) = (Some(destination), None);
        self.handle(CopyFile { name, destination, source, asked_by, request }, ctx)
    }
}

impl TaskManager {
    /// Decides, commits and answers. The master was checked before.
    fn copy_now(&mut self, copy: CopyFile) -> CopyReply {
        let asked = RequestContext::by_request(copy.asked_by.clone(), copy.request);
        let (name, destination) = (copy.name.clone(), copy.destination);
        self.answer_request(
            asked,
            |manager| {
                let (policy, context) = manager.at(manager.clock.now());
                policy.copy_events(&copy, context)
            },
            move |manager, outcomes| {
                for outcome in outcomes {
                    outcome.map_err(CopyRefused::Meanwhile)?;
                }
                Ok(newest_task(manager.replica.piece(), &name, destination))
            },
        )
    }
}
