//! The first page: balance, burn rate and what went wrong lately.

use serde_json::{Value, json};
use trunkline_ledger::Outcome;
use trunkline_store::people::Role;

use crate::customer::harness::{CallSpec, CustomerConsole, field};

#[tokio::test]
async fn an_empty_organisation_sees_zeros_and_what_it_lacks() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let browser = harness.member(account, Role::Viewer).await;
    let home = harness.read(&browser, "/api/home").await;
    assert_eq!(
        (&home["has_key"], &home["has_called"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(
        (&home["burn_per_day_usd"], &home["days_left"]),
        (&json!("0"), &Value::Null)
    );
    assert_eq!(home["low_balance_threshold_usd"], Value::Null);
    let days = home["days"].as_array().unwrap();
    assert_eq!(days.len(), 14);
    assert!(
        days.iter()
            .all(|day| day["calls"] == 0 && day["spent_usd"] == "0")
    );
    let mut names = field(days, "day");
    let listed = names.clone();
    names.sort();
    assert_eq!(listed, names, "oldest first");
    assert_eq!(
        (&home["last_errors"], &home["failing_models"]),
        (&json!([]), &json!([]))
    );
}

#[tokio::test]
async fn calls_of_today_are_summed_up_and_failures_are_told() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 100_000_000, 0).await;
    let browser = harness.member(account, Role::Owner).await;
    harness.key(&browser, "laptop").await;
    for _ in 0..4 {
        harness.call(account, CallSpec::default()).await;
    }
    let refunded = harness.call(account, CallSpec::default()).await;
    harness.refund(account, refunded, 400_000).await;
    let failing = || CallSpec {
        model: "painter".to_owned(),
        outcome: Outcome::UpstreamFailed,
        ..CallSpec::default()
    };
    let mut last = Vec::new();
    for _ in 0..6 {
        last.push(harness.call(account, failing()).await.to_string());
    }
    let home = harness.read(&browser, "/api/home").await;
    assert_eq!(
        (&home["calls_today"], &home["failed_today"]),
        (&json!(11), &json!(6))
    );
    assert_eq!(home["spent_today_usd"], "0.0016");
    assert_eq!(home["spent_yesterday_usd"], "0");
    assert_eq!(home["spent_30_days_usd"], "0.0016");
    assert_eq!(
        home["burn_per_day_usd"], "0.0016",
        "a first day counts whole"
    );
    assert_eq!(home["days_left"], (100_000_000 - 1_600_000) / 1_600_000);
    assert_eq!(home["days"][13]["calls"], 11);
    assert_eq!(
        home["failing_models"],
        json!([{ "model": "painter", "calls": 6, "failed": 6 }])
    );
    last.reverse();
    let errors = field(home["last_errors"].as_array().unwrap(), "request_id");
    assert_eq!(errors, last[..5]);
    assert_eq!(
        (&home["has_key"], &home["has_called"]),
        (&json!(true), &json!(true))
    );
}

#[tokio::test]
async fn days_that_are_over_stay_and_old_ones_leave_the_rate() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 100_000_000, 0).await;
    let browser = harness.member(account, Role::Owner).await;
    harness.call(account, CallSpec::default()).await;
    harness.db.shift_clock(86_400).await;
    let home = harness.read(&browser, "/api/home").await;
    assert_eq!(
        (&home["spent_today_usd"], &home["spent_yesterday_usd"]),
        (&json!("0"), &json!("0.0004"))
    );
    assert_eq!(
        (&home["calls_today"], &home["days"][12]["calls"]),
        (&json!(0), &json!(1))
    );
    let rate: String = home["burn_per_day_usd"].as_str().unwrap().to_owned();
    assert_ne!(rate, "0");
    harness.db.shift_clock(5 * 86_400).await;
    let home = harness.read(&browser, "/api/home").await;
    assert_ne!(
        home["burn_per_day_usd"],
        rate.as_str(),
        "spread over more days"
    );
    // Sign-ins end when they are silent for a week, so another person looks then.
    harness.db.shift_clock(5 * 86_400).await;
    let later = harness.member(account, Role::Viewer).await;
    let home = harness.read(&later, "/api/home").await;
    assert_eq!(
        (&home["burn_per_day_usd"], &home["days_left"]),
        (&json!("0"), &Value::Null)
    );
    assert_eq!(
        (&home["spent_30_days_usd"], &home["has_called"]),
        (&json!("0.0004"), &json!(true))
    );
}
