//! How the response is to be made, written as Google has it.

use serde_json::{Map, Value, json};

use super::FORMAT;
use super::config_in::JSON;
use crate::canonical::{
    Conversation, Notes, OutputShape, Reasoning, Target, budget_of_effort, effort_of_budget,
};

/// Tokens for thoughts that all of Google's models take.
const MAX_BUDGET: u64 = 24_576;
/// Texts that may end a response.
const MAX_STOPS: usize = 5;
const LEVELS: [&str; 4] = ["minimal", "low", "medium", "high"];

/// Writes `generationConfig`.
pub(super) fn write_config(
    conversation: &Conversation,
    target: &Target<'_>,
    body: &mut Map<String, Value>,
    notes: &mut Notes,
) {
    let mut config = Map::new();
    let sampling = &conversation.sampling;
    for (key, number) in [
        ("temperature", &sampling.temperature),
        ("topP", &sampling.top_p),
        ("topK", &sampling.top_k),
        ("seed", &sampling.seed),
        ("presencePenalty", &sampling.presence_penalty),
        ("frequencyPenalty", &sampling.frequency_penalty),
    ] {
        if let Some(number) = number {
            config.insert(key.to_owned(), Value::Number(number.clone()));
        }
    }
    if let Some(tokens) = target.max_output.or(conversation.max_output) {
        config.insert("maxOutputTokens".to_owned(), tokens.into());
    }
    if conversation.choices > 1 {
        config.insert("candidateCount".to_owned(), conversation.choices.into());
    }
    write_stop(conversation, &mut config, notes);
    match &conversation.output {
        OutputShape::Text => {}
        OutputShape::Json => {
            config.insert("responseMimeType".to_owned(), JSON.into());
        }
        OutputShape::Schema { schema, .. } => {
            config.insert("responseMimeType".to_owned(), JSON.into());
            config.insert("responseJsonSchema".to_owned(), schema.clone());
        }
    }
    let thinking = if conversation.from == FORMAT {
        own_thinking(&conversation.reasoning)
    } else {
        thinking(&conversation.reasoning, target, notes)
    };
    if !thinking.is_empty() {
        config.insert("thinkingConfig".to_owned(), Value::Object(thinking));
    }
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), Value::Object(config));
    }
}

fn write_stop(conversation: &Conversation, config: &mut Map<String, Value>, notes: &mut Notes) {
    let texts = conversation.stop.as_slice();
    let few = texts
        .get(..MAX_STOPS)
        .filter(|_| conversation.from != FORMAT);
    if few.is_some_and(|few| few.len() < texts.len()) {
        notes.dropped(
            "stop",
            "Google takes five texts at most; the first five are sent",
        );
    }
    let texts = few.unwrap_or(texts);
    if !texts.is_empty() {
        config.insert("stopSequences".to_owned(), json!(texts));
    }
}

/// What a caller of this format said, as it was said.
fn own_thinking(reasoning: &Reasoning) -> Map<String, Value> {
    let mut written = Map::new();
    if let Some(visible) = reasoning.visible {
        written.insert("includeThoughts".to_owned(), visible.into());
    }
    if reasoning.off {
        written.insert("thinkingBudget".to_owned(), 0.into());
    } else if reasoning.adaptive {
        written.insert("thinkingBudget".to_owned(), (-1).into());
    } else if let Some(budget) = reasoning.budget {
        written.insert("thinkingBudget".to_owned(), budget.into());
    }
    if let Some(effort) = &reasoning.effort {
        let level = effort.to_ascii_uppercase();
        written.insert("thinkingLevel".to_owned(), level.into());
    }
    written
}

/// What a caller of another format said: one of a level and a budget, since Google takes no two.
fn thinking(reasoning: &Reasoning, target: &Target<'_>, notes: &mut Notes) -> Map<String, Value> {
    let mut written = Map::new();
    let off = reasoning.off || reasoning.effort.as_deref() == Some("none");
    let visible = reasoning
        .visible
        .or(reasoning.summary.as_ref().map(|_| true));
    if let Some(visible) = visible.filter(|visible| *visible && !off) {
        written.insert("includeThoughts".to_owned(), visible.into());
    }
    let requested = match (&reasoning.effort, reasoning.budget) {
        _ if off => Some(ThinkingRequest::Off),
        (_, Some(budget)) if !target.thinks_by_effort => Some(ThinkingRequest::Budget(budget)),
        (Some(effort), _) => Some(ThinkingRequest::Effort(effort)),
        (None, Some(budget)) => Some(ThinkingRequest::Effort(effort_of_budget(budget))),
        (None, None) if reasoning.adaptive => Some(ThinkingRequest::Adaptive),
        (None, None) => None,
    };
    match requested {
        Some(ThinkingRequest::Off) if target.thinks_by_effort => {
            notes.approximated("reasoning", "this model always thinks a little");
            written.insert("thinkingLevel".to_owned(), "MINIMAL".into());
        }
        Some(ThinkingRequest::Off) => {
            written.insert("thinkingBudget".to_owned(), 0.into());
        }
        Some(ThinkingRequest::Adaptive) if target.thinks_by_effort => {}
        Some(ThinkingRequest::Adaptive) => {
            written.insert("thinkingBudget".to_owned(), (-1).into());
        }
        Some(ThinkingRequest::Effort(effort)) if target.thinks_by_effort => {
            let level = level_of(effort, notes);
            written.insert("thinkingLevel".to_owned(), level.into());
        }
        Some(ThinkingRequest::Effort(effort)) => {
            let budget = budget_of_effort(effort);
            let budget = budget.unwrap_or_else(|| unknown_effort(notes));
            write_budget(&mut written, budget, notes);
        }
        Some(ThinkingRequest::Budget(budget)) => write_budget(&mut written, budget, notes),
        None => {}
    }
    written
}

/// The reasoning options, as far as they were given.
enum ThinkingRequest<'a> {
    Off,
    Adaptive,
    Effort(&'a str),
    Budget(u64),
}

fn level_of(effort: &str, notes: &mut Notes) -> String {
    if LEVELS.contains(&effort) {
        return effort.to_ascii_uppercase();
    }
    notes.approximated("reasoning_effort", "Google's highest level is sent");
    "HIGH".to_owned()
}

fn unknown_effort(notes: &mut Notes) -> u64 {
    notes.approximated("reasoning_effort", "Google does not have this word");
    MAX_BUDGET
}

fn write_budget(written: &mut Map<String, Value>, budget: u64, notes: &mut Notes) {
    if budget > MAX_BUDGET {
        notes.approximated(
            "reasoning",
            "more thoughts are asked for than Google's models take",
        );
    }
    let budget = budget.min(MAX_BUDGET);
    written.insert("thinkingBudget".to_owned(), budget.into());
}
