//! A node whose disk is really full reports that, remains readable, and resumes without help.

use std::net::Ipv4Addr;
use std::process::Command;

use anyhow::Result;
use reelyard_integration_tests::rigs::small_disk::SmallDisk;
use reelyard_integration_tests::rigs::yard::{ProcessYard, bearer_in, free_addr, wait_for};

/// Every page of the console.
const PAGES: [&str; 15] = [
    "",
    "/hosts",
    "/files",
    "/tasks",
    "/plan",
    "/map",
    "/shares",
    "/boxes",
    "/history",
    "/audit",
    "/cluster",
    "/settings",
    "/access",
    "/guide",
    "/find",
];

#[test]
fn a_node_on_a_full_disk_remains_readable_and_names_the_remedy() -> Result<()> {
    let place = tempfile::tempdir()?;
    let disk = SmallDisk::mount(place.path(), 48);
    let ground = ProcessYard::new(1, 1)?;
    ground.grade(&[b"first.mpg"])?;
    let data_dir = place.path().to_str().unwrap();
    let mut node = ground.start_node(&[("data_dir", data_dir), ("journal.reserve", "12MiB")])?;
    let send = |arguments: &[&str], path: &str| -> Option<String> {
        let url = format!("http://{}{path}", ground.node);
        let output =
            Command::new("curl").args(["-s", "-m", "20"]).args(arguments).arg(url).output().ok()?;
        String::from_utf8(output.stdout).ok().filter(|_| output.status.success())
    };
    let get = |path: &str| send(&["-H", &bearer_in(place.path())], path);
    wait_for("the node is ready", &[&node], || {
        get("/readyz").filter(|text| text.starts_with("ready\n"))
    })?;
    let hosts = get("/api/v1/hosts");
    let bearer = bearer_in(place.path());
    let user = r#"{"name":"ops","role":"viewer","password":"correct horse battery"}"#;
    let user = ["-H", &bearer, "-H", "content-type: application/json", "-d", user];
    assert!(send(&user, "/api/v1/users").is_some_and(|user| user.contains("\"ops\"")));
    let sign_in = "name=ops&password=correct+horse+battery";
    let cookies = ground.path("cookies");
    let cookies = cookies.to_str().unwrap();
    assert!(send(&["-d", sign_in, "-c", cookies], "/login").is_some());

    disk.fill();
    let text = wait_for("it says so", &[&node], || {
        get("/readyz").filter(|text| text.contains("is full"))
    })?;
    assert!(text.contains("make room for at least"), "{text}");
    // The text has the free bytes of the moment.
    let status = wait_for("the status says the same", &[&node], || {
        let status: serde_json::Value = serde_json::from_str(&get("/api/v1/status")?).ok()?;
        let why = status["actors"]["journal"]["state"]["disk_full"].as_str()?;
        get("/readyz")?.contains(why).then_some(status)
    })?;
    assert_eq!(status["ready"], false);
    assert_eq!(status["journal"]["role"], "leader");
    assert_eq!(get("/tasks").as_deref(), Some("[]\n"));
    for page in PAGES {
        let path = format!("/console{page}");
        assert!(get(&path).is_some_and(|page| page.contains("is full")), "{page}");
        let korean = ["-H", &bearer_in(place.path()), "-H", "Accept-Language: ko"];
        let korean = send(&korean, &path);
        assert!(korean.is_some_and(|page| page.contains("디스크 가득 참")), "{page}");
    }
    // A person can sign in and read. Nothing else is changed.
    let again = send(&["-d", sign_in, "-c", cookies, "-w", "%{http_code}"], "/login").unwrap();
    assert!(again.ends_with("303"), "{again}");
    let read = send(&["-b", cookies, "-w", "%{http_code}"], "/console/hosts").unwrap();
    assert!(read.ends_with("200") && read.contains("is full"), "{read}");
    // A one-time link signs in too, and everybody can sign out.
    let link = send(&["-X", "POST", "-H", &bearer], "/api/v1/login-links").unwrap();
    let link: serde_json::Value = serde_json::from_str(&link)?;
    let secret = link["path"].as_str().and_then(|path| path.rsplit("link=").next()).unwrap();
    let linked = ground.path("linked");
    let linked = linked.to_str().unwrap();
    let code = ["-w", "%{http_code}"];
    let proof = format!("link={secret}");
    let by_link = send(&[&["-d", &proof, "-c", linked][..], &code].concat(), "/login").unwrap();
    assert!(by_link.ends_with("303"), "{link} {by_link}");
    let page = send(&["-b", linked], "/console").unwrap();
    let csrf = page.split("name=\"csrf_token\" value=\"").nth(1).unwrap();
    let csrf = format!("csrf_token={}", csrf.split('"').next().unwrap());
    let out = ["-b", linked, "-c", linked, "--data-urlencode", &csrf];
    let out = send(&[&out[..], &code].concat(), "/logout").unwrap();
    assert!(out.ends_with("303"), "{out}");
    let gone = send(&["-b", linked, "-w", "%{http_code}"], "/console/hosts").unwrap();
    assert!(gone.ends_with("303"), "{gone}");
    let pin = ["-X", "PUT", "-H", &bearer, "-w", "%{http_code}"];
    let pin = send(&pin, "/api/v1/files/first.mpg/pin").unwrap();
    assert!(pin.ends_with("507"), "{pin}");
    assert!(hosts.is_some() && get("/api/v1/hosts").is_some());
    assert!(get("/dashboard").is_some());

    node.kill();
    node.start_again()?;
    wait_for("it starts all the same", &[&node], || {
        get("/readyz").filter(|text| text.contains("is full"))
    })?;
    assert_eq!(get("/tasks").as_deref(), Some("[]\n"));
    disk.clear();
    wait_for("it resumes", &[&node], || get("/readyz").filter(|text| text.starts_with("ready\n")))?;
    assert!(node.terminate()?.success());
    Ok(())
}

