//! Invitations into an organisation: created by owners and admins, previewed and accepted with the
//! token of the link.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use serde_json::json;
use trunkline_db::Tx;
use trunkline_store::action_log::NewAction;
use trunkline_store::attempt_counters::{self, Attempt};
use trunkline_store::emails::{Content, Kind as EmailKind};
use trunkline_store::people::{
    self, Invitation, MEMBERS_MAX, NewInvitation, OPEN_INVITATIONS_MAX, Role, check_email,
};
use utoipa::ToSchema;

use super::members::may_touch;
use super::people::{RoleName, done, take_of_network};
use crate::emails::{self, OutgoingEmail};
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::{Caller, JsonBody};
use crate::request_bodies::{InvitationToken, InviteBody};
use crate::session::{MemberSession, Right};
use crate::shared::Shared;
use crate::times::rfc3339;
use crate::tokens::{self, Token};

/// Seconds after which a limit of an hour allows a call again.
const HOUR_SECONDS: i64 = 3_600;
/// How long an invitation is good: a week.
pub const INVITATION_SECONDS: i64 = 7 * 86_400;

/// An open invitation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Invitation)]
pub(crate) struct InvitationView {
    /// Id.
    id: i64,
    /// Invited email address.
    email: String,
    /// Role.
    #[schema(inline = false)]
    role: RoleName,
    /// Name of the inviter.
    invited_by: String,
    /// Creation time.
    #[schema(format = DateTime)]
    created_at: String,
    /// Expiry time.
    #[schema(format = DateTime)]
    expires_at: String,
    /// The link to share: shown once, and only without a mail server.
    #[schema(required)]
    link: Option<String>,
}

/// An invitation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InvitationPreview {
    /// Invited email address.
    email: String,
    /// Name of the organisation.
    organisation: String,
    /// Role.
    #[schema(inline = false)]
    role: RoleName,
    /// Whether the address has an account, whose password is required; otherwise a new one is set.
    has_person: bool,
}

/// Invites a person. An open invitation to the same address is replaced.
#[utoipa::path(post, path = "/api/members/invitations", operation_id = "invite", tag = "people",
    request_body = InviteBody,
    responses(
        (status = 201, description = "The invitation", body = InvitationView),
        (status = 409, description = "Already a member, or too many members", body = ErrorBody)
    ))]
pub(super) async fn invite(
    State(shared): State<Shared>,
    own: MemberSession,
    caller: Caller,
    JsonBody(body): JsonBody<InviteBody>,
) -> Result<(StatusCode, Json<InvitationView>), ApiError> {
    own.require(Right::MembersWrite)?;
    let role = Role::from(body.role);
    may_touch(&own, [role])?;
    // Members touch money and secrets.
    own.require_step_up()?;
    let email = check_email("email", &body.email)?;
    check_rates(&shared, &own, &caller, &email).await?;
    let token = Token::fresh(shared.random.as_ref())?;
    let link = shared.settings.link("invitation", token.text.reveal());
    let new = NewInvitation {
        account: own.account,
        email: &email,
        role,
        token: &token.hash,
        is_mailed: shared.settings.sends_mail,
        invited_by: Some(own.person),
        life_seconds: INVITATION_SECONDS,
    };
    let mut tx = shared.people.begin().await?;
    let written = async {
        let written = write(&shared, &mut tx, &new, &link).await?;
        let action = NewAction {
            action: "invite",
            subject: &format!("invitation of {email}"),
            after: Some(json!({ "role": role.as_str() })),
            ..NewAction::default()
        };
        own.log(&mut tx, &action).await?;
        Ok::<_, ApiError>(written)
    };
    let written = written.await;
    let written = tx.finish(written).await?;
    let link = (!shared.settings.sends_mail).then_some(link);
    let view = InvitationView::of(written, link);
    Ok((StatusCode::CREATED, Json(view)))
}

/// An invitation is an email to an address that its sender chooses, with a name that its sender chooses.
async fn check_rates(
    shared: &Shared,
    own: &MemberSession,
    caller: &Caller,
    email: &str,
) -> Result<(), ApiError> {
    let people = &shared.people;
    let account = own.account.number().to_be_bytes();
    let to = email.as_bytes();
    let allowed = take_of_network(shared, Attempt::InvitationFromNetwork, caller.address).await?
        && attempt_counters::take(people, Attempt::InvitationByAccount, &account).await?
        && attempt_counters::take(people, Attempt::InvitationToAddress, to).await?;
    if allowed {
        return Ok(());
    }
    Err(ApiError::too_many_attempts(HOUR_SECONDS))
}

