//! `/console/find`: pages, hosts, files, tasks, links and pools with a text in their names.

use std::ops::ControlFlow;

use actix_web::{HttpRequest, HttpResponse, web};
use memchr::memmem::Finder;
use reelyard_access::rights::AccessScope;
use reelyard_console::address::{ROOT, encoded, host_page};
use reelyard_console::format::count;
use reelyard_console::frame::{NavPage, PageParts, may_open};
use reelyard_console::pages::boxes::BoxesPageQuery;
use reelyard_console::pages::files::FilesPageQuery;
use reelyard_console::pages::find::{self, FindHit, FindKind, FindPageModel, FindPageQuery};
use reelyard_console::text::{Language, Text, find as words, frame, plan};
use reelyard_console::{Viewer, ViewerRights};
use reelyard_core::host::{HostAddr, HostMode};
use reelyard_core::names::FileId;
use reelyard_shares::share_expiry::{Share, ShareLookup, UsesNeeded};

use crate::guide::CHAPTERS;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::pages::of_node::guide::guide_language;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::yard_model::recent::shown_name;

/// Hits of each kind.
const HITS: usize = 8;

/// The pages that can be found by their titles.
const PAGES: [NavPage; 14] = [
    NavPage::Yard,
    NavPage::Hosts,
    NavPage::Files,
    NavPage::Tasks,
    NavPage::Plan,
    NavPage::Map,
    NavPage::Shares,
    NavPage::Boxes,
    NavPage::History,
    NavPage::Audit,
    NavPage::Cluster,
    NavPage::Settings,
    NavPage::Access,
    NavPage::Guide,
];

/// `GET /console/find`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::YardRead)?;
    let query = FindPageQuery::parse(request.query_string());
    let text = query.q.trim();
    let mut hits = Vec::new();
    if !text.is_empty() {
        hits.extend(hosts(&state, text));
        hits.extend(pages(text, &visitor.viewer));
        if visitor.caller.0.rights.allow(&AccessScope::BoxesRead) {
            hits.extend(pools(&state, text));
        }
        let may_read_links = visitor.caller.0.rights.allow(&AccessScope::SharesRead);
        let (sought, language) = (text.to_owned(), visitor.viewer.language);
        let may_pin = visitor.viewer.rights.storage;
        let scan = move |state: &NodeHttpState| {
            let mut found = files(state, &sought, language);
            if may_pin {
                found.extend(pin_actions(state, &sought, language));
            }
            found.extend(tasks(state, &sought));
            if may_read_links {
                found.extend(links(state, &sought));
            }
            found
        };
        hits.extend(computed(&state, scan).await?);
    }
    hits.extend(actions(&state, text, &query.here, &visitor.viewer));
    let content = find::render(&query, &FindPageModel { hits }, &visitor.viewer);
    let title = frame::FIND_SHORT.of(visitor.viewer.language);
    let parts = PageParts::new(NavPage::Yard, title, content).beside();
    Ok(answer::page(&request, &state, &visitor, &parts))
}

fn hit(kind: FindKind, words: String, address: String) -> FindHit {
    FindHit { kind, words, remark: String::new(), address }
}

/// Hosts by a part of their addresses.
fn hosts(state: &NodeHttpState, text: &str) -> Vec<FindHit> {
    let present = state.actors.hosts.present();
    let names = present.keys().map(ToString::to_string).filter(|host| host.contains(text));
    names.take(HITS).map(|host| hit(FindKind::Host, host.clone(), host_page(&host))).collect()
}

/// Pools of boxes by a part of their names.
fn pools(state: &NodeHttpState, text: &str) -> Vec<FindHit> {
    let pools = state.actors.boxes.views.pools();
    let found = pools.iter().filter(|pool| pool.name.as_str().contains(text)).take(HITS);
    let shown = found.map(|pool| {
        let name = pool.name.to_string();
        let query = BoxesPageQuery { pool: name.clone(), ..BoxesPageQuery::default() };
        hit(FindKind::Pool, name, query.address())
    });
    shown.collect()
}

/// Pages of the console and chapters of the manual by a part of their titles.
fn pages(text: &str, viewer: &Viewer) -> Vec<FindHit> {
    let wanted = text.to_lowercase();
    let is_found = |title: &str| title.to_lowercase().contains(&wanted);
    let mut hits = Vec::new();
    for page in PAGES.into_iter().filter(|page| may_open(viewer, *page)) {
        let title = page.title().of(viewer.language);
        if is_found(title) {
            hits.push(hit(FindKind::Page, title.to_owned(), page.address()));
        }
    }
    let language = guide_language(viewer.language);
    for chapter in CHAPTERS.iter().filter(|chapter| is_found(chapter.title(language))) {
        let address = format!("{ROOT}/guide/{}", chapter.topic);
        hits.push(hit(FindKind::Page, chapter.title(language).to_owned(), address));
    }
    hits.truncate(HITS);
    hits
}

