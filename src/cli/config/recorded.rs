//! `reelyard config apply`, `revert` and `versions`: the settings that a cluster has on record.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use reelyard_api::{SettingsRecorded, SettingsVersionInfo, SettingsVersionView, WantedSettings};
use reelyard_core::bounded_read::{self, InputSource};

use super::shown_change::changed;
use crate::cli::client::{NodeArgs, NodeClient, PageArgs};
use crate::cli::output::cell::{maybe, text};
use crate::cli::output::{ListCell, ListColumn, ListTable, PrintStyle, Printer, plain};
use crate::cli::support::failure::CommandFailure;

/// Puts the settings of a file on record.
pub fn apply(
    node: &NodeArgs,
    file: &Path,
    dry_run: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let bytes = bounded_read::read(file, InputSource::FileOrPipe)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let text =
        String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", file.display()))?;
    let wanted = WantedSettings { text: Some(text), ..WantedSettings::default() };
    record(node, wanted, dry_run, out)
}

/// Puts the settings of an earlier version on record.
pub fn revert(
    node: &NodeArgs,
    version: u64,
    dry_run: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let wanted = WantedSettings { version: Some(version), ..WantedSettings::default() };
    record(node, wanted, dry_run, out)
}

/// First asks for the changes by a dry run. The new version then follows the one that the dry run compared with.
fn record(
    node: &NodeArgs,
    wanted: WantedSettings,
    dry_run: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let client = NodeClient::new(node)?;
    let path = ["config", "versions"];
    let ask = WantedSettings { dry_run: true, ..wanted.clone() };
    let mut answer: SettingsRecorded = client.post_body(&path, &ask)?;
    if !dry_run {
        let apply = WantedSettings { dry_run: false, follows: Some(answer.version), ..wanted };
        answer = client.post_body(&path, &apply)?;
    }
    let out = &mut node.output.printer(out);
    out.refuse_csv()?;
    if out.is_json() {
        return out.json(&answer);
    }
    print(&answer, out)
}

fn print(answer: &SettingsRecorded, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    for change in &answer.applied {
        writeln!(out, "{}", changed(change))?;
    }
    for change in &answer.needs_restart {
        writeln!(out, "{} (needs a restart of each node)", changed(change))?;
    }
    if !answer.left_out.is_empty() {
        let keys = plain(&answer.left_out.join(", "));
        out.remark(&format!("left out, because each node has its own: {keys}"))?;
    }
    let version = answer.version;
    let differs = !answer.applied.is_empty() || !answer.needs_restart.is_empty();
    match (answer.is_recorded, differs) {
        (true, _) => writeln!(out, "version {version} is on record")?,
        (false, true) => writeln!(out, "nothing was recorded: version {version} stays in force")?,
        (false, false) => writeln!(out, "nothing differs from version {version} on record")?,
    }
    Ok(())
}

/// Lists the versions.
pub fn list(
    client: &NodeClient,
    page: &PageArgs,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let versions = client.list::<SettingsVersionInfo>(&["config", "versions"], &[], page)?;
    out.list(&versions, table)
}

fn table(versions: &[SettingsVersionInfo], _: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::right("VERSION"),
        ListColumn::left("RECORDED"),
        ListColumn::name("BY"),
        ListColumn::reason("REASON"),
    ]);
    for version in versions {
        table.row(vec![
            text(version.version),
            ListCell::At(version.at.0),
            text(&version.by),
            maybe(version.reason.as_ref(), text),
        ]);
    }
    table
}

/// Prints a version as a configuration file.
pub fn show(
    client: &NodeClient,
    version: u64,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let number = version.to_string();
    let view: SettingsVersionView = client.get(&["config", "versions", &number], &[])?;
    out.refuse_csv()?;
    if out.is_json() {
        return out.json(&view);
    }
    let SettingsVersionInfo { version, at, by, reason, .. } = &view.info;
    let at = out.exact(at.0);
    writeln!(out, "# Version {version}, recorded {at} by {}", plain(by))?;
    if let Some(reason) = reason {
        writeln!(out, "# {}", plain(reason))?;
    }
    for setting in &view.values {
        match &setting.value {
            Some(value) => writeln!(out, "{} = {}", setting.key, plain(value))?,
            None => writeln!(out, "# {} is secret", setting.key)?,
        }
    }
    Ok(())
}
