//! Requests: what is read, what is refused.

use bytes::Bytes;

use super::*;
use crate::claude_messages::TABLE;
use crate::{FieldList, Format, MediaKind, Outgoing, PathParams, Request, Treatment};

fn read(text: &str) -> Result<Request, RequestError> {
    let body = Bytes::copy_from_slice(text.as_bytes());
    Request::read(Format::ClaudeMessages, body, PathParams::default())
}

fn list() -> &'static FieldList {
    FieldList::of(Format::ClaudeMessages)
}

fn refused(text: &str) -> (String, Option<String>) {
    let refusal = read(text).unwrap_err();
    (refusal.code.to_owned(), refusal.param)
}

fn with(extra: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}]{extra}}}"#)
}

fn content(blocks: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":[{blocks}]}}]}}"#)
}

#[test]
fn a_request_is_read() {
    let request = read(&with(
        r#","stream":true,"max_tokens":7,"output_config":{"effort":"low"},"system":[{"type":"text","text":"four"}]"#,
    ))
    .unwrap();
    assert_eq!(request.facts.model, "m");
    assert!(request.facts.stream);
    assert_eq!(request.facts.max_output, Some(7));
    assert_eq!(request.facts.cap_field, Some("max_tokens"));
    assert_eq!(request.facts.effort.as_deref(), Some("low"));
    assert_eq!(request.facts.media.text_bytes, 6);
    let plain = read(&with("")).unwrap();
    assert!(!plain.facts.stream && plain.facts.max_output.is_none());
    assert_eq!(plain.facts.choices, 1);
}

