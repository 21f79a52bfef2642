//! Redemption codes: what one is worth goes into a wallet, once. Whatever is wrong with a code, the answer is
//! the same, so that a caller cannot probe for codes.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde_json::json;
use trunkline_db::Tx;
use trunkline_ledger::accounts::{self, TopUp, TopUpAnswer, Wallet};
use trunkline_store::action_log::NewAction;
use trunkline_store::attempt_counters::{self, Attempt};
use trunkline_store::redemption_codes::{self, Code, RedemptionCode, Wallet as CodeWallet};
use trunkline_store::trial_grants;
use trunkline_types::AccountId;
use utoipa::ToSchema;

use super::customer::amounts::{BalanceView, WalletName};
use super::people::take_of_network;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::{Caller, JsonBody};
use crate::request_bodies::RedeemBody;
use crate::session::{MemberSession, Right};
use crate::shared::Shared;
use crate::trial_credit;

/// Who says that a code was redeemed, in the ledger.
const CODE_PROVIDER: &str = "code";
/// After so long who tried too often may try again, at the latest.
const HOUR_SECONDS: i64 = 3_600;

/// Result of a redemption.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Redeemed {
    /// Amount in USD.
    amount_usd: String,
    /// Credited wallet.
    #[schema(inline = false)]
    wallet: WalletName,
    /// New balance.
    balance: BalanceView,
}

/// Redeems a code. Idempotent for the same account: the credit is booked once.
#[utoipa::path(post, path = "/api/wallet/redeem", operation_id = "redeem_code", tag = "wallet",
    request_body = RedeemBody,
    responses(
        (status = 200, description = "Redeemed, now or before", body = Redeemed),
        (status = 400, description = "The code is unknown, used, expired or revoked", body = ErrorBody),
        (status = 401, description = "Not signed in", body = ErrorBody),
        (status = 403, description = "The role does not allow it", body = ErrorBody),
        (status = 429, description = "Too many attempts from the account or its network", body = ErrorBody)
    ))]
pub(super) async fn redeem(
    State(shared): State<Shared>,
    signed_in: MemberSession,
    caller: Caller,
    JsonBody(body): JsonBody<RedeemBody>,
) -> Result<Response, ApiError> {
    signed_in.require(Right::WalletWrite)?;
    let account = signed_in.account;
    count(&shared, account, &caller).await?;
    let text = RedemptionCode::parse(body.code.reveal()).ok_or_else(code_invalid)?;
    let mut tx = shared.people.begin().await?;
    let done = async {
        let code = redeem_in(&shared, &mut tx, account, &text).await?;
        let action = NewAction {
            action: "redeem_code",
            subject: &format!("code {}", code.id),
            after: Some(json!({ "amount_usd": code.amount.to_string() })),
            ..NewAction::default()
        };
        signed_in.log(&mut tx, &action).await?;
        Ok::<_, ApiError>(code)
    };
    let done = done.await;
    let code = tx.finish(done).await?;
    let redeemed = Redeemed {
        amount_usd: code.amount.to_string(),
        wallet: match code.wallet {
            CodeWallet::Paid => WalletName::Paid,
            CodeWallet::Trial => WalletName::Trial,
        },
        balance: balance(&shared, account).await?,
    };
    Ok(axum::Json(redeemed).into_response())
}

/// Counted before the code is looked at, and committed: many at once are many.
async fn count(shared: &Shared, account: AccountId, caller: &Caller) -> Result<(), ApiError> {
    let own = account.number().to_be_bytes();
    let allowed = take_of_network(shared, Attempt::CodeFromNetwork, caller.address).await?
        && attempt_counters::take(&shared.people, Attempt::CodeByAccount, &own).await?;
    if allowed {
        return Ok(());
    }
    Err(ApiError::too_many_attempts(HOUR_SECONDS))
}

/// Books a code and marks it in one transaction: whatever dies in between, both are there or neither.
async fn redeem_in(
    shared: &Shared,
    tx: &mut Tx,
    account: AccountId,
    text: &RedemptionCode,
) -> Result<Code, ApiError> {
    let code = redemption_codes::find_for_update(tx, text).await?;
    let code = code.ok_or_else(code_invalid)?;
    if code.redeemed.is_some_and(|(by, _)| by == account) {
        return Ok(code);
    }
    if !code.is_open() {
        return Err(code_invalid());
    }
    let top_up = TopUp {
        request: trial_credit::request(shared, tx).await?,
        account,
        wallet: match code.wallet {
            CodeWallet::Paid => Wallet::Paid,
            CodeWallet::Trial => Wallet::Trial,
        },
        amount: code.amount,
        provider: CODE_PROVIDER.to_owned(),
        event: code.id.to_string(),
    };
    match accounts::top_up(tx, &top_up).await? {
        TopUpAnswer::Done | TopUpAnswer::Before => {}
        TopUpAnswer::Different | TopUpAnswer::Refused => {
            tracing::error!(code = %code.id, "redemption failed: the ledger rejected the credit of an open code");
            return Err(ApiError::unavailable());
        }
    }
    redemption_codes::redeem(tx, code.id, account).await?;
    tracing::info!(code = %code.id, %account, "redemption code redeemed");
    Ok(code)
}

async fn balance(shared: &Shared, account: AccountId) -> Result<BalanceView, ApiError> {
    let balance = accounts::balance(&shared.people, account).await?;
    let balance = balance.ok_or_else(ApiError::unavailable)?;
    let mut session = shared.people.session().await?;
    let ends_at = trial_grants::ends_at(&mut session, account).await?;
    Ok(BalanceView::of(&balance, ends_at))
}

/// One text for a code that is unknown, used, over or taken back.
fn code_invalid() -> ApiError {
    let text =
        "invalid redemption code: it is mistyped, already used or expired. Nothing was credited";
    ApiError {
        param: Some("code"),
        ..ApiError::new(ConsoleErrorCode::CodeInvalid, text)
    }
}
