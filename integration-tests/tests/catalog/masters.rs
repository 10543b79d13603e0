//! The Catalog and the source directories: listings and lookups of single masters.

use std::fs;

use reelyard_core::names::FileId;
use reelyard_integration_tests::rigs::catalog::catalog_input::grade_info;
use reelyard_integration_tests::rigs::catalog::catalog_yard::CatalogYard;
use reelyard_yard::catalog::MasterLook;

fn yard() -> CatalogYard {
    CatalogYard::start(|dir, settings| {
        settings.hitcount_history_file = None;
        settings.event_log = None;
        fs::write(dir.join("grade.info"), grade_info(["A"])).unwrap();
    })
}

fn listed(yard: &CatalogYard) -> Vec<String> {
    let view = yard.view.load();
    let masters = view.masters.as_ref().unwrap();
    let mut names = yard.names_of(masters.files.iter().map(FileId));
    names.sort();
    names
}

#[actix::test]
async fn masters_of_all_directories_are_listed_and_reported_when_they_change() {
    let yard = yard();
    fs::write(yard.path("one/A"), "1").unwrap();
    fs::write(yard.path("two/A"), "22").unwrap();
    fs::write(yard.path("two/B"), "").unwrap();
    fs::create_dir(yard.path("two/C")).unwrap();
    yard.look().await.unwrap();
    assert_eq!(listed(&yard), ["A", "B"]);
    assert!(yard.look().await.unwrap().is_nothing());
    fs::remove_file(yard.path("two/B")).unwrap();
    fs::remove_file(yard.path("two/A")).unwrap();
    assert_eq!(yard.look().await.unwrap().masters.len(), 1);
    assert_eq!(listed(&yard), ["A"]);
    assert!(yard.view.load().ready, "{:?}", yard.view.load().problems);
}

#[actix::test]
async fn many_look_ups_at_once_wait_for_each_other() {
    let yard = yard();
    fs::write(yard.path("one/A"), "1").unwrap();
    let looks = futures::future::join_all((0..64).map(|_| yard.look_up("A"))).await;
    for look in looks {
        assert!(matches!(look, Ok(MasterLook::Found { .. })), "{look:?}");
    }
}

#[actix::test]
async fn the_first_directory_that_has_the_master_wins() {
    let yard = yard();
    fs::write(yard.path("two/A"), "22").unwrap();
    yard.look().await.unwrap();
    let dir_of = |look| match look {
        MasterLook::Found { dir, size, .. } => (dir.ends_with("/one"), size),
        other => panic!("{other:?}"),
    };
    assert_eq!(dir_of(yard.look_up("A").await.unwrap()), (false, 2));
    let shown = |name: &str| {
        let file = yard.names.find(name.as_bytes()).unwrap();
        yard.view.load().master_sizes.get(file)
    };
    assert_eq!(shown("A"), Some(2), "the published state shows the size");
    fs::write(yard.path("one/A"), "1").unwrap();
    assert_eq!(dir_of(yard.look_up("A").await.unwrap()), (true, 1));
    assert_eq!(shown("A"), Some(1));
    assert_eq!(yard.look_up("B").await.unwrap(), MasterLook::Absent);
}

#[actix::test]
async fn a_directory_that_is_gone_proves_nothing() {
    let yard = yard();
    fs::write(yard.path("one/A"), "1").unwrap();
    yard.look().await.unwrap();
    fs::rename(yard.path("one"), yard.path("elsewhere")).unwrap();
    yard.look().await.unwrap();
    let view = yard.view.load();
    assert!(!view.ready);
    assert_eq!(view.masters.as_ref().unwrap().unlisted.len(), 1);
    // The result of its last good listing is still valid.
    assert_eq!(listed(&yard), ["A"]);
    assert_eq!(yard.look_up("A").await.unwrap(), MasterLook::Unknown);

    fs::rename(yard.path("elsewhere"), yard.path("one")).unwrap();
    yard.look().await.unwrap();
    assert!(yard.view.load().ready);
}
