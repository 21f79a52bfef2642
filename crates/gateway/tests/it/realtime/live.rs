//! Connections that are open now: listed from the database, and closed by an operator through it.

use std::time::Duration;

use serde_json::json;
use trunkline_store::live_connections::{self, ListedConnection, LiveQuery};

use super::harness::{Client, cost};
use crate::test_gateway::TestGateway;

const TEN_USD: i64 = 10_000_000_000;

async fn listed(harness: &TestGateway) -> Vec<ListedConnection> {
    harness.gateway.exchange_live_connections().await.unwrap();
    let mut session = harness.data.session().await.unwrap();
    let query = LiveQuery {
        account: Some(harness.account),
        limit: 10,
    };
    live_connections::list(&mut session, query).await.unwrap()
}

async fn request_close(harness: &TestGateway, one: &ListedConnection) {
    let mut tx = harness.console.begin().await.unwrap();
    let done = live_connections::request_close(&mut tx, one.connection.id).await;
    assert!(tx.finish(done).await.unwrap());
}

async fn refused(client: &mut Client) {
    let (events, code) = client.rest().await;
    let last = events.last().unwrap();
    assert_eq!(
        (last["error"]["code"].as_str(), code),
        (Some("closed_by_operator"), Some(1008)),
        "{last}"
    );
}

#[tokio::test]
async fn an_operator_closes_one_of_two_connections_and_what_it_had_done_is_charged() {
    let harness = TestGateway::realtime(TEN_USD).await;
    let mut first = harness.connect().await;
    let mut second = harness.connect().await;
    let mut charged = 0;
    for client in [&mut first, &mut second] {
        client.until("session.created").await;
        client.text_session("Answer.").await;
        charged += cost(&client.ask("Hello").await);
    }
    let open = listed(&harness).await;
    let seen: Vec<_> = open
        .iter()
        .map(|one| (one.connection.model.as_deref(), one.channel_name.as_deref()))
        .collect();
    assert_eq!(seen, [(Some("live-voice"), Some("voice")); 2]);
    // The newest is first.
    request_close(&harness, &open[0]).await;
    harness.gateway.exchange_live_connections().await.unwrap();
    refused(&mut second).await;
    charged += cost(&first.ask("Still here?").await);
    let mut left = listed(&harness).await;
    // The gateway closes it, and then it has ended.
    for _ in 0..100 {
        if left.len() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        left = listed(&harness).await;
    }
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].connection.id, open[1].connection.id);
    first.close().await;
    assert_eq!(TEN_USD - harness.at_rest().await, charged);
    assert_eq!(listed(&harness).await, []);
}

#[tokio::test]
async fn a_connection_of_responses_is_listed_and_closed_in_the_same_way() {
    let harness = TestGateway::new().await;
    let bearer = format!("Bearer {}", harness.key);
    let headers = [("authorization", bearer.as_str())];
    let mut client = harness.connect_as("/v1/responses", &headers).await.unwrap();
    // The connection answers, so it is open.
    client.send(json!({ "type": "nothing" })).await;
    assert_eq!(client.next().await.unwrap()["type"], "error");
    let open = listed(&harness).await;
    let [one] = open.as_slice() else {
        panic!("{open:?}");
    };
    assert_eq!(one.connection.endpoint, "responses");
    assert_eq!(one.connection.model, None);
    request_close(&harness, one).await;
    harness.gateway.exchange_live_connections().await.unwrap();
    refused(&mut client).await;
    harness.at_rest().await;
    assert_eq!(listed(&harness).await, []);
}
