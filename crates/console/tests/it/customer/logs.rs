//! Single calls: found by what people remember of them, and looked into.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trunkline_ledger::Outcome;
use trunkline_store::people::Role;
use trunkline_types::{AccountId, KeyId, RequestId};

use crate::customer::harness::{CallSpec, CustomerConsole, field};

struct Calls {
    account: AccountId,
    key: KeyId,
    cheap: RequestId,
    dear: RequestId,
    failed: RequestId,
    keyed: RequestId,
}

async fn calls(harness: &CustomerConsole, account: AccountId, key: KeyId) -> Calls {
    let cheap = harness.call(account, CallSpec::default()).await;
    let dear = CallSpec {
        model: "painter".to_owned(),
        endpoint: "images".to_owned(),
        nanos: 20_000_000,
        ..CallSpec::default()
    };
    let dear = harness.call(account, dear).await;
    let failed = CallSpec {
        outcome: Outcome::UpstreamTimeout,
        ..CallSpec::default()
    };
    let failed = harness.call(account, failed).await;
    let keyed = CallSpec {
        key: Some(key),
        ..CallSpec::default()
    };
    let keyed = harness.call(account, keyed).await;
    Calls {
        account,
        key,
        cheap,
        dear,
        failed,
        keyed,
    }
}

#[tokio::test]
async fn calls_are_found_by_key_model_outcome_cost_time_and_id() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 100_000_000, 0).await;
    let browser = harness.member(account, Role::Owner).await;
    let (key, _) = harness.key(&browser, "laptop").await;
    let made = calls(&harness, account, key).await;
    let all = [&made.keyed, &made.failed, &made.dear, &made.cheap];
    let begins = made.dear.to_string();
    let cases: Vec<(String, Vec<&RequestId>)> = vec![
        (String::new(), all.to_vec()),
        (format!("key={}", made.key), vec![&made.keyed]),
        ("model=painter".to_owned(), vec![&made.dear]),
        ("endpoint=images".to_owned(), vec![&made.dear]),
        ("outcome=failed".to_owned(), vec![&made.failed]),
        ("outcome=upstream_timeout".to_owned(), vec![&made.failed]),
        ("outcome=refused".to_owned(), vec![]),
        (
            "outcome=charged".to_owned(),
            vec![&made.keyed, &made.dear, &made.cheap],
        ),
        (
            "outcome=complete".to_owned(),
            vec![&made.keyed, &made.dear, &made.cheap],
        ),
        ("min_cost_usd=0.02".to_owned(), vec![&made.dear]),
        (
            "min_cost_usd=0.0004".to_owned(),
            vec![&made.keyed, &made.dear, &made.cheap],
        ),
        (
            "min_cost_usd=0.0004&model=open-chat".to_owned(),
            vec![&made.keyed, &made.cheap],
        ),
        (format!("key={}&outcome=failed", made.key), vec![]),
        ("from=2020-01-01".to_owned(), all.to_vec()),
        ("to=2020-01-01".to_owned(), vec![]),
        (
            "from=2020-01-01&to=2020-12-31&model=painter".to_owned(),
            vec![],
        ),
        (format!("q={begins}"), vec![&made.dear]),
        (format!("q={}", &begins[..34]), vec![&made.dear]),
        ("q=req_0000000000".to_owned(), vec![]),
    ];
    for (query, expected) in cases {
        let page = harness.read(&browser, &format!("/api/logs?{query}")).await;
        let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        let found = field(page["data"].as_array().unwrap(), "request_id");
        assert_eq!(found, expected, "{query}");
        assert_eq!(page["next"], Value::Null, "{query}");
        assert_eq!(page["searched_to"], Value::Null, "{query}");
    }
    let page = harness.read(&browser, "/api/logs?limit=1").await;
    let row = &page["data"][0];
    assert_eq!(page["next"], made.keyed.to_string());
    assert_eq!(row["key_id"], made.key.number());
    assert_eq!(row["key_name"], "laptop");
    assert_eq!(
        (&row["cost_usd"], &row["charged"]),
        (&json!("0.0004"), &json!(true))
    );
    assert_eq!(
        (&row["input_units"], &row["output_units"]),
        (&json!(12), &json!(5))
    );
    assert!(row["latency_ms"].as_i64().unwrap() >= 0);
    assert_eq!(made.account, account);
}

#[tokio::test]
async fn a_question_that_makes_no_sense_names_what_is_wrong() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let browser = harness.member(account, Role::Viewer).await;
    for (query, param) in [
        ("from=yesterday", "from"),
        ("to=2026-02-30", "to"),
        ("outcome=fine", "outcome"),
        ("min_cost_usd=-1", "min_cost_usd"),
        ("min_cost_usd=1e3", "min_cost_usd"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("q=req_12", "q"),
        ("q=%25%25%25%25%25%25%25%25", "q"),
        ("after=here", "after"),
        ("key=0", "key"),
        ("model=", "model"),
    ] {
        let got = harness.get(&browser, &format!("/api/logs?{query}")).await;
        let error = got.error(400, "invalid_request");
        assert_eq!(error["param"], param, "{query}");
    }
    let got = harness.get(&browser, "/api/logs?colour=red").await;
    got.error(400, "invalid_request");
}

