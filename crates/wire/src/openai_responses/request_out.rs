//! A conversation, written as a request.

use serde_json::{Map, Value, json};

use super::item_metadata::{is_label, restore};
use super::items_out::Items;
use super::request_in::SIGNED;
use super::tools_out::Tools;
use super::{FORMAT, cost};
use crate::canonical::{
    Conversation, NameRule, Notes, OutputShape, Reasoning, Target, TranslationState, Written,
    effort_of_budget,
};
use crate::json_value::set_at;
use crate::{Format, json_bytes};

/// What the format takes as a tool's name.
const RULE: NameRule = NameRule {
    max: 64,
    also: "",
    begins_alphabetic: false,
    native: false,
};
/// The longest `user` that the upstream takes.
const MAX_USER_CHARACTERS: usize = 64;
/// The shortest answer that the upstream lets itself be asked for.
const MIN_OUTPUT: u64 = 16;
/// Words for how soon that the upstream knows.
const TIERS: &[&str] = &["auto", "default", "flex", "priority", "scale"];
/// What a schema is called that has no name.
const UNNAMED: &str = "answer";

type Body = Map<String, Value>;

pub(crate) fn request_from_canonical(conversation: &Conversation, target: &Target<'_>) -> Written {
    let mut notes = Notes::default();
    let own = conversation.from == FORMAT;
    // OpenAI's formats name tools alike, and both have tools that take plain text.
    let state = match conversation.from {
        Format::OpenaiResponses => TranslationState::default(),
        Format::OpenaiChat => TranslationState::new(
            NameRule {
                native: true,
                ..RULE
            },
            &conversation.tools,
        ),
        Format::ClaudeMessages | Format::Gemini => TranslationState::new(RULE, &conversation.tools),
    };
    let mut body = Body::new();
    body.insert("model".to_owned(), json!(target.model));
    write_said(conversation, target, &state, &mut notes, &mut body);
    write_tools(conversation, &state, &mut notes, &mut body);
    write_shape(conversation, &mut body);
    write_reasoning(conversation, &mut notes, &mut body);
    write_sampling(conversation, &mut notes, &mut body);
    write_rest(conversation, target, &mut notes, &mut body);
    if own {
        restore_extras(conversation, &mut body);
    } else {
        // Nothing of what is translated is kept at the upstream: its ids mean nothing to the caller.
        body.insert("store".to_owned(), json!(false));
        for extra in &conversation.extras {
            let why = "the upstream's format has no word for it";
            if extra.matters {
                notes.refused(extra.field.clone(), why);
            } else {
                notes.dropped(extra.field.clone(), why);
            }
        }
    }
    Written {
        body: json_bytes(&Value::Object(body)),
        notes,
        state,
    }
}

fn write_said(
    conversation: &Conversation,
    target: &Target<'_>,
    state: &TranslationState,
    notes: &mut Notes,
    body: &mut Body,
) {
    let texts = conversation
        .instructions
        .iter()
        .filter_map(|block| block.as_text());
    let texts: Vec<&str> = texts.collect();
    if texts.len() < conversation.instructions.len() {
        notes.dropped("system", "instructions are text alone");
    }
    if conversation
        .instructions
        .iter()
        .any(|block| block.cache.is_some())
    {
        let why = "the upstream caches the beginnings of prompts by itself";
        notes.approximated("cache_control", why);
    }
    if !texts.is_empty() {
        body.insert("instructions".to_owned(), json!(texts.join("\n\n")));
    }
    let own = conversation.from == FORMAT;
    let mut writer = Items::new(target, state, notes, own);
    conversation.turns.iter().for_each(|turn| writer.turn(turn));
    let mut items = Value::Array(writer.items);
    if own {
        let labels = conversation.extras.iter().filter(|extra| is_label(extra));
        labels.for_each(|label| restore(label, &mut items));
    }
    if let Value::Array(items) = &mut items {
        items.retain(|item| !item.is_null());
    }
    body.insert("input".to_owned(), items);
}

fn write_tools(
    conversation: &Conversation,
    state: &TranslationState,
    notes: &mut Notes,
    body: &mut Body,
) {
    let tools = Tools {
        conversation,
        state,
    };
    let written = tools.write(notes);
    let some = !written.is_empty();
    if some {
        body.insert("tools".to_owned(), Value::Array(written));
    }
    let own = conversation.from == FORMAT;
    if let Some(choice) = &conversation.tool_choice {
        if !own && tools.wants_what_is_left_out(choice, some) {
            notes.refused(
                "tool_choice",
                "the tool that must be used is another vendor's",
            );
        } else if own || some {
            body.insert("tool_choice".to_owned(), tools.choice(choice));
        }
    }
    if let Some(parallel) = conversation.parallel_tools.filter(|_| own || some) {
        body.insert("parallel_tool_calls".to_owned(), json!(parallel));
    }
}

