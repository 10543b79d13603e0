//! `reelyard simulate`: a yard over days, by the rules of a node, on a simulated clock.
//!
//! No rule is reimplemented: the pure parts of TaskManager and Remover get an invented yard and an
//! invented or recorded demand. Hosts and masters answer at once; a copy takes the time that its
//! bytes need. The same options, rules and seed give the same report.

mod copying;
mod demand;
pub mod fitting;
mod managers;
pub mod options;
mod queue;
mod removing;
pub mod results;
mod rules;
mod simulation;
mod yard;

use std::time::Duration;

use anyhow::Result;
use reelyard_core::clock::Millis;
use reelyard_core::names::{FileId, FileName, NameTable};

use crate::demand::recorded;
use demand::catalogue::{Catalogue, Sizes};
pub use demand::file_request::FileRequest;
use demand::popularity::{Popularity, Targets};
use demand::recorded::Recorded;
use demand::stream::DemandModel;
use demand::synthetic::{DAY, HOUR, Synthetic};
pub use demand::trace::RequestTrace;
use options::{DAYS, DemandOptions, RecordedOptions, SimulationOptions, SyntheticOptions};
pub use results::measures::{Amount, DiskFill, Hour, Tally};
pub use results::references::{Reference, ReferenceDay, References};
pub use results::report::{
    Churned, ComparedReport, CopyFigures, Day, Effect, Hot, RoundFigures, Setting, SimulationReport,
};
pub use rules::Rules;
use simulation::{Beginning, Simulation};
use yard::YardModel;

/// Start of an invented demand: a Monday, at midnight.
const START: Millis = Millis(1_767_571_200_000);

/// The files, and the requests for them.
struct SimulationInputs {
    catalogue: Catalogue,
    demand: DemandModel,
    popularity: Popularity,
    start: Millis,
    end: Millis,
}

/// The simulated part of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated hours.
    pub hours: u64,
    /// Hours of the whole simulation.
    pub of: u64,
}

/// Runs a simulation. Calls `on_progress` after each simulated hour.
///
/// # Errors
///
/// The options are invalid, or an input cannot be read.
pub fn simulate(
    options: &SimulationOptions,
    rules: Rules,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<SimulationReport> {
    let mut rng = fastrand::Rng::with_seed(options.seed);
    let inputs = SimulationInputs::of(options, &mut rng)?;
    let SimulationInputs { catalogue, demand, popularity, start, end } = inputs;
    let hosts = &options.yard;
    let low_water = rules.tasks.fill_percent.min(rules.tasks.storage_limit_percent);
    let disk = hosts.disk_for(catalogue.bytes(), low_water);
    let mut yard = YardModel::new(hosts.destinations, hosts.sources(), disk, catalogue.len());
    let ranking = popularity.ranking(&catalogue);
    let fill = hosts.start_fill.unwrap_or(low_water);
    yard.fill(fill, popularity.order(), &ranking, rules.tasks.copies, &catalogue);
    let setting = Setting {
        seed: options.seed,
        seconds: end.since(start).as_secs(),
        destinations: yard.destinations().len() as u64,
        disk,
        sources: yard.sources().len() as u64,
        files: catalogue.len() as u64,
        bytes: catalogue.bytes(),
        limit_percent: rules.tasks.storage_limit_percent,
        low_water_percent: low_water,
        gathered_s: options.gather().as_secs_f64(),
    };
    let turns = setting.sources * rules.tasks.copies_per_source.max(1) as u64;
    let mut simulation = Simulation::new(Beginning {
        rules,
        catalogue,
        demand,
        popularity,
        yard,
        source_rate: hosts.source_rate,
        failures: hosts.failures,
        gather: options.gather(),
        rng,
        start,
    });
    let hours = |until: Millis| until.since(start).as_secs() / HOUR.as_secs();
    let of = hours(end);
    simulation.run_until(end, &mut |now| on_progress(Progress { hours: hours(now), of }));
    let Simulation { measures, references, .. } = simulation;
    let references = references.figures(measures.days.len());
    Ok(SimulationReport::of(measures, references, setting, start, turns))
}

impl SimulationInputs {
    fn of(options: &SimulationOptions, rng: &mut fastrand::Rng) -> Result<Self> {
        options.check()?;
        match &options.demand {
            DemandOptions::Synthetic(demand) => SimulationInputs::invented(options, demand, rng),
            DemandOptions::Recorded(demand) => SimulationInputs::recorded(options, demand, rng),
        }
    }

    fn invented(
        options: &SimulationOptions,
        demand: &SyntheticOptions,
        rng: &mut fastrand::Rng,
    ) -> Result<Self> {
        let names = NameTable::new();
        names.make_room_for(demand.files as usize);
        for number in 0..demand.files {
            names.intern(&FileName::new(format!("title{number:07}.mpg"))?);
        }
        let sizes = Sizes::with_mean(options.mean_size);
        let sizes = (0..demand.files).map(|_| sizes.draw(rng)).collect();
        let days = options.days.unwrap_or(DAYS);
        let destinations = options.yard.destinations;
        let demand = Synthetic::new(demand, destinations, days, START, rng.fork());
        let catalogue = Catalogue { names, sizes };
        let files = demand.in_the_beginning();
        let popularity = Popularity::new(files, catalogue.len(), Targets::ByPlace);
        let demand = DemandModel::Synthetic(Box::new(demand));
        let end = START.after(days_long(days));
        Ok(SimulationInputs { catalogue, demand, popularity, start: START, end })
    }

    fn recorded(
        options: &SimulationOptions,
        demand: &RecordedOptions,
        rng: &mut fastrand::Rng,
    ) -> Result<Self> {
        let names = NameTable::new();
        let ranking = recorded::read_ranking(demand, &names)?;
        let demand = Recorded::read(demand, &names)?;
        let all = names.len();
        let ranking = ranking.as_deref();
        let drawn = Sizes::with_mean(options.mean_size);
        let ids = (0..all as u32).map(FileId);
        let sizes = ids.clone().map(|file| {
            // Drawn for every file, so that a known size does not change the others.
            let drawn = drawn.draw(rng);
            ranking.and_then(|ranking| ranking.size(file)).unwrap_or(drawn)
        });
        let sizes = sizes.collect();
        let targets = match ranking {
            Some(ranking) => {
                Targets::Read(ids.map(|file| ranking.target(file).min(255) as u8).collect())
            }
            None => Targets::ByPlace,
        };
        let a_day = demand.a_day(all);
        let files = recorded::best_first(ranking, &a_day).into_iter();
        let files = files.map(|file| (file, a_day[file.0 as usize])).collect();
        let (start, last) = (demand.start(), demand.end());
        let end = options.days.map_or(last, |days| start.after(days_long(days)));
        let catalogue = Catalogue { names, sizes };
        let popularity = Popularity::new(files, all, targets);
        Ok(SimulationInputs {
            catalogue,
            demand: DemandModel::Recorded(demand),
            popularity,
            start,
            end,
        })
    }
}

fn days_long(days: u32) -> Duration {
    DAY.saturating_mul(days)
}
