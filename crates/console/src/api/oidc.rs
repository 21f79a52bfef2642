//! Signing in through a provider of OpenID Connect: there, with a state that belongs to this browser, and back.
//! A browser walks here by itself, so what goes wrong is a word on the sign-in page and not an error.

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Deserialize;
use trunkline_db::Tx;
use trunkline_store::attempt_counters::Attempt;
use trunkline_store::people::{self, NewPerson, Person, PersonId, SignIn};
use trunkline_store::{
    oidc::{NewOidcState, OidcState},
    sign_ups,
};
use trunkline_types::AccountId;

use super::people::{NewSession, take_of_network, with_token};
use crate::browser_binding::{self, Browser};
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::Caller;
use crate::oidc::{AuthorizationRequest, Identity, OidcError};
use crate::organisations;
use crate::safe_redirect::own_path;
use crate::session::{find, not_signed_in};
use crate::settings::Provider;
use crate::shared::Shared;
use crate::tokens::{self, Token};
use crate::trial_credit;

/// How long a way to a provider and back may take.
const VISIT_SECONDS: i64 = 600;
/// How far clocks may differ.
const SKEW_SECONDS: i64 = 60;
/// After so long who tried too often may try again, at the latest.
const HOUR_SECONDS: i64 = 3_600;
/// Longest name that is taken over from a provider.
const NAME_MAX_CHARACTERS: usize = 100;

/// How to begin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartQuery {
    /// The page to show afterwards: a path on this site. Another address is overlooked.
    return_to: Option<String>,
    /// Whether money and secrets are to be touched: the provider asks for a proof again.
    #[serde(default)]
    step_up: bool,
}

/// What a provider sends back.
#[derive(Default, Deserialize)]
pub(crate) struct CallbackQuery {
    /// What is exchanged for the provider's word.
    code: Option<String>,
    /// What went along.
    state: Option<String>,
}

/// Why the sign-in failed, as shown on the sign-in page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignInFailure {
    /// The way was begun in another browser, was used, or took too long.
    StateInvalid,
    /// The provider, or the person there, said no.
    ProviderRefused,
    /// The provider does not answer.
    ProviderAway,
    /// The provider does not vouch for the address.
    AddressUnverified,
    /// The address is of a domain that may not sign in here.
    DomainNotAllowed,
    /// An account has this address and has never verified it.
    AddressUnproved,
    /// No account matches, and sign-up through the provider is closed.
    NoPerson,
    /// The authentication is too old, or of another user.
    ProofNotFresh,
}

/// What came of a way.
enum ProviderSignIn {
    /// A cookie for the browser.
    In(Token),
    Not(SignInFailure),
}

/// Redirects the browser to an identity provider.
#[utoipa::path(get, path = "/api/oidc/{id}/start", operation_id = "start_provider", tag = "people",
    params(
        ("id" = String, Path, description = "The provider"),
        ("return_to" = Option<String>, Query, nullable = false,
            description = "Page to show afterwards: a path on this site. Other values are ignored"),
        ("step_up" = Option<bool>, Query, nullable = false,
            description = "Step-up: the provider authenticates the user again")
    ),
    responses(
        (status = 302, description = "Redirect to the provider, or to the sign-in page with an error code"),
        (status = 400, description = "Invalid parameter", body = ErrorBody),
        (status = 401, description = "Step-up requires a signed-in user", body = ErrorBody),
        (status = 404, description = "Unknown provider", body = ErrorBody),
        (status = 429, description = "Too many attempts from this network", body = ErrorBody)
    ))]