/// An action: its words, the address of its dialog, and whether the viewer may do it.
type PageAction = (Text, &'static str, fn(&ViewerRights) -> bool);

/// The actions that are for no host.
const ACTIONS: [PageAction; 6] = [
    (words::NEW_LINK, "/shares?new=true", |rights| rights.shares),
    (words::RETRY_ALL, "/tasks?ask=retry_all", |rights| rights.storage),
    (words::NEW_USER, "/access?ask=new-user", |rights| rights.admin),
    (words::NEW_TOKEN, "/access?ask=new-token", |rights| rights.admin),
    (words::INVITE_NODE, "/cluster?ask=invite", |rights| rights.admin),
    (words::RELOAD, "/settings", |rights| rights.config),
];

/// Actions that have each word of the text in their names. Without a text, those of the host whose page is `here`.
fn actions(state: &NodeHttpState, text: &str, here: &str, viewer: &Viewer) -> Vec<FindHit> {
    let sought: Vec<String> = text.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let has_all = |hit: &FindHit| {
        let words = hit.words.to_lowercase();
        sought.iter().all(|word| words.contains(word.as_str()))
    };
    let tasks = state.actors.task_views.load();
    let mut hits = Vec::new();
    if viewer.rights.storage {
        for host in tasks.hosts.iter().filter(|host| is_meant(host.host, &sought, here)) {
            let of_host = host_actions(host.host, host.record.mode, viewer);
            hits.extend(of_host.into_iter().filter(has_all));
            if hits.len() >= HITS {
                break;
            }
        }
    }
    if !sought.is_empty() {
        let allowed = ACTIONS.iter().filter(|(_, _, is_allowed)| is_allowed(&viewer.rights));
        let all = allowed.map(|(words, address, _)| {
            action(words.of(viewer.language).to_owned(), format!("{ROOT}{address}"))
        });
        hits.extend(all.filter(has_all));
    }
    hits.truncate(HITS);
    hits
}

/// Whether a word of the text is a part of the address of the host, or the host's page is open.
fn is_meant(host: HostAddr, sought: &[String], here: &str) -> bool {
    let host = host.to_string();
    here == host_page(&host) || sought.iter().any(|word| host.contains(word.as_str()))
}

/// The actions on a host in this mode.
fn host_actions(host: HostAddr, mode: HostMode, viewer: &Viewer) -> Vec<FindHit> {
    let modes: &[(Text, &str)] = match mode {
        HostMode::Active => &[(words::DRAIN, "drain"), (words::MAINTAIN, "maintenance")],
        HostMode::Draining | HostMode::Maintenance => &[(words::ACTIVATE, "active")],
    };
    let host = host.to_string();
    let all = modes.iter().chain(&[(words::TRUST, "reset")]);
    all.map(|(words, ask)| {
        let address = format!("{}?ask={ask}", host_page(&host));
        action(words.fill(viewer.language, &[("host", &host)]), address)
    })
    .collect()
}

fn action(words: String, address: String) -> FindHit {
    hit(FindKind::Action, words, address)
}

/// Pins and unpins of files, sought by the verb and a part of the name of the file.
fn pin_actions(state: &NodeHttpState, text: &str, language: Language) -> Vec<FindHit> {
    let removals = state.actors.remover_views.load();
    let catalog = state.actors.catalog_view.load();
    let mut hits = Vec::new();
    if let Some(part) = beside_verb(text, words::PIN, language)
        && let Some(ranking) = &catalog.ranking
    {
        let containing = state.names.containing(part.as_bytes());
        let is_meant =
            |file: &&FileId| containing.contains(file.0) && !removals.pins.contains_key(*file);
        let found = ranking.files().iter().filter(is_meant).take(HITS);
        hits.extend(found.map(|file| pin_action(state, *file, ("pin", words::PIN), language)));
    }
    if let Some(part) = beside_verb(text, words::UNPIN, language) {
        let containing = state.names.containing(part.as_bytes());
        let found = removals.pins.keys().filter(|file| containing.contains(file.0)).take(HITS);
        hits.extend(found.map(|file| pin_action(state, *file, ("unpin", words::UNPIN), language)));
    }
    hits
}

fn pin_action(
    state: &NodeHttpState,
    file: FileId,
    (ask, words): (&str, Text),
    language: Language,
) -> FindHit {
    let query = FilesPageQuery {
        ask: ask.to_owned(),
        pick: vec![state.names.name(file).to_percent()],
        ..FilesPageQuery::default()
    };
    let name = shown_name(&state.names, file).text;
    action(words.fill(language, &[("file", &name)]), query.address())
}

/// The rest of a text that has all words of an action before or behind the name of a file.
fn beside_verb(text: &str, action: Text, language: Language) -> Option<String> {
    let verb = action.fill(language, &[("file", "")]).to_lowercase();
    let mut rest: Vec<&str> = text.split_whitespace().collect();
    for word in verb.split_whitespace() {
        let place = rest.iter().position(|sought| sought.to_lowercase() == word)?;
        rest.remove(place);
    }
    (!rest.is_empty()).then(|| rest.join(" "))
}

/// Graded files by a part of their names, in the order of copies. The rank in grade.info distinguishes names that look
/// alike.
fn files(state: &NodeHttpState, text: &str, language: Language) -> Vec<FindHit> {
    let catalog = state.actors.catalog_view.load();
    let Some(ranking) = &catalog.ranking else { return Vec::new() };
    let containing = state.names.containing(text.as_bytes());
    let found = ranking.files().iter().filter(|file| containing.contains(file.0)).take(HITS);
    let shown = found.map(|file| {
        let name = shown_name(&state.names, *file);
        let rank = ranking.rank(*file);
        let remark =
            rank.map(|rank| plan::BY_RANK.fill(language, &[("n", &count(u64::from(rank)))]));
        FindHit {
            kind: FindKind::File,
            address: name.why_address(),
            words: name.text,
            remark: remark.unwrap_or_default(),
        }
    });
    shown.collect()
}

/// Copies by their numbers, or by a part of the names of their files.
fn tasks(state: &NodeHttpState, text: &str) -> Vec<FindHit> {
    let view = state.actors.task_views.load();
    let finder = Finder::new(text);
    let found =
        view.tasks().into_iter().rev().filter(|task| {
            task.id.to_string() == text || finder.find(task.name.as_bytes()).is_some()
        });
    let shown = found.take(HITS).map(|task| {
        let name = task.name.to_text().name;
        let address = format!("{ROOT}/tasks?q={}", encoded(&name));
        let remark = format!("{} → {}", task.source, task.destination);
        FindHit { kind: FindKind::Task, words: name, remark, address }
    });
    shown.collect()
}

/// Links by a part of their paths or owners.
fn links(state: &NodeHttpState, text: &str) -> Vec<FindHit> {
    let index = state.actors.share_views.index(UsesNeeded::Any, state.clock.timer());
    let mut hits = Vec::new();
    // A break only says that there are enough.
    let _ = index.visit_containing_until(text, |_, row| {
        // A link that ended a moment ago is left out.
        if let ShareLookup::Live(share) = state.actors.share_views.find(row.id) {
            hits.push(link(&share, text));
        }
        if hits.len() < HITS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    hits
}

/// A link whose path or owner contains the text. The remark names the owner if the path does not contain it.
fn link(share: &Share, text: &str) -> FindHit {
    let words = format!("{}/{}", share.root().as_str(), share.path().as_str());
    let owner = share.owner().filter(|_| !words.contains(text));
    let remark = owner.map(|owner| owner.as_str().to_owned()).unwrap_or_default();
    let address = format!("{ROOT}/shares/{}", encoded(&share.id().to_string()));
    FindHit { kind: FindKind::Share, words, remark, address }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_found_by_verb_and_part_of_a_name() {
        let english = |text: &str, action| beside_verb(text, action, Language::English);
        assert_eq!(english("pin film001", words::PIN).as_deref(), Some("film001"));
        assert_eq!(english("Film 1 PIN", words::PIN).as_deref(), Some("Film 1"));
        assert_eq!(english("unpin film001", words::UNPIN).as_deref(), Some("film001"));
        for other in ["film001", "pin", "unpin film001", "pinball"] {
            assert_eq!(english(other, words::PIN), None, "{other}");
        }
        let korean = beside_verb("film001 고정 해제", words::UNPIN, Language::Korean);
        assert_eq!(korean.as_deref(), Some("film001"));
    }
}
