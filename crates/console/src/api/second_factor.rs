//! The second factor of a person: set up, given at sign-in, replaced and turned off. Its secret is sealed, a code
//! counts once, and attempts are bounded by person and device.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use serde::Serialize;
use serde_json::json;
use trunkline_keyring::{Binding, Purpose};
use trunkline_store::action_log::{self, ActorKind, NewAction};
use trunkline_store::attempt_counters::{self, Attempt};
use trunkline_store::people::{self, PersonId, SecondFactor, SignIn};
use trunkline_types::SecretBytes;
use utoipa::ToSchema;

use super::people::{done, hash_of_device, sign_in_failed};
use super::session::{Session, answer};
use crate::browser_binding::{self, Browser};
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::{Caller, JsonBody};
use crate::request_bodies::{EmptyBody, SecondFactorCode};
use crate::session::{AuthenticatedUser, actor_of, find_any, not_signed_in};
use crate::shared::Shared;
use crate::times::rfc3339;
use crate::tokens::Token;
use crate::totp::{self, Typed};

const HOUR_SECONDS: i64 = 3_600;

/// The second factor of the signed-in user.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SecondFactor)]
pub(crate) struct SecondFactorView {
    /// Whether it is on.
    is_enabled: bool,
    /// Since when; null if it is off.
    #[schema(required, format = DateTime)]
    enabled_at: Option<String>,
    /// Recovery codes that were not used.
    recovery_codes_left: i64,
    /// Whether it cannot be turned off: operators need it.
    is_required: bool,
}

/// A secret to enter into an authenticator app.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SecondFactorSecret {
    /// The secret in base 32.
    #[schema(example = "JBSWY3DPEHPK3PXP")]
    secret: String,
    /// The same as an address for a QR code.
    #[schema(example = "otpauth://totp/Trunkline:ada%40example%2Ecom?secret=JBSWY3DPEHPK3PXP")]
    uri: String,
}

/// Recovery codes. They are shown once; each works once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecoveryCodes {
    /// The codes.
    recovery_codes: Vec<String>,
}

/// Gives the code after the password and completes the sign-in.
#[utoipa::path(post, path = "/api/session/second-factor", operation_id = "give_second_factor", tag = "people",
    request_body = SecondFactorCode,
    responses(
        (status = 200, description = "Signed in; the session cookie is renewed", body = Session),
        (status = 401, description = "No password was given, or the code is wrong or was used", body = ErrorBody),
        (status = 429, description = "Too many wrong codes", body = ErrorBody)
    ))]
pub(super) async fn give(
    State(shared): State<Shared>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<SecondFactorCode>,
) -> Result<Response, ApiError> {
    let sign_in = find_any(&shared, &headers).await?;
    let sign_in = sign_in.filter(|found| found.has_second_factor);
    let sign_in = sign_in.ok_or_else(not_signed_in)?;
    take(&shared, &sign_in, Some(&headers), body.code.reveal()).await?;
    let token = Token::fresh(shared.random.as_ref())?;
    let browser = Browser::of(&shared, &headers)?;
    let mut tx = shared.people.begin().await?;
    let passed = async {
        people::remember_device(&mut tx, &hash_of_device(sign_in.person, &browser.hash)).await?;
        people::pass_second_factor(&mut tx, sign_in.id, &token.hash).await
    };
    let passed = passed.await;
    if !tx.finish(passed).await? {
        return Err(not_signed_in());
    }
    let answered = answer(&shared, &token).await?;
    Ok(browser.keep(&shared.settings, answered))
}

/// Returns the second factor of the signed-in user.
#[utoipa::path(get, path = "/api/second-factor", operation_id = "show_second_factor", tag = "people",
    responses((status = 200, description = "The second factor", body = SecondFactorView)))]
pub(super) async fn show(
    State(shared): State<Shared>,
    AuthenticatedUser(own): AuthenticatedUser,
) -> Result<Json<SecondFactorView>, ApiError> {
    let mut session = shared.people.session().await?;
    let factor = people::second_factor(&mut session, own.person, true).await?;
    let left = people::recovery_codes_left(&mut session, own.person).await?;
    Ok(Json(SecondFactorView {
        is_enabled: factor.is_some(),
        enabled_at: factor.and_then(|factor| factor.confirmed_at).map(rfc3339),
        recovery_codes_left: left,
        is_required: own.operator.is_some(),
    }))
}

/// Begins to set up a second factor. One that is on stays on until the new one is confirmed.
#[utoipa::path(post, path = "/api/second-factor/enrol", operation_id = "enrol_second_factor", tag = "people",
    request_body = EmptyBody,
    responses((status = 200, description = "A secret to confirm with a code", body = SecondFactorSecret)))]
