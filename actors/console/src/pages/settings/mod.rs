//! Settings: values in force, their origin and default, and what a change does.

mod differences;
mod model;
mod record;
mod render;

pub use model::{
    InputCondition, InputFileLine, RecordedVersion, SettingDifference, SettingEffect, SettingLine,
    SettingsPageModel, SettingsPageQuery, SettingsRecord, ValueOrigin, VersionChanges,
};
pub use render::{differences, render};
