//! The small endpoints: what they say, what they count, what they refuse.

use serde_json::{Value, json};

use crate::client::{ask, post, served, started};

#[tokio::test]
async fn ranks_follow_the_words_that_are_shared() {
    let simulator = started().await;
    let body = json!({"model": "sim-small", "query": "red apple", "top_n": 2,
        "documents": ["a green pear", {"text": "red apple"}, "a red car"]});
    let jina = post(&simulator, "/v1/rerank", &body).await.json();
    assert_eq!(jina["results"][0]["index"], 1);
    assert_eq!(jina["results"][0]["relevance_score"], 1.0);
    assert_eq!(jina["results"][0]["document"], json!({"text": "red apple"}));
    assert_eq!(jina["results"][1]["index"], 2);
    assert_eq!(jina["results"].as_array().unwrap().len(), 2);
    // 9 + 12 + 9 + 9 bytes.
    assert_eq!(jina["usage"], json!({"total_tokens": 10}));
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!(
        (record.prompt_tokens, record.told_usage),
        (10, Some((10, 0)))
    );
    let cohere = post(&simulator, "/v2/rerank", &body).await.json();
    assert_eq!(cohere["meta"]["billed_units"], json!({"search_units": 1}));
    assert_eq!(cohere["results"][0].get("document"), None);
    let mut many = body.clone();
    many["documents"] = json!(vec!["x"; 101]);
    let cohere = post(&simulator, "/v2/rerank", &many).await.json();
    assert_eq!(cohere["meta"]["billed_units"]["search_units"], 2);
}

#[tokio::test]
async fn a_bad_rerank_is_refused_in_the_shape_of_its_vendor() {
    let simulator = started().await;
    let good = json!({"model": "sim-small", "query": "q", "documents": ["a"]});
    for (name, value, status, says) in [
        ("model", json!("gpt-x"), 404, "does not exist"),
        ("query", json!(""), 400, "query"),
        ("documents", json!([]), 400, "documents"),
        ("documents", json!([1]), 400, "documents[0]"),
        ("top_n", json!(0), 400, "top_n"),
        ("more", json!(1), 400, "more"),
        ("query", json!("[[fault:status:503]]"), 503, "overloaded"),
    ] {
        let mut body = good.clone();
        body[name] = value;
        for (path, field) in [("/v1/rerank", "detail"), ("/v2/rerank", "message")] {
            let got = post(&simulator, path, &body).await;
            assert_eq!(got.status, status, "{body}");
            let message = got.json()[field].as_str().unwrap().to_owned();
            assert!(message.contains(says), "{message}");
        }
    }
    let got = ask(&simulator, "POST", "/v1/rerank", "", b"{}").await;
    assert_eq!((got.status, got.json()["detail"].is_string()), (401, true));
}

#[tokio::test]
async fn the_others_refuse_in_the_shape_of_chat() {
    let simulator = started().await;
    for (path, body, param, code) in [
        (
            "embeddings",
            json!({"input": "a"}),
            Value::Null,
            Value::Null,
        ),
        (
            "embeddings",
            json!({"model": "sim-small"}),
            json!("input"),
            json!("missing_required_parameter"),
        ),
        (
            "embeddings",
            json!({"model": "sim-small", "input": "a", "dimensions": 0}),
            json!("dimensions"),
            json!("integer_below_min_value"),
        ),
        (
            "embeddings",
            json!({"model": "sim-small", "input": "a", "encoding_format": "hex"}),
            json!("encoding_format"),
            json!("invalid_value"),
        ),
        (
            "embeddings",
            json!({"model": "sim-small", "input": ["a", ""]}),
            json!("input"),
            Value::Null,
        ),
        (
            "moderations",
            json!({"input": [1]}),
            json!("input[0]"),
            json!("invalid_type"),
        ),
        (
            "moderations",
            json!({}),
            json!("input"),
            json!("missing_required_parameter"),
        ),
        (
            "completions",
            json!({"model": "sim-small"}),
            json!("prompt"),
            json!("missing_required_parameter"),
        ),
        (
            "completions",
            json!({"model": "sim-small", "prompt": "a", "n": 129}),
            json!("n"),
            json!("integer_above_max_value"),
        ),
        (
            "completions",
            json!({"model": "sim-small", "prompt": "a", "messages": []}),
            Value::Null,
            Value::Null,
        ),
    ] {
        let got = post(&simulator, &format!("/v1/{path}"), &body).await;
        assert_eq!(got.status, 400, "{path} {body}");
        let error = &got.json()["error"];
        assert_eq!((&error["param"], &error["code"]), (&param, &code), "{body}");
    }
    let head = "authorization: Bearer k\r\n";
    for path in ["/v1/embeddings", "/v1/rerank"] {
        let got = ask(&simulator, "GET", path, head, b"").await;
        assert_eq!(got.status, 405, "{path}");
    }
}

#[tokio::test]
async fn faults_strike_the_small_ones_too() {
    let simulator = started().await;
    let embed = |prompt: &str| json!({"model": "sim-small", "input": prompt, "dimensions": 2});
    let path = "/v1/embeddings";
    let lying = post(&simulator, path, &embed("[[fault:lying_usage:3]]")).await;
    assert_eq!(lying.json()["usage"]["prompt_tokens"], 18);
    let silent = post(&simulator, path, &embed("[[fault:no_usage]]")).await;
    assert_eq!(silent.json().get("usage"), None);
    let hidden = post(&simulator, path, &embed("[[fault:error_inside200]]")).await;
    assert_eq!(
        (hidden.status, hidden.json()["error"].is_object()),
        (200, true)
    );
    let cut = post(&simulator, path, &embed("[[fault:truncated_json]]")).await;
    assert!(cut.is_whole && serde_json::from_slice::<Value>(&cut.body).is_err());
    let path = "/v1/completions";
    let complete = |prompt: &str| json!({"model": "sim-small", "prompt": prompt, "stream": true});
    let prompt = "[[fault:close_mid_stream:2]] [[tokens:9]]";
    let closed = post(&simulator, path, &complete(prompt)).await;
    assert_eq!((closed.frames().len(), closed.is_whole), (2, false));
    let open = post(&simulator, path, &complete("[[fault:no_done]]")).await;
    assert!(open.is_whole && !open.text().contains("[DONE]"));
    let garbage = post(&simulator, path, &complete("[[fault:garbage_frame]]")).await;
    assert!(std::str::from_utf8(&garbage.body).is_err());
    let record = simulator.requests().pop().unwrap();
    assert_eq!((record.completion_tokens, record.finished), (5, true));
}

#[tokio::test]
async fn a_prompt_of_several_has_a_choice_for_each_and_every_wish() {
    let simulator = started().await;
    let body = json!({"model": "sim-small", "prompt": ["one", "two [[tokens:2]]"], "n": 2,
        "echo": true});
    let answer = post(&simulator, "/v1/completions", &body).await.json();
    let texts: Vec<&str> = answer["choices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|choice| choice["text"].as_str().unwrap())
        .collect();
    let second = "two [[tokens:2]]sim1 sim2 ";
    assert_eq!(texts, ["onesim1 sim2 ", "onesim1 sim2 ", second, second]);
    assert_eq!(answer["usage"]["completion_tokens"], 8);
}
