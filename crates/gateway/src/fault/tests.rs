//! Every code has its words.

use super::*;

#[test]
fn every_code_is_explained_where_errors_point_to() {
    let page = include_str!("../../../../docs/errors.md");
    let kinds = [
        Kind::InvalidKey,
        Kind::ExpiredKey,
        Kind::RevokedKey,
        Kind::AddressNotAllowed,
        Kind::ModelNotAllowed,
        Kind::EndpointNotAllowed,
        Kind::NeverToppedUp,
        Kind::SocialNoResult,
        Kind::SocialCapacity,
        Kind::SocialPaused,
        Kind::Invalid("unknown_parameter"),
        Kind::Invalid("missing_parameter"),
        Kind::Invalid("repeated_parameter"),
        Kind::Invalid("parameter_too_long"),
        Kind::Invalid("invalid_parameter_type"),
        Kind::Invalid("invalid_parameter_value"),
        Kind::InsufficientBalance,
        Kind::BudgetExceeded,
        Kind::MaxCostExceeded,
        Kind::ModelNotFound,
        Kind::NotFound,
        Kind::TaskNotFound,
        Kind::LinkRefused,
        Kind::NotCancellable,
        Kind::IdempotencyConflict,
        Kind::IdempotencyInFlight,
        Kind::IdempotencyTooLarge,
        Kind::RateLimited,
        Kind::MethodNotAllowed,
        Kind::NoWebSocket,
        Kind::Invalid("previous_response_not_found"),
        Kind::Rule("translation_refused".to_owned()),
        Kind::EndpointNotSupported,
        Kind::Invalid("invalid_request"),
        Kind::Invalid("reference_not_supported"),
        Kind::TooLarge,
        Kind::UnsupportedMedia,
        Kind::SlowBody,
        Kind::UpstreamRefused(StatusCode::BAD_REQUEST, None),
        Kind::UpstreamRateLimited,
        Kind::UpstreamFailed,
        Kind::UpstreamTimeout,
        Kind::NoRoute,
        Kind::Overloaded,
        Kind::Unavailable,
        Kind::Draining,
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
    let rules = rules.map(|code| Kind::Rule(code.to_owned()));
    for kind in kinds.into_iter().chain(rules) {
        let row = format!(
            "<a id=\"{code}\"></a>`{code}` | {} |",
            kind.status().as_u16(),
            code = kind.code()
        );
        assert!(page.contains(&row), "{row}");
    }
}
