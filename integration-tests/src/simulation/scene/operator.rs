//! The actions of the operator, the users and random faults while the yard has faults.

use reelyard_core::event::{PieceId, RequestId};
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;

use super::Scene;
use crate::simulation::environment::parties::Party;
use crate::simulation::pieces::PIECES;

/// One action at one time.
#[derive(Clone, Debug)]
pub enum OperatorAction {
    /// Ends a process as SIGKILL does.
    Kill(Party),
    /// Starts the process.
    Start(Party),
    /// Causes a panic of the owner of a piece on a node.
    OwnerPanics(usize, PieceId),
    /// Cuts a link, in one direction or both.
    Cut(Party, Party, bool),
    /// Removes that cut.
    Join(Party, Party, bool),
    /// Delays the messages of a link by at most this number of milliseconds; zero removes the delay.
    Slow(Party, Party, u64),
    /// Makes a clock jump by this number of milliseconds.
    Jump(Party, i64),
    /// Cancels a task.
    Cancel {
        /// The task; `None` for any open one.
        task: Option<TaskId>,
        /// The request's id, equal for each repetition.
        request: RequestId,
    },
    /// Creates or changes the pool of boxes.
    PutPool {
        /// The number of boxes.
        size: u32,
    },
    /// Pins a file, or unpins it.
    Pin(FileName, bool),
    /// Revokes a lease of a box.
    RevokeLease,
    /// Looks for masters on behalf of a node's TaskManager.
    LookUp {
        /// The node that receives the result.
        node: Party,
        /// The life of the node at the request.
        life: u32,
        /// The node's number for the request.
        number: u64,
        /// The names of the masters.
        names: Vec<FileName>,
    },
    /// Makes a file hot.
    Heat(FileName, u32),
    /// Makes a file cold again.
    Cool(FileName),
    /// Replaces the ranking: shuffles it and omits this number of files at the end.
    Rank(usize),
    /// Writes a new version of a master, or adds a new master.
    Write(FileName),
    /// Deletes a master.
    Remove(FileName),
    /// Adds bytes of other programs to a disk, or removes them.
    Fill(usize, i64),
    /// Adds a copy to a disk by hand.
    Put(usize, FileName),
    /// Deletes a copy by hand.
    Delete(usize, FileName),
    /// Deletes by hand one copy of a file that has several.
    DeleteOneOfSeveral,
}

impl OperatorAction {
    /// Whether the action continues after the faults end.
    pub fn lasts(&self) -> bool {
        matches!(
            self,
            OperatorAction::LookUp { .. }
                | OperatorAction::Cancel { .. }
                | OperatorAction::PutPool { .. }
        )
    }
}

/// Draws all actions, each with its time in virtual milliseconds.
pub fn draw(scene: &Scene, rng: &mut fastrand::Rng) -> Vec<(u64, OperatorAction)> {
    let mut actions = vec![(500, OperatorAction::PutPool { size: scene.pool.size })];
    let names: Vec<FileName> = scene.yard.masters.keys().cloned().collect();
    for _ in 0..rng.usize(4..22) {
        let at = rng.u64(2000..scene.trouble);
        let lasts = rng.u64(500..20_000);
        let name = names[rng.usize(0..names.len())].clone();
        let host = rng.usize(0..scene.hosts.len());
        let party = party(scene, rng);
        match rng.u32(0..23) {
            0..3 => {
                actions.push((at, OperatorAction::Kill(party)));
                actions.push((at + lasts, OperatorAction::Start(party)));
            }
            3 => {
                let (node, piece) = (rng.usize(0..scene.nodes), PIECES[rng.usize(0..PIECES.len())]);
                actions.push((at, OperatorAction::OwnerPanics(node, piece)));
            }
            4..7 => {
                let (other, both) = (self::party(scene, rng), rng.u32(0..100) < 70);
                actions.push((at, OperatorAction::Cut(party, other, both)));
                actions.push((at + lasts, OperatorAction::Join(party, other, both)));
            }
            7 => {
                // One node loses its links to all other nodes, but not to its hosts.
                let node = rng.usize(0..scene.nodes);
                for other in (0..scene.nodes).filter(|other| *other != node) {
                    let (node, other) = (Party::Node(node), Party::Node(other));
                    actions.push((at, OperatorAction::Cut(node, other, true)));
                    actions.push((at + lasts, OperatorAction::Join(node, other, true)));
                }
            }
            8 => {
                let other = self::party(scene, rng);
                actions.push((at, OperatorAction::Slow(party, other, rng.u64(200..6000))));
                actions.push((at + lasts, OperatorAction::Slow(party, other, 0)));
            }
            9 => {
                let most: i64 = [2000, 20_000, 200_000, 900_000][rng.usize(0..4)];
                actions.push((at, OperatorAction::Jump(party, rng.i64(-most..most))));
            }
            10 => {
                let request = RequestId(rng.u128(..));
                actions.push((at, OperatorAction::Cancel { task: None, request }));
            }
            11..13 => {
                actions.push((at, OperatorAction::Heat(name.clone(), rng.u32(3..9))));
                actions.push((at + lasts, OperatorAction::Cool(name)));
            }
            13 => actions.push((at, OperatorAction::Rank(rng.usize(0..3)))),
            14 => actions.push((at, OperatorAction::Write(name))),
            15 => {
                actions.push((at, OperatorAction::Remove(name.clone())));
                if rng.bool() {
                    actions.push((at + lasts, OperatorAction::Write(name)));
                }
            }
            16 => {
                let bytes = scene.hosts[host].capacity / rng.u64(1..4);
                let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
                actions.push((at, OperatorAction::Fill(host, bytes)));
                actions.push((at + lasts, OperatorAction::Fill(host, -bytes)));
            }
            17 => actions.push((at, OperatorAction::PutPool { size: rng.u32(1..7) })),
            18 => actions.push((at, OperatorAction::RevokeLease)),
            19 => actions.push((at, OperatorAction::Pin(name, rng.u32(0..100) < 70))),
            20..22 => actions.push((at, OperatorAction::DeleteOneOfSeveral)),
            _ if rng.bool() => actions.push((at, OperatorAction::Put(host, name))),
            _ => actions.push((at, OperatorAction::Delete(host, name))),
        }
    }
    actions
}

fn party(scene: &Scene, rng: &mut fastrand::Rng) -> Party {
    match rng.usize(0..scene.nodes + scene.hosts.len() + scene.jobs) {
        node if node < scene.nodes => Party::Node(node),
        other if other < scene.nodes + scene.hosts.len() => Party::Host(other - scene.nodes),
        job => Party::Job(job - scene.nodes - scene.hosts.len()),
    }
}
