//! Pools, leases and boxes over the API of a real node.

use anyhow::Result;
use reelyard_integration_tests::probes::event_reader::EventReader;
use reelyard_integration_tests::rigs::boxes::box_node::{BoxNode, path_of};
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::{Value, json};

const NO_LEASE: &str = "/leases/AAAAAAAAAAAAAAAAAAAAAA";

fn token(lease: &Value) -> u64 {
    lease["token"].as_u64().unwrap()
}

#[test]
fn a_pool_is_created_changed_listed_and_removed() -> Result<()> {
    let node = BoxNode::start(&[])?;
    let put = |spec: Value| node.ask("PUT", "/pools/p", Some(spec));
    let created = put(json!({ "size": 3, "first_id": 5, "ttl_default": "10s" }));
    assert_eq!((created.status, &created.body["boxes"]["free"]), (201, &json!(3)));
    assert_eq!(created.body["spec"]["ttl_default"], "10s");
    // The displayed specification can be put again.
    let again = put(created.body["spec"].clone());
    assert_eq!((again.status, &again.body), (200, &created.body));
    let lease = node.take("p", json!({ "holder": "a" }));
    assert_eq!(lease["box"], 5);

    // A smaller size drains: the leased box is removed after its release.
    let smaller = node.put("p", json!({ "size": 1, "first_id": 7 }));
    assert_eq!((&smaller["boxes"]["free"], &smaller["boxes"]["leased"]), (&json!(1), &json!(1)));
    let retiring = node.get("/pools/p/boxes/5").body;
    assert_eq!((&retiring["retiring"], &retiring["lease"]["holder"]), (&json!(true), &json!("a")));
    assert_eq!(node.with(&lease, "release").status, 200);
    assert_eq!(node.get("/pools/p/boxes/5").kind(), "no-box");

    for (spec, status, kind, words) in [
        (json!({ "size": 70_000 }), 422, "bad-pool", "at most 65536 boxes"),
        (json!({ "size": 1, "hooks": "x" }), 422, "bad-pool", "a pool without a host"),
        (json!({ "size": 1, "sise": 2 }), 400, "bad-body", "unknown field `sise`"),
        (json!({ "first_id": 1 }), 400, "bad-body", "missing field `size`"),
        (
            json!({ "size": 1, "ttl_max": "soon" }),
            400,
            "bad-body",
            "\\\"soon\\\" is not a duration",
        ),
    ] {
        let refused = put(spec);
        assert_eq!((refused.status, refused.kind()), (status, kind), "{refused:?}");
        assert!(refused.body.to_string().contains(words), "{refused:?}");
    }
    assert_eq!(node.ask("PUT", "/pools/a%20b", Some(json!({ "size": 1 }))).kind(), "bad-request");

    for name in ["q", "r"] {
        node.put(name, json!({ "size": 1 }));
    }
    let page = node.get("/pools?limit=2").body;
    let names = |page: &Value| {
        let pools = page["items"].as_array().unwrap();
        pools.iter().map(|pool| pool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&page), ["p", "q"]);
    let next = page["next"].as_str().unwrap();
    assert_eq!(names(&node.get(&format!("/pools?cursor={next}")).body), ["r"]);

    let lease = node.take("q", json!({ "holder": "a" }));
    assert_eq!(node.ask("DELETE", "/pools/r", None).body, json!({ "gone": true }));
    let going = node.ask("DELETE", "/pools/q", None);
    assert_eq!((going.status, &going.body), (202, &json!({ "gone": false })));
    assert_eq!(node.post("/pools/q/leases", json!({ "holder": "b" })).kind(), "pool-goes");
    assert_eq!(node.with(&lease, "release").status, 200);
    for (method, path) in [
        ("GET", "/pools/q"),
        ("DELETE", "/pools/q"),
        ("POST", "/pools/q/recheck"),
        ("GET", "/pools/none/leases"),
        ("GET", "/pools/none/boxes"),
        ("GET", "/pools/none/audit"),
    ] {
        let absent = node.ask(method, path, None);
        assert_eq!((absent.status, absent.kind()), (404, "no-pool"), "{method} {path}");
    }
    // The audit history of the pool remains, and its tokens continue.
    assert_eq!(node.get("/pools/q/audit").body["items"][0]["state"], "released");
    node.put("q", json!({ "size": 1 }));
    assert_eq!(token(&node.take("q", json!({ "holder": "a" }))), token(&lease) + 1);
    let revoked = node.ask("DELETE", "/pools/q?revoke=true", None);
    assert_eq!(revoked.status, 202, "its grace is not over: {revoked:?}");
    Ok(())
}

