//! Views for customers: a cell in the catalog, a result, a page of a paginated result.

use serde::Serialize;
use serde_json::{Value, json};
use trunkline_catalog::Number;
use trunkline_types::Money;

use crate::cell::{Cell, Param};
use crate::response::Data;

/// Nano-USD to the numbers of a catalog.
const PICO_IN_NANO: i128 = 1_000;

#[derive(Serialize)]
struct CellView<'a> {
    platform: &'a str,
    label: &'a str,
    name: &'a str,
    capability: &'a str,
    model: &'a str,
    method: &'a str,
    path: String,
    params: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    require_one_of: Option<&'a [Vec<String>]>,
    price_usd: Option<Number>,
    unit: &'a str,
    status: &'a str,
    pages: bool,
}

/// One cell of the catalog as JSON. Without a price it is not on sale, and so paused.
#[must_use]
pub fn catalog_cell(cell: &Cell, price: Option<Money>, is_paused: bool) -> String {
    let number = |money: Money| {
        let nanos = i128::from(money.nanos());
        Number::from_pico(nanos.saturating_mul(PICO_IN_NANO))
    };
    let view = CellView {
        platform: &cell.platform.key,
        label: &cell.platform.label,
        name: &cell.platform.name,
        capability: cell.capability.as_str(),
        model: &cell.model,
        method: "GET",
        path: cell.route(),
        params: cell.params.iter().map(shown_param).collect(),
        require_one_of: (!cell.require_one_of.is_empty()).then_some(&*cell.require_one_of),
        price_usd: price.map(number),
        unit: "call",
        status: if is_paused || price.is_none() {
            "paused"
        } else {
            "available"
        },
        pages: cell.has_pages(),
    };
    serde_json::to_string(&view).unwrap_or_default()
}

fn shown_param(param: &Param) -> Value {
    let mut view = json!({
        "name": param.name,
        "type": param.kind.as_str(),
        "required": param.required,
        "description": param.description,
    });
    if let Some(object) = view.as_object_mut() {
        for (key, value) in [("default", &param.default), ("example", &param.example)] {
            if let Some(value) = value {
                object.insert(key.to_owned(), value.clone());
            }
        }
    }
    view
}

/// A result. The data stand in it byte by byte as they came.
#[must_use]
pub fn envelope(cell: &Cell, found: &Data) -> String {
    let platform = Value::from(cell.platform.key.as_str());
    let capability = cell.capability.as_str();
    let data = found.json();
    format!(
        r#"{{"object":"social.result","platform":{platform},"capability":"{capability}","data":{data}}}"#
    )
}

/// One page of many, as a line: a result with what stands before its data.
#[must_use]
pub fn page_line(cell: &Cell, found: &Data, about: &[(&str, Value)]) -> String {
    let mut line = String::from(r#"{"object":"social.page""#);
    let named = [
        ("platform", Value::from(cell.platform.key.as_str())),
        ("capability", Value::from(cell.capability.as_str())),
    ];
    for (key, value) in named.iter().chain(about) {
        line.push_str(&format!(",{}:{value}", Value::from(*key)));
    }
    // A line is a line: what breaks one stands between values only, where a space does as well.
    let data = found.json().replace(['\n', '\r'], " ");
    line.push_str(&format!(",\"data\":{data}}}\n"));
    line
}
