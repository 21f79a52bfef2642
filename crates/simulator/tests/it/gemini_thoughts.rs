//! Thoughts and their signatures: shown on demand, signed, wanted back and known again.

use serde_json::{Value, json};
use trunkline_simulator::Simulator;

use crate::client::started;
use crate::gemini::{call, saying, text_of, with_tools};

const THINKER: &str = "sim-reason";

fn thinking(mut body: Value) -> Value {
    body["generationConfig"] = json!({"thinkingConfig": {"includeThoughts": true}});
    body
}

async fn ask(simulator: &Simulator, body: &Value) -> Value {
    let got = call(simulator, THINKER, "generateContent", body).await;
    got.json()
}

/// The parts of the first candidate.
fn parts(answer: &Value) -> &Value {
    &answer["candidates"][0]["content"]["parts"]
}

fn answered(body: &Value, parts: &Value, names: &[&str]) -> Value {
    let mut next = body.clone();
    let contents = next["contents"].as_array_mut().unwrap();
    contents.push(json!({"role": "model", "parts": parts}));
    let results: Vec<Value> = names
        .iter()
        .map(|name| json!({"functionResponse": {"name": name, "response": {"ok": 1}}}))
        .collect();
    contents.push(json!({"role": "user", "parts": results}));
    next
}

#[tokio::test]
async fn thoughts_are_shown_only_when_asked_for_and_counted_always() {
    let simulator = started().await;
    let prompt = "[[reasoning:3]] [[tokens:2]]";
    let answer = ask(&simulator, &thinking(saying(prompt))).await;
    assert_eq!(
        parts(&answer)[0],
        json!({"text": "sim1 sim2 sim3 ", "thought": true})
    );
    assert_eq!(parts(&answer)[1]["text"], "sim1 sim2 ");
    assert!(parts(&answer)[1]["thoughtSignature"].is_string());
    let hidden = ask(&simulator, &saying(prompt)).await;
    assert_eq!(parts(&hidden).as_array().unwrap().len(), 1);
    for answer in [answer, hidden] {
        let usage = &answer["usageMetadata"];
        assert_eq!(
            (&usage["thoughtsTokenCount"], &usage["candidatesTokenCount"]),
            (&json!(3), &json!(2))
        );
    }
    let mut small = saying(prompt);
    small["generationConfig"] = json!({"thinkingConfig": {"thinkingBudget": 1}});
    let answer = ask(&simulator, &small).await;
    assert_eq!(answer["usageMetadata"]["thoughtsTokenCount"], 1);
}

#[tokio::test]
async fn a_stream_ends_with_the_signature_on_an_empty_text() {
    let simulator = started().await;
    let body = thinking(saying("[[reasoning:2]] [[tokens:2]]"));
    let got = call(&simulator, THINKER, "streamGenerateContent?alt=sse", &body).await;
    let chunks = got.chunks();
    assert_eq!(text_of(&chunks), "sim1 sim2 ");
    let reported: Vec<_> = chunks
        .iter()
        .map(|chunk| chunk["usageMetadata"]["thoughtsTokenCount"].as_u64())
        .collect();
    assert_eq!(reported, [Some(1), Some(2), Some(2), Some(2), Some(2)]);
    let last = &parts(&chunks[4])[0];
    assert_eq!(last["text"], "");
    assert!(last["thoughtSignature"].is_string());
}

#[tokio::test]
async fn the_first_call_of_each_step_is_signed_and_the_signature_is_wanted_back() {
    let simulator = started().await;
    let body = with_tools("[[tool:get_weather]] [[tool:stop]] [[steps:2]]");
    let first = ask(&simulator, &body).await;
    let calls = parts(&first);
    assert!(calls[0]["thoughtSignature"].is_string());
    assert!(calls[1].get("thoughtSignature").is_none());
    let names = ["get_weather", "stop"];
    let second_body = answered(&body, calls, &names);
    let second = ask(&simulator, &second_body).await;
    assert_eq!(parts(&second)[0]["functionCall"]["name"], "get_weather");
    let third_body = answered(&second_body, parts(&second), &names);
    let third = ask(&simulator, &third_body).await;
    assert!(parts(&third)[0]["text"].is_string(), "{third}");

    // Either step without its signature is refused, in this turn.
    for step in [1, 3] {
        let mut bare = third_body.clone();
        let part = &mut bare["contents"][step]["parts"][0];
        part.as_object_mut().unwrap().remove("thoughtSignature");
        let error = ask(&simulator, &bare).await;
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains("missing a thought_signature"), "{message}");
        assert!(
            message.contains(&format!("position {}", step + 1)),
            "{message}"
        );
    }
    // A later turn does not ask for it, and a model that does not think never does.
    let mut later = third_body.clone();
    later["contents"][1]["parts"][0]
        .as_object_mut()
        .unwrap()
        .remove("thoughtSignature");
    let contents = later["contents"].as_array_mut().unwrap();
    contents.push(json!({"role": "model", "parts": [{"text": "done"}]}));
    contents.push(json!({"role": "user", "parts": [{"text": "thanks"}]}));
    assert!(parts(&ask(&simulator, &later).await)[0]["text"].is_string());
}

#[tokio::test]
async fn a_signature_that_is_not_of_this_call_is_corrupted() {
    let simulator = started().await;
    let body = with_tools("[[tool:get_weather]]");
    let first = ask(&simulator, &body).await;
    let names = ["get_weather"];
    let good = answered(&body, parts(&first), &names);
    assert!(parts(&ask(&simulator, &good).await)[0]["text"].is_string());
    let mut changed = good.clone();
    changed["contents"][1]["parts"][0]["functionCall"]["args"]["city"] = json!("Rome");
    let mut made_up = good.clone();
    made_up["contents"][1]["parts"][0]["thoughtSignature"] = json!("bWFkZSB1cA==");
    let mut on_text = saying("hello");
    on_text["contents"][0]["parts"][0]["thoughtSignature"] = json!("bWFkZSB1cA==");
    for body in [changed, made_up, on_text] {
        let error = ask(&simulator, &body).await;
        assert_eq!(
            error["error"]["message"], "Corrupted thought signature.",
            "{body}"
        );
    }
    // The vendor's own way around it, for calls that came from elsewhere.
    let mut waived = good;
    waived["contents"][1]["parts"][0]["thoughtSignature"] =
        json!("context_engineering_is_the_way_to_go");
    assert!(parts(&ask(&simulator, &waived).await)[0]["text"].is_string());
}

#[tokio::test]
async fn a_stream_may_come_back_chunk_by_chunk() {
    let simulator = started().await;
    let mut body = thinking(with_tools(
        "[[tool:get_weather]] [[tool:stop]] [[reasoning:2]]",
    ));
    let got = call(&simulator, THINKER, "streamGenerateContent?alt=sse", &body).await;
    let contents = body["contents"].as_array_mut().unwrap();
    for chunk in got.chunks() {
        contents.push(chunk["candidates"][0]["content"].clone());
    }
    contents.push(json!({"role": "user", "parts": [
        {"functionResponse": {"name": "stop", "response": {}}},
        {"functionResponse": {"name": "get_weather", "response": {}}}]}));
    let answer = ask(&simulator, &body).await;
    assert!(parts(&answer)[0]["text"].is_string(), "{answer}");
}
