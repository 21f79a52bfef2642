//! Calls of vendor-run tools, counted in the upstream's own words: OpenAI shows each as an item, Anthropic counts
//! them in its usage, Google names its searches.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Format;

/// The tool behind Google's grounding.
const GOOGLE_SEARCH: &str = "google_search";
/// What Anthropic counts in its usage.
const CLAUDE_TOOLS: [&str; 2] = ["web_search", "web_fetch"];
const ITEM_END: &str = "_call";
const COUNT_END: &str = "_requests";

/// Whether an answer of this format tells how often a tool was called. What cannot be counted cannot be sold.
#[must_use]
pub fn counts_tool(format: Format, tool: &str) -> bool {
    match format {
        Format::OpenaiChat => false,
        Format::OpenaiResponses => true,
        Format::ClaudeMessages => CLAUDE_TOOLS.contains(&tool),
        Format::Gemini => tool == GOOGLE_SEARCH,
    }
}

/// Counts the calls in an answer, whole or in frames.
#[derive(Debug, Clone)]
pub struct ToolCallCounter {
    format: Format,
    /// As the latest whole count says.
    reported: BTreeMap<String, u64>,
    /// Items that ended, one by one.
    seen: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Items {
    #[serde(default)]
    output: Vec<Item>,
    response: Option<Output>,
    item: Option<Item>,
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    output: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    action: Option<Action>,
}

/// What a search did: opening a page that it found is part of it.
#[derive(Deserialize)]
struct Action {
    #[serde(rename = "type", default)]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Counted {
    usage: Option<CountedUsage>,
    message: Option<CountedMessage>,
}

#[derive(Deserialize)]
struct CountedMessage {
    usage: Option<CountedUsage>,
}

#[derive(Deserialize)]
struct CountedUsage {
    server_tool_use: Option<BTreeMap<String, serde_json::Value>>,
}

#[derive(Deserialize)]
struct Grounded {
    #[serde(default)]
    candidates: Vec<Candidate>,
}

#[derive(Deserialize)]
struct Candidate {
    #[serde(rename = "groundingMetadata")]
    grounding: Option<Grounding>,
}

#[derive(Deserialize)]
struct Grounding {
    #[serde(rename = "webSearchQueries", default)]
    queries: Option<Vec<String>>,
}

impl ToolCallCounter {
    #[must_use]
    pub const fn new(format: Format) -> Self {
        Self {
            format,
            reported: BTreeMap::new(),
            seen: BTreeMap::new(),
        }
    }

    /// A whole answer, or a frame of one.
    pub fn read(&mut self, data: &[u8]) {
        match self.format {
            Format::OpenaiChat => {}
            Format::OpenaiResponses => self.read_items(data),
            Format::ClaudeMessages => self.read_counts(data),
            Format::Gemini => self.read_queries(data),
        }
    }

    /// The calls of each tool so far.
    #[must_use]
    pub fn calls(&self) -> BTreeMap<String, u64> {
        let mut calls = self.reported.clone();
        for (tool, count) in &self.seen {
            grow(&mut calls, tool, *count);
        }
        calls
    }

    fn read_items(&mut self, data: &[u8]) {
        let Ok(read) = serde_json::from_slice::<Items>(data) else {
            return;
        };
        if let Some(item) = read
            .item
            .filter(|_| read.kind == "response.output_item.done")
            && let Some(tool) = item.called()
        {
            let count = self.seen.entry(tool.to_owned()).or_default();
            *count = count.saturating_add(1);
        }
        let inside = read.response.map(|response| response.output);
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for item in read.output.iter().chain(inside.iter().flatten()) {
            if let Some(tool) = item.called() {
                let count = counts.entry(tool.to_owned()).or_default();
                *count = count.saturating_add(1);
            }
        }
        for (tool, count) in counts {
            grow(&mut self.reported, &tool, count);
        }
    }

    fn read_counts(&mut self, data: &[u8]) {
        let Ok(read) = serde_json::from_slice::<Counted>(data) else {
            return;
        };
        let usage = read.usage.or_else(|| read.message?.usage);
        for (name, count) in usage
            .and_then(|usage| usage.server_tool_use)
            .into_iter()
            .flatten()
        {
            if let (Some(tool), Some(count)) = (name.strip_suffix(COUNT_END), count.as_u64()) {
                grow(&mut self.reported, tool, count);
            }
        }
    }

