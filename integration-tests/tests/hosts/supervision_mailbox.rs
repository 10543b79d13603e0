//! The observable state of a supervised actor's mailbox. Reading it changes nothing.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::supervision::{AskError, RestartPolicy, Supervised, Supervision};
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::running::on_a_system;

/// Executes its messages one after the other.
struct Clerk {
    done: Sender<u32>,
}

impl Actor for Clerk {
    type Context = Context<Self>;
}

/// Records its number.
#[derive(Message)]
#[rtype(result = "u32")]
struct RecordNumber(u32);

impl Handler<RecordNumber> for Clerk {
    type Result = MessageResult<RecordNumber>;

    fn handle(
        &mut self,
        RecordNumber(number): RecordNumber,
        _: &mut Context<Self>,
    ) -> Self::Result {
        self.done.send(number).unwrap();
        MessageResult(number)
    }
}

/// Blocks the actor's thread until the other end is dropped.
#[derive(Message)]
#[rtype(result = "()")]
struct HoldThread(Receiver<()>);

impl Handler<HoldThread> for Clerk {
    type Result = ();

    fn handle(&mut self, HoldThread(until): HoldThread, _: &mut Context<Self>) {
        let _ = until.recv();
    }
}

/// Sends itself a message by its own address, then waits before the next one.
#[derive(Message)]
#[rtype(result = "()")]
struct RecordLater(u32);

impl Handler<RecordLater> for Clerk {
    type Result = ();

    fn handle(&mut self, RecordLater(number): RecordLater, ctx: &mut Context<Self>) {
        ctx.address().do_send(RecordNumber(number));
        let done = self.done.clone();
        ctx.wait(actix::fut::wrap_future(async move {
            tokio::task::yield_now().await;
            done.send(0).unwrap();
        }));
    }
}

/// Causes a panic in the actor.
#[derive(Message)]
#[rtype(result = "()")]
struct Fail;

impl Handler<Fail> for Clerk {
    type Result = ();

    fn handle(&mut self, Fail: Fail, _: &mut Context<Self>) {
        panic!("on request");
    }
}

fn supervision() -> Supervision {
    let policy = RestartPolicy { first_delay: Duration::ZERO, ..RestartPolicy::default() };
    Supervision { policy, ..Supervision::of("clerk") }
}

/// A clerk on its own thread, and the numbers that it recorded.
fn clerk(arbiter: &Arbiter) -> (Supervised<Clerk>, Receiver<u32>) {
    let (done, seen) = mpsc::channel();
    let clerk = Supervised::start_on(&arbiter.handle(), supervision(), move || Clerk {
        done: done.clone(),
    });
    (clerk, seen)
}

#[test]
fn waiting_messages_are_counted_also_while_the_actor_is_at_work() {
    on_a_system(async {
        let arbiter = Arbiter::new();
        let (clerk, seen) = clerk(&arbiter);
        let (release, held) = mpsc::channel();
        clerk.addr().do_send(HoldThread(held));
        eventually("the clerk is at work", || clerk.status().waiting == 0).await;
        let answers: Vec<_> = (1..=3).map(|number| clerk.ask(RecordNumber(number))).collect();
        clerk.addr().do_send(RecordNumber(4));
        assert_eq!(clerk.status().waiting, 4);
        clerk.addr().do_send(RecordNumber(5));
        assert_eq!((clerk.status().waiting, clerk.status().handled), (5, 0));
        drop(release);
        for (number, answer) in (1..).zip(answers) {
            assert_eq!(answer.await, Ok(number));
        }
        eventually("everything is handled", || clerk.status().handled == 6).await;
        assert_eq!(clerk.status().waiting, 0);
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5], "in the order sent");
    });
}

#[test]
fn counting_loses_no_message_and_changes_no_order() {
    const MESSAGES: u32 = 50_000;
    on_a_system(async {
        let arbiter = Arbiter::new();
        let (clerk, seen) = clerk(&arbiter);
        let counting = clerk.clone();
        let stop = Arc::new(Mutex::new(false));
        let until = Arc::clone(&stop);
        let looker = std::thread::spawn(move || {
            while !*until.lock().unwrap() {
                counting.status();
            }
        });
        for number in 0..MESSAGES {
            clerk.addr().do_send(RecordNumber(number));
            if number % 64 == 0 {
                // The queue becomes empty many times, which is when a wake-up could be lost.
                assert_eq!(clerk.ask(RecordNumber(number)).await, Ok(number));
            }
        }
        let all = u64::from(MESSAGES + MESSAGES.div_ceil(64));
        eventually("everything is handled", || clerk.status().handled == all).await;
        *stop.lock().unwrap() = true;
        looker.join().unwrap();
        let seen: Vec<u32> = seen.try_iter().collect();
        assert!(seen.is_sorted(), "in the order sent");
        assert_eq!(seen.len() as u64, all);
    });
}

#[test]
fn an_actor_that_waits_handles_its_own_messages_afterwards() {
    on_a_system(async {
        let arbiter = Arbiter::new();
        let (clerk, seen) = clerk(&arbiter);
        clerk.addr().do_send(RecordLater(2));
        clerk.addr().do_send(RecordNumber(1));
        eventually("everything is handled", || clerk.status().handled == 3).await;
        let seen: Vec<u32> = seen.try_iter().collect();
        assert!(seen == [0, 1, 2] || seen == [0, 2, 1], "{seen:?}: the awaited message is first");
    });
}

#[test]
fn messages_for_a_failed_actor_are_answered_and_the_counts_continue() {
    on_a_system(async {
        let arbiter = Arbiter::new();
        let (clerk, _seen) = clerk(&arbiter);
        assert_eq!(clerk.ask(RecordNumber(1)).await, Ok(1));
        let (release, held) = mpsc::channel();
        clerk.addr().do_send(HoldThread(held));
        clerk.addr().do_send(Fail);
        let behind = clerk.ask(RecordNumber(2));
        // The message that was taken from the queue for counting is lost with the others.
        assert!(clerk.status().waiting >= 2);
        drop(release);
        assert_eq!(behind.await, Err(AskError::Unknown));
        eventually("it runs again", || clerk.status().starts == 2).await;
        assert_eq!(clerk.ask(RecordNumber(3)).await, Ok(3));
        // The answer comes before the count.
        eventually("three are counted", || clerk.status().handled == 3).await;
        let status = clerk.status();
        assert_eq!((status.waiting, status.failures), (0, 1));
        clerk.stop().await;
        assert_eq!(clerk.ask(RecordNumber(4)).await, Err(AskError::Unknown), "the actor is gone");
    });
}
