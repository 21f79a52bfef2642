//! Upstreams that cannot be reached, that have no measure and that lie about it, in every format and
//! between all of them.

use bytes::Bytes;
use http::Method;
use trunkline_gateway::Settings;
use trunkline_ledger::usage;
use trunkline_store::PolicyFields;
use trunkline_types::RequestId;

use crate::format_pairs::{
    FormatPair, CoolDowns, base, charged, error_inside, house, in_each, is_ending, provider, row_of, same,
    shop,
};
use crate::client_decode::{Sse, wrong};
use crate::test_gateway::{ChannelOptions, GatewayResponse, TestOptions, account};
use crate::client_encode::{ClientFormat, CallParams};

fn asking(couple: FormatPair, prompt: &str) -> serde_json::Value {
    couple.body(CallParams {
        prompt,
        ..CallParams::default()
    })
}

// row: U1
#[tokio::test]
async fn an_upstream_that_cannot_be_reached_is_502_in_every_pair() {
    for (what, wrong_address) in [
        ("refused", "http://127.0.0.1:1"),
        ("no such name", "http://upstream.invalid"),
        ("no TLS there", "https://{}"),
    ] {
        let rests = CoolDowns::new();
        let house = shop(TestOptions {
            clock: rests.clock(),
            ..TestOptions::default()
        })
        .await;
        let own = format!("http://{}", house.simulator.address());
        let place = house.simulator.address().to_string();
        let other = wrong_address.replace("{}", &place);
        for speaks in ClientFormat::ALL {
            let address = base(speaks, &house.simulator).replace(&own, &other);
            let model = format!("gemini-to-{speaks}");
            let wishes = ChannelOptions {
                provider: Some(provider(speaks)),
                ..ChannelOptions::default()
            };
            let models = [(model.as_str(), "sim-fast")];
            house
                .channel_with(speaks.word(), &address, &models, wishes)
                .await;
        }
        in_each(&house, FormatPair::all(), async |house, couple| {
            rests.rest();
            let before = house.posted_at_rest().await;
            let got = couple.call(house, &asking(couple, "Hello")).await;
            let told = |wrong: String| format!("{what}: {wrong}: {}", got.text());
            same("status", got.status.as_u16(), 502).map_err(told)?;
            let error = wrong(couple.caller, &got.json());
            same("code", error.code.as_str(), "upstream_error").map_err(told)?;
            same("charged", error.charged.unwrap_or(false), false).map_err(told)?;
            let row = row_of(house, &got).await;
            same("outcome", row.outcome.as_str(), "upstream_failed").map_err(told)?;
            same("left", house.posted_at_rest().await, before)
        })
        .await;
        assert!(house.simulator.requests().is_empty(), "{what}");
    }
}

// row: U11
#[tokio::test]
async fn an_answer_without_measure_is_cut_off_and_costs_nothing_in_every_pair() {
    let rests = CoolDowns::new();
    let settings = Settings {
        max_answer_bytes: 1_000_000,
        ..Settings::default()
    };
    let house = house(TestOptions {
        settings,
        clock: rests.clock(),
        ..TestOptions::default()
    })
    .await;
    in_each(&house, FormatPair::all(), async |house, couple| {
        rests.rest();
        let before = house.posted_at_rest().await;
        let fault = if couple.stream {
            "gigantic_frame:9000000"
        } else {
            "gigantic_body:9000000"
        };
        let prompt = format!("Hello [[fault:{fault}]]");
        let got = couple.call(house, &asking(couple, &prompt)).await;
        let cut: String = got.text().chars().take(2_000).collect();
        let told = |wrong: String| format!("{wrong}: {cut}");
        let error = if got.status == 200 {
            let frames = Sse::all(&got.text());
            let ends = frames.iter().filter(|it| is_ending(couple.caller, it));
            same("endings", ends.count(), 0).map_err(told)?;
            error_inside(&got).ok_or_else(|| told("no error inside".to_owned()))?
        } else {
            same("status", got.status.as_u16(), 502).map_err(told)?;
            got.json()
        };
        same("whole", got.status == 200 && !couple.stream, false).map_err(told)?;
        let error = wrong(couple.caller, &error);
        same("code", error.code.as_str(), "upstream_error").map_err(told)?;
        same("charged", error.charged.unwrap_or(false), false).map_err(told)?;
        same("left", house.posted_at_rest().await, before).map_err(told)
    })
    .await;
}

// row: U13
#[tokio::test]
async fn false_usage_is_charged_up_to_the_balance_in_every_pair() {
    const WALLET: i64 = 3_000_000;
    let house = house(TestOptions::default()).await;
    in_each(&house, FormatPair::all(), async |house, couple| {
        let poor = account(&house.console, WALLET, 0).await;
        let key = house.key_of(poor, PolicyFields::default()).await;
        let body = couple.body(CallParams {
            prompt: "Hi [[tokens:10]] [[fault:lying_usage:1000000]]",
            most: Some(20),
            ..CallParams::default()
        });
        let path = couple.caller.path(&couple.model(), couple.stream);
        let to = (house.address, key.as_str());
        let bytes = Bytes::from(body.to_string());
        let got = GatewayResponse::read(house.send_as(to, Method::POST, &path, bytes, &[]).await).await;
        let told = |wrong: String| format!("{wrong}: {}", got.text());
        same("status", got.status.as_u16(), 200).map_err(told)?;
        if couple.stream {
            same("error", error_inside(&got), None).map_err(told)?;
        }
        let request: RequestId = got.id().parse().unwrap();
        let row = usage::find(&house.data, poor, request).await.unwrap();
        let row = row.ok_or_else(|| told("no row".to_owned()))?;
        same("outcome", row.outcome.as_str(), "complete").map_err(told)?;
        let paid = charged(&row);
        same("paid", paid > 0 && paid <= WALLET, true).map_err(|it| told(format!("{it} {paid}")))
    })
    .await;
}