pub(super) async fn enrol(
    State(shared): State<Shared>,
    user: AuthenticatedUser,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Json<SecondFactorSecret>, ApiError> {
    user.require_step_up()?;
    let AuthenticatedUser(own) = user;
    let mut secret = [0; totp::SECRET_BYTES];
    shared.random.fill(&mut secret)?;
    let context = people::secret_context(own.person);
    let binding = Binding::of_operator(&context);
    let sealed = shared.keyring.seal(Purpose::Credentials, &binding, &secret);
    let sealed = sealed.map_err(|error| {
        tracing::error!(%error, "sealing a second factor failed");
        ApiError::unavailable()
    })?;
    let mut tx = shared.people.begin().await?;
    let begun = people::begin_second_factor(&mut tx, own.person, &sealed).await;
    tx.finish(begun).await?;
    Ok(Json(SecondFactorSecret {
        secret: totp::base32(&secret),
        uri: totp::uri(&shared.settings.name, &own.email, &secret),
    }))
}

/// Turns the second factor on that was begun, with a code of it, and signs out other devices.
#[utoipa::path(post, path = "/api/second-factor/confirm", operation_id = "confirm_second_factor", tag = "people",
    request_body = SecondFactorCode,
    responses(
        (status = 200, description = "On; recovery codes, this once", body = RecoveryCodes),
        (status = 401, description = "Wrong code", body = ErrorBody),
        (status = 409, description = "None was begun", body = ErrorBody)
    ))]
pub(super) async fn confirm(
    State(shared): State<Shared>,
    user: AuthenticatedUser,
    caller: Caller,
    JsonBody(body): JsonBody<SecondFactorCode>,
) -> Result<Json<RecoveryCodes>, ApiError> {
    user.require_step_up()?;
    let AuthenticatedUser(own) = user;
    count(&shared, &own, None).await?;
    let mut session = shared.people.session().await?;
    let begun = people::second_factor(&mut session, own.person, false).await?;
    drop(session);
    let none_begun = || {
        let text = "no second factor is being set up; begin with POST /api/second-factor/enrol";
        ApiError::new(ConsoleErrorCode::Conflict, text)
    };
    let begun = begun.ok_or_else(none_begun)?;
    let Some(Typed::Code(code)) = totp::read(body.code.reveal()) else {
        return Err(wrong_code());
    };
    let secret = open(&shared, own.person, &begun)?;
    let step = totp::step_of(&secret, code, own.now).ok_or_else(wrong_code)?;
    let codes = totp::recovery_codes(shared.random.as_ref())?;
    let hashes: Vec<_> = codes.iter().map(|(_, hash)| *hash).collect();
    let mut tx = shared.people.begin().await?;
    let confirmed = async {
        if !people::confirm_second_factor(&mut tx, own.person, begun.id, step).await? {
            return Err(none_begun());
        }
        people::set_recovery_codes(&mut tx, own.person, &hashes).await?;
        people::end_all_but(&mut tx, own.person, Some(own.id)).await?;
        // This device has just proved that it has the factor; its token stays, because a page is open on it.
        people::note_second_factor(&mut tx, own.id).await?;
        log(&mut tx, &own, caller, "confirm_second_factor").await?;
        Ok(())
    };
    let confirmed = confirmed.await;
    tx.finish(confirmed).await?;
    Ok(Json(RecoveryCodes {
        recovery_codes: codes.into_iter().map(|(text, _)| text).collect(),
    }))
}

/// Makes new recovery codes; the old ones are void.
#[utoipa::path(post, path = "/api/second-factor/recovery-codes", operation_id = "renew_recovery_codes",
    tag = "people", request_body = EmptyBody,
    responses((status = 200, description = "Recovery codes, this once", body = RecoveryCodes)))]
pub(super) async fn renew_codes(
    State(shared): State<Shared>,
    user: AuthenticatedUser,
    caller: Caller,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Json<RecoveryCodes>, ApiError> {
    user.require_step_up()?;
    let AuthenticatedUser(own) = user;
    if !own.has_second_factor {
        let text = "no second factor is on. Nothing was changed";
        return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
    }
    let codes = totp::recovery_codes(shared.random.as_ref())?;
    let hashes: Vec<_> = codes.iter().map(|(_, hash)| *hash).collect();
    let mut tx = shared.people.begin().await?;
    let renewed = async {
        people::set_recovery_codes(&mut tx, own.person, &hashes).await?;
        log(&mut tx, &own, caller, "renew_recovery_codes").await
    };
    let renewed = renewed.await;
    tx.finish(renewed).await?;
    Ok(Json(RecoveryCodes {
        recovery_codes: codes.into_iter().map(|(text, _)| text).collect(),
    }))
}

/// Turns the second factor off. Operators cannot.
#[utoipa::path(post, path = "/api/second-factor/disable", operation_id = "disable_second_factor", tag = "people",
    request_body = EmptyBody,
    responses(
        (status = 204, description = "Off"),
        (status = 409, description = "The user is an operator", body = ErrorBody)
    ))]
