//! Calls of tools that a prompt writes out, one or several in an answer.

use serde_json::{Value, json};

use crate::client::{asking, chat, served, started, streaming};

const PROMPT: &str =
    r#"Do it. [[call:Read {"path": "a ]] b"}]] [[call:Read {"path": "c"}]] [[tool:list]] Now."#;

fn tools() -> Value {
    json!([
        {"type": "function", "function": {"name": "Read"}},
        {"type": "function", "function": {"name": "list", "parameters":
            {"type": "object", "properties": {"deep": {"type": "boolean"}}, "required": ["deep"]}}},
    ])
}

/// Name and arguments of each call of a whole message.
fn calls(message: &Value) -> Vec<(String, Value)> {
    let list = message["tool_calls"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let read = |call: Value| {
        let name = call["function"]["name"].as_str().unwrap().to_owned();
        let arguments = call["function"]["arguments"].as_str().unwrap();
        (name, serde_json::from_str(arguments).unwrap())
    };
    list.into_iter().map(read).collect()
}

fn expected() -> Vec<(String, Value)> {
    vec![
        ("Read".to_owned(), json!({"path": "a ]] b"})),
        ("Read".to_owned(), json!({"path": "c"})),
        ("list".to_owned(), json!({"deep": true})),
    ]
}

#[tokio::test]
async fn several_calls_with_the_arguments_of_the_prompt_come_in_one_answer() {
    let simulator = started().await;
    let mut body = asking(PROMPT);
    body["tools"] = tools();
    let answer = chat(&simulator, &body).await.json();
    let message = &answer["choices"][0]["message"];
    assert_eq!(calls(message), expected());
    assert_eq!(message["content"], Value::Null);
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    let ids: Vec<&Value> = (0..3).map(|at| &message["tool_calls"][at]["id"]).collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2], "{ids:?}");
}

#[tokio::test]
async fn a_stream_tells_the_same_calls_by_their_index_and_the_same_tokens() {
    let simulator = started().await;
    let mut body = streaming(PROMPT);
    body["tools"] = tools();
    let got = chat(&simulator, &body).await;
    let chunks = got.chunks();
    let mut message = json!({"tool_calls": []});
    for call in chunks
        .iter()
        .map(|chunk| &chunk["choices"][0]["delta"]["tool_calls"][0])
        .filter(|call| call.is_object())
    {
        let list = message["tool_calls"].as_array_mut().unwrap();
        let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
        if index == list.len() {
            assert!(
                call["id"].is_string() && call["type"] == "function",
                "{call}"
            );
            list.push(call.clone());
            continue;
        }
        assert!(call["id"].is_null() && index + 1 == list.len(), "{call}");
        let piece = call["function"]["arguments"].as_str().unwrap();
        let before = list[index]["function"]["arguments"].as_str().unwrap();
        list[index]["function"]["arguments"] = json!(format!("{before}{piece}"));
    }
    assert_eq!(calls(&message), expected());
    let reported = chunks.last().unwrap()["usage"]["completion_tokens"].as_u64();
    // Three names; the words of {"path": "a ]] b"}, {"path": "c"} and {"deep": true}.
    let made_up = message["tool_calls"][2]["function"]["arguments"]
        .as_str()
        .unwrap();
    let words = u64::try_from(made_up.split_whitespace().count()).unwrap();
    assert_eq!(reported, Some(3 + 4 + 2 + words));
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!(Some(record.completion_tokens), reported);
}

#[tokio::test]
async fn one_call_at_a_time_and_none_after_the_results() {
    let simulator = started().await;
    let mut body = asking(PROMPT);
    body["tools"] = tools();
    body["parallel_tool_calls"] = json!(false);
    let answer = chat(&simulator, &body).await.json();
    assert_eq!(calls(&answer["choices"][0]["message"]), expected()[..1]);
    let message = answer["choices"][0]["message"].clone();
    let id = message["tool_calls"][0]["id"].clone();
    body["messages"].as_array_mut().unwrap().extend([
        message,
        json!({"role": "tool", "tool_call_id": id, "content": "text"}),
        json!({"role": "system", "content": "a remark of the agent"}),
    ]);
    let answer = chat(&simulator, &body).await.json();
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    body["messages"].as_array_mut().unwrap().extend([
        answer["choices"][0]["message"].clone(),
        json!({"role": "user", "content": r#"Again. [[call:Read {"path": "d"}]]"#}),
    ]);
    let answer = chat(&simulator, &body).await.json();
    let repeated = vec![("Read".to_owned(), json!({"path": "d"}))];
    assert_eq!(calls(&answer["choices"][0]["message"]), repeated);
}

#[tokio::test]
async fn a_limit_cuts_calls_off_and_says_so() {
    let simulator = started().await;
    for (limit, left) in [(1, 1), (5, 1), (6, 2), (8, 2)] {
        let mut body = asking(PROMPT);
        body["tools"] = tools();
        body["max_tokens"] = json!(limit);
        let answer = chat(&simulator, &body).await.json();
        assert_eq!(answer["choices"][0]["finish_reason"], "length", "{limit}");
        let reported = answer["choices"][0]["message"]["tool_calls"].as_array();
        assert_eq!(reported.unwrap().len(), left, "{limit}");
        assert_eq!(answer["usage"]["completion_tokens"], limit);
    }
}