#[test]
fn a_repeated_change_gets_its_first_answer_under_its_id() -> Result<()> {
    let node = BoxNode::start(&[])?;
    let lease = {
        node.put("held", json!({ "size": 1, "grace": "0s" }));
        node.take("held", json!({ "holder": "a" }))
    };
    node.put("free", json!({ "size": 1 }));
    let released = node.take("free", json!({ "holder": "a" }));
    let token = json!({ "token": released["token"] });
    let user = json!({ "name": "u", "role": "viewer" });
    let changes = [
        ("PUT", "/pools/p".to_owned(), Some(json!({ "size": 2 })), 201),
        ("POST", "/pools/p/boxes/1/quarantine".to_owned(), Some(json!({ "reason": "slow" })), 200),
        ("POST", "/pools/p/boxes/1/unquarantine".to_owned(), None, 200),
        ("POST", path_of(&lease, "revoke"), Some(json!({ "reason": "slow" })), 200),
        ("DELETE", "/pools/held?revoke=true".to_owned(), None, 200),
        ("DELETE", "/pools/p".to_owned(), None, 200),
        ("POST", "/users".to_owned(), Some(user), 201),
        ("DELETE", "/users/u".to_owned(), None, 204),
        ("PUT", "/hosts/10.9.8.7:8888".to_owned(), Some(json!({ "role": "destination" })), 200),
        ("DELETE", "/hosts/10.9.8.7:8888".to_owned(), None, 200),
        ("PUT", "/files/film/pin?force=true".to_owned(), None, 200),
        ("DELETE", "/files/film/pin".to_owned(), None, 200),
    ];
    for (number, (method, path, body, status)) in changes.into_iter().enumerate() {
        let id = format!("Idempotency-Key: change-{number}");
        let ask = |id: &str| node.ask_with(method, &path, body.clone(), &["-H", id]);
        let (first, again) = (ask(&id), ask(&id));
        assert_eq!(first.status, status, "{method} {path}: {first:?}");
        assert_eq!((again.status, again.body), (status, first.body), "{method} {path}");
        // Without an id it is another request.
        if method == "DELETE" && !path.ends_with("pin") {
            assert_eq!(node.ask(method, &path, None).status, 404, "{path}");
        }
    }
    // A lease knows of its release.
    let release = path_of(&released, "release");
    assert_eq!(node.ask("POST", &release, Some(token.clone())).status, 200);
    let again = node.ask("POST", &release, Some(token.clone()));
    assert_eq!((again.status, again.kind()), (410, "lease-released"));
    let repeated = node.ask_with("POST", &release, Some(token), &["-H", "Reelyard-Repeated: true"]);
    assert_eq!((repeated.status, &repeated.body["state"]), (200, &json!("released")));
    node.put("p", json!({ "size": 1 }));
    let other = node.ask_with(
        "PUT",
        "/pools/p",
        Some(json!({ "size": 3 })),
        &["-H", "Idempotency-Key: change-0"],
    );
    assert_eq!(other.body["spec"]["size"], 3, "another change under an id is made");
    // The id belongs to its caller and not to a call.
    let long = format!("Idempotency-Key: {}", "x".repeat(201));
    let refused = node.ask_with("DELETE", "/pools/p", None, &["-H", &long]);
    assert_eq!((refused.status, refused.kind()), (400, "bad-request"));
    // A box is granted once under the id in the header.
    let grant = || {
        let wanted = json!({ "holder": "h" });
        node.ask_with("POST", "/pools/p/leases", Some(wanted), &["-H", "Idempotency-Key: l"]).body
    };
    let granted = grant();
    assert_eq!(granted["lease_id"], grant()["lease_id"]);
    // That id belongs to its caller. The one in the body belongs to the pool.
    let other = node.take("p", json!({ "holder": "h", "request_id": "l" }));
    assert_ne!(granted["lease_id"], other["lease_id"]);
    Ok(())
}

