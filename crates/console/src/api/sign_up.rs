//! Self-service sign-up and email verification. Responses and their timing are the same whether the address
//! has an account or not.

use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use tokio::time::Instant;
use trunkline_db::{Tx, database_now};
use trunkline_store::attempt_counters::{self, Attempt};
use trunkline_store::emails::{Content, Kind as EmailKind};
use trunkline_store::people::{self, NewPerson, Person, Purpose, TokenHash};
use trunkline_store::sign_ups::{self, NewSignUp};
use trunkline_types::Secret;
use utoipa::ToSchema;

use super::people::{NewSession, take_of_network, with_token};
use super::session::Session;
use crate::browser_binding::{self, Browser};
use crate::emails::{self, OutgoingEmail};
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::{Caller, JsonBody};
use crate::organisations;
use crate::passwords;
use crate::request_bodies::{SignUpBody, VerifyBody};
use crate::settings::SignUp;
use crate::shared::Shared;
use crate::tokens::{self, Token};
use crate::trial_credit;

/// How long a link that proves an address is good.
pub(super) const VERIFY_SECONDS: i64 = 48 * 3_600;
/// Minimum response time, so that timing does not reveal whether the address is known.
pub(super) const EVEN: Duration = Duration::from_millis(400);
/// After so long who asked too often may ask again, at the latest.
const HOUR_SECONDS: i64 = 3_600;

/// The next step.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SignUpAnswer)]
pub(crate) struct SignUpView {
    /// The next step.
    status: NextStep,
}

/// The next step.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NextStep {
    /// An email was written to the address.
    CheckMail,
    /// Nothing: the invitation has proved the address.
    SignedIn,
}

/// Who signs up, checked.
struct Arrival<'a> {
    email: String,
    name: String,
    organisation: String,
    password: Secret,
    browser: &'a TokenHash,
}

/// Signs up. The response is the same whether the address is known or not; an email tells its owner.
#[utoipa::path(post, path = "/api/sign-up", operation_id = "sign_up", tag = "people",
    request_body = SignUpBody,
    responses(
        (status = 202, description = "Email sent, or signed in by the invitation", body = SignUpView),
        (status = 400, description = "Invalid field or invitation", body = ErrorBody),
        (status = 403, description = "Sign-up is closed, or requires an invitation", body = ErrorBody),
        (status = 409, description = "The invited address already has an account", body = ErrorBody),
        (status = 429, description = "Too many attempts from this network", body = ErrorBody)
    ))]
pub(super) async fn sign_up(
    State(shared): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(body): JsonBody<SignUpBody>,
) -> Result<Response, ApiError> {
    let ready = Instant::now().checked_add(EVEN);
    is_allowed(shared.settings.sign_up, body.invitation.is_some())?;
    let email = people::check_email("email", &body.email)?;
    let name = people::check_person_name("name", &body.name)?;
    let organisation = people::check_person_name("organisation", &body.organisation)?;
    passwords::check("password", &body.password, &email)?;
    from_network(&shared, &caller).await?;
    let password = shared.passwords.hash(&body.password).await?;
    let browser = Browser::of(&shared, &headers)?;
    let arrival = Arrival {
        email,
        name,
        organisation,
        password,
        browser: &browser.hash,
    };
    if let Some(invitation) = body.invitation {
        let opened = join(&shared, &arrival, &invitation, &caller, &headers).await?;
        let answered = accepted(NextStep::SignedIn);
        let answered = with_token(&shared, answered, &opened.token.text);
        return Ok(opened.browser.keep(&shared.settings, answered));
    }
    if attempt_counters::take(
        &shared.people,
        Attempt::EmailToAddress,
        arrival.email.as_bytes(),
    )
    .await?
    {
        let mut tx = shared.people.begin().await?;
        let done = arrive(&shared, &mut tx, &arrival).await;
        tx.finish(done).await?;
    }
    even(ready).await;
    Ok(browser.keep(&shared.settings, accepted(NextStep::CheckMail)))
}

/// Verifies an email address with the token of the emailed link, and signs in.
#[utoipa::path(post, path = "/api/email/verify", operation_id = "verify_email", tag = "people",
    request_body = VerifyBody,
    responses(
        (status = 200, description = "Email verified; the session cookie is set", body = Session),
        (status = 400, description = "The link is invalid, expired or already used", body = ErrorBody)
    ))]
pub(super) async fn verify(
    State(shared): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(body): JsonBody<VerifyBody>,
) -> Result<Response, ApiError> {
    let token = tokens::hash_of(body.token.reveal()).ok_or_else(ApiError::token_invalid)?;
    let mut tx = shared.people.begin().await?;
    let done = prove(&shared, &mut tx, &token, &caller, &headers).await;
    let opened = tx.finish(done).await?;
    opened.answer(&shared).await
}

fn is_allowed(sign_up: SignUp, is_invited: bool) -> Result<(), ApiError> {
    let text = match sign_up {
        SignUp::Open => return Ok(()),
        SignUp::Invitation if is_invited => return Ok(()),
        SignUp::Invitation => {
            "sign-up requires an invitation: open its link, or ask for one. Nothing was changed"
        }
        SignUp::Closed => "sign-up is closed; ask the operator for an account. Nothing was changed",
    };
    Err(ApiError::new(ConsoleErrorCode::SignUpClosed, text))
}

