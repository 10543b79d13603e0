//! Ages, instants, counts, bytes, rates, and names of files and hosts, in both languages.

mod age;
mod bytes;
mod code;
mod host;
mod instant;
mod name;
mod number;

pub use age::{age, duration, left};
pub use bytes::{bit_rate, byte_rate, bytes};
pub use code::with_code;
pub use host::{bare_host, host_link, host_short, short_host};
pub use instant::{
    age_tag, clock, day_and_time, exact, full_day, since, time_tag, until_tag, with_running_age,
};
pub use name::{FileText, file_name, middle_cut, node_sentence, node_text, visible_text};
pub use number::{aligned_percent, count, counted, percent, percent_number, thousands};
