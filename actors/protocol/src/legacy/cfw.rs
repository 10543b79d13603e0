//! The JSON of cfw: the disk figures of `GET /df`.

use serde::{Deserialize, Serialize};

use super::cfm::number_in_a_string;

/// The disk of a host, as reported by its worker, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DiskFigures {
    /// Size of the file system.
    pub total: u64,
    /// Bytes in use.
    pub used: u64,
    /// Bytes an ordinary user can still write.
    pub avail: u64,
    /// Bytes free, the reserve for root included.
    pub free: u64,
    /// `used / (used + avail)` in percent, as the worker rounds it.
    pub used_percent: u32,
}

impl DiskFigures {
    /// How many bytes may still be written before `limit_percent` of (used + avail) is used
    /// (cfm's rule).
    pub fn room(&self, limit_percent: u32) -> u64 {
        let capacity = u128::from(self.used) + u128::from(self.avail);
        let limit = capacity * u128::from(limit_percent.min(100)) / 100;
        u64::try_from(limit.saturating_sub(u128::from(self.used))).unwrap_or(u64::MAX)
    }

    /// How many bytes may be used below `percent` of (used + avail) (cfm's rule).
    pub fn mark(&self, percent: u32) -> u64 {
        let capacity = u128::from(self.used) + u128::from(self.avail);
        u64::try_from(capacity * u128::from(percent.min(100)) / 100).unwrap_or(u64::MAX)
    }
}

/// How a host answered a `DELETE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Deleted {
    /// The file existed and was removed (200).
    Removed,
    /// The file did not exist (404).
    Absent,
    /// It is a directory and is not removed (406).
    Directory,
    /// A newer leader has called this host, so this leader may delete nothing (412).
    Deposed,
}

/// The answer of `GET /df`, fields in cfw's order: sizes in bytes as strings, the percentage as a
/// number. If a field is missing or is no number, the whole answer is invalid, because no figure
/// may be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DfAnswer {
    #[serde(with = "number_in_a_string")]
    total_size: u64,
    #[serde(with = "number_in_a_string")]
    used_size: u64,
    #[serde(with = "number_in_a_string")]
    avail_size: u64,
    used_percent: u32,
    #[serde(with = "number_in_a_string")]
    free_size: u64,
}

/// The largest plausible file system, in bytes.
const LARGEST_DISK: u64 = 1 << 60;

/// Why an answer of `GET /df` is unusable.
#[derive(Debug, thiserror::Error)]
pub enum BadDf {
    /// It does not have cfw's shape.
    #[error("the disk figures cannot be read: {0}")]
    NotDf(#[from] serde_json::Error),
    /// No file system has the size zero: the other side wrote zeros because of an error.
    #[error("the disk figures report a total size of 0: the host could not read its disk")]
    NoSize,
    /// The figures are impossible for a file system.
    #[error("the disk figures are impossible: {0}; check df and the program on the host")]
    Absurd(String),
}

impl From<DiskFigures> for DfAnswer {
    fn from(disk: DiskFigures) -> Self {
        DfAnswer {
            total_size: disk.total,
            used_size: disk.used,
            avail_size: disk.avail,
            used_percent: disk.used_percent,
            free_size: disk.free,
        }
    }
}

/// The body of `GET /df`: one object, then a newline.
pub fn write_df(disk: DiskFigures) -> Vec<u8> {
    // Writing five numbers to memory cannot fail.
    #[allow(clippy::expect_used)]
    let mut body = serde_json::to_vec(&DfAnswer::from(disk)).expect("numbers serialise");
    body.push(b'\n');
    body
}

/// Reads the body of `GET /df`.
pub fn parse_df(body: &[u8]) -> Result<DiskFigures, BadDf> {
    let df: DfAnswer = serde_json::from_slice(body)?;
    if df.total_size == 0 {
        return Err(BadDf::NoSize);
    }
    if let Some(why) = absurd(&df) {
        return Err(BadDf::Absurd(why));
    }
    Ok(DiskFigures {
        total: df.total_size,
        used: df.used_size,
        avail: df.avail_size,
        free: df.free_size,
        used_percent: df.used_percent,
    })
}

/// Detects figures that no file system reports, because they would attract every copy, or none.
fn absurd(df: &DfAnswer) -> Option<String> {
    let DfAnswer { total_size, used_size, avail_size, free_size, used_percent } = *df;
    let parts = [("used_size", used_size), ("avail_size", avail_size), ("free_size", free_size)];
    if used_percent > 100 {
        return Some(format!("used_percent is {used_percent}, which is more than 100"));
    }
    if total_size > LARGEST_DISK {
        return Some(format!("total_size is {total_size}, which is more than 1 EiB"));
    }
    let (name, size) = parts.into_iter().find(|(_, size)| *size > total_size)?;
    Some(format!("{name} is {size}, which is more than total_size, {total_size}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_no_disk_has_are_not_believed() {
        let figures = |from: &str, to: &str| {
            let bad = ANSWER.replace(from, to);
            assert_ne!(bad, ANSWER);
            parse_df(bad.as_bytes()).unwrap_err().to_string()
        };
        assert!(figures(":67", ":4294967295").contains("used_percent is 4294967295"));
        assert!(figures("314913513472", "14073748835532800000").contains("1 EiB"));
        for size in ["200937054208", "97956167680", "113976459264"] {
            assert!(figures(size, "314913513473").contains("more than total_size"));
        }
        assert!(parse_df(ANSWER.replace(":67", ":100").as_bytes()).is_ok());
    }

    const ANSWER: &str = "{\"total_size\":\"314913513472\",\"used_size\":\"200937054208\",\
                          \"avail_size\":\"97956167680\",\"used_percent\":67,\
                          \"free_size\":\"113976459264\"}\n";

    #[test]
    fn disk_figures_go_both_ways_byte_for_byte() {
        let disk = parse_df(ANSWER.as_bytes()).unwrap();
        assert_eq!((disk.total, disk.used_percent), (314_913_513_472, 67));
        assert_eq!(String::from_utf8(write_df(disk)).unwrap(), ANSWER);
    }

    #[test]
    fn figures_are_never_made_up() {
        let zeros = ANSWER.replace("314913513472", "0");
        let number = ANSWER.replace("\"200937054208\"", "200937054208");
        let empty = ANSWER.replace("97956167680", "");
        for bad in ["{}", "", "null", "[]", &ANSWER[..90], &zeros, &number, &empty] {
            assert!(parse_df(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
