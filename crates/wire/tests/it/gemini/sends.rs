//! Conversations of other formats, written for Google.

use serde_json::{Value, json};
use trunkline_wire::canonical::{
    Block, BlockKind, CacheLife, Conversation, LossKind, Media, MediaKind, OutputShape, Reasoning,
    Role, Signature, Source, Target, Thinking, Tool, ToolCall, ToolChoice, ToolKind, ToolName,
    ToolResult, Turn, UnknownField, Written,
};
use trunkline_wire::{Format, write_request};

fn conversation(turns: Vec<Turn>) -> Conversation {
    crate::conversation::conversation(Format::OpenaiChat, "m", turns)
}

fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::of(BlockKind::ToolCall(ToolCall {
        id: id.to_owned(),
        tool: ToolName::plain(name),
        arguments: arguments.to_owned(),
        ..ToolCall::default()
    }))
}

fn result(id: &str, text: &str, failed: bool) -> Block {
    Block::of(BlockKind::ToolResult(ToolResult {
        call: id.to_owned(),
        tool: None,
        custom: false,
        content: vec![Block::text(text)],
        failed,
    }))
}

fn written(conversation: &Conversation) -> (Value, Written) {
    let written = write_request(Format::Gemini, conversation, &Target::default());
    (serde_json::from_slice(&written.body).unwrap(), written)
}

fn losses(written: &Written) -> Vec<(LossKind, &str)> {
    let notes = written.notes.all().iter();
    notes.map(|note| (note.loss, note.field.as_ref())).collect()
}

#[test]
fn results_of_one_step_follow_the_order_of_their_signed_calls() {
    let turns = vec![
        Turn::of(Role::System, vec![Block::text("rules")]),
        Turn::of(Role::User, vec![Block::text("go")]),
        Turn::of(
            Role::Assistant,
            vec![Block::text(""), call("toolu_1", "a", "{\"x\":1}")],
        ),
        Turn::of(Role::Assistant, vec![call("toolu_2", "b", "not json")]),
        Turn::of(Role::User, vec![result("toolu_2", "two", true)]),
        Turn::of(
            Role::User,
            vec![Block::text("and"), result("toolu_1", "one", false)],
        ),
        Turn::of(Role::System, vec![Block::text("late")]),
    ];
    let (body, written) = written(&conversation(turns));
    assert_eq!(
        body["systemInstruction"]["parts"],
        json!([{ "text": "rules" }])
    );
    assert_eq!(
        body["contents"],
        json!([
            { "role": "user", "parts": [{ "text": "go" }] },
            { "role": "model", "parts": [
                { "functionCall": { "id": "toolu_1", "name": "a", "args": { "x": 1 } },
                  "thoughtSignature": "skip_thought_signature_validator" },
                { "functionCall": { "id": "toolu_2", "name": "b", "args": { "input": "not json" } } },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "id": "toolu_1", "name": "a", "response": { "output": "one" } } },
                { "functionResponse": { "id": "toolu_2", "name": "b", "response": { "error": "two" } } },
            ] },
            { "role": "user", "parts": [{ "text": "and" }] },
            { "role": "user", "parts": [{ "text": "late" }] },
        ])
    );
    assert_eq!(
        losses(&written),
        [
            (LossKind::Approximated, "arguments"),
            (LossKind::Approximated, "messages.role")
        ]
    );
}

