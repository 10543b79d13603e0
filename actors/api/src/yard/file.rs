//! A file, as the API shows it.

use reelyard_core::host::HostAddr;
use reelyard_core::names::NameText;
use reelyard_protocol::task_id_text::optional_id_in_text;
use reelyard_protocol::worker::TaskId;
use serde::{Deserialize, Serialize};

use super::host::BackOffView;

/// Destinations of one file in a list of files. The longest page has 1000 files.
const LISTED_DESTINATIONS: usize = 20;

/// A ranked or hot file and where it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FileView {
    /// Name of the file.
    #[serde(flatten)]
    pub name: NameText,
    /// Its rank, 1 = best. Missing for a hot file without a grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Its rank by demand for each byte, 1 = best. Missing while demand is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand_rank: Option<u32>,
    /// Expected requests a day. Missing while demand is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_a_day: Option<f64>,
    /// Its score: expected requests a day for each TiB. Missing without a size, and while demand is not
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Requests within the watch window that no destination could serve.
    pub hits: u32,
    /// Its size in bytes, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// At most 20 of the destinations that hold a copy.
    pub placed_on: Vec<HostAddr>,
    /// Number of the other destinations that hold a copy.
    #[serde(default)]
    pub placed_on_left_out: u64,
    /// State of the file in the plan.
    pub state: FileState,
    /// Task of the copy in progress.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_id_in_text")]
    #[schema(value_type = Option<String>)]
    pub task: Option<TaskId>,
    /// Current backoff of the file, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<BackOffView>,
}

impl FileView {
    /// The same with at most 20 of its destinations, so that a page of files has a limit.
    pub fn shortened(mut self) -> Self {
        let left_out = self.placed_on.len().saturating_sub(LISTED_DESTINATIONS);
        self.placed_on.truncate(LISTED_DESTINATIONS);
        self.placed_on_left_out += left_out as u64;
        self
    }
}

/// State of a file in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// A destination holds it that is not down.
    Placed,
    /// All destinations that hold it are down.
    OutOfReach,
    /// A copy is in progress.
    Copying,
    /// It needs a copy and waits for its turn.
    Waiting,
    /// Its copies failed: it is in backoff.
    BackingOff,
    /// Its name begins with an ignored prefix.
    Ignored,
    /// No source directory has it.
    NoMaster,
    /// A source directory lists it, but it is not there as a regular file.
    MasterAbsent,
    /// hitcount.history lists it on a host that did not list its files yet.
    Listed,
    /// It is larger than the room on any destination.
    TooBig,
    /// No destination has room for it now.
    NoRoom,
    /// All suitable destinations are old cfws. Their protocol cannot transport its name.
    NameNotCarried,
    /// The file is hot but has no grade, and such files are not copied.
    Ungraded,
}

#[cfg(test)]
mod tests {
    use reelyard_core::names::FileName;

    use super::*;

    #[test]
    fn a_page_of_files_on_thousands_of_hosts_stays_below_1_mib() {
        let host = |number: usize| {
            format!("10.9.{}.{}:8888", number / 250, number % 250).parse::<HostAddr>().unwrap()
        };
        let file = FileView {
            name: FileName::new("file-1.mpg").unwrap().to_text(),
            rank: Some(1),
            demand_rank: Some(1),
            requests_a_day: Some(0.5),
            score: Some(0.5),
            hits: 0,
            size: Some(1),
            placed_on: (0..3_000).map(host).collect(),
            placed_on_left_out: 0,
            state: FileState::Placed,
            task: None,
            back_off: None,
        };
        let shortened = file.clone().shortened();
        assert_eq!(shortened.placed_on, file.placed_on[..LISTED_DESTINATIONS]);
        assert_eq!(shortened.placed_on_left_out, 2_980);
        assert_eq!(shortened.clone().shortened(), shortened);
        let page = serde_json::to_vec(&vec![shortened; 1000]).unwrap();
        assert!(page.len() < 1 << 20, "{} bytes", page.len());
    }
}