#[test]
fn late_repeated_and_foreign_calls_are_distinguished_and_change_nothing() -> Result<()> {
    let node = BoxNode::start(&[])?;
    node.put("p", json!({ "size": 4, "ttl_max": "1h", "grace": "0s" }));
    let held = node.take("p", json!({ "holder": "a", "ttl": "10m" }));
    let verified = node.with(&held, "verify");
    assert_eq!((verified.status, &verified.body["holder"]), (200, &json!("a")));
    assert_eq!((&verified.body["pool"], &verified.body["box"]), (&json!("p"), &held["box"]));
    for what in ["renew", "release", "verify"] {
        let foreign = node.post(&path_of(&held, what), json!({ "token": token(&held) + 1 }));
        assert_eq!((foreign.status, foreign.kind()), (409, "wrong-token"), "{what}");
        let unknown = node.post(&format!("{NO_LEASE}/{what}"), json!({ "token": 1 }));
        assert_eq!((unknown.status, unknown.kind()), (404, "unknown-lease"), "{what}");
        let no_id = node.post(&format!("/leases/x/{what}"), json!({ "token": 1 }));
        assert_eq!((no_id.status, no_id.body), (404, unknown.body), "{what}");
        let more = node.post(&path_of(&held, what), json!({ "token": 1, "box": 1 }));
        assert_eq!((more.status, more.kind()), (400, "bad-body"), "{what}");
    }
    let renew = |ttl: &str| {
        node.post(&path_of(&held, "renew"), json!({ "token": held["token"], "ttl": ttl }))
    };
    let renewed = renew("1h");
    assert_eq!((renewed.status, &renewed.body["token"]), (200, &held["token"]));
    assert!(renewed.body["expires_at"].as_str() > held["expires_at"].as_str(), "{renewed:?}");
    for ttl in ["3601s", "0s"] {
        let refused = renew(ttl);
        assert_eq!((refused.status, refused.kind()), (422, "terms"), "{ttl}");
    }
    let shown = node.get(&path_of(&held, "")).body;
    assert_eq!((&shown["state"], &shown["renewals"]), (&json!("held"), &json!(1)));

    let released = node.with(&held, "release");
    assert_eq!((released.status, &released.body["state"]), (200, &json!("released")));
    let revoked = node.take("p", json!({ "holder": "b" }));
    let why = json!({ "reason": "maintenance" });
    let done = node.post(&path_of(&revoked, "revoke"), why.clone());
    assert_eq!((done.status, &done.body["state"]), (200, &json!("revoked")));
    let expired = node.take("p", json!({ "holder": "c", "ttl": "1ms" }));
    wait_for("the lease expires", &[&node.node], || {
        (node.get(&path_of(&expired, "")).body["state"] == "expired").then_some(())
    })?;
    for (lease, kind) in
        [(&held, "lease-released"), (&revoked, "lease-revoked"), (&expired, "lease-expired")]
    {
        for what in ["renew", "release", "verify"] {
            let late = node.with(lease, what);
            assert_eq!((late.status, late.kind()), (410, kind), "{what}: {late:?}");
            // A token that never belonged to the lease has its own error, whatever the state of the lease.
            let foreign = node.post(&path_of(lease, what), json!({ "token": 99 }));
            assert_eq!(foreign.kind(), "wrong-token", "{what}");
        }
        assert_eq!(node.post(&path_of(lease, "revoke"), why.clone()).kind(), kind);
    }
    let answer = node.with(&revoked, "verify").body;
    assert!(answer["detail"].as_str().unwrap().ends_with("maintenance"), "{answer}");
    assert_eq!(node.post(&format!("{NO_LEASE}/revoke"), json!({})).kind(), "unknown-lease");
    assert_eq!(node.get("/pools/p").body["boxes"]["free"], 4);

    node.put(
        "short",
        json!({ "size": 1, "max_hold": "1ms", "ttl_default": "1h", "ttl_max": "1h" }),
    );
    let brief = node.take("short", json!({ "holder": "a" }));
    let late = node.with(&brief, "renew");
    assert!(matches!(late.kind(), "held-too-long" | "lease-expired"), "{late:?}");
    Ok(())
}

