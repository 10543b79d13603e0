//! Users, tokens and their secrets.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::console::console_yard::ConsoleYard;

pub(super) fn a_secret_is_shown_once_and_users_are_changed(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("boss", "admin")?;
    let made =
        yard.post(&visit, "/console/access/tokens/new", &["name=backup", "rights=viewer"])?;
    assert_eq!(made.status, 200, "{}", made.body);
    assert!(made.body.contains("The secret of backup"), "{}", made.body);
    assert!(made.header("set-cookie").is_none(), "{}", made.head);
    let page = yard.page(&visit, "/console/access")?;
    assert!(page.contains("backup") && !page.contains("The secret of backup"), "{page}");
    // One filter for users, tokens and sessions, as of the API.
    let shown = |name: &str| format!("&amp;name={name}\">Rotate");
    assert!(page.contains(&shown("backup")) && page.contains(&shown("boss")), "{page}");
    let page = yard.page(&visit, "/console/access?q=back")?;
    assert!(page.contains(&shown("backup")) && !page.contains(&shown("boss")), "{page}");
    assert!(page.contains("No name has “back” in it"), "{page}");
    assert!(page.contains("reelyard token list --contains=back"), "{page}");
    for (list, part, rows) in [("tokens", "back", 1), ("tokens", "zzz", 0), ("sessions", "oss", 1)]
    {
        let found = yard.read(&format!("/{list}?contains={part}"))?;
        assert_eq!(found["items"].as_array().map(Vec::len), Some(rows), "{list} {part}: {found}");
    }
    let rotated = yard.post(&visit, "/console/access/tokens/backup/rotate", &[])?;
    assert!(rotated.body.contains("The secret of backup"), "{}", rotated.body);
    assert_eq!(yard.post(&visit, "/console/access/tokens/backup/revoke", &[])?.status, 303);

    let new = "/console/access/users/new";
    let refused = yard.post(&visit, new, &["name=alice", "role=viewer", "password=short"])?;
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body.contains("value=\"alice\"") && !refused.body.contains("value=\"short\""));
    let fields = ["name=alice", "role=viewer", "password=a long password"];
    assert_eq!(yard.post(&visit, new, &fields)?.status, 303);
    let user = |key: &str| -> Result<Value> {
        let users = yard.read("/users")?;
        let items = users["items"].as_array().context("no users")?;
        let alice = items.iter().find(|user| user["name"] == "alice").context("no alice")?;
        Ok(alice[key].clone())
    };
    let change = |action: &str| format!("/console/access/users/alice/{action}");
    assert_eq!(yard.post(&visit, &change("role"), &["role=operator"])?.status, 303);
    assert_eq!(user("role")?, "operator");
    // Users are filtered by name, and each list is sorted by its columns.
    let asked = |name: &str| format!("&amp;name={name}\"");
    for (part, is_shown) in [("lic", true), ("zzz", false)] {
        let page = yard.page(&visit, &format!("/console/access?q={part}"))?;
        assert_eq!(page.contains(&asked("alice")), is_shown, "{part}: {page}");
        let found = yard.read(&format!("/users?contains={part}"))?;
        assert_eq!(found["items"] != json!([]), is_shown, "{part}: {found}");
    }
    let fields = ["name=zoe", "role=viewer", "password=a long password"];
    assert_eq!(yard.post(&visit, new, &fields)?.status, 303);
    for (sort, is_first) in [("", true), ("?users_sort=-name", false), ("?users_sort=role", false)]
    {
        let page = yard.page(&visit, &format!("/console/access{sort}"))?;
        let [alice, zoe] = ["alice", "zoe"].map(|name| page.find(&asked(name)));
        assert_eq!(alice < zoe, is_first, "{sort}: {page}");
    }
    for path in ["/console/access?tokens_sort=-role", "/console/access?sessions_sort=used"] {
        assert!(yard.page(&visit, path)?.contains("aria-sort=\"ascending\""), "{path}");
    }
    // The audit is sorted by the same rule, oldest first too.
    let oldest = yard.page(&visit, "/console/audit?sort=when")?;
    assert!(oldest.contains("oldest first"), "{oldest}");
    let rows = yard.page(&visit, "/console/audit?sort=-object&reports=true")?;
    let at = |object: &str| rows.find(&format!("<bdi>{object}</bdi>"));
    assert!(at("user zoe").is_some() && at("user zoe") < at("user alice"), "{rows}");
    assert_eq!(yard.post(&visit, &change("disable"), &[])?.status, 303);
    assert_eq!(user("disabled")?, true);
    assert_eq!(yard.post(&visit, &change("enable"), &[])?.status, 303);
    assert_eq!(user("disabled")?, false);
    assert_eq!(yard.post(&visit, &change("remove"), &[])?.status, 303);
    assert!(user("role").is_err());
    Ok(())
}
