//! A catalog that was written past its checks: nodes keep the last good one, new nodes find it, and
//! publishing goes on from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use trunkline_db::SystemClock;
use trunkline_gateway::{Change, ChangeAuthor, publish};
use trunkline_store::catalog::{self, NewChange};

use crate::test_gateway::{TestGateway, ask};

/// Writes unchecked rows. Their number.
async fn spoil(
    harness: &TestGateway,
    models: &[(String, Option<Value>)],
    frame: Option<&Value>,
) -> i64 {
    let mut tx = harness.console.begin().await.unwrap();
    let number = catalog::next_number(&mut tx).await.unwrap();
    let new = NewChange {
        pricing_version: [7; 32],
        author: "harness",
        note: "wrong on purpose",
        header: frame,
        models,
    };
    catalog::write(&mut tx, number, &new).await.unwrap();
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
    number
}

fn entry(groups: &[&str], faces: &Value) -> Option<Value> {
    Some(json!({ "groups": groups, "prices": { "billing_unit": "tokens", "standard": faces } }))
}

#[tokio::test]
async fn an_invalid_catalog_is_not_used_and_the_next_valid_one_is() {
    let harness = TestGateway::new().await;
    let good = harness.gateway.catalog();
    let odd = json!({ "input": 1, "output": 1, "video_minute": 1 });
    let plain = json!({ "input": 1, "output": 1 });
    let two_spoilt = [
        ("sim-fast".to_owned(), entry(&["default"], &odd)),
        ("sim-new".to_owned(), entry(&["nowhere"], &plain)),
        ("unserved".to_owned(), None),
    ];
    let first = spoil(&harness, &two_spoilt, None).await;
    let frame = json!({ "groups": {} });
    let last = spoil(&harness, &[], Some(&frame)).await;
    assert!(last > first);
    assert_eq!(harness.gateway.catalog().revision, good.revision);
    let reply = harness.metrics().await;
    let own = format!("trunkline_catalog_revision {}\n", good.revision);
    let refused = format!("trunkline_catalog_refused_revision {last}\n");
    assert!(reply.contains(&own) && reply.contains(&refused), "{reply}");
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    // A node that starts now has never seen a good one, and finds it.
    let node = harness.second_node(Arc::new(SystemClock)).await;
    assert_eq!(node.gateway.catalog().book.version(), good.book.version());
    let mut tx = harness.console.begin().await.unwrap();
    let signed = ChangeAuthor {
        author: "harness",
        note: "good again",
    };
    let done = publish(&mut tx, signed, |before| {
        assert_eq!(before.version(), good.book.version());
        let entry = before.model("sim-picky").unwrap().entry().clone();
        let mut dearer = entry;
        dearer.description = Some("Picky.".to_owned());
        Change {
            frame: None,
            models: BTreeMap::from([("sim-picky".to_owned(), Some(dearer))]),
        }
    })
    .await;
    let done = tx.finish(done).await.unwrap();
    assert!(done.after.revision > last);
    for gateway in [&harness.gateway, &node.gateway] {
        gateway.refresh().await.unwrap();
        let catalog = gateway.catalog();
        assert_eq!(catalog.revision, done.after.revision);
        assert_eq!(catalog.book.document(), done.after.book.document());
        assert_eq!(
            catalog.book.version(),
            good.book.version(),
            "prices are as before"
        );
        assert!(catalog.book.model("unserved").is_some());
        assert!(catalog.book.model("sim-new").is_none());
    }
    let reply = harness.metrics().await;
    assert!(reply.contains("trunkline_catalog_refused_revision 0\n"));
    // And a reader that starts from the beginning reads the same.
    let third =
        trunkline_gateway::CatalogSnapshot::load(&mut harness.data.session().await.unwrap()).await;
    assert_eq!(third.unwrap().book.document(), done.after.book.document());
    harness.audit().await;
}
