//! Conversations of other formats written as Responses, and answers of others shown as Responses.

use serde_json::{Value, json};
use trunkline_wire::canonical::{
    Block, BlockDelta, BlockIndex, BlockKind, BlockStart, CacheLife, Choice, Conversation, Event,
    LossKind, Media, MediaKind, Response, Role, Signature, Source, Stop, Target, Text, Thinking,
    Tool, ToolCall, ToolChoice, ToolKind, ToolName, ToolResult, Turn,
};
use trunkline_wire::{Format, Writer, write_request, write_response};

use crate::openai_responses::shared::{FORMAT, data, meta, stream_end};

fn conversation(from: Format, turns: Vec<Turn>) -> Conversation {
    crate::conversation::conversation(from, "public", turns)
}

fn written(conversation: &Conversation) -> (Value, Vec<(LossKind, String)>) {
    let target = Target {
        model: "up",
        max_output: Some(99),
        channel: Some("7"),
        ..Target::default()
    };
    let out = write_request(FORMAT, conversation, &target);
    let notes = out
        .notes
        .all()
        .iter()
        .map(|note| (note.loss, note.field.to_string()));
    (serde_json::from_slice(&out.body).unwrap(), notes.collect())
}

fn user(text: &str) -> Turn {
    Turn::of(Role::User, vec![Block::text(text)])
}

fn tool(name: &str, kind: ToolKind) -> Tool {
    Tool {
        name: ToolName::plain(name),
        description: None,
        kind,
        cache: None,
        extras: Vec::new(),
    }
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        tool: ToolName::plain(name),
        arguments: arguments.to_owned(),
        ..ToolCall::default()
    }
}

#[test]
fn a_conversation_of_claude_is_said_as_far_as_it_can_be() {
    let thought = Block {
        signature: Some(Signature::of(Format::ClaudeMessages, "EqQB".to_owned())),
        ..Block::of(BlockKind::Thinking(Thinking {
            texts: vec!["hm".to_owned()],
            ..Thinking::default()
        }))
    };
    let mut marked = Block::text("long");
    marked.cache = Some(CacheLife::FiveMinutes);
    let failed = BlockKind::ToolResult(ToolResult {
        call: "toolu_1".to_owned(),
        tool: None,
        custom: false,
        content: vec![Block::text("no such file")],
        failed: true,
    });
    let mut request = conversation(
        Format::ClaudeMessages,
        vec![
            Turn::of(Role::User, vec![marked]),
            Turn::of(
                Role::Assistant,
                vec![
                    thought,
                    Block::text("I look."),
                    Block::of(BlockKind::ToolCall(call("toolu_1", "read.file", ""))),
                    Block::of(BlockKind::ToolCall(call("toolu_2", "ls", "{\"d\":1}"))),
                ],
            ),
            Turn::of(Role::User, vec![Block::of(failed)]),
        ],
    );
    request.instructions = vec![Block::text("A"), Block::text("B")];
    request.tools = vec![
        tool(
            "read.file",
            ToolKind::Function {
                schema: json!({}),
                strict: None,
            },
        ),
        tool(
            "web_search",
            ToolKind::Native(json!({ "type": "web_search_20250305" })),
        ),
    ];
    request.tool_choice = Some(ToolChoice::Named(ToolName::plain("read.file")));
    request.reasoning.budget = Some(8_000);
    request.reasoning.visible = Some(true);
    request.stop = vec!["X".to_owned()];
    request.user = Some("u".repeat(200));
    request.service_tier = Some("standard_only".to_owned());
    request.stream = true;
    let (body, notes) = written(&request);
    assert_eq!(body["model"], "up");
    assert_eq!(body["instructions"], "A\n\nB");
    assert_eq!(body["max_output_tokens"], 99);
    assert_eq!(body["store"], false);
    assert_eq!(body["stream"], true);
    assert_eq!(
        body["reasoning"],
        json!({ "effort": "medium", "summary": "auto" })
    );
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(body["tools"][0]["name"], "read_file");
    assert_eq!(
        body["tools"][0]["strict"], false,
        "which is this format's other default"
    );
    assert_eq!(
        body["tool_choice"],
        json!({ "type": "function", "name": "read_file" })
    );
    let kinds: Vec<&str> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "message",
            "message",
            "function_call",
            "function_call",
            "function_call_output"
        ]
    );
    assert_eq!(body["input"][2]["arguments"], "{}");
    assert_eq!(body["input"][2]["name"], "read_file");
    assert_eq!(body["input"][4]["output"], "Error: no such file");
    let has = |loss: LossKind, field: &str| notes.contains(&(loss, field.to_owned()));
    assert!(has(LossKind::Dropped, "thinking"));
    assert!(has(LossKind::Dropped, "stop_sequences"));
    assert!(has(LossKind::Dropped, "tools.web_search"));
    assert!(has(LossKind::Dropped, "metadata.user_id"));
    assert!(has(LossKind::Dropped, "service_tier"));
    assert!(has(LossKind::Approximated, "cache_control"));
    assert!(has(LossKind::Approximated, "thinking.budget_tokens"));
    assert!(has(LossKind::Approximated, "tool_result.is_error"));
    assert_eq!(notes.len(), 8, "{notes:?}");
}