#[test]
fn a_request_gets_boxes_at_once_or_a_reason() -> Result<()> {
    let node = BoxNode::start(&[])?;
    node.put("p", json!({ "size": 3, "quota": 3, "ttl_max": "1h" }));
    let ask = |wanted: Value| node.post("/pools/p/leases", wanted);
    for (wanted, status, kind) in [
        (json!({ "holder": "a", "count": 4 }), 422, "terms"),
        (json!({ "holder": "a", "count": 0 }), 422, "terms"),
        (json!({ "holder": "a", "ttl": "61m" }), 422, "terms"),
        (json!({ "holder": "" }), 400, "bad-body"),
        (json!({}), 400, "bad-body"),
        (json!({ "holder": "a", "priority": 101 }), 400, "bad-body"),
        (json!({ "holder": "a", "wait": "soon" }), 400, "bad-body"),
        (json!({ "holder": "a", "hodler": "b" }), 400, "bad-body"),
    ] {
        let refused = ask(wanted.clone());
        assert_eq!((refused.status, refused.kind()), (status, kind), "{wanted}: {refused:?}");
    }
    assert_eq!(node.post("/pools/none/leases", json!({ "holder": "a" })).kind(), "no-pool");

    // Both boxes or none.
    let two = ask(json!({ "holder": "a", "count": 2, "ttl": "1h" })).body;
    let leases = two["leases"].as_array().unwrap().clone();
    assert_eq!((leases.len(), &leases[0]["token"]), (2, &two["token"]));
    assert_eq!(leases[0]["lease_id"], two["lease_id"]);
    assert!(token(&leases[0]) < token(&leases[1]));
    assert_ne!(leases[0]["box"], leases[1]["box"]);
    let none = ask(json!({ "holder": "b", "count": 2, "wait": 0 }));
    assert_eq!((none.status, none.kind()), (409, "no-box-in-time"), "{none:?}");
    assert_eq!(node.get("/pools/p").body["boxes"]["free"], 1, "nothing was taken of it");

    let over = ask(json!({ "holder": "a", "count": 2 }));
    assert_eq!((over.status, over.kind()), (409, "over-quota"), "{over:?}");
    let last = ask(json!({ "holder": "a" }));
    assert_eq!((last.status, last.body["leases"].as_array().unwrap().len()), (201, 1));
    let waited = ask(json!({ "holder": "b", "wait": "50ms" }));
    assert_eq!((waited.status, waited.kind()), (409, "no-box-in-time"));

    let of = |query: &str| {
        let page = node.get(&format!("/pools/p/leases{query}")).body;
        let next = page["next"].as_str().map(str::to_owned);
        (page["items"].as_array().unwrap().len(), next)
    };
    assert_eq!((of(""), of("?holder=a").0, of("?holder=b").0), ((3, None), 3, 0));
    let (first, next) = of("?limit=2");
    assert_eq!(first, 2);
    assert_eq!(of(&format!("?limit=2&cursor={}", next.unwrap())), (1, None));
    assert_eq!(node.get("/pools/p/leases?holder=%00").kind(), "bad-request");
    Ok(())
}

#[test]
fn a_named_request_has_one_answer_also_after_the_node_was_killed() -> Result<()> {
    let mut node = BoxNode::start(&[])?;
    node.put("p", json!({ "size": 8 }));
    let wanted = json!({ "holder": "a", "ttl": "1h", "wait": "5s", "request_id": "job-17" });
    let at_once = (0..4).map(|_| node.begin("/pools/p/leases", wanted.clone(), &[]));
    let at_once = at_once.collect::<Result<Vec<_>>>()?;
    let mut reported = Vec::new();
    for call in at_once {
        let answer = call.answer()?;
        assert_eq!(answer.status, 201, "{answer:?}");
        reported.push(answer.body);
    }
    // The remaining lifetime decreases with each answer.
    let known = |reported: &Value| {
        ["lease_id", "box", "token", "expires_at"].map(|of| reported[of].clone())
    };
    assert!(reported.iter().all(|answer| known(answer) == known(&reported[0])), "{reported:?}");
    // Another process repeats the request to continue the same work.
    let mut other = wanted.clone();
    other["holder"] = json!("b");
    let refused = node.post("/pools/p/leases", other.clone());
    assert_eq!((refused.status, refused.kind()), (409, "request-of-other"));
    other["take_over"] = json!(true);
    let reply_b = node.post("/pools/p/leases", other.clone());
    assert_eq!((reply_b.status, known(&reply_b.body)), (201, known(&reported[0])));
    other["ttl"] = json!("9s");
    let refused = node.post("/pools/p/leases", other);
    assert_eq!((refused.status, refused.kind()), (409, "request-id-reused"));
    let unnamed = node.take("p", json!({ "holder": "z", "ttl": "1h" }));

    node.node.kill();
    node.node.start_again()?;
    node.until_it_decides()?;
    let again = node.take("p", wanted.clone());
    let lease = |reported: &Value| (["lease_id", "box", "token"]).map(|of| reported[of].clone());
    assert_eq!(lease(&again), lease(&reported[0]), "the same, with less time to wait or more");
    assert_eq!(node.get("/pools/p").body["boxes"]["leased"], 2);
    assert_eq!(node.with(&unnamed, "verify").status, 200);
    assert!(token(&node.take("p", json!({ "holder": "z" }))) > token(&unnamed));

    assert_eq!(node.with(&reported[0], "release").status, 200);
    let late = node.post("/pools/p/leases", wanted);
    assert_eq!((late.status, late.kind()), (410, "lease-released"));
    Ok(())
}

