//! Limits of a request: which counters it takes a part of, and what it is told when one is used up. After
//! the caller is known and the request is read, before any money moves.

use std::sync::Arc;

use trunkline_limits::{
    CounterCost, CounterGroup, CounterKey, CounterKind as Counted, LimitExceeded, ScopeId,
};
use trunkline_store::limits::{Rates, Scope};
use trunkline_types::Defect;

use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::limit_headers::{RateLimitHeaders, seconds};
use crate::limit_rules::positive;
use crate::request_context::RequestContext;
use crate::state::EdgeState;

/// Whose counters a request's are.
const ACCOUNT: &str = "account";
const KEY: &str = "key";
const POLLS: &str = "polls";
const READS: &str = "reads";

/// What a request asks for, for its limits.
#[derive(Debug, Clone, Copy)]
pub enum Cost<'a> {
    /// A call to a model: how many tokens it brings, where it is billed by them.
    Model(&'a str, Option<u64>),
    /// A page of social data from a platform.
    Platform(&'a str),
    /// How far a task is.
    Poll,
    /// Anything else that costs nothing.
    Read,
}

/// Takes a request's part of every limit that it is under. It holds its place among calls at once as
/// long as its context lives.
pub async fn check(
    edge: &EdgeState,
    context: &RequestContext,
    caller: &Caller,
    load: Cost<'_>,
) -> Result<(), ApiError> {
    let tag = CounterGroup::new(ACCOUNT, caller.account.id.number());
    let costs = limit_costs(edge, caller, load);
    match edge.limits.take(tag, costs).await {
        Ok(grant) => {
            context.limited(RateLimitHeaders::of(grant.states()), Some(grant));
            Ok(())
        }
        Err(refused) => {
            let standings = refused.costs.iter().zip(&refused.states);
            context.limited(RateLimitHeaders::of(standings), None);
            Err(over(&refused, caller))
        }
    }
}

fn limit_costs(edge: &EdgeState, caller: &Caller, load: Cost<'_>) -> Vec<CounterCost> {
    let mut wants = Wants(Vec::with_capacity(8));
    let defaults = &edge.settings.limits;
    let above = edge.key_table.above(&caller.key);
    // A key takes of its own limits and of those of every key above it, so that making keys makes
    // no limits.
    let own = (caller.key.id, Arc::clone(&caller.key.policy));
    for (key, policy) in std::iter::once(&own).chain(&above) {
        if Defect::SkippedLimit.is_on() {
            break;
        }
        let which = ScopeId::Number(key.number());
        let fields = policy.fields();
        match load {
            Cost::Poll => wants.add(
                POLLS,
                &which,
                Counted::Requests,
                defaults.polls_per_minute,
                1,
            ),
            Cost::Read => wants.add(
                READS,
                &which,
                Counted::Requests,
                defaults.reads_per_minute,
                1,
            ),
            Cost::Model(..) | Cost::Platform(_) => {
                let of = |limit: Option<i64>, usual| limit.and_then(positive).or(usual);
                let most = Limits {
                    requests: of(
                        fields.requests_per_minute,
                        Some(defaults.requests_per_minute),
                    ),
                    tokens: of(fields.tokens_per_minute, None),
                    at_once: of(fields.concurrent_calls, Some(defaults.concurrent_calls)),
                };
                wants.add_all(KEY, &which, &most, load.tokens());
            }
        }
    }
    let (scope, name) = match load {
        Cost::Poll | Cost::Read => return wants.0,
        Cost::Model(name, _) => (Scope::Model, name),
        Cost::Platform(name) => (Scope::Platform, name),
    };
    let account = caller.account.id;
    let rates = Limits::of(&caller.account.rates);
    wants.add_all(
        ACCOUNT,
        &ScopeId::Number(account.number()),
        &rates,
        load.tokens(),
    );
    if let Some((name, rates)) = edge.limit_rules.load_full().of(account, scope, name) {
        let which = ScopeId::Text(name);
        wants.add_all(scope.as_str(), &which, &Limits::of(&rates), load.tokens());
    }
    wants.0
}

// === impl Cost ===

impl Cost<'_> {
    /// A request that costs nothing. A client that waits for a task polls often, and has a limit of its own
    /// for that.
    pub const fn question(of_tasks: bool) -> Self {
        if of_tasks { Self::Poll } else { Self::Read }
    }

    const fn tokens(self) -> Option<u64> {
        match self {
            Self::Model(_, tokens) => tokens,
            Self::Platform(_) | Self::Poll | Self::Read => None,
        }
    }
}

