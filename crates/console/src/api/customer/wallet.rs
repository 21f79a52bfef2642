//! `/api/wallet`: what there is, and below which balance the organisation wants to be told.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::json;
use trunkline_db::{DbError, Tx};
use trunkline_ledger::{accounts, statement};
use trunkline_store::action_log::NewAction;
use trunkline_store::low_balance::{self, Language};
use trunkline_types::{AccountId, Money};
use utoipa::ToSchema;

use super::amounts::{self, BalanceView, BudgetView};
use super::keys::finish;
use super::query;
use crate::error::ApiError;
use crate::json_body::JsonBody;
use crate::request_bodies::{EmailLanguage, LowBalanceThreshold};
use crate::session::{MemberSession, Right};
use crate::shared::Shared;
use crate::times::rfc3339;

/// What money to try things out pays for.
const TRIAL_BUYS: &str = "all models; social data requires paid credit";

/// The wallets of the organisation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Wallet {
    /// Balances.
    balance: BalanceView,
    /// Low-balance threshold; null for none.
    #[schema(required)]
    low_balance_threshold_usd: Option<String>,
    /// Language of the low-balance email; null if none is sent.
    #[schema(required)]
    low_balance_email: Option<EmailLanguage>,
    /// Whether this installation sends emails.
    can_send_email: bool,
    /// What trial credit covers, as text.
    trial_buys: String,
    /// First top-up; null if there was none.
    #[schema(required, format = DateTime)]
    topped_up_at: Option<String>,
    /// Budgets of the organisation.
    budgets: Vec<BudgetView>,
}

/// Returns the wallets of the organisation.
#[utoipa::path(get, path = "/api/wallet", operation_id = "wallet", tag = "wallet",
    responses((status = 200, description = "The wallets", body = Wallet)))]
pub(super) async fn wallet(
    State(shared): State<Shared>,
    own: MemberSession,
) -> Result<Json<Wallet>, ApiError> {
    wallet_view(&shared, &own).await
}

/// Sets the low-balance threshold, below which an event is sent to the organisation and its webhooks, and an email to
/// owners, admins and billing members if one is wanted. It is sent immediately if the balance is already below it.
#[utoipa::path(put, path = "/api/wallet/low-balance-threshold", operation_id = "set_low_balance_threshold", tag = "wallet",
    request_body = LowBalanceThreshold,
    responses((status = 200, description = "The wallets", body = Wallet)))]
pub(super) async fn set_low_balance_threshold(
    State(shared): State<Shared>,
    own: MemberSession,
    JsonBody(body): JsonBody<LowBalanceThreshold>,
) -> Result<Json<Wallet>, ApiError> {
    own.require(Right::WalletWrite)?;
    let mark = body.threshold_usd.as_deref();
    let mark = mark
        .map(|text| query::usd("threshold_usd", text))
        .transpose()?;
    if mark == Some(Money::ZERO) {
        let text = "must be greater than zero; use null to disable the alert";
        return Err(ApiError::invalid_param("threshold_usd", text));
    }
    let language = body.email_language.map(Language::from);
    if language.is_some() && mark.is_none() {
        let text = "must be null without a threshold";
        return Err(ApiError::invalid_param("email_language", text));
    }
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let set = set_alert(&mut tx, own.account, mark, language).await;
    let set = match set.map_err(query::unwritten) {
        Ok(true) => {
            let action = NewAction {
                action: "set_low_balance_threshold",
                subject: "wallet",
                after: Some(json!({
                    "threshold_usd": body.threshold_usd,
                    "email_language": body.email_language,
                })),
                ..NewAction::default()
            };
            let logged = own.log(&mut tx, &action).await;
            logged.map_err(query::unwritten)
        }
        Ok(false) => Err(ApiError::unavailable()),
        Err(fault) => Err(fault),
    };
    finish(tx, set).await?;
    wallet_view(&shared, &own).await
}

/// Sets the email before the threshold: a threshold above the balance sends one at once. False if there is no such
/// account.
async fn set_alert(
    tx: &mut Tx,
    account: AccountId,
    mark: Option<Money>,
    language: Option<Language>,
) -> Result<bool, DbError> {
    low_balance::set(tx, account, language).await?;
    accounts::set_low_balance(tx, account, mark).await
}

async fn wallet_view(shared: &Shared, own: &MemberSession) -> Result<Json<Wallet>, ApiError> {
    let (balance, trial_ends) = amounts::balance(shared, own.account).await?;
    let budgets = statement::budgets(&shared.people, own.account, &[]).await?;
    let mut session = shared.people.session().await?;
    let language = low_balance::language(&mut session, own.account).await?;
    drop(session);
    Ok(Json(Wallet {
        low_balance_email: language.map(EmailLanguage::from),
        can_send_email: shared.settings.sends_mail,
        low_balance_threshold_usd: balance.low_balance_threshold.map(|mark| mark.to_string()),
        trial_buys: TRIAL_BUYS.to_owned(),
        topped_up_at: balance.topped_up_at.map(rfc3339),
        budgets: budgets.iter().filter_map(BudgetView::of).collect(),
        balance: BalanceView::of(&balance, trial_ends),
    }))
}

// === impl EmailLanguage ===

impl From<Language> for EmailLanguage {
    fn from(language: Language) -> Self {
        match language {
            Language::English => Self::En,
            Language::Chinese => Self::Zh,
        }
    }
}

impl From<EmailLanguage> for Language {
    fn from(language: EmailLanguage) -> Self {
        match language {
            EmailLanguage::En => Self::English,
            EmailLanguage::Zh => Self::Chinese,
        }
    }
}