#[test]
fn a_link_is_revoked_permanently_on_a_full_disk() -> Result<()> {
    let place = tempfile::tempdir()?;
    let disk = SmallDisk::mount(place.path(), 48);
    let shared = tempfile::tempdir()?;
    std::fs::write(shared.path().join("a.mpg"), b"leaked")?;
    let ground = ProcessYard::new(0, 1)?;
    let links = free_addr(Ipv4Addr::LOCALHOST)?.to_string();
    let settings = [
        ("data_dir", place.path().to_str().unwrap()),
        ("journal.reserve", "12MiB"),
        ("share.listen", &links),
        ("share.roots.media", shared.path().to_str().unwrap()),
    ];
    let mut node = ground.start_node(&settings)?;
    let call = |method: &str, path: &str, body: &str| -> Option<(u16, serde_json::Value)> {
        let url = format!("http://{}{path}", ground.node);
        let output = Command::new("curl")
            .args(["-s", "-m", "20", "-X", method, "-H", "content-type: application/json"])
            .args(["-H", &bearer_in(place.path())])
            .args(["-d", body, "-w", "\n%{http_code}", &url])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).ok()?;
        let (answer, code) = text.rsplit_once('\n')?;
        Some((code.parse().ok()?, serde_json::from_str(answer).unwrap_or_default()))
    };
    let create = || call("POST", "/api/v1/shares", r#"{"path": "media/a.mpg", "ttl": "1h"}"#);
    let share = wait_for("a link is created", &[&node], || {
        create().filter(|(code, _)| *code == 201).map(|(_, share)| share)
    })?;
    let share = format!("/api/v1/shares/{}", share["id"].as_str().unwrap());

    disk.fill();
    wait_for("no more links are created", &[&node], || {
        create().filter(|(code, _)| *code == 507).map(drop)
    })?;
    let (code, problem) = call("DELETE", &share, "").unwrap();
    assert!((200..300).contains(&code), "{code} {problem}");
    let is_revoked = || {
        let (code, problem) = call("GET", &share, "")?;
        (code == 410 && problem["detail"].as_str()?.contains("revoked")).then_some(())
    };
    assert!(is_revoked().is_some(), "{:?}", call("GET", &share, ""));
    assert_eq!(create().unwrap().0, 507, "nothing else is taken");

    node.kill();
    disk.clear();
    node.start_again()?;
    wait_for("it is still revoked", &[&node], is_revoked)?;
    Ok(())
}