#[test]
fn reasoning_is_returned_only_to_the_vendor_that_signed_it() {
    let thought = |seal: Option<Signature>| Block {
        signature: seal,
        ..Block::of(BlockKind::Thinking(Thinking {
            texts: vec!["hm".to_owned()],
            ..Thinking::default()
        }))
    };
    let own = Signature {
        channel: Some("7".to_owned()),
        ..Signature::of(Format::Gemini, "own".to_owned())
    };
    let foreign = Signature::of(Format::ClaudeMessages, "theirs".to_owned());
    let turns = vec![
        Turn::of(Role::User, vec![Block::text("go")]),
        Turn::of(
            Role::Assistant,
            vec![
                thought(Some(own.clone())),
                thought(Some(foreign)),
                thought(None),
                Block {
                    signature: Some(own),
                    ..call("call_abc", "f", "")
                },
            ],
        ),
    ];
    let target = Target {
        channel: Some("7"),
        ..Target::default()
    };
    let written = write_request(Format::Gemini, &conversation(turns), &target);
    let body: Value = serde_json::from_slice(&written.body).unwrap();
    assert_eq!(
        body["contents"][1]["parts"],
        json!([
            { "text": "hm", "thought": true, "thoughtSignature": "own" },
            { "functionCall": { "id": "call_abc", "name": "f", "args": {} }, "thoughtSignature": "own" },
        ])
    );
    assert_eq!(losses(&written), [(LossKind::Dropped, "thinking")]);
}

#[test]
fn media_go_inline_or_by_their_address_and_into_results() {
    let media = |kind, source| Media {
        kind,
        source,
        name: Some("n".to_owned()),
        detail: Some("high".to_owned()),
        extras: Vec::new(),
    };
    let inline = Source::Inline {
        mime: "image/png".to_owned(),
        data: "AAAA".to_owned(),
    };
    let link = Source::Link {
        url: "https://example.com/a.PDF?x".to_owned(),
        mime: None,
    };
    let shot = Block::of(BlockKind::ToolResult(ToolResult {
        call: "c1".to_owned(),
        tool: Some(ToolName::plain("shot")),
        custom: false,
        content: vec![
            Block::text("a"),
            Block::text("b"),
            Block::of(BlockKind::Media(media(MediaKind::Image, inline.clone()))),
        ],
        failed: false,
    }));
    let turns = vec![
        Turn::of(
            Role::User,
            vec![
                Block::of(BlockKind::Media(media(MediaKind::Image, inline))),
                Block::of(BlockKind::Media(media(MediaKind::File, link))),
                Block::of(BlockKind::Media(media(
                    MediaKind::File,
                    Source::Text("plain".to_owned()),
                ))),
                Block {
                    cache: Some(CacheLife::OneHour),
                    ..Block::text("x")
                },
                Block::of(BlockKind::Foreign(
                    Format::ClaudeMessages,
                    json!({ "type": "server_tool_use" }),
                )),
            ],
        ),
        Turn::of(Role::User, vec![shot]),
    ];
    let (body, written) = written(&conversation(turns));
    assert_eq!(
        body["contents"],
        json!([
            { "role": "user", "parts": [
                { "inlineData": { "mimeType": "image/png", "data": "AAAA" } },
                { "fileData": { "mimeType": "application/pdf", "fileUri": "https://example.com/a.PDF?x" } },
                { "text": "n:\nplain" },
                { "text": "x" },
            ] },
            { "role": "user", "parts": [{ "functionResponse": {
                "id": "c1", "name": "shot", "response": { "output": "a\nb" },
                "parts": [{ "inlineData": { "mimeType": "image/png", "data": "AAAA" } }],
            } }] },
        ])
    );
    assert_eq!(
        losses(&written),
        [
            (LossKind::Dropped, "filename"),
            (LossKind::Dropped, "messages.content.image_url.detail"),
            (LossKind::Approximated, "document"),
            (LossKind::Dropped, "cache_control"),
            (LossKind::Dropped, "server_tool_use"),
        ]
    );
}

