//! Shared directories as archives, downloaded with a real curl and extracted with a real unzip.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use reelyard_integration_tests::probes::waiting::{PATIENCE, eventually, eventually_some};
use reelyard_integration_tests::rigs::share_links::{ManualLinks, curl};
use reelyard_shares::share_expiry::{ShareEnding, ShareEvent, ShareId};
use rustix::fs::{Mode, OFlags, mkdirat, openat};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Downloads the archive of a share into a file.
async fn fetch(links: &ManualLinks, id: ShareId, more: &[&str]) -> (i32, PathBuf) {
    let saved = links.outside().join("saved.zip");
    let into = ["--no-include", "-o", saved.to_str().unwrap(), &links.url(id, "/zip")];
    (curl(&[more, &into].concat()).await.exit, saved)
}

fn unzip(arguments: &[&str], archive: &Path) -> (bool, String) {
    let mut command = Command::new("unzip");
    let output = command.args(arguments).arg(archive).env("LC_ALL", "C.UTF-8").output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// All files below `dir` with their contents; directories have none.
fn tree(dir: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dir).unwrap().to_owned();
            if path.is_dir() {
                found.insert(name, None);
                open.push(path);
            } else {
                found.insert(name, Some(std::fs::read(path).unwrap()));
            }
        }
    }
    found
}

#[actix::test]
async fn a_directory_arrives_as_it_is() {
    let links = ManualLinks::start(|_| {});
    let large: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    links.write("season/1 Grüße.mp4", &large);
    links.write("season/empty", b"");
    links.write("season/extras/deep/日本.srt", b"subtitles");
    std::fs::create_dir(links.below("season/nothing in here")).unwrap();
    let id = links.share("season", |_| {});
    let (exit, archive) = fetch(&links, id, &[]).await;
    assert_eq!(exit, 0);
    let (good, answer) = unzip(&["-t"], &archive);
    assert!(good, "{answer}");
    let to = links.outside().join("to");
    let (good, answer) = unzip(&["-q", "-d", to.to_str().unwrap()], &archive);
    assert!(good, "{answer}");
    assert_eq!(tree(&to.join("season")), tree(&links.below("season")));

    let head = links.get(id, "/zip", &["-I"]).await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("application/zip")));
    assert!(head.header("content-disposition").unwrap().contains("filename=\"season.zip\""));
    let (exit, old) = fetch(&links, id, &["--http1.0"]).await;
    assert_eq!((exit, unzip(&["-tqq"], &old).0), (0, true), "for a client that knows no chunks");
    let file = links.share("season/empty", |_| {});
    let answer = links.get(file, "/zip", &[]).await;
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains("/file"), "{}", answer.text());
    links.stop().await;
}

#[actix::test]
async fn names_with_colons_and_backslashes_stay_whole_and_apart() {
    let links = ManualLinks::start(|_| {});
    for (name, bytes) in [("a:b", "1"), ("c:b", "2"), ("a_b", "3"), ("x:/y:z", "4"), ("\\:", "5")] {
        links.write(&format!("of: C:\\1/{name}"), bytes.as_bytes());
    }
    let id = links.share("of: C:\\1", |_| {});
    let (exit, archive) = fetch(&links, id, &[]).await;
    assert_eq!(exit, 0);
    let to = links.outside().join("to");
    let (good, result) = unzip(&["-q", "-d", to.to_str().unwrap()], &archive);
    assert!(good, "{result}");
    let file = |name: &str, bytes: &str| (PathBuf::from(name), Some(bytes.as_bytes().to_vec()));
    let expected = BTreeMap::from([
        ("of_ C__1".into(), None),
        file("of_ C__1/a_b", "1"),
        file("of_ C__1/a_b (2)", "3"),
        file("of_ C__1/c_b", "2"),
        ("of_ C__1/x_".into(), None),
        file("of_ C__1/x_/y_z", "4"),
        file("of_ C__1/__", "5"),
    ]);
    assert_eq!(tree(&to), expected);
    links.stop().await;
}

#[actix::test]
async fn symlinks_lead_to_files_of_the_same_directory_only() {
    let links = ManualLinks::start(|_| {});
    links.write("other/secret", b"secret");
    links.write("dir/a", b"film");
    symlink("a", links.below("dir/to-a")).unwrap();
    symlink("../other/secret", links.below("dir/out")).unwrap();
    symlink("..", links.below("dir/up")).unwrap();
    symlink("/etc/passwd", links.below("dir/absolute")).unwrap();
    let id = links.share("dir", |_| {});
    let (exit, archive) = fetch(&links, id, &[]).await;
    assert_eq!(exit, 0);
    let to = links.outside().join("to");
    assert!(unzip(&["-q", "-d", to.to_str().unwrap()], &archive).0);
    let film = || Some(b"film".to_vec());
    let expected = BTreeMap::from([("a".into(), film()), ("to-a".into(), film())]);
    assert_eq!(tree(&to.join("dir")), expected);
    links.stop().await;
}

