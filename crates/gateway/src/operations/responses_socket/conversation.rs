//! Conversations that a connection keeps, so that a response of it can be continued by its id though no upstream
//! keeps it: another format has no ids, and `store` may be false.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;
use trunkline_wire::Object;

/// Responses that one connection keeps.
const MAX_KEPT: usize = 16;

/// The items of a conversation, one after the other with commas between them.
pub(super) type Items = Arc<str>;

/// The latest responses of a connection, each with the conversation up to its end.
#[derive(Debug, Default)]
pub(super) struct KeptResponses {
    kept: VecDeque<KeptResponse>,
    bytes: usize,
}

#[derive(Debug)]
struct KeptResponse {
    id: String,
    items: Items,
}

// === impl KeptResponses ===

impl KeptResponses {
    pub(super) fn get(&self, id: &str) -> Option<Items> {
        let found = self.kept.iter().find(|one| one.id == id)?;
        Some(Arc::clone(&found.items))
    }

    /// Keeps a response. The oldest give way to it; one that is larger than all may be is not kept.
    pub(super) fn keep(&mut self, id: String, items: Items, max_bytes: usize) {
        self.bytes = self.bytes.saturating_add(items.len());
        self.kept.push_back(KeptResponse { id, items });
        while self.kept.len() > MAX_KEPT || self.bytes > max_bytes {
            if !self.forget_oldest() {
                return;
            }
        }
    }

    /// Forgets the oldest response. False if there is none.
    pub(super) fn forget_oldest(&mut self) -> bool {
        let Some(oldest) = self.kept.pop_front() else {
            return false;
        };
        self.bytes = self.bytes.saturating_sub(oldest.items.len());
        true
    }

    /// What all of them take.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Two parts of a conversation as one.
pub(super) fn join(before: &str, after: &str) -> String {
    if before.is_empty() || after.is_empty() {
        return format!("{before}{after}");
    }
    format!("{before},{after}")
}

/// The items of an input: a text is a message of the user's. None if it is neither a text nor a list.
pub(super) fn input_items(input: Option<&[u8]>) -> Option<String> {
    let Some(input) = input.filter(|input| *input != b"null") else {
        return Some(String::new());
    };
    let text = std::str::from_utf8(input).ok()?.trim();
    if text.starts_with('"') {
        return Some(format!(
            r#"{{"type":"message","role":"user","content":{text}}}"#
        ));
    }
    let inside = text.strip_prefix('[')?.strip_suffix(']')?;
    Some(inside.trim().to_owned())
}

/// What a response adds to its conversation, as the next request says it.
pub(super) fn output_items(response: &Object<'_>) -> Option<String> {
    let output: Vec<Value> = serde_json::from_slice(response.value("output")?).ok()?;
    let items: Vec<String> = output.into_iter().filter_map(output_item).collect();
    Some(items.join(","))
}

/// An id that no upstream has stored is left out where that is allowed; thoughts without their signature are of no use
/// to an upstream that has not stored them.
fn output_item(mut item: Value) -> Option<String> {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_signed = item.get("encrypted_content").is_some_and(Value::is_string);
    if kind == "reasoning" && !is_signed {
        return None;
    }
    if matches!(kind, "message" | "function_call" | "custom_tool_call")
        && let Some(fields) = item.as_object_mut()
    {
        fields.remove("id");
    }
    Some(item.to_string())
}

#[cfg(test)]
mod tests {
    use trunkline_wire::scan;

    use super::*;

    #[test]
    fn the_items_of_an_input_are_those_of_its_list_or_one_message() {
        let items = |input: &str| input_items(Some(input.as_bytes()));
        assert_eq!(input_items(None).as_deref(), Some(""));
        assert_eq!(items(" [ ] ").as_deref(), Some(""));
        assert_eq!(items(r#"[{"a":1}, 2]"#).as_deref(), Some(r#"{"a":1}, 2"#));
        let message = r#"{"type":"message","role":"user","content":"a \"b\""}"#;
        assert_eq!(items(r#""a \"b\"""#).as_deref(), Some(message));
        assert_eq!(items("7"), None);
        assert_eq!(join("", "b"), "b");
        assert_eq!(join("a", "b"), "a,b");
    }

    #[test]
    fn a_response_is_continued_without_ids_and_without_unsigned_thoughts() {
        let response = br#"{"output":[
            {"type":"reasoning","id":"rs_1","summary":[]},
            {"type":"reasoning","id":"rs_2","encrypted_content":"x"},
            {"type":"message","id":"msg_1","role":"assistant","content":[]},
            {"type":"web_search_call","id":"ws_1"}]}"#;
        let items = output_items(&scan(response).unwrap()).unwrap();
        let items: Vec<Value> = serde_json::from_str(&format!("[{items}]")).unwrap();
        let ids: Vec<Option<&str>> = items.iter().map(|item| item["id"].as_str()).collect();
        assert_eq!(ids, [Some("rs_2"), None, Some("ws_1")]);
    }

    #[test]
    fn the_oldest_responses_give_way_to_the_latest() {
        let mut kept = KeptResponses::default();
        for number in 0..20 {
            kept.keep(format!("resp_{number}"), "12345".into(), 1_000);
        }
        assert!(kept.get("resp_3").is_none());
        assert!(kept.get("resp_4").is_some());
        kept.keep("large".to_owned(), "1234567890".into(), 15);
        assert!(kept.get("large").is_some());
        assert!(kept.get("resp_18").is_none());
        kept.keep("too large".to_owned(), "1234567890123456".into(), 15);
        assert!(kept.get("too large").is_none());
        assert_eq!(kept.bytes, 0);
    }
}
