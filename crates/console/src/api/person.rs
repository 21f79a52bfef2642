//! What a person changes about themselves and, with the right to, about their organisation.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use serde_json::json;
use trunkline_db::Tx;
use trunkline_store::accounts;
use trunkline_store::action_log::{self, ActorKind, NewAction};
use trunkline_store::people::{self, PersonId, check_person_name};
use trunkline_types::Secret;
use uuid::Uuid;

use super::people::{GivenIn, done, person_of};
use super::session::{self, AccountRef, Session};
use crate::error::{ApiError, ErrorBody};
use crate::json_body::{Caller, JsonBody};
use crate::organisations::wrong_name;
use crate::passwords;
use crate::request_bodies::{ChangePasswordBody, NameBody};
use crate::session::{AuthenticatedUser, MemberSession, Right, actor_of, find};
use crate::shared::Shared;

/// Changes the user's name.
#[utoipa::path(patch, path = "/api/person", operation_id = "change_person", tag = "people",
    request_body = NameBody,
    responses((status = 200, description = "The session", body = Session)))]
pub(super) async fn change(
    State(shared): State<Shared>,
    AuthenticatedUser(own): AuthenticatedUser,
    headers: HeaderMap,
    JsonBody(body): JsonBody<NameBody>,
) -> Result<Json<Session>, ApiError> {
    let name = check_person_name("name", &body.name)?;
    let mut tx = shared.people.begin().await?;
    let renamed = people::rename_person(&mut tx, own.person, &name).await;
    tx.finish(renamed).await?;
    let own = find(&shared, &headers).await?;
    Ok(Json(Session::of(&shared, own).await?))
}

/// Changes the user's password and signs out other devices.
#[utoipa::path(post, path = "/api/password/change", operation_id = "change_password", tag = "people",
    request_body = ChangePasswordBody,
    responses(
        (status = 204, description = "Password changed; other devices are signed out"),
        (status = 401, description = "Wrong current password", body = ErrorBody)
    ))]
pub(super) async fn change_password(
    State(shared): State<Shared>,
    AuthenticatedUser(own): AuthenticatedUser,
    caller: Caller,
    JsonBody(body): JsonBody<ChangePasswordBody>,
) -> Result<Response, ApiError> {
    passwords::check("password", &body.password, &own.email)?;
    let given = GivenIn::Session(own.id);
    person_of(&shared, &own.email, &body.current, &caller, given).await?;
    let hash = shared.passwords.hash(&body.password).await?;
    let mut tx = shared.people.begin().await?;
    let changed = async {
        renewed(&mut tx, own.person, &hash, Some(own.id)).await?;
        let kind = match own.operator {
            Some(_) => ActorKind::Operator,
            None => ActorKind::Member,
        };
        let action = NewAction {
            action: "change_password",
            account: own.active_account.map(|(account, _)| account),
            subject: &format!("person {}", own.email),
            ..NewAction::default()
        };
        let actor = actor_of(kind, &own, Some(caller));
        Ok::<_, ApiError>(action_log::write(&mut tx, &actor, &action).await?)
    };
    let changed = changed.await;
    tx.finish(changed).await?;
    tracing::info!(person.id = own.person.number(), "password changed");
    Ok(done())
}

/// A new password, the devices that it signs out, and the links to change it that are void now.
pub(super) async fn renewed(
    tx: &mut Tx,
    person: PersonId,
    hash: &Secret,
    kept: Option<Uuid>,
) -> Result<(), ApiError> {
    people::set_password(tx, person, hash).await?;
    people::end_all_but(tx, person, kept).await?;
    people::void_tokens(tx, people::Purpose::Reset, Some(person)).await?;
    Ok(())
}

/// Renames the organisation.
#[utoipa::path(patch, path = "/api/account", operation_id = "change_account", tag = "people",
    request_body = NameBody,
    responses((status = 200, description = "The organisation", body = AccountRef)))]
pub(super) async fn change_account(
    State(shared): State<Shared>,
    own: MemberSession,
    JsonBody(body): JsonBody<NameBody>,
) -> Result<Json<AccountRef>, ApiError> {
    own.require(Right::AccountWrite)?;
    let mut tx = shared.people.begin().await?;
    let renamed = async {
        let before = accounts::find(&mut tx, own.account).await?;
        let renamed = accounts::rename(&mut tx, own.account, body.name.trim()).await;
        renamed.map_err(|error| ApiError {
            param: Some("name"),
            ..wrong_name(error)
        })?;
        let action = NewAction {
            action: "change_account",
            subject: "organisation",
            before: before.map(|account| json!({ "name": account.name })),
            after: Some(json!({ "name": body.name.trim() })),
            ..NewAction::default()
        };
        Ok::<_, ApiError>(own.log(&mut tx, &action).await?)
    };
    let renamed = renamed.await;
    tx.finish(renamed).await?;
    let mut database = shared.people.session().await?;
    let all = people::memberships(&mut database, own.person).await?;
    drop(database);
    let this = all.into_iter().filter(|one| one.account == own.account);
    let accounts = session::accounts_of(&shared.people, this.collect()).await?;
    let first = accounts.into_iter().next();
    first
        .map(Json)
        .ok_or_else(|| ApiError::not_found("organisation"))
}
