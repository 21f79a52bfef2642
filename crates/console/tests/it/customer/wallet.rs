//! The wallets: what is in them, every movement, and the threshold below which the account is notified.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};
use trunkline_db::events;
use trunkline_ledger::Outcome;
use trunkline_ledger::accounts::{self, Adjust, AdjustAnswer, Wallet};
use trunkline_store::people::Role;
use trunkline_types::{AccountId, Money};

use crate::customer::harness::{Browser, CallSpec, CustomerConsole, field};

async fn adjust(
    harness: &CustomerConsole,
    account: AccountId,
    wallet: Wallet,
    nanos: i64,
    reason: &str,
) {
    let word = Adjust {
        request: harness.request(),
        account,
        wallet,
        amount: Money::from_nanos(nanos),
        reason: reason.to_owned(),
        actor: "mallory@operator.example".to_owned(),
    };
    let mut tx = harness.people.begin().await.unwrap();
    let answer = accounts::adjust(&mut tx, &word).await.unwrap();
    assert_eq!(answer, AdjustAnswer::Done);
    tx.commit().await.unwrap();
}

/// An account to which everything has happened that can.
async fn busy(harness: &CustomerConsole) -> (AccountId, Browser) {
    let account = harness.firm("Acme", 1_000_000_000, 700_000).await;
    let browser = harness.member(account, Role::Billing).await;
    for number in 0..9 {
        let outcome = if number % 3 == 2 {
            Outcome::UpstreamFailed
        } else {
            Outcome::Complete
        };
        let spec = CallSpec {
            outcome,
            ..CallSpec::default()
        };
        let request = harness.call(account, spec).await;
        if number == 0 || number == 4 {
            harness.refund(account, request, 150_000).await;
        }
    }
    harness.pay(account, Wallet::Paid, 5_000_000, "code").await;
    harness.pay(account, Wallet::Trial, 300_000, "code").await;
    adjust(harness, account, Wallet::Paid, -1_000_000, "=paid twice").await;
    adjust(
        harness,
        account,
        Wallet::Trial,
        -200_000,
        "trial credit expired",
    )
    .await;
    (account, browser)
}

fn sum(lines: &[Value], wallet: &str) -> i64 {
    let own = lines.iter().filter(|line| line["wallet"] == wallet);
    own.map(|line| {
        line["amount_usd"]
            .as_str()
            .unwrap()
            .parse::<Money>()
            .unwrap()
            .nanos()
    })
    .sum()
}

#[tokio::test]
async fn all_lines_together_are_the_balance_whatever_the_size_of_pages() {
    let harness = CustomerConsole::new().await;
    let (_, browser) = busy(&harness).await;
    let wallet = harness.read(&browser, "/api/wallet").await;
    let (all, _) = harness
        .pages(&browser, "/api/wallet/ledger?limit=200")
        .await;
    for limit in [1, 2, 3, 7] {
        let path = format!("/api/wallet/ledger?limit={limit}");
        let (paged, _) = harness.pages(&browser, &path).await;
        assert_eq!(paged, all, "pages of {limit}");
    }
    let ids: BTreeSet<String> = field(&all, "id").into_iter().collect();
    assert_eq!(ids.len(), all.len(), "no line comes twice");
    let amount = |name: &str| {
        let text = wallet["balance"][name].as_str().unwrap();
        text.parse::<Money>().unwrap().nanos()
    };
    assert_eq!(sum(&all, "paid"), amount("paid_usd"));
    assert_eq!(sum(&all, "trial"), amount("trial_usd"));
    assert_eq!(
        wallet["balance"]["available_usd"],
        Money::from_nanos(amount("paid_usd") + amount("trial_usd")).to_string()
    );
    // What was used says the same: charges less refunds are what calls took.
    let usage = harness.read(&browser, "/api/usage").await;
    let of_usage = |name: &str| {
        usage["totals"][name]
            .as_str()
            .unwrap()
            .parse::<Money>()
            .unwrap()
            .nanos()
    };
    let of_calls: Vec<Value> = all
        .iter()
        .filter(|line| !line["request_id"].is_null())
        .cloned()
        .collect();
    let took = -(sum(&of_calls, "paid") + sum(&of_calls, "trial"));
    assert_eq!(took, of_usage("charged_usd") - of_usage("refunded_usd"));
    harness.audit().await;
}

