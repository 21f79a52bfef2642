//! What is translated: a short question, a long conversation as an agent holds it, and two answers.

use serde_json::json;
use trunkline_types::{Bucket, Money, Units, Usage};
use trunkline_wire::canonical::{
    Block, BlockDelta, BlockIndex, BlockKind, BlockStart, Conversation, Event, ReportedUsage, Role,
    Stop, Target, Tool, ToolCall, ToolKind, ToolName, ToolResult, Turn,
};
use trunkline_wire::{Cost, Format, ResponseMeta, StreamEnd, Writer, write_request};

pub(crate) const MODEL: &str = "bench-model";
/// Pieces of an answer.
pub(crate) const PIECES: u32 = 64;
/// Tools that an agent has, each with a page about itself.
const TOOLS: usize = 16;
/// Rounds of a call and its result in the long conversation.
const CALLS: usize = 10;

const QUESTION: &str = "Explain in three short paragraphs how a gateway meters and charges calls, what \
    happens when an upstream fails halfway through a stream, and why a reservation is needed before \
    the first byte is sent. Use plain words and one worked example with numbers in it.\n";

/// About a kilobyte.
pub(crate) fn short() -> Conversation {
    conversation(vec![user(&QUESTION.repeat(3))])
}

/// About 76 kilobytes.
pub(crate) fn long() -> Conversation {
    let mut turns = vec![user(&QUESTION.repeat(8))];
    for number in 0..CALLS {
        let id = format!("call_{number}");
        let call = ToolCall {
            id: id.clone(),
            tool: ToolName::plain(format!("tool_{number}")),
            arguments: json!({ "path": format!("/src/file_{number}.rs"), "limit": 200 })
                .to_string(),
            ..ToolCall::default()
        };
        let result = ToolResult {
            call: id,
            tool: Some(call.tool.clone()),
            custom: false,
            content: vec![Block::text(
                "fn main() {\n\tprintln!(\"x\");\n}\n".repeat(60),
            )],
            failed: false,
        };
        let asks = vec![Block::text("I look."), Block::of(BlockKind::ToolCall(call))];
        turns.push(Turn::of(Role::Assistant, asks));
        turns.push(Turn::of(
            Role::User,
            vec![Block::of(BlockKind::ToolResult(result))],
        ));
    }
    let mut request = conversation(turns);
    request.instructions = vec![Block::text("You are careful. ".repeat(800))];
    request.tools = (0..TOOLS).map(tool).collect();
    request
}

fn tool(number: usize) -> Tool {
    let field = |about: &str| json!({ "type": "string", "description": about.repeat(4) });
    let schema = json!({
        "type": "object",
        "properties": {
            "path": field("Where it is, from the root of the project. "),
            "limit": { "type": "integer", "minimum": 1, "description": "How many lines." },
            "kind": { "type": "string", "enum": ["text", "image", "notebook"] },
            "edits": { "type": "array", "items": { "type": "object", "properties": {
                "old": field("What stands there now. "), "new": field("What is to stand there. "),
            }, "required": ["old", "new"], "additionalProperties": false } },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    Tool {
        name: ToolName::plain(format!("tool_{number}")),
        description: Some("Reads, and says what it read. ".repeat(45)),
        kind: ToolKind::Function {
            schema,
            strict: None,
        },
        cache: None,
        extras: Vec::new(),
    }
}

fn user(text: &str) -> Turn {
    Turn::of(Role::User, vec![Block::text(text)])
}

fn conversation(turns: Vec<Turn>) -> Conversation {
    Conversation {
        instructions: vec![Block::text("You answer in plain language.")],
        max_output: Some(256),
        stream: true,
        ..crate::conversation::conversation(Format::OpenaiChat, MODEL, turns)
    }
}

pub(crate) fn target() -> Target<'static> {
    Target {
        model: MODEL,
        max_output: Some(256),
        channel: Some("7"),
        ..Target::default()
    }
}

/// A conversation as a caller sends it.
pub(crate) fn body(format: Format, request: &Conversation) -> Vec<u8> {
    write_request(format, request, &target()).body
}

/// An answer of words.
pub(crate) fn words() -> Vec<Event> {
    let pieces = (0..PIECES).map(|number| BlockDelta::Text(format!(" token{number}")));
    answer(BlockStart::Text, pieces.collect(), Stop::End)
}

/// An answer that calls a tool.
pub(crate) fn call() -> Vec<Event> {
    let call = ToolCall {
        id: "call_1".to_owned(),
        tool: ToolName::plain("tool_1"),
        ..ToolCall::default()
    };
    let mut pieces = vec![BlockDelta::Arguments("{\"path\":\"".to_owned())];
    pieces.extend((2..PIECES).map(|number| BlockDelta::Arguments(format!(" token{number}\\n"))));
    pieces.push(BlockDelta::Arguments("\"}".to_owned()));
    answer(BlockStart::ToolCall(call), pieces, Stop::ToolUse)
}

fn answer(opening: BlockStart, pieces: Vec<BlockDelta>, stop: Stop) -> Vec<Event> {
    let at = BlockIndex::default();
    let mut events = vec![
        Event::Start {
            id: "abc".to_owned(),
            model: MODEL.to_owned(),
            created: Some(1_762_000_001),
        },
        Event::BlockStart(at, opening),
    ];
    events.extend(pieces.into_iter().map(|piece| Event::BlockDelta(at, piece)));
    events.extend([
        Event::BlockEnd(at),
        Event::Usage(reported()),
        Event::Stop(0, stop),
    ]);
    events
}

fn reported() -> ReportedUsage {
    ReportedUsage {
        usage: Usage::unknown()
            .with(Bucket::PlainInput, 87)
            .with(Bucket::PlainOutput, 64),
        reasoning: None,
    }
}

pub(crate) fn stream_end() -> StreamEnd {
    StreamEnd {
        reported: reported(),
        cost: Cost {
            total: Money::from_nanos(123_456),
            tier: "standard".to_owned(),
            units: Units::none(),
            cache_saving: None,
            tools: Vec::new(),
        },
        exhausted: false,
        wants_usage: true,
    }
}

pub(crate) fn meta() -> ResponseMeta {
    ResponseMeta {
        model: MODEL.to_owned(),
        id: "abc".to_owned(),
        created: 1_762_000_001,
        wants_usage: true,
        channel: Some("7".to_owned()),
        request_body: Some(serde_json::Map::new()),
    }
}

/// An answer as an upstream sends it.
pub(crate) fn stream(format: Format, events: &[Event]) -> Vec<u8> {
    let mut writer = Writer::new(format, meta());
    let mut out = Vec::new();
    events
        .iter()
        .for_each(|event| writer.write(event, &mut out));
    writer.finish(&stream_end(), &mut out);
    out
}
