//! Sums and calls as CSV.

use trunkline_ledger::usage_report::{Call, Grouping, ReportRow};
use trunkline_types::KeyId;
use trunkline_types::csv::write;

const SUMS: [&str; 10] = [
    "calls",
    "failed_calls",
    "input_units",
    "output_units",
    "call_units",
    "second_units",
    "charged_usd",
    "paid_usd",
    "trial_usd",
    "refunded_usd",
];
const CALLS: [&str; 13] = [
    "request_id",
    "opened_at",
    "settled_at",
    "key",
    "model",
    "group",
    "endpoint",
    "outcome",
    "estimated",
    "units",
    "paid_usd",
    "trial_usd",
    "refunded_usd",
];

/// The names of the columns.
pub(super) fn head(by: Grouping) -> String {
    let mut text = String::new();
    let names: Vec<String> = by
        .words()
        .into_iter()
        .chain(SUMS)
        .map(str::to_owned)
        .collect();
    write(&mut text, &names);
    text
}

pub(super) fn line(text: &mut String, by: Grouping, line: &ReportRow) {
    let (group_key, sums) = (&line.group_key, &line.totals);
    let mut fields: Vec<String> = Vec::new();
    for column in by.words() {
        fields.push(match column {
            "day" => group_key.day.to_string(),
            "key" => key((group_key.key != 0).then_some(group_key.key)),
            "model" => group_key.model.clone(),
            "group" => group_key.group.clone(),
            _ => group_key.endpoint.clone(),
        });
    }
    let counts = [
        sums.calls,
        sums.failed,
        sums.input_units,
        sums.output_units,
        sums.call_units,
        sums.second_units,
    ];
    fields.extend(counts.map(|count| count.to_string()));
    let amounts = [sums.charged(), sums.paid, sums.trial, sums.refunded];
    fields.extend(amounts.map(|amount| amount.to_string()));
    write(text, &fields);
}

/// Calls, with the names of their columns.
pub(super) fn calls(calls: &[Call]) -> String {
    let mut text = String::new();
    write(&mut text, &CALLS.map(str::to_owned));
    for call in calls {
        let fields = [
            call.request.to_string(),
            call.opened_at.seconds().to_string(),
            call.settled_at.seconds().to_string(),
            key(call.key.map(KeyId::number)),
            call.model.clone(),
            call.group.clone(),
            call.endpoint.clone(),
            call.outcome.clone(),
            call.estimated.to_string(),
            call.units.to_string(),
            call.paid.to_string(),
            call.trial.to_string(),
            call.refunded.to_string(),
        ];
        write(&mut text, &fields);
    }
    text
}

fn key(number: Option<i64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}
