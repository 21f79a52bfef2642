//! Reasoning options as the model takes them: by effort, or by a budget of tokens.

use serde_json::{Map, Value, json};

use super::OWN;
use super::tools::is_forced;
use crate::Format;
use crate::canonical::{
    Conversation, Notes, Reasoning, Target, budget_of_effort, effort_of_budget,
};

/// Thoughts that may be asked for at least.
const LEAST_BUDGET: u64 = 1_024;
/// What a model does that is to think as it likes.
const USUAL_EFFORT: &str = "high";
/// Efforts that the format has.
const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// What is written about thoughts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Thoughts {
    /// The field `thinking`.
    pub(super) thinking: Option<Map<String, Value>>,
    /// The field `output_config.effort`.
    pub(super) effort: Option<String>,
    /// The model will think, which leaves sampling to it.
    pub(super) on: bool,
}

/// Writes how hard to think. `unsigned` says that the model is in the middle of using tools and its
/// thoughts before that are not there to be sent along.
pub(super) fn reasoning_out(
    conversation: &Conversation,
    target: &Target<'_>,
    unsigned: bool,
    notes: &mut Notes,
) -> Thoughts {
    let from = conversation.from;
    let reasoning = &conversation.reasoning;
    if reasoning.off || reasoning.effort.as_deref() == Some("none") {
        return Thoughts {
            thinking: Some(kind("disabled")),
            effort: own_effort(from, reasoning),
            on: false,
        };
    }
    let mut thoughts = if target.thinks_by_effort {
        by_effort(reasoning, from, notes)
    } else {
        by_budget(conversation, target, notes)
    };
    if thoughts.on {
        let by_budget = !target.thinks_by_effort;
        // Callers of this format know what they may not ask for; what we have left out they do not know.
        let why = if from != OWN && is_forced(conversation.tool_choice.as_ref()) {
            Some("the model does not think where a tool must be used")
        } else if unsigned && by_budget {
            Some("the thoughts before the last use of tools are not there, so it goes on without")
        } else {
            None
        };
        if let Some(why) = why {
            let concept = if from == OWN {
                "reasoning_adaptive"
            } else {
                "reasoning_effort"
            };
            notes.approximated(concept, why);
            thoughts.thinking = None;
            thoughts.on = false;
        }
    }
    thoughts
}

/// A caller of this format may name an effort whatever else it says.
fn own_effort(from: Format, reasoning: &Reasoning) -> Option<String> {
    let effort = reasoning.effort.clone().filter(|word| word != "none");
    effort.filter(|_| from == OWN)
}

fn by_effort(reasoning: &Reasoning, from: Format, notes: &mut Notes) -> Thoughts {
    let effort = match (&reasoning.effort, reasoning.budget) {
        (Some(word), _) if from == OWN || EFFORTS.contains(&word.as_str()) => Some(word.clone()),
        (Some(word), _) => {
            let known = (word == "minimal").then(|| "low".to_owned());
            let why = match known {
                Some(_) => "the lowest effort is `low`",
                None => "the format does not know this effort",
            };
            notes.approximated("reasoning_effort", why);
            known
        }
        (None, Some(tokens)) => {
            let why = "this model thinks by effort and not by a budget";
            notes.approximated("reasoning_budget", why);
            Some(effort_of_budget(tokens).to_owned())
        }
        (None, None) => None,
    };
    // To a caller of this format an effort alone does not ask for thoughts.
    let by_caller = effort.is_some() && from != OWN;
    let on = by_caller || reasoning.adaptive || reasoning.budget.is_some();
    let thinking = on.then(|| {
        let mut thinking = kind("adaptive");
        let display = match (&reasoning.summary, reasoning.visible) {
            (Some(word), _) if from == OWN => Some(word.as_str()),
            (_, Some(true)) if from != OWN => Some("summarized"),
            (_, Some(false)) if from != OWN => Some("omitted"),
            (_, Some(_) | None) => None,
        };
        if let Some(display) = display {
            thinking.insert("display".to_owned(), json!(display));
        }
        thinking
    });
    Thoughts {
        thinking,
        effort,
        on,
    }
}

fn by_budget(conversation: &Conversation, target: &Target<'_>, notes: &mut Notes) -> Thoughts {
    let from = conversation.from;
    let reasoning = &conversation.reasoning;
    let effort = own_effort(from, reasoning);
    let word = reasoning.effort.as_deref();
    let requested = match (reasoning.budget, word) {
        (Some(tokens), _) => Some(tokens),
        (None, Some(word)) if from != OWN || reasoning.adaptive => {
            let known = budget_of_effort(word);
            if known.is_none() {
                let why = "this effort has no known number of tokens";
                notes.dropped("reasoning_effort", why);
            }
            known
        }
        (None, Some(_)) => None,
        (None, None) if reasoning.adaptive => budget_of_effort(USUAL_EFFORT),
        (None, None) => None,
    };
    if reasoning.adaptive && reasoning.budget.is_none() {
        let why = "this model thinks by a budget and does not choose its own";
        notes.approximated("reasoning_adaptive", why);
    }
    let most = target.max_output.or(conversation.max_output);
    let Some(budget) = requested.and_then(|requested| fitted(requested, most, notes)) else {
        return Thoughts {
            effort,
            ..Thoughts::default()
        };
    };
    let mut thinking = kind("enabled");
    thinking.insert("budget_tokens".to_owned(), json!(budget));
    match (&reasoning.summary, reasoning.visible) {
        (Some(word), _) if from == OWN => {
            thinking.insert("display".to_owned(), json!(word));
        }
        (_, Some(false)) if from != OWN => {
            thinking.insert("display".to_owned(), json!("omitted"));
        }
        (_, Some(_) | None) => {}
    }
    Thoughts {
        thinking: Some(thinking),
        effort: effort.filter(|_| !reasoning.adaptive),
        on: true,
    }
}

/// A budget below the length of the response, of which it is a part; none if none fits.
fn fitted(requested: u64, most: Option<u64>, notes: &mut Notes) -> Option<u64> {
    let budget = requested.max(LEAST_BUDGET);
    let Some(most) = most.filter(|most| *most <= budget) else {
        if budget != requested {
            let why = "thoughts have at least 1024 tokens";
            notes.approximated("reasoning_budget", why);
        }
        return Some(budget);
    };
    // Half of the response is left for what is said.
    let half = most.div_euclid(2).max(LEAST_BUDGET);
    let field = "reasoning_effort";
    if half >= most {
        let why = "thoughts do not fit into an answer of this length; it goes without";
        notes.approximated(field, why);
        return None;
    }
    let why = "thoughts are part of the answer's length, so they get half of it";
    notes.approximated(field, why);
    Some(half)
}

fn kind(word: &str) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("type".to_owned(), json!(word));
    map
}
