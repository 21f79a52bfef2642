//! A request of this format that goes through canon and back keeps everything.

use serde_json::Value;
use trunkline_wire::canonical::Target;

use crate::claude_messages::support::{normal, request, sent, target};

const REQUESTS: &[(&str, &str)] = &[
    ("adaptive", include_str!("requests/adaptive.json")),
    ("cache_marks", include_str!("requests/cache_marks.json")),
    ("documents", include_str!("requests/documents.json")),
    ("images", include_str!("requests/images.json")),
    (
        "parallel_tools",
        include_str!("requests/parallel_tools.json"),
    ),
    ("plain", include_str!("requests/plain.json")),
    (
        "structured_output",
        include_str!("requests/structured_output.json"),
    ),
    (
        "system_and_sampling",
        include_str!("requests/system_and_sampling.json"),
    ),
    ("system_role", include_str!("requests/system_role.json")),
    ("thinking_off", include_str!("requests/thinking_off.json")),
    (
        "thinking_with_seals",
        include_str!("requests/thinking_with_seals.json"),
    ),
    ("tool_errors", include_str!("requests/tool_errors.json")),
    (
        "tools_one_by_one",
        include_str!("requests/tools_one_by_one.json"),
    ),
    (
        "unknown_fields",
        include_str!("requests/unknown_fields.json"),
    ),
    (
        "vendors_own_tools",
        include_str!("requests/vendors_own_tools.json"),
    ),
];

fn back(body: &str, target: &Target<'_>) -> (Value, usize) {
    let conversation = request(body).canonical().unwrap();
    let (mut value, written) = sent(&conversation, target);
    value["model"] = Value::from("m");
    (normal(&value), written.notes.all().len())
}

#[test]
fn a_request_comes_back_from_canon_as_it_was() {
    for (name, body) in REQUESTS {
        let by_effort = *name == "adaptive";
        let target = Target {
            thinks_by_effort: by_effort,
            ..target()
        };
        let expected: Value = serde_json::from_str(body).unwrap();
        let (value, notes) = back(body, &target);
        assert_eq!(value, normal(&expected), "{name}");
        assert_eq!(notes, 0, "{name}");
    }
    assert!(REQUESTS.len() >= 12);
}

#[test]
fn a_system_role_at_the_beginning_is_the_system_text() {
    let body = r#"{"model":"m","messages":[
        {"role":"system","content":[{"type":"text","text":"A","later":1}]},
        {"role":"system","content":[{"type":"text","text":"B","later":2}]},
        {"role":"user","content":"Hi"}]}"#;
    let expected = serde_json::json!({
        "model": "m",
        "system": [
            { "type": "text", "text": "A", "later": 1 },
            { "type": "text", "text": "B", "later": 2 },
        ],
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Hi" }] }],
    });
    assert_eq!(back(body, &target()), (expected, 0));
}

#[test]
fn a_length_and_a_model_are_those_of_the_target() {
    let conversation = request(REQUESTS[0].1).canonical().unwrap();
    let target = Target {
        max_output: Some(9),
        ..target()
    };
    let (value, _) = sent(&conversation, &target);
    assert_eq!(
        (&value["max_tokens"], &value["model"]),
        (&9.into(), &"up".into())
    );
}

#[test]
fn the_beta_name_of_structured_output_is_written_by_todays() {
    let body = r#"{"model":"m","output_format":{"type":"json_schema","schema":{"type":"object"}},
        "messages":[{"role":"user","content":"Hi"}]}"#;
    let (value, notes) = back(body, &target());
    assert_eq!(value["output_config"]["format"]["schema"]["type"], "object");
    assert_eq!((value.get("output_format"), notes), (None, 0));
}
