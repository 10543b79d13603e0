//! What the operator, the users and fate do to a yard while there is trouble.

use reelyard_core::event::RequestId;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;

use super::parties::Party;
use super::scene::Scene;

/// One deed.
#[derive(Clone, Debug)]
pub enum OperatorAction {
    /// `kill -9`.
    Kill(Party),
    /// The process is started.
    Start(Party),
    /// A TaskManager panics.
    OwnerPanics(usize),
    /// A link is cut, in one direction or both.
    Cut(Party, Party, bool),
    /// That cut is taken back.
    Join(Party, Party, bool),
    /// A link becomes slow, by up to so many milliseconds; zero makes it quick.
    Slow(Party, Party, u64),
    /// A clock jumps by so many milliseconds.
    Jump(Party, i64),
    /// A task is taken back; some open one if none is named.
    Cancel {
        /// Which.
        task: Option<TaskId>,
        /// The request's id, the same when it is repeated.
        request: RequestId,
    },
    /// Masters are looked at for a node's TaskManager.
    LookUp {
        /// The node.
        node: Party,
        /// In which life it asked.
        life: u32,
        /// Which masters.
        names: Vec<FileName>,
    },
    /// A file becomes hot.
    Heat(FileName, u32),
    /// It is hot no more.
    Cool(FileName),
    /// The ranking is replaced: shuffled, the last so many files left out.
    Rank(usize),
    /// A master is written anew; one that is new comes in so.
    Write(FileName),
    /// A master goes.
    Remove(FileName),
    /// Somebody else writes so many bytes to a disk, or takes them away again.
    Fill(usize, i64),
    /// A copy is put on a disk by hand.
    Put(usize, FileName),
    /// A copy is deleted by hand.
    Delete(usize, FileName),
}

impl OperatorAction {
    /// Whether it belongs to the machinery and outlasts the trouble.
    pub fn lasts(&self) -> bool {
        matches!(self, OperatorAction::LookUp { .. } | OperatorAction::Cancel { .. })
    }
}

/// Draws everything that will happen, each with its time in virtual milliseconds.
pub fn draw(scene: &Scene, rng: &mut fastrand::Rng) -> Vec<(u64, OperatorAction)> {
    let mut deeds = Vec::new();
    let names: Vec<FileName> = scene.yard.masters.keys().cloned().collect();
    for _ in 0..rng.usize(4..22) {
        let at = rng.u64(2000..scene.trouble);
        let lasts = rng.u64(500..20_000);
        let name = names[rng.usize(0..names.len())].clone();
        let host = rng.usize(0..scene.hosts.len());
        let party = party(scene, rng);
        match rng.u32(0..18) {
            0..3 => {
                deeds.push((at, OperatorAction::Kill(party)));
                deeds.push((at + lasts, OperatorAction::Start(party)));
            }
            3 => deeds.push((at, OperatorAction::OwnerPanics(rng.usize(0..scene.nodes)))),
            4..7 => {
                let (other, both) = (self::party(scene, rng), rng.u32(0..100) < 70);
                deeds.push((at, OperatorAction::Cut(party, other, both)));
                deeds.push((at + lasts, OperatorAction::Join(party, other, both)));
            }
            7 => {
                // One node loses all the others, but not its hosts.
                let node = rng.usize(0..scene.nodes);
                for other in (0..scene.nodes).filter(|other| *other != node) {
                    let (node, other) = (Party::Node(node), Party::Node(other));
                    deeds.push((at, OperatorAction::Cut(node, other, true)));
                    deeds.push((at + lasts, OperatorAction::Join(node, other, true)));
                }
            }
            8 => {
                let other = self::party(scene, rng);
                deeds.push((at, OperatorAction::Slow(party, other, rng.u64(200..6000))));
                deeds.push((at + lasts, OperatorAction::Slow(party, other, 0)));
            }
            9 => {
                let most: i64 = [2000, 20_000, 200_000, 900_000][rng.usize(0..4)];
                deeds.push((at, OperatorAction::Jump(party, rng.i64(-most..most))));
            }
            10 => {
                let request = RequestId(rng.u128(..));
                deeds.push((at, OperatorAction::Cancel { task: None, request }));
            }
            11..13 => {
                deeds.push((at, OperatorAction::Heat(name.clone(), rng.u32(3..9))));
                deeds.push((at + lasts, OperatorAction::Cool(name)));
            }
            13 => deeds.push((at, OperatorAction::Rank(rng.usize(0..3)))),
            14 => deeds.push((at, OperatorAction::Write(name))),
            15 => {
                deeds.push((at, OperatorAction::Remove(name.clone())));
                if rng.bool() {
                    deeds.push((at + lasts, OperatorAction::Write(name)));
                }
            }
            16 => {
                let bytes = scene.hosts[host].capacity / rng.u64(1..4);
                let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
                deeds.push((at, OperatorAction::Fill(host, bytes)));
                deeds.push((at + lasts, OperatorAction::Fill(host, -bytes)));
            }
            _ if rng.bool() => deeds.push((at, OperatorAction::Put(host, name))),
            _ => deeds.push((at, OperatorAction::Delete(host, name))),
        }
    }
    deeds
}

fn party(scene: &Scene, rng: &mut fastrand::Rng) -> Party {
    match rng.usize(0..scene.nodes + scene.hosts.len()) {
        node if node < scene.nodes => Party::Node(node),
        host => Party::Host(host - scene.nodes),
    }
}
