//! How channels do by model and endpoint, as the database has it after calls.

use std::collections::BTreeMap;

use trunkline_simulator::{Fault, Rule, Settings as SimulatorSettings, Simulator, SocialFault};
use trunkline_store::channel_health::{self, ChannelSums};
use trunkline_store::channels;

use crate::test_gateway::{TestGateway, ask, ask_streaming};
use crate::upstreams::always;
use crate::videos;

/// The sums of the last hour, by channel, model and endpoint.
async fn sums(harness: &TestGateway) -> BTreeMap<(String, String, String), ChannelSums> {
    harness.gateway.exchange_health().await.unwrap();
    let mut session = harness.console.session().await.unwrap();
    let rows = channels::list(&mut session).await.unwrap();
    let name = |id: i64| {
        let row = rows.iter().find(|row| row.id.number() == id);
        row.unwrap().name.clone()
    };
    let sums = channel_health::sums(&mut session, None, 60).await.unwrap();
    let sums = sums.into_iter();
    sums.map(|(key, sums)| ((name(key.channel), key.model, key.endpoint), sums))
        .collect()
}

fn key(channel: &str, model: &str, endpoint: &str) -> (String, String, String) {
    (channel.to_owned(), model.to_owned(), endpoint.to_owned())
}

#[tokio::test]
async fn an_operators_figures_have_each_attempt_at_its_own_channel() {
    let harness = TestGateway::new().await;
    let second = Simulator::start(SimulatorSettings::default())
        .await
        .unwrap();
    let models = [("sim-fast", "sim-fast")];
    harness
        .channel("failing", &second.base_url(), 0, &models)
        .await;
    second.plan(Rule {
        times: Some(2),
        ..always(Fault::Status(503))
    });
    for _ in 0..3 {
        let got = harness
            .chat(&ask_streaming("Hello [[tokens:20]] [[pace:10]]"))
            .await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
    // What is wrong with the request says nothing about a channel.
    let mut wrong = ask("Hello");
    wrong["temperature"] = 9.into();
    assert_eq!(harness.chat(&wrong).await.status, 400);
    let found = sums(&harness).await;
    let failing = &found[&key("failing", "sim-fast", "chat")];
    assert_eq!((failing.calls, failing.failed), (3, 2));
    assert_eq!(failing.output_tokens, 20);
    let first = &found[&key("first", "sim-fast", "chat")];
    assert_eq!((first.calls, first.failed, first.output_tokens), (2, 0, 40));
    assert_eq!(first.availability_ppm(), Some(1_000_000));
    assert!(first.median_first_byte().is_some());
    // Twenty tokens with a hundredth of a second between them.
    let speed = first.tokens_a_second().unwrap();
    assert!((10..=150).contains(&speed), "{speed}");
    second.stop().await;
}

#[tokio::test]
async fn an_empty_result_is_a_success_of_its_endpoint_and_a_video_counts_with_its_verdict() {
    let harness = TestGateway::of_social().await;
    for _ in 0..4 {
        harness.simulator.plan(Rule {
            times: Some(1),
            ..always(Fault::Social(SocialFault::Empty))
        });
        harness.look("douyin/search", "keyword=coffee").await;
    }
    let found = sums(&harness).await;
    let searches = &found[&key("source", "social-douyin-search", "social")];
    assert_eq!((searches.calls, searches.failed), (4, 0));
    drop(harness);

    let harness = Box::pin(videos::generation(videos::quick())).await;
    let made = videos::made(&harness, &videos::cat("[[job:fail:InternalError]]")).await;
    assert_eq!(videos::ended(&harness, &made).await["status"], "failed");
    let made = videos::made(&harness, &videos::cat("")).await;
    assert_eq!(videos::ended(&harness, &made).await["status"], "completed");
    let found = sums(&harness).await;
    let videos_made = &found[&key("dashscope_native", "wan2.7-t2v", "videos")];
    assert_eq!((videos_made.calls, videos_made.failed), (2, 1));
}