fn write_shape(conversation: &Conversation, body: &mut Body) {
    let mut text = Body::new();
    match &conversation.output {
        OutputShape::Text => {}
        OutputShape::Json => {
            text.insert("format".to_owned(), json!({ "type": "json_object" }));
        }
        OutputShape::Schema {
            name,
            description,
            schema,
            strict,
        } => {
            let mut format = Body::new();
            format.insert("type".to_owned(), json!("json_schema"));
            let name = name.as_deref().unwrap_or(UNNAMED);
            format.insert("name".to_owned(), json!(name));
            format.insert("schema".to_owned(), schema.clone());
            if let Some(description) = description {
                format.insert("description".to_owned(), json!(description));
            }
            if let Some(strict) = strict {
                format.insert("strict".to_owned(), json!(strict));
            }
            text.insert("format".to_owned(), Value::Object(format));
        }
    }
    if let Some(verbosity) = &conversation.verbosity {
        text.insert("verbosity".to_owned(), json!(verbosity));
    }
    if !text.is_empty() {
        body.insert("text".to_owned(), Value::Object(text));
    }
}

fn write_reasoning(conversation: &Conversation, notes: &mut Notes, body: &mut Body) {
    let own = conversation.from == FORMAT;
    let settings = &conversation.reasoning;
    let mut reasoning = Body::new();
    if let Some(effort) = effort_word(settings, own, notes) {
        reasoning.insert("effort".to_owned(), json!(effort));
    }
    let auto_summary = (settings.visible == Some(true) && !settings.off).then(|| "auto".to_owned());
    // The word for how is this format's own only from its own callers.
    let word = settings.summary.clone().filter(|_| own);
    if let Some(summary) = word.or(auto_summary) {
        reasoning.insert("summary".to_owned(), json!(summary));
    }
    // Models that do not think refuse to be asked for encrypted reasoning.
    let thinks = !settings.off && (settings.adaptive || !reasoning.is_empty());
    if settings.encrypted || (!own && thinks) {
        body.insert("include".to_owned(), json!([SIGNED]));
    }
    if !reasoning.is_empty() {
        body.insert("reasoning".to_owned(), Value::Object(reasoning));
    }
}

fn effort_word(settings: &Reasoning, own: bool, notes: &mut Notes) -> Option<String> {
    if settings.off {
        return Some("none".to_owned());
    }
    match (&settings.effort, settings.budget) {
        (Some(effort), _) if effort == "max" && !own => {
            notes.approximated("reasoning_effort", "the upstream's word for it is `xhigh`");
            Some("xhigh".to_owned())
        }
        (Some(effort), _) => Some(effort.clone()),
        (None, Some(tokens)) => {
            let why = "the upstream takes a word for how hard to think, and no number of tokens";
            notes.approximated("reasoning_budget", why);
            Some(effort_of_budget(tokens).to_owned())
        }
        (None, None) => None,
    }
}

fn write_sampling(conversation: &Conversation, notes: &mut Notes, body: &mut Body) {
    let sampling = &conversation.sampling;
    let written = [
        ("temperature", &sampling.temperature),
        ("top_p", &sampling.top_p),
    ];
    for (field, number) in written {
        if let Some(number) = number {
            body.insert(field.to_owned(), Value::Number(number.clone()));
        }
    }
    let lost = [
        ("top_k", sampling.top_k.is_some()),
        ("seed", sampling.seed.is_some()),
        ("presence_penalty", sampling.presence_penalty.is_some()),
        ("frequency_penalty", sampling.frequency_penalty.is_some()),
        ("stop", !conversation.stop.is_empty()),
    ];
    for (field, _) in lost.iter().filter(|(_, is_there)| *is_there) {
        notes.dropped(*field, "the upstream's format has no word for it");
    }
    if conversation.choices > 1 {
        notes.refused("n", "the upstream gives one answer at a time");
    }
}

fn write_rest(
    conversation: &Conversation,
    target: &Target<'_>,
    notes: &mut Notes,
    body: &mut Body,
) {
    let own = conversation.from == FORMAT;
    if let Some(tokens) = target.max_output.or(conversation.max_output) {
        let written = if own { tokens } else { tokens.max(MIN_OUTPUT) };
        if written > tokens {
            let why = "the upstream takes no fewer than 16 tokens";
            notes.approximated("max_tokens", why);
        }
        body.insert(cost::MAX_OUTPUT_TOKENS.to_owned(), json!(written));
    }
    if conversation.stream {
        body.insert("stream".to_owned(), json!(true));
    }
    if let Some(user) = &conversation.user {
        if own || user.chars().count() <= MAX_USER_CHARACTERS {
            body.insert("user".to_owned(), json!(user));
        } else {
            notes.dropped("user", "it is longer than the upstream takes");
        }
    }
    if let Some(key) = &conversation.cache_key {
        body.insert("prompt_cache_key".to_owned(), json!(key));
    }
    if let Some(tier) = &conversation.service_tier {
        if own || TIERS.contains(&tier.as_str()) {
            body.insert("service_tier".to_owned(), json!(tier));
        } else {
            notes.dropped("service_tier", "the upstream has no such tier");
        }
    }
    if let Some(metadata) = &conversation.metadata {
        body.insert("metadata".to_owned(), metadata.clone());
    }
}

/// Puts fields back that only this format has.
fn restore_extras(conversation: &Conversation, body: &mut Body) {
    for extra in conversation.extras.iter().filter(|extra| !is_label(extra)) {
        if extra.field == "include"
            && let Some(Value::Array(include)) = body.get_mut("include")
        {
            include.extend(extra.value.as_array().into_iter().flatten().cloned());
            continue;
        }
        set_at(body, &extra.field, extra.value.clone());
    }
}
