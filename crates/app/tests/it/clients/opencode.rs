//! opencode, an agent for the terminal that speaks chat completions to gateways.

use serde_json::{Value, json};
use tokio::process::Command;

use crate::clients::ledger_rows::{Customer, assert_served};
use crate::clients::sandbox::{MADE, ProgramOutput, Sandbox, run};
use crate::clients::upstreams;
use crate::dev::Dev;

fn opencode(scratch: &Sandbox, dev: &Dev, customer: &Customer, model: &str) -> Command {
    opencode_with(scratch, dev, customer, model, &json!({}))
}

/// With MCP servers.
pub(crate) fn opencode_with(
    scratch: &Sandbox,
    dev: &Dev,
    customer: &Customer,
    model: &str,
    servers: &Value,
) -> Command {
    let mut models = serde_json::Map::new();
    let limit = json!({"context": 128_000, "output": 16_384});
    models.insert(model.to_owned(), json!({"name": model, "limit": limit}));
    let settings = json!({
        "autoupdate": false,
        "mcp": servers,
        "share": "disabled",
        "model": format!("trunkline/{model}"),
        "provider": {"trunkline": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Trunkline",
            "options": {"baseURL": dev.api(), "apiKey": "{env:TRUNKLINE_KEY}"},
            "models": models,
        }},
    });
    scratch.settings(".config/opencode/opencode.json", &settings.to_string());
    let mut command = scratch.command("opencode");
    command
        .args(["run", "--format", "json"])
        .env("TRUNKLINE_KEY", &customer.key)
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        // A list of all the world's models, which it would fetch from its maker.
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1");
    command
}

/// It puts quotes around a word with a space in it, so a prompt comes word by word.
pub(crate) fn asking<'a>(command: &'a mut Command, prompt: &str) -> &'a mut Command {
    command.arg("--").args(prompt.split(' '))
}

/// What was done and said, in its order.
fn steps(reply: &ProgramOutput) -> Vec<(String, Value)> {
    let mut steps = Vec::new();
    for event in reply.events() {
        let part = &event["part"];
        match event["type"].as_str().unwrap() {
            "tool_use" => {
                assert_eq!(part["state"]["status"], "completed", "{event}");
                let name = part["tool"].as_str().unwrap();
                steps.push((format!("call {name}"), part["state"]["output"].clone()));
            }
            "text" => steps.push(("text".to_owned(), part["text"].clone())),
            "step_finish" => {
                for name in ["input", "output"] {
                    assert!(part["tokens"][name].as_u64().unwrap() > 0, "{event}");
                }
                steps.push((
                    format!("end {}", part["reason"].as_str().unwrap()),
                    Value::Null,
                ));
            }
            "step_start" | "reasoning" => {}
            other => panic!("{other}: {event}"),
        }
    }
    steps
}

fn kinds(steps: &[(String, Value)]) -> Vec<&str> {
    steps.iter().map(|(kind, _)| kind.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opencode_reads_runs_and_goes_on_whatever_the_upstream_speaks() {
    let dev = Dev::start().await;
    let customer = Customer::of(&dev);
    for upstream in upstreams::ALL {
        let scratch = Sandbox::new();
        let prompt = format!(
            "Read the note. [[call:read {}]] [[call:bash {}]]",
            json!({"filePath": scratch.note()}),
            json!({"command": "wc -l < note.txt", "description": "count"}),
        );
        let mut command = opencode(&scratch, &dev, &customer, upstream.model);
        let steps = steps(&run(asking(&mut command, &prompt)).await);
        let (calls, rest) = steps.split_at(2);
        let mut names = kinds(calls);
        names.sort_unstable();
        assert_eq!(names, ["call bash", "call read"], "{steps:#?}");
        assert_eq!(
            kinds(rest),
            ["end tool-calls", "text", "end stop"],
            "{steps:#?}"
        );
        let printed: String = calls.iter().map(|(_, output)| output.to_string()).collect();
        assert!(printed.contains(&scratch.word), "{steps:#?}");
        assert!(
            rest[1].1.as_str().unwrap().starts_with("Hello! This"),
            "{steps:#?}"
        );

        // Two calls, and one for the title of the session. Going on is tried once: it starts slowly.
        let mut calls = 3;
        if upstream.model == upstreams::CHAT.model {
            let command = opencode(&scratch, &dev, &customer, upstream.model);
            continued(&scratch, command).await;
            calls += 2;
        }
        assert_served(&dev, &customer, upstream, calls).await;
    }
    dev.end().await;
}

/// A second prompt in the same session: the model gets everything back that it said.
async fn continued(scratch: &Sandbox, mut command: Command) {
    let input = json!({"command": format!("cat note.txt | tee {MADE}"), "description": "copy"});
    let prompt = format!("Now copy it. [[call:bash {input}]]");
    let steps = steps(&run(asking(command.arg("--continue"), &prompt)).await);
    let expected = ["call bash", "end tool-calls", "text", "end stop"];
    assert_eq!(kinds(&steps), expected, "{steps:#?}");
    let text = steps[2].1.as_str().unwrap();
    assert!(text.starts_with("Hello! This"), "{steps:#?}");
    scratch.assert_made();
}
