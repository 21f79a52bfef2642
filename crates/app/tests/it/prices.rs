//! `trunkline catalog import`, `diff`, `set-price`, `export` and `history`, against calls that were
//! really charged.

use serde_json::{Value, json};
use trunkline_db::{Role, SystemClock};
use trunkline_ledger::{Detail, Ledger, LedgerSettings, OnCallerGone, Outcome, Settle};
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, Clock as _, Face, Money, NodeId, RequestId, Units};

use crate::admin_cli::{AdminCli, reserve};

/// 2 USD a million input tokens, 8 USD a million output tokens, twice that in long contexts.
const CATALOG: &str = r#"
auto_groups = ["default"]
[groups.default]
rate = "1"
[models.model]
groups = ["default"]
[models.model.prices]
billing_unit = "tokens"
standard = { input = 2000000, output = 8000000 }
[[models.model.prices.tiers]]
tier = "long_context"
standard = { input = 4000000, output = 16000000 }
when = [{ dim = "context_len", context_len_gt = 1000 }]
[models.other]
groups = ["default"]
[models.other.prices]
billing_unit = "per_call"
standard = { per_call = 20000000000 }
"#;

/// A call of `model` that used so many tokens, was charged so much and cost us so much.
async fn sold(cli: &AdminCli, account: i64, (input, output): (u64, u64), nanos: (i64, i64)) {
    let data = cli.db.connect(Role::Data).await;
    let node = NodeId::new("n1").unwrap();
    let opened = Ledger::open(data, &node, LedgerSettings::default()).await;
    let (ledger, _tasks) = opened.unwrap();
    let request = RequestId::new(SystemClock.now(), random_bytes());
    let (charged, cost) = (Money::from_nanos(nanos.0), Money::from_nanos(nanos.1));
    let account = AccountId::new(account);
    let (key, _) = cli.key(account.number(), &[]);
    ledger
        .reserve(reserve(request, account, key, charged))
        .await
        .unwrap();
    let units = Units::none().plus(Face::Input, input).unwrap();
    let detail = Detail {
        units: units.plus(Face::Output, output).unwrap(),
        tier: Some("standard".to_owned()),
        cost: Some(cost),
        ..Detail::nothing(Outcome::Complete)
    };
    let settle = Settle {
        request,
        account,
        amount: charged,
        unpaid: None,
        detail,
        on_caller_gone: OnCallerGone::Refund,
    };
    ledger.settle(settle).await.unwrap();
}

#[tokio::test]
async fn a_diff_shows_changed_prices_and_the_cost_of_last_weeks_calls() {
    let cli = AdminCli::new().await;
    cli.write("catalog.toml", CATALOG);
    let first = cli.json(&["catalog", "import", "catalog.toml"]);
    assert_eq!(
        (&first["revision"], &first["models"]),
        (&json!(1), &json!(2))
    );
    let account = cli.account("Ada");
    cli.json(&["topup", &account.to_string(), "10"]);
    // 100 in and 10 out at 2 and 8 USD a million are 280,000 nano-USD.
    sold(&cli, account, (100, 10), (280_000, 100_000)).await;
    // Beyond a thousand tokens both cost twice as much.
    sold(&cli, account, (2_000, 10), (8_160_000, 100_000)).await;
    let same = cli.json(&["catalog", "diff", "catalog.toml"]);
    assert_eq!((&same["models"], &same["prices"]), (&json!([]), &json!([])));
    let dearer = CATALOG.replace("input = 2000000", "input = 3000000");
    cli.write("dearer.toml", &dearer);
    let diff = cli.json(&["catalog", "diff", "dearer.toml"]);
    assert_eq!(
        diff["prices"],
        json!([{ "model": "model", "tier": "standard", "column": "standard", "face": "input",
            "before": 2_000_000, "after": 3_000_000 }])
    );
    let week = &diff["last_week"][0];
    assert_eq!(
        (&week["model"], &week["calls"]),
        (&json!("model"), &json!(2))
    );
    assert_eq!(week["was_usd"], "0.00844");
    assert_eq!(
        week["would_be_usd"], "0.00854",
        "the long one is in its own tier"
    );
    assert_eq!(week["below_cost"], false);
    let view = cli.run(&["catalog", "diff", "dearer.toml"]).out;
    assert!(
        view.contains("model standard standard input: 2000000 -> 3000000"),
        "{view}"
    );
    let unchanged = cli.json(&["catalog", "export"]);
    assert_eq!(
        unchanged["models"]["model"]["prices"]["standard"]["input"],
        2_000_000
    );
}

