//! Operators and their roles. Only owners change them, and the last owner stays.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use serde_json::json;
use trunkline_store::action_log::NewAction;
use trunkline_store::people::{self, Changed, OperatorRole, PersonId, check_email};
use utoipa::ToSchema;

use crate::api::customer::query;
use crate::api::people::done;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::JsonBody;
use crate::operator_bodies::{NewOperator, OperatorRoleBody, OperatorRoleName};
use crate::operator_session::{May, Operator, OperatorsWrite};
use crate::request_bodies::EmptyBody;
use crate::shared::Shared;
use crate::times::rfc3339;

/// Operators.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Operators {
    /// First the longest.
    data: Vec<OperatorRow>,
}

/// An operator.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Operator)]
pub(crate) struct OperatorRow {
    /// User id.
    id: i64,
    /// Email address.
    email: String,
    /// Name.
    name: String,
    /// Role.
    #[schema(inline = false)]
    role: OperatorRoleName,
    /// Since when.
    #[schema(format = DateTime)]
    added_at: String,
    /// By whom; null for the setup link.
    #[schema(required)]
    added_by: Option<String>,
    /// Whether a second factor is set up; without it nothing can be done.
    has_second_factor: bool,
    /// Last activity; null for never or long ago.
    #[schema(required, format = DateTime)]
    last_seen_at: Option<String>,
    /// Whether this is the requesting operator.
    you: bool,
}

/// Lists operators.
#[utoipa::path(get, path = "/api/operator/operators", operation_id = "list_operators", tag = "operators",
    responses((status = 200, description = "The operators", body = Operators)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    operator: Operator,
) -> Result<Json<Operators>, ApiError> {
    let mut session = shared.people.session().await?;
    let found = people::operators(&mut session).await?;
    let data = found.into_iter();
    Ok(Json(Operators {
        data: data
            .map(|one| OperatorRow::of(one, operator.person))
            .collect(),
    }))
}

/// Makes a user an operator. The user sets up a second factor before anything else.
#[utoipa::path(post, path = "/api/operator/operators", operation_id = "add_operator", tag = "operators",
    request_body = NewOperator,
    responses(
        (status = 201, description = "The operator", body = OperatorRow),
        (status = 409, description = "An operator already", body = ErrorBody)
    ))]
pub(super) async fn add(
    State(shared): State<Shared>,
    operator: May<OperatorsWrite>,
    JsonBody(body): JsonBody<NewOperator>,
) -> Result<(StatusCode, Json<OperatorRow>), ApiError> {
    let email = check_email("email", &body.email)?;
    let mut session = shared.people.session().await?;
    let person = people::by_email(&mut session, &email).await?;
    drop(session);
    let person = person.filter(|person| person.disabled_at.is_none());
    let person = person.ok_or_else(|| ApiError::not_found("user"))?;
    if person.is_operator {
        let text = "this user is an operator already. Nothing was changed";
        return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
    }
    let row = put(&shared, &operator, person.id, body.role, "add_operator").await?;
    Ok((StatusCode::CREATED, Json(row)))
}

/// Changes the role of an operator.
#[utoipa::path(patch, path = "/api/operator/operators/{id}", operation_id = "change_operator", tag = "operators",
    params(("id" = i64, Path, description = "The operator")),
    request_body = OperatorRoleBody,
    responses(
        (status = 200, description = "The operator", body = OperatorRow),
        (status = 409, description = "The last owner", body = ErrorBody)
    ))]
pub(super) async fn change(
    State(shared): State<Shared>,
    operator: May<OperatorsWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<OperatorRoleBody>,
) -> Result<Json<OperatorRow>, ApiError> {
    let id = known(&shared, id).await?.person;
    let row = put(&shared, &operator, id, body.role, "change_operator").await?;
    Ok(Json(row))
}

/// Makes an operator an ordinary user.
#[utoipa::path(delete, path = "/api/operator/operators/{id}", operation_id = "remove_operator", tag = "operators",
    params(("id" = i64, Path, description = "The operator")),
    responses(
        (status = 204, description = "Removed"),
        (status = 409, description = "The last owner", body = ErrorBody)
    ))]
