//! `reelyard simulate`: a yard over several days, with the rules of a node.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use reelyard::config::{Layers, load_node};
use reelyard::node::simulation_rules;
use reelyard_core::host::BitsPerSecond;
use reelyard_integration_tests::rigs::binary::{ProgramOutput, run};
use reelyard_simulate::options::{DemandOptions, SimulationOptions, SyntheticOptions, YardOptions};
use reelyard_simulate::{Progress, References, Rules, SimulationReport, simulate};

/// A yard of five destinations whose disks hold three fifths of the files.
fn small() -> SimulationOptions {
    SimulationOptions {
        seed: 1,
        yard: YardOptions {
            destinations: 5,
            sources: Some(2),
            disk: Some(141 << 30),
            source_rate: BitsPerSecond(400_000_000),
            start_fill: None,
            failures: 0.0,
        },
        demand: DemandOptions::Synthetic(demand()),
        days: Some(8),
        mean_size: 1 << 30,
        gather: None,
    }
}

/// A demand that drifts, with new titles and sudden rises.
fn demand() -> SyntheticOptions {
    SyntheticOptions {
        files: 1_000,
        requests_per_day: Some(10_000),
        zipf: 0.9,
        drift: 0.1,
        new_titles_per_day: Some(5),
        rises_per_day: Some(5),
    }
}

/// A demand that changes only by chance.
fn steady() -> SyntheticOptions {
    SyntheticOptions { drift: 0.0, new_titles_per_day: Some(0), rises_per_day: Some(0), ..demand() }
}

/// A round of the Remover each minute. One each 10 s takes most of a test's time, and changes little.
const REMOVER_INTERVAL: &str = "remover.interval=1m";

fn rules(set: &[&str]) -> Result<Rules> {
    let set = [&[REMOVER_INTERVAL], set].concat().iter().map(|&setting| setting.into()).collect();
    Ok(simulation_rules(&load_node(&Layers { set, ..Layers::default() })?))
}

fn simulated(options: &SimulationOptions, set: &[&str]) -> Result<SimulationReport> {
    simulate(options, rules(set)?, &mut |_| {})
}

#[test]
fn the_same_seed_gives_the_same_report() -> Result<()> {
    let report = |seed| -> Result<String> {
        // Two fifths of the yard.
        let disk = Some(56 << 30);
        let yard = YardOptions { disk, failures: 0.05, start_fill: Some(97), ..small().yard };
        let demand = SyntheticOptions { files: 400, requests_per_day: Some(4_000), ..demand() };
        let demand = DemandOptions::Synthetic(demand);
        let options = SimulationOptions { seed, yard, demand, days: Some(2), ..small() };
        Ok(serde_json::to_string(&simulated(&options, &["copies.by_grade_info=true"])?)?)
    };
    let first = report(1)?;
    ensure!(first == report(1)?, "the same seed gave two reports");
    ensure!(first != report(2)?, "another seed gave the same report");
    Ok(())
}

#[test]
fn nothing_goes_and_comes_back_while_nothing_changes() -> Result<()> {
    // The disks begin above their limits, and the catalogue is larger than all disks.
    for seed in [1, 2] {
        let yard = YardOptions { start_fill: Some(97), ..small().yard };
        let demand = DemandOptions::Synthetic(steady());
        let options = SimulationOptions { seed, yard, demand, ..small() };
        let report = simulated(&options, &["popularity.mode=off"])?;
        ensure!(report.days[0].tally.removed.files > 50, "the disks were relieved");
        for (day, number) in report.days.iter().zip(1..).skip(1) {
            ensure!(day.tally.removed.files == 0, "day {number}: {:?}", day.tally);
        }
        ensure!(report.churn.twice_for_room == 0, "a cycle: {:?}", report.churn);
        // The returned copies were small enough for the space below the low-water mark.
        let (came_back, removed) = (report.churn.in_all.bytes, report.all.removed.bytes);
        ensure!(came_back * 10 < removed, "{came_back} of {removed} bytes came back");
        ensure!(report.lost == 0 && report.fill_at_end.over_limit == 0);
    }
    Ok(())
}

