//! `/v1/webhooks`: what happens to the account, sent to addresses of its own.

mod deliveries;
mod params;
mod view;

use http::{Method, StatusCode};
use serde_json::json;
use trunkline_db::DbError;
use trunkline_edge::caller::Caller;
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_edge::response::{Response, json as answer};
use trunkline_store::webhooks::{self, Changes, Kind as WebhookKind, NewWebhook, Webhook};
use trunkline_upstream::safe_fetch::FetchError;
use uuid::Uuid;

use self::params::{WebhookParams, overlap_of};
use self::view::{webhook_name, webhook_of, webhook_view};
use super::ApiRequest;
use crate::state::AccountApi;
use crate::webhooks::{DeliveryError, Receiver, SealedFor, binding, delivery};

/// The resource's name in policies.
const WORD: &str = "webhooks";
/// The name by which the entry for single tasks is also known.
const TASKS: &str = "tasks";

pub(super) async fn handle(api: &AccountApi, visit: ApiRequest<'_>) -> Result<Response, ApiError> {
    let caller = &visit.caller;
    caller.check_endpoint(WORD)?;
    match (&visit.method, visit.rest.as_slice()) {
        (&Method::POST, []) => create_webhook(api, caller, &visit.body).await,
        (_, []) => list_webhooks(api, caller).await,
        (&Method::PATCH, [name]) => change_webhook(api, caller, name, &visit.body).await,
        (&Method::DELETE, [name]) => delete_webhook(api, caller, name).await,
        (_, [name]) => {
            let webhook = webhook_of_caller(api, caller, name).await?;
            Ok(answer(StatusCode::OK, &webhook_view(api, &webhook, None)))
        }
        (_, [name, "rotate"]) => rotate_webhook(api, caller, name, &visit.body).await,
        (_, [name, "test"]) => test_webhook(api, caller, name, &visit.body).await,
        (_, [name, "resume"]) => resume_webhook(api, caller, name, &visit.body).await,
        (_, [name, "deliveries"]) => {
            deliveries::list_deliveries(api, caller, name, visit.query).await
        }
        (_, [name, "deliveries", event, "replay"]) => {
            deliveries::replay_delivery(api, caller, name, event, &visit.body).await
        }
        (_, _) => Err(ApiError::new(ErrorCode::NotFound, "unknown path")),
    }
}

async fn create_webhook(
    api: &AccountApi,
    caller: &Caller,
    body: &[u8],
) -> Result<Response, ApiError> {
    let params = WebhookParams::read(body)?;
    let url = params.url.ok_or_else(|| {
        let text = "`url` is required: the address that receives events";
        ApiError::new(ErrorCode::Invalid("missing_parameter"), text).at("url")
    })?;
    check_url(api, &url).await?;
    let (id, account) = (api.edge.request_id().uuid(), caller.account.id);
    let sealed = binding::seal(api, account, SealedFor::Url(id), url.as_bytes());
    let sealed = sealed.ok_or_else(ApiError::unavailable)?;
    let made = binding::new_secret(api, account, id);
    let (secret, sealed_secret) = made.ok_or_else(ApiError::unavailable)?;
    let topics = params.topics.flatten();
    let description = params.description.flatten();
    let new = NewWebhook {
        id,
        account,
        url: &sealed,
        topics: topics.as_deref(),
        description: description.as_deref(),
        secret: &sealed_secret,
    };
    let most = api.settings.webhooks.most;
    let mut tx = api.data.begin().await.map_err(away)?;
    let count = i64::try_from(most).unwrap_or(i64::MAX);
    let made = webhooks::create(&mut tx, &new, count).await;
    let made = tx.finish(made).await.map_err(away)?;
    let webhook = made.ok_or_else(|| {
        let text = format!("an account may have {most} webhooks; delete one first");
        ApiError::new(ErrorCode::Invalid("too_many_webhooks"), text)
    })?;
    let body = webhook_view(api, &webhook, Some(&secret));
    Ok(answer(StatusCode::CREATED, &body))
}

