//! Channels from the command line to the tables and to an upstream, and no credential on the way.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};
use trunkline_db::Role;

use crate::admin_cli::{AdminCli, CommandOutput};

/// Stands for a secret; the tests look for it where it must not be.
const CANARY: &str = "sk-canary-0123456789-tail";
const NOTHING: (&str, &str) = ("NOTHING", "");

const COST: &str = r#"{
    "currency": "CNY",
    "rate": { "numerator": 7, "denominator": 50, "as_of": "2026-11-15" },
    "models": { "theirs": { "input": 2000000, "output": 8000000 } }
}"#;

/// An installation with a keyring and the canary in a file.
async fn cli() -> AdminCli {
    let cli = AdminCli::new().await;
    let made = cli.run(&["keyring", "generate"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    cli.write("key", &format!("{CANARY}\n"));
    cli
}

/// An upstream that answers every call with the same bytes and keeps what it was sent.
fn upstream(answers: Vec<String>) -> (SocketAddr, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (reported, received) = mpsc::sync_channel(answers.len());
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            let mut byte = [0; 1];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                head.extend(byte);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            reported.send(String::from_utf8(head).unwrap()).unwrap();
        }
    });
    (address, received)
}

fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

/// The words of `channel add` for a channel to an address.
fn add<'a>(name: &'a str, base: &'a str, words: &[&'a str]) -> Vec<&'a str> {
    let first = ["channel", "add", "--name", name, "--provider", "simulator"];
    [&first[..], &["--base-url", base], words].concat()
}

