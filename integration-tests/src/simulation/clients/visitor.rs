//! A person with share links: creates them, opens them, and changes or revokes them. A request is repeated under the
//! same id until it has an answer.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use reelyard_shares::share_expiry::{
    ChangeShare, ClientKey, CreateShare, NewTerms, RevokeShares, RootName, ShareId, ShareKind,
    ShareLifetime, SharePath, ShareTerms, TakeDownload,
};

use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::{
    ShareCall, SimulatedCall, SimulatedMessage, SimulatedResponse, UNCOUNTED,
};
use crate::simulation::environment::parties::{Party, PartyTimer};

/// The timeout of a call, in milliseconds.
const PATIENCE: u64 = 4000;
/// The largest number of links of a visitor.
const MOST_LINKS: usize = 6;

/// The root of all shares.
#[allow(clippy::expect_used, reason = "the text is a name by its form")]
pub fn root() -> RootName {
    RootName::new("movies").expect("a name")
}

/// A visitor with its links, which a restart does not clear.
pub struct SimulatedVisitor {
    /// The index of the visitor in the world.
    pub id: usize,
    /// Whether it begins nothing more.
    pub retires: bool,
    nodes: usize,
    links: Vec<ShareId>,
    /// The requests without an answer, by the number of their call.
    calls: BTreeMap<u64, ShareCall>,
}

impl SimulatedVisitor {
    /// A visitor without links, in a world with this number of nodes.
    pub fn new(id: usize, nodes: usize) -> Self {
        let (links, calls) = (Vec::new(), BTreeMap::new());
        SimulatedVisitor { id, retires: false, nodes, links, calls }
    }

    /// The identity of this visitor in the network.
    pub fn party(&self) -> Party {
        Party::Visitor(self.id)
    }

    /// Begins to use links.
    pub fn start(&self, context: &mut Context) {
        context.after(1000, self.party(), 0, PartyTimer::VisitorActs);
    }

    /// Handles a timer.
    pub fn ring(&mut self, context: &mut Context, timer: PartyTimer) {
        match timer {
            PartyTimer::VisitorActs => self.act(context),
            PartyTimer::CallIsOver(id) => self.answered(context, id, None),
            _ => {}
        }
    }

    /// Handles a message.
    pub fn receive(&mut self, context: &mut Context, letter: SimulatedMessage) {
        if let SimulatedMessage::Answer { id, answer } = letter {
            self.answered(context, id, Some(answer));
        }
    }

    fn act(&mut self, context: &mut Context) {
        if self.retires {
            return;
        }
        let after = context.rng.u64(200..3000);
        context.after(after, self.party(), 0, PartyTimer::VisitorActs);
        let link = match self.links.len() {
            0 => None,
            links => Some(self.links[context.rng.usize(0..links)]),
        };
        let call = match (context.rng.u32(0..10), link) {
            (0..4, _) | (_, None) if self.links.len() < MOST_LINKS => self.create(context),
            (4, Some(id)) => self.change(context, id),
            (5, Some(id)) => self.revoke(context, id),
            (_, Some(id)) => self.open(context, id),
            (_, None) => return,
        };
        self.call(context, call);
    }

    /// Most calls go to the leader. A link may be opened at every node.
    fn call(&mut self, context: &mut Context, call: ShareCall) {
        let at_leader = !matches!(call, ShareCall::Open(_)) && !context.chance(15);
        let node = if at_leader { context.leader } else { context.rng.usize(0..self.nodes) };
        let sent = SimulatedCall::Share(call.clone());
        let id = context.call(self.party(), 0, Party::Node(node), sent, PATIENCE);
        self.calls.insert(id, call);
    }

    #[allow(clippy::expect_used, reason = "the text is a path by its form")]
    fn create(&self, context: &mut Context) -> ShareCall {
        let path = format!("v{}/f{}.mpg", self.id, context.rng.u32(0..3));
        let limit = [None, None, NonZeroU32::new(1), NonZeroU32::new(3)];
        ShareCall::Create(CreateShare {
            root: root(),
            path: SharePath::new(path).expect("a path"),
            kind: ShareKind::File,
            looked: None,
            lifetime: ShareLifetime::Ttl(Duration::from_millis(context.rng.u64(1500..30_000))),
            owner: None,
            terms: ShareTerms {
                max_downloads: limit[context.rng.usize(0..limit.len())],
                ..ShareTerms::default()
            },
            asked_by: self.party().to_string(),
            request: Some(context.request()),
        })
    }

    fn change(&self, context: &mut Context, id: ShareId) -> ShareCall {
        let lasts = Duration::from_millis(context.rng.u64(1500..20_000));
        let change = NewTerms { lifetime: Some(ShareLifetime::Ttl(lasts)), ..NewTerms::default() };
        let asked_by = self.party().to_string();
        ShareCall::Change(ChangeShare { id, change, asked_by, request: context.request() })
    }

    fn revoke(&self, context: &mut Context, id: ShareId) -> ShareCall {
        let (hard, asked_by) = (context.rng.bool(), self.party().to_string());
        ShareCall::Revoke(RevokeShares {
            ids: vec![id],
            hard,
            asked_by,
            request: context.request(),
        })
    }

    fn open(&self, context: &mut Context, id: ShareId) -> ShareCall {
        let client = ClientKey(context.rng.u64(0..4));
        let ranged = context.chance(30);
        ShareCall::Open(TakeDownload { id, client, ranged, request: context.request() })
    }

    /// Handles the answer to a call, or its timeout.
    fn answered(&mut self, context: &mut Context, id: u64, answer: Option<SimulatedResponse>) {
        let Some(call) = self.calls.remove(&id) else { return };
        match (answer.filter(|answer| answer.status != 503), &call) {
            (Some(answer), ShareCall::Create(_)) if answer.status == 201 => {
                let link = serde_json::from_slice::<ShareId>(&answer.body).ok();
                self.links.extend(link);
            }
            (Some(answer), ShareCall::Open(take)) if answer.status == UNCOUNTED => {
                context.judge.served_uncounted(take.id);
            }
            (None, ShareCall::Create(_) | ShareCall::Change(_) | ShareCall::Revoke(_))
                if !self.retires =>
            {
                self.call(context, call);
            }
            _ => {}
        }
    }
}
