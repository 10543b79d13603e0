//! Declarations of settings: each once, with meaning, type and default.

use super::RoleConfig;
use crate::config::reading::reader::SettingsReader;
use crate::config::values::value::SettingValue;

/// The value of a setting that is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The declared text is the default.
    Default,
    /// The setting is absent; the declared text is an example.
    Optional,
    /// The setting is required; the declared text is an example.
    Required,
}

/// Description of a setting, for the commented file and the list of known keys.
#[derive(Clone, Debug)]
pub struct DescribedSetting {
    /// Dotted key of the setting.
    pub key: String,
    /// Documentation, line by line.
    pub doc: Vec<&'static str>,
    /// What applies if the setting is not set.
    pub presence: Presence,
    /// Default or example, as TOML.
    pub value: String,
}

/// A group of settings: a table in the file.
pub trait SettingsGroup: Sized {
    /// Documentation of the group, line by line.
    const ABOUT: &'static [&'static str];

    /// Reads the group whose keys begin with `prefix`.
    fn read(reader: &mut SettingsReader, prefix: &str) -> Self;

    /// Calls `section` for this group and each nested group, in the order of declaration.
    fn describe(prefix: &str, section: &mut dyn FnMut(Section));
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
    G::describe("", &mut |section| sections.push(section));
    sections
}

/// The keys of a role, and those that only the other role has.
#[derive(Clone, Debug)]
pub struct KnownKeys {
    /// Dotted keys of settings.
    pub known: Vec<String>,
    /// Dotted names of groups.
    pub groups: Vec<String>,
    /// Settings that are tables, each with its default as TOML. A dotted key can set one entry of
    /// such a table.
    pub tables: Vec<(String, String)>,
    /// The other role, and the keys that only it has.
    pub elsewhere: (&'static str, Vec<String>),
}

impl KnownKeys {
    /// The keys of role `R`.
    pub fn of<R: RoleConfig>() -> Self {
        let elsewhere = if R::NAME == super::NodeConfig::NAME {
            (super::WorkerConfig::NAME, keys::<super::WorkerConfig>())
        } else {
            (super::NodeConfig::NAME, keys::<super::NodeConfig>())
        };
        let groups = sections::<R>().into_iter().map(|section| section.name);
        let groups = groups.filter(|name| !name.is_empty()).collect();
        let settings = sections::<R>().into_iter().flat_map(|section| section.settings);
        let tables = settings.filter(|setting| setting.value.starts_with('{'));
        let tables = tables.map(|setting| (setting.key, setting.value)).collect();
        KnownKeys { known: keys::<R>(), groups, tables, elsewhere }
    }

    /// The table that `key` sets an entry of, with its default, and the rest of the key.
    pub fn table_of<'k>(&self, key: &'k str) -> Option<(&str, &str, &'k str)> {
        self.tables.iter().find_map(|(table, unset)| {
            let entry = key.strip_prefix(table.as_str())?.strip_prefix('.')?;
            (!entry.is_empty()).then_some((table.as_str(), unset.as_str(), entry))
        })
    }

    /// Why `key` is refused; none if it is known.
    pub fn refuse(&self, key: &str) -> Option<String> {
        if self.known.iter().any(|known| known == key) {
            return None;
        }
        if self.groups.iter().any(|group| group == key) {
            return Some("is a group of settings: set one of its keys".to_owned());
        }
        let (role, keys) = &self.elsewhere;
        if keys.iter().any(|known| known == key) {
            return Some(format!("is a setting of a {role}: this role does not have it"));
        }
        Some(match self.nearest(key) {
            Some(nearest) => format!("is not a setting; did you mean {nearest}?"),
            None => "is not a setting; \"reelyard config default\" prints all settings".to_owned(),
        })
    }

    /// The known key that is most similar to `key`.
    fn nearest(&self, key: &str) -> Option<&str> {
        let (group, name) = split(key);
        let likeness = |known: &str| match split(known) {
            (other, same) if other != group && same == name => 1.0,
            (same, other) if same == group => strsim::jaro_winkler(other, name),
            _ => strsim::jaro_winkler(known, key),
        };
        let best = self.known.iter().map(|known| (likeness(known), known));
        let best = best.max_by(|a, b| a.0.total_cmp(&b.0));
        best.filter(|(likeness, _)| *likeness > 0.8).map(|(_, known)| known.as_str())
    }
}

fn keys<G: SettingsGroup>() -> Vec<String> {
    sections::<G>().into_iter().flat_map(|section| section.settings).map(|one| one.key).collect()
}

/// Splits a key into its group and its name.
fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}

/// The key of `field` in the group `prefix`. A field that is a Rust keyword is written as `r#box`;
/// its key is `box`.
pub fn join(prefix: &str, field: &str) -> String {
    let field = field.trim_start_matches("r#");
    if prefix.is_empty() { field.to_owned() } else { format!("{prefix}.{field}") }
}

/// The declared `text` as TOML.
pub fn shown<T: SettingValue>(key: &str, text: &str) -> String {
    let value: T = crate::config::reading::reader::declared(key, text);
    value.to_toml().map(|value| value.to_string()).unwrap_or_default()
}

/// Declares a struct of settings with its parser and description:
///
/// ```text
/// settings! {
///     /// How hosts are probed.
///     pub struct HeartbeatSettings {
///         /// Time from one probe of a host to the next.
///         interval: Duration = Default "5s",
///     }
///     groups {
///         log: LogSettings,
///     }
/// }
/// ```
///
/// The text after a presence is parsed like a `--set` argument.
macro_rules! settings {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $presence:ident $text:literal,
            )*
        }
        $(groups { $( $(#[doc = $group_doc:literal])+ $group:ident: $group_type:ty, )+ })?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )*
            $($( $(#[doc = $group_doc])+ pub $group: $group_type, )+)?
        }

        impl $crate::config::declare::SettingsGroup for $name {
            const ABOUT: &'static [&'static str] = &[$($about),+];

            fn read(reader: &mut $crate::config::reading::reader::SettingsReader, prefix: &str) -> Self {
                use $crate::config::declare::{Presence, join};
                Self {
                    $($field: reader.take(
                        join(prefix, stringify!($field)), Presence::$presence, $text,
                    ),)*
                    $($($group: <$group_type>::read(reader, &join(prefix, stringify!($group))),)+)?
                }
            }

            fn describe(
                prefix: &str,
                section: &mut dyn FnMut($crate::config::declare::Section),
            ) {
                use $crate::config::declare::{DescribedSetting, Presence, Section, join, shown};
                let settings = vec![$({
                    let key = join(prefix, stringify!($field));
                    let value = shown::<$type>(&key, $text);
                    let doc = vec![$($doc),+];
                    DescribedSetting { key, doc, presence: Presence::$presence, value }
                },)*];
                section(Section { name: prefix.to_owned(), about: Self::ABOUT, settings });
                $($(<$group_type>::describe(&join(prefix, stringify!($group)), section);)+)?
            }
        }
    };
}
pub(crate) use settings;
