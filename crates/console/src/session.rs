//! Who asks: the person behind the cookie, the organisation that is looked at, and what they may do
//! there. Read anew with every request, so that a changed role or an ended sign-in counts at once.

use axum::extract::FromRequestParts;
use http::HeaderMap;
use http::request::Parts;
use serde::Serialize;
use serde_json::json;
use trunkline_db::{DbError, Tx, tenant};
use trunkline_store::action_log::{self, Actor, ActorKind, NewAction};
use trunkline_store::keys::Key;
use trunkline_store::people::{self, PersonId, Role, STEP_UP_SECONDS, SignIn};
use trunkline_types::{AccountId, Defect, Timestamp};
use utoipa::ToSchema;

use crate::error::{ApiError, ConsoleErrorCode};
use crate::json_body::Caller;
use crate::session_cookie;
use crate::settings::ConsoleSettings;
use crate::shared::Shared;
use crate::times::rfc3339;

/// A permission beyond reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) enum Right {
    /// Make, change, rotate and delete API keys and their budgets.
    #[serde(rename = "keys.write")]
    KeysWrite,
    /// Call models from the console.
    #[serde(rename = "playground")]
    Playground,
    #[serde(rename = "tasks.write")]
    TasksWrite,
    /// Redeem codes, set marks, export.
    #[serde(rename = "wallet.write")]
    WalletWrite,
    /// Invite, remove and promote members.
    #[serde(rename = "members.write")]
    MembersWrite,
    #[serde(rename = "account.write")]
    AccountWrite,
}

/// A signed-in user with a selected organisation.
#[derive(Debug, Clone)]
pub(crate) struct MemberSession {
    pub(crate) person: PersonId,
    pub(crate) email: String,
    pub(crate) account: AccountId,
    pub(crate) role: Role,
    /// Until when money and secrets may be touched.
    pub(crate) stepped_up_until: Option<Timestamp>,
    /// The database's time of this request.
    pub(crate) now: Timestamp,
    actor: Actor,
}

/// A signed-in user, with or without an organisation.
#[derive(Debug, Clone)]
pub(crate) struct AuthenticatedUser(pub(crate) SignIn);

// === impl Right ===

impl Right {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Self; 6] = [
        Self::KeysWrite,
        Self::Playground,
        Self::TasksWrite,
        Self::WalletWrite,
        Self::MembersWrite,
        Self::AccountWrite,
    ];

    /// Whether a role has it. Every role can read.
    pub(crate) const fn is_of(self, role: Role) -> bool {
        match role {
            Role::Owner | Role::Admin => true,
            Role::Developer => {
                matches!(self, Self::KeysWrite | Self::Playground | Self::TasksWrite)
            }
            Role::Billing => matches!(self, Self::WalletWrite),
            Role::Viewer => false,
        }
    }
}

// === impl MemberSession ===

impl MemberSession {
    /// Rejects a member without this right.
    pub(crate) fn require(&self, right: Right) -> Result<(), ApiError> {
        if right.is_of(self.role) {
            return Ok(());
        }
        let text = format!(
            "your role in this organisation, {}, does not allow this; an owner can change it. Nothing was changed",
            self.role.as_str()
        );
        Err(ApiError::new(ConsoleErrorCode::RoleNotAllowed, text))
    }

    /// Rejects a session without a recent password check: billing and secrets need it.
    pub(crate) fn require_step_up(&self) -> Result<(), ApiError> {
        require_step_up(self.stepped_up_until, self.now)
    }

    /// The session of a public endpoint, if there is one.
    pub(crate) async fn peek(
        shared: &Shared,
        headers: &HeaderMap,
    ) -> Result<Option<Self>, ApiError> {
        let Some(sign_in) = find(shared, headers).await? else {
            return Ok(None);
        };
        Ok(Self::of(sign_in, None).ok())
    }

    /// Writes what the member does to the log of actions, in the transaction of the change.
    pub(crate) async fn log(&self, tx: &mut Tx, action: &NewAction<'_>) -> Result<(), DbError> {
        let action = NewAction {
            account: Some(self.account),
            ..action.clone()
        };
        action_log::write(tx, &self.actor, &action).await
    }

    /// The same in a transaction of its own, for what another system has done.
    pub(crate) async fn log_apart(
        &self,
        shared: &Shared,
        action: &NewAction<'_>,
    ) -> Result<(), ApiError> {
        let mut tx = shared.people.begin().await?;
        let logged = self.log(&mut tx, action).await;
        Ok(tx.finish(logged).await?)
    }

    /// Logs a change of a key.
    pub(crate) async fn log_key(
        &self,
        tx: &mut Tx,
        action: &str,
        key: &Key,
    ) -> Result<(), DbError> {
        let subject = format!("key {} {}", key.id, key.hint);
        let fields = key.policy.fields();
        let after = json!({
            "name": key.name,
            "disabled": key.disabled_at.is_some(),
            "expires_at": fields.expires_at.map(rfc3339),
            "group": fields.group.name(),
            "models": fields.models,
        });
        let action = NewAction {
            action,
            subject: &subject,
            after: Some(after),
            ..NewAction::default()
        };
        self.log(tx, &action).await
    }

