//! Actions on all rows that match a filter, sessions that end, and two people who act on the same thing.

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::{Value, json};

use super::console_yard::{ConsoleYard, FILES, Visit};
use super::shown_lines::values;

impl ConsoleYard {
    /// Opens a dialog, runs `between`, sends the hidden fields of the dialog, and returns the next page.
    fn confirm(
        &self,
        visit: &Visit,
        page: &str,
        says: &[&str],
        between: impl FnOnce() -> Result<()>,
    ) -> Result<String> {
        let asked = self.page(visit, page)?;
        let dialog = asked.split("data-dialog").nth(1).context("no dialog")?;
        let dialog = dialog.split("</form>").next().unwrap_or_default();
        for words in says {
            ensure!(dialog.contains(words), "{page} lacks {words:?}: {dialog}");
        }
        let action = value(dialog, "action=\"").context("no action")?;
        let mut fields = Vec::new();
        for field in dialog.split("<input type=\"hidden\" ").skip(1) {
            let (name, text) = (value(field, "name=\""), value(field, "value=\""));
            fields.push(format!("{}={}", name.context("no name")?, text.context("no value")?));
        }
        between()?;
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        self.post_and_look(visit, &action, &fields)
    }

    /// Posts a form, and returns the next page with the outcome.
    fn post_and_look(&self, visit: &Visit, path: &str, fields: &[&str]) -> Result<String> {
        let jar = self.ground.path("jar").display().to_string();
        let csrf = format!("csrf_token={}", visit.csrf);
        let mut arguments = vec!["-H", &visit.cookie, "-c", &jar, "--data-urlencode", &csrf];
        for field in fields {
            arguments.extend(["--data-urlencode", field]);
        }
        arguments.push(path);
        let answer = self.curl(&arguments)?;
        ensure!(answer.status == 303, "{path}: {} {}", answer.status, answer.body);
        Ok(self.curl(&["-H", &visit.cookie, "-b", &jar, "/console/guide"])?.body)
    }

    /// Checks that the way back on this page has its lines in the dialog of the opposite action, for these files.
    fn check_way_back(
        &self,
        visit: &Visit,
        page: &str,
        opposite: &str,
        names: &[&str],
    ) -> Result<()> {
        let toast = page.split("data-toast").nth(1).context("no toast")?;
        let toast = toast.split("data-dismiss").next().context("no end")?;
        let mut dialogs = values(toast, "href");
        dialogs.retain(|link| link.contains("ask="));
        ensure!(dialogs.len() == 1, "{toast}");
        let dialog = self.page(visit, &dialogs[0])?;
        let lines = values(&dialog, "data-copy");
        let begin = format!("reelyard files {opposite} ");
        let line = lines.iter().find(|line| line.starts_with(&begin)).context("no line")?;
        ensure!(names.iter().all(|name| line.contains(name)), "{line}");
        ensure!(self.check_shown_lines(visit, &dialogs)? >= 2);
        Ok(())
    }

    /// The rows of a list of the API.
    fn items(&self, path: &str) -> Result<Vec<Value>> {
        let answer = self.curl(&["-H", &self.ground.bearer(), path])?;
        let body: Value = serde_json::from_str(&answer.body)?;
        Ok(body["items"].as_array().with_context(|| format!("{path}: {body}"))?.clone())
    }
}

