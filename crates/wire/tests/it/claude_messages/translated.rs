//! Conversations of other formats: what is said in other words, what is left out, what is refused.

use serde_json::{Number, Value, json};
use trunkline_wire::Format;
use trunkline_wire::canonical::{
    Block, BlockKind, CacheLife, Conversation, LossKind, Media, MediaKind, OutputShape, Reasoning,
    Role, Sampling, Source, Target, Tool, ToolCall, ToolChoice, ToolKind, ToolName, ToolResult,
    Turn, UnknownField,
};

use crate::claude_messages::support::{from_chat, noted, sent, target, turn_of};

fn hello() -> Conversation {
    from_chat(vec![turn_of(Role::User, "hi")])
}

fn thinking(effort: Option<&str>, budget: Option<u64>) -> Reasoning {
    Reasoning {
        effort: effort.map(ToOwned::to_owned),
        budget,
        ..Reasoning::default()
    }
}

fn tool(name: &str, kind: ToolKind) -> Tool {
    Tool {
        name: ToolName::plain(name),
        description: Some("does".to_owned()),
        kind,
        cache: None,
        extras: Vec::new(),
    }
}

fn function(strict: Option<bool>) -> ToolKind {
    ToolKind::Function {
        schema: json!({ "properties": {} }),
        strict,
    }
}

fn by_effort() -> Target<'static> {
    Target {
        thinks_by_effort: true,
        ..target()
    }
}

#[test]
fn effort_is_adaptive_thinking_where_the_model_thinks_by_effort() {
    for (reasoning, effort, notes) in [
        (thinking(Some("low"), None), "low", 0),
        (thinking(Some("max"), None), "max", 0),
        (thinking(Some("minimal"), None), "low", 1),
        (thinking(None, Some(20_000)), "high", 1),
    ] {
        let mut conversation = hello();
        conversation.reasoning = reasoning;
        let (body, written) = sent(&conversation, &by_effort());
        assert_eq!(body["thinking"], json!({ "type": "adaptive" }));
        assert_eq!(body["output_config"]["effort"], effort);
        assert_eq!(written.notes.all().len(), notes, "{effort}");
    }
    let mut visible = hello();
    visible.reasoning = Reasoning {
        visible: Some(true),
        ..thinking(Some("high"), None)
    };
    let (body, _) = sent(&visible, &by_effort());
    assert_eq!(body["thinking"]["display"], "summarized");
}

#[test]
fn effort_is_a_budget_below_the_length_where_the_model_has_budgets() {
    for (effort, most, budget, is_noted) in [
        ("low", 8_000, Some(2_048), false),
        ("medium", 8_193, Some(8_192), false),
        ("medium", 8_192, Some(4_096), true),
        ("high", 4_096, Some(2_048), true),
        ("high", 1_025, Some(1_024), true),
        ("high", 1_024, None, true),
        ("minimal", 1_025, Some(1_024), false),
        ("minimal", 500, None, true),
        ("unknown", 8_000, None, true),
    ] {
        let mut conversation = hello();
        conversation.reasoning = thinking(Some(effort), None);
        let target = Target {
            max_output: Some(most),
            ..target()
        };
        let (body, written) = sent(&conversation, &target);
        let case = format!("{effort} in {most}");
        match budget {
            Some(budget) => {
                let expected = json!({ "type": "enabled", "budget_tokens": budget });
                assert_eq!(body["thinking"], expected, "{case}");
                assert!(budget < most);
            }
            None => assert_eq!(body.get("thinking"), None, "{case}"),
        }
        assert_eq!(!written.notes.all().is_empty(), is_noted, "{case}");
        assert_eq!(body.get("output_config"), None, "{case}");
    }
}

#[test]
fn thoughts_are_off_when_said_so() {
    for reasoning in [
        Reasoning {
            off: true,
            ..Reasoning::default()
        },
        thinking(Some("none"), None),
    ] {
        for target in [target(), by_effort()] {
            let mut conversation = hello();
            conversation.reasoning = reasoning.clone();
            let (body, written) = sent(&conversation, &target);
            assert_eq!(body["thinking"], json!({ "type": "disabled" }));
            assert_eq!(body.get("output_config"), None);
            assert!(written.notes.all().is_empty());
        }
    }
}

