//! Who runs this installation: an operator behind the cookie, their role, and what it allows. A handler names the
//! permission that it needs as a type, so that it is checked before the body is read.

use std::marker::PhantomData;
use std::ops::Deref;

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::Serialize;
use trunkline_db::{DbError, Tx};
use trunkline_store::action_log::{self, Actor, ActorKind, NewAction};
use trunkline_store::people::{OperatorRole, PersonId, SignIn};
use trunkline_types::Timestamp;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::error::{ApiError, ConsoleErrorCode};
use crate::json_body::Caller;
use crate::session::{actor_of, find, is_of_dev, not_signed_in, require_step_up};
use crate::settings::ConsoleSettings;
use crate::shared::Shared;

/// A permission of operators beyond reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) enum OperatorRight {
    /// Edit, suspend and resume customers, their keys and notes; invite.
    #[serde(rename = "customers.write")]
    CustomersWrite,
    /// See the console as a customer does.
    #[serde(rename = "customers.view")]
    CustomersView,
    /// Export a customer's data.
    #[serde(rename = "customers.export")]
    CustomersExport,
    /// Close and erase customers.
    #[serde(rename = "customers.erase")]
    CustomersErase,
    /// Adjustments, top-ups, refunds and codes.
    #[serde(rename = "money.write")]
    MoneyWrite,
    /// Channels and credentials.
    #[serde(rename = "channels.write")]
    ChannelsWrite,
    /// Publish prices.
    #[serde(rename = "prices.write")]
    PricesWrite,
    /// Operators and their roles.
    #[serde(rename = "operators.write")]
    OperatorsWrite,
    /// Read unsent emails, whose links are as good as passwords.
    #[serde(rename = "emails.read")]
    EmailsRead,
}

/// An operator who is signed in, with the second factor given.
#[derive(Debug, Clone)]
pub(crate) struct Operator {
    pub(crate) person: PersonId,
    pub(crate) email: String,
    pub(crate) role: OperatorRole,
    pub(crate) sign_in: Uuid,
    /// The database's time of this request.
    pub(crate) now: Timestamp,
    stepped_up_until: Option<Timestamp>,
    actor: Actor,
}

/// An operator who has a permission and entered the password lately.
#[derive(Debug, Clone)]
pub(crate) struct May<R>(Operator, PhantomData<R>);

/// A permission as a type.
pub(crate) trait Permission {
    const RIGHT: OperatorRight;
}

macro_rules! permissions {
    ($($name:ident),+) => {$(
        #[derive(Debug, Clone, Copy)]
        pub(crate) enum $name {}
        impl Permission for $name {
            const RIGHT: OperatorRight = OperatorRight::$name;
        }
    )+};
}
permissions!(
    CustomersWrite,
    CustomersView,
    CustomersExport,
    CustomersErase,
    MoneyWrite,
    ChannelsWrite,
    PricesWrite,
    OperatorsWrite,
    EmailsRead
);

// === impl OperatorRight ===

impl OperatorRight {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Self; 9] = [
        Self::CustomersWrite,
        Self::CustomersView,
        Self::CustomersExport,
        Self::CustomersErase,
        Self::MoneyWrite,
        Self::ChannelsWrite,
        Self::PricesWrite,
        Self::OperatorsWrite,
        Self::EmailsRead,
    ];

    /// Whether a role has it. Every role can read the rest.
    pub(crate) const fn is_of(self, role: OperatorRole) -> bool {
        match role {
            OperatorRole::Owner => true,
            OperatorRole::Finance => matches!(
                self,
                Self::CustomersView | Self::MoneyWrite | Self::PricesWrite
            ),
            OperatorRole::Support => matches!(
                self,
                Self::CustomersWrite | Self::CustomersView | Self::CustomersExport
            ),
            OperatorRole::ReadOnly => false,
        }
    }
}

// === impl Operator ===

impl Operator {
    /// Writes what the operator does to the log of actions, in the transaction of the change.
    pub(crate) async fn log(&self, tx: &mut Tx, action: &NewAction<'_>) -> Result<(), DbError> {
        action_log::write(tx, &self.actor, action).await
    }

    fn of(sign_in: SignIn, settings: &ConsoleSettings, caller: Caller) -> Result<Self, ApiError> {
        let Some(role) = sign_in.operator else {
            // The same words as for a path that does not exist.
            return Err(ApiError::new(ConsoleErrorCode::NotFound, "not found"));
        };
        if needs_second_factor(settings, &sign_in) {
            let text = "operators need a second factor: set one up first. Nothing was changed";
            return Err(ApiError::new(ConsoleErrorCode::SecondFactorRequired, text));
        }
        Ok(Self {
            actor: actor_of(ActorKind::Operator, &sign_in, Some(caller)),
            person: sign_in.person,
            email: sign_in.email,
            role,
            sign_in: sign_in.id,
            now: sign_in.now,
            stepped_up_until: sign_in.stepped_up_until,
        })
    }

    /// Rejects an operator without a permission.
    pub(crate) fn require(&self, right: OperatorRight) -> Result<(), ApiError> {
        if right.is_of(self.role) {
            return Ok(());
        }
        let role = self.role.as_str();
        let text = format!(
            "your role of operator, {role}, does not allow this; an owner can change it. Nothing was changed"
        );
        Err(ApiError::new(ConsoleErrorCode::RoleNotAllowed, text))
    }
}

/// Whether an operator has yet to set up a second factor.
pub(crate) fn needs_second_factor(settings: &ConsoleSettings, sign_in: &SignIn) -> bool {
    sign_in.operator.is_some() && !sign_in.has_second_factor && !is_of_dev(settings, sign_in)
}

impl FromRequestParts<Shared> for Operator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, ApiError> {
        let found = find(shared, &parts.headers).await?;
        let sign_in = found.ok_or_else(not_signed_in)?;
        let caller = Caller::from_request_parts(parts, shared).await?;
        Self::of(sign_in, &shared.settings, caller)
    }
}

// === impl May ===

impl<R> Deref for May<R> {
    type Target = Operator;

    fn deref(&self) -> &Operator {
        &self.0
    }
}

impl<R: Permission> FromRequestParts<Shared> for May<R> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, ApiError> {
        let operator = Operator::from_request_parts(parts, shared).await?;
        operator.require(R::RIGHT)?;
        require_step_up(operator.stepped_up_until, operator.now)?;
        Ok(Self(operator, PhantomData))
    }
}
