//! `reelyard config`

mod recorded;
mod shown_change;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use reelyard_api::ReloadView;
use reelyard_console::pages::settings::SettingsPageQuery;
use reelyard_core::bounded_read::{self, InputSource};
use reelyard_core::settings::{Scope, TakesEffect};
use serde::Serialize;

use self::shown_change::changed;
use super::client::{NodeArgs, NodeClient, PageArgs};
use crate::cli::client::ViewArgs;
use crate::cli::output::{OutputArgs, Printer, plain};
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::layers::LayerArgs;
use crate::config::legacy::{LegacyProgram, import};
use crate::config::reading::exposed;
use crate::config::{self, EffectiveSetting, NodeConfig, RoleConfig, SettingOrigin, WorkerConfig};

#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print every setting with its value and origin; secrets are hidden.
    Show {
        /// Role that the configuration is for.
        #[arg(default_value = "node")]
        role: RoleName,
        #[command(flatten)]
        layers: LayerArgs,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Check whether a role would start with this configuration, and list all faults.
    Check {
        /// Role that the configuration is for.
        #[arg(default_value = "node")]
        role: RoleName,
        #[command(flatten)]
        layers: LayerArgs,
    },
    /// Reload the configuration of a running node, as SIGHUP does, and print the differences.
    Reload {
        #[command(flatten)]
        node: NodeArgs,
        /// Only print the changes.
        #[arg(long)]
        dry_run: bool,
    },
    /// Put the settings of the cluster in FILE on record, and print the changes. They take effect on all nodes.
    Apply {
        #[command(flatten)]
        node: NodeArgs,
        /// Configuration file. Its settings of a single node are left out.
        file: PathBuf,
        /// Only print the changes.
        #[arg(long)]
        dry_run: bool,
    },
    /// Put the settings of an earlier version on record again, and print the changes.
    Revert {
        #[command(flatten)]
        node: NodeArgs,
        /// Number of the version, from `reelyard config versions`.
        version: u64,
        /// Only print the changes.
        #[arg(long)]
        dry_run: bool,
    },
    /// List the versions of the settings that the cluster has on record, or print one as a file.
    Versions {
        #[command(flatten)]
        node: NodeArgs,
        /// Print the settings of this version; secrets are hidden.
        version: Option<u64>,
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        view: ViewArgs,
    },
    /// Print a commented file with every setting at its default.
    Default {
        /// Role that the configuration is for.
        role: RoleName,
    },
    /// Convert a cfm.yml or cfw.yml; changes are listed on stderr.
    Import {
        /// File of the old program.
        file: PathBuf,
        /// Program of the file, if its name does not show it.
        #[arg(long)]
        program: Option<ProgramName>,
        /// Write a usable file even if some values are lost.
        #[arg(long)]
        accept_loss: bool,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RoleName {
    Node,
    Worker,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProgramName {
    Cfm,
    Cfw,
}

/// Runs `reelyard config`.
pub fn run(args: ConfigArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    match args.command {
        ConfigCommand::Show { role, layers, output } => {
            let out = &mut output.printer(out);
            out.refuse_csv()?;
            match role {
                RoleName::Node => show::<NodeConfig>(layers, out),
                RoleName::Worker => show::<WorkerConfig>(layers, out),
            }
        }
        ConfigCommand::Check { role, layers } => match role {
            RoleName::Node => check::<NodeConfig>(layers, out),
            RoleName::Worker => check::<WorkerConfig>(layers, out),
        },
        ConfigCommand::Reload { node, dry_run } => reload(&node, dry_run, out),
        ConfigCommand::Apply { node, file, dry_run } => recorded::apply(&node, &file, dry_run, out),
        ConfigCommand::Revert { node, version, dry_run } => {
            recorded::revert(&node, version, dry_run, out)
        }
        ConfigCommand::Versions { node, version, page, view } => {
            let out = &mut node.output.printer(out);
            let client = NodeClient::new(&node)?;
            let shown = version.map(|version| version.to_string()).unwrap_or_default();
            let query = SettingsPageQuery { version: shown, ..SettingsPageQuery::default() };
            view.show(&node, &query.address(), out, |out| match version {
                None => recorded::list(&client, &page, out),
                Some(version) => recorded::show(&client, version, out),
            })
        }
        ConfigCommand::Default { role } => {
            let text = match role {
                RoleName::Node => config::example::<NodeConfig>(),
                RoleName::Worker => config::example::<WorkerConfig>(),
            };
            Ok(out.write_all(text.as_bytes())?)
        }
        ConfigCommand::Import { file, program, accept_loss } => {
            import_file(&file, program, accept_loss, out)
        }
    }
}

/// One setting as JSON.
#[derive(Serialize)]
struct SettingJson {
    key: String,
    /// The value as TOML; null if it is not set.
    value: Option<String>,
    origin: String,
    takes_effect: TakesEffect,
    scope: Scope,
}

fn show<R: RoleConfig>(layers: LayerArgs, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let (_, settings) = config::load::<R>(&layers.layers())?;
    if out.is_json() {
        let rows = settings.into_iter().map(|one| SettingJson {
            key: one.key,
            value: one.value,
            origin: one.origin.to_string(),
            takes_effect: one.applies.effect,
            scope: one.applies.scope,
        });
        return out.json(&rows.collect::<Vec<_>>());
    }
    settings.iter().try_for_each(|setting| show_one(setting, out))?;
    Ok(())
}

/// Prints a line of TOML, so that the output works as a configuration file.
fn show_one(setting: &EffectiveSetting, out: &mut dyn Write) -> io::Result<()> {
    let line = match &setting.value {
        Some(value) => format!("{} = {value}", setting.key),
        None => format!("# {} is not set", setting.key),
    };
    match &setting.origin {
        SettingOrigin::Default => writeln!(out, "{line}"),
        origin => writeln!(out, "{line:<50} # {origin}"),
    }
}

fn check<R: RoleConfig>(layers: LayerArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let (config, settings) = config::load::<R>(&layers.layers())?;
    let set = settings.iter().filter(|setting| setting.origin != SettingOrigin::Default).count();
    writeln!(
        out,
        "a {} would start with this: {set} of {} settings are set",
        R::NAME,
        settings.len()
    )?;
    let missing = config.not_there();
    missing.iter().try_for_each(|what| writeln!(out, "warning: {}", plain(what)))?;
    let weaknesses = config.weaknesses();
    weaknesses.iter().try_for_each(|what| writeln!(out, "warning: {}", plain(what)))?;
    let renamed = config::reading::renamed::warnings(&settings);
    renamed.iter().try_for_each(|what| writeln!(out, "warning: {}", plain(what)))?;
    let exposed = exposed::exposed(&settings);
    exposed.iter().try_for_each(|what| writeln!(out, "warning: {}", plain(what)))?;
    Ok(())
}

fn reload(node: &NodeArgs, dry_run: bool, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let query = [("dry_run", if dry_run { "true" } else { "false" })];
    let out = &mut node.output.printer(out);
    out.refuse_csv()?;
    let view: ReloadView = NodeClient::new(node)?.post_with(&["config", "reload"], &query)?;
    if out.is_json() {
        return out.json(&view);
    }
    for change in &view.applied {
        writeln!(out, "{}", changed(change))?;
    }
    for change in &view.needs_restart {
        writeln!(out, "{} (needs a restart)", changed(change))?;
    }
    for change in &view.not_as_recorded {
        writeln!(
            out,
            "{} (no effect: the settings of the cluster are on record)",
            changed(change)
        )?;
    }
    if view == (ReloadView { dry_run: view.dry_run, ..ReloadView::default() }) {
        writeln!(out, "nothing differs")?;
    }
    Ok(())
}

fn import_file(
    file: &Path,
    program: Option<ProgramName>,
    accept_loss: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let path = file.display();
    let text = bounded_read::read_text(file, InputSource::FileOrPipe)
        .with_context(|| format!("{path} cannot be read"))?;
    let program = match program {
        Some(ProgramName::Cfm) => LegacyProgram::Cfm,
        Some(ProgramName::Cfw) => LegacyProgram::Cfw,
        None => program_of(file)?,
    };
    let imported =
        import(program, &text).map_err(|fault| CommandFailure::Usage(format!("{path}:{fault}")))?;
    let is_good = imported.is_whole() || accept_loss;
    let name = plain(&path.to_string());
    if is_good {
        writeln!(out, "# Made from {name} by `reelyard config import`.\n")?;
        out.write_all(imported.toml.as_bytes())?;
    } else {
        out.write_all(imported.unusable(&name).as_bytes())?;
    }
    out.flush()?;
    let mut notes = io::stderr().lock();
    for note in &imported.notes {
        let line = note.line.map_or_else(String::new, |line| format!(":{line}"));
        writeln!(notes, "{path}{line}: {}", plain(&note.to_string()))?;
    }
    if is_good {
        return Ok(());
    }
    Err(anyhow::anyhow!(
        "Some values of {path} could not be kept: see above. A node or worker does not start with \
         the written file. Correct the values, or accept the loss with --accept-loss."
    )
    .into())
}

/// Derives the old program from the name of its file.
fn program_of(file: &Path) -> Result<LegacyProgram, CommandFailure> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    match (name.contains("cfm"), name.contains("cfw")) {
        (true, false) => Ok(LegacyProgram::Cfm),
        (false, true) => Ok(LegacyProgram::Cfw),
        _ => Err(CommandFailure::Usage(format!(
            "{}: the file name does not say which program it is of: add --program cfm or --program cfw",
            file.display()
        ))),
    }
}
