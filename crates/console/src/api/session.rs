//! Who is signed in: asked, begun, ended, looking elsewhere, and trusted with money for a while.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::HeaderMap;
use serde::Serialize;
use trunkline_db::Database;
use trunkline_ledger::accounts;
use trunkline_store::people::{self, Membership, SignIn};
use trunkline_types::AccountId;
use utoipa::ToSchema;

use super::people::{GivenIn, NewSession, RoleName, done, person_of, with_token, without_token};
use super::second_factor;
use crate::error::{ApiError, ErrorBody};
use crate::json_body::{Caller, JsonBody};
use crate::operator_bodies::OperatorRoleName;
use crate::operator_session::{OperatorRight, needs_second_factor};
use crate::reply;
use crate::request_bodies::{SignInBody, StepUpBody, SwitchBody};
use crate::session::{AuthenticatedUser, Right, find_any, is_whole, not_signed_in};
use crate::session_cookie;
use crate::settings::{ConsoleSettings, Mode, SignUp};
use crate::shared::Shared;
use crate::times::rfc3339;
use crate::tokens::{self, Token};

/// The signed-in user, their permissions and public instance information.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Session {
    /// Whether a user is signed in.
    signed_in: bool,
    /// The signed-in user; null for none.
    #[schema(required)]
    person: Option<PersonView>,
    /// The selected organisation; null for none.
    #[schema(required)]
    account: Option<AccountRef>,
    /// All organisations of the user.
    accounts: Vec<AccountRef>,
    /// Permissions beyond reading in the selected organisation.
    rights: Vec<Right>,
    /// Until when step-up is valid; null if it is not.
    #[schema(required, format = DateTime)]
    stepped_up_until: Option<String>,
    /// The second factor; null until a password was given.
    #[schema(required)]
    second_factor: Option<SecondFactorState>,
    /// The user as an operator; null for other users.
    #[schema(required)]
    operator: Option<OperatorView>,
    /// Whether the selected organisation is one that an operator looks at, read-only.
    viewing: bool,
    /// Public information on this instance.
    instance: InstanceInfo,
}

/// The second factor of a user who is signing in or signed in.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct SecondFactorState {
    /// Whether the user has one.
    is_enabled: bool,
    /// Whether its code is still to be given: `POST /api/session/second-factor`.
    is_needed: bool,
}

/// An operator of this instance.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OperatorAccess)]
pub(crate) struct OperatorView {
    /// Role.
    #[schema(inline = false)]
    role: OperatorRoleName,
    /// Permissions beyond reading.
    rights: Vec<OperatorRight>,
    /// Whether a second factor is to be set up before anything else.
    needs_second_factor: bool,
}

/// A user.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Person)]
pub(crate) struct PersonView {
    /// User id.
    id: i64,
    /// Email address.
    email: String,
    /// Name.
    name: String,
    /// Whether the user is an operator.
    is_operator: bool,
    /// Whether the user has a password.
    has_password: bool,
    /// Whether the email address is verified.
    email_verified: bool,
}

/// An organisation of the user.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct AccountRef {
    /// Account id.
    pub(super) id: i64,
    /// Display name.
    pub(super) name: String,
    /// The user's role in it.
    #[schema(inline = false)]
    pub(super) role: RoleName,
    /// Live or test.
    pub(super) kind: AccountKind,
}

/// Live or test account.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AccountKind {
    /// It is.
    Live,
    /// For trying things out.
    Test,
}

/// Public information on this instance.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InstanceInfo {
    /// Display name.
    name: String,
    /// Base URL of the API, with `/v1`.
    base_url: String,
    /// Sign-up policy.
    sign_up: SignUpName,
    /// Whether no operator account exists yet; `trunkline serve` prints the setup link.
    needs_setup: bool,
    /// Whether a mail server is configured.
    sends_mail: bool,
    /// An identity provider.
    providers: Vec<ProviderView>,
    /// Mode of the instance.
    mode: ModeName,
    /// Trial credit of new organisations; null for none.
    #[schema(required)]
    trial: Option<TrialView>,
}

