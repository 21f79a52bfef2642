//! Gemini CLI, Google's agent for the terminal: `POST /v1beta/models/MODEL:streamGenerateContent`.

use serde_json::{Value, json};
use tokio::process::Command;

use crate::clients::ledger_rows::{Customer, assert_served};
use crate::clients::sandbox::{MADE, ProgramOutput, Sandbox, run};
use crate::clients::upstreams::{self, Upstream};
use crate::dev::Dev;

const SETTINGS: &str = r#"{
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "general": {"enableAutoUpdate": false},
  "privacy": {"usageStatisticsEnabled": false}
}"#;

fn gemini(scratch: &Sandbox, dev: &Dev, customer: &Customer, model: &str) -> Command {
    scratch.settings(".gemini/settings.json", SETTINGS);
    let base_url = dev.text("base_url");
    let mut command = scratch.command("gemini");
    command
        .args(["-m", model, "--yolo", "--skip-trust"])
        .args(["--output-format", "stream-json"])
        .env("GOOGLE_GEMINI_BASE_URL", base_url)
        .env("GEMINI_API_KEY", &customer.key);
    command
}

/// What was done and said, in its order: calls, what came of them, and the message in one piece.
fn steps(reply: &ProgramOutput) -> Vec<(String, Value)> {
    let mut steps: Vec<(String, Value)> = Vec::new();
    for event in reply.events() {
        match event["type"].as_str().unwrap() {
            "tool_use" => {
                let name = event["tool_name"].as_str().unwrap();
                steps.push((format!("call {name}"), event["parameters"].clone()));
            }
            "tool_result" => {
                assert_eq!(event["status"], "success", "{event}");
                steps.push(("result".to_owned(), event["output"].clone()));
            }
            "message" if event["role"] == "assistant" => {
                let piece = event["content"].as_str().unwrap();
                match steps.last_mut() {
                    Some((kind, text)) if kind == "text" => {
                        *text = json!(format!("{}{piece}", text.as_str().unwrap()));
                    }
                    Some(_) | None => steps.push(("text".to_owned(), json!(piece))),
                }
            }
            "result" => {
                assert_eq!(event["status"], "success", "{event}");
                for name in ["input_tokens", "output_tokens"] {
                    assert!(event["stats"][name].as_u64().unwrap() > 0, "{event}");
                }
            }
            _ => {}
        }
    }
    steps
}

fn kinds(steps: &[(String, Value)]) -> Vec<&str> {
    steps.iter().map(|(kind, _)| kind.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gemini_cli_reads_runs_and_answers() {
    let dev = Dev::start().await;
    let customer = Customer::of(&dev);
    // What Responses waits for is in docs/dev/clients.md, "Not yet".
    let upstreams = [upstreams::GEMINI, upstreams::CHAT, upstreams::CLAUDE];
    for upstream in upstreams.map(Upstream::for_gemini) {
        let scratch = Sandbox::new();
        let shell = json!({"command": format!("cat note.txt | tee {MADE}")});
        let prompt = format!(
            "Read the note. [[call:read_file {}]] [[call:run_shell_command {shell}]]",
            json!({"file_path": "note.txt"}),
        );
        let mut command = gemini(&scratch, &dev, &customer, upstream.model);
        let reply = run(command.args(["-p", &prompt])).await;
        let steps = steps(&reply);
        let calls = ["call read_file", "call run_shell_command"];
        assert_eq!(kinds(&steps)[..2], calls, "{steps:#?}");
        assert_eq!(
            kinds(&steps)[2..],
            ["result", "result", "text"],
            "{steps:#?}"
        );
        assert_eq!(steps[1].1["command"], shell["command"]);
        let printed = [&steps[2].1, &steps[3].1].map(Value::to_string).concat();
        assert!(printed.contains(&scratch.word), "{steps:#?}");
        let text = steps[4].1.as_str().unwrap();
        assert!(text.starts_with("Hello! This"), "{steps:#?}");
        scratch.assert_made();
        assert_served(&dev, &customer, upstream, 2).await;
    }
    dev.end().await;
}
