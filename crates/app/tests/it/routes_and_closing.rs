//! Routes of keys and accounts from the command line, how channels did, and accounts that are closed.

use serde_json::{Value, json};
use trunkline_db::Role;
use trunkline_store::channel_health::{self, ChannelSums, HealthKey};
use trunkline_types::Money;

use crate::admin_cli::AdminCli;

#[tokio::test]
async fn an_operator_changes_the_routes_of_a_key_and_what_is_not_named_stays() {
    let cli = AdminCli::new().await;
    let account = cli.account("Ada");
    let (key, _) = cli.key(account, &["--max-price", "input=3,output=15"]);
    let key = key.to_string();
    let set = |words: &[&str]| cli.json(&[&["key", "set", &key], words].concat())["row"].clone();
    let row = set(&["--policy", "cheapest"]);
    assert_eq!(row["policy"], "cheapest");
    assert_eq!(
        row["max_price"],
        json!({ "input": "3", "output": "15", "unit": null })
    );
    let row = set(&["--max-price", "unit=0.04"]);
    assert_eq!(
        row["max_price"],
        json!({ "input": null, "output": null, "unit": "0.04" })
    );
    assert_eq!(row["policy"], "cheapest");
    let row = set(&["--policy", "priority", "--max-price", "none"]);
    assert_eq!(
        (&row["policy"], &row["max_price"]),
        (&json!("priority"), &Value::Null)
    );
    for (words, expected) in [
        (
            &["--policy", "nearest"][..],
            "priority, cheapest or fastest",
        ),
        (&["--max-price", "input"], "an amount in USD"),
        (&["--max-price", "words=3"], "must be such as input=3"),
    ] {
        let reply = cli.run(&[&["key", "set", &key], words].concat());
        assert_ne!(reply.code, Some(0), "{words:?}");
        assert!(reply.err.contains(expected), "{words:?}: {reply:?}");
    }
}

#[tokio::test]
async fn an_operator_sets_the_routes_of_an_account_and_what_is_not_named_is_removed() {
    let cli = AdminCli::new().await;
    let account = cli.account("Ada").to_string();
    let set = |words: &[&str]| {
        let done = cli.json(&[&["account", "routes", &account], words].concat());
        done["account"]["routes"].clone()
    };
    let routes = set(&[
        "--policy",
        "fastest",
        "--max-price",
        "input=3",
        "--residency",
        "fr,de",
        "--upstream-zero-retention",
    ]);
    let expected = json!({
        "policy": "fastest", "max_price": { "input": "3", "output": null, "unit": null },
        "residencies": ["de", "fr"], "upstream_zero_retention": true,
    });
    assert_eq!(routes, expected);
    let nothing = json!({
        "policy": null, "max_price": null, "residencies": null, "upstream_zero_retention": false,
    });
    assert_eq!(set(&[]), nothing);
    let unknown = cli.refused(&["account", "routes", "999999"]);
    assert!(unknown.contains("there is no account"), "{unknown}");
}

