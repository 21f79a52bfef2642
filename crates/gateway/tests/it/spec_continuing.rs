//! Responses that are continued before their upstream knows them, from another node, and with what they bring along.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_db::SystemClock;
use trunkline_simulator::{Settings as SimulatorSettings, Simulator};

use crate::format_pairs::CoolDowns;
use crate::test_gateway::{ChannelOptions, GatewayResponse, TestGateway, TestOptions};

const PATH: &str = "/v1/responses";
const CATALOG: &str = r#"
[models.sim-keeps]
groups = ["default"]
specs = { type = "llm", max_output_tokens = 4096 }
[models.sim-keeps.prices]
billing_unit = "tokens"
standard = { input = 2000000, output = 8000000 }
"#;

async fn keeper(harness: &TestGateway, name: &str, base: &str, priority: i32) {
    let options = ChannelOptions {
        provider: Some("simulator_responses"),
        priority,
        ..ChannelOptions::default()
    };
    let models = [("sim-keeps", "sim-fast")];
    harness.channel_with(name, base, &models, options).await;
}

async fn keeps(options: TestOptions) -> TestGateway {
    let harness = TestGateway::build(options).await;
    harness.sell(CATALOG).await;
    keeper(&harness, "keeper", &harness.simulator.base_url(), 10).await;
    harness
}

fn after(id: &str, input: &str) -> Value {
    json!({ "model": "sim-keeps", "input": input, "previous_response_id": id })
}

async fn first(harness: &TestGateway, input: &str) -> String {
    let got = harness
        .post(PATH, &json!({ "model": "sim-keeps", "input": input }))
        .await;
    assert_eq!(got.status, 200, "{}", got.text());
    got.json()["id"].as_str().unwrap().to_owned()
}

// covers: G-4.1-03, G-7-09, G-7-10, D-3-27, D-4-38
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_not_yet_there_is_asked_for_twenty_seconds_and_found_by_the_same_request_later()
{
    let harness = keeps(TestOptions::default()).await;
    // One that appears within the twenty seconds, and one that does after.
    let soon = first(&harness, "Soon [[tokens:3]] [[fault:not_ready:12]]").await;
    let late = first(&harness, "Late [[tokens:3]] [[fault:not_ready:30]]").await;
    let began = Instant::now();
    let healed = async {
        let got = harness.post(PATH, &after(&soon, "Now? [[tokens:2]]")).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let took = began.elapsed().as_secs();
        assert!((9..20).contains(&took), "{took} s");
    };
    let refused = async {
        let body = after(&late, "Now? [[tokens:2]]");
        let got = harness.post(PATH, &body).await;
        let took = began.elapsed().as_secs();
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (400, "previous_response_not_found")
        );
        let error = got.json()["error"].clone();
        assert_eq!(
            (&error["param"], &error["charged"]),
            (&json!("previous_response_id"), &json!(false))
        );
        assert!((18..25).contains(&took), "{took} s");
        // It was not lost: the very same request, ten to twenty seconds later.
        tokio::time::sleep(Duration::from_secs(12)).await;
        let got = harness.post(PATH, &body).await;
        assert_eq!(got.status, 200, "{}", got.text());
        assert_eq!(got.json()["previous_response_id"], late.as_str());
    };
    tokio::join!(healed, refused);
    harness.audit().await;
}

// covers: D-4-41
#[tokio::test]
async fn an_id_older_than_five_minutes_is_not_asked_for_again() {
    let rests = CoolDowns::new();
    let harness = keeps(TestOptions {
        clock: rests.clock(),
        ..TestOptions::default()
    })
    .await;
    let id = first(&harness, "Late [[tokens:3]] [[fault:not_ready:60]]").await;
    for _ in 0..10 {
        rests.rest();
    }
    let before = harness.simulator.requests().len();
    let began = Instant::now();
    let got = harness.post(PATH, &after(&id, "Now?")).await;
    assert_eq!(got.code(), "previous_response_not_found", "{}", got.text());
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(harness.simulator.requests().len(), before + 1, "asked once");
}

// covers: D-4-33, D-4-34, D-4-35
#[tokio::test]
async fn a_response_is_continued_at_the_channel_that_has_it_from_a_node_that_knows_nothing() {
    let harness = keeps(TestOptions::default()).await;
    let old = first(&harness, "Remember one [[tokens:3]]").await;
    // From now on new conversations begin elsewhere.
    let twin = Simulator::start(SimulatorSettings::default())
        .await
        .unwrap();
    keeper(&harness, "twin", &twin.base_url(), 1).await;
    let new = first(&harness, "Remember two [[tokens:3]]").await;
    assert_eq!(
        (harness.simulator.requests().len(), twin.requests().len()),
        (1, 1)
    );
    let other = harness.second_node(Arc::new(SystemClock)).await;
    let to = (other.address, harness.key.as_str());
    for (id, at) in [(&old, &harness.simulator), (&new, &twin)] {
        let all = harness.simulator.requests().len() + twin.requests().len();
        let before = at.requests().len();
        let body = Bytes::from(after(id, "And now? [[tokens:2]]").to_string());
        let sent = harness.send_as(to, Method::POST, PATH, body, &[]);
        let got = GatewayResponse::read(sent.await).await;
        assert_eq!(got.status, 200, "{}", got.text());
        assert_eq!(at.requests().len(), before + 1, "where it is stored");
        assert_eq!(
            harness.simulator.requests().len() + twin.requests().len(),
            all + 1
        );
        // One upstream id, one string, for every request and on every node.
        for address in [harness.address, other.address] {
            let to = (address, harness.key.as_str());
            let path = format!("{PATH}/{id}");
            let sent = harness.send_as(to, Method::GET, &path, Bytes::new(), &[]);
            assert_eq!(
                GatewayResponse::read(sent.await).await.json()["id"],
                json!(id)
            );
        }
        // What is inside stays with us, and with one character changed it opens nothing.
        for request in at.requests() {
            assert!(!String::from_utf8_lossy(&request.body).contains(id.as_str()));
        }
        let end = if id.ends_with('a') { 'b' } else { 'a' };
        let altered = format!("{}{end}", &id[..id.len() - 1]);
        let got = harness.post(PATH, &after(&altered, "Tell me")).await;
        assert_eq!(got.code(), "previous_response_not_found");
    }
    twin.stop().await;
    harness.audit().await;
}

// covers: D-4-36
#[tokio::test]
async fn what_is_held_for_a_continued_response_covers_the_conversation_before_it() {
    let harness = keeps(TestOptions::default()).await;
    let short = first(&harness, "One [[tokens:2]]").await;
    let long = first(&harness, &format!("{} [[tokens:2]]", "word ".repeat(4_000))).await;
    let reported = harness.simulator.requests()[1].told_usage.unwrap();
    let mut held = Vec::new();
    for id in [&short, &long] {
        let mut body = after(id, "Go on [[tokens:50]] [[fault:hang_mid_stream:4]]");
        body["stream"] = json!(true);
        body["max_output_tokens"] = json!(100);
        let bytes = Bytes::from(body.to_string());
        let stream = harness.send(Method::POST, PATH, bytes).await;
        let [_, now, _, _] = harness.wallets().await;
        held.push(now);
        drop(stream);
        harness.posted_at_rest().await;
    }
    let context = i64::try_from(reported.0 + reported.1).unwrap();
    assert!(context > 4_000, "{context}");
    assert!(
        held[1] >= context * 2_000 + 100 * 8_000,
        "{held:?} for {context} tokens"
    );
    assert!(held[1] > held[0] + 4_000 * 2_000, "{held:?}");
    harness.audit().await;
}
