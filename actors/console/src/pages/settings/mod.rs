//! Settings: values in force, their origin and default, and what a change does.

mod model;
mod render;

pub use model::{
    InputCondition, InputFileLine, SettingDifference, SettingLine, SettingsPageModel,
    SettingsPageQuery, ValueOrigin,
};
pub use render::{differences, render};