#[tokio::test]
async fn an_operator_sees_availability_first_byte_and_speed_of_each_channel() {
    let cli = AdminCli::new().await;
    cli.json(&["keyring", "generate"]);
    cli.write("key", "sk-canary-0123456789-tail");
    let made = cli.json(&[
        "channel",
        "add",
        "--name",
        "one",
        "--provider",
        "simulator",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--key-file",
        "key",
        "--model",
        "m",
    ]);
    let channel = made["channel"]["id"].as_i64().unwrap();
    assert!(
        cli.run(&["channel", "health"])
            .out
            .contains("No call in the last 24 hours")
    );
    let data = cli.db.connect(Role::Data).await;
    let key = |channel: i64| HealthKey {
        channel,
        model: "m".to_owned(),
        endpoint: "chat".to_owned(),
    };
    let mut sums = ChannelSums {
        calls: 4,
        failed: 1,
        output_tokens: 60,
        output_millis: 2_000,
        ..ChannelSums::default()
    };
    sums.answered_after(100);
    // Two nodes, or two batches; and one of a channel that is gone.
    for _ in 0..2 {
        let batch = [
            (key(channel), sums.clone()),
            (key(channel + 1), sums.clone()),
        ];
        channel_health::add(&data, &batch).await.unwrap();
    }
    let health = cli.json(&["channel", "health", "one"])["health"].clone();
    let one = &health[0];
    assert_eq!(health.as_array().unwrap().len(), 1, "{health}");
    assert_eq!((&one["calls"], &one["failed"]), (&json!(8), &json!(2)));
    assert_eq!(one["availability_ppm"], 750_000);
    assert_eq!(one["output_tokens_per_second"], 30);
    let first_byte = one["median_first_byte_ms"].as_u64().unwrap();
    assert!((80..=125).contains(&first_byte), "{first_byte}");
    let text = cli.run(&["channel", "health"]).out;
    assert!(text.contains("75.00 %") && text.contains("one"), "{text}");
    // What is old is deleted, and nothing else.
    assert_eq!(channel_health::purge(&data).await.unwrap(), 0);
    cli.as_superuser("UPDATE app.channel_health SET span = span - interval '91 days'");
    assert_eq!(channel_health::purge(&data).await.unwrap(), 1);
    assert!(
        cli.refused(&["channel", "health", "two"])
            .contains("there is no channel")
    );
}

#[tokio::test]
async fn an_operator_closes_an_account_which_is_exported_first_and_has_no_name_afterwards() {
    let cli = AdminCli::new().await;
    let account = cli.account("Ada Lovelace");
    let id = account.to_string();
    cli.json(&["topup", &id, "5"]);
    let (key, _) = cli.key(account, &[]);
    cli.call(account, key, Money::from_nanos(1_000_000_000), false)
        .await;
    cli.as_superuser(&format!(
        "INSERT INTO app.person (email, name) VALUES ('ada@example.com', 'Ada');
         INSERT INTO app.member (account_id, person_id, role) SELECT {account}, id, 'owner' FROM app.person"
    ));
    let export = cli.path("ada.json");
    let file = export.to_str().unwrap();
    let close = |more: &[&str]| {
        let words = [&["account", "close", &id, "--export", file], more].concat();
        cli.run(&words)
    };
    for (more, expected) in [
        (&["--yes"][..], "4 USD paid"),
        (&["--forfeit"], "cannot be opened again; add --yes"),
    ] {
        let reply = close(more);
        assert_eq!(reply.code, Some(1), "{reply:?}");
        assert!(reply.err.contains(expected), "{reply:?}");
        assert!(!export.exists(), "nothing was exported");
    }
    let done = close(&["--forfeit", "--yes", "--json"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(
        (&done.json()["keys_ended"], &done.json()["calls_exported"]),
        (&json!(1), &json!(1))
    );
    let text = String::from_utf8(std::fs::read(&export).unwrap()).unwrap();
    let exported: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(exported["account"]["name"], "Ada Lovelace");
    assert_eq!(exported["members"][0]["email"], "ada@example.com");
    assert_eq!(exported["keys"][0]["id"], key);
    assert_eq!(exported["calls"][0]["paid_usd"], "1");
    let account_row = cli.json(&["account", "show", &id])["account"].clone();
    assert!(account_row["closed_at"].is_string(), "{account_row}");
    assert_eq!(account_row["name"], "erased");
    let found = cli.json(&["account", "list", "--search", "ada"]);
    assert_eq!(
        found["accounts"],
        json!([]),
        "neither by name nor by address"
    );
    let repeated = close(&["--forfeit", "--yes"]);
    assert!(repeated.err.contains("was closed before"), "{repeated:?}");
    let audit = cli.run_as(Role::Audit, &["audit"]);
    assert_eq!(audit.code, Some(0), "{audit:?}");
}
