//! What a request may say, each as a value that can be compared before and after a translation. Null
//! stands for what is not said.

use serde_json::{Value, json};
use trunkline_wire::canonical::{
    BlockKind, CacheLife, Conversation, MediaKind, OutputShape, Source, ToolKind,
};

use crate::pairs::feature_lookup::{
    blocks, calls, choice, citations, described_apart, failed, flag, inline, link, marks, media,
    middle, of_media, order, redacted, result_text, results, seals, some, strict, system,
    text_value, thoughts, tools,
};

/// One thing that a request may say.
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    /// Parts of the fields that notes name it by.
    pub(crate) words: &'static [&'static str],
    pub(crate) take: fn(&Conversation) -> Value,
}

const fn feature(
    name: &'static str,
    words: &'static [&'static str],
    take: fn(&Conversation) -> Value,
) -> Feature {
    Feature { name, words, take }
}

/// All of them, in the order of the matrix.
pub(crate) const FEATURES: &[Feature] = &[
    feature(
        "system text",
        &["system", "format", "responseMimeType"],
        |it| text_value(&system(it).join("\n\n")),
    ),
    feature("several system blocks", &["system"], |it| {
        some(system(it), 2)
    }),
    feature("instructions in the middle", &["role"], middle),
    feature("names of speakers", &["name"], |it| {
        some(
            it.turns
                .iter()
                .filter_map(|turn| turn.name.clone())
                .collect(),
            1,
        )
    }),
    feature("text between tool calls", &["tool_calls", "order"], order),
    feature("images inline", &["image", "content"], |it| {
        media(it, MediaKind::Image, inline)
    }),
    feature("images by link", &["image", "content"], |it| {
        media(it, MediaKind::Image, link)
    }),
    feature("detail of images", &["detail"], |it| {
        media(it, MediaKind::Image, |media| media.detail.clone())
    }),
    feature("audio", &["audio", "content"], |it| {
        media(it, MediaKind::Audio, inline)
    }),
    feature("video", &["video", "content"], |it| {
        media(it, MediaKind::Video, link)
    }),
    feature("documents inline", &["file", "document", "content"], |it| {
        media(it, MediaKind::File, inline)
    }),
    feature(
        "documents by link",
        &["file", "document", "content"],
        |it| media(it, MediaKind::File, link),
    ),
    feature("documents of words", &["document"], |it| {
        media(it, MediaKind::File, |media| match &media.source {
            Source::Text(words) => Some(words.clone()),
            Source::Inline { .. } | Source::Link { .. } => None,
        })
    }),
    feature("names of documents", &["filename", "document"], |it| {
        media(it, MediaKind::File, |media| media.name.clone())
    }),
    feature("tool definitions", &["tools", "tool_choice"], tools),
    feature("strict tools", &["strict"], strict),
    feature("custom tools", &["tools"], |it| {
        let custom = it.tools.iter().filter_map(|tool| match &tool.kind {
            ToolKind::Custom { format } => Some(json!([tool.name.name, format])),
            ToolKind::Function { .. } | ToolKind::Native(_) => None,
        });
        some(custom.collect(), 1)
    }),
    feature("tool namespaces", &["namespace"], |it| {
        let spaces = it
            .tools
            .iter()
            .filter_map(|tool| tool.name.namespace.clone());
        some(spaces.collect(), 1)
    }),
    feature("tool choice: auto", &["tool_choice"], |it| {
        choice(it, "auto")
    }),
    feature("tool choice: none", &["tool_choice"], |it| {
        choice(it, "none")
    }),
    feature("tool choice: any", &["tool_choice"], |it| choice(it, "any")),
    feature("tool choice: one", &["tool_choice"], |it| choice(it, "one")),
    feature("tool choice: some", &["tool_choice"], |it| {
        choice(it, "some")
    }),
    feature("one call at a time", &["parallel"], |it| {
        flag(it.parallel_tools == Some(false))
    }),
    feature("tool calls", &["tool_call", "arguments"], |it| {
        some(calls(it, 1), 1)
    }),
    feature("parallel tool calls", &["tool_call", "arguments"], |it| {
        some(calls(it, 2), 2)
    }),
    feature("tool results: text", &["tool_result"], |it| {
        results(it, result_text)
    }),
    feature("tool results: images", &["tool_result", "content"], |it| {
        results(it, |block| of_media(block, MediaKind::Image, inline))
    }),
    feature("tool results: errors", &["is_error"], failed),
    feature("thoughts: text", &["thinking"], thoughts),
    feature("thoughts: seals", &["thinking"], seals),
    feature("thoughts: redacted", &["thinking"], redacted),
    feature("citations", &["citations", "annotations"], citations),
    feature("cache marks: 5 minutes", &["cache"], |it| {
        marks(it, CacheLife::FiveMinutes)
    }),
    feature("cache marks: 1 hour", &["cache"], |it| {
        marks(it, CacheLife::OneHour)
    }),
    feature(
        "structured output",
        &["format", "responseMimeType", "schema"],
        |it| match &it.output {
            OutputShape::Schema { schema, .. } => described_apart(schema),
            OutputShape::Text | OutputShape::Json => Value::Null,
        },
    ),
    feature("JSON mode", &["format", "responseMimeType"], |it| {
        flag(it.output == OutputShape::Json)
    }),
    feature("thinking: effort", EFFORT, |it| json!(it.reasoning.effort)),
    feature("thinking: budget", EFFORT, |it| json!(it.reasoning.budget)),
    feature("thinking: off", EFFORT, |it| flag(it.reasoning.off)),
    feature("length of the answer", &["max"], |it| json!(it.max_output)),
    feature("stop texts", &["stop"], |it| some(it.stop.clone(), 1)),
    feature("temperature", &["temperature"], |it| {
        json!(it.sampling.temperature)
    }),
    feature("top_p", &["top_p", "topP"], |it| json!(it.sampling.top_p)),
    feature("top_k", &["top_k", "topK"], |it| json!(it.sampling.top_k)),
    feature("seed", &["seed"], |it| json!(it.sampling.seed)),
    feature("presence_penalty", &["presence"], |it| {
        json!(it.sampling.presence_penalty)
    }),
    feature("frequency_penalty", &["frequency"], |it| {
        json!(it.sampling.frequency_penalty)
    }),
    feature("several answers (n)", &["n", "candidateCount"], |it| {
        if it.choices > 1 {
            json!(it.choices)
        } else {
            Value::Null
        }
    }),
    feature("user", &["user"], |it| json!(it.user)),
    feature("metadata", &["metadata"], |it| json!(it.metadata)),
    feature("prompt_cache_key", &["prompt_cache_key"], |it| {
        json!(it.cache_key)
    }),
    feature("verbosity", &["verbosity"], |it| json!(it.verbosity)),
    feature("service tier", &["service_tier", "serviceTier"], |it| {
        // Vendors have three words for the common one.
        let tier = it.service_tier.as_deref();
        let common = |tier| matches!(tier, "default" | "standard" | "standard_only");
        json!(tier.map(|tier| if common(tier) { "default" } else { tier }))
    }),
    feature("refusals in the past", &["refusal"], |it| {
        let results = blocks(it).filter_map(|(_, block)| {
            if let BlockKind::Refusal(words) = &block.kind {
                Some(words.clone())
            } else {
                None
            }
        });
        some(results.collect(), 1)
    }),
];

const EFFORT: &[&str] = &["effort", "thinking", "reasoning"];