async fn list_webhooks(api: &AccountApi, caller: &Caller) -> Result<Response, ApiError> {
    let mut session = api.data.session().await.map_err(away)?;
    let found = webhooks::list(&mut session, caller.account.id).await;
    let found = found.map_err(away)?;
    let data: Vec<_> = found
        .iter()
        .map(|webhook| webhook_view(api, webhook, None))
        .collect();
    let body = json!({ "object": "list", "data": data, "has_more": false });
    Ok(answer(StatusCode::OK, &body))
}

async fn change_webhook(
    api: &AccountApi,
    caller: &Caller,
    name: &str,
    body: &[u8],
) -> Result<Response, ApiError> {
    let webhook = endpoint_of_caller(api, caller, name).await?;
    let params = WebhookParams::read(body)?;
    let url = match &params.url {
        Some(url) => {
            check_url(api, url).await?;
            let sealed = binding::seal(
                api,
                webhook.account,
                SealedFor::Url(webhook.id),
                url.as_bytes(),
            );
            Some(sealed.ok_or_else(ApiError::unavailable)?)
        }
        None => None,
    };
    let changes = Changes {
        url,
        topics: params.topics,
        description: params.description,
    };
    let mut tx = api.data.begin().await.map_err(away)?;
    let changed = webhooks::change(&mut tx, webhook.account, webhook.id, &changes).await;
    let changed = tx.finish(changed).await.map_err(away)?;
    let changed = changed.ok_or_else(|| no_webhook(name))?;
    Ok(answer(StatusCode::OK, &webhook_view(api, &changed, None)))
}

async fn delete_webhook(
    api: &AccountApi,
    caller: &Caller,
    name: &str,
) -> Result<Response, ApiError> {
    let webhook = endpoint_of_caller(api, caller, name).await?;
    let mut tx = api.data.begin().await.map_err(away)?;
    let gone = webhooks::delete(&mut tx, webhook.account, webhook.id).await;
    if !tx.finish(gone).await.map_err(away)? {
        return Err(no_webhook(name));
    }
    let body = json!({ "object": "webhook", "id": webhook_name(webhook.id), "deleted": true });
    Ok(answer(StatusCode::OK, &body))
}

/// A new secret, shown now and not again. The entry for tasks is made if there is none, so that its
/// secret can be had before the first task is.
async fn rotate_webhook(
    api: &AccountApi,
    caller: &Caller,
    name: &str,
    body: &[u8],
) -> Result<Response, ApiError> {
    let overlap = overlap_of(body)?;
    let overlap = overlap.unwrap_or(api.settings.webhooks.overlap);
    let account = caller.account.id;
    let webhook = match find_webhook(api, caller, name).await? {
        Some(webhook) => webhook,
        None if name == TASKS => create_tasks_entry(api, caller).await?,
        None => return Err(no_webhook(name)),
    };
    let made = binding::new_secret(api, account, webhook.id);
    let (secret, sealed) = made.ok_or_else(ApiError::unavailable)?;
    let mut tx = api.data.begin().await.map_err(away)?;
    let rotated = webhooks::rotate(&mut tx, account, webhook.id, &sealed, overlap).await;
    let rotated = tx.finish(rotated).await.map_err(away)?;
    let rotated = rotated.ok_or_else(|| no_webhook(name))?;
    Ok(answer(
        StatusCode::OK,
        &webhook_view(api, &rotated, Some(&secret)),
    ))
}

async fn create_tasks_entry(api: &AccountApi, caller: &Caller) -> Result<Webhook, ApiError> {
    let (id, account) = (api.edge.request_id().uuid(), caller.account.id);
    let made = binding::new_secret(api, account, id);
    let (_, sealed) = made.ok_or_else(ApiError::unavailable)?;
    let mut tx = api.data.begin().await.map_err(away)?;
    let made = webhooks::make_for_tasks(&mut tx, account, id, &sealed).await;
    tx.finish(made).await.map_err(away)?;
    let found = find_webhook(api, caller, TASKS).await?;
    found.ok_or_else(ApiError::unavailable)
}

