//! Channels and credentials as operators see them: nothing sealed, and of extra headers only the names.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::Serialize;
use serde_json::{Value, json};
use trunkline_ledger::installation::{self, Sums};
use trunkline_store::channels::{self as store, Channel, ChannelId, ChannelState, Credential};
use trunkline_types::Timestamp;
use trunkline_upstream::{Auth, Provider};
use utoipa::ToSchema;

use crate::api::customer::query;
use crate::error::ApiError;
use crate::operations::channel_test;
use crate::operator_session::Operator;
use crate::shared::Shared;
use crate::times::rfc3339;

const DAY_SECONDS: i64 = 86_400;

/// Channels.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Channels {
    /// In the order in which they are tried.
    data: Vec<ChannelView>,
}

/// A channel.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Channel)]
pub(crate) struct ChannelView {
    /// Id.
    id: i64,
    /// Name.
    name: String,
    /// Provider.
    provider: String,
    /// Base URL; null for the provider's.
    #[schema(required)]
    base_url: Option<String>,
    /// State.
    #[schema(inline = false)]
    state: ChannelStateName,
    /// Lower is tried first.
    priority: i32,
    /// How often it is chosen among equals.
    weight: u32,
    /// Region of the upstream; null if unknown.
    #[schema(required)]
    region: Option<String>,
    /// Where the upstream keeps data; null if unknown.
    #[schema(required)]
    residency: Option<String>,
    /// Whether the upstream keeps nothing.
    zero_retention: bool,
    /// Our name of a model to the upstream's.
    models: BTreeMap<String, String>,
    /// Its models that the catalog does not sell.
    models_not_sold: Vec<String>,
    /// Groups it serves; empty for all.
    groups: Vec<String>,
    /// Names of headers that are sent along.
    extra_headers: Vec<String>,
    /// Whether calls go through a proxy.
    has_proxy: bool,
    /// Calls a minute over all nodes; null for any.
    #[schema(required)]
    requests_per_minute: Option<i64>,
    /// Concurrent calls over all nodes; null for any.
    #[schema(required)]
    concurrent_calls: Option<i64>,
    /// What the upstream bills; null if unknown.
    #[schema(required, value_type = Option<Object>)]
    cost: Option<Value>,
    /// Credentials, oldest first; their secrets are never shown.
    credentials: Vec<CredentialView>,
    /// Calls of the last 24 hours whose last attempt was here; null if they could not be summed up.
    #[schema(required)]
    last_24_hours: Option<ChannelSumsView>,
    /// Number of the last change.
    revision: i64,
}

/// State of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ChannelState)]
pub(crate) enum ChannelStateName {
    /// It takes calls.
    Active,
    /// It takes no new calls.
    Draining,
    /// Out of use.
    Off,
}

/// A credential, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Credential)]
pub(crate) struct CredentialView {
    /// Id.
    id: i64,
    /// Name within the channel.
    label: String,
    /// Last four characters.
    hint: String,
    /// State.
    #[schema(inline = false)]
    state: CredentialStateName,
    /// End of the cool-down; null for none.
    #[schema(required, format = DateTime)]
    cool_until: Option<String>,
    /// Evidence of the pause; null if it is not paused.
    #[schema(required)]
    paused_reason: Option<String>,
}

/// State of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = CredentialState)]
pub(crate) enum CredentialStateName {
    /// Calls use it.
    Usable,
    /// Switched off.
    Disabled,
    /// An upstream limits it for a while.
    CoolingDown,
    /// An upstream or an operator refuses it.
    Paused,
}

/// What went through a channel.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChannelSums)]
pub(crate) struct ChannelSumsView {
    /// Calls.
    calls: i64,
    /// Calls that delivered nothing.
    failed_calls: i64,
    /// What the upstream bills, where known.
    #[schema(example = "1.5")]
    cost_usd: String,
    /// What customers were charged.
    #[schema(example = "2.25")]
    charged_usd: String,
}

/// Providers of channels.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProviderList {
    /// By name.
    data: Vec<UpstreamProvider>,
}

/// A provider of channels.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UpstreamProvider {
    /// Name.
    name: String,
    /// Base URL; null if each channel sets it.
    #[schema(required)]
    base_url: Option<String>,
    /// How calls authenticate.
    #[schema(example = "bearer")]
    auth: &'static str,
    /// Whether credentials can be tested.
    can_test: bool,
}

/// Lists channels with their credentials.
#[utoipa::path(get, path = "/api/operator/channels", operation_id = "list_channels", tag = "channels",
    responses((status = 200, description = "The channels", body = Channels)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    operator: Operator,
) -> Result<Json<Channels>, ApiError> {
    let mut session = shared.people.session().await?;
    let found = store::list(&mut session).await?;
    drop(session);
    let sums = sums(&shared, operator.now).await;
    let view = |channel: &Channel| ChannelView::of(&shared, channel, sums.as_ref(), operator.now);
    Ok(Json(Channels {
        data: found.iter().map(view).collect(),
    }))
}

/// Returns a channel.
#[utoipa::path(get, path = "/api/operator/channels/{id}", operation_id = "show_channel", tag = "channels",
    params(("id" = i64, Path, description = "The channel")),
    responses((status = 200, description = "The channel", body = ChannelView)))]
pub(super) async fn show(
    State(shared): State<Shared>,
    operator: Operator,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Json<ChannelView>, ApiError> {
    let channel = channel(&shared, id).await?;
    Ok(Json(viewed(&shared, &channel, operator.now).await))
}

/// Lists the providers that channels may have.
#[utoipa::path(get, path = "/api/operator/providers", operation_id = "list_providers", tag = "channels",
    responses((status = 200, description = "The providers", body = ProviderList)))]
