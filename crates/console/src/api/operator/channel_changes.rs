//! Channels added, changed, drained, resumed, copied and tested while calls run.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use http::StatusCode;
use serde::Serialize;
use serde_json::json;
use trunkline_store::action_log::NewAction;
use trunkline_store::channels::{
    self as store, AddChannelError, Channel, ChannelId, ChannelState, EditChannelError, NewChannel,
};
use utoipa::ToSchema;

use super::channels::{ChannelView, channel, logged, viewed};
use crate::api::customer::query;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::JsonBody;
use crate::operations::channel_secrets::{
    self, ChannelSecretError, SealedCredential, as_new, check_address, known_provider,
};
use crate::operations::channel_test::{self, ChannelTestError, TestedCredential};
use crate::operator_bodies::{ChannelFields, CloneChannel, NewChannelBody};
use crate::operator_session::{ChannelsWrite, May, Operator};
use crate::request_bodies::EmptyBody;
use crate::shared::Shared;

/// A page waits: an upstream that is slower than this fails the test.
const PATIENCE: Duration = Duration::from_secs(8);
const DEFAULT_PRIORITY: i32 = 0;
const DEFAULT_WEIGHT: u32 = 1;

/// What the test of a channel came to.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChannelTest {
    /// Whether every credential answers and lists the channel's models.
    is_ok: bool,
    /// Each credential.
    credentials: Vec<CredentialTest>,
}

/// What came back for a credential.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CredentialTest {
    /// Name within the channel.
    label: String,
    /// Last four characters.
    hint: String,
    /// Whether it works.
    is_ok: bool,
    /// HTTP status; null without a response.
    #[schema(required)]
    status: Option<u16>,
    /// What is wrong; null if nothing is.
    #[schema(required)]
    problem: Option<String>,
    /// How many models the upstream lists; null if it lists none.
    #[schema(required)]
    models_listed: Option<usize>,
    /// The channel's models that it does not list.
    models_missing: Vec<String>,
}

/// Adds a channel with its credentials.
#[utoipa::path(post, path = "/api/operator/channels", operation_id = "add_channel", tag = "channels",
    request_body = NewChannelBody,
    responses(
        (status = 201, description = "The channel", body = ChannelView),
        (status = 409, description = "The name is taken", body = ErrorBody)
    ))]
pub(super) async fn add(
    State(shared): State<Shared>,
    operator: May<ChannelsWrite>,
    JsonBody(body): JsonBody<NewChannelBody>,
) -> Result<(StatusCode, Json<ChannelView>), ApiError> {
    let provider = known_provider(&shared.upstreams, &body.provider).map_err(secret_fault)?;
    let sealed = body.credentials.iter().map(|one| {
        let (label, secret) = (&one.label, &one.secret);
        channel_secrets::seal_checked(&shared.keyring, &body.name, label, secret, &provider.auth)
    });
    let sealed = sealed.collect::<Result<Vec<SealedCredential>, _>>();
    let sealed = sealed.map_err(secret_fault)?;
    let mut channel_fields = blank(&body.name, &body.provider);
    body.fields.apply(&shared, &mut channel_fields)?;
    check_address(
        &shared.upstreams,
        &channel_fields.provider,
        channel_fields.base_url.as_deref(),
    )
    .map_err(secret_fault)?;
    let made = write_new(&shared, &operator, "add_channel", &channel_fields, &sealed).await?;
    let view = viewed(&shared, &made, operator.now).await;
    Ok((StatusCode::CREATED, Json(view)))
}

/// Changes fields of a channel; running calls keep the channel they began with.
#[utoipa::path(patch, path = "/api/operator/channels/{id}", operation_id = "change_channel", tag = "channels",
    params(("id" = i64, Path, description = "The channel")),
    request_body = ChannelFields,
    responses((status = 200, description = "The channel", body = ChannelView)))]
pub(super) async fn change(
    State(shared): State<Shared>,
    operator: May<ChannelsWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<ChannelFields>,
) -> Result<Json<ChannelView>, ApiError> {
    let before = channel(&shared, id).await?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let changed = async {
        let after = store::edit(&mut tx, &before.name, |channel| {
            body.apply(&shared, channel)?;
            let base_url = channel.base_url.as_deref();
            check_address(&shared.upstreams, &channel.provider, base_url).map_err(secret_fault)
        });
        let after: Channel = after.await?;
        let action = NewAction {
            action: "change_channel",
            subject: &format!("channel {}", before.name),
            before: Some(logged(&before)),
            after: Some(logged(&after)),
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await?;
        Ok::<_, ApiError>(after)
    };
    let changed = changed.await;
    let after = tx.finish(changed).await?;
    Ok(Json(viewed(&shared, &after, operator.now).await))
}

/// Drains a channel: it takes no new calls.
#[utoipa::path(post, path = "/api/operator/channels/{id}/drain", operation_id = "drain_channel", tag = "channels",
    params(("id" = i64, Path, description = "The channel")),
    request_body = EmptyBody,
    responses((status = 200, description = "The channel", body = ChannelView)))]
