//! Emails requested by users: another verification email, and a password reset. Responses and their timing
//! are the same whether the address has an account or not.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use tokio::time::Instant;
use trunkline_db::{Tx, database_now};
use trunkline_store::attempt_counters::{self, Attempt};
use trunkline_store::emails::{Content, Kind as EmailKind};
use trunkline_store::people::{self, Person, PersonId, Purpose, TokenHash};
use trunkline_types::Secret;

use super::people::NewSession;
use super::session::Session;
use super::sign_up::{EVEN, VERIFY_SECONDS, even, from_network, is_welcome};
use crate::emails::{self, OutgoingEmail};
use crate::error::{ApiError, ErrorBody};
use crate::json_body::{Caller, JsonBody};
use crate::passwords;
use crate::request_bodies::{EmptyBody, ForgotBody, ResetBody};
use crate::session::AuthenticatedUser;
use crate::shared::Shared;
use crate::tokens::{self, Token};

/// How long a link to a new password is good.
const RESET_SECONDS: i64 = 3_600;

/// Sends another verification email to the signed-in user.
#[utoipa::path(post, path = "/api/email/verify/again", operation_id = "verify_email_again", tag = "people",
    request_body = EmptyBody,
    responses(
        (status = 202, description = "Email sent, unless the address is verified or already received three this hour"),
        (status = 401, description = "Not signed in", body = ErrorBody),
        (status = 429, description = "Too many attempts from this network", body = ErrorBody)
    ))]
pub(super) async fn verify_again(
    State(shared): State<Shared>,
    AuthenticatedUser(sign_in): AuthenticatedUser,
    caller: Caller,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Response, ApiError> {
    from_network(&shared, &caller).await?;
    let email = sign_in.email.as_bytes();
    if !sign_in.is_verified
        && attempt_counters::take(&shared.people, Attempt::EmailToAddress, email).await?
    {
        let mut tx = shared.people.begin().await?;
        let link = Link {
            purpose: Purpose::Verify,
            kind: EmailKind::Verify,
            page: "verify",
            life_seconds: VERIFY_SECONDS,
        };
        let (email, name) = (&sign_in.email, &sign_in.name);
        let done = send_link(&shared, &mut tx, &link, sign_in.person, email, name).await;
        tx.finish(done).await?;
    }
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Emails a password reset link if the address has an account. The response does not tell.
#[utoipa::path(post, path = "/api/password/forgot", operation_id = "forgot_password", tag = "people",
    request_body = ForgotBody,
    responses(
        (status = 202, description = "Email sent if the address has an account"),
        (status = 429, description = "Too many attempts from this network", body = ErrorBody)
    ))]
pub(super) async fn forgot(
    State(shared): State<Shared>,
    caller: Caller,
    JsonBody(body): JsonBody<ForgotBody>,
) -> Result<Response, ApiError> {
    let ready = Instant::now().checked_add(EVEN);
    from_network(&shared, &caller).await?;
    // An invalid address has no account.
    if let Ok(email) = people::check_email("email", &body.email)
        && attempt_counters::take(&shared.people, Attempt::EmailToAddress, email.as_bytes()).await?
    {
        let mut tx = shared.people.begin().await?;
        let done = remind(&shared, &mut tx, &email).await;
        tx.finish(done).await?;
    }
    even(ready).await;
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Sets a new password with the token of a reset link, signs out other devices and signs in.
#[utoipa::path(post, path = "/api/password/reset", operation_id = "reset_password", tag = "people",
    request_body = ResetBody,
    responses(
        (status = 200, description = "Password set; all other sessions are signed out", body = Session),
        (status = 400, description = "Invalid link or invalid password", body = ErrorBody)
    ))]
pub(super) async fn reset(
    State(shared): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(body): JsonBody<ResetBody>,
) -> Result<Response, ApiError> {
    let token = tokens::hash_of(body.token.reveal()).ok_or_else(ApiError::token_invalid)?;
    // Looked at first and put back: a password that is refused does not cost the link, and no transaction
    // waits for a hash.
    let mut tx = shared.people.begin().await?;
    let person = of_reset(&mut tx, &token).await;
    tx.rollback().await?;
    passwords::check("password", &body.password, &person?.email)?;
    let password = shared.passwords.hash(&body.password).await?;
    let mut tx = shared.people.begin().await?;
    let done = renew(&shared, &mut tx, &token, &password, &caller, &headers).await;
    let opened = tx.finish(done).await?;
    opened.answer(&shared).await
}

/// An email with a link for one user.
struct Link {
    purpose: Purpose,
    kind: EmailKind,
    page: &'static str,
    life_seconds: i64,
}

async fn send_link(
    shared: &Shared,
    tx: &mut Tx,
    link: &Link,
    person: PersonId,
    email: &str,
    name: &str,
) -> Result<(), ApiError> {
    let token = Token::fresh(shared.random.as_ref())?;
    people::void_tokens(tx, link.purpose, Some(person)).await?;
    people::issue_token(
        tx,
        link.purpose,
        Some(person),
        &token.hash,
        link.life_seconds,
    )
    .await?;
    let message = OutgoingEmail {
        kind: link.kind,
        to: email,
        content: Content {
            link: shared.settings.link(link.page, token.text.reveal()),
            name: name.to_owned(),
            ..Content::default()
        },
        expires_at: database_now(tx).await?.plus_seconds(link.life_seconds),
    };
    emails::write(shared, tx, message).await
}

async fn remind(shared: &Shared, tx: &mut Tx, email: &str) -> Result<(), ApiError> {
    let person = people::by_email(tx, email).await?;
    let Some(person) = person.filter(|person| person.disabled_at.is_none()) else {
        return Ok(());
    };
    let link = Link {
        purpose: Purpose::Reset,
        kind: EmailKind::Reset,
        page: "reset",
        life_seconds: RESET_SECONDS,
    };
    send_link(shared, tx, &link, person.id, email, &person.name).await
}

/// The person of a link to a new password, which is used up.
async fn of_reset(tx: &mut Tx, token: &TokenHash) -> Result<Person, ApiError> {
    let person = people::take_token(tx, Purpose::Reset, token).await?;
    let person = person.flatten().ok_or_else(ApiError::token_invalid)?;
    is_welcome(people::find_person(tx, person).await?)
}

async fn renew(
    shared: &Shared,
    tx: &mut Tx,
    token: &TokenHash,
    password: &Secret,
    caller: &Caller,
    headers: &HeaderMap,
) -> Result<NewSession, ApiError> {
    let person = of_reset(tx, token).await?;
    people::set_password(tx, person.id, password).await?;
    // The link went to the address and nowhere else.
    people::verify_email(tx, person.id).await?;
    people::void_tokens(tx, Purpose::Reset, Some(person.id)).await?;
    people::end_all_but(tx, person.id, None).await?;
    NewSession::write(shared, tx, person.id, None, caller, headers).await
}
