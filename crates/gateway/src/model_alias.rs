//! What a caller's name for a model stands for, and whether a channel may serve it to this caller.

use std::sync::Arc;

use trunkline_store::Policy;
use trunkline_types::KeyId;

use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::priced_call::PricedCall;
use crate::services::Services;

/// The model that a caller's alias stands for. Lists, prices and usage know that; the answer shows
/// what was asked for.
pub(crate) fn resolve(services: &Services, caller: &Caller, name: &str) -> Option<String> {
    caller.meant(&services.catalog.load_full().book, name)
}

/// A stored response is of the same body, but the key that asks for it may have another list of models.
pub(crate) fn check_replay(
    services: &Services,
    caller: &Caller,
    name: &str,
) -> Result<(), ApiError> {
    let meant = resolve(services, caller, name);
    caller.check_model(meant.as_deref().unwrap_or(name))
}

/// Whether a channel serves a model to this caller.
pub(crate) fn check_route(services: &Services, call: &PricedCall) -> Result<(), ApiError> {
    let model = &call.model;
    if services.channels.load_full().knows(model) {
        return check_demands(services, &call.caller, model);
    }
    let text = format!("no channel is available for model {model:?}");
    Err(ApiError::new(ErrorCode::NoRoute, text))
}

/// A key that demands attributes of its routes is served by one that has them or not at all. A model that no
/// channel serves anywhere is reported elsewhere.
pub(crate) fn check_demands(
    services: &Services,
    caller: &Caller,
    model: &str,
) -> Result<(), ApiError> {
    let policy = &caller.key.policy;
    let demands = demands(policy);
    if demands.is_empty() {
        return Ok(());
    }
    let channels = services.channels.load_full();
    if !channels.knows(model) || channels.serves_under(model, policy) {
        return Ok(());
    }
    let demands = demands.join(", ");
    let text = format!(
        "no channel of {model:?} has what this API key demands ({demands}); nothing was charged"
    );
    Err(ApiError::new(ErrorCode::RouteNotAllowed, text).at("model"))
}

/// The attributes of routes that a policy demands, in words.
fn demands(policy: &Policy) -> Vec<String> {
    let fields = policy.fields();
    let list = |name: &str, words: &Option<Vec<String>>| {
        let words = words.as_ref()?;
        Some(format!("{name} {}", words.join(" or ")))
    };
    let retention = fields.upstream_zero_retention;
    let demands = [
        list("region", &fields.regions),
        list("residency", &fields.residencies),
        retention.then(|| "zero retention".to_owned()),
    ];
    demands.into_iter().flatten().collect()
}

/// What a key may be used for, for work that outlives its call. One that is not in memory yet was
/// made elsewhere a moment ago.
pub(crate) async fn policy_of(services: &Services, key: KeyId) -> Option<Arc<Policy>> {
    let known = services.edge.key_table.policy(key);
    if known.is_some() {
        return known;
    }
    if let Err(error) = services.refresh_keys().await {
        tracing::warn!(%error, "key table refresh failed");
    }
    services.edge.key_table.policy(key)
}
