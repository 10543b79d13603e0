//! The nodes of a cluster, with one that does not take part.

use reelyard_console::Viewer;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::cluster::{self, ClusterPageModel, MemberLine, NodeRank};

pub fn three(viewer: &Viewer) -> PageParts {
    let line = |number: u64, rank, trouble: Option<&str>| MemberLine {
        number,
        is_own: number == 1,
        rank,
        address: format!("10.0.0.{number}:8082"),
        api: format!("https://10.0.0.{number}:8080"),
        behind: (number > 1).then_some((1_200 * number.saturating_sub(2), 90_000, 1_400)),
        contact_ms: (number > 1).then_some(40),
        round_trip_us: (number > 1).then_some(310),
        skew_ms: (number > 1).then_some(-3),
        snapshot: (rank == NodeRank::Learner).then_some((300 << 20, 900 << 20)),
        level: 1,
        version: "0.1.0".into(),
        differs: number == 2,
        trouble: trouble.map(String::from),
    };
    let model = ClusterPageModel {
        refused: vec![("another-cluster".to_owned(), 3), ("timing".to_owned(), 1)],
        members: vec![
            line(1, NodeRank::Leader, None),
            line(2, NodeRank::Voter, None),
            line(3, NodeRank::Voter, Some("it has been silent for 1 min 5 s")),
            line(4, NodeRank::Learner, None),
        ],
        leader: Some(1),
        epoch: 12,
        leaders: 3,
        forwarded: 48_210,
        hindrance: None,
        warnings: vec![
            "node 3 does not take part: it has been silent for 1 min 5 s".into(),
            "the settings of the cluster in the file of node 2 differ from those here".into(),
        ],
        invited: None,
        ask: None,
    };
    let title = NavPage::Cluster.title().of(viewer.language);
    PageParts::new(NavPage::Cluster, title, cluster::render(&model, viewer))
}
