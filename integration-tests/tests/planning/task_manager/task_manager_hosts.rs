//! The hosts on record: modes, silence, and hosts that were added at run time, over restarts and changes of
//! the leader.

use std::time::Duration;

use reelyard_core::actor_parts::ChangeSettings;
use reelyard_core::event::RequestId;
use reelyard_core::host::{HostAddr, HostMode, HostRole};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_protocol::worker::ReportedState;
use reelyard_yard::heartbeat::Health;
use reelyard_yard::task_manager::{
    AddHost, HostRecord, HostRefused, HostRoster, HostSetting, RemoveHost, SetHostMode,
    TaskSettings, TaskState,
};

use crate::task_manager::task_manager_yard::{TaskManagerYard, YardPlan, destination, source};

const START: i64 = 1_800_000_000_000;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn set_mode(host: HostAddr, mode: HostMode) -> SetHostMode {
    SetHostMode { host, mode, asked_by: "test".to_owned(), request: RequestId::random() }
}

/// The first record of a host in a list of hosts of a restarted actor.
async fn first_listed(yard: &TaskManagerYard, host: HostAddr) -> Option<HostRecord> {
    let roster = until_published(yard, |_| true).await;
    roster.hosts.get(&host).copied()
}

/// Waits until the list of hosts contains a host: the list of a new node is empty at first.
async fn until_answered(yard: &TaskManagerYard, host: HostAddr) {
    until_published(yard, |roster| roster.hosts.contains_key(&host)).await;
}

/// Waits for a list of hosts that fits.
async fn until_published(yard: &TaskManagerYard, fits: impl Fn(&HostRoster) -> bool) -> HostRoster {
    let mut news = yard.host_roster.news();
    loop {
        if let Some(roster) = yard.host_roster.load().as_ref()
            && fits(roster)
        {
            return roster.clone();
        }
        news.changed().await.unwrap();
    }
}

async fn until_recorded(yard: &TaskManagerYard, what: &str, holds: impl Fn(&HostRecord) -> bool) {
    yard.until(what, |view| view.hosts.iter().any(|host| holds(&host.record)).then_some(())).await;
}

#[test]
fn hosts_are_published_only_after_their_complete_record_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let plot = YardPlan::of(1, 2);
    let (resting, added) = (destination(1), destination(7));
    on_a_system({
        let (plot, dir) = (plot.clone(), dir.path().to_owned());
        async move {
            let yard = plot.open(&dir, START).await;
            until_answered(&yard, resting).await;
            yard.manager.send(set_mode(resting, HostMode::Maintenance)).await.unwrap().unwrap();
            let (role, asked_by) = (HostRole::Destination, "test".to_owned());
            let add = AddHost { host: added, role, asked_by, request: RequestId::random() };
            yard.manager.send(add).await.unwrap().unwrap();
            yard.journal.stop().await;
        }
    });
    on_a_system(async move {
        // Opened without waiting: the first list is complete.
        let settings = reelyard_journal::JournalOptions::alone(dir.path(), 1);
        let pieces = [reelyard_core::event::PieceId::Tasks];
        let transport = std::sync::Arc::new(reelyard_journal::NoPeers);
        let journal = reelyard_journal::Journal::open(settings, transport, &pieces).await.unwrap();
        let yard = plot.open_on(journal, START);
        assert_eq!(first_listed(&yard, resting).await.unwrap().mode, HostMode::Maintenance);
        let kept = HostRecord::new(HostRole::Destination, false);
        assert_eq!(first_listed(&yard, added).await, Some(kept));
        yard.journal.stop().await;
    });
}

