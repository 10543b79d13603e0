//! The pages: who may open them, and what they show.

use std::fs::File;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::yard::wait_for;

use super::console_yard::{ConsoleYard, FILES, Visit};

/// Every page that needs no argument.
const PAGES: [&str; 6] = [
    "/console",
    "/console/hosts",
    "/console/files",
    "/console/tasks",
    "/console/files?why=alpha.mpg",
    "/console/tasks?why=alpha.mpg",
];

#[test]
fn pages_of_the_yard_are_shown_filtered_and_live() -> Result<()> {
    let yard = ConsoleYard::start()?;
    a_page_asks_for_a_login_and_the_login_returns_to_it(&yard)?;
    pages_show_the_yard_in_both_languages_under_a_strict_policy(&yard)?;
    a_choice_is_kept_and_files_of_pages_are_cached(&yard)?;
    filters_and_orders_of_files_show_the_right_rows(&yard)?;
    a_live_page_sends_the_parts_that_change(&yard)
}

fn a_page_asks_for_a_login_and_the_login_returns_to_it(yard: &ConsoleYard) -> Result<()> {
    assert_eq!(yard.curl(&["/"])?.header("location"), Some("/console"));
    let refused = yard.curl(&["/console/hosts?q=a"])?;
    assert_eq!(refused.status, 303);
    assert_eq!(refused.header("location"), Some("/login?next=%2fconsole%2fhosts%3fq%3da"));
    let form = yard.curl(&["/login?next=%2Fconsole%2Fhosts%3Fq%3Da"])?;
    assert!(form.body.contains("value=\"/console/hosts?q=a\""), "{}", form.body);
    let link = wait_for("the link", &[&yard.node], || {
        let log = yard.node.log_text();
        let link = log.split("/login?link=").nth(1)?;
        Some(link.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect())
    });
    let link: String = link?;
    let next = "next=/console/tasks";
    let begun = yard.curl(&["-d", &format!("link={link}"), "--data-urlencode", next, "/login"])?;
    assert_eq!((begun.status, begun.header("location")), (303, Some("/console/tasks")));
    Ok(())
}

fn pages_show_the_yard_in_both_languages_under_a_strict_policy(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("ops", "operator")?;
    for path in PAGES {
        for (language, word) in [("en", "Hosts"), ("ko", "호스트")] {
            let header = format!("Accept-Language: {language}");
            let answer = yard.curl(&["-H", &visit.cookie, "-H", &header, path])?;
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            assert!(answer.body.contains(word), "{path} in {language}: {}", answer.body);
            assert!(answer.body.contains(&format!("<html lang=\"{language}\"")), "{path}");
            assert!(!answer.body.contains(" style="), "{path}");
            assert!(!answer.body.contains("<script>alert"), "{path}");
            let policy = answer.header("content-security-policy").context("no policy")?;
            assert!(policy.contains("default-src 'none'; script-src 'nonce-"), "{policy}");
        }
    }
    let host = yard.ground.destination(0).to_string();
    let hosts = yard.page(&visit, "/console/hosts")?;
    assert!(hosts.contains(&host), "{hosts}");
    let one = yard.page(&visit, &format!("/console/hosts/{host}"))?;
    assert!(one.contains(&host) && one.contains("alpha.mpg"), "{one}");
    let files = yard.page(&visit, "/console/files?q=gamma")?;
    assert!(files.contains("beta gamma.mpg") && !files.contains("alpha.mpg"), "{files}");
    let tasks = yard.page(&visit, "/console/tasks?state=done&sort=name")?;
    for name in FILES {
        assert!(tasks.contains(&name.replace('<', "&lt;").replace('>', "&gt;")), "{name}: {tasks}");
    }
    for (sort, key) in
        [("copied", "Copied"), ("-rate", "Rate"), ("from", "From → to"), ("left", "Left")]
    {
        let tasks = yard.page(&visit, &format!("/console/tasks?state=done&sort={sort}"))?;
        let sorted = tasks.split("aria-sort=").nth(1).unwrap_or_default();
        assert!(sorted.contains(&format!(">{key}<")), "{sort}: {sorted}");
        assert!(tasks.contains("<summary class=\"drop\">Sort by<b"), "{tasks}");
    }
    let none = yard.page(&visit, "/console/files?q=absent")?;
    assert!(none.contains("absent"), "{none}");
    for (page, words) in [
        ("tasks?why=alpha.mpg".to_owned(), "reelyard plan --explain=alpha.mpg".to_owned()),
        (format!("hosts?why={host}"), format!("reelyard hosts --contains={host}")),
    ] {
        let page = yard.page(&visit, &format!("/console/{page}"))?;
        let panel = page.split("id=\"why\"").nth(1).context("no panel")?;
        assert!(panel.contains(&words), "{panel}");
    }
    let unknown = yard.curl(&["-H", &visit.cookie, "/console/hosts/127.0.0.1:1"])?;
    assert_eq!(unknown.status, 404, "{}", unknown.body);
    // No address of a host: a page as well.
    let wrong = yard.curl(&["-H", &visit.cookie, "/console/hosts/nohost:1"])?;
    assert!(wrong.status == 404 && wrong.body.contains("<html lang"), "{}", wrong.body);
    for (path, page) in [
        ("/console/", "/console"),
        ("/console/guide/", "/console/guide"),
        ("/login/?next=%2Fconsole", "/login?next=%2fconsole"),
    ] {
        let moved = yard.curl(&["-H", &visit.cookie, path])?;
        assert_eq!((moved.status, moved.header("location")), (303, Some(page)), "{path}");
    }
    Ok(())
}

