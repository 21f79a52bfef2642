//! What is charged where prices depend on something: the context, a field, the hour, the account, the
//! group.

use std::sync::Arc;

use serde_json::{Value, json};
use trunkline_db::SystemClock;
use trunkline_ledger::accounts::{self, TopUp, Wallet};
use trunkline_ledger::usage;
use trunkline_store::keys::{self, CreateKeyError, NewKey};
use trunkline_store::{KeyGroup, Policy, PolicyFields};
use trunkline_testkit::random_bytes;
use trunkline_types::{Clock as _, Money, RequestId};

use crate::nodes::ManualClock;
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions};

const TIERS: &str = r#"
[models.sim-long]
groups = ["default"]
[models.sim-long.prices]
billing_unit = "tokens"
standard = { input = 1000000, output = 2000000 }
paid = { input = 900000, output = 1800000 }
[[models.sim-long.prices.tiers]]
tier = "long"
standard = { input = 3000000, output = 5000000 }
paid = { input = 2700000, output = 4500000 }
when = [{ dim = "context_len", context_len_gt = 100 }]

[models.sim-tiers]
groups = ["default"]
[models.sim-tiers.prices]
billing_unit = "tokens"
standard = { input = 1000000, output = 2000000 }
[[models.sim-tiers.prices.tiers]]
tier = "priority"
standard = { input = 7000000, output = 9000000 }
when = [{ dim = "request_attr", path = "service_tier", equals = "priority" }]

[models.sim-clock]
groups = ["default"]
[models.sim-clock.prices]
billing_unit = "tokens"
standard = { input = 1000000, output = 2000000 }
[[models.sim-clock.prices.tiers]]
tier = "day"
standard = { input = 4000000, output = 6000000 }
when = [{ dim = "wall_clock", timezone = "Asia/Shanghai", weekdays = [1, 2, 3, 4, 5], hours = [9, 10, 11] }]

[models.sim-call]
groups = ["default"]
[models.sim-call.prices]
billing_unit = "per_call"
standard = { per_call = 20000000000 }

[models.sim-columns]
groups = ["default"]
[models.sim-columns.prices]
billing_unit = "tokens"
standard = { input = 4000000, output = 8000000 }
paid = { input = 3000000, output = 6000000 }
"#;
const NAMES: [&str; 5] = [
    "sim-long",
    "sim-tiers",
    "sim-clock",
    "sim-call",
    "sim-columns",
];

async fn harness(options: TestOptions) -> TestGateway {
    let harness = Box::pin(TestGateway::build(options)).await;
    harness.sell(TIERS).await;
    let base = harness.simulator.base_url();
    let models = NAMES.map(|name| (name, name));
    harness.channel("tiers", &base, 10, &models).await;
    harness
}

fn ask(model: &str, prompt: &str) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": prompt }] })
}

/// What a call was charged, and under which tier.
async fn charged(harness: &TestGateway, got: &GatewayResponse) -> (i64, String) {
    assert_eq!(got.status, 200, "{}", got.text());
    let usage = harness.get(&format!("/v1/usage/{}", got.id())).await.json();
    let (_, nanos, _, _) = harness.usage(&got.id()).await;
    (nanos, usage["tier"].as_str().unwrap().to_owned())
}

/// A prompt of so many tokens that asks for ten: three go to the message, each other is four bytes.
fn prompt_of(tokens: usize) -> String {
    let end = "[[tokens:10]]";
    format!("{}{end}", "x".repeat((tokens - 3) * 4 - end.len()))
}

