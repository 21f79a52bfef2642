//! Refunds and disputes: what is free is taken, the rest is owed, and the account is suspended.

use serde_json::json;
use trunkline_payments::{Cents, RefundAnswer, RefundRequest};
use trunkline_types::Money;

use super::harness::{CENT, Customer, Shop};

fn usd(cents: i64) -> Money {
    Money::from_nanos(cents * CENT)
}

async fn refund(shop: &Shop, customer: &Customer, cents: Option<i64>) -> RefundAnswer {
    let payment = shop.listed(customer).await[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let request = RefundRequest {
        payment: payment.parse().unwrap(),
        amount: cents.and_then(Cents::new),
    };
    let done = shop.payments.refund(&shop.harness.people, &request).await;
    done.unwrap()
}

#[tokio::test]
async fn an_operators_refund_is_taken_once_and_never_more_than_the_account_has() {
    let mut shop = Shop::open().await;
    let acme = shop.customer("Acme").await;
    shop.pay(&acme, "25", false).await;
    assert_eq!(
        refund(&shop, &acme, Some(1_000)).await,
        RefundAnswer::Done(usd(1_000))
    );
    assert_eq!(shop.balance(&acme).await, 1_500);
    // Its event comes afterwards and changes nothing.
    shop.deliver().await;
    assert_eq!(shop.balance(&acme).await, 1_500);
    assert_eq!(
        refund(&shop, &acme, Some(1_501)).await,
        RefundAnswer::TooMuch(usd(1_500))
    );
    shop.spend(&acme, 1_000).await;
    assert_eq!(
        refund(&shop, &acme, None).await,
        RefundAnswer::Spent(usd(500))
    );
    assert_eq!(
        refund(&shop, &acme, Some(500)).await,
        RefundAnswer::Done(usd(500))
    );
    assert_eq!(shop.balance(&acme).await, 0);
    let payment = shop.listed(&acme).await[0].clone();
    assert_eq!(payment["returned_usd"], "15");
    let charge = &shop.stripe().charges()[0];
    assert_eq!(charge["amount_refunded"], 1_500);
    shop.deliver().await;
    assert!(!shop.is_suspended(&acme).await);
    shop.harness.audit().await;
}

#[tokio::test]
async fn a_dispute_takes_what_is_free_and_the_rest_is_owed_until_it_is_paid_or_won() {
    let mut shop = Shop::open().await;
    let acme = shop.customer("Acme").await;
    let intent = shop.pay(&acme, "25", false).await;
    shop.spend(&acme, 2_000).await;
    let dispute = shop.stripe().dispute(&intent, 2_500).unwrap();
    shop.deliver().await;
    assert_eq!(shop.balance(&acme).await, 0, "five dollars were free");
    assert!(shop.is_suspended(&acme).await);
    assert_eq!(shop.listed(&acme).await[0]["returned_usd"], "5");
    shop.harness.audit().await;
    // What is paid later covers what is owed first; a person resumes the account.
    shop.pay(&acme, "30", false).await;
    assert_eq!(shop.balance(&acme).await, 1_000);
    assert!(shop.is_suspended(&acme).await);
    shop.harness.audit().await;
    // Won: all that was taken comes back.
    assert!(shop.stripe().close_dispute(&dispute, true));
    shop.deliver().await;
    assert_eq!(shop.balance(&acme).await, 3_500);
    shop.harness.audit().await;
}

#[tokio::test]
async fn a_dispute_that_is_told_before_its_payment_is_taken_when_the_payment_is_booked() {
    let shop = Shop::open().await;
    let acme = shop.customer("Acme").await;
    let page = shop.checkout(&acme, "25", false).await;
    let intent = shop.stripe().pay(&page).unwrap();
    let dispute = shop.stripe().dispute(&intent, 2_500).unwrap();
    assert!(shop.stripe().close_dispute(&dispute, false));
    let mut events = shop.stripe().events();
    events.reverse();
    assert_eq!(events[0]["type"], "charge.dispute.closed");
    let faithful = trunkline_simulator::StripeDeliveries::faithful();
    let (statuses, _) = shop.webhook.send(&events, faithful).await.unwrap();
    assert_eq!(statuses, [200; 5]);
    assert_eq!(shop.balance(&acme).await, 0);
    let payment = shop.listed(&acme).await[0].clone();
    let facts = (&payment["state"], &payment["returned_usd"]);
    assert_eq!(facts, (&json!("paid"), &json!("25")));
    shop.harness.audit().await;
}
