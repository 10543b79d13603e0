//! Logging: `tracing` events on stderr.

use std::sync::OnceLock;

use reelyard_core::settings;
use reelyard_core::settings::{Read, SettingValue, quoted, text, wrong};
use toml::Value;
use tracing_subscriber::EnvFilter;

use crate::terminal;

settings! {
    /// The log, written to stderr.
    pub struct LogSettings [node] {
        /// Lowest level that is logged: error, warn, info, debug or trace. A level per module also
        /// works: "info,reelyard_yard::catalog=debug".
        level: LogFilter = Default "info,openraft=error,openraft::replication=off,actix_server=warn",
        /// Form of the log, one line per event: "text" for people, "json" for programs.
        format: LogFormat = Default "text" [restart],
    }
}

/// Filter of the logged events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter(String);

/// Default levels of libraries, whose debug events would bury all others.
const OF_LIBRARIES: &str = "openraft=error,openraft::replication=off,actix_server=warn";

/// openraft reports each failed call to a node that is away. The connections report it once.
const REPORTED_ELSEWHERE: &str = "openraft::replication=off";

impl LogFilter {
    /// The filter for one level of Reelyard's own events; libraries keep their default levels.
    pub fn of_level(level: tracing::Level) -> Self {
        let level_text = level.to_string().to_lowercase();
        if level > tracing::Level::WARN {
            LogFilter(format!("{level_text},{OF_LIBRARIES}"))
        } else {
            LogFilter(format!("{level_text},{REPORTED_ELSEWHERE}"))
        }
    }
}

/// Format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One line of text per event.
    Text,
    /// One JSON object per line.
    Json,
}

/// Logging was already started in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("logging was already started")]
pub struct AlreadyStarted;

/// Changes the level of the running log.
static LEVEL: OnceLock<Box<dyn Fn(EnvFilter) + Send + Sync>> = OnceLock::new();

/// Changes the level, if logging was started.
pub fn change_level(level: &LogFilter) {
    if let Some(change) = LEVEL.get() {
        change(EnvFilter::new(&level.0));
    }
}

/// Starts logging to stderr.
pub fn start(settings: &LogSettings) -> Result<(), AlreadyStarted> {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(&settings.level.0))
        .with_writer(std::io::stderr)
        .with_ansi(terminal::may_have_colors(&std::io::stderr()));
    // It fails only if logging has ended with the process.
    let (change, outcome): (Box<dyn Fn(EnvFilter) + Send + Sync>, _) = match settings.format {
        LogFormat::Text => {
            let builder = builder.with_filter_reloading();
            let level = builder.reload_handle();
            (Box::new(move |filter| drop(level.reload(filter))), builder.try_init())
        }
        LogFormat::Json => {
            let builder = builder.json().flatten_event(true).with_filter_reloading();
            let level = builder.reload_handle();
            (Box::new(move |filter| drop(level.reload(filter))), builder.try_init())
        }
    };
    outcome.map_err(|_| AlreadyStarted)?;
    LEVEL.set(change).map_err(|_| AlreadyStarted)
}

impl SettingValue for LogFilter {
    fn from_toml(value: &Value) -> Read<Self> {
        let written = text(value, "a log level")?;
        // A single word that is not a level would count as the name of a module, and nothing would
        // be logged.
        let lone_word = !written.contains(['=', ',', '[']);
        let known = !lone_word || written.parse::<tracing::level_filters::LevelFilter>().is_ok();
        match EnvFilter::try_new(written) {
            Ok(_) if known && !written.is_empty() => Ok(LogFilter(written.to_owned())),
            _ => wrong(format!(
                "expected error, warn, info, debug or trace, or a list like \"info,reelyard=debug\", not {}",
                quoted(value)
            )),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.0.clone()))
    }
}

impl SettingValue for LogFormat {
    fn from_toml(value: &Value) -> Read<Self> {
        match text(value, "\"text\" or \"json\"")? {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            _ => wrong(format!("expected \"text\" or \"json\", not {}", quoted(value))),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        let text = if *self == LogFormat::Json { "json" } else { "text" };
        Some(Value::String(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_for_all_keeps_libraries_quiet() {
        let of = |level| LogFilter::of_level(level).to_toml().unwrap().to_string();
        assert_eq!(
            of(tracing::Level::DEBUG),
            "\"debug,openraft=error,openraft::replication=off,actix_server=warn\""
        );
        assert_eq!(of(tracing::Level::ERROR), "\"error,openraft::replication=off\"");
        let default = LogFilter::of_level(tracing::Level::INFO);
        assert_eq!(default, crate::config::NodeConfig::default().log.level);
    }

    #[test]
    fn a_level_is_known_or_a_list_of_directives() {
        for good in ["info", "WARN", "off", "info,reelyard_yard::catalog=debug"] {
            assert!(LogFilter::from_text(good).is_ok(), "{good}");
        }
        for bad in ["", "loud", "reelyard=loud", "report"] {
            assert!(LogFilter::from_text(bad).is_err(), "{bad}");
        }
    }
}
