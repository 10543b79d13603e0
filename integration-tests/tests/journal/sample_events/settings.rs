//! Samples of the events of the settings on record.

use reelyard_settings::cluster_settings::SettingsEvent;

fn part(version: u64, part: u32, text: &str) -> SettingsEvent {
    SettingsEvent::PartAdded { version, part, text: text.into() }
}

fn recorded(version: u64, parts: u32, why: &str) -> SettingsEvent {
    SettingsEvent::Recorded { version, parts, by: "user eve".to_owned(), why: why.to_owned() }
}

/// Samples in the order in which they apply. Append new ones: the stored rows depend on the order.
pub fn settings_samples() -> Vec<(&'static str, SettingsEvent)> {
    vec![
        ("part-added", part(1, 0, "hosts.sources = [\"10.0.0.1:8888\"]\n")),
        ("part-added-further", part(1, 1, "task.timeout = \"40m\"\n")),
        ("recorded", recorded(1, 2, "")),
        ("part-added-again", part(2, 0, "task.timeout = \"1h\"\n")),
        ("recorded-with-too-few-parts", recorded(2, 3, "")),
        ("recorded-with-reason", recorded(2, 1, "large files")),
        ("part-added-only", part(3, 0, "")),
    ]
}
