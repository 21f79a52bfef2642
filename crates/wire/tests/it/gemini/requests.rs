//! Requests of this format through canon and back.

use serde_json::{Value, json};
use trunkline_wire::canonical::{
    BlockKind, Media, OutputShape, Role, Source, Target, ToolChoice, ToolKind,
};
use trunkline_wire::{Format, gemini, write_request};

use crate::gemini::fixtures::{files, folder, json as parsed, request};

#[test]
fn a_request_through_canon_and_back_says_the_same() {
    let fixtures = files("requests", ".json");
    assert!(fixtures.len() >= 12, "{} fixtures", fixtures.len());
    for (name, body) in fixtures {
        let read = request(&body, true).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        let conversation = read.canonical().unwrap();
        assert_eq!(conversation.model, "gemini-x", "the address names it");
        assert!(conversation.stream);
        let written = write_request(Format::Gemini, &conversation, &Target::default());
        let other = folder("requests").join(format!("{name}.out.json"));
        let expected = std::fs::read(other).unwrap_or(body);
        assert_eq!(parsed(&written.body), parsed(&expected), "{name}");
        assert_eq!(written.notes.all(), [], "{name}: nothing is lost");
    }
}

#[test]
fn a_request_written_once_is_written_the_same_again() {
    for (name, body) in files("requests", ".json") {
        let first = request(&body, false).unwrap().canonical().unwrap();
        let once = write_request(Format::Gemini, &first, &Target::default());
        let second = request(&once.body, false).unwrap().canonical().unwrap();
        let twice = write_request(Format::Gemini, &second, &Target::default());
        assert_eq!(parsed(&once.body), parsed(&twice.body), "{name}");
        assert_eq!(first.turns, second.turns, "{name}");
    }
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(folder("requests").join(name)).unwrap()
}

