//! Codex, OpenAI's agent for the terminal: `POST /v1/responses`, always streamed, nothing stored; or the same over a
//! WebSocket.

use serde_json::{Value, json};
use tokio::process::Command;

use crate::clients::counted_line::CountedLine;
use crate::clients::ledger_rows::{Customer, assert_served};
use crate::clients::sandbox::{MADE, ProgramOutput, Sandbox, run};
use crate::clients::upstreams;
use crate::dev::Dev;

/// `words` are those behind `codex exec`.
fn codex(
    scratch: &Sandbox,
    dev: &Dev,
    customer: &Customer,
    model: &str,
    words: &[&str],
) -> Command {
    codex_with(scratch, dev, customer, model, words, "")
}

/// With more settings of its provider.
fn codex_with(
    scratch: &Sandbox,
    dev: &Dev,
    customer: &Customer,
    model: &str,
    words: &[&str],
    provider: &str,
) -> Command {
    codex_at(scratch, &dev.api(), customer, model, words, provider)
}

/// At another address of the gateway.
fn codex_at(
    scratch: &Sandbox,
    base_url: &str,
    customer: &Customer,
    model: &str,
    words: &[&str],
    provider: &str,
) -> Command {
    let settings = format!(
        "model = \"{model}\"
model_provider = \"trunkline\"
[model_providers.trunkline]
name = \"Trunkline\"
base_url = \"{base_url}\"
env_key = \"TRUNKLINE_KEY\"
wire_api = \"responses\"
{provider}
"
    );
    scratch.settings(".codex/config.toml", &settings);
    let mut command = scratch.command("codex");
    command
        .arg("exec")
        .args(words)
        .args(["--json", "--skip-git-repo-check"])
        // The commands are ours, in a folder of ours; its sandbox needs what not every kernel has.
        .arg("--dangerously-bypass-approvals-and-sandbox")
        .env("TRUNKLINE_KEY", &customer.key);
    command
}

/// What was done and said, in its order: commands with what they printed, and messages.
fn items(reply: &ProgramOutput) -> Vec<(String, String)> {
    let events = reply.events();
    let done = events
        .iter()
        .filter(|event| event["type"] == "item.completed");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut items = Vec::new();
    for item in done.map(|event| &event["item"]) {
        match item["type"].as_str().unwrap() {
            "command_execution" => {
                assert_eq!(item["exit_code"], 0, "{item}");
                items.push(("command".to_owned(), text(&item["aggregated_output"])));
            }
            "agent_message" => items.push(("message".to_owned(), text(&item["text"]))),
            "reasoning" => {}
            // It does not know our models' names and says so.
            "error" => assert!(text(&item["message"]).contains("metadata"), "{item}"),
            other => panic!("{other}: {item}"),
        }
    }
    let last = events.last().unwrap();
    assert_eq!(last["type"], "turn.completed", "{last}");
    assert!(
        last["usage"]["input_tokens"].as_u64().unwrap() > 0,
        "{last}"
    );
    assert!(
        last["usage"]["output_tokens"].as_u64().unwrap() > 0,
        "{last}"
    );
    items
}

fn kinds(items: &[(String, String)]) -> Vec<&str> {
    items.iter().map(|(kind, _)| kind.as_str()).collect()
}

