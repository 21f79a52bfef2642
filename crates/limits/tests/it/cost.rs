//! What a look at a call's limits costs.

use std::time::Duration;

use tokio::time::Instant;
use trunkline_limits::{CounterCost, CounterGroup, CounterKey, CounterKind, Limits, ScopeId};

/// Looks of one round, and rounds: the fastest is the undisturbed one.
const LOOKS: u32 = 200;
const ROUNDS: u32 = 100;

#[tokio::test]
async fn a_call_with_six_limits_is_looked_at_in_microseconds() {
    let limits = Limits::local();
    let model: std::sync::Arc<str> = "sim-fast".into();
    let want = |scope, which, kind| CounterCost {
        key: CounterKey {
            scope,
            id: which,
            kind,
        },
        limit: 1_000_000_000,
        amount: 1,
    };
    let wants = || {
        vec![
            want("key", ScopeId::Number(1), CounterKind::Requests),
            want("key", ScopeId::Number(1), CounterKind::Tokens),
            want("key", ScopeId::Number(1), CounterKind::Concurrent),
            want("account", ScopeId::Number(7), CounterKind::Requests),
            want("account", ScopeId::Number(7), CounterKind::Concurrent),
            want("model", ScopeId::Text(model.clone()), CounterKind::Requests),
        ]
    };
    let mut fastest = Duration::MAX;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for _ in 0..LOOKS {
            let mut grant = limits
                .take(CounterGroup::new("account", 7), wants())
                .await
                .unwrap();
            grant.used(5);
        }
        fastest = fastest.min(began.elapsed() / LOOKS);
    }
    println!(
        "{} ns for six limits, taken and given back",
        fastest.as_nanos()
    );
    // Unoptimised; optimised it is far less.
    assert!(fastest < Duration::from_micros(200), "{fastest:?}");
}
