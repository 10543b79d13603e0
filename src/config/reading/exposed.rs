//! Finds files with secrets that other users can read.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use reelyard_core::settings::{EffectiveSetting, SettingOrigin};
use toml::Value;

/// Settings that name a file with a secret.
const NAMES_OF_FILES: [&str; 3] = ["token_file", "share.tls.key", "tls.key"];

/// The settings with hooks, and the key in each hook that names a file with a secret.
const HOOKS: (&str, &str) = ("share.webhooks", "secret_file");

/// Permission bits that let the group or others read.
const READABLE: u32 = 0o044;

/// One warning with a remedy for each file with a secret that its group or others can read.
pub fn exposed(settings: &[EffectiveSetting]) -> Vec<String> {
    let mut files = BTreeSet::new();
    for setting in settings {
        collect_files(setting, &mut files);
    }
    files.iter().filter_map(|file| exposed_file(file)).collect()
}

fn collect_files(setting: &EffectiveSetting, files: &mut BTreeSet<PathBuf>) {
    let Some(value) = &setting.value else { return };
    if let (true, SettingOrigin::File { path, .. }) = (setting.is_secret, &setting.origin) {
        files.insert(path.to_path_buf());
    }
    if NAMES_OF_FILES.contains(&setting.key.as_str()) {
        files.extend(text(value).as_ref().and_then(Value::as_str).map(PathBuf::from));
    }
    if setting.key == HOOKS.0 {
        let hooks = text(value);
        let hooks = hooks.as_ref().and_then(Value::as_table).into_iter().flatten();
        for (_, hook) in hooks {
            match (hook.get(HOOKS.1).and_then(Value::as_str), &setting.origin) {
                (Some(file), _) => files.insert(PathBuf::from(file)),
                // The file contains the secret itself.
                (None, SettingOrigin::File { path, .. }) => files.insert(path.to_path_buf()),
                (None, _) => false,
            };
        }
    }
}

/// Parses a shown value again.
fn text(shown: &str) -> Option<Value> {
    let mut table: toml::Table = format!("value = {shown}").parse().ok()?;
    table.remove("value")
}

fn exposed_file(file: &Path) -> Option<String> {
    let seen = std::fs::metadata(file).ok()?;
    let mode = seen.mode() & 0o777;
    (seen.is_file() && mode & READABLE != 0).then(|| {
        let file = file.display();
        format!(
            "{file} holds a secret, and its mode {mode:o} lets others read it: chmod 600 {file}"
        )
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::config::{Layers, NodeConfig, load};

    #[test]
    fn files_with_secrets_that_others_can_read_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let (token, hook, config) = (at("token"), at("hook"), at("node.toml"));
        std::fs::write(&token, "0123456789abcdef0123456789abcdef\n").unwrap();
        std::fs::write(&hook, "0123456789abcdef0123456789abcdef\n").unwrap();
        let exposed_by = |text: String| {
            std::fs::write(&config, text).unwrap();
            let layers = Layers { file: Some(config.clone()), ..Layers::default() };
            let (_, settings) = load::<NodeConfig>(&layers).unwrap();
            exposed(&settings)
        };
        let modes = |mode| {
            for file in [&token, &hook, &config] {
                std::fs::write(file, std::fs::read(file).unwrap_or_default()).unwrap();
                set_permissions(file, Permissions::from_mode(mode)).unwrap();
            }
        };
        let by_file = format!("token_file = {:?}\n", token.display().to_string());
        modes(0o600);
        assert_eq!(exposed_by(by_file.clone()), [""; 0]);
        modes(0o640);
        let result = exposed_by(by_file);
        assert!(
            result.len() == 1 && result[0].contains("token") && result[0].contains("640"),
            "{result:?}"
        );
        modes(0o604);
        let result = exposed_by("token = \"0123456789abcdef0123456789abcdef\"\n".to_owned());
        assert!(result.len() == 1 && result[0].contains("node.toml"), "{result:?}");
        assert_eq!(exposed_by("[log]\nlevel = \"info\"\n".to_owned()), [""; 0]);
        let hooks = format!(
            "[share.webhooks.end]\nurl = \"https://h.example/\"\nsecret_file = {:?}\n",
            hook.display().to_string()
        );
        let result = exposed_by(hooks);
        assert!(result.len() == 1 && result[0].contains("hook"), "{result:?}");
    }
}
