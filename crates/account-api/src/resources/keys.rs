//! Keys of the account, made, rotated, switched off and deleted by the keys above them. A key sees itself
//! and what is below it; every other is as unknown as one that never was.

mod params;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use trunkline_db::{DbError, Tx};
use trunkline_edge::caller::Caller;
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_edge::response::{Response, json as answer};
use trunkline_ledger::accounts;
use trunkline_ledger::statement::{self, Budget};
use trunkline_store::accounts::Account;
use trunkline_store::keys::{
    self, ChangeKeyError, CreateKeyError, Key, KeyChange, NewKey, SECRET_BYTES,
};
use trunkline_store::{MaxPrice, OnDisconnect, RoutePolicy};
use trunkline_types::{ApiKey, KeyId, Money, Timestamp};

use self::params::{Change, CreateKey, Page, overlap};
use super::ApiRequest;
use crate::state::AccountApi;

/// What a family of keys that is too deep breaks in the ledger.
const DEPTH_CONSTRAINT: &str = "spender_chain_bounded";

enum Refused {
    ApiError(ApiError),
    Db(DbError),
}

pub(super) async fn handle(api: &AccountApi, visit: ApiRequest<'_>) -> Result<Response, ApiError> {
    match visit.rest.as_slice() {
        [] if visit.method == Method::POST => create_key(api, &visit).await,
        [] => list_keys(api, &visit).await,
        [id] => {
            let (id, own) = descendant_key(api, &visit.caller, id).await?;
            match visit.method {
                Method::PATCH => change_key(api, &visit, id, own).await,
                Method::DELETE => delete_key(api, &visit, id).await,
                _ => show_key(api, &visit.caller, id).await,
            }
        }
        [id, verb, ..] => {
            let (id, own) = descendant_key(api, &visit.caller, id).await?;
            match *verb {
                "rotate" => rotate_key(api, &visit, id).await,
                verb => set_disabled(api, &visit.caller, id, own, verb == "disable").await,
            }
        }
    }
}

/// `POST /v1/keys`: a key below the caller's, with its cap, in one transaction.
async fn create_key(api: &AccountApi, visit: &ApiRequest<'_>) -> Result<Response, ApiError> {
    let caller = &visit.caller;
    let params = CreateKey::read(&visit.body, api.edge.now())?;
    let secret = random_secret(api)?;
    let mut tx = api.data.begin().await?;
    let done = made_in(&mut tx, caller, &params, &secret).await;
    let (key, plain) = tx.finish(done).await.map_err(Refused::into_error)?;
    refresh_keys(api).await;
    let mut body = key_view(&key, &caller.account, api.edge.now());
    put(&mut body, "key", json!(plain.reveal()));
    put(
        &mut body,
        "cap_usd",
        json!(params.cap.map(|cap| cap.to_string())),
    );
    Ok(answer(StatusCode::CREATED, &body))
}

async fn list_keys(api: &AccountApi, visit: &ApiRequest<'_>) -> Result<Response, ApiError> {
    let caller = &visit.caller;
    let page = Page::read(visit.query)?;
    let mut session = api.data.session().await?;
    let (account, above) = (caller.account.id, caller.key.id);
    let found = keys::list_descendants(&mut session, account, above, page.after, page.limit).await;
    drop(session);
    let found = found?;
    let full = u32::try_from(found.len()).is_ok_and(|count| count == page.limit);
    let last = found.last().filter(|_| full).map(|key| key.id.number());
    let body = json!({
        "object": "list",
        "data": with_budgets(api, caller, &found).await?,
        "has_more": full,
        "next_after": last,
    });
    Ok(answer(StatusCode::OK, &body))
}

async fn show_key(api: &AccountApi, caller: &Caller, id: KeyId) -> Result<Response, ApiError> {
    let mut session = api.data.session().await?;
    let found = keys::find(&mut session, id).await;
    drop(session);
    let key = found?.ok_or_else(unknown_key)?;
    let view = with_budgets(api, caller, &[key]).await?;
    let view = view.into_iter().next().ok_or_else(unknown_key)?;
    Ok(answer(StatusCode::OK, &view))
}

async fn change_key(
    api: &AccountApi,
    visit: &ApiRequest<'_>,
    id: KeyId,
    own: bool,
) -> Result<Response, ApiError> {
    check_other(own)?;
    let params = Change::read(&visit.body, api.edge.now())?;
    let mut tx = api.data.begin().await?;
    let change = KeyChange {
        name: params.name.as_deref(),
        expires_at: params.expires_at,
        ..KeyChange::default()
    };
    let done = keys::change(&mut tx, id, change).await;
    changed_key(api, &visit.caller, tx.finish(done).await).await
}

