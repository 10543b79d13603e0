//! The kept bytes of the messages between nodes. A kept line never changes: nodes of that version exist.

use reelyard_core::clock::Millis;
use reelyard_core::cluster_id::{ClusterId, StoreId};

use super::*;

fn hello() -> NodeHello {
    NodeHello {
        purpose: ConnectionUse::Snapshot,
        sender: Some(HelloNode {
            cluster: ClusterId::from(0xc1),
            number: 2,
            store: StoreId::from(0xb2),
        }),
        expected: Some(AddressedNode { number: 3, store: Some(StoreId::from(0xb3)) }),
        program: "0.1.0".to_owned(),
        levels: FormatLevels { min: 1, max: 2 },
        times: ElectionTimes {
            heartbeat_ms: 100,
            election_min_ms: 250,
            election_max_ms: 500,
            clock_bound_ms: 1000,
        },
        settings: SettingsDigest([7; 32]),
        clock: Millis(1_795_000_000_000),
        skips: HelloSkips { log: (3, 300), skipped: vec![(7, 9)] },
    }
}

fn newcomer() -> NodeHello {
    let skips = HelloSkips::default();
    NodeHello { purpose: ConnectionUse::Join, sender: None, expected: None, skips, ..hello() }
}

fn refusal() -> ConnectionRefusal {
    ConnectionRefusal::new(RefusalKind::AnotherCluster, "no")
}

fn request() -> JoinRequest {
    JoinRequest {
        secret: JoinSecret("s".to_owned()),
        store: StoreId::from(0xb4),
        cluster_address: "10.0.0.4:8082".to_owned(),
        api_address: "https://d:8080".to_owned(),
        program: "0.1.0".to_owned(),
        levels: FormatLevels { min: 1, max: 1 },
    }
}

fn accepted() -> JoinOutcome {
    let member = JoinedMember {
        number: 1,
        is_voter: true,
        store: None,
        cluster_address: "10.0.0.1:8082".to_owned(),
        api_address: "https://a:8080".to_owned(),
        format_level: 1,
    };
    JoinOutcome::Accepted(JoinAnswer {
        cluster: ClusterId::from(0xc1),
        number: 4,
        members: vec![member],
    })
}