#[test]
fn exchanges_raise_the_hits_and_knowledge_raises_them_further() -> Result<()> {
    let options = SimulationOptions { days: Some(6), ..small() };
    let off = simulated(&options, &["popularity.mode=off"])?;
    let on = simulated(&options, &["popularity.mode=on"])?;
    let exchanged = on.removals.get("exchanged").map_or(0, |exchanged| exchanged.files);
    ensure!(exchanged > 0 && !off.removals.contains_key("exchanged"));
    let (before, after) = (off.all.hits, on.all.hits);
    ensure!(after > before, "{after} hits instead of {before}");
    let (again, copied) = (on.churn.within_a_day.files, on.all.copied.files);
    ensure!(again * 20 <= copied, "{again} of {copied} copies came back within a day");
    ensure!(on.lost == 0 && on.fill_at_end.over_limit == 0);
    // The references depend on the demand alone.
    ensure!(off.references == on.references && off.references.next_day.days.len() == 6);
    let References { start, yesterday, next_day, next_7_days } = &on.references;
    ensure!(next_day.hits > next_7_days.hits && next_7_days.hits > on.all.hits);
    ensure!(yesterday.hits > start.hits && next_day.hits > yesterday.hits);
    ensure!(start.copied_a_day == Some(0) && next_7_days.copied_a_day > Some(0));
    for report in [&off, &on] {
        ensure!(report.effect.extra_hits == report.all.hits as i64 - start.hits as i64);
        let later: u64 = report.days[1..].iter().map(|day| day.tally.copied.bytes).sum();
        ensure!(report.effect.copied_a_day == Some(later / 5));
    }
    Ok(())
}

#[test]
fn progress_is_reported_after_each_hour() -> Result<()> {
    let mut reported = Vec::new();
    let options = SimulationOptions { days: Some(1), ..small() };
    simulate(&options, rules(&[])?, &mut |progress| reported.push(progress))?;
    let expected: Vec<Progress> = (1..24).map(|hours| Progress { hours, of: 24 }).collect();
    ensure!(reported == expected, "{reported:?}");
    Ok(())
}

#[test]
fn a_changing_demand_moves_no_more_than_it_must() -> Result<()> {
    for seed in [1, 2] {
        let report = simulated(&SimulationOptions { seed, days: Some(5), ..small() }, &[])?;
        ensure!(report.hot.served > 0, "nothing got hot: {:?}", report.hot);
        ensure!(report.hot.p95_s < Some(1800.0), "{:?}", report.hot);
        // Only hot files, and files that are better than removed ones, have a reason to move.
        let hot = report.hot.served + report.hot.unserved;
        let for_room = report.removals.iter().filter(|(why, _)| **why != "duplicate");
        let for_room: u64 = for_room.map(|(_, removed)| removed.files).sum();
        ensure!(for_room > 0 && for_room <= 20 * hot, "{for_room} went for {hot} hot files");
        // A file that is removed for a hot one is hardly ever wanted again soon, or removed for the next one.
        ensure!(report.churn.within_a_day.files <= for_room / 20, "{:?}", report.churn);
        ensure!(report.churn.twice_for_room == 0, "{:?}", report.churn);
        ensure!(report.lost == 0, "{} files were lost", report.lost);
    }
    Ok(())
}

/// Clients request other files from day to day, and the disks are full.
#[test]
fn space_for_files_that_become_hot_keeps_a_full_yard_useful() -> Result<()> {
    let last_ratio = |set: &[&str]| -> Result<f64> {
        let options = SimulationOptions { days: Some(7), ..small() };
        let report = simulated(&options, set)?;
        report.days.last().and_then(|day| day.hit_ratio).context("a last day")
    };
    let (made, not) = (last_ratio(&[])?, last_ratio(&["remover.make_room=false"])?);
    ensure!(made > 0.8 && made > 1.2 * not, "{made} of the requests, and {not} without");
    Ok(())
}