#[tokio::test]
async fn lines_say_what_they_are_and_are_found_by_it() {
    let harness = CustomerConsole::new().await;
    let (_, browser) = busy(&harness).await;
    let (all, _) = harness.pages(&browser, "/api/wallet/ledger").await;
    let mut counted = 0;
    for (kind, count) in [
        ("charge", 7),
        ("refund", 0),
        ("settlement_adjustment", 2),
        ("undelivered", 0),
        ("top_up", 1),
        ("trial_grant", 1),
        ("adjust", 1),
        ("redemption", 2),
        ("trial_expiry", 1),
    ] {
        let (found, _) = harness
            .pages(&browser, &format!("/api/wallet/ledger?kind={kind}&limit=2"))
            .await;
        assert!(
            field(&found, "kind").iter().all(|one| one == kind),
            "{kind}"
        );
        let same: Vec<Value> = all
            .iter()
            .filter(|line| line["kind"] == kind)
            .cloned()
            .collect();
        assert_eq!(found, same, "{kind}");
        assert_eq!(found.len(), count, "{kind}: {found:?}");
        counted += count;
    }
    assert_eq!(counted, all.len());
    let one = |kind: &str| all.iter().find(|line| line["kind"] == kind).unwrap();
    assert_eq!(one("charge")["model"], "open-chat");
    assert!(
        one("charge")["amount_usd"]
            .as_str()
            .unwrap()
            .starts_with('-')
    );
    assert!(
        one("charge")["request_id"]
            .as_str()
            .unwrap()
            .starts_with("req_")
    );
    assert_eq!(one("top_up")["request_id"], Value::Null);
    assert!(
        one("top_up")["text"]
            .as_str()
            .unwrap()
            .starts_with("manual pay-")
    );
    assert_eq!(one("adjust")["text"], "=paid twice");
    assert_eq!(one("redemption")["text"], Value::Null);
    let body = all.iter().map(ToString::to_string).collect::<String>();
    assert!(
        !body.contains("mallory"),
        "the actor of a correction is for operators"
    );
    let (none, _) = harness
        .pages(&browser, "/api/wallet/ledger?to=2020-01-01")
        .await;
    assert!(none.is_empty());
    let wrong = harness
        .get(&browser, "/api/wallet/ledger?kind=present")
        .await;
    wrong.error(400, "invalid_request");
    let wrong = harness.get(&browser, "/api/wallet/ledger?after=x").await;
    assert_eq!(wrong.error(400, "invalid_request")["param"], "after");
}

#[tokio::test]
async fn the_table_has_every_line_and_runs_nothing() {
    let harness = CustomerConsole::new().await;
    let (_, browser) = busy(&harness).await;
    let (all, _) = harness.pages(&browser, "/api/wallet/ledger").await;
    let got = harness.get(&browser, "/api/wallet/ledger.csv").await;
    assert_eq!(got.header("content-type"), "text/csv; charset=utf-8");
    assert_eq!(
        got.header("content-disposition"),
        "attachment; filename=\"ledger.csv\""
    );
    let text = String::from_utf8(got.body.to_vec()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "id,at,kind,wallet,amount_usd,request_id,model,text"
    );
    assert_eq!(lines.len(), all.len() + 1);
    assert!(text.contains(",'=paid twice\r\n"), "{text}");
    assert!(text.contains(",-0.0"), "an amount stays a number");
    let one = harness
        .get(&browser, "/api/wallet/ledger.csv?kind=redemption")
        .await;
    assert_eq!(
        String::from_utf8(one.body.to_vec())
            .unwrap()
            .lines()
            .count(),
        3
    );
}

#[tokio::test]
async fn a_low_balance_threshold_is_set_and_accounts_below_it_are_notified() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 1_000_000_000, 0).await;
    let browser = harness.member(account, Role::Billing).await;
    let put = |body: Value| {
        harness.send(
            &browser,
            Method::PUT,
            "/api/wallet/low-balance-threshold",
            Some(body),
        )
    };
    let set = put(json!({ "threshold_usd": "5.5" })).await;
    assert_eq!(set.json()["low_balance_threshold_usd"], "5.5");
    assert_eq!(
        harness.read(&browser, "/api/home").await["low_balance_threshold_usd"],
        "5.5"
    );
    let mut session = harness.data.session().await.unwrap();
    let reported = events::after(&mut session, account, 0, 10).await.unwrap();
    assert_eq!(reported.len(), 1);
    assert_eq!(reported[0].topic, "balance.low");
    for wrong in [
        json!({ "threshold_usd": "0" }),
        json!({ "threshold_usd": "-1" }),
        json!({ "threshold_usd": 5 }),
        json!({}),
    ] {
        put(wrong).await.error(400, "invalid_request");
    }
    let gone = put(json!({ "threshold_usd": null })).await;
    assert_eq!(gone.json()["low_balance_threshold_usd"], Value::Null);
    harness.audit().await;
}