#[test]
fn tools_choices_and_shapes_are_said_in_googles_words() {
    let mut request = conversation(vec![Turn::of(Role::User, vec![Block::text("x")])]);
    let tool = |name: &str, kind| Tool {
        name: ToolName::plain(name),
        description: Some("d".to_owned()),
        kind,
        cache: None,
        extras: Vec::new(),
    };
    request.tools = vec![
        tool(
            "9 lives",
            ToolKind::Function {
                schema: json!({ "type": "object" }),
                strict: Some(true),
            },
        ),
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
    ];
    request.tool_choice = Some(ToolChoice::Named(ToolName::plain("9 lives")));
    request.output = OutputShape::Schema {
        name: Some("n".to_owned()),
        description: None,
        schema: json!({ "type": "object" }),
        strict: Some(true),
    };
    request.parallel_tools = Some(false);
    request.user = Some("u".to_owned());
    request.service_tier = Some("default".to_owned());
    request.stop = (0..7).map(|number| number.to_string()).collect();
    request.extras = vec![
        UnknownField {
            field: "logit_bias".to_owned(),
            value: json!({}),
            matters: true,
        },
        UnknownField {
            field: "safety_identifier".to_owned(),
            value: json!("s"),
            matters: false,
        },
    ];
    let (body, written) = written(&request);
    let declared = &body["tools"][0]["functionDeclarations"];
    assert_eq!(
        declared[0],
        json!({ "name": "_9_lives", "description": "d", "parametersJsonSchema": { "type": "object" } })
    );
    assert_eq!(
        declared[1]["parametersJsonSchema"]["required"],
        json!(["input"])
    );
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(
        body["toolConfig"]["functionCallingConfig"],
        json!({ "mode": "ANY", "allowedFunctionNames": ["_9_lives"] })
    );
    let config = &body["generationConfig"];
    assert_eq!(config["responseMimeType"], "application/json");
    assert_eq!(config["responseJsonSchema"], json!({ "type": "object" }));
    assert_eq!(config["stopSequences"].as_array().unwrap().len(), 5);
    assert_eq!(body["serviceTier"], "standard");
    assert_eq!(written.notes.first_refused().unwrap().field, "logit_bias");
    let lost = losses(&written);
    for field in [
        "tools.function.strict",
        "tools.web_search",
        "stop",
        "user",
        "parallel_tool_calls",
        "safety_identifier",
    ] {
        assert!(lost.contains(&(LossKind::Dropped, field)), "{field}");
    }
    assert!(lost.contains(&(LossKind::Approximated, "tools.format")));
}

#[test]
fn how_hard_to_think_is_a_budget_or_a_level_never_both() {
    let thinking = |reasoning: Reasoning, by_effort: bool| {
        let mut request = conversation(vec![Turn::of(Role::User, vec![Block::text("x")])]);
        request.reasoning = reasoning;
        let target = Target {
            thinks_by_effort: by_effort,
            max_output: Some(9),
            ..Target::default()
        };
        let written = write_request(Format::Gemini, &request, &target);
        let body: Value = serde_json::from_slice(&written.body).unwrap();
        assert_eq!(body["generationConfig"]["maxOutputTokens"], 9);
        body["generationConfig"]["thinkingConfig"].clone()
    };
    let effort = |word: &str| Reasoning {
        effort: Some(word.to_owned()),
        ..Reasoning::default()
    };
    let budget = |tokens| Reasoning {
        budget: Some(tokens),
        visible: Some(true),
        ..Reasoning::default()
    };
    assert_eq!(
        thinking(effort("low"), false),
        json!({ "thinkingBudget": 2048 })
    );
    assert_eq!(
        thinking(effort("low"), true),
        json!({ "thinkingLevel": "LOW" })
    );
    assert_eq!(
        thinking(effort("max"), true),
        json!({ "thinkingLevel": "HIGH" })
    );
    assert_eq!(
        thinking(effort("max"), false),
        json!({ "thinkingBudget": 24576 })
    );
    assert_eq!(
        thinking(effort("none"), false),
        json!({ "thinkingBudget": 0 })
    );
    assert_eq!(
        thinking(budget(10_000), false),
        json!({ "includeThoughts": true, "thinkingBudget": 10000 })
    );
    assert_eq!(
        thinking(budget(10_000), true),
        json!({ "includeThoughts": true, "thinkingLevel": "MEDIUM" })
    );
    let adaptive = Reasoning {
        adaptive: true,
        ..Reasoning::default()
    };
    assert_eq!(thinking(adaptive, false), json!({ "thinkingBudget": -1 }));
    assert_eq!(
        thinking(
            Reasoning {
                off: true,
                ..Reasoning::default()
            },
            true
        ),
        json!({ "thinkingLevel": "MINIMAL" })
    );
    assert_eq!(thinking(Reasoning::default(), false), Value::Null);
}
