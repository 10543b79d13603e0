//! Copies on request: the master is checked, the copy is decided and committed, and the caller is
//! answered.

use actix::fut::{ready, wrap_future};
use actix::{ActorFutureExt, Context, Handler, ResponseActFuture};
use reelyard_protocol::worker::TaskId;
use reelyard_replication::{Outcomes, Owner, RequestContext};

use super::turn::LOOK_TIMEOUT;
use crate::catalog::LookUpMasters;
use crate::task_manager::{
    Blamed, CopyFile, CopyRefused, RetryTask, TaskBook, TaskEvent, TaskManager, TaskState,
};

type CopyReply = ResponseActFuture<TaskManager, Result<TaskId, CopyRefused>>;

impl Handler<CopyFile> for TaskManager {
    type Result = CopyReply;

    fn handle(&mut self, copy: CopyFile, ctx: &mut Context<Self>) -> CopyReply {
        if let Some(outcomes) = self.replica.recall(copy.request) {
            return Box::pin(ready(self.recalled(&copy, outcomes)));
        }
        if let Err(error) = self.replica.leading() {
            return Box::pin(ready(Err(error.into())));
        }
        self.policy.set_removals(self.collaborators.removals.view());
        let (policy, context) = self.at(self.clock.now());
        let Some(file) = policy.wants_look(&copy.name, context) else {
            return self.copy_now(copy, ctx);
        };
        let look_up = self.collaborators.look_up.recipient();
        let looking = look_up.send(LookUpMasters { files: vec![file] });
        let looking = wrap_future::<_, Self>(tokio::time::timeout(LOOK_TIMEOUT, looking));
        Box::pin(looking.then(move |answer, manager, ctx: &mut Context<Self>| {
            let seen = answer.ok().and_then(Result::ok).unwrap_or_default();
            manager.policy.learn(file, seen, manager.clock.now());
            manager.copy_now(copy, ctx)
        }))
    }
}

impl Handler<RetryTask> for TaskManager {
    type Result = CopyReply;

    fn handle(&mut self, retry: RetryTask, ctx: &mut Context<Self>) -> CopyReply {
        let RetryTask { id, asked_by, request } = retry;
        let task = match self.replica.piece().task(id) {
            None => return Box::pin(ready(Err(CopyRefused::NoSuchTask(id)))),
            Some(task) if task.state.is_open() || task.state == TaskState::Done => {
                let state = task.state;
                return Box::pin(ready(Err(CopyRefused::NotEndedBadly { id, state })));
            }
            Some(task) => task,
        };
        let (name, destination, source) = (task.name.clone(), task.destination, None);
        self.handle(CopyFile { name, destination, source, asked_by, request }, ctx)
    }
}

impl TaskManager {
    /// Decides, commits and answers. The master was checked before.
    fn copy_now(&mut self, copy: CopyFile, _: &mut Context<Self>) -> CopyReply {
        let now = self.clock.now();
        let (policy, context) = self.at(now);
        let task = match policy.by_hand(&copy, context) {
            Ok(task) => task,
            Err(refused) => return Box::pin(ready(Err(refused.into()))),
        };
        let id = task.id;
        // The operator asks for it although it failed before.
        let failed = Blamed::File(copy.name.clone());
        let failed = context.book.back_offs().contains_key(&failed).then_some(failed);
        let forgot = |failed| TaskEvent::Forgot { tasks: Vec::new(), back_offs: vec![failed] };
        let events = failed.map(forgot).into_iter().chain([TaskEvent::Created(task)]).collect();
        let asked = RequestContext::by_request(copy.asked_by, copy.request);
        let committing = self.replica.commit(now, asked, events);
        Box::pin(wrap_future::<_, Self>(committing).map(
            move |settlement, manager: &mut Self, _: &mut Context<Self>| {
                answer(manager.settle_request(settlement)?, id)
            },
        ))
    }

    /// The answer to a request that was carried out before.
    fn recalled(
        &self,
        copy: &CopyFile,
        outcomes: Outcomes<TaskBook>,
    ) -> Result<TaskId, CopyRefused> {
        let book = self.replica.piece();
        let is_it = |task: &&std::sync::Arc<crate::task_manager::Task>| {
            task.name == copy.name && task.destination == copy.destination
        };
        let tasks = book.open().values().chain(book.ended().values()).filter(is_it);
        let gone = TaskId(0);
        answer(outcomes, tasks.map(|task| task.id).max().unwrap_or(gone))
    }
}

fn answer(outcomes: Outcomes<TaskBook>, id: TaskId) -> Result<TaskId, CopyRefused> {
    for outcome in outcomes {
        outcome.map_err(CopyRefused::Meanwhile)?;
    }
    Ok(id)
}
