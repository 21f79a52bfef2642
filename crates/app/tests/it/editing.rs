//! Channels and accounts changed from the command line, and what a wrong change is answered with.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use serde_json::{Value, json};
use trunkline_db::Role;

use crate::admin_cli::AdminCli;

/// Stands for a secret; it must be in no output.
const CANARY: &str = "sk-canary-0123456789-tail";
const COST: &str = r#"{
    "currency": "CNY",
    "rate": { "numerator": 7, "denominator": 50, "as_of": "2026-11-15" },
    "models": { "theirs": { "input": 2000000, "output": 8000000 } }
}"#;

/// An installation with a channel `one`.
async fn cli(base: &str) -> AdminCli {
    let cli = AdminCli::new().await;
    cli.json(&["keyring", "generate"]);
    cli.write("key", CANARY);
    cli.write("new", "sk-canary-9876543210-next");
    cli.json(&[
        "channel",
        "add",
        "--name",
        "one",
        "--provider",
        "simulator",
        "--base-url",
        base,
        "--key-file",
        "key",
        "--model",
        "m",
    ]);
    cli
}

fn labels(channel: &Value) -> Vec<(&str, &str)> {
    let credentials = channel["credentials"].as_array().unwrap().iter();
    credentials
        .map(|one| {
            (
                one["label"].as_str().unwrap(),
                one["hint"].as_str().unwrap(),
            )
        })
        .collect()
}

/// Answers every request with a list of one model.
fn upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut head, mut byte) = (stream.unwrap(), Vec::new(), [0; 1]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                head.extend(byte);
            }
            let body = r#"{"data":[{"id":"listed"}]}"#;
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    base
}

#[tokio::test]
async fn an_operator_changes_every_field_of_a_channel_and_what_is_not_named_stays() {
    let cli = cli("http://127.0.0.1:9/v1").await;
    cli.write("cost.json", COST);
    cli.write("proxy", "socks5://user:hunter2canary@127.0.0.1:1080\n");
    let changed = cli.json(&[
        "channel",
        "set",
        "one",
        "--base-url",
        "http://127.0.0.1:8/v2/",
        "--priority",
        "3",
        "--weight",
        "7",
        "--region",
        "eu",
        "--add-model",
        "ours=theirs",
        "--group",
        "vip",
        "--header",
        "X-Team=red",
        "--proxy-file",
        "proxy",
        "--cost-file",
        "cost.json",
        "--rpm",
        "60",
        "--concurrent",
        "8",
    ]);
    let expected = json!({
        "base_url": "http://127.0.0.1:8/v2", "priority": 3, "weight": 7, "region": "eu",
        "models": { "m": "m", "ours": "theirs" }, "groups": ["vip"], "extra_headers": ["x-team"],
        "has_proxy": true, "requests_per_minute": 60, "concurrent_calls": 8, "state": "active",
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&changed["channel"][key], value, "{key}");
    }
    assert_eq!(changed["channel"]["cost"]["currency"], "CNY");
    let one = cli.json(&["channel", "set", "one", "--weight", "2"]);
    assert_eq!(one["channel"]["region"], "eu", "what is not named stays");
    let back = cli.json(&[
        "channel",
        "set",
        "one",
        "--base-url",
        "http://127.0.0.1:9",
        "--region",
        "none",
        "--remove-model",
        "m",
        "--all-groups",
        "--remove-header",
        "x-team",
        "--proxy-file",
        "none",
        "--cost-file",
        "none",
        "--rpm",
        "none",
        "--concurrent",
        "none",
    ]);
    let expected = json!({
        "region": null, "models": { "ours": "theirs" }, "groups": [], "extra_headers": [],
        "has_proxy": false, "cost": null, "requests_per_minute": null, "concurrent_calls": null,
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&back["channel"][key], value, "{key}");
    }
    for (words, expected) in [
        (
            &["set", "none", "--weight", "2"][..],
            "there is no channel \"none\"",
        ),
        (&["set", "one"], "nothing to change"),
        (&["set", "one", "--remove-model", "ours"], "models"),
        (
            &["set", "one", "--remove-model", "other"],
            "does not serve \"other\"",
        ),
        (
            &["set", "one", "--header", "Authorization=x"],
            "we set ourselves",
        ),
        (&["set", "one", "--base-url", "none"], "add --base-url"),
    ] {
        let reply = cli.refused(&[&["channel"], words].concat());
        assert!(reply.contains(expected), "{reply}");
    }
    let audit = cli.run_as(Role::Audit, &["audit"]);
    assert_eq!(audit.code, Some(0), "{audit:?}");
}