    fn read_queries(&mut self, data: &[u8]) {
        let Ok(read) = serde_json::from_slice::<Grounded>(data) else {
            return;
        };
        let groundings = read.candidates.into_iter().filter_map(|one| one.grounding);
        let queries: usize = groundings
            .map(|one| one.queries.map_or(0, |all| all.len()))
            .sum();
        grow(
            &mut self.reported,
            GOOGLE_SEARCH,
            u64::try_from(queries).unwrap_or(u64::MAX),
        );
    }
}

impl Item {
    /// The tool that it is a call of, if that was made.
    fn called(&self) -> Option<&str> {
        let has_failed = self.status.as_deref() == Some("failed");
        let action = self
            .action
            .as_ref()
            .and_then(|action| action.kind.as_deref());
        let is_part = matches!(action, Some("open_page" | "find_in_page"));
        self.kind
            .strip_suffix(ITEM_END)
            .filter(|_| !has_failed && !is_part)
    }
}

/// Counts grow along a stream, and are reported more than once.
fn grow(calls: &mut BTreeMap<String, u64>, tool: &str, count: u64) {
    if count > 0 {
        let known = calls.entry(tool.to_owned()).or_default();
        *known = count.max(*known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(format: Format, frames: &[&str]) -> Vec<(String, u64)> {
        let mut counter = ToolCallCounter::new(format);
        frames
            .iter()
            .for_each(|frame| counter.read(frame.as_bytes()));
        counter.calls().into_iter().collect()
    }

    #[test]
    fn each_format_counts_calls_in_whole_answers_and_in_frames() {
        let search =
            r#"{"type":"web_search_call","status":"completed","action":{"type":"search"}}"#;
        let opened =
            r#"{"type":"web_search_call","status":"completed","action":{"type":"open_page"}}"#;
        let failed = r#"{"type":"web_search_call","status":"failed"}"#;
        let whole =
            format!(r#"{{"output":[{search},{opened},{failed},{search},{{"type":"message"}}]}}"#);
        let expected = [("web_search".to_owned(), 2)];
        assert_eq!(counted(Format::OpenaiResponses, &[&whole]), expected);
        let done = format!(r#"{{"type":"response.output_item.done","item":{search}}}"#);
        let added = format!(r#"{{"type":"response.output_item.added","item":{search}}}"#);
        let end = format!(
            r#"{{"type":"response.completed","response":{{"output":[{search},{search}]}}}}"#
        );
        let frames = [added.as_str(), done.as_str(), added.as_str(), done.as_str()];
        assert_eq!(
            counted(Format::OpenaiResponses, &frames),
            expected,
            "one by one"
        );
        let frames = [done.as_str(), done.as_str(), end.as_str()];
        assert_eq!(
            counted(Format::OpenaiResponses, &frames),
            expected,
            "not twice"
        );
        let whole = r#"{"usage":{"input_tokens":1,"server_tool_use":{"web_search_requests":2,"web_fetch_requests":0}}}"#;
        assert_eq!(counted(Format::ClaudeMessages, &[whole]), expected);
        let start = r#"{"type":"message_start","message":{"usage":{"server_tool_use":{"web_search_requests":0}}}}"#;
        let delta =
            r#"{"type":"message_delta","usage":{"server_tool_use":{"web_search_requests":2}}}"#;
        assert_eq!(
            counted(Format::ClaudeMessages, &[start, delta, delta]),
            expected
        );
        let grounded = r#"{"candidates":[{"groundingMetadata":{"webSearchQueries":["a","b"]}}]}"#;
        let expected = [(GOOGLE_SEARCH.to_owned(), 2)];
        assert_eq!(
            counted(Format::Gemini, &["{}", grounded, grounded]),
            expected
        );
        assert!(counted(Format::OpenaiChat, &[grounded]).is_empty());
        assert!(counted(Format::Gemini, &["[", "{\"candidates\":7}"]).is_empty());
    }

    #[test]
    fn only_tools_whose_calls_are_reported_can_be_counted() {
        assert!(counts_tool(Format::OpenaiResponses, "file_search"));
        assert!(counts_tool(Format::ClaudeMessages, "web_search"));
        assert!(!counts_tool(Format::ClaudeMessages, "code_execution"));
        assert!(counts_tool(Format::Gemini, GOOGLE_SEARCH));
        assert!(!counts_tool(Format::Gemini, "url_context"));
        assert!(!counts_tool(Format::OpenaiChat, "web_search"));
    }
}
