//! Rates that change during copies: by the schedule, by other load of a host, and down to the worker that
//! copies.

use std::time::Duration;

use anyhow::{Context, Result};
use reelyard_core::host::BitsPerSecond;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, started};
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, wait_for};
use reelyard_protocol::worker::{ReportedState, TaskOrder};
use reelyard_yard::bandwidth::{Bandwidth, HostLimits};
use reelyard_yard::task_manager::{CheckTasksNow, TaskSettings};

use crate::task_manager::task_manager_yard::{YardPlan, destination};

/// A Wednesday, 07:59:30 in Seoul, in Unix milliseconds.
const ALMOST_EIGHT: i64 = 1_795_042_770_000;

#[test]
fn the_timetable_changes_rates_of_running_copies_except_at_old_cfws() {
    on_a_system(async {
        for old in [false, true] {
            let bandwidth = Bandwidth {
                copy: "20:00,off 08:00,4Mbit/s".parse().unwrap(),
                sources: HostLimits {
                    default: "00:00,50Mbit/s 08:00,3Mbit/s".parse().unwrap(),
                    ..HostLimits::default()
                },
                zone: jiff::tz::TimeZone::get("Asia/Seoul").unwrap(),
                ..Bandwidth::default()
            };
            let settings = TaskSettings { bandwidth, ..TaskSettings::default() };
            let plot = YardPlan { settings, old, ..YardPlan::of(1, 1) };
            let dir = tempfile::tempdir().unwrap();
            let yard = plot.open_up(dir.path(), ALMOST_EIGHT).await;
            yard.grade(&["a.mpg"]).await;
            let task = yard.open_task("a.mpg").await;
            let rate = |orders: &reelyard_protocol::worker::TaskOrders| orders.tasks[0].copy_speed;
            let before = yard.views.load().orders_for(destination(1)).unwrap();
            assert_eq!(rate(&before), Some(BitsPerSecond(50_000_000)));
            let mut changes = yard.views.news();
            changes.mark_unchanged();
            yard.clock.advance(Duration::from_secs(30));
            yard.manager.send(CheckTasksNow).await.unwrap();
            let after = yard.views.load().orders_for(destination(1)).unwrap();
            if old {
                assert_eq!(after, before);
            } else {
                assert_eq!(rate(&after), Some(BitsPerSecond(3_000_000)));
                assert_ne!(after.rates, before.rates);
                assert!(changes.has_changed().unwrap(), "a long poll is woken");
            }
            assert_eq!(yard.views.load().rate_of(&task), rate(&after));
        }
    });
}

#[actix::test]
async fn a_running_copy_takes_a_new_rate() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let contents = source.master(b"E.mpg", 3_000_000);
    let serving = started(source.source()).await;
    let mut settings = destination.destination(&node.url);
    // Only news ends the long poll for orders.
    settings.long_poll = Duration::from_secs(50);
    let fetching = started(settings).await;
    // At this rate the copy takes an hour.
    let slow = TaskOrder { copy_speed: Some(BitsPerSecond(6_000)), ..source.order(1, b"E.mpg") };
    node.order(slow.clone());
    let under_way = || fetching.view().downloads.unwrap().under_way;
    eventually("it runs", || under_way().first().is_some_and(|copy| copy.bytes > 0)).await;
    node.order(TaskOrder { copy_speed: Some(BitsPerSecond(7_000)), ..slow.clone() });
    node.order(TaskOrder { copy_speed: None, ..slow });
    assert!(matches!(node.end_of(1).await, ReportedState::Done { size: 3_000_000, .. }));
    assert_eq!(std::fs::read(destination.copies().join("E.mpg")).unwrap(), contents);
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

/// The rates of the open tasks, in bits per second, by file.
fn rates(ground: &ProcessYard) -> Option<Vec<(String, u64)>> {
    let tasks = ground.get("/api/v1/tasks?state=open")?;
    let rate = |task: &serde_json::Value| {
        Some((task["name"].as_str()?.to_owned(), task["copy_speed"].as_u64()?))
    };
    let mut rates: Vec<_> = tasks["items"].as_array()?.iter().filter_map(rate).collect();
    rates.sort();
    Some(rates)
}

fn is_at(role: &RoleProcess, rate: &str) -> Option<()> {
    let text = role.log_text();
    text.lines()
        .any(|line| line.contains("the rate of a copy changed") && line.contains(rate))
        .then_some(())
}

#[test]
fn copies_of_a_source_share_its_limit_until_one_is_left() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    for name in [b"A.mpg", b"B.mpg"] {
        ground.master(name, 50_000_000)?;
    }
    ground.grade(&[b"A.mpg", b"B.mpg"])?;
    let source = ground.start_source(0, &[])?;
    let destinations = [ground.start_destination(0, &[])?, ground.start_destination(1, &[])?];
    let limit = format!(r#"{{ "{}" = "00:00,1M" }}"#, ground.source(0));
    let node =
        ground.start_node(&[("task.copies_per_source", "2"), ("bandwidth.sources", &limit)])?;
    let roles = [&node, &source, &destinations[0], &destinations[1]];
    let half = (8 << 20) / 2;
    wait_for("both at half of it", &roles, || {
        (rates(&ground)? == [("A.mpg".to_owned(), half), ("B.mpg".to_owned(), half)]).then_some(())
    })?;
    let tasks = ground.get("/api/v1/tasks?state=open").context("the tasks")?;
    let of_a = tasks["items"].as_array().context("a list")?.iter().find(|t| t["name"] == "A.mpg");
    let id = of_a.context("the task of A")?["id"].as_str().context("its number")?.to_owned();
    let url = format!("http://{}/api/v1/tasks/{id}", ground.node);
    assert!(ground.curl().args(["-f", "-X", "DELETE", &url]).status()?.success());
    wait_for("B has it all", &roles, || {
        rates(&ground)?.contains(&("B.mpg".to_owned(), 8 << 20)).then_some(())
    })?;
    wait_for("its worker knows", &roles, || {
        destinations.iter().find_map(|role| is_at(role, "1MiB/s"))
    })?;
    let hosts = ground.get("/api/v1/hosts").context("the hosts")?;
    let limited = |host: &serde_json::Value| host["sends_below"] == 8 << 20;
    assert_eq!(
        hosts["items"].as_array().context("a list")?.iter().filter(|h| limited(h)).count(),
        1
    );
    Ok(())
}