// covers: G-2.6-80, G-2.6-82
#[tokio::test]
async fn a_context_at_the_threshold_pays_the_lower_tier_and_above_the_higher() {
    let harness = harness(TestOptions {
        paid: 0,
        trial: 10_000_000_000,
        ..TestOptions::default()
    })
    .await;
    for (tokens, input, output, tier) in [
        (99, 1_000, 2_000, "standard"),
        (100, 1_000, 2_000, "standard"),
        (101, 3_000, 5_000, "long"),
    ] {
        let got = harness.chat(&ask("sim-long", &prompt_of(tokens))).await;
        assert_eq!(got.json()["usage"]["prompt_tokens"], tokens);
        let price = tokens as i64 * input + 10 * output;
        assert_eq!(charged(&harness, &got).await, (price, tier.to_owned()));
    }
    // What is read from a cache is context all the same.
    let cached = prompt_of(101).replace("xxxxxxxxxxxxx", "[[cached:90]]");
    let got = harness.chat(&ask("sim-long", &cached)).await;
    assert_eq!(charged(&harness, &got).await.1, "long");
    harness.audit().await;
}

// covers: G-2.6-83
#[tokio::test]
async fn a_field_named_by_a_tier_sets_the_price_and_its_default_is_sent() {
    let harness = harness(TestOptions::default()).await;
    let mut body = ask("sim-tiers", &prompt_of(20));
    for (word, input, output, tier, sent) in [
        (None, 1_000, 2_000, "standard", "default"),
        (Some("default"), 1_000, 2_000, "standard", "default"),
        (Some("auto"), 1_000, 2_000, "standard", "default"),
        (Some("priority"), 7_000, 9_000, "priority", "priority"),
    ] {
        if let Some(word) = word {
            body["service_tier"] = word.into();
        }
        let got = harness.chat(&body).await;
        let price = 20 * input + 10 * output;
        assert_eq!(charged(&harness, &got).await, (price, tier.to_owned()));
        let served = harness.simulator.requests().pop().unwrap();
        let seen: Value = serde_json::from_slice(&served.body).unwrap();
        assert_eq!(
            seen["service_tier"], sent,
            "the price is not left to a default"
        );
    }
    body["service_tier"] = "flex".into();
    let got = harness.chat(&body).await;
    assert_eq!(got.status, 400, "a tier that is not sold has no price");
    assert_eq!(got.json()["error"]["param"], "service_tier");
    body["service_tier"] = "priority".into();
    body["model"] = "sim-long".into();
    assert_eq!(
        harness.chat(&body).await.status,
        400,
        "nor on another model"
    );
    harness.audit().await;
}

/// A vendor serves what it was asked for, or less: a dear tier under load, as the default one. What it names in
/// its answer is charged, and never more than was quoted.
#[tokio::test]
async fn a_caller_pays_for_the_tier_that_the_vendor_served_and_never_more_than_for_the_one_it_asked_for()
 {
    let harness = harness(TestOptions::default()).await;
    let mut borne = 0;
    for (requested, served, input, output, tier) in [
        ("priority", "default", 1_000, 2_000, "standard"),
        ("priority", "priority", 7_000, 9_000, "priority"),
        ("default", "priority", 1_000, 2_000, "standard"),
        // A tier without a price here changes nothing.
        ("priority", "scale", 7_000, 9_000, "priority"),
    ] {
        for stream in [false, true] {
            let directive = format!("[[served_tier:{served}]]");
            let prompt = prompt_of(20).replacen("xxxxxxxxxxxxx", &directive, 1);
            let mut body = ask("sim-tiers", &prompt);
            body["service_tier"] = requested.into();
            body["stream"] = stream.into();
            if stream {
                body["stream_options"] = json!({ "include_usage": true });
            }
            let got = harness.chat(&body).await;
            assert_eq!(got.status, 200, "{}", got.text());
            let frames = if stream {
                got.frames()
            } else {
                vec![got.json()]
            };
            let last = frames.last().unwrap();
            assert_eq!(last["service_tier"], served, "{last}");
            let tokens = last["usage"]["prompt_tokens"].as_i64().unwrap();
            let price = tokens * input + 10 * output;
            let case = format!("{requested}, served {served}, stream {stream}");
            assert_eq!(
                charged(&harness, &got).await,
                (price, tier.to_owned()),
                "{case}"
            );
            assert_eq!(last["usage"]["cost_details"]["tier"], tier, "{case}");
            if (requested, served) == ("default", "priority") {
                borne += tokens * (7_000 - input) + 10 * (9_000 - output);
            }
        }
    }
    // What the vendor bills beyond that is the operator's, by account, model and channel.
    let account = harness.account.number();
    let losses = "SELECT l.account_id || ' ' || l.model || ' ' || c.name || ' ' || l.reason || ' ' || l.calls || ' ' || l.sale \
                  FROM ledger.loss_day AS l JOIN app.channel AS c ON c.id = l.channel_id";
    let expected = format!("{account} sim-tiers tiers served_tier 2 {borne}");
    assert_eq!(harness.db.ask(losses).await, [expected]);
    let seen =
        "SELECT account_id || ' ' || kind || ' ' || calls || ' ' || sale FROM ledger.exposure_day";
    let expected = format!("{account} overrun 2 {borne}");
    assert_eq!(harness.db.ask(seen).await, [expected]);
    harness.audit().await;
}

