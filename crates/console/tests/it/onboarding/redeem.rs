//! Codes: worth something once, to the account that is first.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_console::SignUp;
use trunkline_db::{PoolSettings, Role as DbRole, connect};
use trunkline_store::people::Role;
use trunkline_store::redemption_codes::{self, RedemptionCode, Wallet};
use trunkline_testkit::{Db, SystemClock, all_at_once};
use trunkline_types::Clock as _;

use crate::onboarding::harness::OnboardingConsole;

const PATH: &str = "/api/wallet/redeem";

fn body(code: &str) -> Value {
    json!({ "code": code })
}

#[tokio::test]
async fn a_code_is_worth_its_amount_once() {
    let harness = OnboardingConsole::with(|_| {}).await;
    let (person, account) = harness.member("ada@example.com", Role::Owner).await;
    let mut ada = harness.signed_in(person, false).await;
    let code = harness.code("5", Wallet::Paid, None).await;
    let redeemed = ada.done(PATH, &body(&code)).await;
    let expected = json!({
        "amount_usd": "5",
        "wallet": "paid",
        "balance": {
            "paid_usd": "5", "trial_usd": "0", "reserved_usd": "0", "available_usd": "5",
            "trial_expires_at": null, "is_low": false,
        },
    });
    assert_eq!(redeemed, expected);
    let typed = code.to_lowercase().replace('-', " ");
    assert_eq!(
        ada.done(PATH, &body(&typed)).await,
        expected,
        "the same answer, booked once"
    );
    assert_eq!(
        harness.balance(account).await,
        ("5".to_owned(), "0".to_owned(), true)
    );

    let trial_code = harness.code("0.25", Wallet::Trial, None).await;
    let redeemed = ada.done(PATH, &body(&trial_code)).await;
    assert_eq!(
        (&redeemed["wallet"], &redeemed["balance"]["trial_usd"]),
        (&"trial".into(), &"0.25".into())
    );
    let (other, _) = harness.member("bob@example.com", Role::Owner).await;
    let mut bob = harness.signed_in(other, false).await;
    bob.post(PATH, &body(&code))
        .await
        .error(400, "code_invalid");
    harness.audit().await;
}

#[tokio::test]
async fn trial_credit_is_no_top_up_and_a_paid_code_is_one() {
    let harness = OnboardingConsole::with(|_| {}).await;
    let (person, account) = harness.member("ada@example.com", Role::Owner).await;
    let mut ada = harness.signed_in(person, false).await;
    let trial_code = harness.code("1", Wallet::Trial, None).await;
    ada.done(PATH, &body(&trial_code)).await;
    assert!(!harness.balance(account).await.2);
    let paid = harness.code("1", Wallet::Paid, None).await;
    ada.done(PATH, &body(&paid)).await;
    assert!(harness.balance(account).await.2);
    harness.audit().await;
}

#[tokio::test]
async fn every_code_that_is_not_good_is_answered_alike() {
    let harness = OnboardingConsole::with(|_| {}).await;
    let (person, account) = harness.member("ada@example.com", Role::Owner).await;
    let (other, _) = harness.member("bob@example.com", Role::Owner).await;
    let mut ada = harness.signed_in(person, false).await;
    let mut bob = harness.signed_in(other, false).await;
    bob.address = "203.0.113.9".to_owned();
    let used = harness.code("1", Wallet::Paid, None).await;
    bob.done(PATH, &body(&used)).await;
    let expired = harness
        .code("1", Wallet::Paid, Some(SystemClock.now().plus_seconds(60)))
        .await;
    harness.db.shift_clock(61).await;
    let revoked = harness.code("1", Wallet::Paid, None).await;
    let mut tx = harness.people.begin().await.unwrap();
    assert_eq!(
        redemption_codes::revoke(&mut tx, None, Some("b"))
            .await
            .unwrap(),
        2
    );
    tx.commit().await.unwrap();
    let unknown = RedemptionCode::new(&[9; redemption_codes::CODE_RANDOM_BYTES]).reveal();
    let mut reply = Vec::new();
    for code in [
        &used,
        &expired,
        &revoked,
        &unknown,
        "TL-0000-0000-0000-0001",
        "",
        "nonsense",
    ] {
        let mut error = ada.post(PATH, &body(code)).await.error(400, "code_invalid");
        assert_eq!(error["param"], "code");
        assert_eq!(error["charged"], false);
        error["request_id"] = Value::Null;
        reply.push(error);
    }
    reply.dedup();
    assert_eq!(reply.len(), 1, "{reply:?}");
    assert_eq!(harness.balance(account).await.0, "0");
    harness.audit().await;
}