#[test]
fn full_disks_drop_below_their_limits_and_stay_there() -> Result<()> {
    let yard = YardOptions { start_fill: Some(100), failures: 0.02, ..small().yard };
    let report = simulated(&SimulationOptions { yard, days: Some(2), ..small() }, &[])?;
    ensure!(report.fill_at_start.over_limit == 5);
    for hour in &report.hours {
        ensure!(hour.fill.over_limit == 0 && hour.fill.most <= 90.0, "{hour:?}");
    }
    ensure!(report.removals.contains_key("over_limit"));
    Ok(())
}

#[test]
fn copies_follow_the_ranking_and_none_is_lost() -> Result<()> {
    let yard = YardOptions { failures: 0.02, ..small().yard };
    let report = simulated(&SimulationOptions { yard, ..small() }, &["copies.by_grade_info=true"])?;
    ensure!(report.copies.failed > 0, "{:?}", report.copies);
    ensure!(report.removals.contains_key("duplicate"), "{:?}", report.removals);
    ensure!(report.lost == 0, "{} files were lost", report.lost);
    Ok(())
}

#[test]
fn an_empty_yard_fills_from_its_sources() -> Result<()> {
    let yard = YardOptions { start_fill: Some(0), ..small().yard };
    let options = SimulationOptions { yard, days: Some(1), ..small() };
    let report = simulated(&options, &[])?;
    ensure!(report.fill_at_start.most == 0.0 && report.fill_at_end.mean > 80.0);
    ensure!(report.copies.done.files > 400 && report.copies.sources_busy > 0.05);
    let ratios: Vec<_> = report.hours.iter().filter_map(|hour| hour.tally.hit_ratio()).collect();
    ensure!(ratios.first() < ratios.last(), "{ratios:?}");
    // A dry run reports its plan and changes nothing.
    let yard = YardOptions { start_fill: Some(97), ..small().yard };
    let dry = simulated(
        &SimulationOptions { yard, days: Some(1), ..small() },
        &["remover.mode=dry-run"],
    )?;
    ensure!(dry.only_decided > 0 && dry.all.removed.files == 0);
    Ok(())
}

/// Writes a log of an hour with requests for 40 files, some of them frequent.
fn write_inputs(dir: &Path) -> Result<()> {
    let mut log = String::new();
    for second in 0..3600_i64 {
        let file = match second % 3 {
            0 => second % 40,
            1 => second % 7,
            _ => continue,
        };
        let at = 1_780_000_000 + second;
        let server = format!("10.9.9.{}", second % 5);
        log += &format!(
            "0x40ffff,1,{at},Server {server} Selected for Client, GLB IP : x's file(f{file}.mpg) \
             Request\n"
        );
        log += &format!("0x40ffff,4,{at},File Not Found, UUID : x, gone.mpg\n");
    }
    std::fs::write(dir.join("EventLog[20260528].log"), log)?;
    let mut grades = "filename\tweightcount\tbitrate\n".to_owned();
    let mut history = "historyheader:1780000000\n".to_owned();
    for file in (0..40_u64).rev() {
        grades += &format!("f{file}.mpg\t1\t1\n");
        history += &format!("f{file}.mpg,1,1,{},10.0.0.1,0,0,0,1=1\n", (file + 1) * 100_000_000);
    }
    std::fs::write(dir.join("grade.info"), grades)?;
    std::fs::write(dir.join("hitcount.history"), history)?;
    Ok(())
}

fn recorded(dir: &Path, more: &[&str]) -> Result<ProgramOutput> {
    let path = |name: &str| -> Result<String> {
        Ok(dir.join(name).to_str().context("a path")?.to_owned())
    };
    let log = path("EventLog[20260528].log")?;
    let hosts = ["--destinations", "3", "--sources", "1", "--disk", "19GB"];
    Ok(run(&[&["simulate", "--event-log", &log][..], &hosts, more].concat()))
}

