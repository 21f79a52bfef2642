//! `data` of an answer: the page that was asked for in the platform's own shape, as whole as a fault
//! leaves it.

use serde_json::{Value, json};

use super::answer::{Context, Reply};
use super::paging::{self, TOTAL, Turn};
use super::params::Arguments;
use super::rows::{PAGE_ITEMS, Row};
use super::template::Renderer;
use crate::fault::SocialFault;

/// An answer with data, as whole as the fault leaves it.
pub(super) fn page_data(
    row: &Row,
    arguments: &Arguments,
    context: &Context<'_>,
    fault: Option<SocialFault>,
) -> Reply {
    let turn = match paging::turn(row, arguments) {
        Ok(turn) => turn,
        Err(why) => return context.refused(400, why.0),
    };
    let data = filled(row, arguments, turn, fault);
    match fault {
        Some(SocialFault::NoCode) => {
            let mut fields = context.envelope(data);
            fields.remove("code");
            Reply::json(200, &Value::Object(fields))
        }
        Some(SocialFault::NoData) => {
            let mut fields = context.envelope(data);
            fields.remove("data");
            Reply::json(200, &Value::Object(fields))
        }
        Some(SocialFault::Big) => context.big(data),
        Some(SocialFault::Cut) => context.good(data).cut(),
        Some(_) | None => context.good(data),
    }
}

/// `data`, with the platform's own fields.
pub(super) fn filled(
    row: &Row,
    arguments: &Arguments,
    turn: Turn,
    fault: Option<SocialFault>,
) -> Value {
    if fault == Some(SocialFault::Scalar) {
        return json!(7);
    }
    let is_same = fault == Some(SocialFault::SamePage);
    let turn = if is_same {
        Turn {
            page: 1,
            from: 0,
            ..turn
        }
    } else {
        turn
    };
    let total = match (&row.page, fault) {
        (_, Some(SocialFault::Empty | SocialFault::Null)) => 0,
        (Some(_), _) => TOTAL,
        (None, _) => row.size,
    };
    let end = turn.from.saturating_add(PAGE_ITEMS).min(total);
    let has_more = (is_same && row.page.is_some()) || end < total;
    let shape = row.shape(&arguments.values);
    let mut renderer = Renderer {
        arguments,
        seed: turn.seed,
        page: turn.page,
        total,
        count: end.saturating_sub(turn.from),
        offset: end,
        has_more,
        next: match &row.page {
            Some(paging) => paging.next(row, turn, has_more),
            None => Value::from(""),
        },
        items: Value::Null,
        item: Value::Null,
        index: turn.from,
    };
    if fault == Some(SocialFault::Inner) {
        return row.inner.fill(&renderer);
    }
    let mut items = Vec::new();
    for index in turn.from..end {
        renderer.index = index;
        items.push(shape.item.fill(&renderer));
    }
    renderer.index = turn.from;
    match fault {
        Some(SocialFault::Array) => return Value::Array(items),
        Some(SocialFault::Null) => {}
        Some(SocialFault::Empty) => {
            renderer.items = json!([]);
            renderer.item = json!({});
        }
        Some(_) | None => {
            renderer.item = items.first().cloned().unwrap_or(Value::Null);
            renderer.items = Value::Array(items);
        }
    }
    shape.data.fill(&renderer)
}
