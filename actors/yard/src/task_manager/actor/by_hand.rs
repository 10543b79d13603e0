//! Copies on request: the master is checked, the copy is decided and committed, and the caller is
//! answered.

use actix::fut::wrap_future;
use actix::{ActorFutureExt, Context, Handler};
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;
use reelyard_replication::{Owner, OwnerReply, RequestContext, reply_now};

use super::turn::LOOK_TIMEOUT;
use crate::catalog::LookUpMasters;
use crate::task_manager::{
    Blamed, CopyFile, CopyRefused, RetryTask, TaskEvent, TaskManager, TaskState,
};

type CopyReply = OwnerReply<TaskManager, TaskId, CopyRefused>;

impl Handler<CopyFile> for TaskManager {
    type Result = CopyReply;

    fn handle(&mut self, copy: CopyFile, _: &mut Context<Self>) -> CopyReply {
        let is_repeated = self.replica.recall(copy.request).is_some();
        if is_repeated || self.replica.epoch().is_none() {
            return self.copy_now(copy);
        }
        self.policy.set_removals(self.collaborators.removals.view());
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
        let task = match self.replica.piece().task(id) {
            None => return reply_now(Err(CopyRefused::NoSuchTask(id))),
            Some(task) if task.state.is_open() || task.state == TaskState::Done => {
                let state = task.state;
                return reply_now(Err(CopyRefused::NotEndedBadly { id, state }));
            }
            Some(task) => task,
        };
        let (name, destination, source) = (task.name.clone(), task.destination, None);
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
            |manager| manager.decide_copy(&copy),
            move |manager, outcomes| {
                for outcome in outcomes {
                    outcome.map_err(CopyRefused::Meanwhile)?;
                }
                Ok(manager.newest_task(&name, destination))
            },
        )
    }

    fn decide_copy(&mut self, copy: &CopyFile) -> Result<Vec<TaskEvent>, CopyRefused> {
        let (policy, context) = self.at(self.clock.now());
        let task = policy.by_hand(copy, context)?;
        let mut events = Vec::new();
        // The operator requests it although it failed before.
        let failed = Blamed::File(copy.name.clone());
        if context.book.back_offs().contains_key(&failed) {
            events.push(TaskEvent::Forgot { tasks: Vec::new(), back_offs: vec![failed] });
        }
        events.push(TaskEvent::Created(task));
        Ok(events)
    }

    /// The last task that copies a file to a destination. Zero if it is forgotten.
    fn newest_task(&self, name: &FileName, destination: HostAddr) -> TaskId {
        let book = self.replica.piece();
        let tasks = book.open().values().chain(book.ended().values());
        let same = tasks.filter(|task| task.name == *name && task.destination == destination);
        same.map(|task| task.id).max().unwrap_or(TaskId(0))
    }
}
