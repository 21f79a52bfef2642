//! Redemption codes: listed, created, revoked. A code itself is in the answer that creates it and nowhere else.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of the query"
)]

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trunkline_keyring::RandomSource;
use trunkline_store::action_log::NewAction;
use trunkline_store::redemption_codes::{
    self as store, CODE_RANDOM_BYTES, Code, MAKE_MAX, NewCode, RedemptionCode, Wallet,
};
use trunkline_types::{Money, RANDOM_BYTES, Timestamp, uuid_v7};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::api::customer::query;
use crate::error::{ApiError, ConsoleErrorCode};
use crate::json_body::JsonBody;
use crate::operator_bodies::{NewCodes, RevokeCodesBody, WalletChoice};
use crate::operator_session::{May, MoneyWrite, Operator};
use crate::shared::Shared;
use crate::times::rfc3339;

const USUAL_PAGE: u32 = 100;
const MOST_PER_PAGE: u32 = 1_000;

/// Which codes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CodesQuery {
    /// Of this batch.
    #[param(nullable = false, max_length = 60)]
    batch: Option<String>,
    /// The newest so many; 100 by default.
    #[param(nullable = false, minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
}

/// Redemption codes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Codes {
    /// Newest first.
    data: Vec<CodeView>,
}

/// A redemption code, without its text.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Code)]
pub(crate) struct CodeView {
    /// Id.
    id: String,
    /// What is shown of its text.
    hint: String,
    /// Batch.
    batch: String,
    /// Worth in USD.
    #[schema(example = "10")]
    amount_usd: String,
    /// `paid` or `trial`.
    #[schema(example = "paid")]
    wallet: &'static str,
    /// `open`, `redeemed`, `revoked` or `expired`.
    #[schema(example = "open")]
    state: &'static str,
    /// Who made it.
    made_by: String,
    /// Time of creation.
    #[schema(format = DateTime)]
    created_at: String,
    /// Expiry; null for never.
    #[schema(required, format = DateTime)]
    expires_at: Option<String>,
    /// The customer who used it; null for none.
    #[schema(required)]
    redeemed_by: Option<i64>,
    /// When; null for not yet.
    #[schema(required, format = DateTime)]
    redeemed_at: Option<String>,
}

/// Codes that were created, this once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedCodes {
    /// Batch.
    batch: String,
    /// The codes.
    codes: Vec<CreatedCode>,
}

/// A code that was created.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedCode {
    /// Id.
    id: String,
    /// The code.
    code: String,
    /// What lists show of it.
    hint: String,
}

/// How many codes were revoked.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RevokedCodes {
    /// Codes.
    revoked: u64,
}

/// Lists redemption codes.
#[utoipa::path(get, path = "/api/operator/codes", operation_id = "list_codes", tag = "instance",
    params(CodesQuery),
    responses((status = 200, description = "The codes", body = Codes)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    _operator: Operator,
    params: Result<Query<CodesQuery>, QueryRejection>,
) -> Result<Json<Codes>, ApiError> {
    let params = query::query(params)?;
    let limit = query::limit(params.limit, USUAL_PAGE, MOST_PER_PAGE)?;
    let batch = query::text("batch", params.batch)?;
    let mut session = shared.people.session().await?;
    let found = store::list(&mut session, batch.as_deref(), i64::from(limit)).await?;
    Ok(Json(Codes {
        data: found.iter().map(CodeView::of).collect(),
    }))
}

/// Creates redemption codes. Their texts are in this answer and nowhere else.
#[utoipa::path(post, path = "/api/operator/codes", operation_id = "create_codes", tag = "instance",
    request_body = NewCodes,
    responses((status = 201, description = "The codes", body = CreatedCodes)))]
