//! What a key can ask about itself.

use crate::test_gateway::{TestGateway, ask};

#[tokio::test]
async fn models_balance_key_and_usage_are_told() {
    let harness = TestGateway::new().await;
    let models = harness.get("/v1/models").await.json();
    let ids: Vec<&str> = models["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        [
            "public-name",
            "sim-fast",
            "sim-picky",
            "sim-reason",
            "unserved"
        ],
        "what is sold in another group is not shown"
    );
    let model = harness.get("/v1/models/sim-fast").await.json();
    assert_eq!(
        (model["object"].as_str(), model["owned_by"].as_str()),
        (Some("model"), Some("simulator"))
    );
    let got = harness.get("/v1/models/vip-only").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (404, "model_not_found")
    );
    let balance = harness.get("/v1/balance").await.json();
    assert_eq!(balance["paid_usd"], "10");
    let key = harness.get("/v1/key").await.json();
    assert_eq!(key["group"], "default");
    assert!(!key.to_string().contains(&harness.key));
    let call = harness.chat(&ask("Hello [[tokens:6]]")).await;
    let usage = harness
        .get(&format!("/v1/usage/{}", call.id()))
        .await
        .json();
    assert_eq!(usage["outcome"], "complete");
    assert_eq!(
        usage["cost_usd"].as_str(),
        call.header("trunkline-cost-usd").as_deref()
    );
    assert_eq!(usage["units"]["output"], 6);
    let strange = "req_01a1dd5f69597064adf9220cb6e27345";
    for id in [strange, "nonsense"] {
        let got = harness.get(&format!("/v1/usage/{id}")).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (404, "not_found")
        );
    }
    let other = TestGateway::new().await;
    let got = other.get(&format!("/v1/usage/{}", call.id())).await;
    assert_eq!(got.status, 404, "another account's call is unknown");
}
