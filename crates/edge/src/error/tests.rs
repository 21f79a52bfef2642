//! Every code is documented.

use super::*;

#[test]
fn every_code_is_explained_where_errors_point_to() {
    let page = include_str!("../../../../docs/guide/errors.md");
    let kinds = [
        ErrorCode::InvalidKey,
        ErrorCode::ExpiredKey,
        ErrorCode::RevokedKey,
        ErrorCode::AddressNotAllowed,
        ErrorCode::ModelNotAllowed,
        ErrorCode::EndpointNotAllowed,
        ErrorCode::NeverToppedUp,
        ErrorCode::SocialNoResult,
        ErrorCode::SocialCapacity,
        ErrorCode::SocialPaused,
        ErrorCode::Invalid("unknown_parameter"),
        ErrorCode::Invalid("missing_parameter"),
        ErrorCode::Invalid("repeated_parameter"),
        ErrorCode::Invalid("parameter_too_long"),
        ErrorCode::Invalid("invalid_parameter_type"),
        ErrorCode::Invalid("invalid_parameter_value"),
        ErrorCode::InsufficientBalance,
        ErrorCode::BudgetExceeded,
        ErrorCode::MaxCostExceeded,
        ErrorCode::PriceAboveLimit,
        ErrorCode::RouteNotAllowed,
        ErrorCode::GuardrailRefused,
        ErrorCode::GuardrailUnavailable,
        ErrorCode::ModelNotFound,
        ErrorCode::NotFound,
        ErrorCode::TaskNotFound,
        ErrorCode::LinkRefused,
        ErrorCode::NotCancellable,
        ErrorCode::ModelShutDown,
        ErrorCode::WorkflowNotRunnable,
        ErrorCode::ConfirmationRequired,
        ErrorCode::RunInProgress,
        ErrorCode::ChargeStateUnknown,
        ErrorCode::IdempotencyConflict,
        ErrorCode::IdempotencyInFlight,
        ErrorCode::IdempotencyTooLarge,
        ErrorCode::RateLimited,
        ErrorCode::MethodNotAllowed,
        ErrorCode::NoWebSocket,
        ErrorCode::Invalid("previous_response_not_found"),
        ErrorCode::Rule("translation_refused".to_owned()),
        ErrorCode::EndpointNotSupported,
        ErrorCode::Invalid("invalid_request"),
        ErrorCode::Invalid("reference_not_supported"),
        ErrorCode::TooLarge,
        ErrorCode::UnsupportedMedia,
        ErrorCode::SlowBody,
        ErrorCode::UpstreamRefused(StatusCode::BAD_REQUEST, None),
        ErrorCode::UpstreamRateLimited,
        ErrorCode::UpstreamFailed,
        ErrorCode::UpstreamTimeout,
        ErrorCode::NoRoute,
        ErrorCode::Overloaded,
        ErrorCode::Unavailable,
        ErrorCode::Draining,
    ];
    let of_videos = [
        "size_separator",
        "tier_unpriced",
        "clip_range",
        "ratio_required",
        "reference_count",
        "reference_required",
        "role_missing",
        "type_string",
        "unpriceable",
        "InvalidParameter.TaskTypeConstraint",
    ];
    let made = [
        "audio_unreadable",
        "format_unsupported",
        "size_unsupported",
        "timestamps_unsupported",
        "translation_unsupported",
    ];
    let rules = of_videos.into_iter().chain(made);
    let rules = rules.map(|code| ErrorCode::Rule(code.to_owned()));
    for kind in kinds.into_iter().chain(rules) {
        let code = kind.anchor().to_owned();
        let entry = entry(page, &code).unwrap_or_else(|| panic!("{code} has no entry"));
        // A vendor that refuses says its own status.
        if !matches!(kind, ErrorCode::UpstreamRefused(_, _)) {
            let status = format!("- **HTTP** {}\n", kind.status().as_u16());
            assert!(entry.contains(&status), "{code}: {entry}");
        }
        let retry = if kind.is_retryable() { "yes" } else { "no" };
        let retry = format!("- **Retry** {retry}");
        assert!(entry.contains(&retry), "{code}: {entry}");
        assert!(entry.contains("- **Charged** nothing"), "{code}: {entry}");
    }
}

/// What the page says of a code.
fn entry<'a>(page: &'a str, code: &str) -> Option<&'a str> {
    let (_, below) = page.split_once(&format!("\n### `{code}`\n"))?;
    below.split("\n#").next()
}

#[test]
fn every_entry_says_why_what_it_cost_what_to_do_and_whether_to_try_again() {
    let page = include_str!("../../../../docs/guide/errors.md");
    let codes: Vec<&str> = page.split("\n### `").skip(1).collect();
    assert!(codes.len() > 100, "{}", codes.len());
    for below in codes {
        let (code, _) = below.split_once('`').unwrap();
        let entry = entry(page, code).unwrap();
        let facts: Vec<&str> = entry.lines().filter(|line| !line.is_empty()).collect();
        let labels = ["HTTP", "Cause", "Charged", "Fix", "Retry"];
        assert_eq!(facts.len(), labels.len(), "{code}: {facts:#?}");
        for (fact, label) in facts.iter().zip(labels) {
            let value = fact.strip_prefix(&format!("- **{label}** "));
            assert!(value.is_some_and(|value| value.len() > 1), "{code}: {fact}");
        }
        assert_eq!(
            page.matches(&format!("\n### `{code}`\n")).count(),
            1,
            "{code} stands once"
        );
    }
}
