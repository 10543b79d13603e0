//! Output of commands: tables that fit a terminal, CSV and JSON for programs.

mod args;
pub mod cell;
mod csv;
pub mod local_time;
mod printer;
mod sheet;
mod shown_text;
mod state_look;
mod style;
mod table;

pub use args::OutputArgs;
pub use cell::ListCell;
pub use printer::Printer;
pub use sheet::DetailSheet;
pub use shown_text::{cut_end, cut_shown, name, plain, width as text_width, wrapped};
pub use style::PrintStyle;
#[cfg(test)]
pub use style::{ColorWhen, OutputForm, viewer};
pub use table::{ListColumn, ListTable, PartLook, ShownLine};
