//! A person at the console of a node.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::probes::accessibility::too_wide;
use reelyard_integration_tests::probes::browser::Browser;
use reelyard_integration_tests::rigs::yard::wait_for;

use super::super::console_yard::{ConsoleYard, FILES, Visit};
use super::accessibility::keep_picture;
use super::looking::{until, until_shown, without_errors};

/// The main task of each page, as a person does it. One yard and one browser carry all of them.
#[tokio::test]
async fn a_person_does_the_main_task_of_each_page() -> Result<()> {
    let mut yard = ConsoleYard::start_watching()?;
    let browser = by_login_link(&yard).await?;
    browser.resize(1440, 900).await?;
    hosts(&yard, &browser).await?;
    files(&yard, &browser).await?;
    tasks(&yard, &browser).await?;
    plan_map_guide_and_cluster(&yard, &browser).await?;
    a_link(&yard, &browser).await?;
    records_and_node(&yard, &browser).await?;
    in_korean_on_a_phone(&yard, &browser).await?;
    a_cut_connection_is_visible_and_recovers(&mut yard, &browser).await
}

/// A browser that a login link has let in.
pub(super) async fn by_login_link(yard: &ConsoleYard) -> Result<Browser> {
    let log = yard.node.log_text();
    let link = log.split("/login?link=").nth(1).context("no link")?;
    let link: String =
        link.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
    let browser = Browser::start(true).await?;
    browser.open(&format!("{}/login?link={link}", yard.url())).await?;
    browser.click("main button").await?;
    until_shown(&browser, "body", "Copies running").await;
    Ok(browser)
}

async fn open(yard: &ConsoleYard, browser: &Browser, page: &str) -> Result<()> {
    browser.open(&format!("{}/console{page}", yard.url())).await
}

/// A host is put into maintenance and used again, on its own page, which follows the change by itself.
async fn hosts(yard: &ConsoleYard, browser: &Browser) -> Result<()> {
    open(yard, browser, "/hosts").await?;
    until_shown(browser, "body", "troubled ones first").await;
    let host = yard.ground.destination(0).to_string();
    open(yard, browser, &format!("/hosts/{host}")).await?;
    let visit = yard.visit("other", "operator")?;
    let path = format!("/console/hosts/{host}/maintenance");
    ensure!(yard.post(&visit, &path, &[])?.status == 303);
    until_shown(browser, "#page-sentence", "maintenance").await;
    until_shown(browser, "#host-acts", "Activate").await;
    a_picked_row_that_left_is_marked(yard, browser, &visit).await?;
    open(yard, browser, &format!("/hosts/{host}")).await?;
    browser.click("#host-acts button[formaction*='/active']").await?;
    until_shown(browser, "[data-toast]", "In operation again").await;
    without_errors(browser, "hosts").await
}

/// The host is in maintenance. A picked row that leaves the list stays, and is marked until it is in the list again.
async fn a_picked_row_that_left_is_marked(
    yard: &ConsoleYard,
    browser: &Browser,
    visit: &Visit,
) -> Result<()> {
    let (source, host) = (yard.ground.source(0), yard.ground.destination(0));
    let set = |host: SocketAddr, mode: &str| -> Result<()> {
        let answer = yard.post(visit, &format!("/console/hosts/{host}/{mode}"), &[])?;
        ensure!(answer.status == 303, "{mode}: {}", answer.body);
        Ok(())
    };
    set(source, "maintenance")?;
    open(yard, browser, "/hosts?mode=maintenance").await?;
    until(browser, "document.querySelectorAll('#rows tbody tr').length === 2").await;
    browser.click("#rows [data-pick-all]").await?;
    set(host, "active")?;
    until(browser, "document.querySelectorAll('#rows tr.gone input:checked').length === 1").await;
    let struck = "getComputedStyle(document.querySelector('#rows tr.gone td')).textDecorationLine";
    assert_eq!(browser.evaluate(struck).await?, "line-through");
    set(host, "maintenance")?;
    until(browser, "document.querySelectorAll('#rows tr.gone').length === 0").await;
    set(source, "active")
}

