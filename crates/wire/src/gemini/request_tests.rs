//! Requests: what is read and what is refused for the sake of the price.

use bytes::Bytes;

use super::*;
use crate::gemini::TABLE;
use crate::{FieldList, Format, MediaKind, Request, Treatment};

fn read(text: &str) -> Result<Request, RequestError> {
    let body = Bytes::copy_from_slice(text.as_bytes());
    let path = PathParams {
        model: Some("m"),
        stream: true,
    };
    Request::read(Format::Gemini, body, path)
}

fn list() -> &'static FieldList {
    FieldList::of(Format::Gemini)
}

fn refused(text: &str) -> (String, Option<String>) {
    let refusal = read(text).unwrap_err();
    (refusal.code.to_owned(), refusal.param)
}

/// A body with a value at a path.
fn with(path: &str, value: &str) -> String {
    let (mut before, mut after) = (String::new(), String::new());
    for step in path.split('.') {
        before.push_str(&format!("{{\"{step}\":"));
        after.push('}');
    }
    let inside = format!("{before}{value}{after}");
    let inside = inside.strip_prefix('{').unwrap().strip_suffix('}').unwrap();
    if path == "contents" {
        return format!("{{{inside}}}");
    }
    format!(r#"{{"contents":[{{"role":"user","parts":[{{"text":"hi"}}]}}],{inside}}}"#)
}

fn invalid(param: &str) -> (String, Option<String>) {
    ("invalid_request".to_owned(), Some(param.to_owned()))
}

#[test]
fn a_request_is_read() {
    let text = r#"{"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"maxOutputTokens":7,"candidateCount":2,"thinkingConfig":{"thinkingLevel":"LOW"}}}"#;
    let facts = read(text).unwrap().facts;
    assert_eq!((facts.model.as_str(), facts.stream), ("m", true));
    assert_eq!((facts.max_output, facts.cap_field), (Some(7), Some(CAP)));
    assert_eq!((facts.choices, facts.effort.as_deref()), (2, Some("low")));
    assert_eq!(facts.media.text_bytes, 2);
    let body =
        Bytes::from_static(br#"{"model":"models/named","contents":[{"parts":[{"text":"x"}]}]}"#);
    let named = Request::read(Format::Gemini, body, PathParams::default()).unwrap();
    assert_eq!(named.facts.model, "named");
    assert!(!named.facts.stream);
}

#[test]
fn bad_fields_are_named() {
    let body = Bytes::from_static(b"{}");
    let nameless = Request::read(Format::Gemini, body, PathParams::default()).unwrap_err();
    assert_eq!(nameless.param.as_deref(), Some("model"));
    for (text, param) in [
        ("{}".to_owned(), "contents"),
        (with("contents", "[]"), "contents"),
        (with("contents", "\"hi\""), "contents"),
        (
            with("contents", "[{\"role\":\"user\"}]"),
            "contents[0].parts",
        ),
        (
            with("contents", "[{\"role\":\"\",\"parts\":[]}]"),
            "contents[0].role",
        ),
        (with("contents", "[{\"parts\":[{\"text\":1}]}]"), "contents"),
        (with("systemInstruction", "7"), "systemInstruction"),
        (with("tools", "{}"), "tools"),
        (
            with("generationConfig.temperature", "\"hot\""),
            "generationConfig.temperature",
        ),
        (with("generationConfig.topP", "[]"), "generationConfig.topP"),
        (
            with("generationConfig.maxOutputTokens", "0"),
            "generationConfig.maxOutputTokens",
        ),
        (
            with("generationConfig.maxOutputTokens", "1.5"),
            "generationConfig.maxOutputTokens",
        ),
        (
            with("generationConfig.candidateCount", "17"),
            "generationConfig.candidateCount",
        ),
        (
            with("generationConfig.stopSequences", "\"x\""),
            "generationConfig.stopSequences",
        ),
        (
            with("generation_config.thinking_config.thinking_budget", "\"x\""),
            "generationConfig.thinkingConfig.thinkingBudget",
        ),
        (
            r#"{"contents":[{"parts":[]}],"generationConfig":{"topP":1,"top_p":1}}"#.to_owned(),
            "generationConfig.topP",
        ),
        (
            r#"{"contents":[{"parts":[]}],"generationConfig":{},"generation_config":{}}"#
                .to_owned(),
            "generationConfig",
        ),
    ] {
        assert_eq!(refused(&text), invalid(param), "{text}");
    }
}

#[test]
fn every_cost_field_is_priced_bounded_or_refused_in_both_spellings() {
    for (field, treatment) in TABLE.costs {
        let refused_by_name = matches!(treatment, Treatment::Refused(_) | Treatment::Reference(_));
        assert!(list().lists(field) || refused_by_name, "{field} is a field");
        let snake: Vec<String> = field
            .split('.')
            .map(crate::gemini::key_case::snake)
            .collect();
        for path in [(*field).to_owned(), snake.join(".")] {
            let odd = with(&path, r#"{"x":1}"#);
            assert!(
                read(&with(&path, "null")).is_ok() || *field == "contents",
                "{path}"
            );
            match treatment {
                Treatment::Priced | Treatment::Bounded => {}
                Treatment::Tier => {
                    let request = read(&with(&path, "\"flex\"")).unwrap();
                    assert_eq!(request.at("service_tier").unwrap(), "flex");
                }
                Treatment::Only(allowed, _) => {
                    assert_eq!(refused(&odd), invalid(field), "{path}");
                    assert_eq!(refused(&with(&path, r#"["TEXT","IMAGE"]"#)), invalid(field));
                    for word in *allowed {
                        assert!(read(&with(&path, &format!("[\"{word}\"]"))).is_ok());
                    }
                }
                Treatment::Refused(_) => assert_eq!(refused(&odd), invalid(field), "{path}"),
                Treatment::Reference(_) => {
                    assert_eq!(refused(&odd).0, "reference_not_supported", "{path}");
                }
            }
        }
    }
    for (_, path) in TABLE.aliases {
        assert!(list().lists(path), "{path} is a field");
    }
}

#[test]
fn tools_that_the_vendor_runs_are_left_out() {
    for key in [
        "googleSearch",
        "google_search",
        "googleSearchRetrieval",
        "codeExecution",
        "urlContext",
        "googleMaps",
        "computerUse",
        "fileSearch",
        "retrieval",
        "enterpriseWebSearch",
        "mcpServers",
        "tomorrow",
    ] {
        let text = with(
            "tools",
            &format!(r#"[{{"functionDeclarations":[]}},{{"{key}":{{}}}}]"#),
        );
        let request = read(&text).unwrap();
        let found: Vec<&str> = request
            .unlisted
            .iter()
            .map(|one| one.pattern.as_str())
            .collect();
        assert_eq!(found, [format!("tools[].type={key}")]);
        let kept = request.without(|_| true).unwrap();
        assert_eq!(
            kept.body(),
            &with("tools", r#"[{"functionDeclarations":[]}]"#)
        );
        let null = with(
            "tools",
            &format!(r#"[{{"functionDeclarations":[{{"name":"f"}}],"{key}":null}}]"#),
        );
        assert!(read(&null).is_ok(), "{key}");
    }
    assert!(
        read(&with(
            "tools",
            r#"[{"function_declarations":[{"name":"f"}]}]"#
        ))
        .is_ok()
    );
}

#[test]
fn files_at_an_address_are_taken_and_uploaded_ones_are_not() {
    let file = |uri: &str| {
        with(
            "contents",
            &format!(
                r#"[{{"parts":[{{"fileData":{{"fileUri":"{uri}","mimeType":"image/png"}}}}]}}]"#
            ),
        )
    };
    for uri in [
        "https://www.youtube.com/watch?v=x",
        "https://example.com/files/a.png",
        "http://example.com/a",
    ] {
        assert!(read(&file(uri)).is_ok(), "{uri}");
    }
    for uri in [
        "files/abc",
        "https://generativelanguage.googleapis.com/v1beta/files/abc",
        "gs://bucket/a",
        "",
    ] {
        let (code, param) = refused(&file(uri));
        assert_eq!(code, "reference_not_supported", "{uri}");
        assert_eq!(
            param.as_deref(),
            Some("contents[0].parts[0].fileData.fileUri")
        );
    }
    let inside = with(
        "contents",
        r#"[{"parts":[{"function_response":{"name":"f","parts":[{"file_data":{"file_uri":"files/a"}}]}}]}]"#,
    );
    let (code, param) = refused(&inside);
    assert_eq!(code, "reference_not_supported");
    assert_eq!(
        param.as_deref(),
        Some("contents[0].parts[0].functionResponse.parts[0].fileData.fileUri")
    );
}

#[test]
fn priced_fields_raise_the_bound_and_media_count_as_media() {
    let tokens = |text: &str| read(text).unwrap().text_most;
    let kinds = |text: &str| {
        let request = read(text).unwrap();
        let parts = request.facts.media.parts.iter();
        parts.map(|part| part.kind).collect::<Vec<_>>()
    };
    let plain = tokens(&with("labels", "{}"));
    for field in [
        "systemInstruction",
        "toolConfig",
        "generationConfig.responseSchema",
        "generationConfig.responseJsonSchema",
    ] {
        let long = format!("\"{}\"", "x".repeat(100));
        assert!(tokens(&with(field, &long)) >= plain + 50, "{field}");
    }
    assert_eq!(
        tokens(&with(
            "labels",
            &format!("{{\"a\":\"{}\"}}", "x".repeat(100))
        )),
        plain
    );
    let inline = |mime: &str, bytes: usize, more: &str| {
        with(
            "contents",
            &format!(
                r#"[{{"parts":[{{"inlineData":{{"mimeType":"{mime}","data":"{}"}}{more}}}]}}]"#,
                "A".repeat(bytes)
            ),
        )
    };
    assert_eq!(
        tokens(&inline("image/png", 100, "")),
        tokens(&inline("image/png", 100_000, ""))
    );
    let audio = MediaKind::Audio { length_ms: None };
    assert_eq!(kinds(&inline("audio/mp3", 100, "")), [audio]);
    assert_eq!(
        kinds(&inline("application/pdf", 100, "")),
        [MediaKind::Document]
    );
    let video = |frames_per_second| MediaKind::Video {
        length_ms: None,
        frames_per_second,
    };
    assert_eq!(kinds(&inline("video/mp4", 100, "")), [video(None)]);
    let frames = |fps: &str| format!(r#","videoMetadata":{{"fps":{fps}}}"#);
    let fast = inline("video/mp4", 100, &frames("8"));
    assert_eq!(kinds(&fast), [video(Some(8))]);
    let odd = inline("video/mp4", 100, &frames("0.5"));
    assert_eq!(kinds(&odd), [video(Some(24))]);
    let linked = with(
        "contents",
        r#"[{"parts":[{"fileData":{"fileUri":"https://youtu.be/x"}}]}]"#,
    );
    assert_eq!(kinds(&linked), [MediaKind::Document]);
    let words = inline("text/plain", 100, "");
    assert_eq!(kinds(&words), [], "text is text");
    let text = read(&with(
        "systemInstruction",
        "{\"parts\":[{\"text\":\"four\"}]}",
    ))
    .unwrap();
    assert_eq!(text.facts.media.text_bytes, 6);
}
