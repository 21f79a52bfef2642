//! What can be done with a response that is kept: look at it, list its input, cancel it, delete it.

use std::sync::Arc;

use serde_json::Value;

use crate::clock;
use crate::ordered_json::{OrderedJson, list};
use crate::recorded_request::RecordedRequest;
use crate::refusal::{Refusal, shortened};
use crate::request::fields::{wrong_type, wrong_value};

/// The vendor's own bounds of a page.
const MAX_PAGE: usize = 100;
const DEFAULT_PAGE: usize = 20;

/// A page of a list, as it was asked for.
struct Page {
    limit: usize,
    after: Option<String>,
    is_ascending: bool,
}

/// The response as it is now.
pub(crate) fn show(recorded: &RecordedRequest, id: &str) -> Result<String, Refusal> {
    let responses = recorded.state.responses();
    let stored = responses.find(&recorded.key, id);
    let stored = stored.ok_or_else(|| Refusal::no_such_response(id))?;
    Ok(stored.reply.document(stored.stage(clock::now_micros())))
}

pub(crate) fn delete(recorded: &RecordedRequest, id: &str) -> Result<String, Refusal> {
    if !recorded.state.responses().delete(&recorded.key, id) {
        return Err(Refusal::no_such_response(id));
    }
    Ok(OrderedJson::new()
        .with("id", id)
        .with("object", "response")
        .with("deleted", &true)
        .done())
}

/// Only what runs in the background can be cancelled; what has ended stays as it is.
pub(crate) fn cancel(recorded: &RecordedRequest, id: &str) -> Result<String, Refusal> {
    {
        let mut responses = recorded.state.responses();
        let stored = responses.find(&recorded.key, id);
        let stored = stored.ok_or_else(|| Refusal::no_such_response(id))?;
        if !stored.reply.echo.background {
            return Err(Refusal::unnamed("Cannot cancel a synchronous response."));
        }
        responses.cancel(&recorded.key, id, clock::now_micros());
    }
    show(recorded, id)
}

/// The items a response was made from.
pub(crate) fn input_items(recorded: &RecordedRequest, id: &str) -> Result<String, Refusal> {
    let page = read_page(recorded.parts.uri.query().unwrap_or(""))?;
    let mut items: Vec<Arc<Value>> = {
        let responses = recorded.state.responses();
        let stored = responses.find(&recorded.key, id);
        let stored = stored.ok_or_else(|| Refusal::no_such_response(id))?;
        let inputs = stored.context.items.iter().take(stored.inputs);
        inputs.cloned().collect()
    };
    if !page.is_ascending {
        items.reverse();
    }
    let id_of = |item: &Value| item.get("id").and_then(Value::as_str).map(str::to_owned);
    if let Some(after) = &page.after {
        let is_it = |item: &Arc<Value>| id_of(item).as_ref() == Some(after);
        match items.iter().position(is_it) {
            Some(at) => drop(items.drain(..=at)),
            None => {
                let message = format!("Item with id '{}' not found.", shortened(after));
                return Err(Refusal::invalid("after", None, message));
            }
        }
    }
    let has_more = items.len() > page.limit;
    items.truncate(page.limit);
    let listed: Vec<String> = items.iter().map(|item| item.to_string()).collect();
    Ok(OrderedJson::new()
        .with("object", "list")
        .raw("data", &list(&listed))
        .with("first_id", &items.first().and_then(|item| id_of(item)))
        .with("has_more", &has_more)
        .with("last_id", &items.last().and_then(|item| id_of(item)))
        .done())
}

fn read_page(query: &str) -> Result<Page, Refusal> {
    let mut page = Page {
        limit: DEFAULT_PAGE,
        after: None,
        is_ascending: false,
    };
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match name {
            "limit" => match value.parse() {
                Ok(limit) if (1..=MAX_PAGE).contains(&limit) => page.limit = limit,
                Ok(_) => {
                    let message = format!("Invalid 'limit': expected 1 to {MAX_PAGE}.");
                    let code = Some("integer_above_max_value");
                    return Err(Refusal::invalid("limit", code, message));
                }
                Err(_) => return Err(wrong_type("limit", "an integer", &Value::from(value))),
            },
            "after" => page.after = Some(value.to_owned()),
            "order" => match value {
                "asc" => page.is_ascending = true,
                "desc" => page.is_ascending = false,
                other => return Err(wrong_value("order", other, &["asc", "desc"])),
            },
            // `include` and `api-version` change nothing here.
            _ => {}
        }
    }
    Ok(page)
}
