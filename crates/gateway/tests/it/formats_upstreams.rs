//! Upstreams that cannot be reached, that have no measure and that lie about it, in every format and
//! between all of them.

use bytes::Bytes;
use http::Method;
use trunkline_gateway::Settings;
use trunkline_ledger::usage;
use trunkline_store::PolicyFields;
use trunkline_types::RequestId;

use crate::client_decode::{Sse, wrong};
use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{
    CoolDowns, FormatPair, base, charged, error_inside, harness, in_each, is_ending, provider,
    row_of, same, shop,
};
use crate::test_gateway::{ChannelOptions, GatewayResponse, TestOptions, account};

fn asking(pair: FormatPair, prompt: &str) -> serde_json::Value {
    pair.body(CallParams {
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
        let harness = shop(TestOptions {
            clock: rests.clock(),
            ..TestOptions::default()
        })
        .await;
        let own = format!("http://{}", harness.simulator.address());
        let place = harness.simulator.address().to_string();
        let other = wrong_address.replace("{}", &place);
        for speaks in ClientFormat::ALL {
            let address = base(speaks, &harness.simulator).replace(&own, &other);
            let model = format!("gemini-to-{speaks}");
            let options = ChannelOptions {
                provider: Some(provider(speaks)),
                ..ChannelOptions::default()
            };
            let models = [(model.as_str(), "sim-fast")];
            harness
                .channel_with(speaks.as_str(), &address, &models, options)
                .await;
        }
        in_each(&harness, FormatPair::all(), async |harness, pair| {
            rests.rest();
            let before = harness.posted_at_rest().await;
            let got = pair.call(harness, &asking(pair, "Hello")).await;
            let reported = |wrong: String| format!("{what}: {wrong}: {}", got.text());
            same("status", got.status.as_u16(), 502).map_err(reported)?;
            let error = wrong(pair.caller, &got.json());
            same("code", error.code.as_str(), "upstream_error").map_err(reported)?;
            same("charged", error.charged.unwrap_or(false), false).map_err(reported)?;
            let row = row_of(harness, &got).await;
            same("outcome", row.outcome.as_str(), "upstream_failed").map_err(reported)?;
            same("left", harness.posted_at_rest().await, before)
        })
        .await;
        assert!(harness.simulator.requests().is_empty(), "{what}");
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
    let harness = harness(TestOptions {
        settings,
        clock: rests.clock(),
        ..TestOptions::default()
    })
    .await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        rests.rest();
        let before = harness.posted_at_rest().await;
        let fault = if pair.stream {
            "gigantic_frame:9000000"
        } else {
            "gigantic_body:9000000"
        };
        let prompt = format!("Hello [[fault:{fault}]]");
        let got = pair.call(harness, &asking(pair, &prompt)).await;
        let cut: String = got.text().chars().take(2_000).collect();
        let reported = |wrong: String| format!("{wrong}: {cut}");
        let error = if got.status == 200 {
            let frames = Sse::all(&got.text());
            let ends = frames.iter().filter(|it| is_ending(pair.caller, it));
            same("endings", ends.count(), 0).map_err(reported)?;
            error_inside(&got).ok_or_else(|| reported("no error inside".to_owned()))?
        } else {
            same("status", got.status.as_u16(), 502).map_err(reported)?;
            got.json()
        };
        same("whole", got.status == 200 && !pair.stream, false).map_err(reported)?;
        let error = wrong(pair.caller, &error);
        same("code", error.code.as_str(), "upstream_error").map_err(reported)?;
        same("charged", error.charged.unwrap_or(false), false).map_err(reported)?;
        same("left", harness.posted_at_rest().await, before).map_err(reported)
    })
    .await;
}

// row: U13
#[tokio::test]
async fn false_usage_is_charged_up_to_the_balance_in_every_pair() {
    const WALLET: i64 = 3_000_000;
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let poor = account(&harness.console, WALLET, 0).await;
        let key = harness.key_of(poor, PolicyFields::default()).await;
        let body = pair.body(CallParams {
            prompt: "Hi [[tokens:10]] [[fault:lying_usage:1000000]]",
            most: Some(20),
            ..CallParams::default()
        });
        let path = pair.caller.path(&pair.model(), pair.stream);
        let to = (harness.address, key.as_str());
        let bytes = Bytes::from(body.to_string());
        let got =
            GatewayResponse::read(harness.send_as(to, Method::POST, &path, bytes, &[]).await).await;
        let reported = |wrong: String| format!("{wrong}: {}", got.text());
        same("status", got.status.as_u16(), 200).map_err(reported)?;
        if pair.stream {
            same("error", error_inside(&got), None).map_err(reported)?;
        }
        let request: RequestId = got.id().parse().unwrap();
        let row = usage::find(&harness.data, poor, request).await.unwrap();
        let row = row.ok_or_else(|| reported("no row".to_owned()))?;
        same("outcome", row.outcome.as_str(), "complete").map_err(reported)?;
        let paid = charged(&row);
        same("paid", paid > 0 && paid <= WALLET, true)
            .map_err(|it| reported(format!("{it} {paid}")))
    })
    .await;
}