async fn write(
    shared: &Shared,
    tx: &mut Tx,
    new: &NewInvitation<'_>,
    link: &str,
) -> Result<Invitation, ApiError> {
    let person = people::by_email(tx, new.email).await?;
    if let Some(person) = person
        && people::member(tx, new.account, person.id).await?.is_some()
    {
        let text =
            "this person is already a member; change their role instead. Nothing was changed";
        return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
    }
    people::invite(tx, new).await?;
    let open = people::open_invitations(tx, new.account).await?;
    let open = i64::try_from(open.len()).unwrap_or(i64::MAX);
    let all = people::count_members(tx, new.account).await?;
    if all > MEMBERS_MAX || open >= OPEN_INVITATIONS_MAX {
        let text = format!(
            "an organisation can have at most {MEMBERS_MAX} members, including invited ones, and \
             fewer than {OPEN_INVITATIONS_MAX} open invitations. Nothing was changed"
        );
        return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
    }
    let written = people::open_invitation(tx, new.token).await?;
    let written = written.ok_or_else(ApiError::unavailable)?;
    let message = OutgoingEmail {
        kind: EmailKind::Invitation,
        to: new.email,
        content: Content {
            link: link.to_owned(),
            name: String::new(),
            organisation: Some(written.organisation.clone()),
            by: written.invited_by.clone(),
            ..Content::default()
        },
        expires_at: written.expires_at,
    };
    emails::write(shared, tx, message).await?;
    Ok(written)
}

/// Withdraws an open invitation.
#[utoipa::path(delete, path = "/api/members/invitations/{id}", operation_id = "revoke_invitation", tag = "people",
    params(("id" = i64, Path, description = "The invitation")),
    responses((status = 204, description = "Withdrawn")))]
pub(super) async fn revoke(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Response, ApiError> {
    own.require(Right::MembersWrite)?;
    let unknown = || ApiError::not_found("invitation");
    let Path(id) = id.map_err(|_| unknown())?;
    let mut tx = shared.people.begin().await?;
    let revoked = async {
        let role = people::revoke_invitation(&mut tx, own.account, id).await?;
        may_touch(&own, [role.ok_or_else(unknown)?])?;
        let action = NewAction {
            action: "revoke_invitation",
            subject: &format!("invitation {id}"),
            ..NewAction::default()
        };
        Ok::<_, ApiError>(own.log(&mut tx, &action).await?)
    };
    let revoked = revoked.await;
    tx.finish(revoked).await?;
    Ok(done())
}

/// Previews an invitation by the token of its link.
#[utoipa::path(post, path = "/api/invitations/preview", operation_id = "preview_invitation", tag = "people",
    request_body = InvitationToken,
    responses(
        (status = 200, description = "The invitation", body = InvitationPreview),
        (status = 400, description = "The link is invalid, expired, used or withdrawn", body = ErrorBody)
    ))]
pub(super) async fn preview(
    State(shared): State<Shared>,
    JsonBody(body): JsonBody<InvitationToken>,
) -> Result<Json<InvitationPreview>, ApiError> {
    let token = tokens::hash_of(body.token.reveal()).ok_or_else(ApiError::token_invalid)?;
    let mut session = shared.people.session().await?;
    let found = people::open_invitation(&mut session, &token).await?;
    let found = found.ok_or_else(ApiError::token_invalid)?;
    let person = people::by_email(&mut session, &found.email).await?;
    Ok(Json(InvitationPreview {
        has_person: person.is_some(),
        email: found.email,
        organisation: found.organisation,
        role: found.role.into(),
    }))
}

// === impl InvitationView ===

impl InvitationView {
    pub(super) fn of(open: Invitation, link: Option<String>) -> Self {
        Self {
            id: open.id,
            email: open.email,
            role: open.role.into(),
            invited_by: open.invited_by.unwrap_or_else(|| "an operator".to_owned()),
            created_at: rfc3339(open.created_at),
            expires_at: rfc3339(open.expires_at),
            link,
        }
    }
}