/// Files are found, picked and pinned; then all that match are unpinned.
async fn files(yard: &ConsoleYard, browser: &Browser) -> Result<()> {
    open(yard, browser, "/files").await?;
    browser.write("#filters input[name=q]", "gamma").await?;
    until(browser, "document.querySelectorAll('#rows tbody tr').length === 1").await;
    until(
        browser,
        "document.querySelector('#stream').getAttribute('hx-sse:connect').includes('q=gamma')",
    )
    .await;
    browser.click("#rows a.why-b").await?;
    until_shown(browser, "#why", "beta gamma.mpg").await;
    without_errors(browser, "the filter").await?;
    a_refused_filter_keeps_the_rows(yard, browser).await?;
    open(yard, browser, "/files").await?;
    browser.click("#rows [data-pick-all]").await?;
    until_shown(browser, ".bulk", "3 selected · 29.3 KiB").await;
    browser.click(".bulk button[value=pin]").await?;
    until_shown(browser, "[data-dialog]", "Pin 3 files?").await;
    browser.click("[data-dialog] button.go").await?;
    until_shown(browser, "[data-toast]", "Pinned: 3").await;
    open(yard, browser, "/files?q=mpg&ask=unpin&all=true").await?;
    until_shown(browser, "[data-dialog]", "Unpin 3 files?").await;
    browser.click("[data-dialog] button.go").await?;
    until_shown(browser, "[data-toast]", "No longer pinned: 3").await;
    without_errors(browser, "files").await
}

/// The rows and the address of the filter before stay until another one is answered. The node itself refuses here: the
/// request for the filter goes to an address without a page.
async fn a_refused_filter_keeps_the_rows(yard: &ConsoleYard, browser: &Browser) -> Result<()> {
    open(yard, browser, "/files").await?;
    until(browser, "document.querySelectorAll('#rows tbody tr').length === 3").await;
    let refused = "(() => {
        const plain = window.fetch;
        window.answer = (isRefused) => { window.fetch = (address, options) =>
            plain(isRefused && String(address).includes('q=') ? '/console/absent' : address, options); };
        window.answer(true);
        return true;
    })()";
    assert_eq!(browser.evaluate(refused).await?, true);
    browser.write("#filters input[name=q]", "gamma").await?;
    until_shown(browser, "#unanswered", "The node refused the request.").await;
    let kept = "document.querySelectorAll('#rows tbody tr').length === 3 && location.search === '' && \
                document.querySelector('#rows').getAttribute('aria-busy') !== 'true' && \
                document.querySelector('#filters input[name=q]').value === 'gamma' && \
                getComputedStyle(document.querySelector('#rows tbody')).backgroundImage.includes('gradient')";
    assert_eq!(browser.evaluate(kept).await?, true, "a refusal changes the rows");
    browser.evaluate("window.answer(false)").await?;
    browser.click("#unanswered button").await?;
    until(browser, "document.querySelectorAll('#rows tbody tr').length === 1").await;
    until(
        browser,
        "document.querySelector('#unanswered').hidden && location.search === '?q=gamma'",
    )
    .await;
    // The browser reports the status of the refusal.
    browser.console_errors().await.map(drop)
}

/// A picked row keeps its place while a copy begins; the new row comes in when it is asked for.
async fn tasks(yard: &ConsoleYard, browser: &Browser) -> Result<()> {
    open(yard, browser, "/tasks").await?;
    until_shown(browser, "#rows", "beta gamma.mpg").await;
    browser.write("#filters input[name=q]", "mpg").await?;
    until(
        browser,
        "document.querySelector('#stream').getAttribute('hx-sse:connect').includes('q=mpg')",
    )
    .await;
    browser.click("#rows tbody input[name=pick]").await?;
    let first = "document.querySelector('#rows tbody tr').id";
    let before = browser.evaluate(first).await?;
    yard.ground.master(b"delta.mpg", 10_000)?;
    let names = FILES.map(str::as_bytes);
    yard.ground.grade(&[&[&b"delta.mpg"[..]], &names[..]].concat())?;
    until_shown(browser, "[data-new-rows]", "1 new, show").await;
    assert_eq!(browser.evaluate(first).await?, before, "the picked row moved");
    let kept = "document.querySelector('#rows tbody input[name=pick]').checked && \
                document.querySelector('#filters input[name=q]').value === 'mpg' && \
                document.querySelector('.bulk').dataset.picked === '1' && \
                !document.documentElement.classList.contains('is-stale')";
    assert_eq!(browser.evaluate(kept).await?, true, "pick or typed text is gone");
    browser.click("[data-new-rows] a").await?;
    until_shown(browser, "#rows", "delta.mpg").await;
    without_errors(browser, "tasks").await
}