/// Sign-up policy.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = SignUp)]
pub(crate) enum SignUpName {
    /// Only operators create accounts.
    Closed,
    /// Who was invited to.
    Invitation,
    /// Open to all.
    Open,
}

/// Mode of the instance.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Mode)]
pub(crate) enum ModeName {
    /// `trunkline dev`.
    Dev,
    /// `trunkline serve`.
    Live,
}

/// An identity provider.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Provider)]
pub(crate) struct ProviderView {
    /// Id in URLs.
    id: String,
    /// Display name.
    name: String,
}

/// Trial credit of new organisations.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Trial)]
pub(crate) struct TrialView {
    /// Amount in USD.
    amount_usd: String,
    /// Validity in days.
    days: u32,
}

/// Returns the session; also without a signed-in user.
#[utoipa::path(get, path = "/api/session", operation_id = "show_session", tag = "people",
    responses((status = 200, description = "The session and public instance information", body = Session)))]
pub(super) async fn show(
    State(shared): State<Shared>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let mut sign_in = find_any(&shared, &headers).await?;
    // An organisation that was left or closed is not looked at any more; the next one is, and the page
    // that asks here shows which.
    if let Some(lost) = sign_in
        .as_ref()
        .filter(|found| found.active_account.is_none())
    {
        let mut tx = shared.people.begin().await?;
        let done = people::switch_to_first_account(&mut tx, lost.id).await;
        tx.finish(done).await?;
        sign_in = find_any(&shared, &headers).await?;
    }
    let is_over = sign_in.is_none() && session_cookie::is_there(&shared.settings, &headers);
    let session = Session::of(&shared, sign_in).await?;
    let answered = reply::json(&HeaderMap::new(), &session)?;
    if is_over {
        return Ok(without_token(&shared, answered));
    }
    Ok(answered)
}

/// Signs in. An earlier session of the browser ends.
#[utoipa::path(post, path = "/api/session", operation_id = "sign_in", tag = "people",
    request_body = SignInBody,
    responses(
        (status = 200, description = "Signed in; the cookie is set", body = Session),
        (status = 401, description = "Wrong email or password, or too many attempts", body = ErrorBody),
        (status = 429, description = "Too many failed attempts from this network", body = ErrorBody)
    ))]
pub(super) async fn open(
    State(shared): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(body): JsonBody<SignInBody>,
) -> Result<Response, ApiError> {
    let email = body.email.trim().to_ascii_lowercase();
    let person = person_of(
        &shared,
        &email,
        &body.password,
        &caller,
        GivenIn::Browser(&headers),
    )
    .await?;
    let mut tx = shared.people.begin().await?;
    let done = NewSession::write(&shared, &mut tx, person.id, None, &caller, &headers).await;
    let opened = tx.finish(done).await?;
    opened.answer(&shared).await
}

/// Signs out on this device.
#[utoipa::path(delete, path = "/api/session", operation_id = "sign_out", tag = "people",
    responses((status = 204, description = "Signed out on this device")))]
pub(super) async fn close(
    State(shared): State<Shared>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if let Some(sign_in) = find_any(&shared, &headers).await? {
        let mut tx = shared.people.begin().await?;
        let ended = people::end(&mut tx, sign_in.person, sign_in.id).await;
        tx.finish(ended).await?;
    }
    Ok(without_token(&shared, done()))
}

/// Selects another organisation of the user.
#[utoipa::path(post, path = "/api/session/account", operation_id = "switch_account", tag = "people",
    request_body = SwitchBody,
    responses(
        (status = 200, description = "Organisation selected; the session cookie is renewed", body = Session),
        (status = 404, description = "The user is not a member of this organisation", body = ErrorBody)
    ))]
