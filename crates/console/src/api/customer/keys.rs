//! `/api/keys`: the organisation's keys. Members with keys.write create, change and delete them; a secret
//! is made and shown only to who gave the password lately, and shown once.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of `KeyQuery`"
)]

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use trunkline_db::Tx;
use trunkline_ledger::accounts;
use trunkline_ledger::call_search::{self, Search};
use trunkline_store::keys::{
    self, ChangeKeyError, CreateKeyError, CreatedKey, Key, KeysQuery, OVERLAP_MAX_SECONDS,
    SECRET_BYTES,
};
use trunkline_types::{ApiKey, KeyId};
use utoipa::{IntoParams, ToSchema};

use super::budgets::{self, CheckedBudgets};
use super::call_row::{LogRow, rows};
use super::key_view::{self, KeyView};
use super::query;
use crate::api::people::done;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::JsonBody;
use crate::request_bodies::{KeyChange, MaxPriceBody, NewKey, RotateBody};
use crate::session::{MemberSession, Right};
use crate::shared::Shared;

/// Default page size.
const USUAL_PAGE: u32 = 50;
const MOST_PER_PAGE: u32 = 200;
/// Before its birth no key has calls; clocks of nodes differ by less than this.
const CLOCK_SECONDS: i64 = 3_600;

/// Which keys.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct KeyQuery {
    /// Keys whose name or hint contains this text, ignoring case.
    #[param(nullable = false, max_length = 200)]
    q: Option<String>,
    /// `next` of the previous page.
    #[param(nullable = false)]
    after: Option<i64>,
    /// Page size; 50 by default.
    #[param(nullable = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// A page of keys.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeyPage {
    /// Newest first.
    data: Vec<KeyView>,
    /// `after` of the next page; null at the end.
    #[schema(required)]
    next: Option<String>,
}

/// A key and its secret.
#[derive(Serialize, ToSchema)]
pub(crate) struct KeyWithSecret {
    /// The key.
    key: KeyView,
    /// The secret, shown once; only its hash is stored.
    #[schema(example = "sk-tl-…")]
    secret: String,
}

/// The latest call of a key.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FirstCall {
    /// The call; null until one has completed.
    #[schema(required)]
    call: Option<LogRow>,
}

/// Lists the organisation's keys, newest first, without deleted ones.
#[utoipa::path(get, path = "/api/keys", operation_id = "list_keys", tag = "keys",
    params(KeyQuery),
    responses((status = 200, description = "A page of keys", body = KeyPage)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    own: MemberSession,
    params: Result<Query<KeyQuery>, QueryRejection>,
) -> Result<Json<KeyPage>, ApiError> {
    let params = query::query(params)?;
    let text = query::text("q", params.q)?;
    let keys_query = KeysQuery {
        account: own.account,
        text: text.as_deref(),
        before: params.after.map(KeyId::new),
        limit: query::limit(params.limit, USUAL_PAGE, MOST_PER_PAGE)?,
    };
    let mut session = shared.people.session().await?;
    let found = keys::search(&mut session, &keys_query).await?;
    drop(session);
    Ok(Json(KeyPage {
        data: key_view::key_views(&shared, &own, &found.keys).await?,
        next: found.next.map(|key| key.to_string()),
    }))
}

/// Creates a key. Its secret is only in this response.
#[utoipa::path(post, path = "/api/keys", operation_id = "create_key", tag = "keys",
    request_body = NewKey,
    responses((status = 201, description = "The key and its secret", body = KeyWithSecret)))]
pub(super) async fn make(
    State(shared): State<Shared>,
    own: MemberSession,
    JsonBody(body): JsonBody<NewKey>,
) -> Result<Response, ApiError> {
    own.require(Right::KeysWrite)?;
    own.require_step_up()?;
    let new = keys::NewKey {
        account: own.account,
        parent: None,
        name: &body.name,
        policy: body.policy()?,
    };
    let checked = CheckedBudgets::read(&body.budgets)?;
    let secret = secret(&shared)?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let made = async {
        let made = create(&mut tx, &new, &secret).await?;
        budgets::write(&mut tx, own.account, made.key.id, &checked).await?;
        let logged = own.log_key(&mut tx, "create_key", &made.key).await;
        logged.map_err(query::unwritten)?;
        Ok(made)
    };
    let made: Result<CreatedKey, ApiError> = made.await;
    let made = finish(tx, made).await?;
    shared.gateway.refresh_keys().await;
    let answer = with_secret(&shared, &own, made.key, &made.plain).await?;
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

/// Returns a key.
#[utoipa::path(get, path = "/api/keys/{id}", operation_id = "show_key", tag = "keys",
    params(("id" = i64, Path, description = "The key")),
    responses((status = 200, description = "The key", body = KeyView)))]