#[test]
fn each_pool_has_names_of_its_own_for_requests() -> Result<()> {
    let mut node = BoxNode::start(&[])?;
    let wanted = json!({ "holder": "a", "ttl": "1h", "request_id": "job-17" });
    let pools = ["p", "q"];
    let take =
        |node: &BoxNode| pools.map(|pool| node.take(pool, wanted.clone())["lease_id"].clone());
    for pool in pools {
        node.put(pool, json!({ "size": 2 }));
    }
    let leases = take(&node);
    assert_ne!(leases[0], leases[1]);
    assert_eq!(take(&node), leases);
    node.node.kill();
    node.node.start_again()?;
    node.until_it_decides()?;
    assert_eq!(take(&node), leases);
    for pool in pools {
        assert_eq!(node.get(&format!("/pools/{pool}")).body["boxes"]["leased"], 1);
    }
    // Waiting requests of different pools are independent too.
    let held = pools.map(|pool| node.take(pool, json!({ "holder": "z" })));
    let waits = json!({ "holder": "a", "wait": "50s", "request_id": "job-18" });
    let begin = |pool| node.begin(&format!("/pools/{pool}/leases"), waits.clone(), &[]);
    let waiting = [begin("p")?, begin("q")?];
    for pool in pools {
        node.until_waiting(pool, 1)?;
    }
    for lease in &held {
        assert_eq!(node.with(lease, "release").status, 200);
    }
    for (waits, had) in waiting.into_iter().zip(held) {
        let answer = waits.answer()?;
        assert_eq!((answer.status, &answer.body["box"]), (201, &had["box"]), "{answer:?}");
    }
    Ok(())
}

#[test]
fn clients_are_served_in_order_and_leave_the_queue_when_they_disconnect() -> Result<()> {
    let node = BoxNode::start(&[])?;
    node.put("p", json!({ "size": 1, "queue_limit": 2 }));
    let held = node.take("p", json!({ "holder": "a" }));
    let wait = |holder: &str| json!({ "holder": holder, "wait": "50s" });
    let first = node.begin("/pools/p/leases", wait("first"), &[])?;
    node.until_waiting("p", 1)?;
    let gone = node.begin("/pools/p/leases", wait("gone"), &[])?;
    node.until_waiting("p", 2)?;
    let full = node.post("/pools/p/leases", wait("late"));
    assert_eq!((full.status, full.kind()), (429, "queue-full"), "{full:?}");
    assert!(full.header("retry-after").unwrap().parse::<u64>()? >= 1);
    // The request loses its client.
    drop(gone);
    node.until_waiting("p", 1)?;
    let watched =
        node.begin("/pools/p/leases", wait("watched"), &["-N", "-H", "accept: text/event-stream"])?;
    node.until_waiting("p", 2)?;
    drop(watched);
    node.until_waiting("p", 1)?;

    assert_eq!(node.with(&held, "release").status, 200);
    let served = first.answer()?;
    assert_eq!((served.status, &served.body["box"]), (201, &held["box"]));
    assert_eq!(token(&served.body), token(&held) + 1, "it had no other holder in between");
    assert_eq!(node.with(&served.body, "release").status, 200);
    let pool = node.get("/pools/p").body;
    assert_eq!((&pool["boxes"]["free"], &pool["totals"]["granted"]), (&json!(1), &json!(2)));
    Ok(())
}