// covers: G-2.6-84
#[tokio::test]
async fn an_hourly_price_window_is_charged_by_the_clock_of_its_zone() {
    // The next Monday, 00:00 in UTC, which is 08:00 in Shanghai; the first day of all was a Thursday.
    let days = SystemClock.now().seconds() / (24 * 3_600);
    let monday = (days + 7 - (days + 3) % 7) * 24 * 3_600;
    let hands = ManualClock::at(monday);
    let harness = harness(TestOptions {
        clock: Arc::new(hands.clone()),
        ..TestOptions::default()
    })
    .await;
    harness.two_weeks_ahead().await;
    let (night, day) = ((20 * 1_000 + 10 * 2_000), (20 * 4_000 + 10 * 6_000));
    let hour = 3_600;
    for (after, price) in [
        (0, night),
        (hour - 1, night),
        (hour, day),
        (4 * hour - 1, day),
        (4 * hour, night),
        // 09:00 in UTC is 17:00 there.
        (9 * hour, night),
        // 01:00 of Friday in UTC is 09:00 of Friday there; a day later it is Saturday.
        ((4 * 24 + 1) * hour, day),
        ((5 * 24 + 1) * hour, night),
        // 23:30 of Sunday in UTC is 07:30 of Monday there, 01:30 of Monday is 09:30.
        ((6 * 24 + 23) * hour + 1_800, night),
        ((7 * 24 + 1) * hour + 1_800, day),
    ] {
        hands.put(monday + after);
        let got = harness.chat(&ask("sim-clock", &prompt_of(20))).await;
        assert_eq!(charged(&harness, &got).await.0, price, "{after}");
    }
    harness.audit().await;
}

// covers: G-2.6-49, G-2.6-51
#[tokio::test]
async fn tokens_are_charged_one_by_one_and_a_call_once_however_long() {
    let harness = harness(TestOptions::default()).await;
    for tokens in [1, 2, 400] {
        let prompt = format!("Say [[tokens:{tokens}]]");
        let got = harness.chat(&crate::test_gateway::ask(&prompt)).await;
        let prompt = got.json()["usage"]["prompt_tokens"].as_i64().unwrap();
        let price = prompt * crate::test_gateway::INPUT + tokens * crate::test_gateway::OUTPUT;
        assert_eq!(charged(&harness, &got).await.0, price);
    }
    for (tokens, stream) in [(1, false), (900, false), (900, true)] {
        let mut body = ask("sim-call", &format!("Say [[tokens:{tokens}]]"));
        body["stream"] = stream.into();
        let got = harness.chat(&body).await;
        assert_eq!(charged(&harness, &got).await.0, 20_000_000);
        let usage = harness.get(&format!("/v1/usage/{}", got.id())).await.json();
        assert_eq!(usage["units"], json!({ "per_call": 1 }));
    }
    harness.audit().await;
}

