//! Groups of settings, and the macro that declares them.

use super::declaration::{Applicability, Declaration, Presence};
use super::raw::Gathered;
use super::reader::{SettingsReader, declared};
use super::value::SettingValue;

/// Description of a setting, for the commented file and the list of known keys.
#[derive(Clone, Debug)]
pub struct DescribedSetting {
    /// Dotted key of the setting.
    pub key: String,
    /// Documentation, line by line.
    pub doc: Vec<&'static str>,
    /// The value if the setting is not set.
    pub presence: Presence,
    /// Default or example, as TOML.
    pub value: String,
    /// When and where a value applies.
    pub applies: Applicability,
}

impl DescribedSetting {
    /// The description of the setting `key` of the type `T`.
    pub fn of<T: SettingValue>(
        key: String,
        doc: Vec<&'static str>,
        declaration: Declaration,
    ) -> Self {
        let Declaration { presence, text, applies } = declaration;
        let value: T = declared(&key, text);
        let value = value.to_toml().map(|value| value.to_string()).unwrap_or_default();
        DescribedSetting { key, doc, presence, value, applies }
    }
}

/// A group of settings: a table in the file, or a part of one.
pub trait SettingsGroup: Sized {
    /// Documentation of the group, line by line.
    const ABOUT: &'static [&'static str];

    /// Reads the group whose keys begin with `prefix`.
    fn read(reader: &mut SettingsReader, prefix: &str) -> Self;

    /// Adds the settings of this group and of its parts, in the order of declaration.
    fn describe_settings(prefix: &str, settings: &mut Vec<DescribedSetting>);

    /// Adds each nested group, in the order of declaration.
    fn describe_groups(prefix: &str, sections: &mut Vec<Section>);

    /// Takes the settings that need a restart from `running`.
    fn keep_until_restart(&mut self, running: &Self);
}

/// A group in the commented file.
#[derive(Clone, Debug)]
pub struct Section {
    /// Dotted name of the group; empty for the outermost one.
    pub name: String,
    /// Documentation of the group.
    pub about: &'static [&'static str],
    /// Settings of this group, without nested groups.
    pub settings: Vec<DescribedSetting>,
}

/// Every group of a role, in the order of declaration.
pub fn sections<G: SettingsGroup>() -> Vec<Section> {
    let mut sections = Vec::new();
    describe::<G>("", &mut sections);
    sections
}

/// Adds the group `G` and its nested groups. Their keys begin with `prefix`.
pub fn describe<G: SettingsGroup>(prefix: &str, sections: &mut Vec<Section>) {
    let mut settings = Vec::new();
    G::describe_settings(prefix, &mut settings);
    sections.push(Section { name: prefix.to_owned(), about: G::ABOUT, settings });
    G::describe_groups(prefix, sections);
}

/// The defaults of a group; required settings have their examples.
pub fn defaults<G: SettingsGroup>() -> G {
    G::read(&mut SettingsReader::new(Gathered::default()), "")
}

/// The key of `field` in the group `prefix`. A field that is a Rust keyword is written as `r#box`;
/// its key is `box`.
pub fn join(prefix: &str, field: &str) -> String {
    let field = field.trim_start_matches("r#");
    if prefix.is_empty() { field.to_owned() } else { format!("{prefix}.{field}") }
}

/// Declares a group of settings:
///
/// ```
/// # use std::time::Duration;
/// reelyard_core::settings! {
///     /// How hosts are probed.
///     pub struct ProbeGroup {
///         /// Time from one probe of a host to the next.
///         interval: Duration = Default "5s",
///         /// Number of threads.
///         threads: std::num::NonZeroU32 = Default "4" [restart, node],
///     }
/// }
/// assert_eq!(ProbeGroup::default().interval, Duration::from_secs(5));
/// ```
///
/// The text after a presence is parsed like a `--set` argument. The words in brackets are methods of
/// [`Applicability`]; behind the name of the struct they are the rule for the whole group. `groups { name:
/// Type, }` nests tables. `parts { name: Type, }` adds settings of several actors to the same table.
#[macro_export]
macro_rules! settings {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident $([$($rule:ident),+])? {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $presence:ident $text:literal $([$($own_rule:ident),+])?,
            )*
        }
        $(parts { $( $(#[doc = $part_doc:literal])+ $part:ident: $part_type:ty, )+ })?
        $(groups { $( $(#[doc = $group_doc:literal])+ $group:ident: $group_type:ty, )+ })?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )*
            $($( $(#[doc = $part_doc])+ pub $part: $part_type, )+)?
            $($( $(#[doc = $group_doc])+ pub $group: $group_type, )+)?
        }

        impl Default for $name {
            fn default() -> Self {
                $crate::settings::defaults()
            }
        }

        #[allow(unused_variables)] // In a group of nothing but parts or groups.
        const _: () = {
            use $crate::settings::{
                Applicability, Declaration, DescribedSetting, Presence, Section, SettingsGroup,
                SettingsReader, TakesEffect, describe, join,
            };

            const USUAL: Applicability = Applicability::USUAL $($(.$rule())+)?;

            impl SettingsGroup for $name {
                const ABOUT: &'static [&'static str] = &[$($about),+];

                fn read(reader: &mut SettingsReader, prefix: &str) -> Self {
                    Self {
                        $($field: reader.read(join(prefix, stringify!($field)), Declaration {
                            presence: Presence::$presence,
                            text: $text,
                            applies: USUAL $($(.$own_rule())+)?,
                        }),)*
                        $($($part: <$part_type>::read(reader, prefix),)+)?
                        $($($group: <$group_type>::read(reader, &join(prefix, stringify!($group))),)+)?
                    }
                }

                fn describe_settings(prefix: &str, settings: &mut Vec<DescribedSetting>) {
                    $(settings.push(DescribedSetting::of::<$type>(
                        join(prefix, stringify!($field)),
                        vec![$($doc),+],
                        Declaration {
                            presence: Presence::$presence,
                            text: $text,
                            applies: USUAL $($(.$own_rule())+)?,
                        },
                    ));)*
                    $($(<$part_type>::describe_settings(prefix, settings);)+)?
                }

                fn describe_groups(prefix: &str, sections: &mut Vec<Section>) {
                    $($(<$part_type>::describe_groups(prefix, sections);)+)?
                    $($(describe::<$group_type>(&join(prefix, stringify!($group)), sections);)+)?
                }

                fn keep_until_restart(&mut self, running: &Self) {
                    $(if (USUAL $($(.$own_rule())+)?).effect == TakesEffect::Restart {
                        self.$field.clone_from(&running.$field);
                    })*
                    $($(self.$part.keep_until_restart(&running.$part);)+)?
                    $($(self.$group.keep_until_restart(&running.$group);)+)?
                }
            }
        };
    };
}

/// Implements [`SettingValue`] for an enum that is written as one of these words:
/// `setting_words!(WatchMode: "auto" => Auto, "poll" => Poll)`.
#[macro_export]
macro_rules! setting_words {
    ($type:ty: $($word:literal => $variant:ident),+ $(,)?) => {
        impl $crate::settings::SettingValue for $type {
            fn from_toml(
                value: &$crate::settings::toml::Value,
            ) -> $crate::settings::Read<Self> {
                match value.as_str() {
                    $(Some($word) => Ok(<$type>::$variant),)+
                    _ => $crate::settings::not_a_word(value, &[$($word),+]),
                }
            }

            fn to_toml(&self) -> Option<$crate::settings::toml::Value> {
                let word = match self {
                    $(<$type>::$variant => $word,)+
                };
                Some($crate::settings::toml::Value::String(word.to_owned()))
            }
        }
    };
}
