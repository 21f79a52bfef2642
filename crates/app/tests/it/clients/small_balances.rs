//! Agents with their own caps, on little money.

use crate::clients::ledger_rows::{Customer, nanos};
use crate::clients::sandbox::Sandbox;
use crate::clients::{claude, codex};
use crate::dev::{Dev, audit};

const WALLET: &str = "0.20";

/// Both calls of the turn were served, and what they cost is what is gone.
async fn assert_spent(dev: &Dev, customer: &Customer, model: &str) {
    let mut calls = customer.calls(dev).await;
    // An agent tries again without what an upstream refused; that was free.
    calls.retain(|call| call.outcome != "refused" || call.nanos != 0);
    assert_eq!(calls.len(), 2, "{calls:#?}");
    for call in &calls {
        assert_eq!(
            (call.model.as_str(), call.outcome.as_str()),
            (model, "complete")
        );
    }
    let spent: i128 = calls.iter().map(|call| call.nanos).sum();
    assert!(spent > 0);
    assert_eq!(customer.left(dev).await, nanos(WALLET) - spent);
    println!("{model}: {spent} nano-USD");
}

// covers: D-2-88
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claude_code_and_codex_work_with_their_default_caps_on_twenty_cents() {
    let dev = Dev::start().await;
    let scratch = Sandbox::new();
    // The second is what Claude Code takes if the caller names none: it asks for 128,000 tokens.
    for model in ["claude-sonnet-5", "claude-opus-5-5"] {
        let customer = Customer::with_usd(&dev, WALLET).await;
        claude::a_turn(&scratch, &dev, &customer, model).await;
        assert_spent(&dev, &customer, model).await;
    }
    for model in ["gpt-5-mini", "gpt-5.5"] {
        let customer = Customer::with_usd(&dev, WALLET).await;
        codex::a_turn(&scratch, &dev, &customer, model).await;
        assert_spent(&dev, &customer, model).await;
    }
    audit(&dev).await;
    dev.end().await;
}