#[test]
fn own_thoughts_come_home_through_another_format() {
    let thought = Block {
        signature: Some(Signature {
            channel: Some("7".to_owned()),
            ..Signature::of(FORMAT, "gAAA".to_owned())
        }),
        ..Block::of(BlockKind::Thinking(Thinking {
            texts: vec!["hm".to_owned()],
            ..Thinking::default()
        }))
    };
    let turns = vec![
        user("q"),
        Turn::of(Role::Assistant, vec![thought]),
        user("r"),
    ];
    let (body, notes) = written(&conversation(Format::ClaudeMessages, turns));
    assert_eq!(
        body["input"][1],
        json!({ "type": "reasoning", "encrypted_content": "gAAA", "summary": [{ "type": "summary_text", "text": "hm" }] })
    );
    assert_eq!(notes, []);
}

#[test]
fn media_that_cannot_be_sent_is_refused_and_not_left_out() {
    let media = |kind, source| {
        Block::of(BlockKind::Media(Media {
            kind,
            source,
            name: None,
            detail: None,
            extras: Vec::new(),
        }))
    };
    let inline = |mime: &str| Source::Inline {
        mime: mime.to_owned(),
        data: "AAAA".to_owned(),
    };
    let link = Source::Link {
        url: "https://example.org/a".to_owned(),
        mime: None,
    };
    let turn = |block| conversation(Format::Gemini, vec![Turn::of(Role::User, vec![block])]);
    for (block, field) in [
        (media(MediaKind::Video, link.clone()), "video"),
        (media(MediaKind::Audio, link.clone()), "audio"),
        (media(MediaKind::Audio, inline("audio/flac")), "audio"),
        (
            Block::of(BlockKind::Foreign(
                Format::Gemini,
                json!({ "executableCode": {} }),
            )),
            "executableCode",
        ),
    ] {
        let (_, notes) = written(&turn(block));
        assert_eq!(notes, [(LossKind::Refused, field.to_owned())]);
    }
    let (body, notes) = written(&turn(media(MediaKind::File, inline("application/pdf"))));
    let part = &body["input"][0]["content"][0];
    assert_eq!(part["filename"], "file.pdf");
    assert_eq!(part["file_data"], "data:application/pdf;base64,AAAA");
    assert_eq!(notes, []);
    let (body, _) = written(&turn(media(MediaKind::File, Source::Text("w".to_owned()))));
    assert_eq!(
        body["input"][0]["content"][0],
        json!({ "type": "input_text", "text": "w" })
    );
    let mut many = conversation(Format::OpenaiChat, vec![user("q")]);
    many.choices = 2;
    assert_eq!(written(&many).1, [(LossKind::Refused, "n".to_owned())]);
}

#[test]
fn tools_of_plain_words_are_said_as_they_are_to_and_from_chat() {
    let mut request = conversation(Format::OpenaiChat, vec![user("q")]);
    let format = json!({ "type": "text" });
    request.tools = vec![tool(
        "patch",
        ToolKind::Custom {
            format: Some(format.clone()),
        },
    )];
    request.tool_choice = Some(ToolChoice::Among(vec![ToolName::plain("patch")], false));
    let (body, notes) = written(&request);
    assert_eq!(
        body["tools"],
        json!([{ "type": "custom", "name": "patch", "format": format }])
    );
    assert_eq!(
        body["tool_choice"]["tools"],
        json!([{ "type": "custom", "name": "patch" }])
    );
    assert_eq!(notes, []);
}

#[test]
fn a_tool_that_must_be_used_and_is_not_sent_is_refused() {
    let mut request = conversation(Format::ClaudeMessages, vec![user("q")]);
    let search = ToolName::plain("web_search");
    request.tools = vec![
        tool(
            "web_search",
            ToolKind::Native(json!({ "type": "web_search_20250305" })),
        ),
        tool(
            "f",
            ToolKind::Function {
                schema: json!({}),
                strict: None,
            },
        ),
    ];
    let refused = (LossKind::Refused, "tool_choice".to_owned());
    let choices = [
        (ToolChoice::Named(search.clone()), true),
        (ToolChoice::Among(vec![search.clone()], true), true),
        (
            ToolChoice::Among(vec![search, ToolName::plain("f")], true),
            false,
        ),
        (ToolChoice::Named(ToolName::plain("f")), false),
        (ToolChoice::Any, false),
    ];
    for (choice, expected) in choices {
        request.tool_choice = Some(choice.clone());
        let (body, notes) = written(&request);
        assert_eq!(notes.contains(&refused), expected, "{choice:?}");
        assert_eq!(body.get("tool_choice").is_none(), expected, "{choice:?}");
        assert!(
            !body["tool_choice"].to_string().contains("web_search"),
            "{choice:?}"
        );
    }
    request.tools.truncate(1);
    request.tool_choice = Some(ToolChoice::Any);
    assert!(written(&request).1.contains(&refused));
    request.tool_choice = Some(ToolChoice::Auto);
    assert!(!written(&request).1.contains(&refused));
}

