//! Files behind shares, their roots and their moves.

mod files_mailbox;
mod files_three_nodes;
pub(super) mod files_yard;
mod moves_survive_kill;
mod roots;