pub(super) async fn disable(
    State(shared): State<Shared>,
    user: AuthenticatedUser,
    caller: Caller,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Response, ApiError> {
    user.require_step_up()?;
    let AuthenticatedUser(own) = user;
    if own.operator.is_some() {
        let text =
            "operators need a second factor; set up another one instead. Nothing was changed";
        return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
    }
    let mut tx = shared.people.begin().await?;
    let removed = async {
        people::remove_second_factor(&mut tx, own.person).await?;
        log(&mut tx, &own, caller, "disable_second_factor").await
    };
    let removed = removed.await;
    tx.finish(removed).await?;
    Ok(done())
}

/// Takes a code of the person once, or refuses it. The attempt is counted before the code is looked at.
pub(super) async fn take(
    shared: &Shared,
    sign_in: &SignIn,
    headers: Option<&HeaderMap>,
    text: &str,
) -> Result<(), ApiError> {
    count(shared, sign_in, headers).await?;
    let typed = totp::read(text).ok_or_else(wrong_code)?;
    let mut session = shared.people.session().await?;
    let factor = people::second_factor(&mut session, sign_in.person, true).await?;
    let factor = factor.ok_or_else(not_signed_in)?;
    drop(session);
    let step = match typed {
        Typed::Code(code) => {
            let secret = open(shared, sign_in.person, &factor)?;
            let step = totp::step_of(&secret, code, sign_in.now);
            Some(step.ok_or_else(wrong_code)?)
        }
        Typed::Recovery(_) => None,
    };
    let mut tx = shared.people.begin().await?;
    let taken = async {
        match (typed, step) {
            (Typed::Recovery(hash), _) => {
                people::take_recovery_code(&mut tx, sign_in.person, &hash).await
            }
            (Typed::Code(_), Some(step)) => people::take_step(&mut tx, factor.id, step).await,
            (Typed::Code(_), None) => Ok(false),
        }
    };
    let taken = taken.await;
    if tx.finish(taken).await? {
        return Ok(());
    }
    Err(wrong_code())
}

/// Who tries codes on a device that the person never used does not lock the person out on their own.
async fn count(
    shared: &Shared,
    sign_in: &SignIn,
    headers: Option<&HeaderMap>,
) -> Result<(), ApiError> {
    let mut who = sign_in.person.number().to_be_bytes().to_vec();
    let device = headers.and_then(|headers| browser_binding::known(&shared.settings, headers));
    if let Some(cookie) = device {
        let device = hash_of_device(sign_in.person, &cookie);
        let mut session = shared.people.session().await?;
        if people::is_known_device(&mut session, &device).await? {
            who.extend_from_slice(&device);
        }
    }
    if attempt_counters::take(&shared.people, Attempt::SecondFactor, &who).await? {
        return Ok(());
    }
    Err(ApiError::too_many_attempts(HOUR_SECONDS))
}

fn open(shared: &Shared, person: PersonId, factor: &SecondFactor) -> Result<SecretBytes, ApiError> {
    let context = people::secret_context(person);
    let binding = Binding::of_operator(&context);
    let opened = shared
        .keyring
        .open(Purpose::Credentials, &binding, &factor.sealed);
    opened.map_err(|error| {
        tracing::error!(%error, %person, "second factor cannot be opened: sealed by another keyring");
        ApiError::unavailable()
    })
}

async fn log(
    tx: &mut trunkline_db::Tx,
    own: &SignIn,
    caller: Caller,
    action: &str,
) -> Result<(), ApiError> {
    let kind = match own.operator {
        Some(_) => ActorKind::Operator,
        None => ActorKind::Member,
    };
    let new = NewAction {
        action,
        account: own.active_account.map(|(account, _)| account),
        subject: &format!("person {}", own.email),
        after: Some(json!({ "second_factor": action != "disable_second_factor" })),
        ..NewAction::default()
    };
    Ok(action_log::write(tx, &actor_of(kind, own, Some(caller)), &new).await?)
}

fn wrong_code() -> ApiError {
    let text = "the code is wrong, was used already or has expired; wait for the next one. A recovery code \
                works once";
    ApiError::new(sign_in_failed().kind, text)
}