pub(super) async fn providers(
    State(shared): State<Shared>,
    _operator: Operator,
) -> Json<ProviderList> {
    let known = shared.upstreams.names();
    let found = known.filter_map(|name| shared.upstreams.get(name));
    Json(ProviderList {
        data: found.map(UpstreamProvider::of).collect(),
    })
}

/// A channel by its number.
pub(super) async fn channel(
    shared: &Shared,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Channel, ApiError> {
    let id = ChannelId::new(query::id(id, unknown_channel)?);
    let mut session = shared.people.session().await?;
    let found = store::find_by_id(&mut session, id).await?;
    found.ok_or_else(unknown_channel)
}

pub(super) fn unknown_channel() -> ApiError {
    ApiError::not_found("channel")
}

/// A channel as it is after a change.
pub(super) async fn viewed(shared: &Shared, channel: &Channel, now: Timestamp) -> ChannelView {
    let sums = sums(shared, now).await;
    ChannelView::of(shared, channel, sums.as_ref(), now)
}

/// A channel for the log of actions: what an operator may read, no secret and no value of a header.
pub(super) fn logged(channel: &Channel) -> Value {
    let headers: Vec<&String> = channel.extra_headers.keys().collect();
    let credentials = channel.credentials.iter();
    let credentials = credentials.map(
        |one| json!({ "label": one.label, "hint": one.hint, "paused_reason": one.paused_reason }),
    );
    json!({
        "name": channel.name,
        "provider": channel.provider,
        "base_url": channel.base_url,
        "state": channel.state.as_str(),
        "priority": channel.priority,
        "weight": channel.weight,
        "region": channel.region,
        "residency": channel.residency,
        "zero_retention": channel.zero_retention,
        "models": channel.models,
        "groups": channel.groups,
        "extra_headers": headers,
        "has_proxy": channel.proxy.is_some(),
        "requests_per_minute": channel.requests_per_minute,
        "concurrent_calls": channel.concurrent_calls,
        "cost": channel.cost,
        "credentials": credentials.collect::<Vec<Value>>(),
    })
}

/// None where the calls of a day are too many to be read while a person waits.
async fn sums(shared: &Shared, now: Timestamp) -> Option<BTreeMap<i64, Sums>> {
    let since = now.plus_seconds(DAY_SECONDS.saturating_neg());
    match installation::of_channels(&shared.data, since).await {
        Ok(found) => {
            let pairs = found.into_iter().map(|one| (one.channel, one.sums));
            Some(pairs.collect())
        }
        Err(error) => {
            tracing::warn!(%error, "calls of channels were not summed up");
            None
        }
    }
}

// === impl ChannelView, CredentialView, UpstreamProvider ===

impl ChannelView {
    fn of(
        shared: &Shared,
        channel: &Channel,
        sums: Option<&BTreeMap<i64, Sums>>,
        now: Timestamp,
    ) -> Self {
        let book = shared.gateway.book();
        let unsold = channel.models.keys();
        let unsold = unsold.filter(|name| book.model(name).is_none());
        let sums = sums.map(|all| all.get(&channel.id.number()).copied().unwrap_or_default());
        let credentials = channel.credentials.iter();
        Self {
            id: channel.id.number(),
            name: channel.name.clone(),
            provider: channel.provider.clone(),
            base_url: channel.base_url.clone(),
            state: match channel.state {
                ChannelState::Active => ChannelStateName::Active,
                ChannelState::Draining => ChannelStateName::Draining,
                ChannelState::Off => ChannelStateName::Off,
            },
            priority: channel.priority,
            weight: channel.weight,
            region: channel.region.clone(),
            residency: channel.residency.clone(),
            zero_retention: channel.zero_retention,
            models: channel.models.clone(),
            models_not_sold: unsold.cloned().collect(),
            groups: channel.groups.clone(),
            extra_headers: channel.extra_headers.keys().cloned().collect(),
            has_proxy: channel.proxy.is_some(),
            requests_per_minute: channel.requests_per_minute,
            concurrent_calls: channel.concurrent_calls,
            cost: channel.cost.clone(),
            credentials: credentials
                .map(|one| CredentialView::of(one, now))
                .collect(),
            last_24_hours: sums.map(|sums| ChannelSumsView {
                calls: sums.calls,
                failed_calls: sums.failed,
                cost_usd: sums.cost.to_string(),
                charged_usd: sums.charged.to_string(),
            }),
            revision: channel.revision,
        }
    }
}

impl CredentialView {
    fn of(credential: &Credential, now: Timestamp) -> Self {
        let cool_until = credential.cool_until.filter(|until| now < *until);
        let state = match (credential.disabled, &credential.paused_reason, cool_until) {
            (true, _, _) => CredentialStateName::Disabled,
            (false, Some(_), _) => CredentialStateName::Paused,
            (false, None, Some(_)) => CredentialStateName::CoolingDown,
            (false, None, None) => CredentialStateName::Usable,
        };
        Self {
            id: credential.id.number(),
            label: credential.label.clone(),
            hint: credential.hint.clone(),
            state,
            cool_until: cool_until.map(rfc3339),
            paused_reason: credential.paused_reason.clone(),
        }
    }
}

impl UpstreamProvider {
    fn of(provider: &Provider) -> Self {
        Self {
            name: provider.name.clone(),
            base_url: provider.base_url.clone(),
            auth: match &provider.auth {
                Auth::Bearer => "bearer",
                Auth::Header(_) => "header",
                Auth::SigV4(_) => "sigv4",
                Auth::GoogleServiceAccount => "google",
                Auth::KlingToken => "kling",
            },
            can_test: channel_test::can_test(provider),
        }
    }
}