// covers: D-2-16, D-2-17, D-2-18
#[tokio::test]
async fn the_first_top_up_moves_an_account_to_the_paid_column() {
    let harness = harness(TestOptions {
        paid: 0,
        trial: 10_000_000_000,
        ..TestOptions::default()
    })
    .await;
    let body = ask("sim-columns", &prompt_of(20));
    let plain = ask("sim-tiers", &prompt_of(20));
    let quoted = harness.quote(&body).await.json();
    assert_eq!(quoted["prices"], "standard");
    let first = harness.chat(&body).await;
    assert_eq!(charged(&harness, &first).await.0, 20 * 4_000 + 10 * 8_000);
    let mut tx = harness.console.begin().await.unwrap();
    let top_up = TopUp {
        request: RequestId::new(SystemClock.now(), random_bytes()),
        account: harness.account,
        wallet: Wallet::Paid,
        amount: Money::from_nanos(1_000_000_000),
        provider: "test".to_owned(),
        event: "first".to_owned(),
    };
    accounts::top_up(&mut tx, &top_up).await.unwrap();
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
    assert_eq!(harness.quote(&body).await.json()["prices"], "paid");
    let second = harness.chat(&body).await;
    assert_eq!(charged(&harness, &second).await.0, 20 * 3_000 + 10 * 6_000);
    let got = harness.chat(&plain).await;
    let same = 20 * 1_000 + 10 * 2_000;
    assert_eq!(
        charged(&harness, &got).await.0,
        same,
        "no column of its own: the standard one"
    );
    harness.audit().await;
}

// covers: D-2-25, D-2-27, D-2-28, D-2-29, D-2-30, D-2-31
#[tokio::test]
async fn a_group_has_its_own_price_and_auto_takes_the_first_that_sells() {
    let mut harness = harness(TestOptions::default()).await;
    harness
        .sell(
            r#"
auto_groups = ["odd", "third", "default"]
[groups.odd]
rate = "1.33"
[groups.third]
rate = "1/3"
[models.sim-both]
groups = ["odd", "third"]
[models.sim-both.prices]
billing_unit = "tokens"
standard = { input = 1000000, output = 2000000 }
[models.sim-second]
groups = ["third"]
[models.sim-second.prices]
billing_unit = "tokens"
standard = { input = 1000000, output = 2000000 }
"#,
        )
        .await;
    let base = harness.simulator.base_url();
    let models = ["sim-both", "sim-second"].map(|name| (name, name));
    harness.channel("groups", &base, 10, &models).await;
    let (both, second) = (
        ask("sim-both", &prompt_of(20)),
        ask("sim-second", &prompt_of(20)),
    );
    let refused = harness.chat(&both).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (403, "model_not_allowed"),
        "sold in other groups alone"
    );
    let key = async |harness: &TestGateway, group| {
        harness
            .make_key(PolicyFields {
                group,
                ..PolicyFields::default()
            })
            .await
    };
    let whole = 20 * 1_000 + 10 * 2_000;
    let dear = (whole * 133 + 50) / 100;
    let thirds = (2 * whole + 3) / 6;
    for (group, body, price, used) in [
        (KeyGroup::Named("odd".to_owned()), &both, dear, "odd"),
        (KeyGroup::Named("third".to_owned()), &both, thirds, "third"),
        (KeyGroup::Auto, &both, dear, "odd"),
        (KeyGroup::Auto, &second, thirds, "third"),
    ] {
        harness.key = key(&harness, group).await;
        let got = harness.chat(body).await;
        assert_eq!(charged(&harness, &got).await.0, price);
        let id: RequestId = got.id().parse().unwrap();
        let row = usage::find(&harness.data, harness.account, id)
            .await
            .unwrap();
        assert_eq!(row.unwrap().group, used);
        let reported = harness.get(&format!("/v1/usage/{}", got.id())).await.json();
        assert_eq!(reported["group"], used);
    }
    let fields = PolicyFields {
        group: KeyGroup::Named("strangers".to_owned()),
        ..PolicyFields::default()
    };
    let new = NewKey {
        account: harness.account,
        parent: None,
        name: "key",
        policy: Policy::new(fields).unwrap(),
    };
    let mut tx = harness.console.begin().await.unwrap();
    let refused = keys::create(&mut tx, &new, &random_bytes()).await;
    assert!(matches!(
        refused,
        Err(CreateKeyError::GroupNotAllowed { .. })
    ));
    tx.rollback().await.unwrap();
    harness.audit().await;
}
