//! A conversation with nothing but its turns.

use trunkline_wire::Format;
use trunkline_wire::canonical::{Conversation, OutputShape, Reasoning, Sampling, Turn};

pub(crate) fn conversation(from: Format, model: &str, turns: Vec<Turn>) -> Conversation {
    Conversation {
        from,
        model: model.to_owned(),
        instructions: Vec::new(),
        turns,
        tools: Vec::new(),
        tool_choice: None,
        parallel_tools: None,
        output: OutputShape::Text,
        reasoning: Reasoning::default(),
        max_output: None,
        sampling: Sampling::default(),
        stop: Vec::new(),
        choices: 1,
        stream: false,
        user: None,
        cache_key: None,
        verbosity: None,
        service_tier: None,
        metadata: None,
        extras: Vec::new(),
    }
}
