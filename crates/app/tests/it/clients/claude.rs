//! Claude Code, Anthropic's agent for the terminal: `POST /v1/messages?beta=true`, always streamed.

use serde_json::{Value, json};
use tokio::process::Command;

use crate::clients::ledger_rows::{Customer, assert_served};
use crate::clients::sandbox::{MADE, ProgramOutput, Sandbox, run};
use crate::clients::upstreams;
use crate::dev::Dev;

fn claude(scratch: &Sandbox, dev: &Dev, customer: &Customer, model: &str) -> Command {
    claude_with(scratch, dev, customer, model, "Read,Bash")
}

/// With the tools that it may use without asking.
pub(crate) fn claude_with(
    scratch: &Sandbox,
    dev: &Dev,
    customer: &Customer,
    model: &str,
    tools: &str,
) -> Command {
    let mut command = scratch.command("claude");
    let base_url = dev.text("base_url");
    command
        .args(["--output-format", "stream-json", "--verbose"])
        .arg(format!("--allowedTools={tools}"))
        .env("ANTHROPIC_BASE_URL", base_url)
        .env("ANTHROPIC_AUTH_TOKEN", &customer.key)
        .env("ANTHROPIC_MODEL", model)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_TELEMETRY", "1")
        .env("DISABLE_ERROR_REPORTING", "1")
        .env("DISABLE_AUTOUPDATER", "1");
    command
}

/// The blocks of a session in their order, but for thinking: what kind each is, and what is in it.
fn blocks(events: &[Value]) -> Vec<(String, Value)> {
    let mut blocks = Vec::new();
    for event in events {
        let Some(list) = event["message"]["content"].as_array() else {
            continue;
        };
        for block in list {
            let kind = block["type"].as_str().unwrap();
            match kind {
                "thinking" => {}
                "tool_use" => {
                    let name = block["name"].as_str().unwrap();
                    blocks.push((format!("call {name}"), block["input"].clone()));
                }
                "tool_result" => blocks.push(("result".to_owned(), block["content"].clone())),
                other => blocks.push((other.to_owned(), block["text"].clone())),
            }
        }
    }
    blocks
}

fn kinds(blocks: &[(String, Value)]) -> Vec<&str> {
    blocks.iter().map(|(kind, _)| kind.as_str()).collect()
}

/// The last event, of a session that ended well.
fn result(reply: &ProgramOutput, turns: u64) -> Value {
    let events = reply.events();
    let result = events.last().unwrap().clone();
    assert_eq!(result["type"], "result", "{result}");
    assert_eq!(result["subtype"], "success", "{result}");
    assert_eq!(result["is_error"], false, "{result}");
    assert_eq!(result["stop_reason"], "end_turn", "{result}");
    assert_eq!(result["num_turns"], turns, "{result}");
    assert_eq!(result["permission_denials"], json!([]), "{result}");
    assert!(
        result["usage"]["output_tokens"].as_u64().unwrap() > 0,
        "{result}"
    );
    result
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claude_code_reads_runs_and_goes_on_whatever_the_upstream_speaks() {
    let dev = Dev::start().await;
    let customer = Customer::of(&dev);
    for upstream in upstreams::ALL {
        let scratch = Sandbox::new();
        let note = scratch.note();
        let prompt = format!(
            "Read the note. [[call:Read {}]] [[call:Bash {}]]",
            json!({"file_path": note}),
            json!({"command": "wc -l < note.txt", "description": "Count lines"}),
        );
        let mut command = claude(&scratch, &dev, &customer, upstream.model);
        let reply = run(command.args(["-p", &prompt])).await;
        let blocks = blocks(&reply.events());
        // Results come back in the order of the calls; both calls are one answer of the model.
        let read = blocks.iter().position(|(kind, _)| kind == "call Read");
        let ran = blocks.iter().position(|(kind, _)| kind == "call Bash");
        assert!(read < ran && read.is_some(), "{blocks:#?}");
        let results: Vec<&Value> = blocks
            .iter()
            .filter(|(kind, _)| kind == "result")
            .map(|(_, content)| content)
            .collect();
        assert_eq!(results.len(), 2, "{blocks:#?}");
        assert!(
            results[0].to_string().contains(&scratch.word),
            "{blocks:#?}"
        );
        assert_eq!(results[1], "1", "{blocks:#?}");
        let (kind, text) = blocks.last().unwrap();
        assert_eq!(kind, "text", "{blocks:#?}");
        assert!(text.as_str().unwrap().starts_with("Hello! This"), "{text}");
        let ended = result(&reply, 3);
        assert_eq!(
            ended["result"].as_str().map(str::trim),
            text.as_str().map(str::trim)
        );

        continued(&scratch, claude(&scratch, &dev, &customer, upstream.model)).await;
        assert_served(&dev, &customer, upstream, 4).await;
    }
    dev.end().await;
}

/// A second prompt in the same session: the model gets everything back that it said.
async fn continued(scratch: &Sandbox, mut command: Command) {
    let input = json!({"command": format!("cat note.txt > {MADE}"), "description": "Copy"});
    let prompt = format!("Now copy it. [[call:Bash {input}]]");
    let reply = run(command.args(["--continue", "-p", &prompt])).await;
    let mut blocks = blocks(&reply.events());
    // A seal of Gemini's on a call comes behind it, as a thought that no client can read.
    blocks.retain(|(kind, _)| kind != "redacted_thinking");
    assert_eq!(
        kinds(&blocks),
        ["call Bash", "result", "text"],
        "{blocks:#?}"
    );
    assert_eq!(blocks[0].1, input);
    let text = blocks[2].1.as_str().unwrap();
    assert!(text.starts_with("Hello! This"), "{blocks:#?}");
    result(&reply, 2);
    scratch.assert_made();
}

/// One prompt: two calls of the model.
pub(crate) async fn a_turn(scratch: &Sandbox, dev: &Dev, customer: &Customer, model: &str) {
    let input = json!({"file_path": scratch.note()});
    let prompt = format!("Read the note. [[call:Read {input}]]");
    let mut command = claude(scratch, dev, customer, model);
    let reply = run(command.args(["-p", &prompt])).await;
    let blocks = blocks(&reply.events());
    assert_eq!(
        kinds(&blocks),
        ["call Read", "result", "text"],
        "{blocks:#?}"
    );
    assert!(
        blocks[1].1.to_string().contains(&scratch.word),
        "{blocks:#?}"
    );
    result(&reply, 2);
}