#[tokio::test]
async fn an_operator_adds_replaces_and_removes_credentials_and_clones_a_channel() {
    let cli = cli("http://127.0.0.1:9/v1").await;
    let added = cli.json(&["channel", "key", "add", "one", "--key-file", "b=new"]);
    assert_eq!(
        labels(&added["channel"]),
        [("main", "…tail"), ("b", "…next")]
    );
    cli.as_superuser(
        "UPDATE app.channel_credential SET paused_reason = 'refused', revision = revision + 1",
    );
    let replaced = cli.json(&["channel", "key", "replace", "one", "--key-file", "main=new"]);
    let credentials = &replaced["channel"]["credentials"];
    assert_eq!(
        (&credentials[0]["hint"], &credentials[0]["paused_reason"]),
        (&json!("…next"), &Value::Null)
    );
    assert_eq!(credentials[1]["paused_reason"], "refused");
    let clone = cli.json(&["channel", "clone", "one", "two", "--priority", "5"]);
    assert_eq!(
        labels(&clone["channel"]),
        [("main", "…next"), ("b", "…next")]
    );
    assert_eq!(
        (&clone["channel"]["priority"], &clone["channel"]["name"]),
        (&json!(5), &json!("two"))
    );
    // Opened under its own name, so it is the cloned secret and not a copied seal.
    let tested = cli.run(&["channel", "test", "two"]);
    assert!(tested.out.contains("unreachable"), "{tested:?}");
    let removed = cli.json(&["channel", "key", "remove", "one", "main"]);
    assert_eq!(labels(&removed["channel"]), [("b", "…next")]);
    assert!(removed["channel"]["revision"].as_i64() > replaced["channel"]["revision"].as_i64());
    for (words, expected) in [
        (&["remove", "one", "b"][..], "is the last credential"),
        (
            &["remove", "two", "c"],
            "has no credential \"c\"; it has main, b",
        ),
        (
            &["replace", "two", "--key-file", "c=key"],
            "has no credential \"c\"",
        ),
        (
            &["add", "two", "--key-file", "b=key"],
            "has a credential \"b\" already",
        ),
        (&["add", "two"], "add --key-file, --key-env or --key-stdin"),
        (
            &["add", "two", "--key-env", "c=UNSET_ONE"],
            "the variable UNSET_ONE",
        ),
    ] {
        let reply = cli.refused(&[&["channel", "key"], words].concat());
        assert!(
            reply.contains(expected) && !reply.contains("canary"),
            "{reply}"
        );
    }
    let taken = cli.refused(&["channel", "clone", "one", "two"]);
    assert!(
        taken.contains("there is already a channel \"two\""),
        "{taken}"
    );
}

#[tokio::test]
async fn an_operator_is_warned_of_models_that_are_not_sold_and_a_test_fails_for_one_that_is_not_listed()
 {
    let base = upstream();
    let cli = cli(&base).await;
    let words = [
        "channel",
        "add",
        "--name",
        "two",
        "--provider",
        "simulator",
        "--base-url",
        &base,
        "--key-file",
        "key",
        "--model",
        "listed",
    ];
    let warned = cli.run(&words);
    assert_eq!(warned.code, Some(0), "{warned:?}");
    assert!(
        warned.out.contains("the catalog does not sell listed"),
        "{warned:?}"
    );
    let good = cli.run(&["channel", "test", "two"]);
    assert_eq!(good.code, Some(0), "{good:?}");
    let absent = cli.run(&["channel", "test", "one"]);
    assert_eq!(absent.code, Some(1), "{absent:?}");
    let all = cli.run(&["channel", "test", "--all", "--json"]);
    assert_eq!(all.code, Some(1), "{all:?}");
    let found = all.json();
    let oks: Vec<&Value> = found["channels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["ok"])
        .collect();
    assert_eq!(oks, [false, true]);
    cli.json(&["channel", "drain", "one"]);
    assert_eq!(
        cli.run(&["channel", "test", "--all"]).code,
        Some(0),
        "drained ones are left out"
    );
}

#[tokio::test]
async fn an_operator_lists_searches_groups_and_suspends_customers() {
    let cli = AdminCli::new().await;
    let [ada, ben, _cy] = ["Ada Lovelace", "Ben", "Cy"].map(|name| cli.account(name));
    let numbers = |listed: &Value| -> Vec<i64> {
        let accounts = listed["accounts"].as_array().unwrap().iter();
        accounts.map(|one| one["id"].as_i64().unwrap()).collect()
    };
    let all = cli.json(&["account", "list"]);
    assert_eq!(numbers(&all).len(), 3);
    assert_eq!(
        numbers(&cli.json(&["account", "list", "--search", "LOVE"])),
        [ada]
    );
    let page = cli.json(&[
        "account",
        "list",
        "--after",
        &ada.to_string(),
        "--limit",
        "1",
    ]);
    assert_eq!(
        (numbers(&page), &page["next_after"]),
        (vec![ben], &json!(ben))
    );
    cli.as_superuser(&format!(
        "INSERT INTO app.person (email, name) VALUES ('ben@example.com', 'B');
         INSERT INTO app.member (account_id, person_id, role) SELECT {ben}, id, 'owner' FROM app.person"
    ));
    assert_eq!(
        numbers(&cli.json(&["account", "list", "--search", "@example.com"])),
        [ben]
    );

    let id = ada.to_string();
    let moved = cli.json(&["account", "group", &id, "vip", "--allowed-groups", "night"]);
    assert_eq!(
        (
            &moved["account"]["group"],
            &moved["account"]["allowed_groups"]
        ),
        (&json!("vip"), &json!(["night"]))
    );
    let moved = cli.json(&["account", "group", &id, "default"]);
    assert_eq!(
        moved["account"]["allowed_groups"],
        json!(["night"]),
        "not named, so it stays"
    );
    assert!(
        cli.refused(&["account", "group", &id, "auto"])
            .contains("group")
    );
    assert!(
        cli.refused(&["account", "group", "999999", "vip"])
            .contains("there is no account")
    );

    let suspended = cli.json(&["account", "suspend", &id]);
    assert!(
        suspended["account"]["suspended_at"].is_string(),
        "{suspended}"
    );
    assert!(cli.run(&["account", "suspend", &id]).out.contains("before"));
    assert!(cli.run(&["account", "show", &id]).out.contains("suspended"));
    assert!(cli.run(&["account", "list"]).out.contains("suspended"));
    let resumed = cli.json(&["account", "resume", &id]);
    assert!(resumed["account"]["suspended_at"].is_null());
    assert!(
        cli.refused(&["account", "suspend", "999999"])
            .contains("there is no account")
    );
}