pub(super) async fn drain(
    State(shared): State<Shared>,
    operator: May<ChannelsWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Json<ChannelView>, ApiError> {
    set_state(&shared, &operator, id, "drain_channel").await
}

/// Takes a channel back into use, its paused credentials included.
#[utoipa::path(post, path = "/api/operator/channels/{id}/resume", operation_id = "resume_channel", tag = "channels",
    params(("id" = i64, Path, description = "The channel")),
    request_body = EmptyBody,
    responses((status = 200, description = "The channel", body = ChannelView)))]
pub(super) async fn resume(
    State(shared): State<Shared>,
    operator: May<ChannelsWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Json<ChannelView>, ApiError> {
    set_state(&shared, &operator, id, "resume_channel").await
}

async fn set_state(
    shared: &Shared,
    operator: &Operator,
    id: Result<Path<i64>, PathRejection>,
    action: &str,
) -> Result<Json<ChannelView>, ApiError> {
    let before = channel(shared, id).await?;
    let is_resumed = action == "resume_channel";
    let state = if is_resumed {
        ChannelState::Active
    } else {
        ChannelState::Draining
    };
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let changed = async {
        store::set_state(&mut tx, before.id, state).await?;
        let resumed = match is_resumed {
            true => store::resume(&mut tx, before.id).await?,
            false => Vec::new(),
        };
        let action = NewAction {
            action,
            subject: &format!("channel {}", before.name),
            before: Some(json!({ "state": before.state.as_str() })),
            after: Some(json!({ "state": state.as_str(), "resumed_credentials": resumed })),
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await?;
        let after = store::find_by_id(&mut tx, before.id).await?;
        after.ok_or_else(super::channels::unknown_channel)
    };
    let changed = changed.await;
    let after = tx.finish(changed).await?;
    Ok(Json(viewed(shared, &after, operator.now).await))
}

/// Adds a copy of a channel with its credentials, under another name.
#[utoipa::path(post, path = "/api/operator/channels/{id}/clone", operation_id = "clone_channel", tag = "channels",
    params(("id" = i64, Path, description = "The channel")),
    request_body = CloneChannel,
    responses(
        (status = 201, description = "The copy", body = ChannelView),
        (status = 409, description = "The name is taken", body = ErrorBody)
    ))]
pub(super) async fn copy(
    State(shared): State<Shared>,
    operator: May<ChannelsWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<CloneChannel>,
) -> Result<(StatusCode, Json<ChannelView>), ApiError> {
    let original = channel(&shared, id).await?;
    let resealed = channel_secrets::reseal_for(&shared.keyring, &original, &body.name);
    let (proxy, sealed) = resealed.map_err(secret_fault)?;
    let mut channel_fields = Channel {
        name: body.name.clone(),
        proxy,
        ..original
    };
    body.fields.apply(&shared, &mut channel_fields)?;
    let made = write_new(
        &shared,
        &operator,
        "clone_channel",
        &channel_fields,
        &sealed,
    )
    .await?;
    let view = viewed(&shared, &made, operator.now).await;
    Ok((StatusCode::CREATED, Json(view)))
}

/// Makes one harmless call with each credential of a channel.
#[utoipa::path(post, path = "/api/operator/channels/{id}/test", operation_id = "test_channel", tag = "channels",
    params(("id" = i64, Path, description = "The channel")),
    request_body = EmptyBody,
    responses(
        (status = 200, description = "The results", body = ChannelTest),
        (status = 409, description = "It cannot be tested", body = ErrorBody)
    ))]
