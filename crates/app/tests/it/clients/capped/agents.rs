//! Agents that are started again and again under `trunkline run` until their budget stops them. `just capped-agents`
//! lets each of them do so more often.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{capped, customer, customer_with, listed, receipt, usd};
use crate::clients::ledger_rows::{Customer, nanos};
use crate::clients::sandbox::{ProgramOutput, Sandbox, attempt, installed};
use crate::dev::{Dev, audit};
use crate::faults::number;

const LOOPS: &str = "TRUNKLINE_CAPPED_LOOPS";
const SHORT_LOOPS: u64 = 2;
/// Of each agent, for all its loops.
const WALLET: &str = "50";
/// Starts of an agent in one loop. One that was not stopped after so many never is.
const MAX_STARTS: u32 = 40;
const NOT_STOPPED: u8 = 99;
const GEMINI_LOGIN: &str = r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}}"#;
/// A long answer, so that a budget is used up within a few calls.
const PROMPT: &str = "Hello. [[tokens:6000]]";
/// It asks for a title of its session as well.
const OPENCODE_PROMPT: &str = "Hello. [[tokens:1500]]";
const FIRST_RUN_WITHIN: Duration = Duration::from_secs(60);

/// An agent, and a budget that its first call fits into.
struct Agent {
    name: &'static str,
    model: &'static str,
    budget: &'static str,
    arguments: &'static [&'static str],
}

const CLAUDE: Agent = Agent {
    name: "claude",
    model: "claude-sonnet-5",
    budget: "0.15",
    arguments: &["-p", PROMPT],
};

const AGENTS: [Agent; 4] = [
    CLAUDE,
    Agent {
        name: "codex",
        model: "gpt-5-mini",
        budget: "0.02",
        arguments: &[
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            PROMPT,
        ],
    },
    Agent {
        name: "gemini",
        model: "gemini-2.5-pro",
        budget: "0.03",
        arguments: &[
            "-m",
            "gemini-2.5-pro",
            "--yolo",
            "--skip-trust",
            "-p",
            PROMPT,
        ],
    },
    Agent {
        name: "opencode",
        model: "claude-sonnet-5",
        budget: "0.05",
        arguments: &["run", "--", OPENCODE_PROMPT],
    },
];

/// A program of the agent's name that starts the agent until it fails.
fn runaway(scratch: &Sandbox, agent: &Agent) -> String {
    let program = installed("bin").join(agent.name);
    let text = format!(
        "#!/bin/sh\nfor start in $(seq {MAX_STARTS}); do {} \"$@\" || exit 0; done; exit {NOT_STOPPED}\n",
        program.display()
    );
    let folder = scratch.home().join("loop");
    std::fs::create_dir_all(&folder).unwrap();
    let script = folder.join(agent.name);
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script.display().to_string()
}

/// The wrapped agent's output, in a home of its own.
async fn run_away(dev: &Dev, customer: &Customer, agent: &Agent) -> ProgramOutput {
    let scratch = Sandbox::new();
    // The kind of login, which Gemini CLI takes from its own file alone.
    scratch.settings(".gemini/settings.json", GEMINI_LOGIN);
    let program = runaway(&scratch, agent);
    let words = ["--budget", agent.budget, "--model", agent.model, "--"];
    let words = [words.as_slice(), &[&program], agent.arguments].concat();
    attempt(&mut capped(&scratch, dev, customer, &words)).await
}

/// The budget ended it, and nothing else: a stream was cut at its end, or the next call was refused.
fn was_stopped_by_its_budget(reply: &ProgramOutput, receipt: &Value) -> bool {
    let mut lines = receipt["lines"].as_array().unwrap().iter();
    let refused = |text: &str| text.contains("402") || text.contains("a budget leaves");
    lines.any(|line| line["outcome"] == "balance_exhausted")
        || refused(&reply.output)
        || refused(&reply.stderr)
}

/// One loop: calls that were charged, and what they cost.
async fn assert_one_loop(dev: &Dev, customer: &Customer, agent: &Agent) -> (u64, i128) {
    let name = agent.name;
    let before = customer.left(dev).await;
    let reply = run_away(dev, customer, agent).await;
    assert!(reply.succeeded, "{name}: {reply:?}");
    let receipt = receipt(&reply);
    let spent = usd(&receipt["spent_usd"]);
    // The receipt adds up, and the wallet says the same.
    assert_eq!(listed(&receipt), spent, "{name}: {receipt:#}");
    assert_eq!(
        before - customer.left(dev).await,
        spent,
        "{name}: {receipt:#}"
    );
    assert!(
        0 < spent && spent <= nanos(agent.budget),
        "{name}: {receipt:#}"
    );
    assert!(
        was_stopped_by_its_budget(&reply, &receipt),
        "{name}: {reply:?}"
    );
    let keys = customer.get(&dev.api(), "/keys").await;
    assert_eq!(keys["data"], json!([]), "{name}: a key is left: {keys:#}");
    (receipt["calls"].as_u64().unwrap(), spent)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_agents_that_never_stop_spend_no_more_than_their_budgets_and_get_receipts() {
    let dev = Dev::start().await;
    let loops = number(LOOPS, SHORT_LOOPS);
    let mut requests = 0;
    for agent in &AGENTS {
        let customer = customer_with(&dev, WALLET).await;
        let (mut calls, mut spent) = (0, 0);
        for _ in 0..loops {
            let (more_calls, more_spent) = assert_one_loop(&dev, &customer, agent).await;
            calls += more_calls;
            spent += more_spent;
        }
        assert_eq!(nanos(WALLET) - customer.left(&dev).await, spent);
        println!(
            "{}: {loops} loops, {calls} calls, {spent} nano-USD, none above {} USD",
            agent.name, agent.budget
        );
        requests += calls;
    }
    audit(&dev).await;
    dev.end().await;
    println!("figures: requests={requests}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_user_gets_the_receipt_of_a_capped_agent_within_a_minute() {
    // From the installed program: a gateway, a key, and an agent under a budget.
    let began = Instant::now();
    let dev = Dev::start().await;
    let scratch = Sandbox::new();
    let customer = customer(&dev).await;
    let words = ["--budget", "0.25", "--model", CLAUDE.model, "--", "claude"];
    let words = [words.as_slice(), &["-p", "Hello."]].concat();
    let reply = attempt(&mut capped(&scratch, &dev, &customer, &words)).await;
    let took = began.elapsed();
    assert!(reply.succeeded, "{reply:?}");
    assert!(usd(&receipt(&reply)["spent_usd"]) > 0, "{reply:?}");
    println!("the first capped run ended after {took:?}");
    assert!(took < FIRST_RUN_WITHIN, "{took:?}");
    dev.end().await;
}