    /// From here on the request reads and writes rows of the organisation alone.
    fn of(sign_in: SignIn, caller: Option<Caller>) -> Result<Self, ApiError> {
        let Some((account, role)) = sign_in.active_account else {
            let text = "no organisation is selected, or you are not a member of it; select one, or ask \
                        an owner to invite you. Nothing was changed";
            return Err(ApiError::new(ConsoleErrorCode::RoleNotAllowed, text));
        };
        tenant::enter(account)?;
        Ok(Self {
            actor: actor_of(ActorKind::Member, &sign_in, caller),
            person: sign_in.person,
            email: sign_in.email,
            account,
            role,
            stepped_up_until: sign_in.stepped_up_until,
            now: sign_in.now,
        })
    }
}

impl FromRequestParts<Shared> for MemberSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, ApiError> {
        let AuthenticatedUser(sign_in) =
            AuthenticatedUser::from_request_parts(parts, shared).await?;
        let caller = Caller::from_request_parts(parts, shared).await?;
        let mut own = Self::of(sign_in, Some(caller))?;
        if Defect::ForeignFilter.is_on()
            && let Some(account) = named_account(&parts.headers)
        {
            own.account = account;
        }
        Ok(own)
    }
}

/// The account that a test has every query ask for, though it is another's.
fn named_account(headers: &HeaderMap) -> Option<AccountId> {
    let number = headers.get("x-defect-account")?.to_str().ok()?;
    Some(AccountId::new(number.parse().ok()?))
}

/// Who acts, from where.
pub(crate) fn actor_of(kind: ActorKind, sign_in: &SignIn, caller: Option<Caller>) -> Actor {
    let caller = caller.map(|caller| (caller.address, caller.agent));
    let (address, agent) = caller.unzip();
    Actor {
        kind,
        person: Some(sign_in.person),
        name: sign_in.email.clone(),
        address,
        agent,
    }
}

// === impl AuthenticatedUser ===

impl AuthenticatedUser {
    /// Rejects a session without a recent password check.
    pub(crate) fn require_step_up(&self) -> Result<(), ApiError> {
        require_step_up(self.0.stepped_up_until, self.0.now)
    }
}

impl FromRequestParts<Shared> for AuthenticatedUser {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, ApiError> {
        let found = find(shared, &parts.headers).await?;
        found.map(Self).ok_or_else(not_signed_in)
    }
}

/// The error of a request without a valid session.
pub(crate) fn not_signed_in() -> ApiError {
    let text =
        "not signed in, or the session has expired; sign in and try again. Nothing was changed";
    ApiError::new(ConsoleErrorCode::NotSignedIn, text)
}

/// The sign-in of a request's cookie, once it is whole.
pub(crate) async fn find(shared: &Shared, headers: &HeaderMap) -> Result<Option<SignIn>, ApiError> {
    let found = find_any(shared, headers).await?;
    Ok(found.filter(is_whole))
}

/// Whether nothing is left to prove: a second factor that the person has was given on this device.
pub(crate) const fn is_whole(sign_in: &SignIn) -> bool {
    !sign_in.has_second_factor || sign_in.second_factor_given
}

/// The same, also where the second factor is still to be given.
pub(crate) async fn find_any(
    shared: &Shared,
    headers: &HeaderMap,
) -> Result<Option<SignIn>, ApiError> {
    let Some(token) = session_cookie::token(&shared.settings, headers) else {
        return Ok(None);
    };
    let mut session = shared.people.session().await?;
    let Some(mut sign_in) = people::find_sign_in(&mut session, &token).await? else {
        return Ok(None);
    };
    if is_of_dev(&shared.settings, &sign_in) {
        sign_in.stepped_up_until = Some(sign_in.now.plus_seconds(STEP_UP_SECONDS));
        sign_in.second_factor_given = true;
    }
    if sign_in.is_stale {
        let mut tx = session.begin().await?;
        let done = people::touch(&mut tx, sign_in.id).await;
        tx.finish(done).await?;
    }
    Ok(Some(sign_in))
}

/// Whether this is the operator whom the link of `trunkline dev` signs in. That person has no password that
/// could be asked for again, and only a process that offers the link takes the sign-in instead.
pub(crate) fn is_of_dev(settings: &ConsoleSettings, sign_in: &SignIn) -> bool {
    settings.dev_link.is_some() && sign_in.operator.is_some() && !sign_in.has_password
}

pub(crate) fn require_step_up(until: Option<Timestamp>, now: Timestamp) -> Result<(), ApiError> {
    if until.is_some_and(|until| now < until) {
        return Ok(());
    }
    let text = "this changes billing or secrets: enter your password again. Nothing was changed";
    Err(ApiError::new(ConsoleErrorCode::StepUpRequired, text))
}
