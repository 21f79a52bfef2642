//! `trunkline import`: a LiteLLM configuration and the tables of a new-api, made here after their public schemas,
//! are imported as a dry run and for real, and what was imported is served by the simulator and charged.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use trunkline_db::Role;
use trunkline_simulator::{Settings, Simulator};
use trunkline_types::Money;

use crate::admin_cli::AdminCli;
use crate::platforms::Serving;

/// Stands for secrets of the other gateway; it must be in no output.
const CANARY: &str = "sk-canary-0123456789-tail";
const MODELS: usize = 30;
const USERS: i64 = 1_000;
const CHANNELS: i64 = 50;
/// Nano-USD of one quota.
const QUOTA: i64 = 2_000;

async fn cli() -> AdminCli {
    let cli = AdminCli::new().await;
    cli.json(&["keyring", "generate"]);
    cli
}

/// A chat call: the charge by its header, and the answer.
fn chat(edge: &str, key: &str, model: &str) -> (Money, Value) {
    let body = json!({
        "model": model,
        "messages": [{ "role": "user", "content": "Say hello." }],
        "max_tokens": 16,
    })
    .to_string();
    let mut stream = TcpStream::connect(edge).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {edge}\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    assert!(head.starts_with("http/1.1 200"), "{model}: {answer}");
    let cost = head
        .lines()
        .find_map(|line| line.strip_prefix("trunkline-cost-usd: "));
    let cost = cost.unwrap_or_else(|| panic!("{model}: {head}"));
    // In one chunk or as a whole.
    let (start, end) = (body.find('{').unwrap(), body.rfind('}').unwrap());
    let answer = serde_json::from_str(&body[start..=end]).unwrap();
    (cost.parse().unwrap(), answer)
}

/// Thirty models behind three providers, and some that cannot be imported.
fn litellm_config(simulator: &str) -> String {
    let mut text = String::from("# a proxy\nmodel_list:\n");
    for number in 1..=MODELS {
        let provider = ["openai", "hosted_vllm", "custom_openai"][number % 3];
        let key = ["os.environ/UPSTREAM_KEY", "sk-plain"][number % 2];
        write!(
            text,
            "  - model_name: lite-{number}\n    litellm_params:\n      model: {provider}/sim-fast\n      \
             api_base: {simulator}\n      api_key: {key}\n      rpm: 60\n      \
             input_cost_per_token: {number}e-06\n      output_cost_per_token: 0.{number:06}\n"
        )
        .unwrap();
    }
    text.push_str(
        r#"  - model_name: "openai/*"
    litellm_params: {model: "openai/*", api_key: sk-plain}
  - model_name: strange
    litellm_params: {model: replicate/strange, input_cost_per_token: 1e-06, output_cost_per_token: 1e-06}
  - model_name: unpriced
    litellm_params: {model: openai/made-up, api_base: "http://127.0.0.1:9/v1", api_key: sk-plain}
  - model_name: keyless
    litellm_params: {model: groq/made-up, input_cost_per_token: 1e-06, output_cost_per_token: 1e-06}
litellm_settings:
  drop_params: true
router_settings:
  routing_strategy: simple-shuffle
"#,
    );
    text
}

fn remarks(report: &Value, list: &str) -> Vec<String> {
    let remarks = report[list].as_array().unwrap().iter();
    remarks
        .map(|one| {
            let text = |name: &str| one[name].as_str().unwrap().to_owned();
            format!("{} {}: {}", text("kind"), text("name"), text("reason"))
        })
        .collect()
}

fn has(list: &[String], start: &str, words: &str) -> bool {
    list.iter()
        .any(|one| one.starts_with(start) && one.contains(words))
}