/// The value of an attribute, with the letters that entities of HTML stand for.
fn value(text: &str, start: &str) -> Option<String> {
    let found = text.split(start).nth(1)?.split('"').next()?;
    Some(found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

const NOTHING: fn() -> Result<()> = || Ok(());

#[test]
fn all_that_match_are_acted_on_and_refusals_are_pages() -> Result<()> {
    let yard = ConsoleYard::start()?;
    a_refusal_is_a_page_in_the_language_of_the_visitor(&yard)?;
    all_files_that_match_are_pinned_unless_they_changed_meanwhile(&yard)?;
    all_links_tasks_and_hosts_that_match_are_acted_on(&yard)
}

fn all_files_that_match_are_pinned_unless_they_changed_meanwhile(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("ops", "operator")?;
    let ask = "/console/files?q=mpg&ask=pin&all=true";
    // Another person pins one of them while the dialog is open: the others are pinned.
    let other = || yard.post(&visit, "/console/files/alpha.mpg/pin", &[]).map(drop);
    let changed = yard.confirm(&visit, ask, &["Pin 3 files?", "29.3 KiB", "alpha.mpg"], other)?;
    let gone = "Pinned: 2. Left out, because they no longer match: 1.";
    assert!(changed.contains(gone), "{changed}");
    // A file that the dialog did not count stops everything.
    yard.post(&visit, "/console/files/beta%20gamma.mpg/unpin", &[])?;
    yard.post(&visit, "/console/files/alpha.mpg/unpin", &[])?;
    let left_out = "Left out, because they are pinned already: 1 file.";
    let other = || {
        yard.post(
            &visit,
            &format!("/console/files/{}/unpin", "%3Cscript%3Ealert(1)%3Cb%3E.mpg"),
            &[],
        )
        .map(drop)
    };
    let changed = yard.confirm(&visit, ask, &["Pin 2 files?", left_out], other)?;
    assert!(changed.contains("Nothing was done.") && changed.contains("3 in all"), "{changed}");
    assert_eq!(yard.items("/api/v1/pins")?.len(), 0);
    let pinned = yard.confirm(&visit, ask, &["Pin 3 files?"], NOTHING)?;
    assert!(pinned.contains("Pinned: 3"), "{pinned}");
    let pins = yard.items("/api/v1/pins")?;
    let names: Vec<&str> = pins.iter().filter_map(|pin| pin["name"].as_str()).collect();
    assert_eq!((names.len(), names.contains(&FILES[2])), (3, true), "{names:?}");
    // Only the filter decides, not the rows of the page.
    let one = "/console/files?q=gamma&ask=unpin&all=true";
    yard.confirm(&visit, one, &["Unpin 1 file?"], NOTHING)?;
    assert_eq!(yard.items("/api/v1/pins")?.len(), 2);

    // An action that changed nothing offers no way back.
    let alpha = "/console/files/alpha.mpg";
    let undo = format!("formaction=\"{alpha}/unpin\"");
    let again = yard.post_and_look(&visit, &format!("{alpha}/pin"), &[])?;
    let none = "Pinned: 0. Left out, because they are pinned already: 1 file.";
    assert!(again.contains(none) && !again.contains(&undo), "{again}");
    yard.post_and_look(&visit, &format!("{alpha}/unpin"), &[])?;
    let first = yard.post_and_look(&visit, &format!("{alpha}/pin"), &[])?;
    assert!(first.contains("Pinned: 1") && first.contains(&undo), "{first}");
    yard.check_way_back(&visit, &first, "unpin", &FILES[..1])?;

    // Picked files that are pinned already are left out, as among all that match.
    let ask = "/console/files?ask=pin&pick=alpha.mpg&pick=beta%2520gamma.mpg";
    let says = ["Pin 1 file?", "Left out, because they are pinned already: 1 file."];
    let pinned = yard.confirm(&visit, ask, &says, NOTHING)?;
    assert!(pinned.contains("Pinned: 1"), "{pinned}");
    let in_vain = yard.page(&visit, ask)?;
    assert!(in_vain.contains("Nothing is left to act on"), "{in_vain}");
    let ask = ask.replace("ask=pin", "ask=unpin");
    let other = || yard.post(&visit, &format!("{alpha}/unpin"), &[]).map(drop);
    let unpinned = yard.confirm(&visit, &ask, &["Unpin 2 files?"], other)?;
    let one = "No longer pinned: 1. Left out, because they are not pinned: 1 file.";
    assert!(unpinned.contains(one), "{unpinned}");

    // The way back of an action on several files leaves out those that it did not change.
    let several: Vec<String> =
        ["alpha.mpg", "beta%20gamma.mpg"].map(|name| format!("pick={name}")).into();
    let several: Vec<&str> = several.iter().map(String::as_str).collect();
    let pinned = yard.post_and_look(&visit, "/console/file-actions/pin", &several)?;
    let undo = value(pinned.split("data-toast").nth(1).context("no toast")?, "formaction=\"");
    let undo = undo.context("no way back")?;
    yard.check_way_back(&visit, &pinned, "unpin", &FILES[..2])?;
    assert!(undo.contains("alpha.mpg") && undo.contains("gamma.mpg"), "{undo}");
    let unpinned = yard.post_and_look(&visit, &undo, &[])?;
    assert!(unpinned.contains("No longer pinned: 2"), "{unpinned}");
    yard.check_way_back(&visit, &unpinned, "pin", &FILES[..2])
}

fn all_links_tasks_and_hosts_that_match_are_acted_on(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("ops", "operator")?;
    // The choice of a lifetime counts while the field beside it is empty.
    for (owner, lifetime) in [("press", "preset=1h"), ("press", "ttl=2h"), ("shop", "preset=1d")] {
        let owner = format!("owner={owner}");
        let fields = ["path=movies/alpha.mpg", &owner, lifetime];
        let made = yard.post(&visit, "/console/shares/new", &fields)?;
        assert_eq!(made.status, 200, "{}", made.body);
    }
    let bar = yard.page(&visit, "/console/shares?q=press")?;
    assert!(bar.contains("2 in all") || bar.contains("1–2 of 2"), "{bar}");
    let ask = "/console/shares?q=press&ask=revoke&all=true";
    let revoked = yard.confirm(&visit, ask, &["Revoke 2 links?", "movies/alpha.mpg"], NOTHING)?;
    assert!(revoked.contains("Links revoked: 2"), "{revoked}");
    let left = yard.items("/api/v1/shares")?;
    assert_eq!((left.len(), &left[0]["owner"]), (1, &json!("shop")));
    let looked = yard.page(&visit, "/console/shares?new=true&path=movies/alpha.mpg")?;
    assert!(looked.contains("It is there: 9.8 KiB"), "{looked}");
    let absent = yard.page(&visit, "/console/shares?new=true&path=movies/absent.mpg")?;
    assert!(absent.contains("movies/absent.mpg&quot;: the file or directory does not"), "{absent}");

    // Another person revoked it first. A copy that ended is not dropped from the list by "Cancel".
    let [last] = &left[..] else { anyhow::bail!("{left:?}") };
    let pick = format!("pick={}", last["id"].as_str().context("no id")?);
    let both = yard.page(&visit, &format!("/console/shares?ask=revoke&{pick}&pick=absent"))?;
    let gone = "Links that have ended or do not exist: absent";
    assert!(both.contains("data-dialog") && both.contains(gone), "{both}");
    let twice = ["revoke", "revoke"].map(|action| {
        yard.post_and_look(&visit, &format!("/console/share-actions/{action}"), &[&pick])
    });
    let [once, again] = twice;
    assert!(once?.contains("Links revoked: 1"));
    let again = again?;
    assert!(
        again.contains("Nothing was done.") && again.contains("links that had ended before"),
        "{again}"
    );
    let tasks = yard.items("/api/v1/tasks")?;
    let id = tasks[0]["id"].as_str().context("no task")?;
    let late = yard.post_and_look(&visit, &format!("/console/tasks/{id}/cancel"), &[])?;
    assert!(
        late.contains("Nothing was done.") && late.contains("has ended already: done"),
        "{late}"
    );
    // Among several picked copies, an ended one does not hold up the others.
    let picks = tasks.iter().take(2).map(|task| task["id"].as_str().context("no task"));
    let picks: Vec<String> = picks.map(|id| Ok(format!("pick={}", id?))).collect::<Result<_>>()?;
    let picks: Vec<&str> = picks.iter().map(String::as_str).collect();
    let late = yard.post_and_look(&visit, "/console/task-actions/cancel", &picks)?;
    let left_out = "Copies cancelled: 0. Left out, because they have ended: 2 tasks.";
    assert!(late.contains(left_out), "{late}");
    assert_eq!(yard.items("/api/v1/tasks")?.len(), tasks.len());

    // Nothing is to be cancelled or retried, and the dialog says why.
    let cancel = yard.page(&visit, "/console/tasks?q=mpg&ask=cancel&all=true")?;
    assert!(cancel.contains("Nothing is left to act on"), "{cancel}");
    assert!(cancel.contains("Left out, because they have ended: 3 tasks."), "{cancel}");
    let retry = yard.page(&visit, "/console/tasks?ask=retry&pick=1&pick=2")?;
    assert!(!retry.contains("data-dialog"), "tasks that do not exist: {retry}");
    // A dialog for things that are gone: the page says so.
    let link = format!("/console/shares?ask=revoke&{pick}");
    for (path, gone) in [
        ("/console/tasks?ask=retry&pick=1&pick=2", "Tasks that do not exist: 1, 2"),
        (link.as_str(), "Links that have ended or do not exist: "),
        ("/console/hosts?ask=drain&pick=10.9.9.9:1", "Hosts that are not in the yard: 10.9.9.9:1"),
        ("/console/boxes?ask=revoke&lease=77", "A lease that has ended or does not exist: 77"),
    ] {
        let page = yard.page(&visit, path)?;
        let has_words = page.contains(gone) && page.contains("Choose from the list on this page.");
        assert!(has_words && !page.contains("data-dialog"), "{path}: {page}");
    }
    // Beside things that exist, the dialog names those that do not.
    let host = yard.ground.destination(0).to_string();
    for (path, gone) in [
        (format!("/console/tasks?ask=retry&pick={id}&pick=1"), "Tasks that do not exist: 1<"),
        (
            format!("/console/hosts?ask=drain&pick={host}&pick=10.9.9.9:1"),
            "Hosts that are not in the yard: 10.9.9.9:1",
        ),
        (
            "/console/files?ask=pin&pick=alpha.mpg&pick=a%2Fb".to_owned(),
            "These are no names of files: a/b",
        ),
    ] {
        let page = yard.page(&visit, &path)?;
        assert!(page.contains("data-dialog") && page.contains(gone), "{path}: {page}");
    }
    let plain = yard.page(&visit, "/console/shares?ask=revoke")?;
    assert!(!plain.contains("Links that have ended"), "{plain}");

    let ask = format!("/console/hosts?q={host}&role=destination&ask=maintenance&all=true");
    let moved = yard.confirm(&visit, &ask, &["1 host", "3 files"], NOTHING)?;
    assert!(moved.contains("In maintenance: 1"), "{moved}");
    let mode = || {
        let hosts = yard.items("/api/v1/hosts").ok()?;
        let found = hosts.iter().find(|one| one["host"] == host.as_str())?;
        (found["mode"] == "maintenance").then_some(())
    };
    wait_for("the mode", &[&yard.node], mode)?;
    Ok(())
}

/// Waits until the node shows a host in this mode.
fn mode_of(yard: &ConsoleYard, host: &str, wanted: &str) -> Result<()> {
    wait_for("the mode", &[&yard.node], || {
        let hosts = yard.items("/api/v1/hosts").ok()?;
        let found = hosts.iter().find(|one| one["host"] == host)?;
        (found["mode"] == wanted).then_some(())
    })
}

#[test]
fn a_refused_copy_does_not_hold_up_the_others() -> Result<()> {
    let files = ["one.mpg", "two.mpg", "three.mpg"];
    // Otherwise a copy that was cancelled may be planned again before it is retried.
    let settings =
        [("heartbeat.interval", "1s"), ("heartbeat.down_after", "3"), ("task.mode", "off")];
    let (mut yard, _disks) = ConsoleYard::start_empty(&files, 1 << 20, &settings)?;
    let visit = yard.visit("ops", "operator")?;
    let [up, down] = [0, 1].map(|number| yard.ground.destination(number).to_string());
    // Workers that are stopped begin no copy, so that the copies are still open when they are cancelled.
    yard.pause_destinations(true)?;
    let mut picks = Vec::new();
    for (file, host) in files.iter().zip([&down, &up, &up]) {
        let wanted = json!({ "name": file, "destination": host });
        let begun = yard.post_api("/api/v1/tasks", &yard.ground.bearer(), &wanted)?;
        picks.push(format!("pick={}", begun["task"].as_str().context("no task")?));
    }
    let picks: Vec<&str> = picks.iter().map(String::as_str).collect();
    let ended = yard.post_and_look(&visit, "/console/task-actions/cancel", &picks)?;
    assert!(ended.contains("Copies cancelled: 3"), "{ended}");
    yard.pause_destinations(false)?;
    yard.stop_destination();
    wait_for("one is down and one is up", &[&yard.node], || {
        let health = |host: &str| {
            let answer =
                yard.curl(&["-H", &yard.ground.bearer(), &format!("/api/v1/hosts/{host}")]);
            let view: Value = serde_json::from_str(&answer.ok()?.body).ok()?;
            view["health"].as_str().map(str::to_owned)
        };
        (health(&up)? == "up" && health(&down)? == "down").then_some(())
    })?;
    let retried = yard.post_and_look(&visit, "/console/task-actions/retry", &picks)?;
    // A worker may have carried out an order that was cancelled while the worker was stopped.
    let is_tried =
        retried.contains("Copies begun again: 2") || retried.contains("it holds the file");
    assert!(is_tried && retried.contains("Left out, because the node refused them"), "{retried}");
    assert!(retried.contains(&format!("{down}: it is not up")), "{retried}");
    wait_for("the copies", &[&yard.node], || {
        files[1..].iter().all(|file| yard.ground.copies(0).join(file).is_file()).then_some(())
    })?;
    // The rows of the audit name the action, and each object finds its row.
    let found = |query: &str| yard.items(&format!("/api/v1/audit?{query}"));
    for (operation, subject) in [
        ("console.cancelTasks", picks[2].trim_start_matches("pick=")),
        ("console.retryTasks", picks[0].trim_start_matches("pick=")),
    ] {
        let query = format!("operation={operation}&subject={subject}");
        wait_for(operation, &[&yard.node], || (found(&query).ok()?.len() == 1).then_some(()))?;
    }
    Ok(())
}

#[test]
fn copies_share_two_destinations_and_hosts_are_chosen_by_a_filter() -> Result<()> {
    let files = ["one.mpg", "two.mpg", "three.mpg", "four.mpg"];
    let (yard, _disks) = ConsoleYard::start_empty(&files, 4 << 20, &[])?;
    let visit = yard.visit("ops", "operator")?;
    let ask = "/console/files?ask=copy&all=true";
    let has_files = || yard.page(&visit, ask).ok()?.contains("Copy 4 files now?").then_some(());
    wait_for("the files of the ranking", &[&yard.node], has_files)?;
    let begun = yard.confirm(&visit, ask, &["4 files"], NOTHING)?;
    assert!(begun.contains("Copies begun: 4"), "{begun}");
    let held = |number| {
        let names = files.map(|name| yard.ground.copies(number).join(name));
        names.iter().filter(|copy| copy.is_file()).count()
    };
    let split = || (held(0) + held(1) == 4).then(|| (held(0), held(1)));
    // Each copy takes room, so the next one goes to the other destination.
    assert_eq!(wait_for("the copies", &[&yard.node], split)?, (2, 2));
    wait_for("the node knows the copies", &[&yard.node], || {
        let hosts = yard.items("/api/v1/hosts?role=destination").ok()?;
        hosts.iter().all(|host| host["files"] == 2).then_some(())
    })?;

    let [first, second] = [0, 1].map(|number| yard.ground.destination(number).to_string());
    let put = |host: &str| {
        let path = format!("/console/hosts/{host}/maintenance");
        ensure!(yard.post(&visit, &path, &[])?.status == 303);
        Ok(())
    };
    let ask = "/console/hosts?role=destination&ask=maintenance&all=true";
    let active = || {
        ensure!(yard.post(&visit, &format!("/console/hosts/{first}/active"), &[])?.status == 303);
        Ok(())
    };
    put(&first)?;
    mode_of(&yard, &first, "maintenance")?;
    let changed = yard.confirm(&visit, ask, &["1 host", "2 files"], active)?;
    assert!(changed.contains("Nothing was done."), "{changed}");
    put(&first)?;
    let mode = |host: &str, wanted: &str| mode_of(&yard, host, wanted);
    mode(&first, "maintenance")?;
    mode(&second, "active")?;
    let left_out = "Left out";
    let moved = yard.confirm(&visit, ask, &["1 host", left_out, &second], NOTHING)?;
    assert!(moved.contains("In maintenance: 1"), "{moved}");
    mode(&second, "maintenance")?;

    // A form with a digest is for the rows of its filter. Picked rows beside it do not count.
    let source = yard.ground.source(0).to_string();
    let pick = format!("pick={source}");
    let fields = ["filter=role=destination", "chosen=0", pick.as_str()];
    let forged = yard.post_and_look(&visit, "/console/host-actions/drain", &fields)?;
    assert!(forged.contains("Nothing was done."), "{forged}");
    mode(&source, "active")?;
    Ok(())
}

#[test]
fn the_second_of_two_people_and_an_ended_session_change_nothing() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let (first, second) = (yard.visit("one", "operator")?, yard.visit("two", "operator")?);
    let host = yard.ground.destination(0).to_string();
    let mode = |wanted: &str| {
        wait_for("the mode", &[&yard.node], || {
            let hosts = yard.items("/api/v1/hosts").ok()?;
            let found = hosts.iter().find(|one| one["host"] == host.as_str())?;
            (found["mode"] == wanted).then_some(())
        })
    };
    let ask = |action: &str| format!("/console/hosts?ask={action}&pick={host}");
    let drain = || {
        let path = format!("/console/hosts/{host}/drain");
        ensure!(yard.post(&first, &path, &[])?.status == 303);
        wait_for("the row of the audit", &[&yard.node], || {
            let rows = yard.items("/api/v1/audit").ok()?;
            rows.iter().any(|row| row["subject"] == format!("host {host}")).then_some(())
        })?;
        mode("draining")
    };
    let refused = yard.confirm(&second, &ask("maintenance"), &["1 host"], drain)?;
    assert!(refused.contains("Nothing was done."), "{refused}");
    let who = "is draining now, but the page showed active: one changed it";
    assert!(refused.contains(who), "{refused}");
    let korean = format!("{}; reelyard_language=ko", second.cookie);
    let korean = Visit { cookie: korean, csrf: second.csrf.clone() };
    let refused = yard.confirm(&korean, &ask("reset"), &[], || {
        ensure!(yard.post(&first, &format!("/console/hosts/{host}/active"), &[])?.status == 303);
        mode("active")
    })?;
    assert!(refused.contains("현재 운영, 페이지 표시 비우는 중"), "{refused}");
    ensure!(yard.post(&first, &format!("/console/hosts/{host}/drain"), &[])?.status == 303);
    mode("draining")?;

    // The way back of an activation, and the button of a page from before, leave the change of another person.
    let page = yard.page(&second, &format!("/console/hosts/{host}"))?;
    let activate = value(&page, &format!("formaction=\"/console/hosts/{host}/active"));
    let activate = format!("/console/hosts/{host}/active{}", activate.context("no button")?);
    let activated = yard.post_and_look(&second, &activate, &[])?;
    let toast = activated.split("data-toast").nth(1).context("no toast")?;
    let undo = value(toast, "formaction=\"").context("no way back")?;
    ensure!(yard.post(&first, &format!("/console/hosts/{host}/maintenance"), &[])?.status == 303);
    mode("maintenance")?;
    for (late, shown) in [(&undo, "active"), (&activate, "draining")] {
        let refused = yard.post_and_look(&second, late, &[])?;
        let words = format!("is maintenance now, but the page showed {shown}");
        assert!(refused.contains(&words), "{late} lacks {words:?}: {refused}");
        mode("maintenance")?;
    }
    ensure!(yard.post(&first, &format!("/console/hosts/{host}/drain"), &[])?.status == 303);
    mode("draining")?;

    // The session ends while a dialog is open. The form does nothing, and the page says so.
    let csrf = format!("csrf_token={}", first.csrf);
    let out = yard.curl(&["-H", &first.cookie, "-d", &csrf, "/logout"])?;
    assert_eq!(out.status, 303, "{}", out.body);
    let from = format!("Referer: {}/console/hosts?q=a", yard.url());
    let active = format!("/console/hosts/{host}/active");
    let late = yard.curl(&["-H", &first.cookie, "-H", &from, "-d", &csrf, &active])?;
    assert_eq!(late.status, 401, "{}", late.head);
    assert!(late.body.contains("/login?next=%2Fconsole%2Fhosts%3Fq%3Da"), "{}", late.body);
    assert!(late.body.contains("Your session has ended"), "{}", late.body);
    assert!(late.body.contains("Nothing was done.") && late.body.contains("/login"));
    mode("draining")?;
    // The script of a page asks whether the session lasts, and what it loads leads to the sign-in.
    assert_eq!(yard.curl(&["-H", &first.cookie, "/console/session"])?.status, 401);
    let typed =
        yard.curl(&["-H", &first.cookie, "-H", "HX-Request: true", "/console/hosts?q=a"])?;
    let place = typed.header("hx-redirect").unwrap_or_default();
    assert_eq!((typed.status, place), (401, "/login?next=%2fconsole%2fhosts%3fq%3da"));
    assert_eq!(yard.curl(&["-H", &first.cookie, "/console/live/hosts"])?.status, 401);
    let lasts = yard.curl(&["-H", &second.cookie, "/console/session"])?;
    assert_eq!(lasts.status, 200, "{}", lasts.body);
    let lasts: Value = serde_json::from_str(&lasts.body)?;
    let page = yard.page(&second, "/console/hosts")?;
    let user = lasts["user"].as_str().context("no user")?;
    assert_eq!(lasts["csrf_token"], second.csrf.as_str());
    assert!(page.contains(&format!("data-user=\"{user}\"")), "{user}");
    Ok(())
}

fn a_refusal_is_a_page_in_the_language_of_the_visitor(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("eyes", "viewer")?;
    let korean = format!("{}; reelyard_language=ko; reelyard_theme=dark", visit.cookie);
    for (path, status, english, words) in [
        ("/console/hosts/127.0.0.1:1", 404, "There is nothing at this address", "이 주소에는"),
        ("/console/absent", 404, "There is nothing at this address", "이 주소에는"),
        ("/console/audit", 403, "You may not see or do this", "권한이 없습니다"),
    ] {
        let answer = yard.curl(&["-H", &visit.cookie, path])?;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert!(answer.body.contains(english), "{path}: {}", answer.body);
        let answer = yard.curl(&["-H", &korean, path])?;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert!(answer.body.contains(words) && answer.body.contains("lang=\"ko\""), "{path}");
        assert!(answer.body.contains("data-theme=\"dark\""), "{path}: {}", answer.body);
        assert!(answer.header("content-security-policy").is_some(), "{path}: {}", answer.head);
    }
    let forged = yard.curl(&["-H", &korean, "-d", "x=y", "/console/hosts/127.0.0.1:1/drain"])?;
    assert!(
        forged.status == 403 && forged.body.contains("이 세션의 양식이 아닙니다"),
        "{}",
        forged.body
    );
    // The sign-in does not show the name of the host to strangers.
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let sign_in = yard.curl(&["/login"])?.body;
    assert!(!name.is_empty() && !sign_in.contains(&name), "{sign_in}");
    let inside = yard.curl(&["-H", &visit.cookie, "/login"])?.body;
    assert!(inside.contains(&name), "{inside}");
    Ok(())
}