#[test]
fn calls_without_ids_get_positional_ones_and_results_match_by_name() {
    let conversation = request(&fixture("parallel.json"), false)
        .unwrap()
        .canonical()
        .unwrap();
    let blocks: Vec<_> = conversation
        .turns
        .iter()
        .flat_map(|turn| &turn.blocks)
        .collect();
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for block in blocks {
        if let BlockKind::ToolCall(call) = &block.kind {
            calls.push((call.id.clone(), call.arguments.clone()));
        }
        if let BlockKind::ToolResult(result) = &block.kind {
            let text = result.content[0].as_text().unwrap().to_owned();
            results.push((result.call.clone(), text, result.failed));
        }
    }
    let call = |id: &str, arguments: &str| (id.to_owned(), arguments.to_owned());
    assert_eq!(
        calls,
        [
            call("call_0", r#"{"q":"a"}"#),
            call("call_1", r#"{"q":"b"}"#),
            call("call_2", "{}")
        ]
    );
    let result = |id: &str, text: &str, failed| (id.to_owned(), text.to_owned(), failed);
    assert_eq!(
        results,
        [
            result("call_0", "first", false),
            result("call_1", "second failed", true),
            result("call_2", "", false)
        ]
    );
}

#[test]
fn what_google_says_is_found_in_canon_under_the_words_of_all() {
    let read = |name: &str| request(&fixture(name), false).unwrap().canonical().unwrap();
    let snake = read("snake.json");
    assert_eq!((snake.choices, snake.max_output), (2, Some(7)));
    assert_eq!(snake.reasoning.budget, Some(5));
    assert_eq!(snake.instructions[0].as_text(), Some("s"));
    assert!(matches!(&snake.tool_choice, Some(ToolChoice::Named(name)) if name.name == "f"));
    let seal = snake.turns[1].blocks[0].signature.as_ref().unwrap();
    assert_eq!((seal.format, seal.data.as_str()), (Format::Gemini, "cw=="));
    let openapi = read("openapi.json");
    assert!(
        matches!(&openapi.tools[0].kind, ToolKind::Function { schema, .. } if schema["type"] == "object")
    );
    assert!(
        matches!(&openapi.output, OutputShape::Schema { schema, .. } if schema["properties"]["x"]["type"] == "number")
    );
    let levels = read("levels.json");
    assert_eq!(levels.reasoning.effort.as_deref(), Some("low"));
    assert!(
        matches!(&levels.tool_choice, Some(ToolChoice::Among(names, false)) if names.len() == 2)
    );
    let documents = read("documents.json");
    let BlockKind::Media(Media { source, .. }) = &documents.turns[0].blocks[1].kind else {
        panic!("a video");
    };
    assert!(matches!(source, Source::Link { mime: None, .. }));
    let roles = read("roles.json");
    let who: Vec<&Role> = roles.turns.iter().map(|turn| &turn.role).collect();
    assert_eq!(who, [&Role::User, &Role::Assistant, &Role::User]);
    assert!(read("enum.json").extras.iter().all(|extra| extra.matters));
    assert!(read("thinking.json").reasoning.adaptive && read("structured.json").reasoning.off);
}

#[test]
fn seals_of_another_channel_are_never_sent_to_fail() {
    let body = json!({
        "contents": [
            { "role": "user", "parts": [{ "text": "x" }] },
            { "role": "model", "parts": [
                { "text": "hm", "thought": true, "thoughtSignature": "tlsig1gb7xxxdGg=" },
                { "functionCall": { "name": "f", "args": { "thoughtSignature": "tlsig1gb7xxxx" } },
                  "thoughtSignature": "tlsig1gb7xxxc2VhbA==" },
                { "functionCall": { "name": "g", "args": {} } },
                { "text": "", "thought": true, "thoughtSignature": "tlsig1mb3xxxY2xhdWRl" },
            ] },
        ],
    });
    let bytes = body.to_string().into_bytes();
    let conversation = request(&bytes, false).unwrap().canonical().unwrap();
    let sent = |channel: &'static str| {
        let target = Target {
            channel: Some(channel),
            ..Target::default()
        };
        let written = write_request(Format::Gemini, &conversation, &target);
        parsed(&written.body)["contents"][1]["parts"].clone()
    };
    let home = sent("7");
    assert_eq!(home[0]["thoughtSignature"], "dGg=");
    assert_eq!(home[1]["thoughtSignature"], "c2VhbA==");
    assert_eq!(
        home[1]["functionCall"]["args"]["thoughtSignature"],
        "tlsig1gb7xxxx"
    );
    assert_eq!(
        home.as_array().unwrap().len(),
        3,
        "Claude's thoughts are left out"
    );
    let away = sent("8");
    assert_eq!(away[0]["functionCall"]["name"], "f");
    assert_eq!(
        away[0]["thoughtSignature"],
        "skip_thought_signature_validator"
    );
    assert_eq!(away[1].get("thoughtSignature"), None);
    let bare = parsed(&gemini::restore_signatures(&bytes, Some("7")).unwrap());
    let parts = &bare["contents"][1]["parts"];
    assert_eq!(parts[0]["thoughtSignature"], "dGg=");
    assert_eq!(parts[1]["thoughtSignature"], "c2VhbA==");
    assert_eq!(
        parts[1]["functionCall"]["args"]["thoughtSignature"],
        "tlsig1gb7xxxx"
    );
    assert_eq!(parts[3].get("thoughtSignature"), None);
    let other = parsed(&gemini::restore_signatures(&bytes, Some("8")).unwrap());
    let seal = &other["contents"][1]["parts"][1]["thoughtSignature"];
    assert_eq!(seal, "skip_thought_signature_validator");
    let plain = fixture("tools.json");
    assert_eq!(
        gemini::restore_signatures(&plain, Some("7")),
        None,
        "bare seals stay"
    );
}

#[test]
fn a_body_in_the_other_spelling_is_patched_where_it_stands() {
    let read = request(&fixture("snake.json"), false).unwrap();
    let out = trunkline_wire::Outgoing {
        model: "upstream",
        max_output: Some(3),
        ..trunkline_wire::Outgoing::default()
    };
    let sent: Value = parsed(&read.outgoing(&out));
    assert_eq!(sent["generationConfig"]["maxOutputTokens"], 3);
    assert_eq!(sent["generationConfig"]["topP"], 0.1);
    assert_eq!(sent.get("generation_config"), None);
    assert_eq!(read.at("reasoning_effort"), None);
    assert_eq!(read.at("temperature"), None);
    assert_eq!(read.at("top_k").unwrap(), 3);
    let same = request(&fixture("text.json"), false).unwrap();
    let out = trunkline_wire::Outgoing {
        model: "upstream",
        ..trunkline_wire::Outgoing::default()
    };
    assert_eq!(same.outgoing(&out), fixture("text.json"), "no byte changes");
}
