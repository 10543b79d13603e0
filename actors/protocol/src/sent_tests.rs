//! The kept bodies of the calls between node and worker. Each is read, and written again as it was.
//!
//! A line stays: programs of that version are still in use. A new member is optional and is left out while
//! it has no value. So both sides of a call can be of different versions.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::boxes::{
    BoxAdoptionRequest, BoxAdoptionResponse, BoxInspectionRequest, BoxInspectionResponse,
    HookRunRequest, HookRunResponse,
};
use crate::worker::{FileHash, Reports, ReportsTaken, TaskOrders, WorkerAdopted, WorkerInfo};

/// Each line is `<type> <body>`.
const KEPT: &str = include_str!("sent_bodies.txt");

/// Reads every kept body of this type and writes it again. Answers how many there are.
fn check<T: DeserializeOwned + Serialize>(name: &str) -> usize {
    let kept = KEPT.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let mut count = 0;
    for body in kept {
        let read: T = serde_json::from_str(body)
            .unwrap_or_else(|error| panic!("{name} {body}: a kept body is not read: {error}"));
        let written = serde_json::to_string(&read).unwrap();
        assert_eq!(written, body, "{name}: a new member must be optional, and none may be renamed");
        count += 1;
    }
    assert!(count > 0, "no body of {name} is kept");
    count
}

#[test]
fn sent_bodies_between_node_and_worker_stay() {
    let counts = [
        check::<TaskOrders>("TaskOrders"),
        check::<Reports>("Reports"),
        check::<ReportsTaken>("ReportsTaken"),
        check::<WorkerInfo>("WorkerInfo"),
        check::<WorkerAdopted>("WorkerAdopted"),
        check::<FileHash>("FileHash"),
        check::<HookRunRequest>("HookRunRequest"),
        check::<HookRunResponse>("HookRunResponse"),
        check::<BoxInspectionRequest>("BoxInspectionRequest"),
        check::<BoxInspectionResponse>("BoxInspectionResponse"),
        check::<BoxAdoptionRequest>("BoxAdoptionRequest"),
        check::<BoxAdoptionResponse>("BoxAdoptionResponse"),
    ];
    assert_eq!(counts.iter().sum::<usize>(), KEPT.lines().count(), "a line is of an unknown type");
}

#[test]
fn members_of_a_later_version_are_ignored() {
    let orders = r#"{"epoch":3,"tasks":[],"later":{"a":1}}"#;
    assert!(serde_json::from_str::<TaskOrders>(orders).is_ok());
    let reports = r#"{"reports":[{"task":1,"name":{"name":"a"},"at":1,"later":2,"said":{"what":"working","later":1}}]}"#;
    assert!(serde_json::from_str::<Reports>(reports).is_ok());
    let run = r#"{"epoch":3,"pool":"p","kind":"init","number":1,"box":1,"later":1}"#;
    assert!(serde_json::from_str::<HookRunRequest>(run).is_ok());
}

#[test]
fn a_report_of_a_later_kind_is_refused_in_words() {
    let reports = r#"{"reports":[{"task":1,"name":{"name":"a"},"at":1,"said":{"what":"paused"}}]}"#;
    let error = serde_json::from_str::<Reports>(reports).unwrap_err().to_string();
    assert!(error.contains("unknown variant `paused`") && error.contains("`working`"), "{error}");
}