pub(super) async fn switch(
    State(shared): State<Shared>,
    AuthenticatedUser(sign_in): AuthenticatedUser,
    JsonBody(body): JsonBody<SwitchBody>,
) -> Result<Response, ApiError> {
    let token = Token::fresh(shared.random.as_ref())?;
    let mut tx = shared.people.begin().await?;
    let account = AccountId::new(body.account_id);
    let done = people::switch_account(&mut tx, sign_in.id, account, &token.hash).await;
    if !tx.finish(done).await? {
        return Err(ApiError::not_found("organisation"));
    }
    answer(&shared, &token).await
}

/// Step-up: confirms the password, or the second factor of a user without one, which allows changes of billing and
/// secrets for ten minutes.
#[utoipa::path(post, path = "/api/session/step-up", operation_id = "step_up", tag = "people",
    request_body = StepUpBody,
    responses(
        (status = 200, description = "Confirmed; the session cookie is renewed", body = Session),
        (status = 401, description = "Wrong password, or too many attempts", body = ErrorBody),
        (status = 429, description = "Too many failed attempts from this network", body = ErrorBody)
    ))]
pub(super) async fn step_up(
    State(shared): State<Shared>,
    AuthenticatedUser(sign_in): AuthenticatedUser,
    caller: Caller,
    JsonBody(body): JsonBody<StepUpBody>,
) -> Result<Response, ApiError> {
    match (&body.password, &body.code) {
        (None, Some(code)) if !sign_in.has_password && sign_in.has_second_factor => {
            second_factor::take(&shared, &sign_in, None, code.reveal()).await?;
        }
        (Some(password), None) => {
            let given = GivenIn::Session(sign_in.id);
            person_of(&shared, &sign_in.email, password, &caller, given).await?;
        }
        (None, None) | (_, Some(_)) => {
            let text = "is required; users without a password give `code` instead";
            return Err(ApiError::invalid_param("password", text));
        }
    }
    let token = Token::fresh(shared.random.as_ref())?;
    let mut tx = shared.people.begin().await?;
    let done = people::renew(&mut tx, sign_in.id, &token.hash).await;
    if !tx.finish(done).await? {
        return Err(not_signed_in());
    }
    answer(&shared, &token).await
}

/// The session of a token that was just made, with the cookie.
pub(super) async fn answer(shared: &Shared, token: &Token) -> Result<Response, ApiError> {
    let hash = tokens::hash_of(token.text.reveal()).ok_or_else(ApiError::unavailable)?;
    let mut database = shared.people.session().await?;
    let sign_in = people::find_sign_in(&mut database, &hash).await?;
    drop(database);
    let session = Session::of(shared, sign_in).await?;
    let answered = axum::Json(session).into_response();
    Ok(with_token(shared, answered, &token.text))
}

impl NewSession {
    /// The session response, with the cookies of the session and of the browser.
    pub(super) async fn answer(&self, shared: &Shared) -> Result<Response, ApiError> {
        let answered = answer(shared, &self.token).await?;
        Ok(self.browser.keep(&shared.settings, answered))
    }
}

/// The organisations of a person as they are shown.
pub(super) async fn accounts_of(
    database: &Database,
    memberships: Vec<Membership>,
) -> Result<Vec<AccountRef>, ApiError> {
    let ids: Vec<AccountId> = memberships.iter().map(|member| member.account).collect();
    let kinds = accounts::kinds(database, &ids).await?;
    let refs = memberships.into_iter().map(|member| AccountRef {
        id: member.account.number(),
        role: member.role.into(),
        kind: match kinds.get(&member.account) {
            Some(accounts::AccountKind::Test) => AccountKind::Test,
            Some(accounts::AccountKind::Live) | None => AccountKind::Live,
        },
        name: member.name,
    });
    Ok(refs.collect())
}

/// The account that an operator looks at.
async fn viewed(
    database: &Database,
    account: AccountId,
    role: people::Role,
) -> Result<Option<AccountRef>, ApiError> {
    let mut session = database.session().await?;
    let found = trunkline_store::accounts::find(&mut session, account).await?;
    drop(session);
    let Some(found) = found else { return Ok(None) };
    let membership = Membership {
        account,
        name: found.name,
        role,
    };
    let refs = accounts_of(database, vec![membership]).await?;
    Ok(refs.into_iter().next())
}