/// Sends a message now, and tells what came back.
async fn test_webhook(
    api: &AccountApi,
    caller: &Caller,
    name: &str,
    body: &[u8],
) -> Result<Response, ApiError> {
    params::nothing(body)?;
    let webhook = endpoint_of_caller(api, caller, name).await?;
    let url = webhook.url.as_deref().ok_or_else(|| no_webhook(name))?;
    let old_secret = webhook.old_secret.as_ref();
    let to = Receiver {
        webhook: webhook.id,
        account: webhook.account,
        url: (SealedFor::Url(webhook.id), url),
        secret: &webhook.secret,
        old_secret: old_secret.map(|(sealed, _)| sealed.as_slice()),
    };
    let began = tokio::time::Instant::now();
    let outcome = delivery::send_test(api, to, &webhook_name(webhook.id)).await;
    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let body = json!({
        "object": "webhook.test",
        "webhook": webhook_name(webhook.id),
        "delivered": outcome.error.is_none(),
        "status": outcome.status,
        "error": outcome.error.map(DeliveryError::as_str),
        "took_ms": took,
    });
    Ok(answer(StatusCode::OK, &body))
}

async fn resume_webhook(
    api: &AccountApi,
    caller: &Caller,
    name: &str,
    body: &[u8],
) -> Result<Response, ApiError> {
    params::nothing(body)?;
    let webhook = endpoint_of_caller(api, caller, name).await?;
    let mut tx = api.data.begin().await.map_err(away)?;
    let resumed = webhooks::resume(&mut tx, webhook.account, webhook.id).await;
    let resumed = tx.finish(resumed).await.map_err(away)?;
    let resumed = resumed.ok_or_else(|| no_webhook(name))?;
    Ok(answer(StatusCode::OK, &webhook_view(api, &resumed, None)))
}

async fn check_url(api: &AccountApi, url: &str) -> Result<(), ApiError> {
    delivery::check_url(api, url)
        .await
        .map_err(|error: FetchError| {
            ApiError::new(ErrorCode::Invalid("invalid_request"), error.to_string()).at("url")
        })
}

async fn find_webhook(
    api: &AccountApi,
    caller: &Caller,
    name: &str,
) -> Result<Option<Webhook>, ApiError> {
    let account = caller.account.id;
    let mut session = api.data.session().await.map_err(away)?;
    let found = if name == TASKS {
        webhooks::for_tasks(&mut session, account).await
    } else {
        let id = webhook_of(name).ok_or_else(|| no_webhook(name))?;
        webhooks::find(&mut session, account, id).await
    };
    found.map_err(away)
}

async fn webhook_of_caller(
    api: &AccountApi,
    caller: &Caller,
    name: &str,
) -> Result<Webhook, ApiError> {
    let found = find_webhook(api, caller, name).await?;
    found.ok_or_else(|| no_webhook(name))
}

/// One that has an address of its own.
async fn endpoint_of_caller(
    api: &AccountApi,
    caller: &Caller,
    name: &str,
) -> Result<Webhook, ApiError> {
    let webhook = webhook_of_caller(api, caller, name).await?;
    match webhook.kind {
        WebhookKind::Endpoint => Ok(webhook),
        WebhookKind::Tasks => {
            let text = "the entry of kind `tasks` has no address of its own: it can be looked at \
                        and rotated, and its deliveries listed and replayed";
            Err(ApiError::new(ErrorCode::Invalid("invalid_request"), text).at("id"))
        }
    }
}

fn away(error: DbError) -> ApiError {
    tracing::warn!(%error, "webhook API: query failed");
    ApiError::unavailable()
}

fn no_webhook(name: &str) -> ApiError {
    let name: String = name.chars().take(64).collect();
    let text = format!("this account has no webhook {name:?}; GET /v1/webhooks lists them");
    ApiError::new(ErrorCode::NotFound, text).at("id")
}

/// The event of a delivery's name.
fn event_of(name: &str) -> Option<Uuid> {
    Uuid::try_parse(name)
        .ok()
        .filter(|id| id.to_string() == name)
}
