//! Accepting an invitation: as the signed-in user, as an existing user with a password, or as a new
//! user.

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use trunkline_db::Tx;
use trunkline_store::people::{
    self, Invitation, NewPerson, PersonId, TokenHash, check_person_name,
};
use trunkline_types::Secret;

use super::people::{GivenIn, NewSession, person_of};
use super::session::Session;
use crate::error::{ApiError, ErrorBody};
use crate::json_body::{Caller, JsonBody};
use crate::passwords;
use crate::request_bodies::AcceptBody;
use crate::session::find;
use crate::shared::Shared;
use crate::tokens;

/// Who takes it.
enum Invitee {
    /// The signed-in user.
    SignedIn(PersonId),
    /// An existing user who gave the password.
    Known(PersonId),
    /// A new user, with a name and a password hash.
    New(String, Secret),
}

/// Accepts an invitation, signs in and selects the organisation.
#[utoipa::path(post, path = "/api/invitations/accept", operation_id = "accept_invitation", tag = "people",
    request_body = AcceptBody,
    responses(
        (status = 200, description = "Accepted; signed in as a member", body = Session),
        (status = 400, description = "The link is invalid, expired, used or withdrawn, or a field is invalid", body = ErrorBody),
        (status = 401, description = "Wrong password", body = ErrorBody)
    ))]
pub(super) async fn accept(
    State(shared): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(body): JsonBody<AcceptBody>,
) -> Result<Response, ApiError> {
    let token = tokens::hash_of(body.token.reveal()).ok_or_else(ApiError::token_invalid)?;
    let found = open(&shared, &token).await?;
    let taker = taker(&shared, &found, &body, &caller, &headers).await?;
    let is_signed_in = matches!(taker, Invitee::SignedIn(_));
    let mut tx = shared.people.begin().await?;
    let done = async {
        let person = join(&mut tx, &found, taker).await?;
        let account = Some(found.account);
        if is_signed_in {
            return NewSession::write_untrusted(
                &shared, &mut tx, person, account, &caller, &headers,
            )
            .await;
        }
        NewSession::write(&shared, &mut tx, person, account, &caller, &headers).await
    };
    let done = done.await;
    let opened = tx.finish(done).await?;
    opened.answer(&shared).await
}

async fn open(shared: &Shared, token: &TokenHash) -> Result<Invitation, ApiError> {
    let mut session = shared.people.session().await?;
    let found = people::open_invitation(&mut session, token).await?;
    found.ok_or_else(ApiError::token_invalid)
}

async fn taker(
    shared: &Shared,
    found: &Invitation,
    body: &AcceptBody,
    caller: &Caller,
    headers: &HeaderMap,
) -> Result<Invitee, ApiError> {
    let mut session = shared.people.session().await?;
    let person = people::by_email(&mut session, &found.email).await?;
    drop(session);
    if let Some(person) = person {
        let own = find(shared, headers).await?;
        if own.is_some_and(|own| own.person == person.id) {
            return Ok(Invitee::SignedIn(person.id));
        }
        let password = body.password.as_ref().ok_or_else(missing_password)?;
        let person = person_of(
            shared,
            &found.email,
            password,
            caller,
            GivenIn::Browser(headers),
        )
        .await?;
        return Ok(Invitee::Known(person.id));
    }
    let password = body.password.as_ref().ok_or_else(missing_password)?;
    let name = body.name.as_deref().unwrap_or_default();
    let name = check_person_name("name", name)?;
    passwords::check("password", password, &found.email)?;
    Ok(Invitee::New(name, shared.passwords.hash(password).await?))
}

/// Uses the link up; of two at once, one gets it.
async fn join(tx: &mut Tx, found: &Invitation, taker: Invitee) -> Result<PersonId, ApiError> {
    let person = match taker {
        Invitee::SignedIn(person) | Invitee::Known(person) => person,
        Invitee::New(name, password) => {
            let new = NewPerson {
                email: &found.email,
                name: &name,
                password: Some(&password),
                is_verified: found.is_mailed,
                is_operator: false,
            };
            // A concurrent request used the same link or address.
            let made = people::create_person(tx, &new).await?;
            made.ok_or_else(ApiError::token_invalid)?
        }
    };
    if !people::accept(tx, found.id, person).await? {
        return Err(ApiError::token_invalid());
    }
    if found.is_mailed {
        people::verify_email(tx, person).await?;
    }
    people::add_member(tx, found.account, person, found.role).await?;
    tracing::info!(
        person.id = person.number(),
        account.id = found.account.number(),
        "invitation accepted"
    );
    Ok(person)
}

fn missing_password() -> ApiError {
    let text = "is required: your password, or a new one of 10 to 200 characters";
    ApiError::invalid_param("password", text)
}
