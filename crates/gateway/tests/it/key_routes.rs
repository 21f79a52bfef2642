//! Which routes a key is served by: their order, the highest price, and attributes that it demands.

use http::Method;
use serde_json::{Value, json};
use trunkline_simulator::{Fault, Settings as SimulatorSettings, Simulator};
use trunkline_store::account_routes::AccountRoutes;
use trunkline_store::accounts;
use trunkline_store::channels::{self, EditChannelError};
use trunkline_store::{KeyGroup, MaxPrice, PolicyFields, RoutePolicy};

use crate::keys::calls::{below, call, chat, fine, is, no};
use crate::test_gateway::{TestGateway, ask};
use crate::upstreams::always;

const MODELS: [(&str, &str); 1] = [("sim-fast", "sim-fast")];

async fn edit(harness: &TestGateway, name: &str, change: impl FnOnce(&mut channels::Channel)) {
    let mut tx = harness.console.begin().await.unwrap();
    let done = channels::edit(&mut tx, name, |channel| {
        change(channel);
        Ok::<(), EditChannelError>(())
    });
    let done = done.await;
    tx.finish(done).await.unwrap();
    harness.gateway.refresh().await.unwrap();
}

/// A second channel at an upstream of its own, which the operator puts behind the first.
async fn second(harness: &TestGateway) -> Simulator {
    let simulator = Simulator::start(SimulatorSettings::default())
        .await
        .unwrap();
    let base = simulator.base_url();
    harness.channel("second", &base, 20, &MODELS).await;
    simulator
}

async fn key_with(harness: &TestGateway, policy: RoutePolicy) -> String {
    let fields = PolicyFields {
        policy: Some(policy),
        ..PolicyFields::default()
    };
    harness.make_key(fields).await
}

fn price(input: &str, output: &str) -> MaxPrice {
    MaxPrice::read(Some(input), Some(output), None).unwrap()
}

fn cost(input: u64) -> Value {
    json!({
        "currency": "USD",
        "rate": { "numerator": 1, "denominator": 1, "as_of": "2026-11-15" },
        "models": { "sim-fast": { "input": input, "output": 4_000_000 } },
    })
}

#[tokio::test]
async fn a_key_is_served_by_the_cheapest_channel_if_it_says_so_and_by_priority_if_not() {
    let harness = TestGateway::new().await;
    let second = second(&harness).await;
    edit(&harness, "second", |it| it.cost = Some(cost(500_000))).await;
    let cheapest = key_with(&harness, RoutePolicy::Cheapest).await;
    for _ in 0..4 {
        assert_eq!(chat(&harness, &cheapest).await, fine());
    }
    assert_eq!(second.requests().len(), 4);
    assert_eq!(chat(&harness, &harness.key).await, fine());
    assert_eq!(harness.simulator.requests().len(), 1);
    // What has no price is dearer than all that have one.
    edit(&harness, "second", |it| it.cost = None).await;
    assert_eq!(chat(&harness, &cheapest).await, fine());
    assert_eq!(harness.simulator.requests().len(), 2);
    // One that fails is left, whatever it costs.
    edit(&harness, "second", |it| it.cost = Some(cost(500_000))).await;
    second.plan(always(Fault::Status(503)));
    assert_eq!(chat(&harness, &cheapest).await, fine());
    assert_eq!(harness.simulator.requests().len(), 3);
    harness.audit().await;
    second.stop().await;
}

#[tokio::test]
async fn a_key_is_served_by_the_channel_that_answered_fastest_if_it_says_so() {
    let harness = TestGateway::new().await;
    let second = second(&harness).await;
    harness
        .simulator
        .plan(always(Fault::SlowFirstByte { millis: 400 }));
    let fastest = key_with(&harness, RoutePolicy::Fastest).await;
    // Each is measured once, in the operator's order.
    for _ in 0..6 {
        assert_eq!(chat(&harness, &fastest).await, fine());
    }
    assert_eq!(harness.simulator.requests().len(), 1);
    assert_eq!(second.requests().len(), 5);
    second.stop().await;
}

#[tokio::test]
async fn a_call_without_a_route_under_the_keys_highest_price_is_refused_and_costs_nothing() {
    let harness = TestGateway::new().await;
    let fields = |max_price| PolicyFields {
        max_price,
        ..PolicyFields::default()
    };
    // Sold for 2 and 8 USD.
    let enough = harness.make_key(fields(price("2", "8"))).await;
    assert_eq!(chat(&harness, &enough).await, fine());
    for limits in [price("1.99", "8"), price("2", "7.999999")] {
        let key = harness.make_key(fields(limits)).await;
        let to = (Method::POST, "/v1/chat/completions");
        let got = call(&harness, &key, to, Some(ask("Hello"))).await;
        assert_eq!(is(&got), no(402, "price_above_limit"));
        assert_eq!(got.json()["error"]["charged"], false);
        let quote = json!({ "endpoint": "chat", "body": ask("Hello") });
        let got = call(&harness, &key, (Method::POST, "/v1/quotes"), Some(quote)).await;
        assert_eq!(is(&got), no(402, "price_above_limit"));
    }
    // The same model is sold for half in another group: that is a route of a key that may choose.
    let both = "auto_groups = [\"default\", \"vip\"]";
    let catalog = include_str!("catalog.toml").replace("auto_groups = [\"default\"]", both);
    harness.sell(&catalog).await;
    let choosing = harness
        .make_key(PolicyFields {
            group: KeyGroup::Auto,
            ..fields(price("1", "4"))
        })
        .await;
    let sent = harness.simulator.requests().len();
    assert_eq!(sent, 1, "nothing was sent for what was refused");
    assert_eq!(chat(&harness, &choosing).await, fine());
    harness.audit().await;
}