fn filters_and_orders_of_files_show_the_right_rows(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("eyes", "viewer")?;
    let graded = [FILES.map(str::as_bytes).as_slice(), &[b"absent.mpg"]].concat();
    yard.ground.grade(&graded)?;
    wait_for("the file without a master", &[&yard.node], || {
        let files = yard.ground.get("/api/v1/files?state=no_master")?;
        (files["items"][0]["name"] == "absent.mpg").then_some(())
    })?;
    for (filter, shown, hidden) in [
        ("state=problem", "absent.mpg", "alpha.mpg"),
        ("reason=no_master", "absent.mpg", "alpha.mpg"),
        ("state=placed", "alpha.mpg", "absent.mpg"),
        ("reason=placed", "alpha.mpg", "absent.mpg"),
        ("state=placed&q=pha", "alpha.mpg", "beta gamma.mpg"),
    ] {
        let page = yard.page(&visit, &format!("/console/files?{filter}"))?;
        let rows = rows_of(&page);
        assert!(rows.contains(shown) && !rows.contains(hidden), "{filter}: {rows}");
    }
    for filter in ["state=waiting", "state=copying", "q=alphagamma"] {
        let page = yard.page(&visit, &format!("/console/files?{filter}"))?;
        let rows = rows_of(&page);
        assert!(!rows.contains("absent.mpg") && !rows.contains("alpha.mpg"), "{filter}: {rows}");
    }
    for (order, first, last) in [
        ("name", "absent.mpg", "beta gamma.mpg"),
        ("-name", "beta gamma.mpg", "absent.mpg"),
        ("rank", "alpha.mpg", "absent.mpg"),
        ("-rank", "absent.mpg", "alpha.mpg"),
        ("-size", "beta gamma.mpg", "absent.mpg"),
        ("size", "absent.mpg", "beta gamma.mpg"),
    ] {
        let page = yard.page(&visit, &format!("/console/files?sort={order}"))?;
        let rows = rows_of(&page);
        assert!(rows.find(first) < rows.find(last), "{order}: {rows}");
    }
    yard_names_missing_masters(yard, &visit)?;
    yard.ground.grade(&graded)?;
    wait_for("the masters again", &[&yard.node], || {
        let files = yard.ground.get("/api/v1/files?state=no_master")?;
        (files["items"].as_array()?.len() == 1).then_some(())
    })
}

/// Nearly all graded files have no master. One name is not UTF-8, and another one is the text that stands for it.
fn yard_names_missing_masters(yard: &ConsoleYard, visit: &Visit) -> Result<()> {
    let absent: Vec<String> = (0..40).map(|file| format!("absent{file}.mpg")).collect();
    let graded = FILES.iter().copied().chain(absent.iter().map(String::as_str));
    let graded: Vec<&[u8]> = graded.map(str::as_bytes).collect();
    yard.ground.grade(&[graded.as_slice(), &[b"a\xff.mpg", b"a%FF.mpg"]].concat())?;
    let trouble = wait_for("the trouble", &[&yard.node], || {
        let overview = yard.ground.get("/api/v1/overview")?;
        let troubles = overview["troubles"].as_array()?.clone();
        troubles.into_iter().find(|trouble| trouble["kind"] == "no_masters")
    })?;
    assert!(trouble["title"].as_str().is_some_and(|title| title.ends_with(" 42 files")));
    for language in ["en", "ko"] {
        let cookie = format!("{}; reelyard_language={language}", visit.cookie);
        let page = yard.curl(&["-H", &cookie, "/console"])?.body;
        let link = "href=\"/console/files?reason=no_master\"";
        assert!(page.contains(link) && page.contains("42"), "{language}: {page}");
    }
    let page = yard.page(visit, "/console/files?reason=no_master&sort=name")?;
    assert!(page.contains("42 files"), "{page}");
    for key in ["a%FF.mpg", "a%25FF.mpg"] {
        let row = page.split(&format!("id=\"file-{key}\"")).nth(1).context("no row")?;
        let why = row.split("href=\"").find(|link| link.contains("why=")).context("no link")?;
        let address = why.split('"').next().unwrap_or_default().replace("&amp;", "&");
        let page = yard.page(visit, &address)?;
        let panel = page.split("id=\"why\"").nth(1).context("no panel")?;
        assert!(panel.contains(&format!("/files/{key}/explain")), "{key}: {panel}");
        let is_encoded = key == "a%FF.mpg";
        assert_eq!(panel.contains("The name is not UTF-8."), is_encoded, "{key}: {panel}");
    }
    Ok(())
}