/// The plan says why files get no copy, and leads to the setting that holds removals. The map leads to the file that is
/// asked for. A chapter is read. A node without an address for others says what to set before an invitation.
async fn plan_map_guide_and_cluster(yard: &ConsoleYard, browser: &Browser) -> Result<()> {
    open(yard, browser, "/plan").await?;
    browser.click("#plan-figures a[href$='#passed']").await?;
    browser.click("#passed a[href$='reason=placed']").await?;
    until_shown(browser, "#rows", "beta gamma.mpg").await;
    open(yard, browser, "/plan").await?;
    browser.click("#page-acts a[href*='remover.mode']").await?;
    until_shown(browser, "#rows", "[remover]").await;
    open(yard, browser, "/map").await?;
    until_shown(browser, "#map-content", "No file is asked for now").await;
    yard.ground.hit(b"alpha.mpg", 200)?;
    until_shown(browser, "#map", "alpha.mpg").await;
    browser.click("#filters a[href$='view=table']").await?;
    // An address that is copied from a page is one word.
    until_shown(browser, "#map table", &yard.ground.destination(0).to_string()).await;
    browser.click("#map table a.name").await?;
    until_shown(browser, "#why", "alpha.mpg").await;
    open(yard, browser, "/cluster").await?;
    until_shown(browser, "main", "This node runs alone").await;
    // Without an address for other nodes, an invitation would be refused.
    until_shown(browser, "#page-acts [aria-disabled]", "Invite a node").await;
    until_shown(browser, "#page-acts", "cluster.listen is not set").await;
    open(yard, browser, "/guide").await?;
    browser.click("main nav[aria-label] a[href$='/guide/copies']").await?;
    until_shown(browser, "article h1", "Copies").await;
    without_errors(browser, "plan, map, guide and cluster").await
}

/// A link is made with a preset, its preview follows the fields, and a visitor opens it.
async fn a_link(yard: &ConsoleYard, browser: &Browser) -> Result<()> {
    open(yard, browser, "/shares").await?;
    until_shown(browser, "#rows", "Nothing is shared").await;
    browser.click(".head a.go").await?;
    until(browser, "document.activeElement.id === 'why-title'").await;
    browser.write("#why input[name=path]", "movies/alpha.mpg").await?;
    browser.write("#why input[name=max_downloads]", "3").await?;
    until_shown(browser, "#new-found", "It is there: 9.8 KiB").await;
    until_shown(browser, "#why .preview", "alpha.mpg").await;
    until_shown(browser, "#why .preview", "3 downloads at most").await;
    browser.click("#why .seg label:nth-child(3)").await?;
    until_shown(browser, "#why .preview", "ends in 1 day").await;
    // The shown command follows all fields. A password does not leave its field.
    until_shown(browser, "#commands", "--ttl 1d --max-downloads=3").await;
    let password = "(text) => {
        const field = document.querySelector('#why input[name=password]');
        field.value = text;
        field.dispatchEvent(new Event('input', { bubbles: true }));
        return true;
    }";
    browser.evaluate(&format!("({password})('open sesame')")).await?;
    until_shown(browser, "#commands", "--ttl 1d --password --max-downloads=3").await;
    let asked = "performance.getEntriesByType('resource').map((one) => one.name).join(' ')";
    let asked = browser.evaluate(asked).await?.to_string();
    ensure!(asked.contains("password=true") && !asked.contains("sesame"), "{asked}");
    browser.evaluate(&format!("({password})('')")).await?;
    until(browser, "!document.querySelector('#commands').textContent.includes('--password')").await;
    browser.click("#why button.go").await?;
    until_shown(browser, "#why .preview", "movies/alpha.mpg").await;
    let link = browser.text("#why .cmd code").await?.context("no link")?;
    without_errors(browser, "shares").await?;
    browser.open(&link).await?;
    until_shown(browser, "h1", "alpha.mpg").await;
    until_shown(browser, "main", "3 of 3 downloads left").await;
    browser.click("button[data-copy]").await?;
    until_shown(browser, "button[data-copy]", "Copied").await;
    browser.click("button[name=language]").await?;
    until_shown(browser, "main", "다운로드 3회 중 3회 남음").await;
    without_errors(browser, "the page of a link").await
}

