//! Three hundred events of Stripe, shuffled, repeated, lost and forged, by several connections at once.

use std::time::Duration;

use trunkline_payments::Reconciled;
use trunkline_simulator::StripeDeliveries;

use super::harness::{Customer, Shop};

const PAYMENTS: i64 = 82;
const EVENTS: usize = 300;

/// What happened to one payment, in cents.
struct PlayedPayment {
    customer: usize,
    amount: i64,
    returned: i64,
}

/// People pay, and the operator and banks take back. Nothing was delivered yet.
async fn play(shop: &Shop, customers: &[Customer]) -> Vec<PlayedPayment> {
    let stripe = shop.stripe();
    let mut played = Vec::new();
    for number in 0..PAYMENTS {
        let customer = usize::try_from(number).unwrap() % customers.len();
        let amount = 500 + number * 25;
        let usd = format!("{}.{:02}", amount / 100, amount % 100);
        let page = shop
            .checkout(&customers[customer], &usd, number % 5 == 0)
            .await;
        if number % 14 == 13 {
            assert!(stripe.expire(&page));
            continue;
        }
        let intent = stripe.pay(&page).unwrap();
        let mut returned = 0;
        if number % 3 == 0 {
            assert!(stripe.refund(&intent, Some(100)));
            returned += 100;
        }
        if number % 6 == 0 {
            assert!(stripe.refund(&intent, Some(150)));
            returned += 150;
        }
        if number % 4 == 1 {
            let dispute = stripe.dispute(&intent, amount).unwrap();
            let is_won = number % 8 == 1;
            if number % 12 != 5 {
                assert!(stripe.close_dispute(&dispute, is_won));
            }
            let is_taken = !is_won || number % 12 == 5;
            returned = if is_taken { amount } else { returned };
        }
        played.push(PlayedPayment {
            customer,
            amount,
            returned,
        });
    }
    played
}

#[tokio::test]
async fn three_hundred_events_in_any_order_book_every_payment_once_and_forged_ones_never() {
    let shop = Shop::open().await;
    let mut customers = Vec::new();
    for name in ["Acme", "Bolt", "Cargo", "Delta"] {
        customers.push(shop.customer(name).await);
    }
    let played = play(&shop, &customers).await;
    let events = shop.stripe().events();
    assert!(events.len() >= EVENTS, "{}", events.len());
    let deliveries = |seed| StripeDeliveries {
        seed,
        repeated: 4,
        lost: 6,
        forged: 8,
        is_shuffled: true,
    };
    // The same events by three connections: each is told about three times, at once with others.
    let (first, second) = events.split_at(events.len() / 2);
    let (one, two, three) = futures_util::future::join3(
        shop.webhook.send(first, deliveries(11)),
        shop.webhook.send(second, deliveries(22)),
        shop.webhook
            .send(&events[events.len() / 4..events.len() / 2], deliveries(33)),
    )
    .await;
    for sent in [one, two, three] {
        let (good, forged) = sent.unwrap();
        assert!(good.iter().all(|status| *status == 200), "{good:?}");
        assert!(!forged.is_empty() && forged.iter().all(|status| *status == 400));
    }
    let people = &shop.harness.people;
    let found = shop
        .payments
        .reconcile(people, Duration::ZERO)
        .await
        .unwrap();
    let found = found.unwrap();
    assert!(found.missed > 0, "some were lost: {found:?}");
    assert_eq!(found.events, u64::try_from(events.len()).unwrap());
    let second = shop
        .payments
        .reconcile(people, Duration::ZERO)
        .await
        .unwrap();
    let second = second.unwrap();
    let nothing = Reconciled {
        events: second.events,
        ..Reconciled::default()
    };
    assert_eq!(second, nothing, "reconciliation finds nothing");
    for (index, customer) in customers.iter().enumerate() {
        let own = played.iter().filter(|one| one.customer == index);
        let left: i64 = own.map(|one| one.amount - one.returned).sum();
        assert_eq!(shop.balance(customer).await, left, "customer {index}");
        assert!(
            !shop.is_suspended(customer).await,
            "no customer owes anything"
        );
        for payment in shop.listed(customer).await {
            let is_paid = payment["state"] == "paid";
            assert_eq!(is_paid, payment["receipt_url"].is_string(), "{payment}");
            assert_ne!(payment["state"], "open", "{payment}");
        }
    }
    shop.harness.audit().await;
}