/// The body of the table of a page.
fn rows_of(page: &str) -> &str {
    let body = page.split("<tbody").nth(1).unwrap_or_default();
    body.split("</tbody>").next().unwrap_or_default()
}

fn a_choice_is_kept_and_files_of_pages_are_cached(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("eyes", "viewer")?;
    let kept = yard.post(&visit, "/console/preferences", &["theme=dark", "back=/console/hosts"])?;
    assert_eq!((kept.status, kept.header("location")), (303, Some("/console/hosts")));
    assert!(kept.head.contains("set-cookie: reelyard_theme=dark"), "{}", kept.head);
    let away = yard.post(&visit, "/console/preferences", &["back=//evil.example"])?;
    assert_eq!(away.header("location"), Some("/console"));
    let dark = format!("{}; reelyard_theme=dark; reelyard_language=ko", visit.cookie);
    let page = yard.curl(&["-H", &dark, "/console"])?.body;
    assert!(page.contains("data-theme=\"dark\"") && page.contains("lang=\"ko\""), "{page}");
    let style =
        page.split("rel=\"stylesheet\" href=\"").nth(1).and_then(|rest| rest.split('"').next());
    let style = yard.curl(&[style.context("no style")?])?;
    assert_eq!(style.status, 200);
    assert!(style.header("cache-control").is_some_and(|kept| kept.contains("immutable")));
    assert_eq!(yard.curl(&["/console/assets/000000000000/console.css"])?.status, 404);
    Ok(())
}

fn a_live_page_sends_the_parts_that_change(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("ops", "operator")?;
    let host = yard.ground.destination(0).to_string();
    let output = yard.ground.path("live");
    let mut curl = Command::new("curl");
    curl.args(["-s", "-N", "-m", "60", "-H", &visit.cookie]);
    curl.arg(format!("{}/console/live/hosts", yard.url()));
    let mut curl = curl.stdout(File::create(&output)?).stdin(Stdio::null()).spawn()?;
    let text = || std::fs::read_to_string(&output).unwrap_or_default();
    wait_for("the first message", &[&yard.node], || {
        text().contains("hx-target=\"#rows\"").then_some(())
    })?;
    let moved = yard.post(&visit, &format!("/console/hosts/{host}/maintenance"), &[])?;
    assert_eq!(moved.status, 303, "{}", moved.body);
    wait_for("the change", &[&yard.node], || text().contains("in maintenance").then_some(()))?;
    // The words and counts above the rows follow as well, and so does the side bar.
    for part in ["#page-sentence", "#filter-states", "#filter-status", "#side", "#tab-pages"] {
        let target = format!("hx-target=\"{part}\"");
        ensure!(text().contains(&target), "{part} does not follow changes: {}", text());
    }
    wait_for("the sentence", &[&yard.node], || text().contains("1 in maintenance").then_some(()))?;
    curl.kill()?;
    curl.wait()?;
    for (page, part) in [
        (format!("host?host={host}"), "#host-figures"),
        ("files?q=gamma".to_owned(), "#rows"),
        ("map".to_owned(), "#map-content"),
        ("shares".to_owned(), "#rows"),
        ("cluster".to_owned(), "#cluster-content"),
    ] {
        let address = format!("{}/console/live/{page}", yard.url());
        let mut curl = Command::new("curl");
        curl.args(["-s", "-N", "-m", "60", "-H", &visit.cookie, &address]);
        let output = yard.ground.path("one live page");
        let mut curl = curl.stdout(File::create(&output)?).stdin(Stdio::null()).spawn()?;
        let target = format!("hx-target=\"{part}\"");
        let text = || std::fs::read_to_string(&output).unwrap_or_default();
        wait_for(&page, &[&yard.node], || text().contains(&target).then_some(()))?;
        assert!(!text().contains("alpha.mpg") || !page.contains("gamma"), "{page}: {}", text());
        curl.kill()?;
        curl.wait()?;
    }
    assert!(text().lines().all(|line| {
        line.is_empty()
            || ["id: ", "data: ", "event: still-here", ": "]
                .iter()
                .any(|word| line.starts_with(word))
    }));
    Ok(())
}
