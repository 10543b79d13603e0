//! The requests of a demand without a yard, for other programs.

use anyhow::Result;
use reelyard_core::clock::Millis;

use super::file_request::FileRequest;
use super::synthetic::DAY;
use crate::SimulationInputs;
use crate::options::SimulationOptions;

/// All requests of a simulation.
#[derive(Clone, Debug)]
pub struct RequestTrace {
    /// Sorted by time.
    pub requests: Vec<FileRequest>,
    /// Size of each file in bytes, by its number.
    pub sizes: Vec<u64>,
    /// Disk size of each destination in bytes.
    pub disk: u64,
    /// Simulated time of the start.
    pub start: Millis,
}

impl RequestTrace {
    /// The requests of a simulation with these options, in a yard with this low-water mark in percent.
    ///
    /// # Errors
    ///
    /// The options are invalid, or an input cannot be read.
    pub fn of(options: &SimulationOptions, low_water: u32) -> Result<Self> {
        let SimulationInputs { catalogue, mut demand, start, end, .. } =
            SimulationInputs::of(options, &mut fastrand::Rng::with_seed(options.seed))?;
        let disk = options.yard.disk_for(catalogue.bytes(), low_water);
        let mut requests = Vec::new();
        let mut day = start;
        while day < end {
            demand.pass_day(day, &mut |request| {
                if request.at < end {
                    requests.push(request);
                }
            });
            day = day.after(DAY);
            demand.begin_next_day(day);
        }
        Ok(RequestTrace { requests, sizes: catalogue.sizes, disk, start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::samples::small;
    use crate::simulate;

    #[test]
    fn a_trace_has_the_requests_of_the_simulation() {
        let options = small();
        let trace = RequestTrace::of(&options, 85).unwrap();
        let popularity = reelyard_yard::settings::popularity::PopularityConfig::default();
        let rules = crate::Rules {
            tasks: Default::default(),
            remover: Default::default(),
            window: std::time::Duration::from_secs(600),
            hit_base: 3,
            popularity: popularity.mode,
            half_life: popularity.half_life,
        };
        let report = simulate(&options, rules, &mut |_| {}).unwrap();
        assert_eq!(trace.requests.len() as u64, report.all.requests);
        assert_eq!(trace.sizes.iter().sum::<u64>(), report.setting.bytes);
        assert_eq!(trace.disk, report.setting.disk);
        assert!(trace.requests.is_sorted_by_key(|request| request.at));
    }
}
