//! NATS with JetStream, with a real client.

use std::time::Duration;

use async_nats::jetstream::{self, stream};
use trunkline_testkit::Nats;

const LIMIT: Duration = Duration::from_secs(5);
/// Longest time until a cluster has agreed on who leads.
const ELECTION: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

async fn dial(url: String) -> Option<jetstream::Context> {
    let client = tokio::time::timeout(LIMIT, async_nats::connect(url)).await;
    Some(jetstream::new(client.ok()?.ok()?))
}

async fn stored(context: &jetstream::Context) -> u64 {
    let config = stream::Config {
        name: "events".to_owned(),
        subjects: vec!["events.*".to_owned()],
        ..stream::Config::default()
    };
    let mut stream = context.get_or_create_stream(config).await.unwrap();
    stream.info().await.unwrap().state.messages
}

async fn publish(context: &jetstream::Context) -> bool {
    let published = async {
        let acknowledged = context.publish("events.a", "hello".into()).await.ok()?;
        acknowledged.await.ok()
    };
    let answer = tokio::time::timeout(LIMIT, published).await;
    matches!(answer, Ok(Some(_)))
}

#[tokio::test]
async fn a_killed_or_stopped_nats_comes_back_with_what_it_had_stored() {
    let nats = Nats::start().await;
    let first = dial(nats.url()).await.unwrap();
    assert_eq!(stored(&first).await, 0);
    assert!(publish(&first).await);

    nats.kill_9();
    assert!(!nats.runs());
    assert!(dial(nats.url()).await.is_none());
    nats.restart();
    let second = dial(nats.url()).await.unwrap();
    assert_eq!(stored(&second).await, 1);
    assert!(publish(&second).await);

    nats.stop();
    assert!(!nats.runs());
    nats.restart();
    let third = dial(nats.url()).await.unwrap();
    assert_eq!(stored(&third).await, 2);
}

#[tokio::test]
async fn a_paused_nats_answers_later() {
    let nats = Nats::start().await;
    let context = dial(nats.url()).await.unwrap();
    assert_eq!(stored(&context).await, 0);
    nats.pause();
    let waited = tokio::time::timeout(SHORT, publish(&context)).await;
    assert!(waited.is_err(), "no answer comes");
    nats.resume();
    assert!(publish(&context).await);
}

#[tokio::test]
async fn a_line_to_nats_can_be_refused() {
    let nats = Nats::start().await;
    let wire = nats.wire();
    let context = dial(nats.url_through(&wire)).await.unwrap();
    assert_eq!(stored(&context).await, 0);
    wire.refuse();
    assert!(dial(nats.url_through(&wire)).await.is_none());
    wire.pass();
    let repeated = dial(nats.url_through(&wire)).await.unwrap();
    assert!(publish(&repeated).await);
}

#[tokio::test]
async fn a_cluster_of_three_keeps_acknowledged_messages_while_one_is_dead() {
    let servers = Nats::cluster().await;
    let urls: Vec<String> = servers.iter().map(Nats::url).collect();
    let client = async_nats::connect(urls.as_slice()).await.unwrap();
    let context = jetstream::new(client);
    let config = stream::Config {
        name: "events".to_owned(),
        subjects: vec!["events.*".to_owned()],
        num_replicas: 3,
        ..stream::Config::default()
    };
    // They elect who leads before they store anything.
    let began = std::time::Instant::now();
    while context.get_or_create_stream(config.clone()).await.is_err() {
        assert!(began.elapsed() < ELECTION, "three servers agree");
        tokio::time::sleep(SHORT).await;
    }
    assert!(publish(&context).await);
    servers[0].kill_9();
    let began = std::time::Instant::now();
    while !publish(&context).await {
        assert!(began.elapsed() < ELECTION, "two of three are enough");
    }
    let mut stream = context.get_stream("events").await.unwrap();
    assert!(stream.info().await.unwrap().state.messages >= 2);
}