#[tokio::test]
async fn a_sub_key_takes_over_the_highest_price_and_may_only_lower_it() {
    let harness = TestGateway::new().await;
    let limited = json!({ "max_price": { "input": "2", "output": 8 }, "policy": "cheapest" });
    let (parent, _) = below(&harness, &harness.key, limited).await;
    let (child, id) = below(&harness, &parent, json!({})).await;
    let path = format!("/v1/keys/{id}");
    let got = call(&harness, &parent, (Method::GET, &path), None).await;
    let view = got.json();
    assert_eq!(view["policy"], "cheapest");
    assert_eq!(view["max_price"]["unit"], Value::Null);
    assert_eq!(chat(&harness, &child).await, fine());
    let dearer = json!({ "name": "k", "max_price": { "input": "3" } });
    let got = call(&harness, &parent, (Method::POST, "/v1/keys"), Some(dearer)).await;
    assert_eq!(is(&got).0, 400, "{}", got.text());
    assert_eq!(got.json()["error"]["param"], "max_price.input");
    // The data plane changes no routes, whatever a key sends.
    for body in [
        json!({ "policy": "fastest" }),
        json!({ "max_price": { "input": "1" } }),
    ] {
        let got = call(&harness, &parent, (Method::PATCH, &path), Some(body)).await;
        assert_eq!(is(&got).0, 400, "{}", got.text());
    }
    let cheaper = json!({ "max_price": { "input": "1" } });
    let (cheap, _) = below(&harness, &parent, cheaper).await;
    assert_eq!(chat(&harness, &cheap).await, no(402, "price_above_limit"));
    assert_eq!(chat(&harness, &parent).await, fine());
}

#[tokio::test]
async fn an_accounts_routes_are_those_of_its_keys_which_narrow_them() {
    let harness = TestGateway::new().await;
    let second = second(&harness).await;
    let set = async |routes: AccountRoutes| {
        let mut tx = harness.console.begin().await.unwrap();
        let done = accounts::set_routes(&mut tx, harness.account, &routes).await;
        assert!(tx.finish(done).await.unwrap());
        harness.gateway.refresh().await.unwrap();
    };
    // Sold for 2 and 8 USD.
    set(AccountRoutes {
        max_price: price("1", "8"),
        ..AccountRoutes::default()
    })
    .await;
    assert_eq!(
        chat(&harness, &harness.key).await,
        no(402, "price_above_limit")
    );
    set(AccountRoutes {
        residencies: Some(vec!["fr".to_owned()]),
        upstream_zero_retention: true,
        ..AccountRoutes::default()
    })
    .await;
    assert_eq!(
        chat(&harness, &harness.key).await,
        no(403, "route_not_allowed")
    );
    edit(&harness, "second", |it| {
        it.residency = Some("fr".to_owned());
        it.zero_retention = true;
    })
    .await;
    assert_eq!(chat(&harness, &harness.key).await, fine());
    assert_eq!(second.requests().len(), 1, "not by priority");
    let elsewhere = PolicyFields {
        residencies: Some(vec!["us".to_owned()]),
        ..PolicyFields::default()
    };
    let elsewhere = harness.make_key(elsewhere).await;
    assert_eq!(
        chat(&harness, &elsewhere).await,
        no(403, "route_not_allowed")
    );
    // The account's order, until a key has its own.
    edit(&harness, "second", |it| it.cost = Some(cost(500_000))).await;
    set(AccountRoutes {
        policy: Some(RoutePolicy::Cheapest),
        ..AccountRoutes::default()
    })
    .await;
    assert_eq!(chat(&harness, &harness.key).await, fine());
    assert_eq!(second.requests().len(), 2);
    let own = key_with(&harness, RoutePolicy::Priority).await;
    assert_eq!(chat(&harness, &own).await, fine());
    assert_eq!(second.requests().len(), 2);
    second.stop().await;
}

#[tokio::test]
async fn a_key_that_demands_residency_or_zero_retention_is_served_by_such_a_channel_or_refused() {
    let harness = TestGateway::new().await;
    let second = second(&harness).await;
    let residency = PolicyFields {
        residencies: Some(vec!["de".to_owned(), "fr".to_owned()]),
        ..PolicyFields::default()
    };
    let residency = harness.make_key(residency).await;
    let retention = PolicyFields {
        upstream_zero_retention: true,
        ..PolicyFields::default()
    };
    let retention = harness.make_key(retention).await;
    for key in [&residency, &retention] {
        assert_eq!(chat(&harness, key).await, no(403, "route_not_allowed"));
    }
    edit(&harness, "first", |it| it.residency = Some("us".to_owned())).await;
    assert_eq!(
        chat(&harness, &residency).await,
        no(403, "route_not_allowed")
    );
    assert_eq!(harness.simulator.requests().len(), 0);
    edit(&harness, "second", |it| {
        it.residency = Some("fr".to_owned());
        it.zero_retention = true;
    })
    .await;
    for key in [&residency, &retention] {
        assert_eq!(chat(&harness, key).await, fine());
    }
    assert_eq!(second.requests().len(), 2, "not by priority");
    // No other channel steps in when the one that qualifies fails.
    second.plan(always(Fault::Status(500)));
    assert_eq!(chat(&harness, &retention).await.0, 502);
    assert_eq!(harness.simulator.requests().len(), 0);
    harness.audit().await;
    second.stop().await;
}
