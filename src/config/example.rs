//! Writes the commented file of all settings from their declarations.

use std::fmt::Write;

use reelyard_core::settings::{DescribedSetting, Presence, Section, TakesEffect, sections};

use super::RoleConfig;

/// A file with every setting of a role at its default. It equals an empty file, except for the
/// examples of required settings.
pub fn example<R: RoleConfig>() -> String {
    let mut file = String::new();
    for section in sections::<R>() {
        write_section(&mut file, &section, R::NAME);
    }
    file
}

/// The introduction of the file.
const HOW_TO_USE: &str = "\
#
# Use it with `reelyard ROLE --config FILE`. The values in this file are the defaults. Settings in
# comments are not set, or are empty. The environment overrides the file, for example
# REELYARD_LOG__LEVEL=debug. The option --set log.level=debug overrides both.
";

// Writing to a String cannot fail.
fn write_section(file: &mut String, section: &Section, role: &str) {
    if !section.name.is_empty() {
        file.push('\n');
    }
    for line in section.about {
        let _ = writeln!(file, "#{line}");
    }
    if section.name.is_empty() {
        file.push_str(&HOW_TO_USE.replace("ROLE", role));
    } else {
        let _ = writeln!(file, "[{}]", section.name);
    }
    for (index, setting) in section.settings.iter().enumerate() {
        if index > 0 || section.name.is_empty() {
            file.push('\n');
        }
        write_setting(file, setting);
    }
}

fn write_setting(file: &mut String, setting: &DescribedSetting) {
    for line in &setting.doc {
        let _ = writeln!(file, "#{line}");
    }
    if setting.presence == Presence::Required {
        let _ = writeln!(file, "# Required. The value here is an example.");
    }
    if setting.applies.effect == TakesEffect::Restart {
        let _ = writeln!(file, "# A change takes effect after a restart.");
    }
    let name = setting.key.rsplit('.').next().unwrap_or(&setting.key);
    // TOML does not allow an empty inline table to be extended by a table further below.
    let is_empty_table = setting.value == "{}";
    let mark = if setting.presence == Presence::Optional || is_empty_table { "# " } else { "" };
    let _ = writeln!(file, "{mark}{name} = {}", setting.value);
}

#[cfg(test)]
mod tests {
    use super::super::{Layers, NodeConfig, WorkerConfig, load};
    use super::*;

    fn load_text<R: RoleConfig>(text: &str) -> Vec<(String, Option<String>)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.toml");
        std::fs::write(&path, text).unwrap();
        let layers = Layers { file: Some(path), ..Layers::default() };
        let (_, effective) = load::<R>(&layers).unwrap();
        effective.into_iter().map(|one| (one.key, one.value)).collect()
    }

    #[test]
    fn the_example_of_a_node_equals_the_defaults() {
        assert_eq!(load_text::<NodeConfig>(&example::<NodeConfig>()), load_text::<NodeConfig>(""));
    }

    #[test]
    fn the_example_of_a_worker_lacks_only_its_directories() {
        let example =
            example::<WorkerConfig>().replace("source_dirs = []", "source_dirs = [\"/m\"]");
        let least = "listen = \"10.0.0.21:8888\"\nsource_dirs = [\"/m\"]\n";
        assert_eq!(load_text::<WorkerConfig>(&example), load_text::<WorkerConfig>(least));
    }

    #[test]
    fn tables_are_added_below_the_example() {
        let more = "[box.pools.judges]\nsize = 8\n\n[share.webhooks.billing]\nsecret = \"0123456789abcdef0123\"\n\
                    url = \"http://10.0.0.5:9000/shares\"\n";
        let effective = load_text::<NodeConfig>(&format!("{}\n{more}", example::<NodeConfig>()));
        for key in ["box.pools", "share.webhooks"] {
            let value = effective.iter().find(|(known, _)| known == key).unwrap().1.as_ref();
            assert!(value.is_some_and(|value| value != "{}"), "{key}: {value:?}");
        }
    }

    #[test]
    fn every_example_that_is_commented_out_is_good() {
        for section in sections::<NodeConfig>().into_iter().chain(sections::<WorkerConfig>()) {
            for setting in section.settings {
                assert!(!setting.value.is_empty() && !setting.doc.is_empty(), "{}", setting.key);
            }
        }
    }
}