struct Limits {
    requests: Option<u64>,
    tokens: Option<u64>,
    at_once: Option<u64>,
}

impl Limits {
    fn of(rates: &Rates) -> Self {
        Self {
            requests: rates.requests_per_minute.and_then(positive),
            tokens: rates.tokens_per_minute.and_then(positive),
            at_once: rates.concurrent_calls.and_then(positive),
        }
    }
}

struct Wants(Vec<CounterCost>);

impl Wants {
    fn add_all(
        &mut self,
        scope: &'static str,
        which: &ScopeId,
        most: &Limits,
        tokens: Option<u64>,
    ) {
        if let Some(limit) = most.requests {
            self.add(scope, which, Counted::Requests, limit, 1);
        }
        if let (Some(limit), Some(tokens)) = (most.tokens, tokens) {
            self.add(scope, which, Counted::Tokens, limit, tokens);
        }
        if let Some(limit) = most.at_once {
            self.add(scope, which, Counted::Concurrent, limit, 1);
        }
    }

    fn add(
        &mut self,
        scope: &'static str,
        which: &ScopeId,
        kind: Counted,
        limit: u64,
        amount: u64,
    ) {
        let which = which.clone();
        let name = CounterKey {
            scope,
            id: which,
            kind,
        };
        self.0.push(CounterCost {
            key: name,
            limit,
            amount,
        });
    }
}

/// The limit that is used up, by name.
fn over(refused: &LimitExceeded, caller: &Caller) -> ApiError {
    let wait = seconds(refused.retry_after);
    let text = match refused.costs.get(refused.index) {
        Some(want) => {
            let who = who(&want.key, caller);
            let limit = want.limit;
            let what = match (want.key.kind, want.key.scope) {
                (Counted::Requests, POLLS) => format!("may fetch tasks {limit} times a minute"),
                (Counted::Requests, READS) => format!("may send {limit} read requests a minute"),
                (Counted::Requests, _) => format!("may send {limit} requests a minute"),
                (Counted::Tokens, _) => format!("may use {limit} tokens a minute"),
                (Counted::Concurrent, _) => format!("may have {limit} concurrent calls"),
            };
            format!("{who} {what}; retry in {wait} s; nothing was charged")
        }
        None => format!("a rate limit is used up; retry in {wait} s; nothing was charged"),
    };
    let mut error = ApiError::new(ErrorCode::RateLimited, text);
    error.retry_after = Some(wait);
    error
}

fn who(name: &CounterKey, caller: &Caller) -> String {
    match (name.scope, &name.id) {
        (ACCOUNT, _) => "this account".to_owned(),
        (scope, ScopeId::Text(text)) => {
            let text: &Arc<str> = text;
            format!("this account with {scope} {:?}", text.as_ref())
        }
        (_, ScopeId::Number(number)) if *number == caller.key.id.number() => {
            "this API key".to_owned()
        }
        (_, ScopeId::Number(_)) => "a parent of this API key".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_wait_is_told_in_whole_seconds_and_never_too_short() {
        for (millis, expected) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (59_999, 60)] {
            assert_eq!(
                seconds(Duration::from_millis(millis)),
                expected,
                "{millis} ms"
            );
        }
    }
}