#[test]
fn thoughts_give_way_where_the_upstream_would_refuse_them() {
    let mut forced = hello();
    forced.reasoning = thinking(Some("low"), None);
    forced.tools = vec![tool("run", function(None))];
    forced.tool_choice = Some(ToolChoice::Any);
    let (body, written) = sent(&forced, &target());
    assert_eq!(body.get("thinking"), None);
    assert_eq!(body["tool_choice"]["type"], "any");
    let note = ("reasoning_effort".to_owned(), "translation_approximated");
    assert_eq!(noted(&written), std::slice::from_ref(&note));
    // In the middle of using tools, with thoughts that are gone.
    let call = Block::of(BlockKind::ToolCall(ToolCall {
        id: "c".to_owned(),
        tool: ToolName::plain("run"),
        ..ToolCall::default()
    }));
    let result = Block::of(BlockKind::ToolResult(ToolResult {
        call: "c".to_owned(),
        tool: None,
        custom: false,
        content: Vec::new(),
        failed: true,
    }));
    let mut midst = from_chat(vec![
        turn_of(Role::User, "hi"),
        Turn::of(Role::Assistant, vec![call]),
        Turn::of(Role::User, vec![result]),
    ]);
    midst.reasoning = thinking(Some("low"), None);
    let (body, written) = sent(&midst, &target());
    assert_eq!(body.get("thinking"), None);
    assert_eq!(body["messages"][2]["content"][0]["is_error"], true);
    assert_eq!(noted(&written), [note]);
    let (body, written) = sent(&midst, &by_effort());
    assert_eq!(body["thinking"]["type"], "adaptive");
    assert!(written.notes.all().is_empty());
}

#[test]
fn sampling_is_kept_within_what_the_upstream_takes() {
    let number = |value: f64| Number::from_f64(value);
    let mut conversation = hello();
    conversation.sampling = Sampling {
        temperature: number(1.7),
        top_p: number(0.5),
        top_k: Some(Number::from(40)),
        seed: Some(Number::from(7)),
        presence_penalty: number(0.1),
        frequency_penalty: number(0.1),
    };
    let (body, written) = sent(&conversation, &target());
    assert_eq!(
        (&body["temperature"], &body["top_k"]),
        (&json!(1), &json!(40))
    );
    assert_eq!(body.get("top_p"), None);
    let fields: Vec<String> = noted(&written).into_iter().map(|note| note.0).collect();
    assert_eq!(
        fields,
        [
            "temperature",
            "top_p",
            "seed",
            "presence_penalty",
            "frequency_penalty"
        ]
    );
    conversation.reasoning = thinking(Some("low"), None);
    let (body, _) = sent(&conversation, &target());
    for gone in ["temperature", "top_p", "top_k"] {
        assert_eq!(body.get(gone), None, "{gone}");
    }
}

#[test]
fn shapes_of_answers_are_asked_for_in_the_ways_there_are() {
    let mut conversation = hello();
    conversation.output = OutputShape::Json;
    let (body, written) = sent(&conversation, &target());
    assert!(body["system"].as_str().unwrap().contains("JSON"));
    let note = ("response_format".to_owned(), "translation_approximated");
    assert_eq!(noted(&written), std::slice::from_ref(&note));
    let schema = |closed: bool| {
        let mut schema = json!({
            "type": "object",
            "properties": { "a": { "type": "array", "items": { "type": "object" } } },
        });
        if closed {
            schema["additionalProperties"] = json!(false);
            schema["properties"]["a"]["items"]["additionalProperties"] = json!(false);
        }
        schema
    };
    for closed in [false, true] {
        conversation.output = OutputShape::Schema {
            name: Some("n".to_owned()),
            description: None,
            schema: schema(closed),
            strict: Some(true),
        };
        let (body, written) = sent(&conversation, &target());
        let format = json!({ "type": "json_schema", "schema": schema(true) });
        assert_eq!(body["output_config"]["format"], format);
        assert_eq!(noted(&written).is_empty(), closed);
    }
}