fn refused() -> JoinOutcome {
    JoinOutcome::Refused { kind: "secret".to_owned(), why: "no".to_owned() }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn sent_bytes_between_nodes_of_a_cluster_stay() {
    let head = CallHead { id: 5 }.encode();
    let answer = CallAnswerHead { id: 5, clock: Millis(-2), work_us: 9 }.encode();
    let kept = [
        (
            Greeting::Hello(Box::new(hello())).encode(),
            "5259434c0708000201000000000000000000000000000000c102000000000000000000000000000000b2010301000000000000000000000000000000b305302e312e30010264fa01f403e807070707070707070707070707070707070707070707070707070707070707070780f8b2e5bd6803ac02010709",
        ),
        (
            Greeting::Hello(Box::new(newcomer())).encode(),
            "5259434c07080004000005302e312e30010264fa01f403e807070707070707070707070707070707070707070707070707070707070707070780f8b2e5bd68000000",
        ),
        (
            Greeting::Refused(refusal()).encode(),
            "5259434c0708010f616e6f746865722d636c7573746572026e6f",
        ),
        (head.to_vec(), "0000000000000005"),
        (answer.to_vec(), "0000000000000005fffffffffffffffe00000009"),
        (
            request().encode(),
            "010173000000000000000000000000000000b40d31302e302e302e343a383038320e68747470733a2f2f643a3830383005302e312e300101",
        ),
        (
            accepted().encode(),
            "0100000000000000000000000000000000c104010101000d31302e302e302e313a383038320e68747470733a2f2f613a3830383001",
        ),
        (refused().encode(), "010106736563726574026e6f"),
    ];
    let changed: Vec<String> = kept
        .iter()
        .filter(|(bytes, kept)| hex(bytes) != *kept)
        .map(|(bytes, kept)| format!("{kept} is now {}", hex(bytes)))
        .collect();
    assert!(changed.is_empty(), "raise the version:\n{}", changed.join("\n"));
}

/// Those of version 7, which programs of that version send.
const FORMER: [&str; 2] = [
    "5259434c0707000201000000000000000000000000000000c102000000000000000000000000000000b2010301000000000000000000000000000000b305302e312e30010264fa01f403e807070707070707070707070707070707070707070707070707070707070707070780f8b2e5bd68",
    "5259434c07070004000005302e312e30010264fa01f403e807070707070707070707070707070707070707070707070707070707070707070780f8b2e5bd68",
];

#[test]
fn hellos_of_the_version_before_are_read() {
    for (former, hello) in FORMER.into_iter().zip([hello(), newcomer()]) {
        let digits = former.as_bytes().chunks(2).map(|two| str::from_utf8(two).unwrap());
        let bytes: Vec<u8> = digits.map(|two| u8::from_str_radix(two, 16).unwrap()).collect();
        let read = Greeting::read(&bytes).unwrap();
        assert_eq!(read.versions, ProtocolVersions { min: 7, max: 7 });
        let known = NodeHello { skips: HelloSkips::default(), ..hello };
        assert_eq!(read.greeting, Some(Greeting::Hello(Box::new(known))));
    }
}

#[test]
fn each_message_is_read_as_it_was_written() {
    for written in [hello(), newcomer()]
        .map(|hello| Greeting::Hello(Box::new(hello)))
        .into_iter()
        .chain([Greeting::Refused(refusal())])
    {
        let read = Greeting::read(&written.encode()).unwrap();
        assert_eq!(read.versions, PROTOCOL_VERSIONS);
        assert_eq!(read.greeting, Some(written));
    }
    assert_eq!(JoinRequest::read(&request().encode()), Ok(request()));
    for outcome in [accepted(), refused()] {
        assert_eq!(JoinOutcome::read(&outcome.encode()), Ok(outcome));
    }
    let head = CallAnswerHead { id: 5, clock: Millis(-2), work_us: 9 };
    assert_eq!(CallAnswerHead::split(&head.encode()), Some((head, &[][..])));
    assert_eq!(CallHead::split(&[0, 0, 0, 0, 0, 0, 0, 1, 9]), Some((CallHead { id: 1 }, &[9][..])));
}

#[test]
fn members_of_a_later_hello_are_ignored() {
    let mut bytes = Greeting::Hello(Box::new(hello())).encode();
    bytes[5] = 9;
    bytes.extend([1, 2, 3]);
    let read = Greeting::read(&bytes).unwrap();
    assert_eq!(read.versions, ProtocolVersions { min: 7, max: 9 });
    assert_eq!(read.greeting, Some(Greeting::Hello(Box::new(hello()))));
}

#[test]
fn a_hello_without_a_common_version_is_not_parsed() {
    let mut bytes = Greeting::Hello(Box::new(hello())).encode();
    (bytes[4], bytes[5]) = (9, 10);
    bytes.truncate(8);
    let read = Greeting::read(&bytes).unwrap();
    assert_eq!(read.versions.common(PROTOCOL_VERSIONS), None);
    assert_eq!(read.greeting, None);
}

#[test]
fn a_refusal_of_any_version_is_read() {
    let mut bytes = Greeting::Refused(refusal()).encode();
    (bytes[4], bytes[5]) = (9, 10);
    assert_eq!(Greeting::read(&bytes).unwrap().greeting, Some(Greeting::Refused(refusal())));
    let later = String::from_utf8_lossy(&bytes).replace("another-cluster", "another-climate");
    let Some(Greeting::Refused(read)) = Greeting::read(later.as_bytes()).unwrap().greeting else {
        panic!("no refusal")
    };
    assert_eq!(read.kind, RefusalKind::Unknown);
}

#[test]
fn garbage_and_cut_messages_are_refused() {
    let whole = Greeting::Hello(Box::new(hello())).encode();
    for length in 0..whole.len() {
        assert_eq!(Greeting::read(&whole[..length]), Err(BadGreeting), "{length}");
    }
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"RYCL\x02\x01\x00", b"RYCL\x01\x01\x05"] {
        assert_eq!(Greeting::read(garbage), Err(BadGreeting));
    }
    assert_eq!(JoinRequest::read(&[]), Err(BadJoinMessage::Garbage));
    assert_eq!(JoinRequest::read(&[1, 200]), Err(BadJoinMessage::Garbage));
    assert_eq!(JoinOutcome::read(&[2, 0]), Err(BadJoinMessage::AnotherVersion(2)));
    assert_eq!(CallAnswerHead::split(&[0; 19]), None);
}

#[test]
fn versions_and_levels_need_a_common_one() {
    let versions = |min, max| ProtocolVersions { min, max };
    assert_eq!(versions(1, 3).common(versions(2, 5)), Some(3));
    assert_eq!(versions(1, 1).common(versions(2, 5)), None);
    assert_eq!(versions(4, 5).common(versions(1, 3)), None);
    let levels = |min, max| FormatLevels { min, max };
    assert!(levels(1, 2).overlap(levels(2, 3)));
    assert!(!levels(1, 1).overlap(levels(2, 3)));
}

#[test]
fn a_frame_over_its_limit_has_no_length() {
    assert_eq!(frame_length(258, 300), Ok([0, 0, 1, 2]));
    assert_eq!(frame_length(301, 300), Err(FrameTooLarge { length: 301, limit: 300 }));
    assert!(frame_length(1 << 32, usize::MAX).is_err());
}

#[test]
fn the_secret_of_an_invitation_is_not_shown() {
    let shown =
        format!("{:?}", JoinRequest { secret: JoinSecret("hidden".to_owned()), ..request() });
    assert!(!shown.contains("hidden"), "{shown}");
}
