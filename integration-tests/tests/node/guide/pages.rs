//! The guide as a node serves it and as the command line prints it.

use std::process::Command;

use anyhow::Result;
use reelyard::guide::{CHAPTERS, GuideLanguage};
use reelyard_integration_tests::rigs::binary::run;
use reelyard_integration_tests::rigs::yard::{ProcessYard, wait_for};

/// An answer from curl: status, head in lower case, body.
struct Shown {
    status: u16,
    head: String,
    body: String,
}

fn get(ground: &ProcessYard, path: &str, arguments: &[&str]) -> Shown {
    let output = Command::new("curl")
        .args(["-s", "-i", "-m", "20"])
        .args(arguments)
        .arg(format!("http://{}{path}", ground.node))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Shown { status, head: head.to_lowercase(), body: body.to_owned() }
}

#[test]
fn a_node_serves_every_chapter_without_a_token() -> Result<()> {
    let ground = ProcessYard::new(0, 0)?;
    let node = ground.start_node(&[("token", "open-sesame-open-now")])?;
    wait_for("the node answers", &[&node], || {
        (get(&ground, "/guide", &[]).status == 200).then_some(())
    })?;

    let contents = get(&ground, "/guide/", &[]);
    for chapter in &CHAPTERS {
        let link = format!("href=\"/guide/{}?lang=en\"", chapter.topic);
        assert!(contents.body.contains(&link), "{link}: {}", contents.body);
        let page = get(&ground, &format!("/guide/{}", chapter.topic), &[]);
        assert_eq!(page.status, 200, "{}", chapter.topic);
        assert!(page.head.contains("content-type: text/html; charset=utf-8"), "{}", page.head);
        let policy = "content-security-policy: default-src 'none'; style-src 'sha256-";
        assert!(page.head.contains(policy), "{}", page.head);
        assert!(page.body.contains("name=\"viewport\""), "{}", page.body);
        let title = chapter.title(GuideLanguage::English);
        assert!(page.body.contains(&format!(">{title}</h1>")), "{}", page.body);
        for refused in ["<script", "javascript:", " style=", "<!--"] {
            assert!(!page.body.contains(refused), "{}: {refused}", chapter.topic);
        }
    }

    let console = get(&ground, "/guide/console", &[]);
    assert!(console.body.contains("src=\"/guide/pictures/yard.en.png\""), "{}", console.body);
    assert!(console.head.contains("img-src 'self'"), "{}", console.head);
    let picture = get(&ground, "/guide/pictures/yard.en.png", &["-o", "/dev/null", "-D", "-"]);
    assert!(picture.status == 200 && picture.head.contains("image/png"), "{}", picture.head);
    assert_eq!(get(&ground, "/guide/pictures/absent.png", &[]).status, 404);

    let unknown = get(&ground, "/guide/nothing", &[]);
    assert_eq!(unknown.status, 404);
    assert!(unknown.body.contains("troubleshooting, glossary"), "{}", unknown.body);
    assert_eq!(get(&ground, "/guide/install", &["-X", "POST"]).status, 405);
    Ok(())
}

#[test]
fn the_address_or_the_browser_chooses_the_language() -> Result<()> {
    let ground = ProcessYard::new(0, 0)?;
    let node = ground.start_node(&[])?;
    wait_for("the node answers", &[&node], || {
        (get(&ground, "/guide", &[]).status == 200).then_some(())
    })?;
    let is_korean = |path: &str, accepted: &str| {
        let header = format!("Accept-Language: {accepted}");
        let page = get(&ground, path, &["-H", &header]);
        assert!(page.head.contains("vary: accept-language"), "{}", page.head);
        page.body.contains("<html lang=\"ko\">")
    };
    assert!(is_korean("/guide/operate", "ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7"));
    assert!(!is_korean("/guide/operate", "en;q=0.9, ko;q=0.8"));
    assert!(!is_korean("/guide/operate", "fr"));
    assert!(!is_korean("/guide/operate?lang=en", "ko"));
    assert!(is_korean("/guide/operate?lang=ko", "en"));
    assert!(is_korean("/guide", "ko"));

    let page = get(&ground, "/guide/operate?lang=ko", &[]);
    assert!(page.body.contains("<main lang=\"ko\">"), "{}", page.body);
    let page = get(&ground, "/guide/glossary?lang=ko", &[]);
    assert!(page.body.contains("<main lang=\"en\">"), "{}", page.body);
    assert!(page.body.contains("영어로만"), "{}", page.body);
    Ok(())
}

#[test]
fn the_command_line_prints_and_searches_the_guide() {
    let listed = run(&["guide"]);
    assert_eq!(listed.code, Some(0), "{}", listed.err);
    for chapter in &CHAPTERS {
        assert!(
            listed.out.contains(&format!("\n{} ", chapter.topic)) || chapter.topic == "install"
        );
        let printed = run(&["guide", chapter.topic]);
        assert_eq!(printed.out, chapter.printed(GuideLanguage::English));
        let printed = run(&["guide", chapter.topic, "--lang", "ko"]);
        assert_eq!(printed.out, chapter.printed(GuideLanguage::Korean));
    }
    let found = run(&["guide", "--search", "NODE_EXPORTER"]);
    assert_eq!(found.code, Some(0), "{}", found.err);
    assert!(found.out.starts_with("copies: Busy links: "), "{}", found.out);
    let found = run(&["guide", "boxes", "--search", "node_exporter"]);
    assert_eq!(found.code, Some(1), "{}", found.out);
    assert!(found.err.contains("\"node_exporter\""), "{}", found.err);

    let unknown = run(&["guide", "boxen"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("\"boxen\"") && unknown.err.contains("boxes"), "{}", unknown.err);
}