pub(super) async fn start(
    State(shared): State<Shared>,
    id: Result<Path<String>, PathRejection>,
    params: Result<Query<StartQuery>, QueryRejection>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Query(params) =
        params.map_err(|wrong| ApiError::new(ConsoleErrorCode::Invalid, wrong.body_text()))?;
    let id = id.map(|Path(id)| id).unwrap_or_default();
    let provider = shared.providers.find(&id);
    let provider = provider.ok_or_else(|| ApiError::not_found("provider"))?;
    if !take_of_network(&shared, Attempt::ProviderFromNetwork, caller.address).await? {
        return Err(ApiError::too_many_attempts(HOUR_SECONDS));
    }
    let sign_in = match params.step_up {
        true => Some(find(&shared, &headers).await?.ok_or_else(not_signed_in)?.id),
        false => None,
    };
    let browser = Browser::of(&shared, &headers)?;
    let random = shared.random.as_ref();
    let (state, nonce, verifier) = (
        Token::fresh(random)?,
        Token::fresh(random)?,
        Token::fresh(random)?,
    );
    let way = AuthorizationRequest {
        callback: &callback_url(&shared, &id),
        state: state.text.reveal(),
        nonce: nonce.text.reveal(),
        verifier: &verifier.text,
    };
    let address = match shared.providers.address(&id, &way, params.step_up).await {
        Ok(address) => address,
        Err(error) => return Ok(sorry(SignInFailure::from(error))),
    };
    let return_to = own_path(&shared.settings.dash_url, params.return_to.as_deref());
    let visit = NewOidcState {
        state: &state.hash,
        browser: &browser.hash,
        provider: &provider.id,
        nonce: nonce.text.reveal(),
        verifier: &verifier.text,
        return_to: &return_to,
        sign_in,
        life_seconds: VISIT_SECONDS,
    };
    let mut tx = shared.people.begin().await?;
    let done = trunkline_store::oidc::create_state(&mut tx, &visit).await;
    tx.finish(done).await?;
    Ok(browser.keep(&shared.settings, found(&address)))
}

/// Callback of an identity provider: signs in the user it authenticated.
#[utoipa::path(get, path = "/api/oidc/{id}/callback", operation_id = "end_provider", tag = "people",
    params(
        ("id" = String, Path, description = "The provider"),
        ("code" = Option<String>, Query, nullable = false,
            description = "The authorization code"),
        ("state" = Option<String>, Query, nullable = false, description = "The state parameter")
    ),
    responses(
        (status = 302, description = "Redirect to the requested page, or to /sign-in?error=CODE"),
        (status = 404, description = "Unknown provider", body = ErrorBody)
    ))]
pub(super) async fn callback(
    State(shared): State<Shared>,
    id: Result<Path<String>, PathRejection>,
    params: Result<Query<CallbackQuery>, QueryRejection>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = id.map(|Path(id)| id).unwrap_or_default();
    // A provider adds what it likes; what cannot be read has no state.
    let params = params.map(|Query(params)| params).unwrap_or_default();
    let provider = shared.providers.find(&id);
    let provider = provider.ok_or_else(|| ApiError::not_found("provider"))?;
    let Some(visit) = visit(&shared, provider, &params, &headers).await? else {
        return Ok(sorry(SignInFailure::StateInvalid));
    };
    let Some(code) = params.code.as_deref() else {
        return Ok(sorry(SignInFailure::ProviderRefused));
    };
    let way = AuthorizationRequest {
        callback: &callback_url(&shared, &id),
        state: "",
        nonce: &visit.nonce,
        verifier: &visit.verifier,
    };
    let identity = match shared.providers.identity(&id, &way, code).await {
        Ok(identity) => identity,
        Err(error) => return Ok(sorry(SignInFailure::from(error))),
    };
    let arrived = match visit.sign_in {
        Some(_) => trust(&shared, &visit, &identity, &headers).await?,
        None => arrive(&shared, provider, &identity, &caller, &headers).await?,
    };
    match arrived {
        ProviderSignIn::In(token) => Ok(with_token(&shared, found(&visit.return_to), &token.text)),
        ProviderSignIn::Not(why) => Ok(sorry(why)),
    }
}

/// The way that a browser comes back from; none if it is not one that this browser began with this provider,
/// or was used. It is used up now, whatever comes of it.
async fn visit(
    shared: &Shared,
    provider: &Provider,
    params: &CallbackQuery,
    headers: &HeaderMap,
) -> Result<Option<OidcState>, ApiError> {
    let state = params.state.as_deref().and_then(tokens::hash_of);
    let here = browser_binding::known(&shared.settings, headers);
    let (Some(state), Some(here)) = (state, here) else {
        return Ok(None);
    };
    let mut tx = shared.people.begin().await?;
    let done = trunkline_store::oidc::take_state(&mut tx, &state).await;
    let visit = tx.finish(done).await?;
    Ok(visit.filter(|visit| visit.provider == provider.id && visit.browser[..] == here[..]))
}