#[tokio::test]
async fn a_balance_is_low_by_spending_not_by_holds_on_every_page() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 1_000_000_000, 0).await;
    let browser = harness.member(account, Role::Billing).await;
    let reply = async || {
        let wallet = harness.read(&browser, "/api/wallet").await;
        let home = harness.read(&browser, "/api/home").await;
        assert_eq!(wallet["balance"], home["balance"]);
        assert_eq!(
            wallet["low_balance_threshold_usd"],
            home["low_balance_threshold_usd"]
        );
        wallet["balance"].clone()
    };
    assert_eq!(reply().await["is_low"], false, "there is no mark");
    let mark = json!({ "threshold_usd": "0.9" });
    let set = harness
        .send(
            &browser,
            Method::PUT,
            "/api/wallet/low-balance-threshold",
            Some(mark),
        )
        .await;
    assert_eq!(set.json()["balance"]["is_low"], false);
    let half = CallSpec {
        nanos: 500_000_000,
        ..CallSpec::default()
    };
    harness.hold(account, &half).await;
    let held = reply().await;
    assert_eq!(held["available_usd"], "0.5");
    assert_eq!(held["is_low"], false, "what is held is not spent yet");
    let fifth = CallSpec {
        nanos: 200_000_000,
        ..CallSpec::default()
    };
    harness.call(account, fifth).await;
    assert_eq!(reply().await["is_low"], true, "0.8 are left of 1");
    let mut session = harness.data.session().await.unwrap();
    let reported = events::after(&mut session, account, 0, 10).await.unwrap();
    let low = reported.iter().filter(|event| event.topic == "balance.low");
    assert_eq!(low.count(), 1, "{reported:?}");
    harness.audit().await;
}

#[tokio::test]
async fn an_empty_organisation_has_nothing_and_says_so() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let browser = harness.member(account, Role::Viewer).await;
    let wallet = harness.read(&browser, "/api/wallet").await;
    assert_eq!(
        wallet["balance"],
        json!({ "paid_usd": "0", "trial_usd": "0", "reserved_usd": "0", "available_usd": "0", "trial_expires_at": null, "is_low": false })
    );
    assert_eq!(
        (&wallet["topped_up_at"], &wallet["budgets"]),
        (&Value::Null, &json!([]))
    );
    let page = harness.read(&browser, "/api/wallet/ledger").await;
    assert_eq!(
        page,
        json!({ "data": [], "next": null, "searched_to": null })
    );
}

#[tokio::test]
async fn members_who_pay_are_emailed_once_each_time_the_balance_falls_below_the_threshold() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 1_000_000_000, 0).await;
    let browser = harness.member(account, Role::Owner).await;
    harness.member(account, Role::Billing).await;
    harness.member(account, Role::Developer).await;
    let other = harness.firm("Bolt", 1_000_000_000, 0).await;
    harness.member(other, Role::Owner).await;
    let put = |body: Value| {
        harness.send(
            &browser,
            Method::PUT,
            "/api/wallet/low-balance-threshold",
            Some(body),
        )
    };
    let notices = async || {
        let query =
            "SELECT format('%s %s %s %s', split_part(to_address, '-', 1), language, balance_nanos,
                threshold_nanos) FROM app.low_balance_notice ORDER BY to_address";
        let notices = harness.db.ask(query).await;
        harness.db.ask("DELETE FROM app.low_balance_notice").await;
        notices
    };
    let set = put(json!({ "threshold_usd": "0.9", "email_language": "zh" })).await;
    let view = set.json();
    assert_eq!(view["low_balance_email"], "zh", "{view}");
    assert_eq!(view["can_send_email"], false, "{view}");
    let spend = async || {
        let call = CallSpec {
            nanos: 200_000_000,
            ..CallSpec::default()
        };
        harness.call(account, call).await;
    };
    assert!(notices().await.is_empty(), "the balance is not low");
    spend().await;
    assert_eq!(
        notices().await,
        [
            "billing zh 800000000 900000000",
            "owner zh 800000000 900000000"
        ]
    );
    spend().await;
    assert!(notices().await.is_empty(), "it is still low");
    harness
        .pay(account, Wallet::Paid, 400_000_000, "manual")
        .await;
    spend().await;
    assert_eq!(notices().await.len(), 2, "it was high in between");
    put(json!({ "threshold_usd": "0.95", "email_language": "en" })).await;
    assert_eq!(notices().await.len(), 2, "the new threshold is above it");
    let none = put(json!({ "threshold_usd": "0.85" })).await;
    assert_eq!(none.json()["low_balance_email"], Value::Null);
    put(json!({ "threshold_usd": "0.97" })).await;
    assert!(notices().await.is_empty(), "no member wants an email");
    let alone = put(json!({ "threshold_usd": null, "email_language": "en" })).await;
    alone.error(400, "invalid_request");
    harness.audit().await;
}