#[tokio::test]
async fn a_diff_fails_where_a_model_would_sell_below_its_cost() {
    let cli = AdminCli::new().await;
    cli.write("catalog.toml", CATALOG);
    cli.json(&["catalog", "import", "catalog.toml"]);
    let account = cli.account("Ada");
    cli.json(&["topup", &account.to_string(), "10"]);
    sold(&cli, account, (100, 10), (280_000, 100_000)).await;
    let cheap = CATALOG.replace("input = 2000000, output = 8000000", "input = 1, output = 1");
    cli.write("cheap.toml", &cheap);
    let reply = cli.run(&["catalog", "diff", "cheap.toml", "--json"]);
    assert_eq!(reply.code, Some(1), "{reply:?}");
    let diff = reply.json();
    assert_eq!(diff["ok"], false);
    assert_eq!(diff["last_week"][0]["below_cost"], true);
    assert_eq!(diff["last_week"][0]["known_cost_usd"], "0.0001");
    // And by what a channel says it takes, before anything was sold.
    let cost = r#"{"currency":"USD","rate":{"numerator":1,"denominator":1,"as_of":"2026-11-15"},
        "models":{"theirs":{"input":1500000,"output":6000000}}}"#;
    cli.as_superuser(&format!(
        "INSERT INTO app.channel (name, provider, priority, weight, models, groups, extra_headers, cost, revision)
         VALUES ('c', 'openai', 0, 1, '{{\"model\":\"theirs\"}}', '{{}}', '{{}}', '{cost}', 1);
         INSERT INTO app.revision (topic, value) VALUES ('channels', 1)"
    ));
    let diff = cli.run(&["catalog", "diff", "cheap.toml", "--json"]).json();
    let below = diff["below_cost"].as_array().unwrap();
    assert_eq!(below.len(), 2, "{below:?}");
    assert_eq!(below[0]["channel"], "c");
    assert_eq!(below[0]["cost_usd_per_million"], "1.5");
}

#[tokio::test]
async fn a_price_is_set_by_one_command_and_a_bad_one_is_refused_whole() {
    let cli = AdminCli::new().await;
    cli.write("catalog.toml", CATALOG);
    cli.json(&["catalog", "import", "catalog.toml", "--note", "first"]);
    let set = [
        "catalog",
        "set-price",
        "model",
        "input=2500000",
        "--note",
        "dearer",
    ];
    let done = cli.json(&set);
    assert_eq!(
        (&done["revision"], &done["changed"]),
        (&json!(2), &json!(1))
    );
    let tier = [
        "catalog",
        "set-price",
        "model",
        "--tier",
        "long_context",
        "input=5000000",
    ];
    cli.json(&tier);
    let paid = ["catalog", "set-price", "model", "--paid", "output=7000000"];
    cli.json(&paid);
    let prices = cli.json(&["catalog", "export"])["models"]["model"]["prices"].clone();
    assert_eq!(
        prices["standard"],
        json!({ "input": 2_500_000, "output": 8_000_000 })
    );
    assert_eq!(
        prices["paid"],
        json!({ "input": 2_500_000, "output": 7_000_000 })
    );
    assert_eq!(prices["tiers"][0]["standard"]["input"], 5_000_000);
    let before = cli.json(&["catalog", "history"]);
    for wrong in [
        &["catalog", "set-price", "model", "per_call=1"][..],
        &["catalog", "set-price", "nobody", "input=1"],
        &["catalog", "set-price", "model", "--tier", "none", "input=1"],
        &["catalog", "set-price", "model", "input=-1"],
        &[
            "catalog",
            "set-price",
            "model",
            "--tier",
            "long_context",
            "input=1",
        ],
    ] {
        assert!(!cli.refused(wrong).is_empty(), "{wrong:?}");
    }
    cli.write(
        "bad.toml",
        &CATALOG.replace("per_call = 2", "per_meter = 2"),
    );
    assert!(
        cli.refused(&["catalog", "import", "bad.toml"])
            .contains("per_meter")
    );
    assert_eq!(
        cli.json(&["catalog", "history"]),
        before,
        "nothing of it was written"
    );
    let changes = before["changes"].as_array().unwrap();
    let notes: Vec<&Value> = changes.iter().map(|change| &change["note"]).collect();
    assert_eq!(notes, ["", "", "dearer", "first"]);
    let repeated = cli.json(&["catalog", "set-price", "model", "input=2500000"]);
    assert_eq!(repeated["revision"], 4, "the same price is no change");
    cli.write("one.toml", "[groups.default]\nrate = \"1\"\n[models.other]\ngroups = [\"default\"]\nprices = { billing_unit = \"per_call\", standard = { per_call = 1 } }\n");
    let replaced = cli.json(&["catalog", "import", "one.toml", "--replace"]);
    assert_eq!(
        (&replaced["changed"], &replaced["models"]),
        (&json!(2), &json!(1))
    );
}

/// What models.dev publishes of two models, in its shape.
const MODELS_DEV: &str = r#"{ "acme": { "id": "acme", "models": {
    "model": { "cost": { "input": 3, "output": 12, "cache_read": 0.3 } },
    "theirs": { "cost": { "input": 1.5, "output": 6 } } } } }"#;