pub(super) async fn remove(
    State(shared): State<Shared>,
    operator: May<OperatorsWrite>,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Response, ApiError> {
    let before = known(&shared, id).await?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let removed = async {
        of_change(people::remove_operator(&mut tx, before.person).await?)?;
        let action = NewAction {
            action: "remove_operator",
            subject: &format!("operator {}", before.email),
            before: Some(json!({ "role": before.role.as_str() })),
            ..NewAction::default()
        };
        Ok::<_, ApiError>(operator.log(&mut tx, &action).await?)
    };
    let removed = removed.await;
    tx.finish(removed).await?;
    Ok(done())
}

/// Removes the second factor of an operator who lost it, and signs out their devices.
#[utoipa::path(post, path = "/api/operator/operators/{id}/reset-second-factor",
    operation_id = "reset_second_factor", tag = "operators",
    params(("id" = i64, Path, description = "The operator")),
    request_body = EmptyBody,
    responses((status = 200, description = "The operator", body = OperatorRow)))]
pub(super) async fn reset_second_factor(
    State(shared): State<Shared>,
    operator: May<OperatorsWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Json<OperatorRow>, ApiError> {
    let before = known(&shared, id).await?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let reset = async {
        let had = people::remove_second_factor(&mut tx, before.person).await?;
        people::end_all_but(&mut tx, before.person, None).await?;
        let action = NewAction {
            action: "reset_second_factor",
            subject: &format!("operator {}", before.email),
            before: Some(json!({ "second_factor": had })),
            after: Some(json!({ "second_factor": false })),
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await?;
        let after = people::operator(&mut tx, before.person).await?;
        after.ok_or_else(unknown)
    };
    let reset = reset.await;
    let after = tx.finish(reset).await?;
    Ok(Json(OperatorRow::of(after, operator.person)))
}

async fn put(
    shared: &Shared,
    operator: &Operator,
    person: PersonId,
    role: OperatorRoleName,
    action: &str,
) -> Result<OperatorRow, ApiError> {
    let role = OperatorRole::from(role);
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let put = async {
        let before = people::operator(&mut tx, person).await?;
        let before = before.map(|one| json!({ "role": one.role.as_str() }));
        of_change(people::put_operator(&mut tx, person, role, &operator.email).await?)?;
        let after = people::operator(&mut tx, person).await?;
        let after = after.ok_or_else(unknown)?;
        let action = NewAction {
            action,
            subject: &format!("operator {}", after.email),
            before,
            after: Some(json!({ "role": role.as_str() })),
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await?;
        Ok::<_, ApiError>(after)
    };
    let put = put.await;
    let after = tx.finish(put).await?;
    Ok(OperatorRow::of(after, operator.person))
}

async fn known(
    shared: &Shared,
    id: Result<Path<i64>, PathRejection>,
) -> Result<people::Operator, ApiError> {
    let id = PersonId::new(query::id(id, unknown)?);
    let mut session = shared.people.session().await?;
    let found = people::operator(&mut session, id).await?;
    found.ok_or_else(unknown)
}

fn of_change(changed: Changed) -> Result<(), ApiError> {
    match changed {
        Changed::Done => Ok(()),
        Changed::Unknown => Err(unknown()),
        Changed::LastOwner => {
            let text =
                "this is the last owner; make another operator an owner first. Nothing was changed";
            Err(ApiError::new(ConsoleErrorCode::Conflict, text))
        }
    }
}

fn unknown() -> ApiError {
    ApiError::not_found("operator")
}

// === impl OperatorRow ===

impl OperatorRow {
    fn of(one: people::Operator, own: PersonId) -> Self {
        Self {
            id: one.person.number(),
            you: one.person == own,
            email: one.email,
            name: one.name,
            role: one.role.into(),
            added_at: rfc3339(one.added_at),
            added_by: one.added_by,
            has_second_factor: one.has_second_factor,
            last_seen_at: one.last_seen_at.map(rfc3339),
        }
    }
}