fn names(listed: &Value) -> Vec<&str> {
    let channels = listed["channels"].as_array().unwrap();
    channels
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_channel_is_added_listed_and_drained_with_all_it_was_given() {
    let cli = cli().await;
    cli.write("cost.json", COST);
    cli.write("proxy", "socks5://user:hunter2canary@127.0.0.1:1080\n");
    assert!(
        cli.run(&["channel", "list"])
            .out
            .contains("There are no channels")
    );
    let words = [
        "--key-file",
        "a=key",
        "--key-env",
        "b=UPSTREAM",
        "--key-stdin",
        "c",
        "--model",
        "ours=theirs",
        "--model",
        "same",
        "--group",
        "vip",
        "--region",
        "eu",
        "--priority",
        "3",
        "--weight",
        "7",
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
        "--json",
    ];
    let words = add("late", "http://127.0.0.1:9/v1/", &words);
    let made = cli.run_with(("UPSTREAM", "short"), "sk-from-standard-input\n", &words);
    assert_eq!(made.code, Some(0), "{made:?}");
    let channel = made.json()["channel"].clone();
    let first = cli.json(&add(
        "first",
        "http://127.0.0.1:9",
        &["--key-file", "key", "--model", "m"],
    ));
    assert_eq!(first["channel"]["credentials"][0]["label"], "main");

    let listed = cli.json(&["channel", "list"]);
    assert_eq!(names(&listed), ["first", "late"]);
    assert_eq!(listed["channels"][1], channel);
    let expected = json!({
        "name": "late", "provider": "simulator", "base_url": "http://127.0.0.1:9/v1",
        "state": "active", "priority": 3, "weight": 7, "region": "eu", "groups": ["vip"],
        "models": { "ours": "theirs", "same": "same" }, "extra_headers": ["x-team"],
        "has_proxy": true, "requests_per_minute": 60, "concurrent_calls": 8,
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&channel[key], value, "{key}");
    }
    let hints: Vec<&Value> = channel["credentials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["hint"])
        .collect();
    assert_eq!(hints, ["…tail", "…", "…nput"]);
    assert_eq!(channel["cost"]["currency"], "CNY");
    let text = cli.run(&["channel", "list"]).out;
    assert!(
        text.contains("ours=theirs, same") && text.contains("CNY at 7/50 of 2026-11-15"),
        "{text}"
    );

    let drained = cli.json(&["channel", "drain", "late"]);
    assert_eq!(
        (&drained["state"], &drained["was"]),
        (&"draining".into(), &"active".into())
    );
    assert!(
        cli.run(&["channel", "drain", "late"])
            .out
            .contains("already")
    );
    let listed = cli.json(&["channel", "list"]);
    assert_eq!(listed["channels"][1]["state"], "draining");
    assert_eq!(
        listed["channels"][1]["revision"], 3,
        "one number for each change, none for nothing"
    );
    let resumed = cli.json(&["channel", "resume", "late"]);
    assert_eq!(
        resumed["resumed"],
        serde_json::json!([]),
        "nothing is paused"
    );
    let back = cli.json(&["channel", "drain", "late", "--undo"]);
    assert_eq!(back["state"], "active");
    assert!(
        cli.refused(&["channel", "drain", "none"])
            .contains("channel list")
    );
    let audit = cli.run_as(Role::Audit, &["audit"]);
    assert_eq!(audit.code, Some(0), "{audit:?}");
}

#[tokio::test]
async fn what_is_wrong_with_a_channel_is_said_before_anything_is_written() {
    let cli = cli().await;
    let base = "http://127.0.0.1:9";
    let good = ["--key-file", "key", "--model", "m"];
    cli.json(&add("taken", base, &good));
    cli.write("wrong.json", &COST.replace("input", "inputs"));
    cli.write("proxy", "ftp://hunter2canary:x@h:1");
    cli.write("two-lines", "sk-canary-a\nsk-canary-b");
    let rows: [(&str, &[&str], &str); 9] = [
        ("taken", &good, "there is already a channel \"taken\""),
        (
            "n",
            &["--model", "m"],
            "add --key-file, --key-env or --key-stdin",
        ),
        ("n", &["--key-env", "UNSET", "--model", "m"], "is not set"),
        (
            "n",
            &["--key-file", "none", "--model", "m"],
            "cannot be read",
        ),
        (
            "n",
            &["--key-file", "two-lines", "--model", "m"],
            "one line of visible ASCII",
        ),
        (
            "n",
            &["--key-file", "key", "--key-file", "key", "--model", "m"],
            "\"main\" twice",
        ),
        (
            "n",
            &[
                "--key-file",
                "key",
                "--model",
                "m",
                "--header",
                "Authorization=x",
            ],
            "we set ourselves",
        ),
        (
            "n",
            &[
                "--key-file",
                "key",
                "--model",
                "m",
                "--cost-file",
                "wrong.json",
            ],
            "unknown face \"inputs\"",
        ),
        (
            "n",
            &["--key-file", "key", "--model", "m", "--proxy-file", "proxy"],
            "a proxy is written",
        ),
    ];
    for (name, words, expected) in rows {
        let reply = cli.refused(&add(name, base, words));
        assert!(
            reply.contains(expected) && !reply.contains("canary"),
            "{reply}"
        );
    }
    let reply = cli.refused(&[
        "channel",
        "add",
        "--name",
        "n",
        "--provider",
        "simulator",
        "--key-file",
        "key",
        "--model",
        "m",
    ]);
    assert!(reply.contains("add --base-url"), "{reply}");
    let reply = cli.refused(&[
        "channel",
        "add",
        "--name",
        "n",
        "--provider",
        "opena",
        "--key-file",
        "key",
        "--model",
        "m",
    ]);
    assert!(
        reply.contains("there is no provider \"opena\"; there are ") && reply.contains(", openai,"),
        "{reply}"
    );
    let none = cli.run(&[
        "channel",
        "add",
        "--name",
        "n",
        "--provider",
        "openai",
        "--key-file",
        "key",
    ]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert_eq!(names(&cli.json(&["channel", "list"])), ["taken"]);
}

#[tokio::test]
async fn a_provider_of_the_folder_is_used_without_a_rebuild() {
    let cli = cli().await;
    let provider = "name = \"mine\"\nbase_url = \"http://127.0.0.1:9\"\nauth = \"header:x-key\"\n\
        formats = [\"openai_chat\"]\nquirks = []\nconnect_ms = 1000\nfirst_byte_ms = 1000\n\
        idle_ms = 1000\ntotal_ms = 1000\n";
    cli.write("providers/mine.toml", provider);
    let folder = ("TRUNKLINE__PROVIDERS__FOLDER", "providers");
    let words = [
        "channel",
        "add",
        "--name",
        "n",
        "--provider",
        "mine",
        "--key-file",
        "key",
        "--model",
        "m",
    ];
    let made = cli.run_with(folder, "", &words);
    assert_eq!(made.code, Some(0), "{made:?}");
    let good = cli.run_with(folder, "", &["config", "check"]);
    assert!(good.out.contains(", mine, "), "{good:?}");
    cli.write(
        "providers/mine.toml",
        &provider.replace("quirks = []", "quirks = [\"odd\"]"),
    );
    let wrong = cli.run_with(folder, "", &["config", "check"]);
    assert_eq!(wrong.code, Some(1));
    assert!(
        wrong
            .err
            .contains("mine.toml: quirks has \"odd\"; there are no_stream_options"),
        "{wrong:?}"
    );
}

#[tokio::test]
async fn a_channel_is_tested_with_each_of_its_credentials() {
    let cli = cli().await;
    cli.write("other", "sk-another-0123456789-last");
    let list = r#"{"object":"list","data":[{"id":"theirs"},{"id":"more"}]}"#;
    let echo = format!(r#"{{"error":{{"message":"bad key {CANARY}"}}}}"#);
    let (address, received) = upstream(vec![
        answer("200 OK", list),
        answer("401 Unauthorized", &echo),
    ]);
    let base = format!("http://{address}/v1");
    let words = [
        "--key-file",
        "a=key",
        "--key-file",
        "b=other",
        "--model",
        "ours=theirs",
        "--model",
        "x=absent",
        "--header",
        "X-Team=red",
    ];
    cli.json(&add("one", &base, &words));
    let reply = cli.run(&["channel", "test", "one", "--json"]);
    assert_eq!(reply.code, Some(1), "{reply:?}");
    let found = reply.json();
    let expected = json!({
        "ok": false, "channel": "one", "credentials": [
            { "label": "a", "hint": "…tail", "ok": false, "status": 200, "problem": null,
              "models_listed": 2, "models_missing": ["absent"] },
            { "label": "b", "hint": "…last", "ok": false, "status": 401,
              "problem": "the upstream returned 401", "models_listed": null, "models_missing": [] },
        ],
    });
    assert_eq!(found, expected);
    let first = received.recv().unwrap().to_lowercase();
    assert!(first.starts_with("get /v1/models http/1.1\r\n"), "{first}");
    assert!(
        first.contains(&format!("authorization: bearer {CANARY}\r\n")),
        "{first}"
    );
    assert!(first.contains("x-team: red\r\n"), "{first}");
    let second = received.recv().unwrap();
    assert!(second.contains("Bearer sk-another-"), "{second}");

    let unknown = cli.run(&["channel", "test", "one"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.out.contains("unreachable"), "{unknown:?}");
    assert!(
        cli.refused(&["channel", "test", "none"])
            .contains("channel list")
    );
}

#[tokio::test]
async fn a_sealed_credential_that_was_moved_to_another_channel_does_not_open() {
    let cli = cli().await;
    for name in ["one", "two"] {
        cli.json(&add(
            name,
            "http://127.0.0.1:9",
            &["--key-file", "key", "--model", "m"],
        ));
    }
    cli.as_superuser(
        "UPDATE app.channel_credential AS t SET revision = t.revision + 1, sealed = (
             SELECT o.sealed FROM app.channel_credential AS o WHERE o.id <> t.id)",
    );
    let reply = cli.run(&["channel", "test", "one"]);
    assert_eq!(reply.code, Some(1));
    assert!(
        reply.out.contains("credential \"main\" cannot be opened"),
        "{reply:?}"
    );
}

#[tokio::test]
async fn the_text_of_a_credential_is_in_no_output_and_in_no_row() {
    let cli = cli().await;
    cli.write("proxy", &format!("http://user:{CANARY}@127.0.0.1:9"));
    cli.write("broken", &format!("{CANARY} {CANARY}"));
    let echo = answer("403 Forbidden", CANARY);
    let (address, _heard) = upstream(vec![echo.clone(), echo]);
    let base = format!("http://{address}");
    let variable = ("UPSTREAM", CANARY);
    let mut all: Vec<CommandOutput> = Vec::new();
    let mut say = |variable, input: &str, words: &[&str]| {
        all.push(cli.run_with(variable, input, words));
    };
    say(
        NOTHING,
        "",
        &add("a", &base, &["--key-file", "key", "--model", "m"]),
    );
    say(
        variable,
        "",
        &add(
            "b",
            &base,
            &["--key-env", "UPSTREAM", "--model", "m", "--json"],
        ),
    );
    say(
        NOTHING,
        CANARY,
        &add(
            "c",
            &base,
            &["--key-stdin", "--model", "m", "--proxy-file", "proxy"],
        ),
    );
    say(
        NOTHING,
        "",
        &add("a", &base, &["--key-file", "key", "--model", "m"]),
    );
    say(
        NOTHING,
        "",
        &add(
            "d",
            &base,
            &["--key-file", "broken", "--model", "m", "--json"],
        ),
    );
    say(
        variable,
        CANARY,
        &add(
            "d",
            &base,
            &["--key-env", "UPSTREAM", "--key-stdin", "--model", "m"],
        ),
    );
    for words in [
        &["channel", "list"][..],
        &["channel", "list", "--json"],
        &["channel", "test", "a"],
        &["channel", "test", "a", "--json"],
        &["channel", "test", "c"],
        &["channel", "drain", "a", "--json"],
    ] {
        say(NOTHING, "", words);
    }
    let codes: Vec<Option<i32>> = all.iter().map(|reply| reply.code).collect();
    let ok = [0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0].map(Some);
    assert_eq!(codes, ok, "{all:?}");
    for reply in &all {
        assert!(!format!("{reply:?}").contains("canary"), "{reply:?}");
    }
    cli.as_superuser(
        "DO $$ BEGIN
             IF EXISTS (SELECT FROM app.channel AS c JOIN app.channel_credential AS s ON s.channel_id = c.id
                 WHERE c::text LIKE '%canary%' OR s::text LIKE '%canary%'
                     OR position('canary'::bytea IN s.sealed) > 0
                     OR position('canary'::bytea IN COALESCE(c.proxy, '')) > 0)
             THEN RAISE EXCEPTION 'it is there'; END IF;
         END $$",
    );
}
