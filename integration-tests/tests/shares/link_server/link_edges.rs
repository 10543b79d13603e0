//! Downloads of public links at their limits: at deadlines, and with interruptions.

use std::num::NonZeroU32;
use std::time::Duration;

use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::share_links::{A_DAY, ManualLinks, RESUME_WITHIN, curl};
use reelyard_shares::share_expiry::{
    Deadline, NewDeadline, ShareChanges, ShareEnding, ShareEvent, ShareId,
};
use tokio::task::JoinHandle;

/// More bytes than the kernel buffers for a connection.
const LARGE: usize = 24 << 20;

/// The exit code of curl for a reset connection.
const RESET: i32 = 56;

/// Starts a slow download that still runs at a later event. Returns the exit code of curl.
async fn running(links: &ManualLinks, id: ShareId, part: &str, more: &[&str]) -> JoinHandle<i32> {
    let begun = || match (part, links.server.counters()) {
        // By then the directory was listed.
        ("/zip", counters) => counters.bytes,
        (_, counters) => counters.downloads,
    };
    let before = begun();
    let slow = ["--no-include", "--limit-rate", "8M", "-o", "/dev/null", &links.url(id, part)];
    let arguments: Vec<String> = [&slow, more].concat().into_iter().map(str::to_owned).collect();
    let download = tokio::spawn(async move {
        curl(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await.exit
    });
    eventually("the download runs", || begun() > before).await;
    download
}

fn set_deadline(links: &ManualLinks, id: ShareId, deadline: Deadline) {
    let deadline = Some(NewDeadline { deadline, noticed: true });
    let changes = Box::new(ShareChanges { deadline, ..ShareChanges::default() });
    links.apply(&ShareEvent::Changed { id, generation: 0, changes });
}

fn end(links: &ManualLinks, id: ShareId, why: ShareEnding) {
    links.apply(&ShareEvent::Ended { ids: vec![id], why, cut: false, by: "test".to_owned() });
}

/// Links that abort downloads at the deadline, with a large file.
fn strict() -> ManualLinks {
    let links = ManualLinks::start(|settings| settings.cut_at_deadline = true);
    links.write("a", &vec![7; LARGE]);
    links
}

#[actix::test]
async fn only_the_deadline_cuts_and_no_other_end() {
    let links = strict();
    let last = links.share("a", |new| {
        (new.deadline, new.terms.max_downloads) = (Deadline::NEVER, NonZeroU32::new(1));
    });
    let [revoked, removed] = [(); 2].map(|()| links.share("a", |_| {}));
    let of_last = running(&links, last, "/file", &[]).await;
    let of_revoked = running(&links, revoked, "/file", &[]).await;
    let of_removed = running(&links, removed, "/file", &[]).await;
    end(&links, revoked, ShareEnding::Revoked);
    end(&links, removed, ShareEnding::Removed);
    assert_eq!((of_revoked.await.unwrap(), of_removed.await.unwrap()), (0, 0));
    assert_eq!(of_last.await.unwrap(), 0);
    let again = links.share("a", |new| {
        (new.deadline, new.terms.max_downloads) = (Deadline::NEVER, NonZeroU32::new(1));
    });
    let of_again = running(&links, again, "/file", &[]).await;
    links.clock.advance(RESUME_WITHIN);
    assert_eq!(of_again.await.unwrap(), 0, "it needs no resume, which is no longer allowed");
    assert_eq!(links.server.counters().cut, 0);
    links.stop().await;
}

#[actix::test]
async fn the_newest_deadline_counts_for_running_downloads() {
    let links = strict();
    let (later, sooner) = (links.share("a", |_| {}), links.share("a", |_| {}));
    let of_later = running(&links, later, "/file", &[]).await;
    set_deadline(&links, later, Deadline::at(links.clock.now().after(3 * A_DAY)));
    links.clock.advance(A_DAY - Duration::from_secs(1));
    let of_sooner = running(&links, sooner, "/file", &[]).await;
    links.clock.advance(Duration::from_secs(1));
    assert!(matches!(of_sooner.await.unwrap(), 18 | RESET));
    assert_eq!(of_later.await.unwrap(), 0);
    assert_eq!(links.server.counters().cut, 1);

    let sooner = links.share("a", |_| {});
    let of_sooner = running(&links, sooner, "/file", &[]).await;
    set_deadline(&links, sooner, Deadline::at(links.clock.now().after(Duration::from_secs(60))));
    links.clock.advance(Duration::from_secs(60));
    assert!(matches!(of_sooner.await.unwrap(), 18 | RESET));
    links.stop().await;
}

#[actix::test]
async fn a_deadline_also_aborts_downloads_of_forgotten_shares() {
    let links = strict();
    let forget = || {
        let (tombstones_before, notifications_before, hooks) = (u64::MAX, 0, Vec::new());
        links.apply(&ShareEvent::Forgot { tombstones_before, notifications_before, hooks });
    };
    let id = links.share("a", |_| {});
    let download = running(&links, id, "/file", &[]).await;
    end(&links, id, ShareEnding::Revoked);
    forget();
    assert_eq!(download.await.unwrap(), 0, "the deadline it had is still to come");
    for is_forgotten in [false, true] {
        let id = links.share("a", |_| {});
        let download = running(&links, id, "/file", &[]).await;
        end(&links, id, ShareEnding::Revoked);
        if is_forgotten {
            forget();
        }
        links.clock.advance(A_DAY);
        assert!(matches!(download.await.unwrap(), 18 | RESET));
    }
    assert_eq!(links.server.counters().cut, 2);
    links.stop().await;
}

#[actix::test]
async fn a_broken_archive_is_no_archive_for_a_client_without_chunks() {
    let links = ManualLinks::start(|_| {});
    links.write("dir/a", &vec![7; LARGE]);
    let id = links.share("dir", |_| {});
    let download = running(&links, id, "/zip", &["--http1.0"]).await;
    let file = std::fs::File::options().append(true).open(links.below("dir/a")).unwrap();
    file.set_len(LARGE as u64 + 1).unwrap();
    assert_eq!(download.await.unwrap(), RESET, "the file is another");
    assert_eq!(links.server.counters().broken_off, 1);

    let download = running(&links, id, "/zip", &["--http1.0"]).await;
    links.stop().await;
    assert_eq!(download.await.unwrap(), RESET, "the rest is never sent");
}

#[actix::test]
async fn a_rename_during_an_archive_does_not_omit_the_file() {
    let links = ManualLinks::start(|_| {});
    let elsewhere = |name: &str| links.outside().join(name);
    for (moved, to) in [
        ("dir/b", links.below("dir/c")),
        ("dir/b", elsewhere("b")),
        ("dir/sub", links.below("dir/a sub")),
        // The archive reaches it after everything was listed or sent.
        ("dir/sub/x", links.below("dir/x")),
        ("dir/z/x", links.below("dir/+/x")),
    ] {
        let _ = std::fs::remove_dir_all(links.below("dir"));
        for name in ["+/y", "b", "sub/x", "z/x"] {
            links.write(&format!("dir/{name}"), b"x");
        }
        links.write("dir/a", &vec![7; LARGE]);
        let (id, before) = (links.share("dir", |_| {}), links.server.counters().broken_off);
        let download = running(&links, id, "/zip", &[]).await;
        std::fs::rename(links.below(moved), to).unwrap();
        assert!(matches!(download.await.unwrap(), 18 | RESET), "{moved}");
        assert_eq!(links.server.counters().broken_off, before + 1);
    }
    links.stop().await;
}

#[actix::test]
async fn an_added_file_does_not_abort_an_archive() {
    let links = ManualLinks::start(|_| {});
    links.write("dir/a", &vec![7; LARGE]);
    links.write("dir/sub/x", b"x");
    let id = links.share("dir", |_| {});
    let download = running(&links, id, "/zip", &[]).await;
    for name in ["dir/b", "dir/sub/y", "dir/z/x"] {
        links.write(name, b"x");
    }
    assert_eq!(download.await.unwrap(), 0);
    links.stop().await;
}