#[tokio::test]
async fn pages_go_to_the_end_without_holes_or_doubles_while_calls_arrive() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 1_000_000_000, 0).await;
    let browser = harness.member(account, Role::Viewer).await;
    let mut before = BTreeSet::new();
    for number in 0..23 {
        let spec = CallSpec {
            model: format!("model-{}", number % 2),
            ..CallSpec::default()
        };
        before.insert(harness.call(account, spec).await.to_string());
    }
    let mut seen: Vec<String> = Vec::new();
    let mut next: Option<String> = None;
    loop {
        let path = match &next {
            Some(next) => format!("/api/logs?limit=5&after={next}"),
            None => "/api/logs?limit=5".to_owned(),
        };
        let page = harness.read(&browser, &path).await;
        seen.extend(field(page["data"].as_array().unwrap(), "request_id"));
        harness.call(account, CallSpec::default()).await;
        match page["next"].as_str() {
            Some(text) => next = Some(text.to_owned()),
            None => break,
        }
    }
    let found: BTreeSet<String> = seen.iter().cloned().collect();
    assert_eq!(found.len(), seen.len(), "none comes twice");
    assert_eq!(
        found, before,
        "none is missing, and none is newer than the first page"
    );
    let mut sorted = seen.clone();
    sorted.sort_by(|one, other| other.cmp(one));
    assert_eq!(seen, sorted, "newest first");
    let (narrow, _) = harness
        .pages(&browser, "/api/logs?limit=3&model=model-1")
        .await;
    assert_eq!(narrow.len(), 11);
}

#[tokio::test]
async fn a_call_is_shown_whole_and_nothing_of_it_is_the_operators_alone() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 100_000_000, 100_000).await;
    let browser = harness.member(account, Role::Viewer).await;
    let spec = CallSpec {
        attempts: json!([
            { "channel": 70_001, "status": 503, "error": "failed", "ms": 40 },
            { "channel": 70_002, "status": null, "error": "timeout", "ms": 0 },
            { "channel": 70_001, "status": 200, "error": null, "ms": 812 },
        ]),
        warnings: vec!["unknown_field".to_owned(), "made_up".to_owned()],
        ..CallSpec::default()
    };
    let request = harness.call(account, spec).await;
    harness.refund(account, request, 50_000).await;
    let path = format!("/api/logs/{request}");
    let got = harness.get(&browser, &path).await;
    assert_eq!(got.status.as_u16(), 200, "{got:?}");
    let view = got.json();
    assert_eq!(
        (&view["paid_usd"], &view["trial_usd"]),
        (&json!("0.0003"), &json!("0.0001"))
    );
    assert_eq!(
        (&view["cost_usd"], &view["refunded_usd"]),
        (&json!("0.0004"), &json!("0.00005"))
    );
    assert_eq!(
        (&view["group"], &view["tier"]),
        (&json!("default"), &json!("standard"))
    );
    assert_eq!(view["price_version"], "07".repeat(32));
    let attempts = view["attempts"].as_array().unwrap();
    assert_eq!(
        field(attempts, "channel"),
        ["upstream 1", "upstream 2", "upstream 1"]
    );
    assert_eq!(
        field(attempts, "outcome"),
        ["failed", "timeout", "answered"]
    );
    assert_eq!(attempts[0]["status"], 503);
    assert_eq!(attempts[2]["latency_ms"], 812);
    assert_eq!(
        view["units"],
        json!([{ "name": "input", "count": 12 }, { "name": "output", "count": 5 }])
    );
    assert_eq!(view["measured"].as_array().unwrap().len(), 2);
    assert_eq!(
        view["lines"],
        Value::Null,
        "that version of prices was never stored"
    );
    let kinds = field(view["transfers"].as_array().unwrap(), "kind");
    assert_eq!(kinds.iter().filter(|kind| *kind == "charge").count(), 2);
    let back = view["transfers"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&back["kind"], &back["direction"]),
        (&json!("settlement_adjustment"), &json!("in"))
    );
    let explained = view["warnings_explained"].as_array().unwrap();
    assert!(
        explained[0]["text"].as_str().unwrap().contains("nearest"),
        "{explained:?}"
    );
    assert_eq!(explained[1]["code"], "made_up");
    assert_eq!(view["task_id"], Value::Null);
    // Neither the channels' numbers nor what the call cost us.
    let body = String::from_utf8(got.body.to_vec()).unwrap();
    for secret in ["70001", "70002", "987654", "0.000987654"] {
        assert!(!body.contains(secret), "{secret}: {body}");
    }
}

#[tokio::test]
async fn a_failed_call_costs_nothing_and_has_no_lines() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 1_000_000, 0).await;
    let browser = harness.member(account, Role::Viewer).await;
    let spec = CallSpec {
        outcome: Outcome::Refused,
        ..CallSpec::default()
    };
    let request = harness.call(account, spec).await;
    let view = harness
        .read(&browser, &format!("/api/logs/{request}"))
        .await;
    assert_eq!(
        (&view["charged"], &view["cost_usd"]),
        (&json!(false), &json!("0"))
    );
    assert_eq!(
        (&view["lines"], &view["transfers"]),
        (&json!([]), &json!([]))
    );
}