#[tokio::test]
async fn an_operator_takes_prices_from_a_list_with_a_diff_and_a_dated_source() {
    let cli = AdminCli::new().await;
    let catalog = CATALOG.replace(
        "[models.model]\n",
        "[vendors.acme]\nid = 7\n[models.model]\nvendor = \"acme\"\n",
    );
    let catalog = format!(
        "{catalog}[models.plain]\ngroups = [\"default\"]\n[models.plain.prices]\n\
         billing_unit = \"tokens\"\nstandard = {{ input = 1000000, output = 6000000 }}\n"
    );
    cli.write("catalog.toml", &catalog);
    cli.json(&["catalog", "import", "catalog.toml"]);
    cli.write("api.json", MODELS_DEV);
    let sync = ["catalog", "sync", "api.json", "--date", "2026-11-18"];
    let report = cli.json(&sync);
    assert_eq!(
        (&report["applied"], &report["known"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(
        report["prices"],
        json!([
            { "model": "model", "tier": "standard", "column": "standard", "face": "input",
                "before": 2_000_000, "after": 3_000_000 },
            { "model": "model", "tier": "standard", "column": "standard", "face": "output",
                "before": 8_000_000, "after": 12_000_000 },
        ]),
        "a face that the tiers do not price is not added"
    );
    let notes = report["notes"].to_string();
    assert!(notes.contains("prices of its tiers stay"), "{notes}");
    let price = |model: &str, face: &str| {
        let exported = cli.json(&["catalog", "export"]);
        exported["models"][model]["prices"]["standard"][face].clone()
    };
    assert_eq!(price("model", "input"), 2_000_000, "nothing was changed");

    let words = ["--model", "plain=acme/theirs", "--markup", "1.1", "--apply"];
    let done = cli.json(&[&sync[..], &words].concat());
    assert_eq!(
        (&done["applied"], &done["known"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(price("plain", "input"), 1_650_000);
    assert_eq!(price("plain", "output"), 6_600_000);
    assert_eq!(price("model", "input"), 2_000_000, "it was not named");
    let exported = cli.json(&["catalog", "export"]);
    let list = &exported["models"]["plain"]["list"];
    assert_eq!(list[0]["source"], "models.dev, api.json, acme/theirs");
    assert_eq!(list[0]["read_on"], "2026-11-18");
    assert_eq!(list[0]["faces"], json!({ "input": "1.5", "output": "6" }));
    let same = cli.json(&[&sync[..], &words].concat());
    assert_eq!(same["prices"], json!([]));
    assert_eq!(cli.json(&["catalog", "export"]), exported, "twice is once");
    let history = cli.json(&["catalog", "history"]);
    let note = history["changes"][0]["note"].as_str().unwrap();
    assert_eq!(note, "models.dev, api.json of 2026-11-18");
}

#[tokio::test]
async fn prices_of_a_list_below_the_cost_of_a_channel_are_published_only_if_allowed() {
    let cli = AdminCli::new().await;
    cli.json(&["keyring", "generate"]);
    cli.write("catalog.toml", CATALOG);
    cli.json(&["catalog", "import", "catalog.toml"]);
    cli.write("key", "sk-upstream");
    cli.write(
        "cost.json",
        r#"{"currency":"USD","rate":{"numerator":1,"denominator":1,"as_of":"2026-11-15"},
            "models":{"theirs":{"input":1500000,"output":6000000}}}"#,
    );
    let add = [
        "channel",
        "add",
        "--name",
        "c",
        "--provider",
        "openai",
        "--key-file",
        "key",
    ];
    cli.json(
        &[
            &add[..],
            &["--model", "model=theirs", "--cost-file", "cost.json"],
        ]
        .concat(),
    );
    let list = r#"{ "model": { "input_cost_per_token": 1.4e-06, "output_cost_per_token": 6e-06,
        "litellm_provider": "acme", "mode": "chat" } }"#;
    cli.write("prices.json", list);
    let sync = ["catalog", "sync", "prices.json", "--apply", "--json"];
    let reply = cli.run(&sync);
    assert_eq!(reply.code, Some(1), "{reply:?}");
    let stopped = reply.json();
    assert_eq!(
        (&stopped["ok"], &stopped["applied"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(
        stopped["below_cost"].as_array().unwrap().len(),
        1,
        "{stopped}"
    );
    assert_eq!(stopped["below_cost"][0]["face"], "input");
    assert_eq!(stopped["below_cost"][0]["sale_usd_per_million"], "1.4");
    let input = || {
        let exported = cli.json(&["catalog", "export"]);
        exported["models"]["model"]["prices"]["standard"]["input"].clone()
    };
    assert_eq!(input(), 2_000_000, "nothing was changed");
    let text = cli.run(&["catalog", "sync", "prices.json"]).out;
    assert!(
        text.contains("BELOW COST") && text.contains("--allow permits it"),
        "{text}"
    );
    let allowed = cli.run(&[&sync[..], &["--allow"]].concat());
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    assert_eq!(allowed.json()["applied"], true);
    assert_eq!(input(), 1_400_000);
    cli.write("wrong.json", "{}");
    let wrong = cli.refused(&["catalog", "sync", "wrong.json"]);
    assert!(wrong.contains("it has no prices"), "{wrong}");
}