pub(super) async fn one(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Json<KeyView>, ApiError> {
    let key = own_key(&shared, &own, id).await?;
    Ok(Json(key_view::one(&shared, &own, key).await?))
}

/// Changes the name, the expiry or the routes of a key.
#[utoipa::path(patch, path = "/api/keys/{id}", operation_id = "change_key", tag = "keys",
    params(("id" = i64, Path, description = "The key")),
    request_body = KeyChange,
    responses((status = 200, description = "The key", body = KeyView)))]
pub(super) async fn change(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<KeyChange>,
) -> Result<Json<KeyView>, ApiError> {
    own.require(Right::KeysWrite)?;
    let key = own_key(&shared, &own, id).await?;
    let is_named = body.name.is_some() || body.expires_at.is_some();
    if !is_named && body.policy.is_none() && body.max_price.is_none() {
        let text = "nothing to change: set `name`, `expires_at`, `policy` or `max_price`";
        return Err(ApiError::new(ConsoleErrorCode::Invalid, text));
    }
    let ends = body.expires_at.map(|at| {
        let at = at.as_deref();
        at.map(|text| query::moment("expires_at", text)).transpose()
    });
    let ends = ends.transpose()?;
    let max_price = body.max_price.as_ref().map(MaxPriceBody::value);
    let change = keys::KeyChange {
        name: body.name.as_deref(),
        expires_at: ends,
        policy: body.policy.map(|policy| Some(policy.value())),
        max_price: max_price.transpose()?,
    };
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let changed = keys::change(&mut tx, key.id, change).await;
    changed_key(&shared, &own, tx, "change_key", changed).await
}

/// Permanently deletes a key and its child keys. Running calls complete normally.
#[utoipa::path(delete, path = "/api/keys/{id}", operation_id = "delete_key", tag = "keys",
    params(("id" = i64, Path, description = "The key")),
    responses((status = 204, description = "Deleted")))]
pub(super) async fn delete(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Response, ApiError> {
    own.require(Right::KeysWrite)?;
    let key = own_key(&shared, &own, id).await?;
    let by = format!("person {}", own.person.number());
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let gone = async {
        keys::delete(&mut tx, key.id, &by).await?;
        own.log_key(&mut tx, "delete_key", &key).await
    };
    let gone = gone.await;
    tx.finish(gone).await.map_err(query::unwritten)?;
    shared.gateway.refresh_keys().await;
    Ok(done())
}

/// Rotates the secret of a key. The previous secret stays valid for the overlap.
#[utoipa::path(post, path = "/api/keys/{id}/rotate", operation_id = "rotate_key", tag = "keys",
    params(("id" = i64, Path, description = "The key")),
    request_body = RotateBody,
    responses(
        (status = 200, description = "The key and its new secret", body = KeyWithSecret),
        (status = 409, description = "The key is revoked", body = ErrorBody)
    ))]
pub(super) async fn rotate(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<RotateBody>,
) -> Result<Json<KeyWithSecret>, ApiError> {
    own.require(Right::KeysWrite)?;
    own.require_step_up()?;
    let key = own_key(&shared, &own, id).await?;
    if body.overlap_seconds > OVERLAP_MAX_SECONDS {
        let text = format!("must be from 0 to {OVERLAP_MAX_SECONDS}");
        return Err(ApiError::invalid_param("overlap_seconds", text));
    }
    let secret = secret(&shared)?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let rotated = async {
        let rotated = keys::rotate(&mut tx, key.id, &secret, body.overlap_seconds).await;
        let rotated = rotated.map_err(change_fault)?;
        let logged = own.log_key(&mut tx, "rotate_key", &rotated.key).await;
        logged.map_err(query::unwritten)?;
        Ok(rotated)
    };
    let rotated = rotated.await;
    let rotated = finish(tx, rotated).await?;
    shared.gateway.refresh_keys().await;
    let answer = with_secret(&shared, &own, rotated.key, &rotated.plain).await?;
    Ok(Json(answer))
}

/// Disables a key. It can be enabled again.
#[utoipa::path(post, path = "/api/keys/{id}/disable", operation_id = "disable_key", tag = "keys",
    params(("id" = i64, Path, description = "The key")),
    responses(
        (status = 200, description = "The key", body = KeyView),
        (status = 409, description = "The key is revoked", body = ErrorBody)
    ))]
pub(super) async fn disable(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Json<KeyView>, ApiError> {
    switch(&shared, &own, id, true).await
}

/// Enables a key.
#[utoipa::path(post, path = "/api/keys/{id}/enable", operation_id = "enable_key", tag = "keys",
    params(("id" = i64, Path, description = "The key")),
    responses(
        (status = 200, description = "The key", body = KeyView),
        (status = 409, description = "The key is revoked", body = ErrorBody)
    ))]
pub(super) async fn enable(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Json<KeyView>, ApiError> {
    switch(&shared, &own, id, false).await
}

/// Returns the latest call of a key; pages poll it while waiting for the first call.
#[utoipa::path(get, path = "/api/keys/{id}/first-call", operation_id = "first_call", tag = "keys",
    params(("id" = i64, Path, description = "The key")),
    responses((status = 200, description = "The call, if there is one", body = FirstCall)))]