/// Signs in who a provider says it is.
async fn arrive(
    shared: &Shared,
    provider: &Provider,
    identity: &Identity,
    caller: &Caller,
    headers: &HeaderMap,
) -> Result<ProviderSignIn, ApiError> {
    let email = identity.email.as_deref();
    let email = email.and_then(|email| people::check_email("email", email).ok());
    let Some(email) = email else {
        return Ok(ProviderSignIn::Not(SignInFailure::AddressUnverified));
    };
    if !is_of(&email, &provider.allowed_domains) {
        return Ok(ProviderSignIn::Not(SignInFailure::DomainNotAllowed));
    }
    let mut tx = shared.people.begin().await?;
    let done = async {
        let (person, account) = match person(shared, &mut tx, provider, identity, &email).await? {
            Ok(found) => found,
            Err(why) => return Ok(ProviderSignIn::Not(why)),
        };
        trunkline_store::oidc::link_person(&mut tx, &identity.issuer, &identity.subject, person)
            .await?;
        // The provider may have known them from days ago: money and secrets need a fresh proof.
        let opened =
            NewSession::write_untrusted(shared, &mut tx, person, account, caller, headers).await?;
        Ok(ProviderSignIn::In(opened.token))
    }
    .await;
    tx.finish(done).await
}

/// The user of a provider identity: by its subject, else by an address verified on both sides, else a new
/// user if sign-up is allowed.
async fn person(
    shared: &Shared,
    tx: &mut Tx,
    provider: &Provider,
    identity: &Identity,
    email: &str,
) -> Result<Result<(PersonId, Option<AccountId>), SignInFailure>, ApiError> {
    let is_welcome = |person: &Person| person.disabled_at.is_none();
    if let Some(id) =
        trunkline_store::oidc::person_at(tx, &identity.issuer, &identity.subject).await?
    {
        let person = people::find_person(tx, id).await?.filter(is_welcome);
        return Ok(person
            .map(|person| (person.id, None))
            .ok_or(SignInFailure::NoPerson));
    }
    if let Some(person) = people::by_email(tx, email).await? {
        return Ok(match person.email_verified_at {
            // The account's creator may not own the address: it must be verified here first.
            None => Err(SignInFailure::AddressUnproved),
            Some(_) if is_welcome(&person) => Ok((person.id, None)),
            Some(_) => Err(SignInFailure::NoPerson),
        });
    }
    let invitation = sign_ups::invitation_for(tx, email).await?;
    if invitation.is_none() && !provider.makes_people {
        return Ok(Err(SignInFailure::NoPerson));
    }
    let name = name_of(identity, email);
    let new = NewPerson {
        email,
        name: &name,
        password: None,
        is_verified: true,
        is_operator: false,
    };
    let Some(person) = people::create_person(tx, &new).await? else {
        return Ok(Err(SignInFailure::StateInvalid));
    };
    let account = match invitation {
        Some(invitation) => {
            people::accept(tx, invitation.id, person).await?;
            people::add_member(tx, invitation.account, person, invitation.role).await?;
            invitation.account
        }
        None => {
            let account = organisations::create(tx, shared.random.as_ref(), &name, person).await?;
            trial_credit::grant_trial(shared, tx, account, email).await?;
            account
        }
    };
    tracing::info!(person.id = person.number(), %account, "sign-in through provider succeeded");
    Ok(Ok((person, Some(account))))
}

