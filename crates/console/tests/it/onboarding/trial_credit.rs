//! Credit for trying out.

use serde_json::json;
use trunkline_console::{SignUp, Trial};
use trunkline_testkit::all_at_once;

use crate::onboarding::harness::OnboardingConsole;

async fn harness(per_day: u32) -> OnboardingConsole {
    OnboardingConsole::with(|settings| {
        settings.sign_up = SignUp::Open;
        settings.trial = Some(Trial {
            amount: "0.20".parse().unwrap(),
            days: 30,
            per_day,
        });
    })
    .await
}

/// Signs up with an address and says what the trial wallet of the new organisation holds.
async fn given(harness: &OnboardingConsole, email: &str, network: &str) -> String {
    let mut visitor = harness.visitor_at(network);
    assert_eq!(visitor.sign_up(email).await.status.as_u16(), 202);
    let token = harness.token_to(email).await;
    let session = visitor
        .done("/api/email/verify", &json!({ "token": token }))
        .await;
    let account = trunkline_types::AccountId::new(session["account"]["id"].as_i64().unwrap());
    let (paid, trial, topped_up) = harness.balance(account).await;
    assert_eq!((paid.as_str(), topped_up), ("0", false));
    trial
}

#[tokio::test]
async fn a_verified_address_is_given_credit_once_however_it_is_spelled() {
    let harness = harness(100).await;
    let session = harness.visitor().session().await;
    assert_eq!(
        session["instance"]["trial"],
        json!({ "amount_usd": "0.2", "days": 30 })
    );
    assert_eq!(given(&harness, "a.d.a@gmail.com", "192.0.2.1").await, "0.2");
    assert_eq!(
        given(&harness, "ada+again@gmail.com", "192.0.2.1").await,
        "0"
    );
    assert_eq!(
        given(&harness, "ada@googlemail.com", "192.0.2.1").await,
        "0"
    );
    assert_eq!(given(&harness, "ada@example.com", "192.0.2.1").await, "0.2");
    harness.audit().await;
}

#[tokio::test]
async fn a_day_has_so_much_credit_and_no_more() {
    let harness = harness(3).await;
    let signed = (0..6).map(|number| {
        let harness = &harness;
        async move {
            let email = format!("p{number}@example.com");
            given(harness, &email, &format!("192.0.{number}.1")).await
        }
    });
    let all = all_at_once(signed.collect()).await;
    assert_eq!(all.iter().filter(|one| *one == "0.2").count(), 3, "{all:?}");
    harness.db.shift_clock(86_400).await;
    assert_eq!(
        given(&harness, "tomorrow@example.com", "192.0.2.1").await,
        "0.2"
    );
    harness.audit().await;
}
