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

/// Whether a channel serves a model to this caller.
pub(crate) fn check_route(services: &Services, call: &PricedCall) -> Result<(), ApiError> {
    let model = &call.model;
    if services.channels.load_full().knows(model) {
        return check_regions(services, &call.caller, model);
    }
    let text = format!("no channel is available for model {model:?}");
    Err(ApiError::new(ErrorCode::NoRoute, text))
}

/// A key with a list of regions is served there or not at all. A model that no channel serves anywhere
/// is reported elsewhere.
pub(crate) fn check_regions(
    services: &Services,
    caller: &Caller,
    model: &str,
) -> Result<(), ApiError> {
    let policy = &caller.key.policy;
    let Some(regions) = &policy.fields().regions else {
        return Ok(());
    };
    let channels = services.channels.load_full();
    if !channels.knows(model) || channels.serves_under(model, policy) {
        return Ok(());
    }
    let regions = regions.join(", ");
    let text = format!(
        "no channel of {model:?} serves the regions of this API key ({regions}); nothing was charged"
    );
    Err(ApiError::new(ErrorCode::ModelNotAllowed, text).at("model"))
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