pub(super) async fn create(
    State(shared): State<Shared>,
    operator: May<MoneyWrite>,
    JsonBody(body): JsonBody<NewCodes>,
) -> Result<(StatusCode, Json<CreatedCodes>), ApiError> {
    let amount = query::usd("amount_usd", &body.amount_usd)?;
    if amount == Money::ZERO {
        let text = "must be greater than zero";
        return Err(ApiError::invalid_param("amount_usd", text));
    }
    if !(1..=MAKE_MAX).contains(&body.count) {
        let text = format!("must be from 1 to {MAKE_MAX}");
        return Err(ApiError::invalid_param("count", text));
    }
    let expires_at = body.expires_at.as_deref();
    let expires_at = expires_at.map(|text| query::moment("expires_at", text));
    let expires_at = expires_at.transpose()?;
    if expires_at.is_some_and(|at| at <= operator.now) {
        return Err(ApiError::invalid_param(
            "expires_at",
            "must be in the future",
        ));
    }
    let random = shared.random.as_ref();
    let batch = match &body.batch {
        Some(batch) => batch.clone(),
        None => fresh_batch(random, operator.now)?,
    };
    store::check_batch(&batch)?;
    let texts = (0..body.count).map(|_| fresh_code(random, operator.now));
    let texts = texts.collect::<Result<Vec<(Uuid, RedemptionCode)>, ApiError>>()?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let made = async {
        for (id, text) in &texts {
            let new = NewCode {
                id: *id,
                text,
                batch: &batch,
                amount,
                wallet: body.wallet.code(),
                made_by: &operator.email,
                expires_at,
            };
            store::create(&mut tx, &new).await?;
        }
        let action = NewAction {
            action: "create_codes",
            subject: &format!("batch {batch}"),
            after: Some(json!({
                "count": body.count, "amount_usd": amount.to_string(), "wallet": body.wallet,
            })),
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await
    };
    let made = made.await;
    tx.finish(made).await.map_err(query::unwritten)?;
    let codes = texts.iter().map(|(id, text)| CreatedCode {
        id: id.to_string(),
        code: text.reveal(),
        hint: text.hint(),
    });
    let codes = codes.collect();
    Ok((StatusCode::CREATED, Json(CreatedCodes { batch, codes })))
}

/// Revokes a code, or all of a batch that were not used.
#[utoipa::path(post, path = "/api/operator/codes/revoke", operation_id = "revoke_codes", tag = "instance",
    request_body = RevokeCodesBody,
    responses((status = 200, description = "How many", body = RevokedCodes)))]
pub(super) async fn revoke(
    State(shared): State<Shared>,
    operator: May<MoneyWrite>,
    JsonBody(body): JsonBody<RevokeCodesBody>,
) -> Result<Json<RevokedCodes>, ApiError> {
    let id = body.id.as_deref().map(|text| {
        let id = Uuid::try_parse(text);
        id.map_err(|_| ApiError::invalid_param("id", "is the id of a code"))
    });
    let id = id.transpose()?;
    if id.is_some() == body.batch.is_some() {
        let text = "give either `id` or `batch`";
        return Err(ApiError::new(ConsoleErrorCode::Invalid, text));
    }
    let subject = match (&id, &body.batch) {
        (Some(id), _) => format!("code {id}"),
        (None, batch) => format!("batch {}", batch.as_deref().unwrap_or_default()),
    };
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let revoked = async {
        let count = store::revoke(&mut tx, id, body.batch.as_deref()).await?;
        let action = NewAction {
            action: "revoke_codes",
            subject: &subject,
            after: Some(json!({ "revoked": count })),
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await?;
        Ok::<_, ApiError>(count)
    };
    let revoked = revoked.await;
    let revoked = tx.finish(revoked).await?;
    Ok(Json(RevokedCodes { revoked }))
}

fn fresh_batch(random: &dyn RandomSource, now: Timestamp) -> Result<String, ApiError> {
    let mut bytes = [0; 4];
    random.fill(&mut bytes)?;
    let day: String = rfc3339(now).chars().take(10).collect();
    Ok(format!("{day}-{:08x}", u32::from_be_bytes(bytes)))
}

fn fresh_code(
    random: &dyn RandomSource,
    now: Timestamp,
) -> Result<(Uuid, RedemptionCode), ApiError> {
    let mut id = [0; RANDOM_BYTES];
    random.fill(&mut id)?;
    let mut text = [0; CODE_RANDOM_BYTES];
    random.fill(&mut text)?;
    Ok((uuid_v7(now, id), RedemptionCode::new(&text)))
}

// === impl CodeView, WalletChoice ===

impl CodeView {
    fn of(code: &Code) -> Self {
        let state = match (code.redeemed, code.revoked_at, code.is_expired) {
            (Some(_), _, _) => "redeemed",
            (None, Some(_), _) => "revoked",
            (None, None, true) => "expired",
            (None, None, false) => "open",
        };
        Self {
            id: code.id.to_string(),
            hint: code.hint.clone(),
            batch: code.batch.clone(),
            amount_usd: code.amount.to_string(),
            wallet: code.wallet.as_str(),
            state,
            made_by: code.made_by.clone(),
            created_at: rfc3339(code.created_at),
            expires_at: code.expires_at.map(rfc3339),
            redeemed_by: code.redeemed.map(|(by, _)| by.number()),
            redeemed_at: code.redeemed.map(|(_, at)| rfc3339(at)),
        }
    }
}

impl WalletChoice {
    const fn code(self) -> Wallet {
        match self {
            Self::Paid => Wallet::Paid,
            Self::Trial => Wallet::Trial,
        }
    }
}