#[test]
fn a_wait_can_be_watched() -> Result<()> {
    let node = BoxNode::start(&[])?;
    node.put("p", json!({ "size": 1 }));
    let watch = |wanted: Value| {
        node.begin("/pools/p/leases", wanted, &["-N", "-H", "accept: text/event-stream"])
    };
    let at_once = watch(json!({ "holder": "a" }))?.events()?;
    let [(kind, held)] = &at_once[..] else { panic!("{at_once:?}") };
    assert_eq!((kind.as_str(), &held["box"]), ("granted", &json!(0)));

    let mut waiting = watch(json!({ "holder": "b", "wait": "50s" }))?;
    waiting.until_answered("event: waiting")?;
    let events = watch(json!({ "holder": "c", "wait": "1s" }))?.events()?;
    let (kind, problem) = events.last().unwrap();
    assert_eq!((kind.as_str(), &problem["status"]), ("refused", &json!(409)), "{events:?}");
    assert!(problem["type"].as_str().unwrap().ends_with(":no-box-in-time"));
    assert_eq!(events[0], ("waiting".to_owned(), json!({ "position": 2 })), "{events:?}");
    assert_eq!(node.with(held, "release").status, 200);
    let events = waiting.events()?;
    assert_eq!(events[0], ("waiting".to_owned(), json!({ "position": 1 })), "{events:?}");
    let (kind, granted) = events.last().unwrap();
    assert_eq!((kind.as_str(), token(granted)), ("granted", token(held) + 1));

    // Now the node knows how long clients hold boxes.
    let mut waiting = watch(json!({ "holder": "d", "wait": "50s" }))?;
    waiting.until_answered("event: waiting")?;
    assert_eq!(node.with(granted, "release").status, 200);
    let events = waiting.events()?;
    assert!(events[0].1["estimate"].as_str().is_some_and(|text| text.ends_with('s')), "{events:?}");
    Ok(())
}

#[test]
fn a_node_that_stops_answers_waiting_clients() -> Result<()> {
    let mut node = BoxNode::start(&[])?;
    node.put("p", json!({ "size": 0 }));
    let wait = || json!({ "holder": "a", "wait": "50s", "count": 1 });
    // No request can get a box of an empty pool.
    assert_eq!(node.post("/pools/p/leases", wait()).kind(), "terms");
    node.put("p", json!({ "size": 1 }));
    node.take("p", json!({ "holder": "b" }));
    let plain = node.begin("/pools/p/leases", wait(), &[])?;
    let watched = node.begin("/pools/p/leases", wait(), &["-H", "accept: text/event-stream"])?;
    node.until_waiting("p", 2)?;
    node.node.terminate()?;
    let answer = plain.answer()?;
    assert_eq!((answer.status, answer.kind()), (503, "stopped"));
    let events = watched.events()?;
    assert_eq!(events.last().unwrap().0, "refused", "{events:?}");
    Ok(())
}

#[test]
fn a_box_is_taken_out_of_use_and_its_history_is_reported() -> Result<()> {
    let node = BoxNode::start(&[])?;
    node.put("p", json!({ "size": 2, "grace": "0s", "slots": { "first": 100, "count": 9 } }));
    let lease = node.take("p", json!({ "holder": "a" }));
    let number = lease["box"].as_u64().unwrap() - 100;
    assert_eq!(number, 0, "the longest free box, with the first id");
    let quarantine = |number: u64| {
        node.post(&format!("/pools/p/boxes/{number}/quarantine"), json!({ "reason": "smells" }))
    };
    let unquarantine =
        |number: u64| node.ask("POST", &format!("/pools/p/boxes/{number}/unquarantine"), None);
    let refused = |answer: &reelyard_integration_tests::rigs::boxes::box_node::BoxNodeResponse| {
        (answer.status, answer.kind().to_owned())
    };
    assert_eq!(refused(&quarantine(0)), (409, "box-leased".to_owned()));
    assert_eq!(refused(&quarantine(9)), (404, "no-box".to_owned()));
    let bare = node.post("/pools/p/boxes/1/quarantine", json!({}));
    assert_eq!(refused(&bare), (400, "bad-body".to_owned()));
    let out = quarantine(1);
    assert_eq!((out.status, &out.body["state"]), (200, &json!("quarantined")), "{out:?}");
    assert_eq!(
        (&out.body["output"], &out.body["quarantined_by"]),
        (&json!("smells"), &json!("token admin"))
    );
    assert_eq!(refused(&quarantine(1)), (409, "already-quarantined".to_owned()));
    assert_eq!(refused(&unquarantine(0)), (409, "not-quarantined".to_owned()));
    let none = node.post("/pools/p/leases", json!({ "holder": "b" }));
    assert_eq!(none.kind(), "no-box-in-time", "a box out of use is never granted");
    let of = |state: &str| node.get(&format!("/pools/p/boxes?state={state}")).body["items"].clone();
    assert_eq!(of("quarantined")[0]["number"], 1);
    assert_eq!((of("leased")[0]["slot"].clone(), of("free")), (json!(100), json!([])));
    assert_eq!(node.get("/pools/p/boxes?state=dirty").kind(), "bad-request");
    assert_eq!(unquarantine(1).body["state"], "free");

    node.post(&path_of(&lease, "revoke"), json!({ "reason": "a test" }));
    let story = |path: &str| {
        let page = node.get(path).body;
        let items = page["items"].as_array().unwrap_or_else(|| panic!("{path}: {page}")).clone();
        let what = |line: &Value| {
            let word = if line["line"] == "lease" { &line["state"] } else { &line["what"] };
            word.as_str().unwrap().to_owned()
        };
        (items.iter().map(what).collect::<Vec<_>>(), page["next"].as_str().map(str::to_owned))
    };
    let all = ["revoked", "unquarantined", "quarantined"].map(str::to_owned);
    assert_eq!(story("/pools/p/audit"), (all.to_vec(), None));
    let (first, next) = story("/pools/p/audit?limit=1");
    assert_eq!(first, all[..1]);
    assert_eq!(story(&format!("/pools/p/audit?cursor={}", next.unwrap())).0, all[1..]);
    assert_eq!(story("/pools/p/boxes/0/audit").0, all[..1]);
    assert_eq!(story("/pools/p/boxes/1/audit").0, all[1..]);
    assert_eq!(story("/pools/p/audit?holder=a").0, all[..1]);
    assert_eq!(story(&format!("/pools/p/audit?token={}", lease["token"])).0, all[..1]);
    assert_eq!(story("/pools/p/audit?what=quarantined").0, all[2..]);
    assert!(story("/pools/p/audit?token=99").0.is_empty());
    let line = &node.get("/pools/p/boxes/0/audit").body["items"][0];
    assert_eq!((&line["holder"], &line["box"]), (&json!("a"), &json!(100)));
    assert_eq!((&line["reason"], &line["ended_by"]), (&json!("a test"), &json!("token admin")));
    assert_eq!(node.get("/pools/p/audit?what=washed").kind(), "bad-request");
    assert_eq!(node.get("/pools/p/audit?cursor=x").kind(), "bad-request");
    Ok(())
}

