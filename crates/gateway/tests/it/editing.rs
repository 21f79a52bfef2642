//! Channels and accounts that are changed while customers call.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use trunkline_keyring::{Binding, Purpose};
use trunkline_simulator::{Fault, Rule, Settings as SimulatorSettings, Simulator};
use trunkline_store::accounts;
use trunkline_store::channels::{self, EditChannelError, NewCredential, credential_context};

use crate::test_gateway::{CANARY, TestGateway, ask};
use crate::upstreams::always;

const SECOND: &str = "second-credential-0123456789";
/// Ten calls a second each.
const CLIENTS: usize = 20;

impl TestGateway {
    async fn edit(&self, change: impl FnOnce(&mut channels::Channel)) {
        let mut tx = self.console.begin().await.unwrap();
        let done = channels::edit(&mut tx, "first", |channel| {
            change(channel);
            Ok::<(), EditChannelError>(())
        });
        let done = done.await;
        tx.finish(done).await.unwrap();
        self.gateway.refresh().await.unwrap();
        // Calls see each change.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    fn sealed(&self, label: &str, secret: &str) -> Vec<u8> {
        let context = credential_context("first", label);
        let binding = Binding::of_operator(&context);
        let sealed = self
            .keyring
            .seal(Purpose::Credentials, &binding, secret.as_bytes());
        sealed.unwrap()
    }

    async fn suspend(&self, suspended: bool) {
        let mut tx = self.console.begin().await.unwrap();
        let done = accounts::set_suspended(&mut tx, self.account, suspended).await;
        assert!(tx.finish(done).await.unwrap());
        self.gateway.refresh().await.unwrap();
    }
}

#[tokio::test]
async fn a_customers_calls_all_succeed_while_an_operator_changes_every_field_of_the_channel() {
    let harness = TestGateway::new().await;
    let second = Simulator::start(SimulatorSettings::default())
        .await
        .unwrap();
    let (done, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    // About two hundred calls a second, as far as the machine goes along.
    let calls = join_all((0..CLIENTS).map(|_| async {
        while !done.load(Ordering::Relaxed) {
            let number = count.fetch_add(1, Ordering::Relaxed);
            let pause = tokio::time::sleep(Duration::from_millis(100));
            let got = harness.chat(&ask(&format!("Hello {number}"))).await;
            assert_eq!(got.status, 200, "{}", got.text());
            pause.await;
        }
    }));
    let edits = async {
        let address = second.base_url();
        harness.edit(|it| it.base_url = Some(address)).await;
        harness.edit(|it| (it.priority, it.weight) = (3, 7)).await;
        harness.edit(|it| it.region = Some("eu".to_owned())).await;
        harness
            .edit(|it| it.residency = Some("de".to_owned()))
            .await;
        harness.edit(|it| it.zero_retention = true).await;
        harness
            .edit(|it| drop(it.models.insert("more".to_owned(), "sim-fast".to_owned())))
            .await;
        harness
            .edit(|it| it.groups = vec!["default".to_owned()])
            .await;
        harness
            .edit(|it| {
                drop(
                    it.extra_headers
                        .insert("x-team".to_owned(), "red".to_owned()),
                )
            })
            .await;
        harness
            .edit(|it| it.requests_per_minute = Some(100_000))
            .await;
        harness.edit(|it| it.concurrent_calls = Some(500)).await;
        harness.edit(|it| it.cost = None).await;
        harness.edit(|it| it.extra_headers.clear()).await;
        harness.edit(|it| it.groups.clear()).await;
        let sealed = harness.sealed("more", SECOND);
        let more = NewCredential {
            label: "more",
            sealed: &sealed,
            hint: "…",
        };
        let mut tx = harness.console.begin().await.unwrap();
        let added = channels::add_credentials(&mut tx, "first", &[more]).await;
        tx.finish(added).await.unwrap();
        harness.edit(|it| it.weight = 2).await;
        let mut tx = harness.console.begin().await.unwrap();
        let removed = channels::remove_credential(&mut tx, "first", "main", false).await;
        tx.finish(removed).await.unwrap();
        harness.edit(|it| it.weight = 1).await;
        done.store(true, Ordering::Relaxed);
    };
    tokio::join!(calls, edits);
    let count = count.load(Ordering::Relaxed);
    assert!(count >= 2 * CLIENTS, "{count} calls");
    assert!(!second.requests().is_empty(), "the new address is used");
    second.stop().await;
}

#[tokio::test]
async fn a_credential_that_was_replaced_added_or_removed_is_used_so_by_the_next_call() {
    let harness = TestGateway::new().await;
    harness.simulator.plan(Rule {
        key: Some(CANARY.to_owned()),
        ..always(Fault::Status(401))
    });
    assert_ne!(harness.chat(&ask("Hello")).await.status, 200);
    let sealed = harness.sealed("main", SECOND);
    let new = NewCredential {
        label: "main",
        sealed: &sealed,
        hint: "…",
    };
    let mut tx = harness.console.begin().await.unwrap();
    let done = channels::replace_credential(&mut tx, "first", &new).await;
    tx.finish(done).await.unwrap();
    harness.gateway.refresh().await.unwrap();
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);

    // The bad one again beside it, and gone again.
    let sealed = harness.sealed("bad", CANARY);
    let bad = NewCredential {
        label: "bad",
        sealed: &sealed,
        hint: "…",
    };
    let mut tx = harness.console.begin().await.unwrap();
    let done = channels::add_credentials(&mut tx, "first", &[bad]).await;
    assert_eq!(tx.finish(done).await.unwrap().credentials.len(), 2);
    let mut tx = harness.console.begin().await.unwrap();
    let done = channels::remove_credential(&mut tx, "first", "bad", false).await;
    assert_eq!(tx.finish(done).await.unwrap().credentials.len(), 1);
    harness.gateway.refresh().await.unwrap();
    let before = harness.simulator.requests().len();
    for number in 0..8 {
        let got = harness.chat(&ask(&format!("Hello {number}"))).await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
    assert_eq!(
        harness.simulator.requests().len(),
        before + 8,
        "no attempt with the removed one"
    );
}

#[tokio::test]
async fn a_suspended_customer_is_refused_and_served_again_when_it_is_resumed() {
    let harness = TestGateway::new().await;
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    harness.suspend(true).await;
    let got = harness.chat(&ask("Hello")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (403, "account_suspended")
    );
    assert_eq!(harness.get("/v1/models").await.status, 403);
    harness.suspend(false).await;
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
}
