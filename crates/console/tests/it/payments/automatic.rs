//! Automatic top-up: below the threshold, up to the ceiling of the month, and not for ever after failures.

use http::Method;
use serde_json::{Value, json};

use super::harness::{Customer, Shop};

async fn set(shop: &Shop, customer: &Customer, month_max: &str) -> Value {
    let rule = json!({ "below_usd": "10", "amount_usd": "25", "month_max_usd": month_max });
    let path = "/api/payments/automatic-top-up";
    let got = shop
        .harness
        .send(&customer.browser, Method::PUT, path, Some(rule))
        .await;
    assert_eq!(got.status.as_u16(), 200, "{got:?}");
    got.json()
}

async fn run(shop: &Shop) {
    let people = &shop.harness.people;
    while shop.payments.run_automatic(people).await.unwrap() {}
}

#[tokio::test]
async fn a_low_balance_is_topped_up_with_the_saved_method_until_the_ceiling_of_the_month() {
    let mut shop = Shop::open().await;
    let acme = shop.customer("Acme").await;
    shop.pay(&acme, "25", true).await;
    let view = set(&shop, &acme, "50").await;
    assert_eq!(view["automatic_top_up"]["month_max_usd"], "50");
    assert_eq!(view["automatic_top_up"]["is_paused"], false);
    run(&shop).await;
    assert_eq!(shop.balance(&acme).await, 2_500, "the balance is not low");
    for (spent, left) in [(2_000, 3_000), (2_500, 3_000), (2_500, 500)] {
        shop.spend(&acme, spent).await;
        // Setting it again has it looked at without a rest.
        set(&shop, &acme, "50").await;
        run(&shop).await;
        assert_eq!(shop.balance(&acme).await, left);
    }
    assert_eq!(shop.stripe().intents().len(), 3);
    // Their events come afterwards and change nothing.
    shop.deliver().await;
    assert_eq!(shop.balance(&acme).await, 500);
    let listed = shop.listed(&acme).await;
    let automatic = listed.iter().filter(|one| one["kind"] == "automatic");
    assert_eq!(automatic.count(), 2);
    assert!(listed.iter().all(|one| one["receipt_url"].is_string()));
    let path = "/api/payments/automatic-top-up";
    let got = shop
        .harness
        .send(&acme.browser, Method::DELETE, path, None)
        .await;
    assert_eq!(got.json()["automatic_top_up"], Value::Null);
    shop.harness.audit().await;
}

#[tokio::test]
async fn a_declined_method_is_not_charged_again_at_once_and_its_payment_has_failed() {
    let mut shop = Shop::open().await;
    let acme = shop.customer("Acme").await;
    shop.pay(&acme, "25", true).await;
    shop.spend(&acme, 2_000).await;
    set(&shop, &acme, "100").await;
    shop.stripe().decline(true);
    run(&shop).await;
    run(&shop).await;
    assert_eq!(shop.stripe().intents().len(), 2, "one was tried, once");
    let failed = shop.listed(&acme).await[0].clone();
    assert_eq!(failed["state"], "failed");
    assert!(
        failed["failure"]
            .as_str()
            .unwrap()
            .contains("card_declined")
    );
    shop.deliver().await;
    assert_eq!(shop.balance(&acme).await, 500);
    shop.stripe().decline(false);
    set(&shop, &acme, "100").await;
    run(&shop).await;
    assert_eq!(shop.balance(&acme).await, 3_000);
    shop.harness.audit().await;
}