#[actix::test]
async fn more_files_than_a_small_archive_can_have() {
    let links = ManualLinks::start(|_| {});
    const FILES: usize = 66_000;
    std::fs::create_dir_all(links.below("many")).unwrap();
    for number in 0..FILES {
        std::fs::File::create(links.below("many").join(format!("f{number}"))).unwrap();
    }
    let id = links.share("many", |_| {});
    let (exit, archive) = fetch(&links, id, &[]).await;
    assert_eq!(exit, 0);
    let (good, result) = unzip(&["-tq"], &archive);
    assert!(good && result.contains("No errors"), "{result}");
    let (_, listed) = unzip(&["-Z1"], &archive);
    assert_eq!(listed.lines().count(), FILES + 1, "and the directory");
    links.stop().await;
}

/// Starts a slow archive download that still runs at a later event.
async fn running(links: &ManualLinks, id: ShareId) -> tokio::task::JoinHandle<i32> {
    let (url, before) = (links.url(id, "/zip"), links.server.counters().bytes);
    let download = tokio::spawn(async move {
        let discard = ["--no-include", "--limit-rate", "8M", "-o", "/dev/null", &url];
        curl(&discard).await.exit
    });
    eventually("the download runs", || links.server.counters().bytes > before).await;
    download
}

#[actix::test]
async fn a_file_that_changes_during_the_download_breaks_the_archive() {
    let links = ManualLinks::start(|_| {});
    links.write("dir/a", &vec![7; 40 << 20]);
    let id = links.share("dir", |_| {});
    let download = running(&links, id).await;
    let file = std::fs::File::options().append(true).open(links.below("dir/a")).unwrap();
    file.set_len(50 << 20).unwrap();
    let exit = download.await.unwrap();
    assert!(matches!(exit, 18 | 56), "curl noticed that it is not whole: {exit}");
    assert_eq!(links.server.counters().broken_off, 1);

    let download = running(&links, id).await;
    file.set_len(1 << 20).unwrap();
    let exit = download.await.unwrap();
    assert!(matches!(exit, 18 | 56), "{exit}");

    links.write("dir/b", &vec![7; 40 << 20]);
    links.write("dir/c", b"x");
    let download = running(&links, id).await;
    std::fs::remove_file(links.below("dir/c")).unwrap();
    let exit = download.await.unwrap();
    assert!(matches!(exit, 18 | 56), "it was there when the archive was begun: {exit}");
    links.stop().await;
}

#[actix::test]
async fn a_directory_renamed_during_the_download_is_archived_completely() {
    let links = ManualLinks::start(|_| {});
    links.write("dir/a", &vec![7; 16 << 20]);
    let id = links.share("dir", |_| {});
    let download = running(&links, id).await;
    std::fs::rename(links.below("dir"), links.below("another")).unwrap();
    assert_eq!(download.await.unwrap(), 0);
    links.stop().await;
}

#[actix::test]
async fn an_archive_that_can_never_be_complete_counts_no_download() {
    let links = ManualLinks::start(|_| {});
    let one = NonZeroU32::new(1);
    let refused = async |id: ShareId, words: &str| {
        let answer = links.get(id, "/zip", &[]).await;
        assert_eq!((answer.exit, answer.status), (0, 500), "{}", answer.head);
        assert!(answer.text().contains(words), "{}", answer.text());
        assert_eq!(links.found(id).downloads().unwrap().taken(), 0);
    };
    std::fs::create_dir_all(links.below("deep").join("d/".repeat(129))).unwrap();
    let deep = links.share("deep", |new| new.terms.max_downloads = one);
    refused(deep, "nested too deeply").await;
    std::fs::remove_dir(links.below("deep").join("d/".repeat(129))).unwrap();
    let answer = links.get(deep, "/zip", &[]).await;
    assert_eq!((answer.exit, answer.status), (0, 200), "it was not used up");
    assert_eq!(links.get(deep, "/zip", &[]).await.status, 410);

    // A byte that is not text takes three bytes in the archive. Each system call accepts a path of 4,096
    // bytes, therefore the test changes the directory step by step.
    let name = std::ffi::OsStr::from_bytes(&[0xff; 255]);
    let mut dir = std::fs::File::open(links.below("")).unwrap();
    for name in std::iter::once("long".as_ref()).chain(std::iter::repeat_n(name, 90)) {
        mkdirat(&dir, name, Mode::RWXU).unwrap();
        dir = openat(&dir, name, OFlags::RDONLY, Mode::empty()).unwrap().into();
    }
    let long = links.share("long", |new| new.terms.max_downloads = one);
    refused(long, "too long").await;
    links.stop().await;
}

/// Repeats a test of this file without root's privilege to read everything. `None` when it already runs so.
fn again_without_privileges(test: &str) -> Option<Output> {
    const MARK: &str = "REELYARD_TEST_WITHOUT_PRIVILEGES";
    if std::env::var_os(MARK).is_some() {
        return None;
    }
    let mut command = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        command.args(["--bounding-set", "-dac_override,-dac_read_search"]);
    }
    let (_, here) = module_path!().split_once("::").unwrap();
    let command =
        command.arg(std::env::current_exe().unwrap()).args(["--exact", &format!("{here}::{test}")]);
    Some(command.env(MARK, "1").output().unwrap())
}

