//! What a response repeats of its request, with the defaults of what was left out.

use serde_json::{Value, json};

use crate::request::Object;

use super::tools;

/// What a response repeats of its request.
#[derive(Clone, Debug)]
pub(crate) struct Echo {
    pub(super) before_model: Vec<(&'static str, Value)>,
    pub(super) after_output: Vec<(&'static str, Value)>,
    pub(super) behind_usage: Vec<(&'static str, Value)>,
    pub(crate) background: bool,
}

// === impl Echo ===

impl Echo {
    pub(crate) fn of(body: &Object, reasons: bool) -> Self {
        let or = |name: &str, default: Value| match body.get(name) {
            None | Some(Value::Null) => default,
            Some(value) => value.clone(),
        };
        let given = |name: &'static str| (name, or(name, Value::Null));
        let effort = if reasons {
            json!("medium")
        } else {
            Value::Null
        };
        let inside = |outer: &str, name: &str, default: Value| match or(outer, json!({})).get(name)
        {
            None | Some(Value::Null) => default,
            Some(value) => value.clone(),
        };
        let reasoning = json!({
            "effort": inside("reasoning", "effort", effort),
            "summary": inside("reasoning", "summary", Value::Null),
        });
        let text = json!({
            "format": inside("text", "format", json!({"type": "text"})),
            "verbosity": inside("text", "verbosity", json!("medium")),
        });
        Self {
            background: body.get("background") == Some(&Value::Bool(true)),
            before_model: vec![
                given("instructions"),
                given("max_output_tokens"),
                given("max_tool_calls"),
            ],
            after_output: vec![
                (
                    "parallel_tool_calls",
                    or("parallel_tool_calls", json!(true)),
                ),
                given("previous_response_id"),
                given("prompt_cache_key"),
                ("reasoning", reasoning),
                given("safety_identifier"),
                ("service_tier", json!("default")),
                ("store", or("store", json!(true))),
                ("temperature", or("temperature", json!(1.0))),
                ("text", text),
                ("tool_choice", or("tool_choice", json!("auto"))),
                ("tools", tools::repeated(body)),
                ("top_logprobs", or("top_logprobs", json!(0))),
                ("top_p", or("top_p", json!(1.0))),
                ("truncation", or("truncation", json!("disabled"))),
            ],
            behind_usage: vec![given("user"), ("metadata", or("metadata", json!({})))],
        }
    }

    /// The same with the tier that serves it.
    pub(crate) fn served_in(mut self, tier: &str) -> Self {
        for (name, value) in &mut self.after_output {
            if *name == "service_tier" {
                *value = json!(tier);
            }
        }
        self
    }
}
