//! Who may pay, and what is answered to whom.

use http::Method;
use serde_json::{Value, json};
use trunkline_store::people::Role;

use super::harness::Shop;
use crate::customer::harness::{Browser, CustomerConsole};

const CHECKOUT: &str = "/api/payments/checkout";
const AUTOMATIC: &str = "/api/payments/automatic-top-up";

fn pay() -> Value {
    json!({ "amount_usd": "25" })
}

fn rule() -> Value {
    json!({ "below_usd": "10", "amount_usd": "25", "month_max_usd": "50" })
}

#[tokio::test]
async fn every_role_reads_payments_and_only_those_of_the_wallet_pay() {
    let shop = Shop::open().await;
    let account = shop.harness.firm("Acme", 0, 0).await;
    for role in Role::ALL {
        let person = shop.harness.member(account, role).await;
        let view = shop.harness.read(&person, "/api/payments").await;
        assert_eq!(view["is_available"], true);
        let may = [Role::Owner, Role::Admin, Role::Billing].contains(&role);
        let started = shop.harness.post(&person, CHECKOUT, pay()).await;
        let set = shop
            .harness
            .send(&person, Method::PUT, AUTOMATIC, Some(rule()))
            .await;
        let removed = shop
            .harness
            .send(&person, Method::DELETE, AUTOMATIC, None)
            .await;
        if may {
            assert_eq!(started.status.as_u16(), 201, "{started:?}");
            // No method was saved.
            set.error(409, "conflict");
            assert_eq!(removed.status.as_u16(), 200, "{removed:?}");
        } else {
            for refused in [started, set, removed] {
                refused.error(403, "role_not_allowed");
            }
        }
    }
    let stranger = Browser::stranger();
    shop.harness
        .get(&stranger, "/api/payments")
        .await
        .error(401, "not_signed_in");
    shop.harness
        .post(&stranger, CHECKOUT, pay())
        .await
        .error(401, "not_signed_in");
    let stale = shop.harness.sign_in(account, Role::Owner, false).await;
    shop.harness
        .send(&stale, Method::PUT, AUTOMATIC, Some(rule()))
        .await
        .error(403, "step_up_required");
}

#[tokio::test]
async fn payments_of_one_organisation_are_not_seen_by_another() {
    let mut shop = Shop::open().await;
    let (acme, bolt) = (shop.customer("Acme").await, shop.customer("Bolt").await);
    shop.pay(&acme, "25", true).await;
    assert_eq!(shop.listed(&acme).await.len(), 1);
    assert!(shop.listed(&bolt).await.is_empty());
    let theirs = shop.harness.read(&bolt.browser, "/api/payments").await;
    assert_eq!(theirs["has_saved_method"], false);
    assert_eq!(shop.balance(&bolt).await, 0);
}

#[tokio::test]
async fn an_amount_is_whole_cents_within_bounds() {
    let shop = Shop::open().await;
    let acme = shop.customer("Acme").await;
    for wrong in ["4.99", "10000.01", "25.001", "-5", "x", ""] {
        let body = json!({ "amount_usd": wrong });
        let got = shop.harness.post(&acme.browser, CHECKOUT, body).await;
        assert_eq!(
            got.error(400, "invalid_request")["param"],
            "amount_usd",
            "{wrong}"
        );
    }
    let low = json!({ "below_usd": "10", "amount_usd": "25", "month_max_usd": "24" });
    let got = shop
        .harness
        .send(&acme.browser, Method::PUT, AUTOMATIC, Some(low))
        .await;
    assert_eq!(got.error(400, "invalid_request")["param"], "month_max_usd");
    assert!(shop.stripe().events().is_empty());
}

#[tokio::test]
async fn an_instance_without_a_payment_provider_says_so() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let owner = harness.member(account, Role::Owner).await;
    let view = harness.read(&owner, "/api/payments").await;
    assert_eq!(view["is_available"], false);
    harness
        .post(&owner, CHECKOUT, pay())
        .await
        .error(404, "not_found");
}
