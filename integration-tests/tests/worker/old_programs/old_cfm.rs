//! A Reelyard worker with an old Go cfm, without the defects of cfw.

use actix_web::{App, HttpResponse, HttpServer, web};
use reelyard_integration_tests::fakes::worker_fake_cfm::{FakeCfm, Planned};
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::worker::worker_rig::{Rig, started};
use reelyard_worker::downloader::managers::node_link::NodeProtocol;

fn task(source: &Rig, destination: &Rig, name: &str) -> Planned {
    Planned {
        status: "ready".into(),
        source: source.host,
        destination: destination.host.to_string(),
        file_path: format!("{}/{name}", source.data().display()),
        file_name: name.into(),
    }
}

#[actix::test]
async fn a_task_of_cfm_is_done_and_reported() {
    let (source, destination, cfm) = (Rig::new(), Rig::new(), FakeCfm::start());
    let contents = source.master(b"a#b<&>.mpg", 300_000);
    cfm.plan(1, task(&source, &destination, "a#b<&>.mpg"));
    cfm.plan(2, Planned { destination: "127.0.0.1:1".into(), ..task(&source, &destination, "x") });
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&cfm.url)).await;

    eventually("done", || cfm.status(1).as_deref() == Some("done")).await;
    assert_eq!(std::fs::read(destination.copies().join("a#b<&>.mpg")).unwrap(), contents);
    assert_eq!(cfm.patches(), [(1, "working".to_owned()), (1, "done".to_owned())]);
    assert_eq!(cfm.status(2).as_deref(), Some("ready"), "it is another host's");
    fetching.stop().await;
    serving.stop().await;
    cfm.stop().await;
}

#[actix::test]
async fn a_failed_copy_is_never_called_done() {
    let (source, destination, cfm) = (Rig::new(), Rig::new(), FakeCfm::start());
    cfm.plan(1, task(&source, &destination, "absent.mpg"));
    let mut outside = task(&source, &destination, "../x.mpg");
    outside.file_path = format!("{}/../x.mpg", source.data().display());
    cfm.plan(2, outside);
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&cfm.url)).await;

    for id in [1, 2] {
        eventually("timeout", || cfm.status(id).as_deref() == Some("timeout")).await;
    }
    assert!(!cfm.patches().iter().any(|(_, status)| status == "done"));
    fetching.stop().await;
    serving.stop().await;
    cfm.stop().await;
}

#[actix::test]
async fn lost_answers_are_repeated_and_tasks_are_resumed_after_restart() {
    let (source, destination, cfm) = (Rig::new(), Rig::new(), FakeCfm::start());
    source.master(b"E.mpg", 1000);
    let working = Planned { status: "working".into(), ..task(&source, &destination, "E.mpg") };
    cfm.plan(1, working);
    cfm.err(3);
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&cfm.url)).await;

    eventually("done", || cfm.status(1).as_deref() == Some("done")).await;
    assert!(destination.copies().join("E.mpg").exists());
    fetching.stop().await;
    serving.stop().await;
    cfm.stop().await;
}

#[actix::test]
async fn a_task_that_replaces_another_resumes_its_copy() {
    let (source, destination, cfm) = (Rig::new(), Rig::new(), FakeCfm::start());
    let (size, far) = (40_000_000, 20_000_000);
    let contents = source.master(b"long.mpg", size);
    cfm.plan(1, task(&source, &destination, "long.mpg"));
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&cfm.url)).await;
    let sent = || serving.view().data_port.bytes;
    eventually("a copy in its middle", || sent() > far).await;
    // As cfm does after its task_timeout.
    cfm.plan(2, task(&source, &destination, "long.mpg"));
    cfm.forget(1);
    eventually("done", || cfm.status(2).as_deref() == Some("done")).await;
    assert_eq!(std::fs::read(destination.copies().join("long.mpg")).unwrap(), contents);
    // Data in the buffers of the connection is sent again, and so is data without a hash. A copy from the beginning
    // would send everything again.
    assert!(sent() < size as u64 + far, "{} bytes were sent for {size}", sent());
    fetching.stop().await;
    serving.stop().await;
    cfm.stop().await;
}

#[actix::test]
async fn a_task_that_cfm_forgets_is_abandoned() {
    let (source, destination, cfm) = (Rig::new(), Rig::new(), FakeCfm::start());
    // At 80 Mbit/s, the stand-in's rate, this takes most of a minute.
    source.master(b"long.mpg", 1);
    let long = std::fs::OpenOptions::new().write(true).open(source.data().join("long.mpg"));
    long.unwrap().set_len(500_000_000).unwrap();
    cfm.plan(1, task(&source, &destination, "long.mpg"));
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&cfm.url)).await;
    let downloads = || fetching.view().downloads.unwrap();
    eventually("a running copy", || !downloads().under_way.is_empty()).await;
    cfm.forget(1);
    eventually("a copy given up", || downloads().counters.given_up == 1).await;
    // A part of the received data may remain for another attempt, but it is not a copy.
    assert!(!destination.copies().join("long.mpg").exists());
    assert_eq!(downloads().counters.done, 0);
    fetching.stop().await;
    serving.stop().await;
    cfm.stop().await;
}

#[actix::test]
async fn a_node_without_the_host_is_not_taken_for_a_cfm() {
    let unknown = || async {
        let problem = r#"{"type":"unknown-host"}"#;
        HttpResponse::NotFound().content_type("application/problem+json").body(problem)
    };
    let app = move || App::new().default_service(web::to(unknown));
    let server = HttpServer::new(app).workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", server.addrs()[0]);
    let server = server.run();
    let handle = server.handle();
    actix_rt::spawn(server);
    let rig = Rig::new();
    let worker = started(rig.destination(&url)).await;
    let shown = || {
        worker.view().node.unwrap().error.is_some_and(|e| e.contains("answered with status 404"))
    };
    eventually("the refusal is shown", shown).await;
    assert_eq!(worker.view().node.unwrap().speaks, NodeProtocol::Unknown);
    worker.stop().await;
    handle.stop(false).await;
}
