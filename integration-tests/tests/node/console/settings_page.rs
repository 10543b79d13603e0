//! The page of settings.

use anyhow::{Context, Result};

use super::console_yard::ConsoleYard;

#[test]
fn settings_show_their_origin_and_are_reloaded() -> Result<()> {
    let yard = ConsoleYard::start_by_file()?;
    let visit = yard.visit("boss", "admin")?;
    let page = yard.page(&visit, "/console/settings?q=storage.limit_percent")?;
    assert!(page.contains("limit_percent") && !page.contains("back_off_base"), "{page}");
    for (language, words) in [
        ("en", ["at once, when reloaded", "the same on every node", "Highest fill level"]),
        ("ko", ["다시 읽으면 즉시", "모든 노드에서 같은 값", "최대 사용률"]),
    ] {
        let accepted = format!("Accept-Language: {language}");
        let path = "/console/settings?q=storage.limit_percent";
        let page = yard.curl(&["-H", &visit.cookie, "-H", &accepted, path])?.body;
        for words in words {
            assert!(page.contains(words), "{language} lacks {words:?}: {page}");
        }
    }
    let page = yard.page(&visit, "/console/settings?section=storage&sort=-setting")?;
    let rows = page.split("class=\"cards set\"").nth(1).unwrap_or_default();
    let place = |name: &str| rows.find(&format!(">storage.{name}<"));
    assert!(place("low_water_percent").is_some(), "{rows}");
    assert!(place("low_water_percent") < place("limit_percent"), "{rows}");
    assert!(!rows.contains("back_off_base"), "{rows}");
    // The file differs: the page says what a reload does, and what waits for a restart.
    let more = "session.idle = \"7h\"\nhttp.body_limit = \"2MiB\"\nstorage.limit_percent = 97\n";
    ConsoleYard::write_settings(&yard.ground, more)?;
    let page = yard.page(&visit, "/console/settings")?;
    let (_, differences) = page.split_once("settings-differences").context("no differences")?;
    for words in [
        "The file differs from the values in force",
        "No destination is above 97%",
        "A session ends after this long without use.",
        "A reload keeps the value in force.",
        "Put 2 settings in force",
    ] {
        assert!(differences.contains(words), "lacks {words:?}: {differences}");
    }
    // The file changes again after the dialog was opened: a person puts nothing in force that nobody saw.
    let asked = yard.page(&visit, "/console/settings?ask=reload")?;
    let seen = asked.split("name=\"seen\" value=\"").nth(1).context("no digest")?;
    let seen = format!("seen={}", seen.split('"').next().unwrap_or_default());
    assert!(asked.contains("Put 2 settings in force?"), "{asked}");
    ConsoleYard::write_settings(&yard.ground, &more.replace("97", "98"))?;
    let later = yard.post(&visit, "/console/settings/reload", &[&seen])?;
    let refused = later.header("set-cookie").unwrap_or_default().contains("reelyard_outcome");
    assert!(later.status == 303 && refused, "{}", later.head);
    let page = yard.page(&visit, "/console/settings")?;
    assert!(page.contains("No destination is above 98%"), "nothing was put in force: {page}");
    ConsoleYard::write_settings(&yard.ground, more)?;
    let with = [seen.as_str(), "back=/console/settings"];
    let reloaded = yard.post(&visit, "/console/settings/reload", &with)?;
    let back = reloaded.header("location");
    assert_eq!((reloaded.status, back), (303, Some("/console/settings")), "{}", reloaded.body);
    let page = yard.page(&visit, "/console/settings")?;
    assert!(page.contains("A reload changes nothing here."), "only the restart is left: {page}");
    Ok(())
}
