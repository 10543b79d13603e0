//! Real processes, real files: the mode of popularity decides whether a wanted file replaces a copy.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};

use anyhow::{Context, Result};
use jiff::{Timestamp, ToSpan};
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::catalog::catalog_input::{append, event_log_name, selection};
use reelyard_integration_tests::rigs::small_disk::SmallDisk;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, holds, wait_for};
use serde_json::Value;

use super::removes::{QUICK, everything_is_looked_at, put};

const MIB: usize = 1 << 20;

/// Adds this number of requests for each name to the event log, some hours ago.
fn request(ground: &ProcessYard, hours_ago: i64, names: &[(&str, usize)]) -> Result<()> {
    let at = Timestamp::now().checked_sub(hours_ago.hours())?;
    let day = at.to_zoned(jiff::tz::TimeZone::UTC).date();
    let (year, month, day) =
        (u16::try_from(day.year())?, u8::try_from(day.month())?, u8::try_from(day.day())?);
    let log = ground.path("event-log").join(event_log_name(year, month, day));
    for (name, times) in names {
        let row = selection(name, at.as_second(), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)));
        append(&log, &row.repeat(*times))?;
    }
    Ok(())
}

/// Writes the configuration of the node with this mode.
fn configure(ground: &ProcessYard, mode: &str) -> Result<()> {
    let own = ground.node_file();
    // Nine files of 4 MiB fill the disk of 64 MiB up to the low-water mark of 38.4 MiB.
    let mut text = own
        .replace("storage.limit_percent = 100", "storage.limit_percent = 65")
        .replace("storage.low_water_percent = 100", "storage.low_water_percent = 60");
    anyhow::ensure!(text != own, "the limits are not in the file");
    let watching = ground.watching();
    let watching = watching.iter().map(|(key, value)| (*key, value.as_str()));
    for (key, value) in QUICK.into_iter().chain(watching) {
        text += &format!("{key} = {value}\n");
    }
    text += &format!(
        "listen = \"{}\"\ndata_dir = \"{}\"\npopularity.daily_budget = \"20MiB\"\n\
         popularity.mode = \"{mode}\"\n",
        ground.node,
        ground.path("node").display()
    );
    Ok(fs::write(ground.path("node.toml"), text)?)
}

/// The wanted file in the list of files.
fn wanted_file(ground: &ProcessYard) -> Option<Value> {
    let files = ground.get("/api/v1/files")?;
    files["items"].as_array()?.iter().find(|file| file["name"] == "wanted.mpg").cloned()
}

#[test]
fn demand_exchanges_copies_only_while_its_mode_is_on() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    fs::create_dir_all(ground.copies(0))?;
    let disk = SmallDisk::mount(&ground.copies(0), 64);
    let held: Vec<String> = (0..9).map(|i| format!("f{i:02}.mpg")).collect();
    for name in &held {
        let bytes = ground.master(name.as_bytes(), 4 * MIB)?;
        put(&ground.copies(0), name, &bytes)?;
    }
    let wanted = ground.master(b"wanted.mpg", 4 * MIB)?;
    // More demand for each byte, but each is larger than an exchange may remove.
    let large: Vec<String> = (0..20).map(|i| format!("large{i:02}.mpg")).collect();
    for name in &large {
        fs::File::create(ground.path("masters").join(name))?.set_len(9 * MIB as u64)?;
    }
    let mut graded: Vec<&[u8]> = large.iter().chain(&held).map(|name| name.as_bytes()).collect();
    graded.push(b"wanted.mpg");
    ground.grade(&graded)?;
    // The file with the worst grade has no request.
    let mut requests: Vec<(&str, usize)> =
        held[..8].iter().map(|name| (name.as_str(), 1)).collect();
    requests.push(("wanted.mpg", 5));
    requests.extend(large.iter().map(|name| (name.as_str(), 25)));
    for hours_ago in [26, 14, 2] {
        request(&ground, hours_ago, &requests)?;
    }
    configure(&ground, "off")?;
    let source = ground.start_source(0, &[])?;
    let destination = ground.start_destination(0, &[])?;
    let config = ground.path("node.toml");
    let node = RoleProcess::start_by_file("node", &config, ground.path("node.log"))?;
    let roles = [&node, &source, &destination];
    let is_there = |name: &str| ground.copies(0).join(name).exists();

    everything_is_looked_at(&ground, &roles)?;
    let file = wanted_file(&ground).context("the file")?;
    assert!(
        file["rank"] == graded.len() as u64 && file.get("demand_rank").is_none_or(Value::is_null),
        "{file}"
    );
    assert!(held.iter().all(|name| is_there(name)) && !is_there("wanted.mpg"));

    configure(&ground, "shadow")?;
    node.hang_up()?;
    wait_for("the demand is shown", &roles, || {
        (wanted_file(&ground)?["demand_rank"] == large.len() as u64 + 1).then_some(())
    })?;
    // The exchange is shown, with the copy that would go and the parts of the score.
    let demand = wait_for("the exchange is shown", &roles, || {
        let explained = ground.get("/api/v1/files/wanted.mpg/explain")?;
        let room = explained["demand"]["room"].as_str()?;
        room.starts_with("it would replace copies").then(|| explained["demand"].clone())
    })?;
    let room = demand["room"].as_str().context("the verdict")?;
    assert!(room.contains(&held[8]) && !room.contains(&held[0]), "{room}");
    let file = wanted_file(&ground).context("the file")?;
    assert_eq!(demand["parts"]["requests_a_day_per_tib"], file["score"], "{file}");
    let a_day = file["requests_a_day"].as_f64().context("the demand")?;
    let score = file["score"].as_f64().context("the score")?;
    let tib_in_files = (1_u64 << 40) as f64 / (4 * MIB) as f64;
    assert!((score / (a_day * tib_in_files) - 1.0).abs() < 0.01, "{file}");
    let remembered = demand["parts"]["remembered_requests"].as_f64().context("the parts")?;
    assert!(remembered > 10.0 && remembered < 15.0, "15 requests, faded: {demand}");
    everything_is_looked_at(&ground, &roles)?;
    assert!(held.iter().all(|name| is_there(name)) && !is_there("wanted.mpg"));

    configure(&ground, "on")?;
    node.hang_up()?;
    wait_for("the wanted file came", &roles, || {
        holds(&ground.copies(0).join("wanted.mpg"), &wanted).then_some(())
    })?;
    everything_is_looked_at(&ground, &roles)?;
    let lines = ground.get("/api/v1/history?what=removal").context("history")?;
    let lines = lines["items"].as_array().context("lines")?;
    assert!(held[..8].iter().all(|name| is_there(name)) && !is_there(&held[8]), "{lines:?}");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["reason"]["exchanged"]["better"]["name"], "wanted.mpg");
    let url = format!("http://{}", ground.node);
    let answer = binary::run(&["history", "--url", &url, "--file", &held[8]]);
    assert!(answer.out.contains("exchanged for wanted.mpg"), "{}", answer.out);
    drop(destination);
    drop(disk);
    Ok(())
}
