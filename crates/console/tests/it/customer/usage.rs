//! Sums of what was used: the ledger's own, as pages and as a table.

use serde_json::{Value, json};
use trunkline_ledger::Outcome;
use trunkline_store::people::Role;
use trunkline_types::Money;

use crate::customer::harness::{CallSpec, CustomerConsole};

#[tokio::test]
async fn sums_are_apart_for_what_is_asked_and_come_to_the_same_total() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 1_000_000_000, 0).await;
    let browser = harness.member(account, Role::Owner).await;
    let (key, _) = harness.key(&browser, "laptop").await;
    let keyed = CallSpec {
        key: Some(key),
        ..CallSpec::default()
    };
    let charged = harness.call(account, keyed).await;
    harness.refund(account, charged, 100_000).await;
    let painted = CallSpec {
        model: "painter".to_owned(),
        endpoint: "images".to_owned(),
        nanos: 20_000_000,
        ..CallSpec::default()
    };
    harness.call(account, painted).await;
    let failed = CallSpec {
        outcome: Outcome::NoResult,
        ..CallSpec::default()
    };
    harness.call(account, failed).await;
    for (by, lines) in [
        ("day", 1),
        ("model", 2),
        ("key", 2),
        ("endpoint", 2),
        ("day,key,model,endpoint", 3),
    ] {
        let report = harness
            .read(&browser, &format!("/api/usage?group_by={by}"))
            .await;
        let data = report["data"].as_array().unwrap();
        assert_eq!(data.len(), lines, "{by}: {data:?}");
        let totals = &report["totals"];
        assert_eq!(
            (&totals["calls"], &totals["failed_calls"]),
            (&json!(3), &json!(1)),
            "{by}"
        );
        assert_eq!(totals["charged_usd"], "0.0204");
        assert_eq!(totals["refunded_usd"], "0.0001");
        assert_eq!(totals["spent_usd"], "0.0203");
        let sum: i64 = data.iter().map(|line| nanos(&line["charged_usd"])).sum();
        assert_eq!(sum, nanos(&totals["charged_usd"]), "{by}");
        for word in ["day", "model", "endpoint"] {
            let apart = by.split(',').any(|one| one == word);
            assert_eq!(data[0].get(word).is_some(), apart, "{by} {word}");
        }
        assert_eq!(data[0].get("key_id").is_some(), by.contains("key"), "{by}");
        assert_eq!(
            (&report["timezone"], &report["truncated"]),
            (&json!("UTC"), &json!(false))
        );
    }
    let by_key = harness.read(&browser, "/api/usage?group_by=key").await;
    let lines = by_key["data"].as_array().unwrap();
    assert_eq!(
        (&lines[0]["key_id"], &lines[0]["key_name"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        (&lines[1]["key_id"], &lines[1]["key_name"]),
        (&json!(key.number()), &json!("laptop"))
    );
    let one = harness
        .read(&browser, &format!("/api/usage?key={key}&model=open-chat"))
        .await;
    assert_eq!(one["totals"]["calls"], 1);
}

fn nanos(amount: &Value) -> i64 {
    amount.as_str().unwrap().parse::<Money>().unwrap().nanos()
}

#[tokio::test]
async fn an_account_without_calls_has_sums_of_nothing() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let browser = harness.member(account, Role::Viewer).await;
    let report = harness.read(&browser, "/api/usage").await;
    assert_eq!(report["data"], json!([]));
    assert_eq!(
        (&report["totals"]["calls"], &report["totals"]["charged_usd"]),
        (&json!(0), &json!("0"))
    );
}

#[tokio::test]
async fn a_table_is_safe_to_open_in_a_spreadsheet() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 1_000_000_000, 0).await;
    let browser = harness.member(account, Role::Owner).await;
    let (key, _) = harness
        .key(&browser, "=HYPERLINK(\"http://x.example\",\"pay\")")
        .await;
    let spec = CallSpec {
        key: Some(key),
        model: "@sum, or \"other\"".to_owned(),
        ..CallSpec::default()
    };
    harness.call(account, spec).await;
    let got = harness
        .get(&browser, "/api/usage.csv?group_by=day,key,model")
        .await;
    assert_eq!(got.status.as_u16(), 200, "{got:?}");
    assert_eq!(got.header("content-type"), "text/csv; charset=utf-8");
    assert!(
        got.header("content-disposition")
            .starts_with("attachment; filename=\"usage-20")
    );
    let text = String::from_utf8(got.body.to_vec()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "day,key_id,key_name,model,calls,failed_calls,input_units,output_units,charged_usd,refunded_usd,spent_usd"
    );
    let expected = format!(
        ",{key},\"'=HYPERLINK(\"\"http://x.example\"\",\"\"pay\"\")\",\"'@sum, or \"\"other\"\"\",1,0,12,5,0.0004,0,0.0004"
    );
    assert!(lines[1].ends_with(&expected), "{}", lines[1]);
    assert_eq!(lines.len(), 2);
}

#[tokio::test]
async fn days_that_make_no_sense_are_refused() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let browser = harness.member(account, Role::Viewer).await;
    for path in ["/api/usage", "/api/usage.csv"] {
        for (query, param) in [
            ("from=2026-11-02&to=2026-11-01", "from"),
            ("from=2020-01-01&to=2026-11-01", "from"),
            ("from=1.1.2026", "from"),
            ("to=today", "to"),
            ("group_by=week", "group_by"),
            ("group_by=group", "group_by"),
        ] {
            let got = harness.get(&browser, &format!("{path}?{query}")).await;
            let error = got.error(400, "invalid_request");
            assert_eq!(error["param"], param, "{path} {query}");
        }
    }
}
