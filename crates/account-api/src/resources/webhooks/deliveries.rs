//! What was sent, what is on its way, and what is to be sent once more.

use http::StatusCode;
use serde_json::{Value, json};
use trunkline_edge::caller::Caller;
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_edge::response::{Response, json as answer};
use trunkline_store::webhooks::{self, Delivery};
use trunkline_types::Timestamp;

use super::{away, event_of, webhook_of_caller};
use crate::state::AccountApi;
use crate::task_id::task_name;

const MOST_PER_PAGE: i64 = 100;
const USUAL_PER_PAGE: i64 = 20;

pub(super) async fn list_deliveries(
    api: &AccountApi,
    caller: &Caller,
    name: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let (mut limit, mut after) = (USUAL_PER_PAGE, None);
    let pairs = query.unwrap_or_default().split('&');
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("limit", text)) => {
                let number = text.parse().ok();
                let number = number.filter(|number| (1..=MOST_PER_PAGE).contains(number));
                limit = number.ok_or_else(|| {
                    let why = format!("`limit` must be from 1 to {MOST_PER_PAGE}");
                    ApiError::new(ErrorCode::Invalid("invalid_request"), why).at("limit")
                })?;
            }
            Some(("after", event)) => {
                after = Some(event_of(event).ok_or_else(|| no_delivery(event))?);
            }
            // A key may stand here, and is not repeated.
            Some(("key", _)) => {}
            Some((other, _)) => return Err(unknown(other)),
            None => return Err(unknown(pair)),
        }
    }
    let webhook = webhook_of_caller(api, caller, name).await?;
    let mut session = api.data.session().await.map_err(away)?;
    let more = limit.saturating_add(1);
    let found = webhooks::page(&mut session, webhook.id, after, more).await;
    let mut found = found.map_err(away)?;
    let most = usize::try_from(limit).unwrap_or(0);
    let has_more = found.len() > most;
    found.truncate(most);
    let data: Vec<Value> = found.iter().map(delivery_view).collect();
    let body = json!({ "object": "list", "data": data, "has_more": has_more });
    Ok(answer(StatusCode::OK, &body))
}

pub(super) async fn replay_delivery(
    api: &AccountApi,
    caller: &Caller,
    name: &str,
    event: &str,
    body: &[u8],
) -> Result<Response, ApiError> {
    super::params::nothing(body)?;
    let id = event_of(event).ok_or_else(|| no_delivery(event))?;
    let webhook = webhook_of_caller(api, caller, name).await?;
    if webhook.paused.is_some() {
        let text = "this webhook is paused; resume it to send the queued deliveries";
        return Err(ApiError::new(ErrorCode::Invalid("webhook_paused"), text).at("id"));
    }
    let mut tx = api.data.begin().await.map_err(away)?;
    let replayed = webhooks::replay(&mut tx, webhook.id, id).await;
    let replayed = tx.finish(replayed).await.map_err(away)?;
    let replayed = replayed.ok_or_else(|| no_delivery(event))?;
    Ok(answer(StatusCode::OK, &delivery_view(&replayed)))
}

fn delivery_view(delivery: &Delivery) -> Value {
    let seconds = |at: Option<Timestamp>| at.map(Timestamp::seconds);
    json!({
        "object": "webhook.delivery",
        "id": delivery.event.to_string(),
        "event": delivery.event.to_string(),
        "topic": delivery.topic,
        "seq": delivery.seq,
        "task_id": delivery.task.map(task_name),
        "state": delivery.state.as_str(),
        "tries": delivery.tries,
        "last_status": delivery.last_status,
        "last_error": delivery.last_error,
        "last_try_at": seconds(delivery.last_try_at),
        "next_try_at": seconds(delivery.next_try_at),
        "delivered_at": seconds(delivery.delivered_at),
        "created_at": delivery.created_at.seconds(),
    })
}

fn unknown(name: &str) -> ApiError {
    let name: String = name.chars().take(64).collect();
    let text = format!("unknown parameter {name:?}; parameters: limit, after");
    ApiError::new(ErrorCode::Invalid("unknown_parameter"), text).at(&name)
}

fn no_delivery(event: &str) -> ApiError {
    let event: String = event.chars().take(64).collect();
    let text =
        format!("this webhook has no delivery {event:?}; deliveries are stored for seven days");
    ApiError::new(ErrorCode::NotFound, text).at("delivery")
}