#[test]
fn a_log_is_a_demand() -> Result<()> {
    let dir = tempfile::tempdir()?;
    write_inputs(dir.path())?;
    let dir = dir.path();
    let text = |name: &str| dir.join(name).display().to_string();
    let (grades, history) = (text("grade.info"), text("hitcount.history"));
    let inputs = ["--grade-info", &grades, "--hitcount-history", &history, "--json"];

    let ended = recorded(dir, &inputs)?;
    ensure!(ended.code == Some(0), "{}", ended.err);
    let report: serde_json::Value = serde_json::from_str(&ended.out)?;
    ensure!(report["setting"]["seconds"] == 3599, "{}", report["setting"]);
    ensure!(report["setting"]["files"] == 40);
    let bytes = (1..=40_u64).sum::<u64>() * 100_000_000;
    ensure!(report["setting"]["bytes"] == bytes, "sizes are those of hitcount.history");
    ensure!(report["requests"] == 2400, "{}", report["requests"]);
    ensure!(report["hit_ratio"].as_f64() > Some(0.4), "{}", report["hit_ratio"]);

    let thrice = recorded(dir, &[&inputs[..], &["--days", "3"]].concat())?;
    let thrice: serde_json::Value = serde_json::from_str(&thrice.out)?;
    ensure!(thrice["requests"] == 7200 && thrice["days"].as_array().map(Vec::len) == Some(3));

    let pictures = text("pictures");
    let table = recorded(dir, &["--days", "2", "--plots", &pictures])?;
    for shown in [
        "HIT RATIO",
        "7 DAYS KNOWN",
        "3 destinations",
        "hot files served",
        "planning rounds",
        "for comparison: the next 7 days known",
    ] {
        ensure!(table.out.contains(shown), "{shown} is missing in:\n{}", table.out);
    }
    let mut drawn: Vec<_> = std::fs::read_dir(&pictures)?.collect::<Result<_, _>>()?;
    drawn.sort_by_key(std::fs::DirEntry::file_name);
    let names: Vec<_> = drawn.iter().map(|file| file.file_name()).collect();
    let expected =
        ["copies-and-removals.svg", "disk-fill.svg", "hit-ratio.svg", "time-to-serve.svg"];
    ensure!(names == expected, "{names:?}");
    // All curves begin at the start.
    let leftmost = |name: &str| leftmost_of_curves(&Path::new(&pictures).join(name));
    let (fill, ratio) = (leftmost("disk-fill.svg")?, leftmost("hit-ratio.svg")?);
    ensure!(fill == ratio, "the disks' curves begin at {fill}, the hits' at {ratio}");
    for file in drawn {
        let svg = std::fs::read_to_string(file.path())?;
        check_svg(&svg).with_context(|| format!("{:?}", file.file_name()))?;
    }
    Ok(())
}

/// The smallest x of all curves of a picture. Grey lines belong to its frame.
fn leftmost_of_curves(picture: &Path) -> Result<i64> {
    let svg = std::fs::read_to_string(picture)?;
    let curves = svg.split("<polyline").skip(1).filter(|tag| {
        let of_curve = ["#1F5FA8", "#C86010"];
        of_curve.iter().any(|color| tag.split('>').next().is_some_and(|tag| tag.contains(color)))
    });
    let points = curves.filter_map(|tag| tag.split("points=\"").nth(1)?.split('"').next());
    let xs = points.flat_map(|points| {
        points.split_whitespace().filter_map(|point| point.split(',').next()?.parse().ok())
    });
    xs.min().with_context(|| format!("no curve in {}", picture.display()))
}

/// Checks that every element is closed in order, and that there is text and a curve.
fn check_svg(svg: &str) -> Result<()> {
    let mut open: Vec<&str> = Vec::new();
    for part in svg.split('<').skip(1) {
        let (tag, _) = part.split_once('>').context("a tag that does not end")?;
        ensure!(tag.matches('"').count() % 2 == 0, "quotes in <{tag}>");
        if let Some(name) = tag.strip_prefix('/') {
            ensure!(open.pop() == Some(name), "</{name}>");
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().context("a name")?);
        }
    }
    ensure!(open.is_empty(), "{open:?} do not end");
    ensure!(svg.starts_with("<svg") && svg.contains("<polyline"));
    ensure!(svg.contains("hours") || svg.contains("days"));
    Ok(())
}

