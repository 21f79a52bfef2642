//! The members of an organisation: seen by all, changed by owners and admins; owners only by owners.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Serialize;
use serde_json::json;
use trunkline_store::action_log::NewAction;
use trunkline_store::keys;
use trunkline_store::people::{self, Changed, PersonId, Role};
use utoipa::ToSchema;

use super::invitations::InvitationView;
use super::people::{RoleName, done};
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::JsonBody;
use crate::request_bodies::RoleBody;
use crate::session::{MemberSession, Right};
use crate::shared::Shared;
use crate::times::rfc3339;

/// Members and open invitations.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Members {
    /// Owners first, then by name; at most 200.
    data: Vec<MemberView>,
    /// Open invitations, newest first.
    invitations: Vec<InvitationView>,
}

/// A member.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Member)]
pub(crate) struct MemberView {
    /// User id.
    id: i64,
    /// Email address.
    email: String,
    /// Name.
    name: String,
    /// Role.
    #[schema(inline = false)]
    role: RoleName,
    /// Time of joining.
    #[schema(format = DateTime)]
    joined_at: String,
    /// Last activity of a device; null for never or long ago.
    #[schema(required, format = DateTime)]
    last_seen_at: Option<String>,
    /// Whether this is the requesting user.
    you: bool,
}

/// Lists the members of the organisation and its open invitations.
#[utoipa::path(get, path = "/api/members", operation_id = "list_members", tag = "people",
    responses((status = 200, description = "Members and invitations", body = Members)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    own: MemberSession,
) -> Result<Json<Members>, ApiError> {
    let mut session = shared.people.session().await?;
    let members = people::members(&mut session, own.account).await?;
    let invitations = people::open_invitations(&mut session, own.account).await?;
    let data = members.into_iter();
    let invitations = invitations.into_iter();
    Ok(Json(Members {
        data: data.map(|member| MemberView::of(member, &own)).collect(),
        invitations: invitations
            .map(|open| InvitationView::of(open, None))
            .collect(),
    }))
}

/// Changes the role of a member.
#[utoipa::path(patch, path = "/api/members/{id}", operation_id = "change_member", tag = "people",
    params(("id" = i64, Path, description = "The member")),
    request_body = RoleBody,
    responses(
        (status = 200, description = "The member", body = MemberView),
        (status = 409, description = "The last owner cannot be demoted", body = ErrorBody)
    ))]
pub(super) async fn change(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<RoleBody>,
) -> Result<Json<MemberView>, ApiError> {
    own.require(Right::MembersWrite)?;
    own.require_step_up()?;
    let person = member_id(id)?;
    let role = Role::from(body.role);
    let mut tx = shared.people.begin().await?;
    let done = async {
        let member = people::member(&mut tx, own.account, person).await?;
        let member = member.ok_or_else(unknown)?;
        may_touch(&own, [member.role, role])?;
        let changed = people::change_role(&mut tx, own.account, person, role).await?;
        of_change(changed)?;
        if !Right::Playground.is_of(role) {
            keys::end_playground_key(&mut tx, own.account, person).await?;
        }
        let action = NewAction {
            action: "change_member",
            subject: &format!("member {}", member.email),
            before: Some(json!({ "role": member.role.as_str() })),
            after: Some(json!({ "role": role.as_str() })),
            ..NewAction::default()
        };
        own.log(&mut tx, &action).await?;
        let member = people::member(&mut tx, own.account, person).await?;
        member.ok_or_else(unknown)
    };
    let done = done.await;
    let member = tx.finish(done).await?;
    shared.gateway.refresh_keys().await;
    Ok(Json(MemberView::of(member, &own)))
}

/// Removes a member. Every member may leave.
#[utoipa::path(delete, path = "/api/members/{id}", operation_id = "remove_member", tag = "people",
    params(("id" = i64, Path, description = "The member")),
    responses(
        (status = 204, description = "Removed"),
        (status = 409, description = "The last owner cannot be removed", body = ErrorBody)
    ))]
pub(super) async fn remove(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Response, ApiError> {
    let person = member_id(id)?;
    if person != own.person {
        own.require(Right::MembersWrite)?;
        own.require_step_up()?;
    }
    let mut tx = shared.people.begin().await?;
    let removed = async {
        let member = people::member(&mut tx, own.account, person).await?;
        let member = member.ok_or_else(unknown)?;
        if person != own.person {
            may_touch(&own, [member.role])?;
        }
        keys::end_playground_key(&mut tx, own.account, person).await?;
        of_change(people::remove_member(&mut tx, own.account, person).await?)?;
        let action = NewAction {
            action: "remove_member",
            subject: &format!("member {}", member.email),
            before: Some(json!({ "role": member.role.as_str() })),
            ..NewAction::default()
        };
        Ok::<_, ApiError>(own.log(&mut tx, &action).await?)
    };
    let removed = removed.await;
    tx.finish(removed).await?;
    shared.gateway.refresh_keys().await;
    Ok(done())
}

/// Only an owner makes, changes or removes owners.
pub(super) fn may_touch<const N: usize>(
    own: &MemberSession,
    roles: [Role; N],
) -> Result<(), ApiError> {
    let concerns_owners = roles.contains(&Role::Owner);
    if !concerns_owners || own.role == Role::Owner {
        return Ok(());
    }
    let text = "only an owner can add, change or remove owners. Nothing was changed";
    Err(ApiError::new(ConsoleErrorCode::RoleNotAllowed, text))
}

fn of_change(changed: Changed) -> Result<(), ApiError> {
    match changed {
        Changed::Done => Ok(()),
        Changed::Unknown => Err(unknown()),
        Changed::LastOwner => {
            let text = "this is the last owner of the organisation; make another member an owner \
                        first. Nothing was changed";
            Err(ApiError::new(ConsoleErrorCode::Conflict, text))
        }
    }
}

fn member_id(id: Result<Path<i64>, PathRejection>) -> Result<PersonId, ApiError> {
    let Path(id) = id.map_err(|_| unknown())?;
    Ok(PersonId::new(id))
}

fn unknown() -> ApiError {
    ApiError::not_found("member")
}

// === impl MemberView ===

impl MemberView {
    fn of(member: people::Member, own: &MemberSession) -> Self {
        Self {
            id: member.person.number(),
            you: member.person == own.person,
            email: member.email,
            name: member.name,
            role: member.role.into(),
            joined_at: rfc3339(member.joined_at),
            last_seen_at: member.last_seen_at.map(rfc3339),
        }
    }
}
