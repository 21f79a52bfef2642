//! What a caller is told about its limits, in the headers that the vendors' libraries read.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use trunkline_limits::{CounterCost, CounterKind as Counted, CounterState};
use trunkline_types::Timestamp;
use trunkline_wire::Format;

const SECONDS_PER_MINUTE: u64 = 60;

/// The tightest limit of each kind that a request was under.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RateLimitHeaders {
    requests: Option<CounterState>,
    tokens: Option<CounterState>,
}

impl RateLimitHeaders {
    pub(crate) fn of<'a>(
        standings: impl Iterator<Item = (&'a CounterCost, &'a CounterState)>,
    ) -> Self {
        let mut limits = Self::default();
        for (want, standing) in standings {
            let tightest = match want.key.kind {
                Counted::Requests => &mut limits.requests,
                Counted::Tokens => &mut limits.tokens,
                Counted::Concurrent => continue,
            };
            match tightest {
                Some(tightest) if tightest.remaining <= standing.remaining => {}
                Some(_) | None => *tightest = Some(*standing),
            }
        }
        limits
    }

    /// Writes them down: OpenAI's always, Anthropic's for its own format.
    pub(crate) fn write(&self, headers: &mut HeaderMap, format: Format, now: Timestamp) {
        if let Some(standing) = &self.requests {
            openai(headers, OPENAI_REQUESTS, standing);
        }
        if let Some(standing) = &self.tokens {
            openai(headers, OPENAI_TOKENS, standing);
        }
        match format {
            Format::ClaudeMessages => {
                if let Some(standing) = &self.requests {
                    anthropic(headers, ANTHROPIC_REQUESTS, standing, now);
                }
                if let Some(standing) = &self.tokens {
                    anthropic(headers, ANTHROPIC_TOKENS, standing, now);
                }
            }
            Format::OpenaiChat | Format::OpenaiResponses | Format::Gemini => {}
        }
    }
}

/// The names for a limit, for what is left of it and for when it begins anew.
type Names = [&'static str; 3];

const OPENAI_REQUESTS: Names = [
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
];
const OPENAI_TOKENS: Names = [
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-tokens",
];
const ANTHROPIC_REQUESTS: Names = [
    "anthropic-ratelimit-requests-limit",
    "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-requests-reset",
];
const ANTHROPIC_TOKENS: Names = [
    "anthropic-ratelimit-tokens-limit",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset",
];

fn openai(headers: &mut HeaderMap, [limit, remaining, reset]: Names, standing: &CounterState) {
    let header_name = HeaderName::from_static;
    headers.insert(header_name(limit), HeaderValue::from(standing.limit));
    headers.insert(
        header_name(remaining),
        HeaderValue::from(standing.remaining),
    );
    if let Ok(value) = HeaderValue::from_str(&duration(standing.resets_in)) {
        headers.insert(header_name(reset), value);
    }
}

fn anthropic(
    headers: &mut HeaderMap,
    [limit, remaining, reset]: Names,
    standing: &CounterState,
    now: Timestamp,
) {
    let header_name = HeaderName::from_static;
    headers.insert(header_name(limit), HeaderValue::from(standing.limit));
    headers.insert(
        header_name(remaining),
        HeaderValue::from(standing.remaining),
    );
    let wait = i64::try_from(seconds(standing.resets_in)).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_second(now.seconds().saturating_add(wait));
    let value = at.ok().map(|at| at.to_string());
    if let Some(value) = value.and_then(|text| HeaderValue::from_str(&text).ok()) {
        headers.insert(header_name(reset), value);
    }
}

/// As OpenAI writes it: `17s`, `1m0s`.
fn duration(time: Duration) -> String {
    let all = seconds(time);
    let minutes = all.checked_div(SECONDS_PER_MINUTE).unwrap_or(0);
    let rest = all.checked_rem(SECONDS_PER_MINUTE).unwrap_or(0);
    if minutes == 0 {
        return format!("{rest}s");
    }
    format!("{minutes}m{rest}s")
}

/// Whole seconds after which it can succeed.
pub fn seconds(wait: Duration) -> u64 {
    let more = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(more).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_the_libraries_read_them() {
        for (millis, text) in [
            (0, "1s"),
            (1_500, "2s"),
            (60_000, "1m0s"),
            (359_001, "6m0s"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
        let (mut headers, standing) = (HeaderMap::new(), CounterState::default());
        let now = Timestamp::from_micros(1_700_000_000_000_000);
        anthropic(&mut headers, ANTHROPIC_TOKENS, &standing, now);
        let reset = &headers["anthropic-ratelimit-tokens-reset"];
        assert_eq!(reset, "2023-11-14T22:13:21Z");
    }
}
