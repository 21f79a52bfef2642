//! Whether a node says that it is ready, and why it is not.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use trunkline_gateway::{Settings, run_refresh};
use trunkline_keyring::{Binding, Document, Keyring, Purpose, SystemRandom};
use trunkline_store::channels::{self, NewCredential, credential_context};
use trunkline_types::Clock as _;

use crate::test_gateway::{TestGateway, TestOptions, ask};

#[tokio::test]
async fn a_node_is_not_ready_while_its_database_is_away_and_says_so_in_its_metrics() {
    let harness = TestGateway::build(TestOptions {
        breakable: true,
        settings: Settings {
            refresh: Duration::from_millis(50),
            ..Settings::default()
        },
        ..TestOptions::default()
    })
    .await;
    let (_stop, stopped) = oneshot::channel();
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(run_refresh(Arc::clone(&harness.gateway), stopped));
    let wire = harness.wire.as_ref().unwrap();
    let becomes = async |status: u16, metric: &str| {
        while harness.get("/readyz").await.status != status {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(harness.metrics().await.contains(metric), "{metric}");
    };
    becomes(200, "trunkline_database_up 1").await;
    wire.refuse();
    becomes(503, "trunkline_database_up 0").await;
    assert_eq!(harness.chat(&ask("Hello")).await.status, 503);
    wire.pass();
    becomes(200, "trunkline_database_up 1").await;
}

#[tokio::test]
async fn a_node_that_can_open_no_credential_is_not_ready_and_counts_them() {
    let harness = TestGateway::new().await;
    let now = trunkline_db::SystemClock.now();
    let newer = harness
        .document
        .rotate(now, &SystemRandom)
        .unwrap()
        .document;
    let newer: Document = newer.rotate(now, &SystemRandom).unwrap().document;
    let newer = Keyring::new(&newer, Arc::new(SystemRandom)).unwrap();
    for (channel, status) in [("first", 200), ("renamed", 503)] {
        let context = credential_context(channel, "main");
        let binding = Binding::of_operator(&context);
        let sealed = newer
            .seal(Purpose::Credentials, &binding, b"secret")
            .unwrap();
        let credential = NewCredential {
            label: "main",
            sealed: &sealed,
            hint: "…",
        };
        let mut tx = harness.console.begin().await.unwrap();
        let done = channels::replace_credential(&mut tx, channel, &credential).await;
        tx.finish(done).await.unwrap();
        harness.gateway.refresh().await.unwrap();
        // With one channel left, calls for its models are served.
        assert_eq!(harness.get("/readyz").await.status, status, "{channel}");
        let metric = format!("trunkline_credentials_unopened{{channel=\"{channel}\"}} 1");
        assert!(harness.metrics().await.contains(&metric), "{metric}");
    }
}

#[tokio::test]
async fn a_customer_finds_no_model_in_the_list_that_no_channel_serves() {
    for (hide_unserved_models, listed) in [(false, true), (true, false)] {
        let settings = Settings {
            hide_unserved_models,
            ..Settings::default()
        };
        let harness = TestGateway::with(settings, 1_000_000_000, 0).await;
        let list = harness.get("/v1/models").await.text();
        assert!(list.contains("\"sim-fast\""), "{list}");
        assert_eq!(list.contains("\"unserved\""), listed, "{list}");
    }
}
