//! The documents of the wire: a response at each stage of its life, and its items, field by field
//! in the vendor's order. The order is [unverified].

use serde_json::json;

use crate::answer::Usage;
use crate::ordered_json::{OrderedJson, list};
use crate::script::GAP;
use crate::wording;

use super::answer::{Call, CallKind, Item, Outcome, Output, Says, What};
use super::echo::Echo;

/// A response, and how it is told.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) id: String,
    pub(crate) created_at: u64,
    pub(crate) model: String,
    pub(crate) echo: Echo,
    pub(crate) output: Output,
    pub(crate) style: Style,
}

/// What faults change about the renderer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Usage is multiplied by this.
    pub(crate) factor: u64,
    pub(crate) tells_usage: bool,
    pub(crate) tells_status: bool,
    /// Words carry characters of two bytes.
    pub(crate) accents: bool,
    /// Texts are left out, to be filled in when they are sent.
    pub(crate) has_gap: bool,
}

/// Where a response is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Queued,
    InProgress,
    Ended,
    Cancelled,
}

// === impl Style ===

impl Default for Style {
    fn default() -> Self {
        Self {
            factor: 1,
            tells_usage: true,
            tells_status: true,
            accents: false,
            has_gap: false,
        }
    }
}

// === impl Reply ===

impl Reply {
    /// The whole response at a stage of its life.
    pub(crate) fn document(&self, stage: Stage) -> String {
        let ended = (stage == Stage::Ended).then_some(&self.output.outcome);
        let status = match stage {
            Stage::Queued => "queued",
            Stage::InProgress => "in_progress",
            Stage::Cancelled => "cancelled",
            Stage::Ended => self.output.outcome.name(),
        };
        let error = match ended {
            Some(Outcome::Failed(code)) => Some(failure(code)),
            Some(Outcome::Completed | Outcome::Incomplete(_)) | None => None,
        };
        let details = match ended {
            Some(Outcome::Incomplete(reason)) => Some(json!({"reason": reason})),
            Some(Outcome::Completed | Outcome::Failed(_)) | None => None,
        };
        let completed_at = (ended == Some(&Outcome::Completed)).then_some(self.created_at);
        let shows_output = ended.is_some() && error.is_none();
        let items: Vec<String> = if shows_output {
            self.output
                .items
                .iter()
                .map(|item| self.item(item, false))
                .collect()
        } else {
            Vec::new()
        };
        let is_told = stage != Stage::Ended || self.style.tells_status;
        let mut written = OrderedJson::new()
            .with("id", &self.id)
            .with("object", "response")
            .with("created_at", &self.created_at)
            .with("status", &is_told.then_some(status))
            .with("background", &self.echo.background)
            .with("completed_at", &completed_at)
            .raw("error", error.as_deref().unwrap_or("null"))
            .with("incomplete_details", &details);
        for (name, value) in &self.echo.before_model {
            written = written.with(name, value);
        }
        written = written
            .with("model", &self.model)
            .raw("output", &list(&items));
        for (name, value) in &self.echo.after_output {
            written = written.with(name, value);
        }
        let has_usage = shows_output && self.style.tells_usage;
        let usage = if has_usage {
            self.usage()
        } else {
            "null".to_owned()
        };
        written = written.raw("usage", &usage);
        for (name, value) in &self.echo.behind_usage {
            written = written.with(name, value);
        }
        written.done()
    }

    /// An item, as it is when it begins or when it is there.
    pub(crate) fn item(&self, item: &Item, is_beginning: bool) -> String {
        let status = match (is_beginning, item.is_cut) {
            (true, _) => "in_progress",
            (false, true) => "incomplete",
            (false, false) => "completed",
        };
        let base = OrderedJson::new().with("id", &item.id);
        match &item.what {
            What::Reasoning { sealed, .. } => {
                let summary = self.text(item);
                let parts = match summary {
                    Some(text) if !is_beginning => vec![summary_part(&text)],
                    Some(_) | None => Vec::new(),
                };
                base.with("type", "reasoning")
                    .raw("summary", &list(&parts))
                    .maybe("encrypted_content", sealed.as_ref())
                    .done()
            }
            What::Search { query } => {
                let action = OrderedJson::new()
                    .with("type", "search")
                    .with("query", query)
                    .done();
                base.with("type", "web_search_call")
                    .with("status", status)
                    .raw("action", &action)
                    .done()
            }
            What::Message { .. } => {
                let parts = if is_beginning {
                    Vec::new()
                } else {
                    vec![self.part(item, false)]
                };
                base.with("type", "message")
                    .with("status", status)
                    .raw("content", &list(&parts))
                    .with("role", "assistant")
                    .done()
            }
            What::Call(call) => {
                let text = if is_beginning {
                    String::new()
                } else {
                    self.text(item).unwrap_or_default()
                };
                self.call(call, base, &text, status)
            }
        }
    }