async fn set_disabled(
    api: &AccountApi,
    caller: &Caller,
    id: KeyId,
    own: bool,
    off: bool,
) -> Result<Response, ApiError> {
    check_other(own)?;
    let mut tx = api.data.begin().await?;
    let done = keys::set_disabled(&mut tx, id, off).await;
    changed_key(api, caller, tx.finish(done).await).await
}

async fn changed_key(
    api: &AccountApi,
    caller: &Caller,
    done: Result<Key, ChangeKeyError>,
) -> Result<Response, ApiError> {
    let key = done.map_err(change_error)?;
    refresh_keys(api).await;
    let body = key_view(&key, &caller.account, api.edge.now());
    Ok(answer(StatusCode::OK, &body))
}

async fn rotate_key(
    api: &AccountApi,
    visit: &ApiRequest<'_>,
    id: KeyId,
) -> Result<Response, ApiError> {
    let overlap = overlap(&visit.body)?;
    let secret = random_secret(api)?;
    let mut tx = api.data.begin().await?;
    let done = keys::rotate(&mut tx, id, &secret, overlap).await;
    let rotated = tx.finish(done).await.map_err(change_error)?;
    refresh_keys(api).await;
    let mut body = key_view(&rotated.key, &visit.caller.account, api.edge.now());
    put(&mut body, "key", json!(rotated.plain.reveal()));
    Ok(answer(StatusCode::OK, &body))
}

async fn delete_key(
    api: &AccountApi,
    visit: &ApiRequest<'_>,
    id: KeyId,
) -> Result<Response, ApiError> {
    let by = format!("key {}", visit.caller.key.id);
    let mut tx = api.data.begin().await?;
    let done = keys::delete(&mut tx, id, &by).await;
    tx.finish(done).await.map_err(|error| db_error(&error))?;
    refresh_keys(api).await;
    let body = json!({ "object": "key", "id": id.number(), "deleted": true });
    Ok(answer(StatusCode::OK, &body))
}

/// A key that the caller may look after, and whether it is its own.
async fn descendant_key(
    api: &AccountApi,
    caller: &Caller,
    id: &str,
) -> Result<(KeyId, bool), ApiError> {
    let number: i64 = id.parse().map_err(|_| unknown_key())?;
    let id = KeyId::new(number);
    if id == caller.key.id {
        return Ok((id, true));
    }
    let mut session = api.data.session().await?;
    if keys::is_descendant(&mut session, caller.account.id, caller.key.id, id).await? {
        Ok((id, false))
    } else {
        Err(unknown_key())
    }
}

async fn with_budgets(
    api: &AccountApi,
    caller: &Caller,
    found: &[Key],
) -> Result<Vec<Value>, ApiError> {
    let ids: Vec<KeyId> = found.iter().map(|key| key.id).collect();
    let budgets = statement::budgets(&api.data, caller.account.id, &ids).await?;
    let now = api.edge.now();
    let view = found.iter().map(|key| {
        let mut view = key_view(key, &caller.account, now);
        let own = budgets.iter().filter(|one| one.key == Some(key.id));
        put(&mut view, "budgets", own.map(budget_view).collect());
        view
    });
    Ok(view.collect())
}

/// Memory takes over what was written here, so that it counts at once on this node. If that fails, the
/// next round does it.
pub async fn refresh_keys(api: &AccountApi) {
    if let Err(error) = api.refresh_keys().await {
        tracing::warn!(%error, "key table refresh after a write failed");
    }
}

fn random_secret(api: &AccountApi) -> Result<[u8; SECRET_BYTES], ApiError> {
    let mut secret = [0; SECRET_BYTES];
    let filled = api.edge.fill_random(&mut secret);
    filled.map(|()| secret).ok_or_else(ApiError::unavailable)
}

async fn made_in(
    tx: &mut Tx,
    caller: &Caller,
    params: &CreateKey,
    secret: &[u8; SECRET_BYTES],
) -> Result<(Key, ApiKey), Refused> {
    let (account, parent) = (caller.account.id, caller.key.id);
    let new = NewKey {
        account,
        parent: Some(parent),
        name: &params.name,
        policy: params.policy.clone(),
    };
    let made = keys::create(tx, &new, secret).await.map_err(create_error)?;
    let known = accounts::register_key(tx, account, made.key.id, Some(parent)).await?;
    if !known {
        tracing::error!(key.id = parent.number(), "key has no ledger budget row");
        return Err(ApiError::unavailable().into());
    }
    if let Some(cap) = params.cap {
        accounts::cap_new_key(tx, account, made.key.id, cap).await?;
    }
    Ok((made.key, made.plain))
}

