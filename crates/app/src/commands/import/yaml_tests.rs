//! What is read of YAML, and what is refused.

use serde_json::json;

use super::*;

#[test]
fn a_configuration_is_read_with_its_comments_lists_quotes_and_blocks() {
    let text = r#"---
# models
model_list:
  - model_name: gpt-4o   # the public name
    litellm_params:
      model: openai/gpt-4o
      api_key: os.environ/OPENAI_API_KEY
      input_cost_per_token: 2.5e-06
      tags: ["a, b", 'it''s', plain]
      extra: {x: 1, y: http://h:80/v1}
  -
    model_name: "two # not a comment"
    litellm_params:
        model: 'x'
general_settings:
  empty:
  none: ~
  note: |
    first # kept
    second
  folded: >-
    one
    two
outer:
- a
- - b
  - c
"#;
    let expected = json!({
        "model_list": [
            { "model_name": "gpt-4o", "litellm_params": {
                "model": "openai/gpt-4o",
                "api_key": "os.environ/OPENAI_API_KEY",
                "input_cost_per_token": "2.5e-06",
                "tags": ["a, b", "it's", "plain"],
                "extra": { "x": "1", "y": "http://h:80/v1" },
            } },
            { "model_name": "two # not a comment", "litellm_params": { "model": "x" } },
        ],
        "general_settings": {
            "empty": null, "none": null, "note": "first # kept\nsecond", "folded": "one two",
        },
        "outer": ["a", ["b", "c"]],
    });
    assert_eq!(read(text).unwrap(), expected);
    assert_eq!(read("").unwrap(), Value::Null);
    assert_eq!(read("# nothing\n").unwrap(), Value::Null);
}

#[test]
fn what_is_not_read_is_refused_by_its_line() {
    for (text, line, words) in [
        ("a: 1\nb: &x 2", 2, "anchors"),
        ("a: *x", 1, "anchors"),
        ("a: !!int 1", 1, "tags"),
        ("a: 1\n\tb: 2", 2, "spaces"),
        ("a: 1\na: 2", 2, "duplicated"),
        ("a: [1,\n  2]", 1, "close on their line"),
        ("a: \"x", 1, "quote must close"),
        ("a: 1\n  b: 2", 2, "unexpected indentation"),
        ("a: 1\n---\nb: 2", 2, "name: value"),
        ("a: {b}", 1, "{name: value}"),
        ("a: 'x' y", 1, "behind the value"),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
    let deep = "- ".repeat(40) + "x";
    assert!(read(&deep).unwrap_err().to_string().contains("deeply"));
}
