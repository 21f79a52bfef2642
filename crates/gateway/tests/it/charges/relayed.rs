//! Calls of endpoints that are relayed without translation: vectors, order, harm, completions of a prompt.

use bytes::Bytes;
use http::Method;
use serde_json::json;

use super::{Call, TEXTS};
use crate::assertions::PRICES;
use crate::random::Dice;
use crate::test_gateway::TestGateway;

/// Each model and its task.
const MODELS: [(&str, &str); 4] = [
    ("vectors", "embeddings"),
    ("orders", "rerank"),
    ("watches", "moderation"),
    ("prompts", "chat"),
];

/// Adds the models and their channel.
pub(super) async fn sell_relayed(harness: &TestGateway) {
    let faces = PRICES
        .iter()
        .filter(|(face, _)| ["input", "output"].contains(face));
    let faces: Vec<String> = faces
        .map(|(face, price)| format!("{face} = {price}"))
        .collect();
    for (name, task) in MODELS {
        let record = format!(
            "[models.{name}]\ngroups = [\"default\"]\ntasks = [\"{task}\"]\n\
             specs = {{ max_output_tokens = 20000 }}\n\
             [models.{name}.prices]\nbilling_unit = \"tokens\"\nstandard = {{ {} }}\n",
            faces.join(", ")
        );
        harness.sell(&record).await;
    }
    let base = harness.simulator.base_url();
    let models = MODELS.map(|(name, _)| (name, "sim-fast"));
    harness.channel("relayed", &base, 10, &models).await;
}

/// What vendors read directives from stands last.
pub(super) fn draw(dice: &mut Dice, marker: &str) -> Call {
    let text = dice.pick(&TEXTS).repeat(1 + dice.below(40) as usize);
    let factor = dice.pick(&[1, 1, 3, 200, 1_000_000]);
    let prompt = format!("{text} [[fault:lying_usage:{factor}]] [[id:{marker}]]");
    let (name, body) = match dice.below(4) {
        0 => {
            let body = json!({ "model": "vectors", "input": [text, prompt] });
            ("embeddings", body)
        }
        1 => {
            let body = json!({ "model": "orders", "query": prompt, "documents": [text, "this"] });
            ("rerank", body)
        }
        2 => {
            let body = json!({ "model": "watches", "input": prompt });
            ("moderations", body)
        }
        _ => {
            let prompt = format!("{prompt} [[tokens:{}]]", dice.below(60));
            let (most, stream) = (1 + dice.below(60), dice.percent(50));
            let body = json!({
                "model": "prompts", "prompt": prompt, "max_tokens": most, "stream": stream,
            });
            ("completions", body)
        }
    };
    Call {
        method: Method::POST,
        path: format!("/v1/{name}"),
        content_type: None,
        body: Bytes::from(body.to_string()),
        quote: json!({ "endpoint": name, "body": body }),
    }
}
