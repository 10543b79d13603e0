//! Options that select the form of the output.

use std::io::Write;

use clap::Args;

use super::printer::Printer;
use super::style::{ColorWhen, OutputForm, PrintStyle};

/// Help heading of the options that many commands have.
const GLOBAL: &str = "Global options";

/// The form of the output.
#[derive(Clone, Debug, Default, Args)]
pub struct OutputArgs {
    /// Form of the output. Default: a table that fits the terminal.
    #[arg(short, long, global = true, help_heading = GLOBAL, value_name = "FORM")]
    output: Option<OutputForm>,
    /// The same as -o json
    #[arg(long, global = true, hide = true, conflicts_with = "output")]
    json: bool,
    /// When the output has colours. Default: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "WHEN")]
    color: Option<ColorWhen>,
}

impl OutputArgs {
    /// A printer of this form.
    pub fn printer<'a>(&self, out: &'a mut dyn Write) -> Printer<'a> {
        let form = if self.json { OutputForm::Json } else { self.output.unwrap_or_default() };
        Printer::new(out, PrintStyle::of_stdout(form, self.color.unwrap_or_default()))
    }
}
