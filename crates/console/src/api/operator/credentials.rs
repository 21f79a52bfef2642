//! Credentials of a channel: added, replaced, removed, paused with evidence and resumed. A secret goes in and never
//! comes out.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use trunkline_db::Tx;
use trunkline_store::action_log::NewAction;
use trunkline_store::channels::{self as store, Channel, ChannelId, CredentialId};
use trunkline_types::Secret;

use super::channel_changes::secret_fault;
use super::channels::{ChannelView, channel, logged, unknown_channel, viewed};
use super::views::reason;
use crate::api::customer::query;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::JsonBody;
use crate::operations::channel_secrets::{self, SealedCredential, as_new, known_provider};
use crate::operator_bodies::{NewCredentialBody, ReasonBody, RemoveCredential, ReplaceCredential};
use crate::operator_session::{ChannelsWrite, May, Operator};
use crate::request_bodies::EmptyBody;
use crate::shared::Shared;

/// A channel and one of its credentials.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct CredentialPath {
    id: i64,
    label: String,
}

/// Adds a credential to a channel.
#[utoipa::path(post, path = "/api/operator/channels/{id}/credentials", operation_id = "add_credential",
    tag = "channels",
    params(("id" = i64, Path, description = "The channel")),
    request_body = NewCredentialBody,
    responses(
        (status = 201, description = "The channel", body = ChannelView),
        (status = 409, description = "The label is taken", body = ErrorBody)
    ))]
pub(super) async fn add(
    State(shared): State<Shared>,
    operator: May<ChannelsWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<NewCredentialBody>,
) -> Result<(StatusCode, Json<ChannelView>), ApiError> {
    let before = channel(&shared, id).await?;
    let sealed = sealed(&shared, &before, &body.label, &body.secret)?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let changed = async {
        let one = std::slice::from_ref(&sealed);
        let after = store::add_credentials(&mut tx, &before.name, &as_new(one)).await?;
        let change = Change {
            action: "add_credential",
            label: &body.label,
            before: &before,
            after: &after,
        };
        change.log(&operator, &mut tx).await?;
        Ok::<_, ApiError>(after)
    };
    let changed = changed.await;
    let after = tx.finish(changed).await?;
    let view = viewed(&shared, &after, operator.now).await;
    Ok((StatusCode::CREATED, Json(view)))
}

/// Replaces the secret of a credential, such as one that leaked.
#[utoipa::path(post, path = "/api/operator/channels/{id}/credentials/{label}/replace",
    operation_id = "replace_credential", tag = "channels",
    params(("id" = i64, Path, description = "The channel"), ("label" = String, Path, description = "The credential")),
    request_body = ReplaceCredential,
    responses((status = 200, description = "The channel", body = ChannelView)))]
pub(super) async fn replace(
    State(shared): State<Shared>,
    operator: May<ChannelsWrite>,
    path: Result<Path<CredentialPath>, PathRejection>,
    JsonBody(body): JsonBody<ReplaceCredential>,
) -> Result<Json<ChannelView>, ApiError> {
    let (before, label) = found(&shared, path).await?;
    let sealed = sealed(&shared, &before, &label, &body.secret)?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let changed = async {
        let new = as_new(std::slice::from_ref(&sealed));
        let new = new.first().ok_or_else(ApiError::unavailable)?;
        let after = store::replace_credential(&mut tx, &before.name, new).await?;
        let change = Change {
            action: "replace_credential",
            label: &label,
            before: &before,
            after: &after,
        };
        change.log(&operator, &mut tx).await?;
        Ok::<_, ApiError>(after)
    };
    let changed = changed.await;
    let after = tx.finish(changed).await?;
    Ok(Json(viewed(&shared, &after, operator.now).await))
}

/// Deletes a credential; its secret is gone.
#[utoipa::path(post, path = "/api/operator/channels/{id}/credentials/{label}/remove",
    operation_id = "remove_credential", tag = "channels",
    params(("id" = i64, Path, description = "The channel"), ("label" = String, Path, description = "The credential")),
    request_body = RemoveCredential,
    responses(
        (status = 200, description = "The channel", body = ChannelView),
        (status = 409, description = "It is the last one, or tasks run with it", body = ErrorBody)
    ))]
pub(super) async fn remove(
    State(shared): State<Shared>,
    operator: May<ChannelsWrite>,
    path: Result<Path<CredentialPath>, PathRejection>,
    JsonBody(body): JsonBody<RemoveCredential>,
) -> Result<Json<ChannelView>, ApiError> {
    let (before, label) = found(&shared, path).await?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let changed = async {
        let name = &before.name;
        let after = store::remove_credential(&mut tx, name, &label, body.give_up_tasks).await?;
        let change = Change {
            action: "remove_credential",
            label: &label,
            before: &before,
            after: &after,
        };
        change.log(&operator, &mut tx).await?;
        Ok::<_, ApiError>(after)
    };
    let changed = changed.await;
    let after = tx.finish(changed).await?;
    Ok(Json(viewed(&shared, &after, operator.now).await))
}