#[tokio::test]
async fn of_many_accounts_at_once_one_gets_it() {
    let harness = OnboardingConsole::with(|_| {}).await;
    let code = harness.code("5", Wallet::Paid, None).await;
    let mut accounts = Vec::new();
    let mut visitors = Vec::new();
    for number in 0..4 {
        let (person, account) = harness
            .member(&format!("p{number}@example.com"), Role::Owner)
            .await;
        accounts.push(account);
        visitors.push(harness.signed_in(person, false).await);
        visitors.push(harness.signed_in(person, false).await);
    }
    let code = code.as_str();
    let tries = visitors
        .into_iter()
        .map(|mut visitor| async move { visitor.post(PATH, &body(code)).await.status.as_u16() });
    let statuses = all_at_once(tries.collect()).await;
    assert_eq!(
        statuses.iter().filter(|status| **status == 200).count(),
        2,
        "{statuses:?}"
    );
    let mut paid = Vec::new();
    for account in accounts {
        paid.push(harness.balance(account).await.0);
    }
    paid.sort();
    assert_eq!(paid, ["0", "0", "0", "5"]);
    harness.audit().await;
}

#[tokio::test]
async fn guessing_is_bounded_by_account_and_by_network() {
    let harness = OnboardingConsole::with(|_| {}).await;
    let code = harness.code("5", Wallet::Paid, None).await;
    let mut last = None;
    for number in 0..4 {
        let (person, _) = harness
            .member(&format!("p{number}@example.com"), Role::Owner)
            .await;
        let mut visitor = harness.signed_in(person, false).await;
        if number == 3 {
            // The network has had its thirty tries by now.
            visitor
                .post(PATH, &body(&code))
                .await
                .error(429, "too_many_attempts");
            visitor.address = "203.0.113.1".to_owned();
            visitor.done(PATH, &body(&code)).await;
            continue;
        }
        for _ in 0..10 {
            visitor
                .post(PATH, &body("nonsense"))
                .await
                .error(400, "code_invalid");
        }
        last = Some(visitor);
    }
    let mut visitor = last.unwrap();
    visitor.address = "203.0.113.1".to_owned();
    let got = visitor.post(PATH, &body(&code)).await;
    got.error(429, "too_many_attempts");
    harness.db.shift_clock(3_601).await;
    visitor
        .post(PATH, &body(&code))
        .await
        .error(400, "code_invalid");
    harness.audit().await;
}

#[tokio::test]
async fn only_a_role_with_wallet_rights_redeems() {
    let harness = OnboardingConsole::with(|settings| settings.sign_up = SignUp::Closed).await;
    let code = harness.code("5", Wallet::Paid, None).await;
    for (number, role) in Role::ALL.into_iter().enumerate() {
        let (person, _) = harness
            .member(&format!("p{number}@example.com"), role)
            .await;
        let mut visitor = harness.signed_in(person, false).await;
        let got = visitor.post(PATH, &body(&code)).await;
        match role {
            Role::Owner => assert_eq!(got.status.as_u16(), 200),
            // The first one had it.
            Role::Admin | Role::Billing => drop(got.error(400, "code_invalid")),
            Role::Developer | Role::Viewer => drop(got.error(403, "role_not_allowed")),
        }
    }
    harness
        .visitor()
        .post(PATH, &body(&code))
        .await
        .error(401, "not_signed_in");
}

#[tokio::test]
async fn a_line_that_breaks_at_the_commit_leaves_both_or_neither() {
    let db = Db::fresh().await;
    let wire = db.wire();
    let url = db.url_through(&wire, DbRole::Console);
    let patient = Duration::from_secs(30);
    let settings = PoolSettings {
        acquire_timeout: patient,
        statement_timeout: patient,
        lock_timeout: patient,
        answer_timeout: patient,
        ..PoolSettings::named("test")
    };
    let people = connect(&url, DbRole::Console, settings).await.unwrap();
    let harness = OnboardingConsole::over(db, people, |_| {}).await;
    let beside = harness.db.connect(DbRole::Console).await;
    let (person, account) = harness.member("ada@example.com", Role::Owner).await;
    let mut ada = harness.signed_in(person, false).await;
    for is_lost in [true, false] {
        let code = harness.code("1", Wallet::Paid, None).await;
        let text = RedemptionCode::parse(&code).unwrap();
        // Another transaction holds the code, so that the trap is laid between the count of tries and the booking.
        let mut held = beside.begin().await.unwrap();
        assert!(
            redemption_codes::find_for_update(&mut held, &text)
                .await
                .unwrap()
                .is_some()
        );
        let laid = async {
            let waits = "SELECT count(*)::text FROM pg_locks WHERE NOT granted";
            while harness.db.ask(waits).await != ["1"] {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            if is_lost {
                wire.cut_before_commit();
            } else {
                wire.cut_after_commit();
            }
            held.rollback().await.unwrap();
        };
        let sent = body(&code);
        let (broken, ()) = tokio::join!(ada.post(PATH, &sent), laid);
        let error = broken.error(503, "temporarily_unavailable");
        assert_eq!(error["retryable"], true);
        let booked = "SELECT count(*)::text FROM ledger.top_up WHERE provider = 'code'";
        let booked = harness.db.ask(booked).await;
        assert_eq!(booked, [if is_lost { "0" } else { "2" }]);
        harness.audit().await;
        let repeated = ada.done(PATH, &body(&code)).await;
        assert_eq!(repeated["amount_usd"], "1");
    }
    assert_eq!(harness.balance(account).await.0, "2");
    harness.audit().await;
}
