//! Things that happen to accounts.

use std::sync::Arc;

use serde_json::json;
use trunkline_db::bus::{Bus, NatsSettings, Servers};
use trunkline_db::events::{self, NewEvent};
use trunkline_db::{Database, SystemClock};
use trunkline_store::keys;
use trunkline_testkit::{Nats, random_bytes};
use trunkline_types::{AccountId, Clock as _, KeyId, Secret, Topic, uuid_v7};
use uuid::Uuid;

use crate::nodes::Node;
use crate::test_gateway::{TestGateway, TestOptions};

/// An event of a topic.
pub(crate) fn news(account: AccountId, topic: Topic, words: &str) -> NewEvent {
    NewEvent {
        id: uuid_v7(SystemClock.now(), random_bytes()),
        account,
        topic,
        task: None,
        body: json!({ "words": words }),
    }
}

/// Lets something happen.
pub(crate) async fn happen(data: &Database, events: &[NewEvent]) {
    let mut tx = data.begin().await.unwrap();
    let done = events::append(&mut tx, events).await;
    tx.finish(done).await.unwrap();
}

impl TestGateway {
    /// So many refunds of the harness's account, in transactions of a few.
    pub(crate) async fn happens(&self, many: usize) {
        let all: Vec<NewEvent> = (0..many)
            .map(|nth| news(self.account, Topic::CallRefunded, &format!("{nth}")))
            .collect();
        for some in all.chunks(25) {
            happen(&self.data, some).await;
        }
    }

    /// One event about a task.
    pub(crate) async fn happens_to_task(&self, topic: Topic, task: Uuid) {
        let mut event = news(self.account, topic, "task");
        event.task = Some(task);
        happen(&self.data, &[event]).await;
    }

    /// Revokes the key that was made last, without an event.
    pub(crate) async fn revokes_newest_key(&self) {
        let newest = "SELECT max(id)::text FROM app.api_key";
        let id = self.db.ask(newest).await[0].parse().unwrap();
        let mut tx = self.console.begin().await.unwrap();
        let done = keys::revoke(&mut tx, KeyId::new(id)).await;
        tx.finish(done).await.unwrap();
    }

    /// Carries copies until the test ends.
    pub(crate) fn relay(&self) {
        relay(&self.gateway);
    }
}

/// Carries copies until the test ends.
pub(crate) fn relay(gateway: &Arc<trunkline_gateway::Services>) {
    let gateway = gateway.clone();
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(async move {
        loop {
            // Copies wait while NATS or the database is away.
            drop(trunkline_account_api::relay_events(gateway.account_api()).await);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    });
}

/// A way over a NATS server, for a node of this name.
pub(crate) async fn bus(nats: &Nats, name: &str) -> Bus {
    let settings = NatsSettings {
        servers: Servers::parse(&Secret::new(nats.url())).unwrap(),
        roots: None,
        replicas: 1,
        own_name: name.to_owned(),
    };
    let bus = Bus::nats(settings).await.unwrap();
    for _ in 0..600 {
        if bus.health() == trunkline_db::bus::Health::Up {
            return bus;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("NATS is not there");
}

/// Two nodes with a NATS server between them, which carry copies.
pub(crate) async fn pair(
    nats: &Nats,
    settings: trunkline_gateway::Settings,
) -> (TestGateway, Node) {
    let harness = TestGateway::build(TestOptions {
        settings,
        bus: bus(nats, "n1").await,
        ..TestOptions::default()
    })
    .await;
    let clock = Arc::new(SystemClock);
    let node = harness.second_node_on(clock, bus(nats, "n2").await).await;
    harness.relay();
    (harness, node)
}