#[test]
fn the_boxes_of_a_host_are_not_granted_before_its_inspection() -> Result<()> {
    let node = BoxNode::start(&[])?;
    let host = "127.0.0.1:9";
    node.put("p", json!({ "size": 1, "host": host, "hooks": "isolate" }));
    assert_eq!(node.get("/pools/p/boxes/0").body["state"], "unchecked");
    assert_eq!(node.post("/pools/p/leases", json!({ "holder": "a" })).kind(), "no-box-in-time");
    assert_eq!(node.ask("POST", "/pools/p/recheck", None).status, 202);
    let out = node.post("/pools/p/boxes/0/quarantine", json!({ "reason": "smells" }));
    assert_eq!(out.body["state"], "quarantined");
    // A box cannot move to another host before it is clean.
    let moved = node.ask("PUT", "/pools/p", Some(json!({ "size": 1 })));
    assert_eq!((moved.status, moved.kind()), (409, "pool-in-use"), "{moved:?}");
    Ok(())
}

#[test]
fn a_reload_restores_the_pools_of_the_configuration() -> Result<()> {
    let pools = "{ judges = { size = 2, ttl_default = \"9s\" }, editors = { size = 1 } }";
    let mut node = BoxNode::start(&[("box.pools", pools), ("box.keep_ended", "1h")])?;
    let size = |node: &BoxNode, pool: &str| {
        let shown = node.get(&format!("/pools/{pool}")).body;
        shown["spec"]["size"].as_u64()
    };
    wait_for("the pools exist", &[&node.node], || {
        (size(&node, "judges") == Some(2) && size(&node, "editors") == Some(1)).then_some(())
    })?;
    assert_eq!(node.get("/pools/judges").body["spec"]["ttl_default"], "9s");
    node.put("judges", json!({ "size": 5 }));
    node.put("by-hand", json!({ "size": 1 }));
    assert_eq!(node.post("/config/reload?dry_run=true", json!({})).status, 200);
    assert_eq!(size(&node, "judges"), Some(5));
    assert_eq!(node.ask("POST", "/config/reload", None).status, 200);
    wait_for("the pool is put back", &[&node.node], || {
        (size(&node, "judges") == Some(2)).then_some(())
    })?;

    // A pool that the configuration no longer names remains, like a pool that was made by hand.
    let held = node.take("judges", json!({ "holder": "a" }));
    node.node
        .start_again_with(&[("box.pools", "{ judges = { size = 2, host = \"127.0.0.1:9\" } }")])?;
    node.until_it_decides()?;
    assert_eq!((size(&node, "editors"), size(&node, "by-hand")), (Some(1), Some(1)));
    let warned = || {
        let warnings = node.get("/status").body["warnings"].to_string();
        warnings.contains("cannot apply the configuration of pool judges")
    };
    wait_for("pools that cannot be created are reported", &[&node.node], || {
        warned().then_some(())
    })?;
    assert_eq!(node.with(&held, "release").status, 200);
    wait_for("it is changed once no client has a box", &[&node.node], || {
        (node.get("/pools/judges").body["spec"]["host"] == "127.0.0.1:9" && !warned()).then_some(())
    })?;
    Ok(())
}

