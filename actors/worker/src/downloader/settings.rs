//! Settings of copies on a worker.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use reelyard_core::settings;
use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{Percent, Read, SettingValue, is_bare_number, quoted, text, wrong};
use regex::bytes::Regex;

use super::disk::room::Capacity;

settings! {
    /// The copies that a worker fetches.
    pub struct DownloaderConfig [node] {
        /// Size of the disk for copies. "filesystem" is the whole file system of base_dir. A size
        /// such as "200GiB" is a part of a file system that others use too. The worker fills
        /// base_dir up to that size and reports a disk of that size.
        capacity: Capacity = Default "filesystem",
        /// An interrupted copy keeps its bytes for this long, to continue from there. Afterwards
        /// its space is freed.
        resume_within: Duration = Default "1d",
        /// An unknown file in base_dir's temp.downloaded is removed at this age. cfw leaves such
        /// files.
        stale_after: Duration = Default "1h",
        /// Number of copies that are fetched at the same time.
        copies_at_once: NonZeroU32 = Default "4",
        /// Interval between two requests for tasks if the node is an old cfm. A Reelyard node sends
        /// tasks at once. A node that does not answer is asked again after 100 ms, then after twice
        /// the time, up to 5 s.
        poll_interval: Duration = Default "5s",
    }
}

settings! {
    /// The disk of the copies.
    pub struct DiskConfig [node] {
        /// Highest fill level of the disk, in percent of the space for ordinary users.
        limit_percent: Percent = Default "90",
    }
}

settings! {
    /// The program that fetches from old cfws, which have no data port. It is called like cfw's
    /// downloader_bin: `PROGRAM SRC_IP TMP_PATH SRC_FILE_PATH BPS`. The worker ends it, with
    /// all its child processes, when it takes too long or its copy is cancelled. The worker
    /// checks the size of the file and hashes it, but has no hash of the source to compare.
    pub struct ExternalDownloaderConfig [node] {
        /// Absolute path of the program. Without it nothing is fetched from old cfws.
        program: Option<PathBuf> = Optional "/opt/cfw/SampleNetIODownloader",
        /// Regular expression that the last 64 KiB of stderr must match after success. The exit
        /// code must also be 0.
        success_pattern: Pattern = Default "Successfully",
        /// Time limit for a copy. A large file gets more: at least twice the time that it needs at
        /// its rate.
        timeout: Duration = Default "1h",
        /// Time between SIGTERM and SIGKILL when the worker ends the program.
        stop_grace: Duration = Default "5s",
    }
}

impl SettingValue for Capacity {
    fn from_toml(value: &Value) -> Read<Self> {
        if value.as_str() == Some("filesystem") {
            return Ok(Capacity::FileSystem);
        }
        match ByteSize::from_toml(value) {
            Ok(size) => Ok(Capacity::Quota(size.as_u64())),
            Err(wrongs) if is_bare_number(value) => Err(wrongs),
            Err(_) => wrong(format!(
                "expected \"filesystem\" or a size above 0 such as \"200GiB\", not {}",
                quoted(value)
            )),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        match self {
            Capacity::FileSystem => Some(Value::String("filesystem".to_owned())),
            Capacity::Quota(bytes) => ByteSize::b(*bytes).to_toml(),
        }
    }
}

/// A regular expression that is searched for in the output of a program.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// The compiled expression.
    pub fn regex(&self) -> &Regex {
        &self.0
    }
}

impl SettingValue for Pattern {
    fn from_toml(value: &Value) -> Read<Self> {
        match text(value, "a regular expression")? {
            "" => wrong("an empty regular expression matches everything"),
            pattern => Regex::new(pattern).map(Pattern).or_else(|error| {
                // A syntax error has several lines; the last one has the cause.
                let error = error.to_string();
                let why = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
                wrong(format!("expected a regular expression, not {}: {why}", quoted(value)))
            }),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.0.as_str().to_owned()))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized<T: SettingValue>(text: &str) -> Option<String> {
        T::from_text(text).ok().and_then(|value| value.to_toml()).map(|value| value.to_string())
    }

    #[test]
    fn a_capacity_is_the_file_system_or_a_size() {
        assert_eq!(Capacity::from_text("filesystem").unwrap(), Capacity::FileSystem);
        assert_eq!(Capacity::from_text("200GiB").unwrap(), Capacity::Quota(200 << 30));
        assert_eq!(normalized::<Capacity>("2048B").unwrap(), "\"2KiB\"");
        for bad in ["", "0", "2048", "filesystems", "-1"] {
            assert!(Capacity::from_text(bad).is_err(), "{bad}");
        }
    }
}
