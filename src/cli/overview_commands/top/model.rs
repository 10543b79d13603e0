//! The state of the screen of `reelyard top`.

use reelyard_access::rights::AccessScope;
use reelyard_api::OverviewView;
use reelyard_core::clock::Millis;

use super::fetching::Fetched;
use super::panel::TopPanel;
use crate::cli::output::{ListTable, PrintStyle, plain};
use crate::cli::support::failure::CommandFailure;

/// Everything on the screen.
#[derive(Clone, Debug)]
pub struct TopModel {
    /// URL of the node that answered last.
    pub address: String,
    /// The last answer.
    pub overview: OverviewView,
    /// The list of the panel.
    pub table: ListTable,
    /// The right that the caller lacks for this list.
    pub missing: Option<AccessScope>,
    /// When the last answer came.
    pub answered_at: Millis,
    /// Why the node did not answer since then.
    pub failure: Option<String>,
    /// Its list is on the screen.
    pub panel: TopPanel,
    /// The chosen row of the list, counted from 0.
    pub row: usize,
    /// The keys are listed.
    pub has_help: bool,
}

impl TopModel {
    /// The state after the first answer.
    pub fn new(first: Fetched, style: &PrintStyle) -> Self {
        let Fetched { node: address, panel, overview, table, missing } = first;
        TopModel {
            address,
            overview,
            table,
            missing,
            answered_at: style.instant(),
            failure: None,
            panel,
            row: 0,
            has_help: false,
        }
    }

    /// Takes in an answer, or the failure of one.
    ///
    /// # Errors
    /// The node refuses. A node that does not answer may answer again, so that is no error here.
    pub fn receive(
        &mut self,
        answer: Result<Fetched, CommandFailure>,
        style: &PrintStyle,
    ) -> Result<(), CommandFailure> {
        match answer {
            Ok(fetched) => {
                self.address = fetched.node;
                self.overview = fetched.overview;
                self.answered_at = style.instant();
                self.failure = None;
                // An answer for the panel before belongs to no list on the screen.
                if fetched.panel == self.panel {
                    self.table = fetched.table;
                    self.missing = fetched.missing;
                }
                self.choose(self.row);
                Ok(())
            }
            Err(failure @ (CommandFailure::Unreachable(_) | CommandFailure::Node { .. })) => {
                self.failure = Some(plain(&failure.to_string()));
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }

    /// Shows another panel. Its list comes with the next answer.
    pub fn show(&mut self, panel: TopPanel) {
        if panel != self.panel {
            self.panel = panel;
            self.table = ListTable::new([]);
            self.missing = None;
            self.row = 0;
        }
    }

    /// Chooses a row, or the last one if there are fewer.
    pub fn choose(&mut self, row: usize) {
        self.row = row.min(self.table.rows.len().saturating_sub(1));
    }
}
