//! Connections that are open now: who sees them, and who closes one.

use serde_json::json;
use trunkline_db::SystemClock;
use trunkline_store::live_connections::{self, LiveConnection};
use trunkline_store::people::{OperatorRole, Role};
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, Clock as _, KeyId, RequestId};

use crate::customer::harness::CustomerConsole;

const PATH: &str = "/api/operator/connections";

impl CustomerConsole {
    /// A connection that a node says is open.
    pub(crate) async fn connection(&self, account: AccountId, key: KeyId) -> RequestId {
        let now = SystemClock.now();
        let connection = LiveConnection {
            id: RequestId::new(now, random_bytes()),
            node: "n1".to_owned(),
            account,
            key,
            endpoint: "realtime".to_owned(),
            model: Some("open-voice".to_owned()),
            channel: None,
            opened_at: now,
            closes: false,
        };
        let open = std::slice::from_ref(&connection);
        live_connections::seen(&self.data, open).await.unwrap();
        connection.id
    }
}

#[tokio::test]
async fn an_operator_sees_the_connections_of_all_customers_and_a_customer_its_own() {
    let console = CustomerConsole::new().await;
    let mut ids = Vec::new();
    let mut members = Vec::new();
    for name in ["Acme", "Other"] {
        let account = console.firm(name, 0, 0).await;
        let member = console.member(account, Role::Owner).await;
        let (key, _) = console.key(&member, "voice").await;
        ids.push(console.connection(account, key).await.to_string());
        members.push((account, member));
    }
    let operator = console.operator(OperatorRole::ReadOnly).await;
    let all = console.read(&operator, PATH).await;
    assert_eq!(all["data"].as_array().unwrap().len(), 2, "{all}");
    for (id, (account, member)) in ids.iter().zip(&members) {
        let path = format!("{PATH}?customer={account}");
        let of_customer = console.read(&operator, &path).await;
        let [one] = of_customer["data"].as_array().unwrap().as_slice() else {
            panic!("{of_customer}");
        };
        assert_eq!(
            (one["id"].as_str(), one["node"].as_str()),
            (Some(id.as_str()), Some("n1"))
        );
        assert_eq!(
            (&one["key_name"], &one["is_closing"]),
            (&json!("voice"), &json!(false))
        );
        let own = console.read(member, "/api/connections").await;
        let [one] = own["data"].as_array().unwrap().as_slice() else {
            panic!("{own}");
        };
        assert_eq!(one["id"], id.as_str());
        assert_eq!(one["model"], "open-voice");
        assert!(one.get("node").is_none(), "nodes are the operator's");
    }
}

#[tokio::test]
async fn an_operator_closes_a_connection_once_with_a_reason_that_is_logged() {
    let console = CustomerConsole::new().await;
    let account = console.firm("Acme", 0, 0).await;
    let member = console.member(account, Role::Owner).await;
    let (key, _) = console.key(&member, "voice").await;
    let id = console.connection(account, key).await;
    let path = format!("{PATH}/{id}/close");
    let why = json!({ "reason": "abuse" });
    let reader = console.operator(OperatorRole::ReadOnly).await;
    let refused = console.post(&reader, &path, why.clone()).await;
    refused.error(403, "role_not_allowed");
    let operator = console.operator(OperatorRole::Support).await;
    let closing = console.done(&operator, &path, why.clone()).await;
    assert_eq!(closing["is_closing"], true);
    assert_eq!(
        live_connections::to_close(&console.data, "n1")
            .await
            .unwrap(),
        [id]
    );
    let second = console.post(&operator, &path, why.clone()).await;
    second.error(409, "conflict");
    let log = console.actions(5).await;
    let closes = log.iter().filter(|one| one.contains("close_connection"));
    assert_eq!(closes.count(), 1, "{log:?}");
    assert!(log[0].ends_with(&format!("close_connection connection {id}")));
    live_connections::ended(&console.data, &[id]).await.unwrap();
    let gone = console.post(&operator, &path, why).await;
    gone.error(404, "not_found");
}