pub(super) async fn test(
    State(shared): State<Shared>,
    operator: May<ChannelsWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Json<ChannelTest>, ApiError> {
    let channel = channel(&shared, id).await?;
    let provider = known_provider(&shared.upstreams, &channel.provider).map_err(secret_fault)?;
    // All credentials together have the time of one request.
    let count = u32::try_from(channel.credentials.len()).unwrap_or(u32::MAX);
    let each = PATIENCE.checked_div(count.max(1)).unwrap_or(PATIENCE);
    let (client, keyring) = (&shared.client, &shared.keyring);
    let tested = channel_test::test(client, keyring, provider, &channel, each).await;
    let tested = tested.map_err(test_fault)?;
    let is_ok = tested.iter().all(TestedCredential::is_good);
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let action = NewAction {
        action: "test_channel",
        subject: &format!("channel {}", channel.name),
        after: Some(json!({ "is_ok": is_ok })),
        ..NewAction::default()
    };
    let written = operator.log(&mut tx, &action).await;
    tx.finish(written).await.map_err(query::unwritten)?;
    Ok(Json(ChannelTest {
        is_ok,
        credentials: tested.into_iter().map(CredentialTest::of).collect(),
    }))
}

async fn write_new(
    shared: &Shared,
    operator: &Operator,
    action: &str,
    channel_fields: &Channel,
    sealed: &[SealedCredential],
) -> Result<Channel, ApiError> {
    let credentials = as_new(sealed);
    let new = NewChannel {
        credentials: &credentials,
        ..channel_fields.as_new()
    };
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let added = async {
        let made = store::add(&mut tx, &new).await.map_err(add_fault)?;
        let action = NewAction {
            action,
            subject: &format!("channel {}", made.name),
            after: Some(logged(&made)),
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await?;
        Ok::<_, ApiError>(made)
    };
    let added = added.await;
    tx.finish(added).await
}

/// A channel with nothing but its names.
fn blank(name: &str, provider: &str) -> Channel {
    Channel {
        id: ChannelId::new(0),
        name: name.to_owned(),
        provider: provider.to_owned(),
        base_url: None,
        priority: DEFAULT_PRIORITY,
        weight: DEFAULT_WEIGHT,
        region: None,
        residency: None,
        zero_retention: false,
        models: BTreeMap::new(),
        groups: Vec::new(),
        extra_headers: BTreeMap::new(),
        proxy: None,
        requests_per_minute: None,
        concurrent_calls: None,
        cost: None,
        state: ChannelState::Active,
        credentials: Vec::new(),
        revision: 0,
    }
}

pub(super) fn secret_fault(error: ChannelSecretError) -> ApiError {
    let param = match &error {
        ChannelSecretError::UnknownProvider { .. } => "provider",
        ChannelSecretError::NoAddress { .. } => "base_url",
        ChannelSecretError::Length { .. }
        | ChannelSecretError::NotALine { .. }
        | ChannelSecretError::Unusable { .. } => "secret",
        ChannelSecretError::Proxy { .. } => "proxy",
        ChannelSecretError::Unopened { .. } | ChannelSecretError::Seal(_) => {
            tracing::error!(%error, "a secret of a channel cannot be used");
            return ApiError::new(ConsoleErrorCode::Conflict, error.to_string());
        }
    };
    ApiError::invalid_param(param, error.to_string())
}

fn test_fault(error: ChannelTestError) -> ApiError {
    match error {
        ChannelTestError::Secret(error) => secret_fault(error),
        error @ (ChannelTestError::NoList(_) | ChannelTestError::NotAUrl(_)) => {
            ApiError::new(ConsoleErrorCode::Conflict, error.to_string())
        }
    }
}

fn add_fault(error: AddChannelError) -> ApiError {
    match error {
        AddChannelError::Field(wrong) => wrong.into(),
        AddChannelError::Db(error) => query::unwritten(error),
        error @ (AddChannelError::NameTaken { .. } | AddChannelError::TooMany) => {
            ApiError::new(ConsoleErrorCode::Conflict, error.to_string())
        }
    }
}

// === impl ApiError, ChannelFields, CredentialTest ===

impl From<EditChannelError> for ApiError {
    fn from(error: EditChannelError) -> Self {
        match error {
            EditChannelError::Field(wrong) => wrong.into(),
            EditChannelError::Db(error) => query::unwritten(error),
            EditChannelError::UnknownChannel { .. } => super::channels::unknown_channel(),
            EditChannelError::UnknownCredential { .. } => Self::not_found("credential"),
            error @ (EditChannelError::LabelTaken { .. }
            | EditChannelError::LastCredential { .. }
            | EditChannelError::TasksRun { .. }) => {
                Self::new(ConsoleErrorCode::Conflict, error.to_string())
            }
        }
    }
}

impl ChannelFields {
    /// Takes over what was named.
    fn apply(&self, shared: &Shared, channel: &mut Channel) -> Result<(), ApiError> {
        take(&mut channel.base_url, self.base_url.as_ref());
        take(&mut channel.region, self.region.as_ref());
        take(&mut channel.residency, self.residency.as_ref());
        take(
            &mut channel.requests_per_minute,
            self.requests_per_minute.as_ref(),
        );
        take(
            &mut channel.concurrent_calls,
            self.concurrent_calls.as_ref(),
        );
        take(&mut channel.cost, self.cost.as_ref());
        channel.priority = self.priority.unwrap_or(channel.priority);
        channel.weight = self.weight.unwrap_or(channel.weight);
        channel.zero_retention = self.zero_retention.unwrap_or(channel.zero_retention);
        if let Some(models) = &self.models {
            channel.models.clone_from(models);
        }
        if let Some(groups) = &self.groups {
            channel.groups.clone_from(groups);
        }
        if let Some(headers) = &self.extra_headers {
            let lower = headers.iter();
            let lower = lower.map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
            channel.extra_headers = lower.collect();
        }
        if let Some(proxy) = &self.proxy {
            let sealed = proxy
                .as_ref()
                .map(|text| channel_secrets::seal_proxy(&shared.keyring, &channel.name, text));
            channel.proxy = sealed.transpose().map_err(secret_fault)?;
        }
        Ok(())
    }
}

/// Takes over a value that was named, or that there is to be none.
fn take<T: Clone>(field: &mut Option<T>, named: Option<&Option<T>>) {
    if let Some(value) = named {
        field.clone_from(value);
    }
}

impl CredentialTest {
    fn of(tested: TestedCredential) -> Self {
        Self {
            is_ok: tested.is_good(),
            label: tested.label,
            hint: tested.hint,
            status: tested.status,
            problem: tested.problem,
            models_listed: tested.models_listed,
            models_missing: tested.models_missing,
        }
    }
}