    fn call(&self, call: &Call, base: OrderedJson, text: &str, status: &str) -> String {
        match call.kind {
            CallKind::Function => base
                .with("type", "function_call")
                .with("status", status)
                .with("arguments", text)
                .with("call_id", &call.call_id)
                .with("name", &call.name)
                .maybe("namespace", call.namespace.as_ref())
                .done(),
            CallKind::Custom => base
                .with("type", "custom_tool_call")
                .with("status", status)
                .with("call_id", &call.call_id)
                .with("input", text)
                .with("name", &call.name)
                .maybe("namespace", call.namespace.as_ref())
                .done(),
            CallKind::LocalShell => {
                let words: Vec<&str> = text.split_whitespace().collect();
                let action = OrderedJson::new()
                    .with("type", "exec")
                    .with("command", &words)
                    .with("env", &json!({}))
                    .done();
                base.with("type", "local_shell_call")
                    .with("status", status)
                    .raw("action", &action)
                    .with("call_id", &call.call_id)
                    .done()
            }
        }
    }

    /// The part of a message, empty or full.
    pub(crate) fn part(&self, item: &Item, is_beginning: bool) -> String {
        let text = if is_beginning {
            String::new()
        } else {
            self.text(item).unwrap_or_default()
        };
        let What::Message { says, citations } = &item.what else {
            return OrderedJson::new().done();
        };
        if let Says::Refusal(_) = says {
            return OrderedJson::new()
                .with("type", "refusal")
                .with("refusal", &text)
                .done();
        }
        let visible = if is_beginning { 0 } else { *citations };
        let annotations: Vec<String> = (0..visible).map(annotation).collect();
        OrderedJson::new()
            .with("type", "output_text")
            .raw("annotations", &list(&annotations))
            .raw("logprobs", "[]")
            .with("text", &text)
            .done()
    }

    /// All of an item's text, if it shows any.
    pub(crate) fn text(&self, item: &Item) -> Option<String> {
        let all = |words: u64| (0..words).map(|index| self.word(index)).collect();
        match &item.what {
            What::Reasoning {
                tokens,
                is_shown: true,
                ..
            } => Some(all(*tokens)),
            What::Reasoning { .. } | What::Search { .. } => None,
            What::Message { says, .. } => Some(match says {
                Says::Words(_) if self.style.has_gap => GAP.to_owned(),
                Says::Words(words) | Says::Refusal(words) => all(*words),
                Says::Document(tokens) => tokens.concat(),
            }),
            What::Call(call) => Some(call.pieces.concat()),
        }
    }

    pub(crate) fn token(&self, item: &Item, index: u64) -> String {
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        match &item.what {
            What::Message {
                says: Says::Document(pieces),
                ..
            }
            | What::Call(Call { pieces, .. }) => pieces.get(at).cloned().unwrap_or_default(),
            What::Message { .. } if self.style.has_gap => GAP.to_owned(),
            What::Message { .. } | What::Reasoning { .. } | What::Search { .. } => self.word(index),
        }
    }

    /// Usage as it is told, which may be a lie.
    pub(crate) fn reported_usage(&self) -> Usage {
        self.output.usage.times(self.style.factor)
    }

    fn word(&self, index: u64) -> String {
        wording::word(&self.model, index, self.style.accents)
    }

    fn usage(&self) -> String {
        let reported = self.reported_usage();
        let writes = self.output.cache_write_tokens;
        let input = OrderedJson::new()
            .with("cached_tokens", &reported.cached)
            .with(
                "cache_write_tokens",
                &writes.saturating_mul(self.style.factor),
            )
            .done();
        let output = OrderedJson::new()
            .with("reasoning_tokens", &reported.reasoning)
            .done();
        OrderedJson::new()
            .with("input_tokens", &reported.prompt)
            .raw("input_tokens_details", &input)
            .with("output_tokens", &reported.completion)
            .raw("output_tokens_details", &output)
            .with("total_tokens", &reported.total())
            .done()
    }
}

// === impl Outcome ===

impl Outcome {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Incomplete(_) => "incomplete",
            Self::Failed(_) => "failed",
        }
    }
}

/// The error inside a response that failed.
pub(crate) fn failure(code: &str) -> String {
    OrderedJson::new()
        .with("code", code)
        .with(
            "message",
            "The server had an error while processing your request. Sorry about that!",
        )
        .done()
}

pub(crate) fn summary_part(text: &str) -> String {
    OrderedJson::new()
        .with("type", "summary_text")
        .with("text", text)
        .done()
}

/// A citation of an address that does not exist. All point at the first word.
pub(crate) fn annotation(index: u64) -> String {
    OrderedJson::new()
        .with("type", "url_citation")
        .with("start_index", &0)
        .with("end_index", &4)
        .with("url", &format!("https://source{index}.invalid/"))
        .with("title", &format!("Source {index}"))
        .done()
}