/// Pauses a credential, with the evidence as the reason.
#[utoipa::path(post, path = "/api/operator/channels/{id}/credentials/{label}/pause",
    operation_id = "pause_credential", tag = "channels",
    params(("id" = i64, Path, description = "The channel"), ("label" = String, Path, description = "The credential")),
    request_body = ReasonBody,
    responses(
        (status = 200, description = "The channel", body = ChannelView),
        (status = 409, description = "It is paused already", body = ErrorBody)
    ))]
pub(super) async fn pause(
    State(shared): State<Shared>,
    operator: May<ChannelsWrite>,
    path: Result<Path<CredentialPath>, PathRejection>,
    JsonBody(body): JsonBody<ReasonBody>,
) -> Result<Json<ChannelView>, ApiError> {
    let why = reason(&body.reason)?;
    set_paused(&shared, &operator, path, Some(&why)).await
}

/// Takes a paused credential back into use.
#[utoipa::path(post, path = "/api/operator/channels/{id}/credentials/{label}/resume",
    operation_id = "resume_credential", tag = "channels",
    params(("id" = i64, Path, description = "The channel"), ("label" = String, Path, description = "The credential")),
    request_body = EmptyBody,
    responses(
        (status = 200, description = "The channel", body = ChannelView),
        (status = 409, description = "It is not paused", body = ErrorBody)
    ))]
pub(super) async fn resume(
    State(shared): State<Shared>,
    operator: May<ChannelsWrite>,
    path: Result<Path<CredentialPath>, PathRejection>,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Json<ChannelView>, ApiError> {
    set_paused(&shared, &operator, path, None).await
}

async fn set_paused(
    shared: &Shared,
    operator: &Operator,
    path: Result<Path<CredentialPath>, PathRejection>,
    why: Option<&str>,
) -> Result<Json<ChannelView>, ApiError> {
    let (before, label) = found(shared, path).await?;
    let credential = before.credential(&label).map(|one| one.id);
    let credential: CredentialId = credential.ok_or_else(|| ApiError::not_found("credential"))?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let changed = async {
        let (action, is_done) = match why {
            Some(why) => (
                "pause_credential",
                store::pause(&mut tx, credential, why).await?,
            ),
            None => (
                "resume_credential",
                store::resume_credential(&mut tx, credential).await?,
            ),
        };
        if !is_done {
            let text = match why {
                Some(_) => "the credential is paused already. Nothing was changed",
                None => "the credential is not paused. Nothing was changed",
            };
            return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
        }
        let action = NewAction {
            action,
            subject: &format!("credential {label} of channel {}", before.name),
            before: Some(json!({ "is_paused": why.is_none() })),
            after: Some(json!({ "is_paused": why.is_some() })),
            reason: why,
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await?;
        let after = store::find_by_id(&mut tx, before.id).await?;
        after.ok_or_else(unknown_channel)
    };
    let changed = changed.await;
    let after = tx.finish(changed).await?;
    Ok(Json(viewed(shared, &after, operator.now).await))
}

async fn found(
    shared: &Shared,
    path: Result<Path<CredentialPath>, PathRejection>,
) -> Result<(Channel, String), ApiError> {
    let Path(path) = path.map_err(|_| unknown_channel())?;
    let mut session = shared.people.session().await?;
    let channel = store::find_by_id(&mut session, ChannelId::new(path.id)).await?;
    let channel = channel.ok_or_else(unknown_channel)?;
    if channel.credential(&path.label).is_none() {
        return Err(ApiError::not_found("credential"));
    }
    Ok((channel, path.label))
}

fn sealed(
    shared: &Shared,
    channel: &Channel,
    label: &str,
    secret: &Secret,
) -> Result<SealedCredential, ApiError> {
    let provider = known_provider(&shared.upstreams, &channel.provider).map_err(secret_fault)?;
    let keyring = &shared.keyring;
    channel_secrets::seal_checked(keyring, &channel.name, label, secret, &provider.auth)
        .map_err(secret_fault)
}

/// A change of a channel's credential, for the log of actions.
struct Change<'a> {
    action: &'static str,
    label: &'a str,
    before: &'a Channel,
    after: &'a Channel,
}

impl Change<'_> {
    async fn log(&self, operator: &Operator, tx: &mut Tx) -> Result<(), ApiError> {
        let action = NewAction {
            action: self.action,
            subject: &format!("credential {} of channel {}", self.label, self.before.name),
            before: Some(logged(self.before)),
            after: Some(logged(self.after)),
            ..NewAction::default()
        };
        Ok(operator.log(tx, &action).await?)
    }
}