#[test]
fn a_repeated_request_is_answered_as_before() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async move {
        let yard = YardPlan::of(1, 1).open(dir.path(), START).await;
        let host = destination(9);
        let (role, request) = (HostRole::Destination, RequestId::random());
        let add = AddHost { host, role, asked_by: "test".to_owned(), request };
        yard.manager.send(add.clone()).await.unwrap().unwrap();
        let remove = RemoveHost { host, asked_by: "test".to_owned(), request: RequestId::random() };
        yard.manager.send(remove.clone()).await.unwrap().unwrap();
        // A repetition adds or removes nothing.
        yard.manager.send(add).await.unwrap().unwrap();
        yard.manager.send(remove).await.unwrap().unwrap();
        assert!(!yard.views.load().hosts.iter().any(|shown| shown.host == host));
        let unknown = yard.manager.send(set_mode(host, HostMode::Draining)).await.unwrap();
        assert_eq!(unknown, Err(HostRefused::NoSuchHost(host)));
        yard.journal.stop().await;
    });
}

#[test]
fn a_mode_withdraws_its_tasks_and_the_file_goes_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async move {
        let yard = YardPlan::of(2, 2).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg", "b.mpg"]).await;
        let (a, b) = (yard.open_task("a.mpg").await, yard.open_task("b.mpg").await);
        yard.report(&a, ReportedState::Working).await;
        yard.wait_until_applied().await;
        // The copy has begun and may finish.
        yard.manager.send(set_mode(a.destination, HostMode::Draining)).await.unwrap().unwrap();
        yard.finish(&a).await;
        yard.ended(&a, TaskState::Done).await;
        yard.manager.send(set_mode(b.destination, HostMode::Maintenance)).await.unwrap().unwrap();
        let taken_back = yard.ended(&b, TaskState::Cancelled).await;
        assert_eq!(taken_back.reason, Some(format!("{} is in maintenance", b.destination)));
        // No host is left that accepts copies.
        yard.pass(Duration::from_secs(60)).await;
        assert!(yard.views.load().open.is_empty());
        yard.manager.send(set_mode(a.destination, HostMode::Active)).await.unwrap().unwrap();
        assert_eq!(yard.open_task("b.mpg").await.destination, a.destination);
        yard.journal.stop().await;
    });
}

#[test]
fn a_long_silence_is_a_loss_until_an_answer_comes() {
    let dir = tempfile::tempdir().unwrap();
    let plot = YardPlan::of(1, 2);
    let silent = destination(2);
    on_a_system({
        let (plot, dir) = (plot.clone(), dir.path().to_owned());
        async move {
            let yard = plot.open_up(&dir, START).await;
            yard.health(silent, Health::Down).await;
            until_recorded(&yard, "the silence", |record| record.silent_since.is_some()).await;
            yard.journal.stop().await;
        }
    });
    on_a_system(async move {
        let later = START + i64::try_from((DAY * 4).as_millis()).unwrap();
        let yard = plot.open(dir.path(), later).await;
        yard.pass(Duration::from_secs(1)).await;
        // Four days have passed, and this process has not called the host yet.
        assert!(yard.views.load().hosts.iter().all(|host| !host.record.lost));
        yard.health(silent, Health::Down).await;
        until_recorded(&yard, "the loss", |record| record.lost).await;
        yard.health(silent, Health::Up).await;
        yard.until("it is back", |view| {
            let back = view.hosts.iter().all(|host| {
                let HostRecord { silent_since, lost, .. } = host.record;
                silent_since.is_none() && !lost
            });
            back.then_some(())
        })
        .await;
        yard.journal.stop().await;
    });
}

#[test]
fn a_new_configuration_is_recorded_and_a_removed_host_loses_its_tasks() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async move {
        let yard = YardPlan::of(1, 1).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        let hosts = vec![
            HostSetting { addr: source(1), role: HostRole::Source },
            HostSetting { addr: destination(5), role: HostRole::Destination },
        ];
        let settings = TaskSettings::default();
        yard.manager.send(ChangeSettings((settings, hosts))).await.unwrap();
        let reason = yard.ended(&task, TaskState::Cancelled).await.reason.clone();
        assert_eq!(reason, Some(format!("{} left the yard", destination(1))));
        let hosts: Vec<HostAddr> = yard.views.load().hosts.iter().map(|host| host.host).collect();
        assert_eq!(hosts, [source(1), destination(5)]);
        yard.journal.stop().await;
    });
}
