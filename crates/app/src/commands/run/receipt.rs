//! The receipt of a command: one line for each call, and their sum.

use serde_json::{Value, json};
use trunkline_types::Money;

use super::gateway::SubKey;

pub(super) struct Receipt {
    pub(super) calls: u64,
    pub(super) charged: Money,
    pub(super) refunded: Money,
    /// The newest calls first.
    pub(super) lines: Vec<Line>,
    /// What calls have reserved that did not end in time.
    pub(super) still_held: Option<Money>,
}

/// One call.
pub(super) struct Line {
    pub(super) request: String,
    pub(super) model: String,
    pub(super) outcome: String,
    pub(super) charged: Money,
    pub(super) refunded: Money,
}

/// Lines that are printed for a person; a program gets all of them.
const PRINTED: usize = 40;

// === impl Receipt ===

impl Receipt {
    /// What was paid and not given back.
    pub(super) fn net(&self) -> Money {
        self.charged
            .checked_sub(self.refunded)
            .unwrap_or(self.charged)
    }

    pub(super) fn text(&self, key: &SubKey, budget: Money) -> String {
        let mut text = vec![String::new(), format!("Receipt of key {}", key.id)];
        let printed = self.lines.iter().take(PRINTED).rev();
        text.extend(printed.map(Line::text));
        let more = self.lines.len().saturating_sub(PRINTED);
        if more > 0 {
            text.push(format!("  and {more} earlier calls"));
        }
        if self.refunded != Money::ZERO {
            text.push(format!("  refunded ${}", self.refunded));
        }
        if let Some(held) = self.still_held {
            text.push(format!(
                "  not complete: ${held} is still reserved by calls that run"
            ));
        }
        let (calls, net) = (self.calls, self.net());
        text.push(format!("{calls} calls, ${net} of ${budget} spent"));
        text.join("\n")
    }

    pub(super) fn object(&self) -> Value {
        let line = |line: &Line| {
            json!({
                "request_id": line.request, "model": line.model, "outcome": line.outcome,
                "charged_usd": line.charged.to_string(), "refunded_usd": line.refunded.to_string(),
            })
        };
        json!({
            "calls": self.calls,
            "charged_usd": self.charged.to_string(),
            "refunded_usd": self.refunded.to_string(),
            "spent_usd": self.net().to_string(),
            "still_reserved_usd": self.still_held.map(|held| held.to_string()),
            "lines": self.lines.iter().map(line).collect::<Vec<Value>>(),
        })
    }
}

// === impl Line ===

impl Line {
    fn text(&self) -> String {
        let Self {
            request,
            model,
            outcome,
            charged,
            ..
        } = self;
        format!("  {request}  {model:<28} {outcome:<12} ${charged}")
    }
}
