//! The head of a response: this vendor's headers around a script.

use http::HeaderMap;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::clock;
use crate::headers::set;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::VendorResponse;

use super::answer::Usage;

/// The limits that answers report. Only a fault enforces them, on demand.
const REQUEST_LIMIT: u64 = 4000;
const INPUT_LIMIT: u64 = 2_000_000;
const OUTPUT_LIMIT: u64 = 400_000;

pub(super) fn request_id(recorded: &RecordedRequest) -> String {
    recorded.id("req_")
}

/// Sends a script and leaves the record to it. Only answers of a model, and a refusal for a limit,
/// tell of limits.
pub(super) fn play(
    recorded: RecordedRequest,
    script: Script,
    usage: Option<Usage>,
) -> VendorResponse {
    let head = script.head;
    let id = request_id(&recorded);
    let now = clock::seconds(recorded.received_at_micros);
    let content_type = if head.is_event_stream {
        "text/event-stream; charset=utf-8"
    } else {
        "application/json"
    };
    let mut response = recorded.respond(script, content_type);
    let headers = response.headers_mut();
    if head.is_event_stream {
        set(headers, "cache-control", "no-cache");
    }
    set(headers, "request-id", &id);
    set(headers, "anthropic-organization-id", "org-simulator");
    let is_limited = head.status == 429;
    if usage.is_some() || is_limited {
        let used = usage.unwrap_or_default();
        set_limits(headers, used, is_limited, now, head.retry_after_secs);
    }
    response
}

fn set_limits(
    headers: &mut HeaderMap,
    used: Usage,
    is_limited: bool,
    now_secs: u64,
    retry_after_secs: Option<u32>,
) {
    let requests_left = if is_limited {
        0
    } else {
        REQUEST_LIMIT.saturating_sub(1)
    };
    let input_left = INPUT_LIMIT.saturating_sub(used.prompt());
    let output_left = OUTPUT_LIMIT.saturating_sub(used.output);
    let reset = moment(now_secs.saturating_add(retry_after_secs.unwrap_or(1).into()));
    for (limit, remaining, resets, most, left) in [
        (
            "anthropic-ratelimit-requests-limit",
            "anthropic-ratelimit-requests-remaining",
            "anthropic-ratelimit-requests-reset",
            REQUEST_LIMIT,
            requests_left,
        ),
        (
            "anthropic-ratelimit-input-tokens-limit",
            "anthropic-ratelimit-input-tokens-remaining",
            "anthropic-ratelimit-input-tokens-reset",
            INPUT_LIMIT,
            input_left,
        ),
        (
            "anthropic-ratelimit-output-tokens-limit",
            "anthropic-ratelimit-output-tokens-remaining",
            "anthropic-ratelimit-output-tokens-reset",
            OUTPUT_LIMIT,
            output_left,
        ),
        (
            "anthropic-ratelimit-tokens-limit",
            "anthropic-ratelimit-tokens-remaining",
            "anthropic-ratelimit-tokens-reset",
            INPUT_LIMIT.saturating_add(OUTPUT_LIMIT),
            input_left.saturating_add(output_left),
        ),
    ] {
        set(headers, limit, &most.to_string());
        set(headers, remaining, &left.to_string());
        set(headers, resets, &reset);
    }
}

/// A moment as RFC 3339 writes it.
fn moment(seconds: u64) -> String {
    let moment = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    // A clock beyond year 9999 would tell nothing.
    moment
        .and_then(|moment| moment.format(&Rfc3339).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_is_told_as_rfc_3339() {
        assert_eq!(moment(1_750_000_000), "2025-06-15T15:06:40Z");
    }
}