/// A key's view, without its secret.
pub(crate) fn key_view(key: &Key, account: &Account, now: Timestamp) -> Value {
    let policy = key.policy.fields();
    let seconds = |moment: Option<Timestamp>| moment.map(Timestamp::seconds);
    let previous = key.previous.map(|(_, until)| until);
    json!({
        "object": "key",
        "id": key.id.number(),
        "name": key.name,
        "hint": key.hint,
        "account": account.id.number(),
        "parent": key.parent.map(KeyId::number),
        "state": key.state(now).as_str(),
        "group": policy.group.name().unwrap_or(&account.group),
        "models": policy.models,
        "endpoints": policy.endpoints,
        "platforms": policy.platforms,
        "addresses": policy.addresses,
        "regions": policy.regions,
        "residencies": policy.residencies,
        "upstream_zero_retention": policy.upstream_zero_retention,
        "policy": policy.policy.map(RoutePolicy::as_str),
        "max_price": max_price_view(policy.max_price),
        "requests_per_minute": policy.requests_per_minute,
        "tokens_per_minute": policy.tokens_per_minute,
        "concurrent_calls": policy.concurrent_calls,
        "strict": policy.strict,
        "zero_retention": policy.zero_retention,
        "on_disconnect": policy.on_disconnect.map(OnDisconnect::as_str),
        "created_at": key.created_at.seconds(),
        "expires_at": seconds(policy.expires_at),
        "previous_until": seconds(previous.filter(|until| *until > now)),
    })
}

fn max_price_view(max_price: MaxPrice) -> Value {
    if !max_price.is_set() {
        return Value::Null;
    }
    let text = |amount: Option<Money>| amount.map(|amount| amount.to_string());
    json!({
        "input": text(max_price.input),
        "output": text(max_price.output),
        "unit": text(max_price.unit),
    })
}

fn budget_view(budget: &Budget) -> Value {
    json!({
        "period": budget.period,
        "timezone": budget.timezone,
        "limit_usd": budget.limit.to_string(),
        "used_usd": budget.used.to_string(),
        "ends_at": budget.ends_at.map(Timestamp::seconds),
    })
}

fn put(body: &mut Value, field: &str, value: Value) {
    if let Some(fields) = body.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

fn check_other(own: bool) -> Result<(), ApiError> {
    if !own {
        return Ok(());
    }
    let text = "a key may show, rotate and delete itself; other changes need its parent key";
    Err(ApiError::new(ErrorCode::EndpointNotAllowed, text))
}

fn unknown_key() -> ApiError {
    let text = "this API key has no such sub-key; GET /v1/keys lists them";
    ApiError::new(ErrorCode::NotFound, text).at("key_id")
}

fn invalid(param: &str, text: String) -> ApiError {
    ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(param)
}

fn db_error(error: &DbError) -> ApiError {
    match error {
        DbError::UnknownCommit(_) => {
            let text = "it is not known whether this was done; GET /v1/keys tells, and what should not \
                        be there can be deleted";
            ApiError::new(ErrorCode::Unavailable, text)
        }
        error if error.constraint() == Some(DEPTH_CONSTRAINT) => {
            let text = "keys may stand 8 deep, and this API key is the eighth; make the new one below a \
                        key that is higher up";
            invalid("parent", text.to_owned())
        }
        DbError::Unavailable(_)
        | DbError::Conflict(_)
        | DbError::Refused { .. }
        | DbError::Bug(_) => {
            tracing::warn!(%error, "key write failed");
            ApiError::unavailable()
        }
    }
}

fn create_error(error: CreateKeyError) -> Refused {
    Refused::ApiError(match error {
        CreateKeyError::Field(error) => invalid(error.field, error.to_string()),
        CreateKeyError::Db(error) => return Refused::Db(error),
        error @ (CreateKeyError::AccountClosed(_)
        | CreateKeyError::UnknownAccount(_)
        | CreateKeyError::UnknownParent { .. }
        | CreateKeyError::ParentNotLive { .. }) => {
            ApiError::new(ErrorCode::RevokedKey, error.to_string())
        }
        error @ CreateKeyError::GroupNotAllowed { .. } => invalid("group", error.to_string()),
    })
}

fn change_error(error: ChangeKeyError) -> ApiError {
    match error {
        ChangeKeyError::Field(error) => invalid(error.field, error.to_string()),
        ChangeKeyError::Db(error) => db_error(&error),
        ChangeKeyError::UnknownKey(_) => unknown_key(),
        error @ ChangeKeyError::Revoked(_) => invalid("key_id", error.to_string()),
    }
}

// === impl Refused ===

impl Refused {
    fn into_error(self) -> ApiError {
        match self {
            Self::ApiError(error) => error,
            Self::Db(error) => db_error(&error),
        }
    }
}

impl From<DbError> for Refused {
    fn from(error: DbError) -> Self {
        Self::Db(error)
    }
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        Self::ApiError(error)
    }
}
