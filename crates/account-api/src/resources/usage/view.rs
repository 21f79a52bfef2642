//! Sums and calls as JSON. Amounts are exact decimals, as text.

use serde_json::{Map, Value, json};
use trunkline_ledger::usage_report::{Call, Grouping, Report, ReportRow, Totals, UsageFilter};
use trunkline_types::KeyId;

pub(super) fn page(
    seen: &UsageFilter,
    by: Grouping,
    report: &Report,
    next: Option<String>,
) -> Value {
    let lines: Vec<Value> = report.lines.iter().map(|line| row_view(by, line)).collect();
    json!({
        "object": "usage_report",
        "from": seen.from.to_string(),
        "to": seen.to.to_string(),
        "timezone": "UTC",
        "group_by": by.words(),
        "data": lines,
        "totals": sums(&report.totals),
        "has_more": next.is_some(),
        "next": next,
    })
}

fn row_view(by: Grouping, line: &ReportRow) -> Value {
    let group_key = &line.group_key;
    let mut object = Map::new();
    for column in by.words() {
        let value = match column {
            "day" => group_key.day.to_string().into(),
            // Calls without a key have none.
            "key" => (group_key.key != 0).then_some(group_key.key).into(),
            "model" => group_key.model.as_str().into(),
            "group" => group_key.group.as_str().into(),
            _ => group_key.endpoint.as_str().into(),
        };
        object.insert(column.to_owned(), value);
    }
    object.extend(sums(&line.totals));
    Value::Object(object)
}

fn sums(sums: &Totals) -> Map<String, Value> {
    let pairs = [
        ("calls", sums.calls.into()),
        ("failed_calls", sums.failed.into()),
        ("input_units", sums.input_units.into()),
        ("output_units", sums.output_units.into()),
        ("call_units", sums.call_units.into()),
        ("second_units", sums.second_units.into()),
        ("charged_usd", Value::from(sums.charged().to_string())),
        ("paid_usd", sums.paid.to_string().into()),
        ("trial_usd", sums.trial.to_string().into()),
        ("refunded_usd", sums.refunded.to_string().into()),
    ];
    let owned = |(name, value): (&str, Value)| (name.to_owned(), value);
    pairs.into_iter().map(owned).collect()
}

pub(super) fn call_lines(calls: &[Call]) -> String {
    let mut text = String::new();
    for call in calls {
        text.push_str(&self::call(call).to_string());
        text.push('\n');
    }
    text
}

fn call(call: &Call) -> Value {
    json!({
        "request_id": call.request.to_string(),
        "opened_at": call.opened_at.seconds(),
        "settled_at": call.settled_at.seconds(),
        "key": call.key.map(KeyId::number),
        "model": call.model,
        "group": call.group,
        "endpoint": call.endpoint,
        "outcome": call.outcome,
        "estimated": call.estimated,
        "units": call.units,
        "paid_usd": call.paid.to_string(),
        "trial_usd": call.trial.to_string(),
        "refunded_usd": call.refunded.to_string(),
    })
}