/// A pool of three boxes.
pub(super) fn make_pool(yard: &ConsoleYard) -> Result<()> {
    let bearer = yard.ground.bearer();
    let json = "content-type: application/json";
    let body = r#"{"size":3}"#;
    let pool = ["-X", "PUT", "-H", &bearer, "-H", json, "-d", body, "/api/v1/pools/judges"];
    ensure!(yard.curl(&pool)?.status < 300);
    Ok(())
}

/// A box is put into quarantine. The history, the audit and the settings are searched. A token is made, and a chapter
/// is read.
async fn records_and_node(yard: &ConsoleYard, browser: &Browser) -> Result<()> {
    make_pool(yard)?;
    open(yard, browser, "/boxes?pool=judges&number=1&ask=quarantine").await?;
    until_shown(browser, "[data-dialog]", "Put box 1 into quarantine?").await;
    browser.write("[data-dialog] input[name=reason]", "its disk is slow").await?;
    browser.click("[data-dialog] .ask-command summary").await?;
    let lines = "document.querySelector('#commands').textContent";
    until(browser, &format!("{lines}.includes('--reason=its disk is slow')")).await;
    let is_in_the_middle = "(() => {
        const box = document.querySelector('.dialog').getBoundingClientRect();
        return Math.abs(box.left + box.right - document.documentElement.clientWidth) < 2;
    })()";
    assert_eq!(browser.evaluate(is_in_the_middle).await?, true, "open lines move the dialog");
    browser.click("[data-dialog] button.go").await?;
    until_shown(browser, "main", "its disk is slow").await;
    open(yard, browser, "/history").await?;
    browser.write("#filters input[name=q]", "alpha").await?;
    until(browser, "!document.querySelector('#rows').textContent.includes('gamma')").await;
    open(yard, browser, "/audit?q=judges").await?;
    until_shown(browser, "#rows", "its disk is slow").await;
    open(yard, browser, "/settings").await?;
    until_shown(browser, "#settings-inputs", ".grade.info").await;
    browser.write("#filters input[name=q]", "limit_percent").await?;
    until(browser, "document.querySelectorAll('#rows tbody tr').length < 9").await;
    open(yard, browser, "/access?ask=new-token").await?;
    browser.write("[data-dialog] input[name=name]", "backup").await?;
    browser.click("[data-dialog] button.go").await?;
    until_shown(browser, "main", "The secret of backup").await;
    open(yard, browser, "/guide/troubleshooting").await?;
    until_shown(browser, "article h1", "Troubleshooting").await;
    open(yard, browser, "/find?q=gamma").await?;
    until_shown(browser, "main", "beta gamma.mpg").await;
    without_errors(browser, "records and the node").await?;
    open(yard, browser, "/hosts/127.0.0.1:1").await?;
    until_shown(browser, "h1", "There is nothing at this address").await;
    // The browser reports the status of the page itself.
    browser.console_errors().await.map(drop)
}

/// The page says that it is old while the node is away, and that it is live once the node is back.
async fn a_cut_connection_is_visible_and_recovers(
    yard: &mut ConsoleYard,
    browser: &Browser,
) -> Result<()> {
    open(yard, browser, "/hosts").await?;
    let (is_stale, bar) = ("document.documentElement.classList.contains('is-stale')", "#stale-bar");
    until(browser, &format!("!{is_stale}")).await;
    // A node that is paused ends no connection.
    yard.node.pause()?;
    until(browser, is_stale).await;
    until_shown(browser, bar, "초 동안 노드에서 소식이 없습니다").await;
    yard.node.wake()?;
    until(browser, &format!("!{is_stale}")).await;
    yard.node.kill();
    until(browser, is_stale).await;
    until_shown(browser, bar, "초 동안 노드에서 소식이 없습니다").await;
    until_shown(browser, bar, "초 후 다시 시도").await;
    browser.write("#filters input[name=q]", "127").await?;
    until_shown(browser, "#unanswered", "노드가 응답하지 않습니다").await;
    until(browser, "document.querySelectorAll('#rows tbody tr').length === 2").await;
    // From now on the page does not try again by itself. "Now" does.
    let waits = "(() => { const real = window.setTimeout; window.setTimeout = (run, after, ...more) => \
        after >= 350 ? 0 : real(run, after, ...more); window.tried = false; \
        document.addEventListener('htmx:sse:before:connection', () => { window.tried = true; }); return true; })()";
    browser.evaluate(waits).await?;
    // The attempt that was planned before that is over.
    until(browser, "window.tried").await;
    yard.node.start_again()?;
    wait_for("the node answers", &[&yard.node], || yard.ground.get("/api/v1/whoami"))?;
    browser.click("[data-connect]").await?;
    until(browser, &format!("!{is_stale}")).await;
    until(browser, &format!("document.querySelector('{bar}').hidden")).await;
    Ok(())
}

