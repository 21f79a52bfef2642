//! Requests: what is read, what is refused, what must not go out as it came.

use bytes::Bytes;

use super::*;
use crate::openai_responses::TABLE;
use crate::{FieldList, Format, MediaKind, Outgoing, PathParams, Treatment, Unlisted};

fn read(text: &str) -> Result<Request, RequestError> {
    let body = Bytes::copy_from_slice(text.as_bytes());
    Request::read(Format::OpenaiResponses, body, PathParams::default())
}

fn refused(text: &str) -> (String, Option<String>) {
    let refusal = read(text).unwrap_err();
    (refusal.code.to_owned(), refusal.param)
}

fn with(extra: &str) -> String {
    format!(r#"{{"model":"m","input":"hi"{extra}}}"#)
}

fn items(items: &str) -> String {
    format!(r#"{{"model":"m","input":[{items}]}}"#)
}

#[test]
fn a_request_is_read() {
    let request = read(&with(
        r#","stream":true,"max_output_tokens":7,"reasoning":{"effort":"low"},"previous_response_id":"resp_1","store":true"#,
    ))
    .unwrap();
    let facts = &request.facts;
    assert_eq!(facts.model, "m");
    assert!(facts.stream && facts.stores);
    assert_eq!(facts.max_output, Some(7));
    assert_eq!(facts.cap_field, Some("max_output_tokens"));
    assert_eq!(facts.choices, 1);
    assert_eq!(facts.effort.as_deref(), Some("low"));
    assert_eq!(facts.previous.as_deref(), Some("resp_1"));
    let plain = read(&with("")).unwrap();
    assert!(!plain.facts.stream && plain.facts.max_output.is_none());
    assert!(plain.facts.stores, "which is the vendor's default");
    assert!(!read(&with(r#","store":false"#)).unwrap().facts.stores);
    let words: Vec<&str> = request
        .fields()
        .map(|path| request.chat_name_of(path))
        .collect();
    assert!(words.contains(&"max_completion_tokens") && words.contains(&"reasoning_effort"));
    assert_eq!(request.field("reasoning_effort").unwrap(), br#""low""#);
}

#[test]
fn bad_fields_are_named() {
    let invalid = |param: &str| ("invalid_request".to_owned(), Some(param.to_owned()));
    assert_eq!(refused("{}"), invalid("model"));
    assert_eq!(refused(r#"{"model":"m"}"#), invalid("input"));
    assert_eq!(refused(r#"{"model":"m","input":[]}"#), invalid("input"));
    assert_eq!(refused(r#"{"model":"m","input":7}"#), invalid("input"));
    assert_eq!(refused(&items("7")), invalid("input"));
    assert_eq!(
        refused(&items(r#"{"content":"x"}"#)),
        invalid("input[0].role")
    );
    assert_eq!(
        refused(&items(r#"{"role":"user"}"#)),
        invalid("input[0].content")
    );
    for (extra, param) in [
        (r#","temperature":"hot""#, "temperature"),
        (r#","top_p":[]"#, "top_p"),
        (r#","stream":"yes""#, "stream"),
        (r#","store":1"#, "store"),
        (r#","max_output_tokens":0"#, "max_output_tokens"),
        (r#","max_output_tokens":1.5"#, "max_output_tokens"),
        (r#","reasoning":{"effort":3}"#, "reasoning.effort"),
        (r#","instructions":["x"]"#, "instructions"),
        (r#","tools":{}"#, "tools"),
        (r#","tools":[{"name":"f"}]"#, "tools[0].type"),
        (r#","previous_response_id":1"#, "previous_response_id"),
        (r#","parallel_tool_calls":"no""#, "parallel_tool_calls"),
        (r#","background":"no""#, "background"),
        (r#","model":"again""#, "model"),
    ] {
        assert_eq!(refused(&with(extra)), invalid(param), "{extra}");
    }
    let continued = r#"{"model":"m","previous_response_id":"resp_1"}"#;
    assert!(read(continued).is_ok(), "there is something to continue");
}

#[test]
fn every_field_of_the_cost_table_is_priced_bounded_or_refused() {
    for (field, treatment) in TABLE.costs {
        let text = with(&format!(r#","{field}":{{"x":1}}"#));
        let null = with(&format!(r#","{field}":null"#));
        match treatment {
            Treatment::Priced | Treatment::Bounded => {
                assert!(
                    FieldList::of(Format::OpenaiResponses).lists(field),
                    "{field}"
                );
            }
            Treatment::Tier => {
                let request = read(&with(&format!(r#","{field}":"priority""#))).unwrap();
                assert_eq!(request.at(field).unwrap(), "priority", "the record decides");
            }
            Treatment::Only(..) | Treatment::Refused(_) => {
                assert_eq!(refused(&text).1.as_deref(), Some(*field));
                assert!(read(&null).is_ok());
            }
            Treatment::Reference(_) => {
                assert_eq!(refused(&text).0, "reference_not_supported", "{field}");
                assert!(read(&null).is_ok());
            }
        }
    }
    for (_, path) in TABLE.aliases {
        assert!(FieldList::of(Format::OpenaiResponses).lists(path), "{path}");
    }
}

#[test]
fn what_is_stored_elsewhere_is_refused_with_its_place() {
    let reference = |param: &str| ("reference_not_supported".to_owned(), Some(param.to_owned()));
    for (item, param) in [
        (r#"{"type":"item_reference","id":"msg_1"}"#, "input[0].id"),
        (r#"{"id":"msg_1"}"#, "input[0].id"),
        (
            r#"{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","file_id":"f"}]}"#,
            "input[0].content[1].file_id",
        ),
        (
            r#"{"role":"user","content":[{"type":"input_file","file_id":"f"}]}"#,
            "input[0].content[0].file_id",
        ),
        (
            r#"{"type":"function_call_output","call_id":"c","output":[{"type":"input_file","file_id":"f"}]}"#,
            "input[0].output[0].file_id",
        ),
        (
            r#"{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","file_id":"f"}}"#,
            "input[0].output.file_id",
        ),
    ] {
        assert_eq!(refused(&items(item)), reference(param), "{item}");
    }
    for (extra, param) in [
        (r#","background":true"#, "background"),
        (
            r#","tools":[{"type":"file_search","vector_store_ids":["vs"]}]"#,
            "tools[0].vector_store_ids",
        ),
        (
            r#","tools":[{"type":"code_interpreter","container":"cntr_1"}]"#,
            "tools[0].container",
        ),
        (
            r#","tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["f"]}}]"#,
            "tools[0].container",
        ),
        (
            r#","tools":[{"type":"shell","environment":{"type":"container_reference","container_id":"c"}}]"#,
            "tools[0].environment",
        ),
    ] {
        assert_eq!(refused(&with(extra)), reference(param), "{extra}");
    }
    let null = items(
        r#"{"role":"user","content":[{"type":"input_image","file_id":null,"image_url":"https://example.org"}]}"#,
    );
    assert!(read(&null).is_ok(), "null is nothing");
    assert!(read(&with(r#","background":false,"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]"#)).is_ok());
}

#[test]
fn media_counts_as_media_and_text_as_text() {
    let part = |part: &str| items(&format!(r#"{{"role":"user","content":[{part}]}}"#));
    let tokens = |text: &str| read(text).unwrap().text_most;
    let kinds = |text: &str| {
        let request = read(text).unwrap();
        let parts = request.facts.media.parts.iter();
        parts.map(|part| part.kind).collect::<Vec<_>>()
    };
    let picture = |bytes: usize| {
        part(&format!(
            r#"{{"type":"input_image","image_url":"data:image/png;base64,{}"}}"#,
            "A".repeat(bytes)
        ))
    };
    assert_eq!(tokens(&picture(100)), tokens(&picture(100_000)));
    let file = |bytes: usize| {
        part(&format!(
            r#"{{"type":"input_file","filename":"a.pdf","file_data":"{}"}}"#,
            "A".repeat(bytes)
        ))
    };
    assert_eq!(tokens(&file(100)), tokens(&file(100_000)));
    assert_eq!(kinds(&file(100)), [MediaKind::Document]);
    let link = part(r#"{"type":"input_file","file_url":"https://example.com/a.pdf"}"#);
    assert_eq!(kinds(&link), [MediaKind::Document]);
    assert_eq!(kinds(&picture(100)), [MediaKind::Image(None)]);
    let screen = |bytes: usize| {
        items(&format!(
            r#"{{"type":"computer_call_output","call_id":"c","output":{{"type":"computer_screenshot","image_url":"data:image/png;base64,{}"}}}}"#,
            "A".repeat(bytes)
        ))
    };
    assert_eq!(tokens(&screen(100)), tokens(&screen(100_000)));
    let made = |bytes: usize| {
        items(&format!(
            r#"{{"type":"image_generation_call","id":"i","result":"{}"}}"#,
            "A".repeat(bytes)
        ))
    };
    assert_eq!(tokens(&made(100)), tokens(&made(100_000)));
    let plain = tokens(&with(""));
    for field in ["instructions", "text", "tools"] {
        let long = "x".repeat(100);
        let value = match field {
            "tools" => format!(r#"[{{"type":"function","name":"{long}"}}]"#),
            "text" => format!(r#"{{"format":{{"type":"json_schema","name":"{long}"}}}}"#),
            _ => format!(r#""{long}""#),
        };
        assert!(
            tokens(&with(&format!(r#","{field}":{value}"#))) >= plain + 50,
            "{field}"
        );
    }
    let request = read(&items(
        r#"{"role":"user","content":"abc"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1234"},{"type":"mcp_call","id":"m","output":null,"arguments":"x"}"#,
    ));
    assert_eq!(request.unwrap().facts.media.text_bytes, 10);
}

#[test]
fn tools_that_are_billed_by_the_call_are_left_out_and_named() {
    let text = with(
        r#","tools":[{"type":"function", "name":"f"},{"type":"web_search"},{"type":"mcp"},{"type":"custom","name":"c"}]"#,
    );
    let request = read(&text).unwrap();
    let patterns: Vec<&str> = request
        .unlisted
        .iter()
        .map(|unlisted| unlisted.pattern.as_str())
        .collect();
    assert_eq!(patterns, ["tools[].type=web_search", "tools[].type=mcp"]);
    let kept = request.without(|_| true).unwrap();
    let tools = r#"[{"type":"function", "name":"f"},{"type":"custom","name":"c"}]"#;
    assert_eq!(kept.body(), &with(&format!(r#","tools":{tools}"#)));
    let own = read(&with(
        r#","tools":[{"type":"function","name":"f"},{"type":"local_shell"}]"#,
    ));
    assert_eq!(own.unwrap().unlisted, []);
}

#[test]
fn a_list_of_tools_that_is_emptied_goes_with_what_is_said_of_choosing() {
    let request = read(&with(
        r#","tools":[{"type":"web_search"}],"tool_choice":"auto","parallel_tool_calls":true"#,
    ));
    let request = request.unwrap();
    let kept = request.without(|_| true).unwrap();
    assert_eq!(kept.body(), &with(""));
}

#[test]
fn a_tool_is_forced_by_its_kind_or_as_the_only_one() {
    for (choice, own, forced) in [
        (r#""auto""#, "", false),
        (r#""required""#, "", true),
        (r#""required""#, r#",{"type":"function","name":"f"}"#, false),
        (
            r#"{"type":"web_search"}"#,
            r#",{"type":"function","name":"f"}"#,
            true,
        ),
        (
            r#"{"type":"function","name":"f"}"#,
            r#",{"type":"function","name":"f"}"#,
            false,
        ),
    ] {
        let text = with(&format!(
            r#","tools":[{{"type":"web_search_2025_08_26"}}{own}],"tool_choice":{choice}"#
        ));
        let request = read(&text).unwrap();
        let tools: Vec<&Unlisted> = request.unlisted.iter().collect();
        assert_eq!(request.forced_tool(&tools).is_some(), forced, "{text}");
    }
}

#[test]
fn marked_seals_are_bare_again_for_the_upstream_they_belong_to() {
    let thought = |signature: &str| {
        format!(r#"{{"type":"reasoning","summary":[],"encrypted_content":"{signature}"}}"#)
    };
    let user = r#"{"role":"user","content":"tlsig1rb7xxxx"}"#;
    let with_signature =
        |signature: &str| read(&items(&format!("{user},{}", thought(signature)))).unwrap();
    let tagged = with_signature("tlsig1rb7xxxgAAA");
    let (input, left_out) = strip_signatures(&tagged, Some("7")).unwrap();
    assert_eq!(
        (input, left_out),
        (format!("[{user},{}]", thought("gAAA")), 0)
    );
    let (input, left_out) = strip_signatures(&tagged, Some("8")).unwrap();
    assert_eq!((input, left_out), (format!("[{user}]"), 1));
    assert_eq!(strip_signatures(&with_signature("gAAA"), Some("7")), None);
    assert_eq!(strip_signatures(&read(&with("")).unwrap(), Some("7")), None);
}

#[test]
fn only_named_fields_change_on_the_way_out() {
    let text = with(r#", "z" : 1e3,"max_output_tokens":9"#);
    let request = read(&text).unwrap();
    let same = Outgoing {
        model: "m",
        ..Outgoing::default()
    };
    assert_eq!(request.outgoing(&same), text.as_bytes());
    let changed = Outgoing {
        model: "up",
        max_output: Some(5),
        ..Outgoing::default()
    };
    let expected = text.replacen("\"m\"", "\"up\"", 1).replacen(":9", ":5", 1);
    assert_eq!(request.outgoing(&changed), expected.as_bytes());
}
