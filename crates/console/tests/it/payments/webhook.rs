//! The webhook itself: what is not signed by Stripe, not recent, or not about us changes nothing.

use axum::body::Body;
use http::{Method, Request};
use serde_json::json;
use trunkline_simulator::{StripeDeliveries, StripeWebhook};

use super::harness::Shop;
use crate::client::{TestConsole, ask, request};

#[tokio::test]
async fn an_event_is_believed_by_either_secret_and_by_no_other() {
    let shop = Shop::open().await;
    let acme = shop.customer("Acme").await;
    let page = shop.checkout(&acme, "25", false).await;
    shop.stripe().pay(&page).unwrap();
    let events = shop.stripe().events();
    for (secret, expected, balance) in [
        ("whsec_wrong", 400, 0),
        ("whsec_old", 200, 2_500),
        ("whsec_new", 200, 2_500),
    ] {
        let webhook = StripeWebhook {
            secret: secret.to_owned(),
            ..shop.webhook.clone()
        };
        let sent = webhook.send(&events, StripeDeliveries::faithful()).await;
        assert_eq!(sent.unwrap().0, [expected; 3], "{secret}");
        assert_eq!(shop.balance(&acme).await, balance, "{secret}");
    }
    shop.harness.audit().await;
}

#[tokio::test]
async fn a_request_without_a_signature_or_with_an_old_one_is_rejected() {
    let shop = Shop::open().await;
    let event = json!({ "id": "evt_1" }).to_string();
    for signature in [None, Some("t=1,v1=00"), Some("v1=00"), Some("")] {
        let mut post = Request::post("/webhooks/stripe");
        if let Some(signature) = signature {
            post = post.header("stripe-signature", signature);
        }
        let post = post.body(Body::from(event.clone())).unwrap();
        let got = ask(&shop.harness.console, post).await;
        got.error(400, "invalid_request");
    }
    let got = ask(
        &shop.harness.console,
        request(Method::GET, "/webhooks/stripe"),
    )
    .await;
    got.error(405, "method_not_allowed");
}

#[tokio::test]
async fn a_console_without_payments_has_no_webhook() {
    let test_console = TestConsole::new().await;
    let got = test_console
        .ask(request(Method::POST, "/webhooks/stripe"))
        .await;
    got.error(404, "not_found");
}

#[tokio::test]
async fn a_payment_of_another_instance_is_answered_and_not_booked() {
    let mut shop = Shop::open().await;
    let other = Shop::open().await;
    let (acme, bolt) = (shop.customer("Acme").await, other.customer("Bolt").await);
    shop.pay(&acme, "25", false).await;
    let events = shop.stripe().events();
    let foreign = StripeWebhook {
        address: other.webhook.address.clone(),
        ..shop.webhook.clone()
    };
    let sent = foreign.send(&events, StripeDeliveries::faithful()).await;
    assert_eq!(sent.unwrap().0, [200; 3]);
    assert_eq!(other.balance(&bolt).await, 0);
    assert_eq!(shop.balance(&acme).await, 2_500);
    other.harness.audit().await;
}