/// The pages in Korean on a phone: each shows its words, and its main part is within the window.
async fn in_korean_on_a_phone(yard: &ConsoleYard, browser: &Browser) -> Result<()> {
    browser.resize(390, 844).await?;
    browser.keep_cookie("reelyard_language", "ko").await?;
    let host = format!("/hosts/{}", yard.ground.destination(0));
    let is_korean = "document.documentElement.lang === 'ko' && \
                     /[가-힣]/.test(document.querySelector('main h1').textContent)";
    for (page, words) in [
        ("", "진행 중인 복사"),
        ("/hosts", "호스트"),
        (host.as_str(), "저장 서버"),
        ("/files", "배치됨"),
        ("/tasks", "완료"),
        ("/plan", "배치 주기"),
        ("/map", "호스트별 요청"),
        ("/shares", "공유 링크"),
        ("/boxes", "격리됨"),
        ("/history", "복사됨"),
        ("/audit", "감사 기록"),
        ("/cluster", "단독으로"),
        ("/settings", "입력"),
        ("/access", "토큰"),
        ("/guide", "Reelyard 설치"),
        ("/find?q=alpha", "파일"),
    ] {
        open(yard, browser, page).await?;
        until_shown(browser, "main", words).await;
        keep_picture(browser, page, "korean").await?;
        let wide = too_wide(browser).await?;
        ensure!(wide.is_empty(), "{page}: {wide:?}");
        // The title of a host is its address.
        ensure!(page == host || browser.evaluate(is_korean).await? == true, "{page}: its title");
    }
    without_errors(browser, "Korean pages").await?;
    open(yard, browser, "/hosts/127.0.0.1:1").await?;
    until_shown(browser, "h1", "이 주소에는 아무것도 없습니다").await;
    // The browser reports the status of the page itself.
    browser.console_errors().await.map(drop)?;
    a_row_is_picked_by_a_finger(yard, browser).await?;
    without_errors(browser, "a phone").await
}

/// The narrowest window: a row is ticked, and the dialog of its action opens.
async fn a_row_is_picked_by_a_finger(yard: &ConsoleYard, browser: &Browser) -> Result<()> {
    browser.resize(320, 640).await?;
    // Without heads, the list is sorted and all of it picked above it.
    open(yard, browser, "/files").await?;
    browser.click("#filter-menus .narrows summary").await?;
    browser.click("#filter-menus .narrows a[href*='sort=name']").await?;
    until(browser, "location.search === '?sort=name'").await;
    let first = "document.querySelector('#rows tbody tr').textContent.includes('script')";
    until(browser, first).await;
    browser.click("#filters label.narrows input").await?;
    until(browser, "document.querySelector('.bulk').dataset.picked > '1'").await;
    let hidden = "getComputedStyle(document.querySelector('#rows thead')).visibility";
    assert_eq!(browser.evaluate(hidden).await?, "hidden", "heads in the order of Tab");
    open(yard, browser, "/files?q=alpha").await?;
    let target = "document.querySelector('td.pick .hit').getBoundingClientRect()";
    for side in ["width", "height"] {
        assert_eq!(browser.evaluate(&format!("{target}.{side} >= 24")).await?, true, "{side}");
    }
    browser.click("td.pick .hit").await?;
    until(browser, "document.querySelector('.bulk').dataset.picked === '1'").await;
    let wide = too_wide(browser).await?;
    ensure!(wide.is_empty(), "a picked row: {wide:?}");
    keep_picture(browser, "/files-picked", "320").await?;
    browser.click(".bulk button[value=pin]").await?;
    until_shown(browser, "[data-dialog]", "alpha.mpg").await;
    let wide = too_wide(browser).await?;
    ensure!(wide.is_empty(), "a dialog: {wide:?}");
    browser.resize(390, 844).await
}