#[test]
fn an_answer_shorter_than_the_upstream_allows_is_asked_for_at_its_least() {
    let request = conversation(Format::ClaudeMessages, vec![user("q")]);
    let target = Target {
        model: "up",
        max_output: Some(1),
        ..Target::default()
    };
    let out = write_request(FORMAT, &request, &target);
    let body: Value = serde_json::from_slice(&out.body).unwrap();
    assert_eq!(body["max_output_tokens"], 16);
    assert_eq!(out.notes.all()[0].loss, LossKind::Approximated);
}

fn sealed(format: Format, what: BlockKind) -> Block {
    Block {
        signature: Some(Signature::of(format, "c2VhbA==".to_owned())),
        ..Block::of(what)
    }
}

#[test]
fn an_answer_of_another_format_repeats_what_was_asked() {
    let answer = Response {
        choices: vec![Choice {
            blocks: vec![
                sealed(
                    Format::ClaudeMessages,
                    BlockKind::Thinking(Thinking {
                        texts: vec!["hm".to_owned()],
                        ..Thinking::default()
                    }),
                ),
                Block::of(BlockKind::Text(Text {
                    text: "see".to_owned(),
                    citations: vec![(
                        Format::ClaudeMessages,
                        json!({ "type": "web_search_result_location", "url": "https://example.org", "title": "t" }),
                    )],
                })),
                sealed(Format::Gemini, BlockKind::ToolCall(call("c", "f", ""))),
                Block::of(BlockKind::Foreign(
                    Format::Gemini,
                    json!({ "executableCode": {} }),
                )),
            ],
            stop: Stop::ToolUse,
        }],
        ..Response::default()
    };
    let request = json!({ "model": "public", "instructions": "I", "tools": [{ "type": "web_search" }], "temperature": 0.5,
        "reasoning": { "effort": "low" }, "text": { "verbosity": "low" }, "metadata": { "a": "b" }, "store": true });
    let body = write_response(FORMAT, &answer, &meta(request));
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["id"], "resp_abc");
    assert_eq!(body["status"], "completed");
    assert_eq!(body["instructions"], "I");
    assert_eq!(body["temperature"], 0.5);
    assert_eq!(body["top_p"], 1.0);
    assert_eq!(body["store"], false, "nothing of it is kept");
    assert_eq!(
        body["reasoning"],
        json!({ "effort": "low", "summary": null })
    );
    assert_eq!(
        body["text"],
        json!({ "format": { "type": "text" }, "verbosity": "low" })
    );
    assert_eq!(body["tools"], json!([{ "type": "web_search" }]));
    let output = body["output"].as_array().unwrap();
    let ids: Vec<&str> = output
        .iter()
        .map(|item| item["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["rs_abc_0", "msg_abc_1", "fc_abc_2", "rs_abc_3"]);
    assert_eq!(output[0]["content"][0]["type"], "reasoning_text");
    assert_eq!(output[0]["encrypted_content"], "tlsig1mb7xxxc2VhbA==~");
    assert_eq!(
        output[1]["content"][0]["annotations"][0]["url"],
        "https://example.org"
    );
    assert_eq!(output[2]["arguments"], "{}");
    assert_eq!(output[3]["encrypted_content"], "tlsig1gb7xxxc2VhbA==");
}

#[test]
fn calls_that_stay_open_beside_each_other_are_written_side_by_side() {
    let at = |block| BlockIndex { choice: 0, block };
    let open =
        |block, id: &str| Event::BlockStart(at(block), BlockStart::ToolCall(call(id, "f", "")));
    let grow =
        |block, text: &str| Event::BlockDelta(at(block), BlockDelta::Arguments(text.to_owned()));
    let events = [
        Event::BlockStart(at(0), BlockStart::Text),
        Event::BlockDelta(at(0), BlockDelta::Text("a".to_owned())),
        open(1, "c1"),
        Event::BlockDelta(at(0), BlockDelta::Text("b".to_owned())),
        open(2, "c2"),
        grow(1, "{\"x\":"),
        grow(2, "{}"),
        grow(1, "1}"),
        Event::BlockDelta(
            BlockIndex {
                choice: 1,
                block: 0,
            },
            BlockDelta::Text("nobody".to_owned()),
        ),
        Event::BlockEnd(at(1)),
        Event::BlockDelta(at(1), BlockDelta::Arguments("late".to_owned())),
        Event::Stop(0, Stop::ToolUse),
    ];
    let mut writer = Writer::new(FORMAT, meta(json!({})));
    let mut out = Vec::new();
    events
        .iter()
        .for_each(|event| writer.write(event, &mut out));
    writer.finish(&stream_end(false), &mut out);
    let last = data(&out).pop().unwrap();
    let output = &last["response"]["output"];
    assert_eq!(output[0]["content"][0]["text"], "ab");
    assert_eq!(output[1]["arguments"], "{\"x\":1}");
    assert_eq!(output[2]["arguments"], "{}");
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["sequence_number"], data(&out).len() - 1);
}