fn paid(cli: &AdminCli, account: i64) -> Money {
    let view = cli.json(&["account", "show", &account.to_string()]);
    view["balance"]["paid_usd"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_imports_a_litellm_configuration_and_serves_its_models_at_its_prices() {
    let simulator = Simulator::start(Settings::default()).await.unwrap();
    let cli = cli().await;
    cli.write("config.yaml", &litellm_config(&simulator.base_url()));
    let import = |words: &[&str]| {
        let words = [&["import", "litellm", "config.yaml"][..], words].concat();
        let done = cli.run_with(("UPSTREAM_KEY", CANARY), "", &words);
        assert_eq!(done.code, Some(0), "{done:?}");
        assert!(
            !done.out.contains(CANARY) && !done.out.contains("sk-plain"),
            "{done:?}"
        );
        done
    };
    let text = import(&[]).out;
    assert!(text.contains("dry run: nothing was changed"), "{text}");
    let dry = import(&["--json"]).json();
    assert_eq!(dry["applied"], false);
    assert_eq!(dry["models"], json!({ "added": MODELS, "there": 0 }));
    // Two providers of its own and OpenAI's format elsewhere, each with two keys; one without a price.
    assert_eq!(dry["channels"]["added"], 5, "{dry}");
    let skipped = remarks(&dry, "skipped");
    assert!(has(&skipped, "model openai/*", "wildcard"), "{skipped:?}");
    assert!(has(&skipped, "model strange", "no provider"), "{skipped:?}");
    assert!(has(&skipped, "model unpriced", "no price"), "{skipped:?}");
    assert!(
        has(&skipped, "channel keyless", "GROQ_API_KEY is not set"),
        "{skipped:?}"
    );
    let ignored = dry["ignored"].to_string();
    assert!(
        ignored.contains("router_settings") && ignored.contains("litellm_params.rpm of 30 models"),
        "{ignored}"
    );
    let none = cli.json(&["channel", "list"]);
    assert_eq!(none["channels"], json!([]), "a dry run changes nothing");

    let done = import(&["--apply", "--json"]).json();
    assert_eq!(
        (&done["applied"], &done["models"]),
        (&json!(true), &dry["models"])
    );
    assert_eq!(done["skipped"], dry["skipped"]);
    let account = cli.account("Ada");
    cli.json(&["topup", &account.to_string(), "10"]);
    let (_, key) = cli.key(account, &[]);
    let serving = Serving::start(&cli);
    let mut spent = Money::ZERO;
    for number in 1..=MODELS {
        let (cost, answer) = chat(&serving.edge, &key, &format!("lite-{number}"));
        let usage = &answer["usage"];
        let tokens =
            usage["prompt_tokens"].as_i64().unwrap() + usage["completion_tokens"].as_i64().unwrap();
        // In and out cost as many micro-USD as the model has as its number.
        let micros = tokens * i64::try_from(number).unwrap();
        assert_eq!(
            cost,
            Money::from_nanos(micros * 1_000),
            "lite-{number}: {answer}"
        );
        spent = spent.checked_add(cost).unwrap();
    }
    drop(serving);
    let credit: Money = "10".parse().unwrap();
    assert_eq!(paid(&cli, account), credit.checked_sub(spent).unwrap());
    // A channel knows what its upstream takes, but for the one without a price.
    let costs = "SELECT count(*)::text FROM app.channel WHERE cost IS NOT NULL";
    assert_eq!(cli.db.ask(costs).await, ["4"]);

    cli.json(&["catalog", "set-price", "lite-3", "input=7000000"]);
    let twice = import(&["--apply", "--json"]).json();
    assert_eq!(twice["models"], json!({ "added": 0, "there": MODELS }));
    assert_eq!(twice["channels"], json!({ "added": 0, "there": 5 }));
    let differences = remarks(&twice, "differences");
    assert!(
        has(
            &differences,
            "model lite-3",
            "input is 7000000 pico-USD here and 3000000 there"
        ),
        "{differences:?}"
    );
    simulator.stop().await;
}

/// The quota of a user: some micro-USD, and some with none or less.
fn quota(user: i64) -> i64 {
    match user {
        7 => 0,
        8 => -500_000,
        user => user * 12_347 + 1,
    }
}

/// The tables of a new-api, as `sqlite3 -json` exports them.
fn new_api_tables(cli: &AdminCli, simulator: &str) {
    let root = simulator.strip_suffix("/v1").unwrap();
    let channel = |id: i64, number: i64, status: i64| {
        json!({
            "id": id, "type": number, "name": format!("channel {id}"), "status": status,
            "key": format!("{CANARY}-{id}\n{CANARY}-{id}-b"), "base_url": root,
            "models": format!("new-{},new-{}", id % 20, (id + 1) % 20),
            "model_mapping": format!("{{\"new-{}\":\"sim-fast\",\"new-{}\":\"sim-fast\"}}", id % 20, (id + 1) % 20),
            "group": if id % 2 == 0 { "default,vip" } else { "default" },
            "priority": id % 3, "weight": 0,
        })
    };
    let mut channels: Vec<Value> = (1..=CHANNELS)
        .map(|id| channel(id, 1, if id > 45 { 2 } else { 1 }))
        .collect();
    channels.push(channel(CHANNELS + 1, 2, 1));
    let users: Vec<Value> = (1..=USERS)
        .map(|id| {
            json!({
                "id": id, "username": format!("user{id}"), "email": format!("user{id}@example.com"),
                "password": "$2a$10$hash", "role": 1, "status": if id == 9 { 2 } else { 1 },
                "quota": quota(id), "used_quota": 5, "group": if id % 10 == 0 { "vip" } else { "default" },
                "deleted_at": if id == 10 { json!("2026-01-01 00:00:00") } else { Value::Null },
            })
        })
        .collect();
    let tokens: Vec<Value> = (1..=20)
        .map(|id| {
            json!({
                "id": id, "user_id": id, "key": format!("{CANARY}{id}"), "status": 1, "name": "laptop",
                "expired_time": -1, "remain_quota": 250_000, "unlimited_quota": i32::from(id != 2),
                "model_limits_enabled": 0, "model_limits": "", "allow_ips": "", "group": "",
            })
        })
        .collect();
    let ratios: BTreeMap<String, f64> = (0..19).map(|id| (format!("new-{id}"), 0.5)).collect();
    let completions: BTreeMap<String, f64> = (0..19).map(|id| (format!("new-{id}"), 4.0)).collect();
    let option = |key: &str, value: String| json!({ "key": key, "value": value });
    let options = json!([
        option("ModelRatio", json!(ratios).to_string()),
        option("CompletionRatio", json!(completions).to_string()),
        option("ModelPrice", r#"{"mj_imagine":0.1}"#.to_owned()),
        option("GroupRatio", r#"{"default":1,"vip":0.8}"#.to_owned()),
        option("SystemName", "not JSON".to_owned()),
    ]);
    for (name, rows) in [
        ("channels", json!(channels)),
        ("users", json!(users)),
        ("tokens", json!(tokens)),
        ("options", options),
    ] {
        cli.write(&format!("export/{name}.json"), &rows.to_string());
    }
}

const NEW_API: [&str; 3] = ["import", "new-api", "export"];
const BALANCES: &str = "SELECT concat_ws(' ', i.external_id, a.paid_posted)
    FROM app.imported_account AS i JOIN ledger.account AS a ON a.id = i.account_id
    ORDER BY i.external_id::bigint";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_imports_users_of_new_api_once_and_their_balances_are_equal_to_the_cent() {
    let simulator = Simulator::start(Settings::default()).await.unwrap();
    let cli = cli().await;
    new_api_tables(&cli, &simulator.base_url());
    let dry = cli.json(&NEW_API);
    assert_eq!(
        dry["users"],
        json!({ "added": USERS - 1, "there": 0 }),
        "{dry}"
    );
    assert_eq!(dry["channels"]["added"], CHANNELS, "{dry}");
    assert_eq!(dry["models"]["added"], 19, "{dry}");
    assert_eq!(cli.db.ask(BALANCES).await, Vec::<String>::new());
    let accounts = "SELECT count(*)::text FROM app.account";
    assert_eq!(
        cli.db.ask(accounts).await,
        ["0"],
        "a dry run changes nothing"
    );

    let done = cli.json(&[&NEW_API[..], &["--apply", "--keys-file", "keys.csv"]].concat());
    assert_eq!(done["users"], dry["users"]);
    // The tokens of all but the deleted user.
    assert_eq!(done["keys"], 19, "{done}");
    let expected: Vec<String> = (1..=USERS)
        .filter(|user| *user != 10)
        .map(|user| format!("{user} {}", quota(user).max(0) * QUOTA))
        .collect();
    assert_eq!(cli.db.ask(BALANCES).await, expected);
    let skipped = remarks(&done, "skipped");
    assert!(has(&skipped, "model new-19", "no price"), "{skipped:?}");
    assert!(has(&skipped, "channel 51", "type 2"), "{skipped:?}");
    assert!(has(&skipped, "user user10", "deleted"), "{skipped:?}");
    let differences = remarks(&done, "differences");
    assert!(
        has(&differences, "user user8", "owes -1 USD"),
        "{differences:?}"
    );
    assert!(!done.to_string().contains(CANARY), "{done}");
    let suspended = "SELECT name FROM app.account WHERE suspended_at IS NOT NULL";
    assert_eq!(cli.db.ask(suspended).await, ["user9"]);
    let vip = "SELECT count(*)::text FROM app.account WHERE group_name = 'vip'";
    assert_eq!(cli.db.ask(vip).await, ["99"]);
    let states =
        "SELECT concat(state, ' ', count(*)) FROM app.channel GROUP BY state ORDER BY state";
    assert_eq!(cli.db.ask(states).await, ["active 45", "off 5"]);
    let priorities =
        "SELECT concat(name, ' ', priority) FROM app.channel WHERE name ~ '-[123]$' ORDER BY name";
    assert_eq!(
        cli.db.ask(priorities).await,
        ["new-api-1 1", "new-api-2 0", "new-api-3 2"],
        "the highest is tried first there, the lowest here"
    );

    let caps = cli
        .db
        .ask("SELECT limit_nanos::text FROM ledger.budget")
        .await;
    assert_eq!(caps, ["500000000"], "250,000 of a token are half a USD");
    imported_keys_are_served(&cli);
    let twice = cli.json(&[&NEW_API[..], &["--apply"]].concat());
    assert_eq!(twice["users"], json!({ "added": 0, "there": USERS - 1 }));
    assert_eq!(
        (&twice["channels"]["added"], &twice["balance_usd"]),
        (&json!(0), &json!("0"))
    );
    let booked = "SELECT count(*)::text FROM ledger.top_up WHERE provider = 'import'";
    assert_eq!(cli.db.ask(booked).await, [(USERS - 3).to_string()]);
    let audited = cli.run_as(Role::Audit, &["audit"]);
    assert_eq!(audited.code, Some(0), "{audited:?}");
    simulator.stop().await;
}

/// Calls with a key of a group at a ratio of 1 and with one that has a cap.
fn imported_keys_are_served(cli: &AdminCli) {
    let file = cli.path("keys.csv");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let lines = String::from_utf8(std::fs::read(&file).unwrap()).unwrap();
    let row = |user: &str| {
        let start = format!("\"{user}\"");
        let line = lines
            .lines()
            .find(|line| line.split(',').nth(1) == Some(&start));
        let cells = line
            .unwrap()
            .split(',')
            .map(|cell| cell.trim_matches('"').to_owned());
        cells.collect::<Vec<String>>()
    };
    let serving = Serving::start(cli);
    for user in ["user1", "user2", "user20"] {
        let cells = row(user);
        let [account, _, email, name, key] = &cells[..] else {
            panic!("{cells:?}");
        };
        assert_eq!(
            (email, name.as_str()),
            (&format!("{user}@example.com"), "laptop")
        );
        let account: i64 = account.parse().unwrap();
        let before = paid(cli, account);
        let (cost, answer) = chat(&serving.edge, key, "new-4");
        let usage = &answer["usage"];
        let count = |name: &str| usage[name].as_i64().unwrap();
        // 1 USD a million in and 4 out, and four fifths of that for vip.
        let nanos = (count("prompt_tokens") + 4 * count("completion_tokens")) * 1_000;
        let nanos = if user == "user20" {
            nanos * 4 / 5
        } else {
            nanos
        };
        assert_eq!(cost, Money::from_nanos(nanos), "{user}: {answer}");
        assert_eq!(
            paid(cli, account),
            before.checked_sub(cost).unwrap(),
            "{user}"
        );
    }
}