#[test]
fn tools_are_written_with_names_that_fit() {
    let mut conversation = hello();
    conversation.tools = vec![
        tool("files.read", function(Some(true))),
        tool(
            "patch",
            ToolKind::Custom {
                format: Some(json!({})),
            },
        ),
        tool(
            "web_search",
            ToolKind::Native(json!({ "type": "web_search" })),
        ),
        Tool {
            cache: Some(CacheLife::OneHour),
            ..tool("last", function(None))
        },
    ];
    conversation.tool_choice = Some(ToolChoice::Named(ToolName::plain("files.read")));
    conversation.parallel_tools = Some(false);
    let (body, written) = sent(&conversation, &target());
    let tools = body["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["files_read", "patch", "last"]);
    assert_eq!(tools[0]["input_schema"]["type"], "object");
    assert_eq!(tools[1]["input_schema"]["required"], json!(["input"]));
    assert_eq!(
        tools[2]["cache_control"],
        json!({ "type": "ephemeral", "ttl": "1h" })
    );
    assert_eq!(
        body["tool_choice"],
        json!({ "type": "tool", "name": "files_read", "disable_parallel_tool_use": true })
    );
    let notes = noted(&written);
    assert_eq!(
        notes,
        [
            ("tools.function.strict".to_owned(), "translation_dropped"),
            ("tools".to_owned(), "translation_approximated"),
            ("tools.format".to_owned(), "translation_approximated"),
            ("tools".to_owned(), "translation_dropped"),
        ]
    );
}

#[test]
fn a_choice_among_some_tools_sends_those_alone() {
    let mut conversation = hello();
    conversation.tools = vec![tool("a", function(None)), tool("b", function(None))];
    for (must, word) in [(true, "any"), (false, "auto")] {
        let names = vec![ToolName::plain("b")];
        conversation.tool_choice = Some(ToolChoice::Among(names, must));
        let (body, _) = sent(&conversation, &target());
        assert_eq!(body["tools"].as_array().unwrap().len(), 1);
        assert_eq!(body["tools"][0]["name"], "b");
        assert_eq!(body["tool_choice"], json!({ "type": word }));
    }
    conversation.tools.clear();
    let (body, _) = sent(&conversation, &target());
    assert_eq!(body.get("tool_choice"), None, "nothing to choose from");
}

fn with_media(kind: MediaKind, source: Source) -> (Value, Option<LossKind>) {
    let media = Media {
        kind,
        source,
        name: Some("n".to_owned()),
        detail: None,
        extras: Vec::new(),
    };
    let turn = Turn::of(
        Role::User,
        vec![Block::of(BlockKind::Media(media)), Block::text("?")],
    );
    let (body, written) = sent(&from_chat(vec![turn]), &target());
    let loss = written.notes.all().first().map(|note| note.loss);
    (body["messages"][0]["content"][0].clone(), loss)
}

#[test]
fn media_go_out_where_the_format_has_a_way() {
    let inline = |mime: &str| Source::Inline {
        mime: mime.to_owned(),
        data: "aGVsbG8=".to_owned(),
    };
    let link = || Source::Link {
        url: "https://example.com/x".to_owned(),
        mime: None,
    };
    let sources = [
        (
            MediaKind::Image,
            inline("image/png"),
            json!({ "type": "base64", "media_type": "image/png", "data": "aGVsbG8=" }),
        ),
        (
            MediaKind::Image,
            link(),
            json!({ "type": "url", "url": "https://example.com/x" }),
        ),
        (
            MediaKind::File,
            inline("application/pdf"),
            json!({ "type": "base64", "media_type": "application/pdf", "data": "aGVsbG8=" }),
        ),
        (
            MediaKind::File,
            inline("text/markdown"),
            json!({ "type": "text", "media_type": "text/plain", "data": "hello" }),
        ),
        (
            MediaKind::File,
            link(),
            json!({ "type": "url", "url": "https://example.com/x" }),
        ),
        (
            MediaKind::File,
            Source::Text("w".to_owned()),
            json!({ "type": "text", "media_type": "text/plain", "data": "w" }),
        ),
    ];
    for (kind, source, expected) in sources {
        let case = format!("{kind:?} {source:?}");
        let (block, loss) = with_media(kind, source);
        assert_eq!((&block["source"], loss), (&expected, None), "{case}");
        let is_file = kind == MediaKind::File;
        assert_eq!(block["type"], if is_file { "document" } else { "image" });
        assert_eq!(block.get("title").is_some(), is_file);
    }
    for (kind, source) in [
        (MediaKind::Image, inline("image/heic")),
        (MediaKind::Image, Source::Text(String::new())),
        (MediaKind::File, inline("application/zip")),
        (MediaKind::Audio, inline("audio/wav")),
        (MediaKind::Video, link()),
    ] {
        let case = format!("{kind:?} {source:?}");
        assert_eq!(
            with_media(kind, source).1,
            Some(LossKind::Refused),
            "{case}"
        );
    }
}

#[test]
fn what_only_another_format_has_is_noted_and_refused_where_it_matters() {
    let extra = |field: &str, matters: bool| UnknownField {
        field: field.to_owned(),
        value: json!(1),
        matters,
    };
    let foreign = |format: Format| Block::of(BlockKind::Foreign(format, json!({ "type": "odd" })));
    let mut conversation = from_chat(vec![
        turn_of(Role::User, "hi"),
        Turn::of(
            Role::Assistant,
            vec![foreign(Format::OpenaiResponses), Block::text("a")],
        ),
        Turn::of(
            Role::User,
            vec![foreign(Format::ClaudeMessages), Block::text("b")],
        ),
    ]);
    conversation.extras = vec![extra("logit_bias", true), extra("store", false)];
    conversation.choices = 2;
    conversation.user = Some("u".to_owned());
    conversation.cache_key = Some("k".to_owned());
    conversation.verbosity = Some("low".to_owned());
    conversation.metadata = Some(json!({}));
    conversation.service_tier = Some("flex".to_owned());
    conversation.stop = vec!["\n".to_owned(), "END".to_owned()];
    conversation.stream = true;
    let (body, written) = sent(&conversation, &target());
    let (dropped, refused) = ("translation_dropped", "translation_refused");
    let expected = [
        ("odd", dropped),
        ("stop", dropped),
        ("n", refused),
        ("service_tier", dropped),
        ("prompt_cache_key", dropped),
        ("verbosity", dropped),
        ("metadata", dropped),
        ("logit_bias", refused),
        ("store", dropped),
    ];
    let expected = expected.map(|(field, code)| (field.to_owned(), code));
    assert_eq!(noted(&written), expected);
    assert_eq!(body["metadata"], json!({ "user_id": "u" }));
    assert_eq!(body["stop_sequences"], json!(["END"]));
    assert_eq!(body["stream"], true);
    assert_eq!(
        body["messages"][2]["content"][0],
        json!({ "type": "odd" }),
        "ours"
    );
    let request = from_chat(vec![Turn::of(Role::User, vec![foreign(Format::Gemini)])]);
    let (_, written) = sent(&request, &target());
    assert_eq!(written.notes.first_refused().unwrap().field, "odd");
}

#[test]
fn tiers_of_others_that_mean_the_same_are_sold_by_our_word() {
    for (request, written) in [
        ("auto", Some("auto")),
        ("default", Some("standard_only")),
        ("priority", None),
    ] {
        let mut conversation = hello();
        conversation.service_tier = Some(request.to_owned());
        let (body, _) = sent(&conversation, &target());
        assert_eq!(body.get("service_tier").and_then(Value::as_str), written);
    }
}