// === impl Session ===

impl Session {
    /// The session response, with or without a user.
    pub(super) async fn of(shared: &Shared, sign_in: Option<SignIn>) -> Result<Self, ApiError> {
        let second_factor = sign_in.as_ref().map(|sign_in| SecondFactorState {
            is_enabled: sign_in.has_second_factor,
            is_needed: !is_whole(sign_in),
        });
        // Who has only given the password sees no more than a stranger.
        let sign_in = sign_in.filter(is_whole);
        let mut database = shared.people.session().await?;
        let needs_setup = !people::has_operator(&mut database).await?;
        let memberships = match &sign_in {
            Some(sign_in) => people::memberships(&mut database, sign_in.person).await?,
            None => Vec::new(),
        };
        drop(database);
        let accounts = accounts_of(&shared.people, memberships).await?;
        let looks_at = sign_in.as_ref().and_then(|sign_in| sign_in.active_account);
        let viewing = sign_in.as_ref().is_some_and(|sign_in| sign_in.is_viewing);
        let account = match looks_at.filter(|_| viewing) {
            Some((account, role)) => viewed(&shared.people, account, role).await?,
            None => looks_at.and_then(|(account, _)| {
                let own = |one: &&AccountRef| one.id == account.number();
                accounts.iter().find(own).cloned()
            }),
        };
        let rights = looks_at.map(|(_, role)| {
            let own = Right::ALL.into_iter().filter(|right| right.is_of(role));
            own.collect()
        });
        let until = sign_in.as_ref().and_then(|sign_in| {
            let until = sign_in.stepped_up_until;
            until.filter(|until| sign_in.now < *until)
        });
        let operator = sign_in
            .as_ref()
            .and_then(|sign_in| OperatorView::of(&shared.settings, sign_in));
        Ok(Self {
            second_factor,
            operator,
            viewing,
            signed_in: sign_in.is_some(),
            person: sign_in.map(PersonView::of),
            account,
            accounts,
            rights: rights.unwrap_or_default(),
            stepped_up_until: until.map(rfc3339),
            instance: InstanceInfo::of(&shared.settings, needs_setup),
        })
    }
}

// === impl OperatorView, PersonView, InstanceInfo ===

impl OperatorView {
    fn of(settings: &ConsoleSettings, sign_in: &SignIn) -> Option<Self> {
        let role = sign_in.operator?;
        let rights = OperatorRight::ALL.into_iter();
        Some(Self {
            role: role.into(),
            rights: rights.filter(|right| right.is_of(role)).collect(),
            needs_second_factor: needs_second_factor(settings, sign_in),
        })
    }
}

impl PersonView {
    fn of(sign_in: SignIn) -> Self {
        Self {
            id: sign_in.person.number(),
            email: sign_in.email,
            name: sign_in.name,
            is_operator: sign_in.operator.is_some(),
            has_password: sign_in.has_password,
            email_verified: sign_in.is_verified,
        }
    }
}

impl InstanceInfo {
    fn of(settings: &ConsoleSettings, needs_setup: bool) -> Self {
        let providers = settings.providers.iter().map(|provider| ProviderView {
            id: provider.id.clone(),
            name: provider.name.clone(),
        });
        Self {
            name: settings.name.clone(),
            base_url: settings.base_url.clone(),
            sign_up: match settings.sign_up {
                SignUp::Closed => SignUpName::Closed,
                SignUp::Invitation => SignUpName::Invitation,
                SignUp::Open => SignUpName::Open,
            },
            needs_setup,
            sends_mail: settings.sends_mail,
            providers: providers.collect(),
            mode: match settings.mode {
                Mode::Dev => ModeName::Dev,
                Mode::Live => ModeName::Live,
            },
            trial: settings.trial.map(|trial| TrialView {
                amount_usd: trial.amount.to_string(),
                days: trial.days,
            }),
        }
    }
}