#[test]
fn modes_are_compared_on_the_same_demand() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let pictures = dir.path().join("pictures").display().to_string();
    let compared = |yard: &[&str], more: &[&str]| {
        run(&[&["simulate", "--compare", "off,shadow,on"], yard, more].concat())
    };
    let small = ["--destinations", "2", "--files", "100", "--days", "2", "--set", REMOVER_INTERVAL];
    let table = compared(&small, &["--plots", &pictures]);
    ensure!(table.code == Some(0), "{}", table.err);
    for shown in ["OFF", "SHADOW", "ON", "7 DAYS KNOWN", "hit ratio, day 2", "copied a day"] {
        ensure!(table.out.contains(shown), "{shown} is missing in:\n{}", table.out);
    }
    check_svg(&std::fs::read_to_string(Path::new(&pictures).join("comparison.svg"))?)?;
    // There is no progress bar without a terminal.
    let lines: Vec<&str> = table.err.lines().collect();
    ensure!(lines.len() == 2 && lines[0].starts_with("simulated in"), "{lines:?}");

    let yard = ["--destinations", "4", "--files", "500", "--days", "3", "--set", REMOVER_INTERVAL];
    let json: serde_json::Value = serde_json::from_str(&compared(&yard, &["--json"]).out)?;
    let modes = json.as_array().context("an array")?;
    let words: Vec<_> = modes.iter().map(|one| one["mode"].clone()).collect();
    ensure!(words == ["off", "shadow", "on"], "{words:?}");
    let report = |at: usize| &modes[at]["report"];
    ensure!(report(0)["references"] == report(2)["references"]);
    // Shadow changes no decision.
    ensure!(report(0)["hours"] == report(1)["hours"] && report(0)["hours"] != report(2)["hours"]);
    Ok(())
}

#[test]
fn a_demand_is_fitted_to_a_log() -> Result<()> {
    let dir = tempfile::tempdir()?;
    write_inputs(dir.path())?;
    let log = dir.path().join("EventLog[20260528].log").display().to_string();
    let table = run(&["simulate", "--fit", &log]);
    ensure!(table.code == Some(0), "{}", table.err);
    for shown in [
        "2400 requests for 40 files",
        "power (--zipf)",
        "warning: The logs are shorter than a day",
        "reelyard simulate --days 14 --zipf",
    ] {
        ensure!(table.out.contains(shown), "{shown} is missing in:\n{}", table.out);
    }
    let json: serde_json::Value =
        serde_json::from_str(&run(&["simulate", "--fit", &log, "--json"]).out)?;
    ensure!(json["files"] == 40 && json["drift"].is_null(), "{json}");
    let (low, high) = (&json["power"]["low"], &json["power"]["high"]);
    ensure!(low.as_f64() < high.as_f64(), "{json}");
    Ok(())
}

#[test]
fn invalid_simulations_are_refused_with_an_explanation() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let empty = dir.path().join("empty.log").display().to_string();
    std::fs::write(&empty, "no row of a log\n")?;
    for (arguments, code, words) in [
        (&["--destinations", "0"][..], 2, "at least one source and one destination"),
        (&["--sources", "0"], 2, "at least one source and one destination"),
        (&["--files", "0"], 2, "at least one file"),
        (&["--days", "0"], 2, "at least one day"),
        (&["--start-fill", "120"], 2, "120%"),
        (&["--failures", "120%"], 2, "expected a share"),
        (&["--compare", "off,never"], 2, "expected off, shadow or on, not \"never\""),
        (&["--set", "storage.limit_percent=0"], 2, "storage.limit_percent"),
        (&["--event-log", "/nowhere/EventLog.log"], 1, "cannot read /nowhere/EventLog.log"),
        (&["--event-log", &empty], 1, "the log contains no request for a file"),
        (&["--event-log", &empty, "--files", "7"], 2, "cannot be used with"),
        (&["--grade-info", &empty], 2, "--event-log"),
        (&["--fit", &empty], 1, "the log contains no request for a file"),
        (&["--fit", &empty, "--compare", "on"], 2, "cannot be used with"),
    ] {
        let ended = run(&[&["simulate"][..], arguments].concat());
        ensure!(ended.code == Some(code), "{arguments:?}: {:?} {}", ended.code, ended.err);
        ensure!(ended.err.contains(words), "{arguments:?}: {}", ended.err);
    }
    Ok(())
}