/// One prompt: two calls of the model.
pub(crate) async fn a_turn(scratch: &Sandbox, dev: &Dev, customer: &Customer, model: &str) {
    let input = json!({"cmd": "cat note.txt"});
    let prompt = format!("Read the note. [[call:exec_command {input}]]");
    let reply = run(&mut codex(scratch, dev, customer, model, &[&prompt])).await;
    let items = items(&reply);
    assert_eq!(kinds(&items), ["command", "message"], "{items:#?}");
    assert!(items[0].1.contains(&scratch.word), "{items:#?}");
    assert!(items[1].1.starts_with("Hello! This"), "{items:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codex_runs_commands_and_goes_on_whatever_the_upstream_speaks() {
    let dev = Dev::start().await;
    let customer = Customer::of(&dev);
    for upstream in upstreams::ALL {
        let scratch = Sandbox::new();
        let prompt = format!(
            "Read the note. [[call:exec_command {}]] [[call:exec_command {}]]",
            json!({"cmd": "cat note.txt"}),
            json!({"cmd": "wc -l < note.txt"}),
        );
        let first = codex(&scratch, &dev, &customer, upstream.model, &[&prompt]);
        let reply = run(&mut { first }).await;
        let items = items(&reply);
        assert_eq!(
            kinds(&items),
            ["command", "command", "message"],
            "{items:#?}"
        );
        let mut printed: Vec<&str> = items[..2].iter().map(|(_, text)| text.trim()).collect();
        printed.sort_unstable();
        let note = format!("the word is {}", scratch.word);
        assert_eq!(printed, ["1", note.as_str()]);
        assert!(items[2].1.starts_with("Hello! This"), "{items:#?}");

        continued(&scratch, &dev, &customer, upstream.model).await;
        assert_served(&dev, &customer, upstream, 4).await;
    }
    dev.end().await;
}

// covers: D-4-25
/// It says so when it falls back to `POST`, and `items` would not take that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codex_runs_commands_over_a_websocket_at_an_upstream_of_claudes_format() {
    let dev = Dev::start().await;
    let customer = Customer::of(&dev);
    let scratch = Sandbox::new();
    let websocket = "supports_websockets = true";
    for (number, words) in [vec![], vec!["resume", "--last"]].into_iter().enumerate() {
        let input = json!({"cmd": format!("cat note.txt > {MADE} && cat {MADE}")});
        let prompt = format!("Copy the note. [[call:exec_command {input}]]");
        let words: Vec<&str> = words.into_iter().chain([prompt.as_str()]).collect();
        let model = upstreams::CLAUDE.model;
        let mut command = codex_with(&scratch, &dev, &customer, model, &words, websocket);
        let items = items(&run(&mut command).await);
        assert_eq!(kinds(&items), ["command", "message"], "{items:#?}");
        assert!(items[0].1.contains(&scratch.word), "{items:#?}");
        assert!(items[1].1.starts_with("Hello! This"), "{items:#?}");
        assert_served(&dev, &customer, upstreams::CLAUDE, (number + 1) * 2).await;
    }
    scratch.assert_made();
    dev.end().await;
}

/// Answers of the model that call a tool, before the last one.
const STEPS: usize = 20;

/// It prints what went over the line in both ways.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codex_loops_over_twenty_tool_calls_by_websocket_with_less_to_send_than_by_post() {
    let dev = Dev::start().await;
    let customer = Customer::of(&dev);
    let mut traffic = Vec::new();
    for (number, provider) in ["", "supports_websockets = true"].into_iter().enumerate() {
        let scratch = Sandbox::new();
        let line = CountedLine::to(&dev.api()).await;
        let input = json!({"cmd": "cat note.txt"});
        let prompt = format!("Read the note. [[steps:{STEPS}]] [[call:exec_command {input}]]");
        let (model, words) = (upstreams::CLAUDE.model, [prompt.as_str()]);
        let mut command = codex_at(&scratch, &line.base_url, &customer, model, &words, provider);
        let items = items(&run(&mut command).await);
        let commands = items.iter().filter(|(kind, _)| kind == "command");
        assert_eq!(commands.count(), STEPS, "{items:#?}");
        assert!(items.iter().any(|(_, text)| text.contains(&scratch.word)));
        assert_served(
            &dev,
            &customer,
            upstreams::CLAUDE,
            (number + 1) * (STEPS + 1),
        )
        .await;
        traffic.push(line.traffic());
    }
    let [post, websocket] = traffic.as_slice() else {
        panic!("{traffic:?}");
    };
    println!("codex, {STEPS} tool calls, POST with SSE: {post:?}");
    println!("codex, {STEPS} tool calls, WebSocket:     {websocket:?}");
    assert!(
        websocket.bytes_sent * 2 < post.bytes_sent,
        "{websocket:?} {post:?}"
    );
    assert_eq!((websocket.connections, post.connections), (1, STEPS + 1));
    // The upgrade, and what Codex sends ahead of the first turn.
    assert!(
        websocket.round_trips <= post.round_trips + 2,
        "{websocket:?} {post:?}"
    );
    dev.end().await;
}

/// A second prompt in the same session: the model gets everything back that it said.
async fn continued(scratch: &Sandbox, dev: &Dev, customer: &Customer, model: &str) {
    let input = json!({"cmd": format!("cat note.txt > {MADE}")});
    let prompt = format!("Now copy it. [[call:exec_command {input}]]");
    let words = ["resume", "--last", &prompt];
    let reply = run(&mut codex(scratch, dev, customer, model, &words)).await;
    let items = items(&reply);
    assert_eq!(kinds(&items), ["command", "message"], "{items:#?}");
    assert!(items[1].1.starts_with("Hello! This"), "{items:#?}");
    scratch.assert_made();
}
