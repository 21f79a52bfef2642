//! The vendors' SDKs, and frameworks on top of them, in long conversations: several turns, parallel calls of tools, streams, pictures,
//! structured output, thinking that is sent back. The scripts are in `talks`; each looks at what came,
//! and finds what it cost in the books.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::clients::ledger_rows::Customer;
use crate::clients::sandbox::{attempt, installed, script};
use crate::clients::upstreams::{self, Upstream};
use crate::dev::{Dev, audit};

/// One conversation with every upstream. What fails is told once all had their turn, so that one look
/// shows which formats are concerned.
async fn talk(program: &Path, name: &str, upstreams: &[Upstream]) {
    let dev = Dev::start().await;
    let customer = Customer::of(&dev);
    let mut failed = Vec::new();
    for upstream in upstreams {
        let upstream = match name.starts_with("gemini") {
            true => upstream.for_gemini(),
            false => *upstream,
        };
        let mut command = Command::new(program);
        command
            .arg(script("talks").join(name))
            .env("BASE_URL", dev.api())
            .env("API_KEY", &customer.key)
            .env("CLIENT_MODEL", upstream.model)
            .env("CLIENT_THINKING_MODEL", upstream.thinking)
            .env("CLIENTS", modules(name))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("NO_PROXY", "*");
        let reply = attempt(&mut command).await;
        println!("{}", reply.output);
        if !reply.succeeded {
            failed.push(format!("{}\n{}", upstream.model, reply.stderr));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    audit(&dev).await;
    dev.end().await;
}

/// The folder whose packages a script of Node takes.
fn modules(name: &str) -> PathBuf {
    match name {
        "ai_sdk.mjs" => installed("../frameworks/node"),
        _ => installed("npm"),
    }
}

fn python() -> PathBuf {
    installed("../sdk/venv/bin/python")
}

fn node() -> PathBuf {
    installed("bin/node")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openai_for_python_talks_over_chat_completions() {
    talk(&python(), "openai_chat.py", &upstreams::ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openai_for_python_talks_over_responses() {
    talk(&python(), "openai_responses.py", &upstreams::ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anthropic_for_python_talks_over_messages() {
    talk(&python(), "anthropic_messages.py", &upstreams::ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn google_genai_for_python_talks_over_generate_content() {
    talk(&python(), "gemini_content.py", &upstreams::ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openai_for_node_talks_over_chat_completions() {
    talk(&node(), "openai_chat.mjs", &upstreams::ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openai_for_node_talks_over_responses() {
    talk(&node(), "openai_responses.mjs", &upstreams::ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anthropic_for_node_talks_over_messages() {
    talk(&node(), "anthropic_messages.mjs", &upstreams::ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn google_genai_for_node_talks_over_generate_content() {
    talk(&node(), "gemini_content.mjs", &upstreams::ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn langchain_talks_over_three_formats_and_as_an_agent() {
    let python = installed("../frameworks/venv/bin/python");
    talk(&python, "langchain_chains.py", &upstreams::ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ai_sdk_of_vercel_talks_over_three_formats_and_runs_tools() {
    talk(&node(), "ai_sdk.mjs", &upstreams::ALL).await;
}
