//! Receipts, statements and the published keys, as a customer asks for them.

use bytes::Bytes;
use http::Method;
use serde_json::json;
use trunkline_account_api::resources::receipts::keep_chains;
use trunkline_ledger::usage_report;
use trunkline_receipts::{PublicKey, verify};

use crate::test_gateway::{GatewayResponse, TestGateway, ask};

const DAY: i64 = 86_400;

impl TestGateway {
    /// What the worker's jobs do.
    async fn chains_are_kept(&self) {
        usage_report::sum_up(&self.data).await.unwrap();
        while keep_chains(self.gateway.account_api()).await.unwrap() {}
    }

    async fn get_as(&self, key: &str, path: &str) -> GatewayResponse {
        let sent = self.send_as((self.address, key), Method::GET, path, Bytes::new(), &[]);
        GatewayResponse::read(sent.await).await
    }

    async fn published(&self) -> Vec<PublicKey> {
        // No key is needed.
        let got = self.get_as("", "/.well-known/trunkline-keys.json").await;
        assert_eq!(got.status, 200, "{}", got.text());
        let body = got.json();
        let keys = body["keys"].as_array().unwrap().iter();
        keys.map(|key| {
            assert_eq!(key["algorithm"], "Ed25519");
            PublicKey::parse(key["public_key"].as_str().unwrap().as_bytes()).unwrap()
        })
        .collect()
    }
}

#[tokio::test]
async fn a_customer_gets_receipts_and_a_statement_that_the_published_keys_have_signed() {
    let harness = TestGateway::new().await;
    let mut calls = Vec::new();
    for prompt in ["Hello [[tokens:3]]", "Hello [[tokens:5]]"] {
        let got = harness.chat(&ask(prompt)).await;
        assert_eq!(got.status, 200, "{}", got.text());
        calls.push(got.id());
    }
    harness.chains_are_kept().await;
    let path = format!("/v1/usage/{}/receipt", calls[0]);
    let early = harness.get(&path).await;
    assert_eq!(
        (early.status.as_u16(), early.code().as_str()),
        (404, "not_found")
    );
    assert!(early.text().contains("midnight UTC"), "{}", early.text());
    harness.db.shift_clock(DAY).await;
    harness.chains_are_kept().await;

    let keys = harness.published().await;
    assert_eq!(keys.len(), 1);
    for call in &calls {
        let receipt = harness.get(&format!("/v1/usage/{call}/receipt")).await;
        assert_eq!(receipt.status, 200, "{}", receipt.text());
        let report = verify(&mut receipt.text().as_bytes(), Some(&keys)).unwrap();
        assert!(report.is_ok() && report.is_receipt, "{report:?}");
        assert_eq!(report.account, Some(harness.account.number()));
        let usage = harness.usage(call).await;
        assert_eq!(
            report.totals.paid + report.totals.trial,
            -i128::from(usage.1)
        );
    }
    let statement = harness.get("/v1/statement").await;
    assert_eq!(statement.status, 200, "{}", statement.text());
    let report = verify(&mut statement.text().as_bytes(), Some(&keys)).unwrap();
    assert!(report.is_ok(), "{report:?}");
    let [paid, _, trial, _] = harness.wallets().await;
    let sums = (report.totals.paid, report.totals.trial);
    assert_eq!(sums, (i128::from(paid), i128::from(trial)));
    for call in &calls {
        assert!(statement.text().contains(call), "{}", statement.text());
    }
    // Nothing that is the operator's is in it.
    assert!(!statement.text().contains("cost"), "{}", statement.text());
}

#[tokio::test]
async fn a_statement_is_refused_to_a_sub_key_and_for_days_that_are_not_over() {
    let harness = TestGateway::new().await;
    let body = json!({ "name": "below" }).to_string();
    let sent = harness
        .send(Method::POST, "/v1/keys", Bytes::from(body))
        .await;
    let made = GatewayResponse::read(sent).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let below = made.json()["key"].as_str().unwrap().to_owned();
    let refused = harness.get_as(&below, "/v1/statement").await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (403, "endpoint_not_allowed")
    );
    let today = usage_report::today(&harness.data).await.unwrap();
    for (query, status) in [
        (format!("?from={today}&to={today}"), 400),
        (
            format!("?from={}&to={}", today.earlier(1), today.earlier(2)),
            400,
        ),
        (format!("?from={}", today.earlier(401)), 400),
        ("?from=soon".to_owned(), 400),
        ("?day=1".to_owned(), 400),
        // No lines are a statement too.
        (String::new(), 200),
    ] {
        let got = harness.get(&format!("/v1/statement{query}")).await;
        assert_eq!(got.status, status, "{query}: {}", got.text());
        if status == 200 {
            let report = verify(&mut got.text().as_bytes(), None).unwrap();
            assert!(report.is_ok() && report.totals.lines == 0, "{report:?}");
        }
    }
    let unknown = harness.get("/v1/usage/req_x/receipt").await;
    assert_eq!(unknown.status, 404, "{}", unknown.text());
}
