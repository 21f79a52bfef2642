//! Conversations of other formats, put into the order that this one wants.

use serde_json::{Value, json};
use trunkline_wire::Format;
use trunkline_wire::canonical::{
    Block, BlockKind, Role, Signature, Thinking, ToolCall, ToolName, ToolResult, Turn,
};

use crate::claude_messages::support::{OWN, from_chat, noted, sent, target, turn_of};

fn calls(ids: &[&str]) -> Turn {
    let call = |id: &&str| {
        Block::of(BlockKind::ToolCall(ToolCall {
            id: (*id).to_owned(),
            tool: ToolName::plain("run"),
            arguments: "{}".to_owned(),
            ..ToolCall::default()
        }))
    };
    Turn::of(Role::Assistant, ids.iter().map(call).collect())
}

fn result(id: &str, text: &str) -> Turn {
    Turn::of(
        Role::User,
        vec![Block::of(BlockKind::ToolResult(ToolResult {
            call: id.to_owned(),
            tool: None,
            custom: false,
            content: vec![Block::text(text)],
            failed: false,
        }))],
    )
}

/// What is written, in short: who, and what of which kind.
fn order(turns: Vec<Turn>) -> (Vec<String>, Vec<(String, &'static str)>) {
    let (body, written) = sent(&from_chat(turns), &target());
    let message = |message: &Value| {
        let role = &message["role"].as_str().unwrap()[..1];
        let kind = |block: &Value| {
            let id = block.get("id").or_else(|| block.get("tool_use_id"));
            let id = id.or_else(|| block.get("text"));
            let id = id.or_else(|| block.get("type")).unwrap();
            id.as_str().unwrap().to_owned()
        };
        let content = if let Some(text) = message["content"].as_str() {
            text.to_owned()
        } else {
            let blocks = message["content"].as_array().unwrap();
            let kinds: Vec<String> = blocks.iter().map(kind).collect();
            kinds.join("+")
        };
        format!("{role}:{content}")
    };
    let messages = body["messages"].as_array().unwrap();
    (messages.iter().map(message).collect(), noted(&written))
}

#[test]
fn every_call_is_answered_in_the_next_turn_and_before_anything_else() {
    let (order, notes) = order(vec![
        turn_of(Role::User, "go"),
        calls(&["a", "b"]),
        result("b", "B"),
        turn_of(Role::User, "and"),
        result("a", "A"),
        turn_of(Role::User, "more"),
    ]);
    assert_eq!(order, ["u:go", "a:a+b", "u:b+a+and+more"]);
    assert_eq!(notes, []);
}

#[test]
fn turns_of_one_side_are_one_turn() {
    let (order, notes) = order(vec![
        turn_of(Role::User, "one"),
        turn_of(Role::User, "two"),
        turn_of(Role::Assistant, "three"),
        turn_of(Role::User, ""),
        turn_of(Role::Assistant, "four"),
        calls(&["a"]),
        result("a", "A"),
    ]);
    assert_eq!(order, ["u:one+two", "a:three+four+a", "u:a"]);
    assert_eq!(notes, []);
}

#[test]
fn a_call_without_result_and_a_result_without_call_are_said_in_words() {
    let (order, notes) = order(vec![
        turn_of(Role::User, "go"),
        result("nobody", "stray"),
        calls(&["a"]),
        turn_of(Role::User, "never mind"),
    ]);
    assert_eq!(order, ["u:go+stray", "a:a", "u:a+never mind"]);
    let approximated = "translation_approximated";
    assert_eq!(
        notes,
        [
            ("messages.tool_call_id".to_owned(), approximated),
            ("messages.tool_calls".to_owned(), approximated)
        ]
    );
}

#[test]
fn a_conversation_begins_with_the_user() {
    let (order, notes) = order(vec![
        turn_of(Role::Assistant, "Welcome!"),
        turn_of(Role::User, "hi"),
    ]);
    assert_eq!(order.len(), 3);
    assert!(order[0].starts_with("u:("));
    assert_eq!(order[1..], ["a:Welcome!", "u:hi"]);
    let expected = ("messages".to_owned(), "translation_approximated");
    assert_eq!(notes, [expected]);
}

#[test]
fn an_answer_to_go_on_from_does_not_end_in_a_space() {
    let (begun, _) = order(vec![
        turn_of(Role::User, "go"),
        turn_of(Role::Assistant, "The answer is ( \n"),
    ]);
    assert_eq!(begun, ["u:go", "a:The answer is ("]);
    let (blank, _) = order(vec![
        turn_of(Role::User, "go"),
        turn_of(Role::Assistant, " "),
    ]);
    assert_eq!(blank, ["u:go"]);
}

#[test]
fn instructions_in_the_middle_stay_where_they_are() {
    let (order, notes) = order(vec![
        turn_of(Role::User, "hi"),
        turn_of(Role::System, "French!"),
        turn_of(Role::Other("critic".to_owned()), "bad"),
    ]);
    assert_eq!(order, ["u:hi+<system>\nFrench!\n</system>+bad"]);
    let expected = ("messages.role".to_owned(), "translation_approximated");
    assert_eq!(notes, [expected]);
}

#[test]
fn instructions_alone_are_what_is_said() {
    let mut conversation = from_chat(Vec::new());
    let (_, written) = sent(&conversation, &target());
    let refused = written.notes.first_refused().unwrap();
    assert_eq!(refused.field, "messages");
    conversation.instructions = vec![Block::text("Say hi.")];
    let (body, written) = sent(&conversation, &target());
    assert_eq!(body["messages"][0]["content"], "Say hi.");
    assert_eq!(body.get("system"), None);
    assert!(written.notes.first_refused().is_none());
}

#[test]
fn own_thoughts_come_first_and_those_of_others_do_not_come() {
    let thoughts = |format: Format| Block {
        signature: Some(Signature::of(format, "seal".to_owned())),
        ..Block::of(BlockKind::Thinking(Thinking {
            texts: vec!["hm".to_owned()],
            ..Thinking::default()
        }))
    };
    let turn = |format: Format| {
        let mut turn = calls(&["a"]);
        turn.blocks.push(thoughts(format));
        vec![turn_of(Role::User, "go"), turn, result("a", "A")]
    };
    let (own, notes) = order(turn(OWN));
    assert_eq!(own, ["u:go", "a:thinking+a", "u:a"]);
    assert_eq!(notes, []);
    let (foreign, notes) = order(turn(Format::Gemini));
    assert_eq!(foreign, ["u:go", "a:a", "u:a"]);
    let expected = ("thinking".to_owned(), "translation_dropped");
    assert_eq!(notes, [expected]);
}

#[test]
fn ids_that_the_format_does_not_take_are_changed_alike_at_call_and_result() {
    let odd = ["call:1", "call.1", "fine_1-A", ""];
    let mut turns = vec![turn_of(Role::User, "go"), calls(&odd)];
    turns.extend(odd.iter().map(|id| result(id, "r")));
    let (body, written) = sent(&from_chat(turns), &target());
    let ids = |message: usize, key: &str| -> Vec<String> {
        let blocks = body["messages"][message]["content"].as_array().unwrap();
        let id = |block: &Value| block[key].as_str().unwrap().to_owned();
        blocks.iter().map(id).collect()
    };
    let called = ids(1, "id");
    assert_eq!(called, ids(2, "tool_use_id"));
    assert_eq!(called[2], "fine_1-A");
    let legal = |id: &String| {
        !id.is_empty()
            && id
                .chars()
                .all(|one| one.is_ascii_alphanumeric() || "_-".contains(one))
    };
    assert!(called.iter().all(legal), "{called:?}");
    assert_ne!(called[0], called[1], "two do not become one");
    assert!(written.notes.all().is_empty());
    assert_eq!(json!(called.len()), 4);
}