/// Trusts a sign-in with money and secrets again, if its person has just proved themselves at the provider.
async fn trust(
    shared: &Shared,
    visit: &OidcState,
    identity: &Identity,
    headers: &HeaderMap,
) -> Result<ProviderSignIn, ApiError> {
    let sign_in = find(shared, headers).await?;
    let same = |sign_in: &SignIn| visit.sign_in == Some(sign_in.id);
    let Some(sign_in) = sign_in.filter(same) else {
        return Ok(ProviderSignIn::Not(SignInFailure::StateInvalid));
    };
    let since = visit.began_at.saturating_sub(SKEW_SECONDS);
    if identity.proved_at.is_none_or(|at| at < since) {
        return Ok(ProviderSignIn::Not(SignInFailure::ProofNotFresh));
    }
    let token = Token::fresh(shared.random.as_ref())?;
    let mut tx = shared.people.begin().await?;
    let done = async {
        let person =
            trunkline_store::oidc::person_at(&mut tx, &identity.issuer, &identity.subject).await?;
        if person != Some(sign_in.person) {
            return Ok::<_, ApiError>(false);
        }
        Ok(people::renew(&mut tx, sign_in.id, &token.hash).await?)
    }
    .await;
    Ok(if tx.finish(done).await? {
        ProviderSignIn::In(token)
    } else {
        ProviderSignIn::Not(SignInFailure::ProofNotFresh)
    })
}

fn callback_url(shared: &Shared, id: &str) -> String {
    format!("{}/api/oidc/{id}/callback", shared.settings.dash_url)
}

fn is_of(email: &str, domains: &[String]) -> bool {
    let domain = email.rsplit_once('@').map(|(_, domain)| domain);
    domains.is_empty() || domain.is_some_and(|own| domains.iter().any(|domain| domain == own))
}

/// The provider's name of the user, truncated; else the local part of the address.
fn name_of(identity: &Identity, email: &str) -> String {
    let reported = identity.name.as_deref().unwrap_or_default();
    let reported: String = reported
        .chars()
        .filter(|c| !c.is_control())
        .take(NAME_MAX_CHARACTERS)
        .collect();
    match people::check_person_name("name", &reported) {
        Ok(name) => name,
        Err(_) => {
            let local = email.split('@').next().unwrap_or(email);
            local.chars().take(NAME_MAX_CHARACTERS).collect()
        }
    }
}

fn found(address: &str) -> Response {
    let mut answered = StatusCode::FOUND.into_response();
    match HeaderValue::from_str(address) {
        Ok(address) => {
            answered.headers_mut().insert(LOCATION, address);
            answered
        }
        Err(_) => ApiError::unavailable().into_response(),
    }
}

fn sorry(why: SignInFailure) -> Response {
    tracing::info!(why = why.as_str(), "sign-in through provider failed");
    found(&format!("/sign-in?error={}", why.as_str()))
}

// === impl SignInFailure ===

impl SignInFailure {
    const fn as_str(self) -> &'static str {
        match self {
            Self::StateInvalid => "state_invalid",
            Self::ProviderRefused => "provider_refused",
            Self::ProviderAway => "provider_away",
            Self::AddressUnverified => "address_unverified",
            Self::DomainNotAllowed => "domain_not_allowed",
            Self::AddressUnproved => "address_unproved",
            Self::NoPerson => "no_person",
            Self::ProofNotFresh => "proof_not_fresh",
        }
    }
}

impl From<OidcError> for SignInFailure {
    fn from(error: OidcError) -> Self {
        match error {
            OidcError::Away => Self::ProviderAway,
            OidcError::Refused => Self::ProviderRefused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_domains_count() {
        let domains = ["example.com".to_owned()];
        assert!(is_of("ada@example.com", &domains));
        assert!(is_of("ada@anything.example", &[]));
        for other in [
            "ada@evil-example.com",
            "ada@sub.example.com",
            "ada@example.com.evil",
        ] {
            assert!(!is_of(other, &domains), "{other}");
        }
    }

    #[test]
    fn a_name_is_taken_over_as_far_as_it_may_be() {
        let identity = |name: Option<&str>| Identity {
            issuer: String::new(),
            subject: String::new(),
            email: None,
            name: name.map(str::to_owned),
            proved_at: None,
        };
        assert_eq!(
            name_of(&identity(Some("Ada\u{0} L.")), "a@b.example"),
            "Ada L."
        );
        assert_eq!(name_of(&identity(Some(" ")), "ada@b.example"), "ada");
        assert_eq!(name_of(&identity(None), "ada@b.example"), "ada");
        let long = "ü".repeat(300);
        assert_eq!(name_of(&identity(Some(&long)), "a@b").chars().count(), 100);
    }
}