// covers: D-7-CHAT-01
#[test]
fn bad_fields_are_named() {
    let invalid = |param: &str| ("invalid_request".to_owned(), Some(param.to_owned()));
    let message = |text: &str| format!(r#"{{"model":"m","messages":[{text}]}}"#);
    for (text, param) in [
        ("{}".to_owned(), "model"),
        (r#"{"model":3}"#.to_owned(), "model"),
        (r#"{"model":"m"}"#.to_owned(), "messages"),
        (r#"{"model":"m","messages":null}"#.to_owned(), "messages"),
        (r#"{"model":"m","messages":"hi"}"#.to_owned(), "messages"),
        (message(""), "messages"),
        (message("{}"), "messages[0].role"),
        (message(r#"{"role":"user"}"#), "messages[0].content"),
        (message(r#"{"role":"user","content":7}"#), "messages"),
        (with(r#","system":7"#), "system"),
        (with(r#","temperature":"hot""#), "temperature"),
        (with(r#","top_k":[]"#), "top_k"),
        (with(r#","stop_sequences":"END""#), "stop_sequences"),
        (with(r#","stream":"yes""#), "stream"),
        (with(r#","max_tokens":0"#), "max_tokens"),
        (with(r#","max_tokens":1.5"#), "max_tokens"),
        (
            with(r#","output_config":{"effort":3}"#),
            "output_config.effort",
        ),
        (
            with(r#","thinking":{"budget_tokens":"x"}"#),
            "thinking.budget_tokens",
        ),
        (with(r#","tools":{}"#), "tools"),
        (with(r#","context_management":[1]"#), "context_management"),
        (with(r#","model":"again""#), "model"),
    ] {
        assert_eq!(refused(&text), invalid(param), "{text}");
    }
}

#[test]
fn every_field_of_the_cost_table_is_priced_bounded_or_refused() {
    for (field, treatment) in TABLE.costs {
        assert!(
            list().lists(field) || matches!(treatment, Treatment::Reference(_)),
            "{field}"
        );
        let text = with(&format!(r#","{field}":{{"x":1}}"#));
        let null = with(&format!(r#","{field}":null"#));
        match treatment {
            Treatment::Priced | Treatment::Bounded => {}
            Treatment::Tier => {
                let request = read(&with(&format!(r#","{field}":"auto""#))).unwrap();
                assert_eq!(request.at(field).unwrap(), "auto", "the record decides");
            }
            Treatment::Only(allowed, _) => {
                assert_eq!(refused(&text).1.as_deref(), Some(*field));
                for word in *allowed {
                    assert!(read(&with(&format!(r#","{field}":"{word}""#))).is_ok());
                }
                assert!(read(&null).is_ok());
            }
            Treatment::Refused(_) => {
                assert_eq!(refused(&text).1.as_deref(), Some(*field));
                assert!(read(&null).is_ok());
            }
            Treatment::Reference(_) => {
                assert_eq!(refused(&text).0, "reference_not_supported", "{field}");
                assert!(read(&null).is_ok());
            }
        }
    }
}

#[test]
fn what_is_stored_elsewhere_is_refused_wherever_it_stands() {
    let file = r#"{"type":"document","source":{"type":"file","file_id":"f"}}"#;
    let inside = format!(r#"{{"type":"tool_result","tool_use_id":"t","content":[{file}]}}"#);
    for (text, param) in [
        (content(file), "messages[0].content[0].source.file_id"),
        (
            content(r#"{"type":"text","text":"x"},{"type":"container_upload","file_id":"f"}"#),
            "messages[0].content[1].file_id",
        ),
        (
            content(&inside),
            "messages[0].content[0].content[0].source.file_id",
        ),
    ] {
        let expected = ("reference_not_supported".to_owned(), Some(param.to_owned()));
        assert_eq!(refused(&text), expected, "{text}");
    }
}

#[test]
fn tools_that_are_billed_by_the_call_are_left_out_and_the_callers_own_pass() {
    let tools = |kind: &str| {
        with(&format!(
            r#","tools":[{{"name":"a","input_schema":{{}}}},{{"type":"{kind}","name":"b"}}]"#
        ))
    };
    for kind in [
        "web_search_20250305",
        "web_fetch_20250910",
        "code_execution_20250825",
        "mcp_toolset",
        "advisor_20260301",
        "of_tomorrow",
    ] {
        let request = read(&tools(kind)).unwrap();
        let found: Vec<&str> = request
            .unlisted
            .iter()
            .map(|one| one.pattern.as_str())
            .collect();
        assert_eq!(found, [format!("tools[].type={kind}")]);
        let kept = request.without(|_| true).unwrap();
        let own = with(r#","tools":[{"name":"a","input_schema":{}}]"#);
        assert_eq!(kept.body(), &own, "{kind}");
    }
    for kind in [
        "custom",
        "bash_20250124",
        "text_editor_20250728",
        "computer_20251124",
        "memory_20250818",
        "tool_search_tool_regex_20251119",
    ] {
        assert_eq!(read(&tools(kind)).unwrap().unlisted, [], "{kind}");
    }
    let edits = |kind: &str| {
        with(&format!(
            r#","context_management":{{"edits":[{{"type":"{kind}"}}]}}"#
        ))
    };
    assert!(read(&edits("clear_thinking_20251015")).is_ok());
    assert_eq!(
        refused(&edits("compact_20260112")).1.as_deref(),
        Some("context_management.edits[0].type")
    );
}

#[test]
fn priced_fields_raise_the_bound_and_media_count_as_what_they_are() {
    let tokens = |text: &str| read(text).unwrap().text_most;
    let kinds = |text: &str| {
        let request = read(text).unwrap();
        let parts = request.facts.media.parts.iter();
        parts.map(|part| part.kind).collect::<Vec<_>>()
    };
    let plain = tokens(&with(""));
    let long = "x".repeat(100);
    for field in [
        format!(r#","system":"{long}""#),
        format!(r#","tools":[{{"name":"{long}"}}]"#),
        format!(r#","output_config":{{"format":"{long}"}}"#),
    ] {
        assert!(tokens(&with(&field)) >= plain + 50, "{field}");
    }
    assert_eq!(
        tokens(&with(&format!(r#","metadata":{{"user_id":"{long}"}}"#))),
        plain
    );
    let picture = |bytes: usize| {
        let data = "A".repeat(bytes);
        content(&format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
        ))
    };
    assert_eq!(tokens(&picture(100)), tokens(&picture(100_000)));
    let document = |bytes: usize| {
        let data = "A".repeat(bytes);
        content(&format!(
            r#"{{"type":"document","source":{{"type":"base64","media_type":"application/pdf","data":"{data}"}}}}"#
        ))
    };
    assert_eq!(tokens(&document(100)), tokens(&document(100_000)));
    assert_eq!(kinds(&document(100)), [MediaKind::Document]);
    assert_eq!(kinds(&picture(100)), [MediaKind::Image(None)]);
    let words = content(&format!(
        r#"{{"type":"document","source":{{"type":"text","media_type":"text/plain","data":"{long}"}}}},{{"type":"search_result","source":"https://example.com","content":[{{"type":"text","text":"{long}"}}]}}"#
    ));
    assert_eq!(read(&words).unwrap().facts.media.text_bytes, 200);
    assert_eq!(kinds(&words), []);
    let linked =
        content(r#"{"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}}"#);
    assert_eq!(kinds(&linked), [MediaKind::Document]);
    let tools = with(r#","tools":[{"name":"a"},{"type":"bash_20250124","name":"bash"}]"#);
    let request = read(&tools).unwrap();
    assert_eq!((request.has_tools, request.facts.vendor_tools), (true, 1));
}

#[test]
fn only_named_fields_change_on_the_way_out_and_chats_words_find_theirs() {
    let text =
        with(r#", "max_tokens" : 90,"output_config":{"effort":"low"},"stop_sequences":["x"]"#);
    let request = read(&text).unwrap();
    let same = Outgoing {
        model: "m",
        ..Outgoing::default()
    };
    assert_eq!(request.outgoing(&same), text.as_bytes());
    let capped = Outgoing {
        model: "up",
        max_output: Some(50),
        without: &["output_config.effort".to_owned()],
        ..Outgoing::default()
    };
    let expected = text
        .replacen("\"m\"", "\"up\"", 1)
        .replacen("90", "50", 1)
        .replacen(r#"{"effort":"low"}"#, "{}", 1);
    assert_eq!(request.outgoing(&capped), expected.as_bytes());
    assert_eq!(request.field("reasoning_effort").unwrap(), br#""low""#);
    assert_eq!(request.field("stop").unwrap(), br#"["x"]"#);
    assert_eq!(request.field("max_completion_tokens").unwrap(), b"90");
    assert_eq!(request.chat_name_of("stop_sequences"), "stop");
    for (_, path) in TABLE.aliases {
        assert!(list().lists(path), "{path}");
    }
}