/// Rejects a network that requests too many emails.
pub(super) async fn from_network(shared: &Shared, caller: &Caller) -> Result<(), ApiError> {
    if take_of_network(shared, Attempt::EmailFromNetwork, caller.address).await? {
        return Ok(());
    }
    Err(ApiError::too_many_attempts(HOUR_SECONDS))
}

/// Waits until answers are given.
pub(super) async fn even(ready: Option<Instant>) {
    if let Some(ready) = ready {
        tokio::time::sleep_until(ready).await;
    }
}

fn accepted(status: NextStep) -> Response {
    (StatusCode::ACCEPTED, axum::Json(SignUpView { status })).into_response()
}

/// Keeps a sign-up until its address is proved; the owner of a known address is told.
async fn arrive(shared: &Shared, tx: &mut Tx, arrival: &Arrival<'_>) -> Result<(), ApiError> {
    let known = people::by_email(tx, &arrival.email).await?;
    let token = Token::fresh(shared.random.as_ref())?;
    let (kind, link) = match &known {
        Some(_) => (
            EmailKind::Known,
            format!("{}/sign-in", shared.settings.dash_url),
        ),
        None => {
            let new = NewSignUp {
                token: &token.hash,
                email: &arrival.email,
                name: &arrival.name,
                organisation: &arrival.organisation,
                password: &arrival.password,
                browser: arrival.browser,
                life_seconds: VERIFY_SECONDS,
            };
            sign_ups::create(tx, &new).await?;
            let link = shared.settings.link("verify", token.text.reveal());
            (EmailKind::Verify, link)
        }
    };
    // Text of an unverified caller is not emailed to an existing user.
    let name = known.map_or_else(|| arrival.name.clone(), |person| person.name);
    let message = OutgoingEmail {
        kind,
        to: &arrival.email,
        content: Content {
            link,
            name,
            ..Content::default()
        },
        expires_at: database_now(tx).await?.plus_seconds(VERIFY_SECONDS),
    };
    emails::write(shared, tx, message).await
}

/// Signs up by an invitation; its link verifies the address if it was emailed.
async fn join(
    shared: &Shared,
    arrival: &Arrival<'_>,
    invitation: &Secret,
    caller: &Caller,
    headers: &HeaderMap,
) -> Result<NewSession, ApiError> {
    let token = tokens::hash_of(invitation.reveal()).ok_or_else(ApiError::token_invalid)?;
    let mut tx = shared.people.begin().await?;
    let done = async {
        let invitation = people::open_invitation(&mut tx, &token).await?;
        let invitation = invitation.filter(|invitation| invitation.email == arrival.email);
        let invitation = invitation.ok_or_else(ApiError::token_invalid)?;
        let new = NewPerson {
            email: &arrival.email,
            name: &arrival.name,
            password: Some(&arrival.password),
            is_verified: invitation.is_mailed,
            is_operator: false,
        };
        let person = people::create_person(&mut tx, &new).await?;
        let person = person.ok_or_else(|| {
            let text = "this email already has an account: sign in, then open the invitation link. \
                        Nothing was changed";
            ApiError::new(ConsoleErrorCode::Conflict, text)
        })?;
        if !people::accept(&mut tx, invitation.id, person).await? {
            return Err(ApiError::token_invalid());
        }
        people::add_member(&mut tx, invitation.account, person, invitation.role).await?;
        let account = Some(invitation.account);
        NewSession::write(shared, &mut tx, person, account, caller, headers).await
    }
    .await;
    tx.finish(done).await
}

/// Proves an address: of a person who is there, or of a sign-up, which becomes a person with an organisation.
async fn prove(
    shared: &Shared,
    tx: &mut Tx,
    token: &TokenHash,
    caller: &Caller,
    headers: &HeaderMap,
) -> Result<NewSession, ApiError> {
    if let Some(Some(person)) = people::take_token(tx, Purpose::Verify, token).await? {
        is_welcome(people::find_person(tx, person).await?)?;
        people::verify_email(tx, person).await?;
        return NewSession::write(shared, tx, person, None, caller, headers).await;
    }
    let sign_up = sign_ups::take(tx, token).await?;
    let sign_up = sign_up.ok_or_else(ApiError::token_invalid)?;
    // In another browser the password may be an attacker's: it is dropped, and an email leads to a new one.
    let here = browser_binding::known(&shared.settings, headers);
    let is_same = here.is_some_and(|here| here[..] == sign_up.browser[..]);
    let new = NewPerson {
        email: &sign_up.email,
        name: &sign_up.name,
        password: is_same.then_some(&sign_up.password),
        is_verified: true,
        is_operator: false,
    };
    let person = people::create_person(tx, &new).await?;
    let person = person.ok_or_else(ApiError::token_invalid)?;
    let account =
        organisations::create(tx, shared.random.as_ref(), &sign_up.organisation, person).await?;
    trial_credit::grant_trial(shared, tx, account, &sign_up.email).await?;
    tracing::info!(person.id = person.number(), %account, "sign-up completed");
    NewSession::write(shared, tx, person, Some(account), caller, headers).await
}

/// A person who is not shut out.
pub(super) fn is_welcome(person: Option<Person>) -> Result<Person, ApiError> {
    let person = person.filter(|person| person.disabled_at.is_none());
    person.ok_or_else(ApiError::token_invalid)
}