#[test]
fn an_archive_with_an_unreadable_file_takes_no_download() {
    let name = "an_archive_with_an_unreadable_file_takes_no_download";
    match again_without_privileges(name) {
        Some(again) => {
            let message = String::from_utf8_lossy(&again.stdout);
            assert!(
                again.status.success() && message.contains("1 passed"),
                "without privileges: {message}"
            );
        }
        None => actix_rt::System::new().block_on(an_unreadable_archive_takes_no_download()),
    }
}

async fn an_unreadable_archive_takes_no_download() {
    let links = ManualLinks::start(|_| {});
    links.write("dir/sub/closed", b"x");
    let closed = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(links.below("dir/sub/closed"), closed).unwrap();
    let id = links.share("dir", |new| new.terms.max_downloads = NonZeroU32::new(1));
    let answer = links.get(id, "/zip", &[]).await;
    assert_eq!((answer.exit, answer.status), (0, 500), "{}", answer.head);
    assert!(answer.text().contains("dir/sub/closed"), "{}", answer.text());
    assert_eq!(links.found(id).downloads().unwrap().taken(), 0);
    links.stop().await;
}

#[actix::test]
async fn a_hard_revoke_cuts_an_archive_and_their_number_is_bounded() {
    let links = ManualLinks::start(|settings| settings.archives = 1);
    links.write("dir/a", &vec![7; 40 << 20]);
    let id = links.share("dir", |_| {});
    let download = running(&links, id).await;
    let busy = links.get(id, "/zip", &[]).await;
    assert_eq!((busy.status, busy.header("retry-after")), (503, Some("1")));
    let (ids, why, by) = (vec![id], ShareEnding::Revoked, "test".to_owned());
    links.apply(&ShareEvent::Ended { ids, why, cut: true, by });
    let exit = download.await.unwrap();
    assert!(matches!(exit, 18 | 56), "{exit}");
    assert_eq!(links.server.counters().cut, 1);
    links.write("other/a", b"x");
    let other = links.share("other", |_| {});
    let free = || links.get(other, "/zip", &[]);
    eventually_some("the next has its turn", || async {
        (free().await.status == 200).then_some(())
    })
    .await;
    links.stop().await;
}

#[actix::test]
async fn no_address_has_all_the_turns() {
    let links = ManualLinks::start(|settings| {
        settings.archives = 8;
        settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    });
    links.write("dir/a", &vec![7; 40 << 20]);
    let id = links.share("dir", |_| {});
    let path = format!("GET /s/{id}/zip HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n");
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut client = TcpStream::connect(links.addr()).await.unwrap();
        client.write_all(path.as_bytes()).await.unwrap();
        let mut status = [0; 12];
        client.read_exact(&mut status).await.unwrap();
        // The test reads nothing from these connections, therefore the data stays in the buffers.
        slow.push((client, String::from_utf8_lossy(&status[9..]).into_owned()));
    }
    let statuses: Vec<&str> = slow.iter().map(|(_, status)| status.as_str()).collect();
    assert_eq!(statuses, ["200", "200", "200", "200", "429", "429", "429", "429"]);
    let from = |address: &str| format!("X-Forwarded-For: {address}");
    let more = links.get(id, "/zip", &["-H", &from("192.0.2.1")]).await;
    assert_eq!(more.status, 429);
    assert!(more.header("retry-after").is_some(), "{}", more.head);
    assert!(more.text().contains("archives"), "{}", more.text());
    links.write("other/a", b"x");
    let other = links.share("other", |_| {});
    assert_eq!(links.get(other, "/zip", &["-H", &from("192.0.2.2")]).await.status, 200);
    drop(slow);
    eventually_some("it has its turns again", || async {
        let again = links.get(other, "/zip", &["-H", &from("192.0.2.1")]).await;
        (again.status == 200).then_some(())
    })
    .await;
    links.stop().await;
}

#[actix::test]
async fn a_client_without_chunks_notices_the_end_of_the_connection() {
    let links = ManualLinks::start(|settings| settings.request_timeout = PATIENCE * 10);
    links.write("dir/a", b"x");
    let id = links.share("dir", |_| {});
    let mut client = TcpStream::connect(links.addr()).await.unwrap();
    let asked = format!("GET /s/{id}/zip HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    client.write_all(asked.as_bytes()).await.unwrap();
    let mut got = Vec::new();
    let ended = tokio::time::timeout(PATIENCE, client.read_to_end(&mut got)).await;
    assert!(ended.is_ok(), "the archive is whole, and the client waits for more");
    assert!(String::from_utf8_lossy(&got).contains("\r\nConnection: close\r\n"));
    links.stop().await;
}