pub(super) async fn first_call(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Json<FirstCall>, ApiError> {
    let key = own_key(&shared, &own, id).await?;
    let search = Search {
        key: Some(key.id),
        from: Some(key.created_at.plus_seconds(-CLOCK_SECONDS)),
        ..Search::of(own.account, 1)
    };
    let found = call_search::search(&shared.people, &search).await?;
    let calls = rows(&shared, own.account, &found.calls).await?;
    Ok(Json(FirstCall {
        call: calls.into_iter().next(),
    }))
}

async fn switch(
    shared: &Shared,
    own: &MemberSession,
    id: Result<Path<i64>, PathRejection>,
    off: bool,
) -> Result<Json<KeyView>, ApiError> {
    own.require(Right::KeysWrite)?;
    let key = own_key(shared, own, id).await?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let changed = keys::set_disabled(&mut tx, key.id, off).await;
    let action = if off { "disable_key" } else { "enable_key" };
    changed_key(shared, own, tx, action, changed).await
}

async fn changed_key(
    shared: &Shared,
    own: &MemberSession,
    mut tx: Tx,
    action: &str,
    changed: Result<Key, ChangeKeyError>,
) -> Result<Json<KeyView>, ApiError> {
    let changed = match changed.map_err(change_fault) {
        Ok(key) => {
            let logged = own.log_key(&mut tx, action, &key).await;
            logged.map(|()| key).map_err(query::unwritten)
        }
        Err(fault) => Err(fault),
    };
    let key = finish(tx, changed).await?;
    shared.gateway.refresh_keys().await;
    Ok(Json(key_view::one(shared, own, key).await?))
}

/// Makes a key and tells the ledger of it.
pub(super) async fn create(
    tx: &mut Tx,
    new: &keys::NewKey<'_>,
    secret: &[u8; SECRET_BYTES],
) -> Result<CreatedKey, ApiError> {
    let made = keys::create(tx, new, secret).await.map_err(create_fault)?;
    let known = accounts::register_key(tx, new.account, made.key.id, None).await;
    if !known.map_err(query::unwritten)? {
        tracing::error!(
            key.id = made.key.id.number(),
            "key creation failed: the ledger rejected the key"
        );
        return Err(ApiError::unavailable());
    }
    Ok(made)
}

/// Commits what was done, or lets it go.
pub(super) async fn finish<T>(tx: Tx, done: Result<T, ApiError>) -> Result<T, ApiError> {
    match done {
        Ok(done) => {
            tx.commit().await.map_err(query::unwritten)?;
            Ok(done)
        }
        Err(fault) => {
            tx.rollback().await.ok();
            Err(fault)
        }
    }
}

/// Random bytes of a secret.
pub(super) fn secret(shared: &Shared) -> Result<[u8; SECRET_BYTES], ApiError> {
    let mut secret = [0; SECRET_BYTES];
    shared.random.fill(&mut secret)?;
    Ok(secret)
}

/// A key of the organisation; another's is as unknown as one that never was.
pub(super) async fn own_key(
    shared: &Shared,
    own: &MemberSession,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Key, ApiError> {
    let id = KeyId::new(query::id(id, unknown)?);
    let mut session = shared.people.session().await?;
    let key = keys::of_account(&mut session, own.account, id).await?;
    key.ok_or_else(unknown)
}

async fn with_secret(
    shared: &Shared,
    own: &MemberSession,
    key: Key,
    plain: &ApiKey,
) -> Result<KeyWithSecret, ApiError> {
    Ok(KeyWithSecret {
        key: key_view::one(shared, own, key).await?,
        secret: plain.reveal().to_owned(),
    })
}

fn unknown() -> ApiError {
    let text = "key not found in this organisation";
    ApiError::new(ConsoleErrorCode::NotFound, text)
}

fn create_fault(error: CreateKeyError) -> ApiError {
    match error {
        CreateKeyError::Field(error) => error.into(),
        CreateKeyError::Db(error) => query::unwritten(error),
        error @ CreateKeyError::GroupNotAllowed { .. } => {
            ApiError::invalid_param("group", error.to_string())
        }
        error @ (CreateKeyError::AccountClosed(_)
        | CreateKeyError::UnknownAccount(_)
        | CreateKeyError::UnknownParent { .. }
        | CreateKeyError::ParentNotLive { .. }) => {
            ApiError::new(ConsoleErrorCode::Conflict, error.to_string())
        }
    }
}

pub(crate) fn change_fault(error: ChangeKeyError) -> ApiError {
    match error {
        ChangeKeyError::Field(error) => error.into(),
        ChangeKeyError::Db(error) => query::unwritten(error),
        ChangeKeyError::UnknownKey(_) => unknown(),
        error @ ChangeKeyError::Revoked(_) => {
            ApiError::new(ConsoleErrorCode::Conflict, error.to_string())
        }
    }
}