#[test]
fn box_events_are_reported_immediately() -> Result<()> {
    let node = BoxNode::start(&[])?;
    let reader = EventReader::open(&node.ground, "?kinds=box", &[])?;
    node.put("p", json!({ "size": 2, "grace": "0s" }));
    let lease = node.take("p", json!({ "holder": "a" }));
    assert_eq!(node.with(&lease, "renew").status, 200);
    node.with(&lease, "release");
    let lease = node.take("p", json!({ "holder": "b" }));
    node.post(&path_of(&lease, "revoke"), json!({ "reason": "a test" }));
    node.post("/pools/p/boxes/1/quarantine", json!({ "reason": "smells" }));
    node.ask("POST", "/pools/p/boxes/1/unquarantine", None);
    node.ask("DELETE", "/pools/p", None);
    let mut reported = Vec::new();
    for _ in 0..8 {
        let event = reader.next()?;
        assert_eq!(event.kind, "box");
        assert!(!event.data.to_string().contains(lease["lease_id"].as_str().unwrap()));
        reported.push(event.data);
    }
    let what: Vec<&str> = reported.iter().map(|data| data["what"].as_str().unwrap()).collect();
    assert_eq!(
        what,
        [
            "pool_put",
            "granted",
            "ended",
            "granted",
            "ended",
            "quarantined",
            "unquarantined",
            "pool_removed"
        ]
    );
    assert_eq!(
        (&reported[1]["lease"]["holder"], &reported[2]["how"]),
        (&json!("a"), &json!("released"))
    );
    assert_eq!(
        (&reported[4]["how"], &reported[4]["by"]),
        (&json!("revoked"), &json!("token admin"))
    );
    assert_eq!((&reported[5]["output"], &reported[7]["gone"]), (&json!("smells"), &json!(true)));
    Ok(())
}

#[test]
fn an_invalid_request_is_refused_with_an_explanation() -> Result<()> {
    let node = BoxNode::start(&[])?;
    node.put("p", json!({ "size": 4 }));
    let refused = |body: Value, word: &str| {
        let answer = node.post("/pools/p/leases", body);
        assert_eq!((answer.status, answer.kind()), (400, "bad-body"), "{answer:?}");
        assert!(answer.body["detail"].as_str().unwrap().contains(word), "{answer:?}");
    };
    refused(json!({ "holder": "h", "request_id": "" }), "1 to 200 bytes");
    refused(json!({ "holder": "h", "request_id": "x".repeat(201) }), "1 to 200 bytes");
    refused(json!({ "holder": "a\u{202e}b" }), "U+202E");
    refused(json!(["h", "5s"]), "a JSON object");
    let put = node.ask("PUT", "/pools/q", Some(json!({ "size": 1, "slots": [7, 9] })));
    assert_eq!((put.status, put.kind()), (400, "bad-body"), "{put:?}");
    let put = node.ask("PUT", "/pools/q", Some(json!([1])));
    assert_eq!((put.status, put.kind()), (400, "bad-body"), "{put:?}");
    let share = node.post("/shares", json!({ "path": "x", "request_id": "" }));
    assert_eq!((share.status, share.kind()), (400, "bad-body"), "{share:?}");
    // An expired lease is invalid for every caller, and a wrong token is counted.
    let lease = node.take("p", json!({ "holder": "h" }));
    let mut wrong = lease.clone();
    wrong["token"] = json!(99);
    assert_eq!(node.with(&wrong, "verify").kind(), "wrong-token");
    wait_for("it is in the audit", &[&node.node], || {
        let audit = node.get("/pools/p/audit?what=wrong_token").body;
        (audit["items"][0]["output"] == "token 99 was given, 1 times in all").then_some(())
    })
}
