//! What the console shows of a task beyond its row: its file's link, how far it may be, and what was
//! asked for. Sealed parts are opened here and nowhere else.

use serde_json::{Map, Value};
use trunkline_blobs::saving;
use trunkline_generation::video::Outbound;
use trunkline_store::tasks::{Task, TaskState};
use trunkline_types::Timestamp;

use super::cancel;
use super::content::{self, VIDEO};
use super::encryption;
use super::views;
use crate::error::ApiError;
use crate::services::Services;

/// The field that holds what a video is to show, wherever a vendor puts it.
const PROMPT: &str = "prompt";
/// Where a vendor's list of parts has a text.
const TEXT: &str = "text";
/// How deep a prompt is looked for.
const MAX_DEPTH: usize = 4;
/// Longest prompt that is shown.
const MAX_PROMPT: usize = 10_000;
/// Longest value of a setting; what is longer is a file or a text of its own.
const MAX_SETTING: usize = 100;
/// Most settings that are shown.
const MAX_SETTINGS: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLink {
    pub url: String,
    pub download_url: String,
    /// When both end.
    pub ends: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDetail {
    /// Our link to its file, once there is one.
    pub link: Option<FileLink>,
    pub content_type: &'static str,
    /// How far it may be, by how long others took; none where the vendor reports it, or none were measured.
    pub guess: Option<u8>,
    /// What was asked for; none when it was forgotten.
    pub prompt: Option<String>,
    pub settings: Vec<(String, String)>,
    /// Whether it is worth trying to stop it.
    pub can_stop: bool,
}

/// Looks at a task of an account. A page of many needs neither prompt nor settings.
pub async fn inspect_task(
    services: &Services,
    task: &Task,
    closely: bool,
) -> Result<TaskDetail, ApiError> {
    let link = match task.state {
        TaskState::Completed => {
            let (url, ends) = content::signed_link(services, task)?;
            Some(FileLink {
                download_url: saving(&url),
                url,
                ends: Timestamp::from_micros(0).plus_seconds(ends),
            })
        }
        TaskState::Accepted
        | TaskState::Submitting
        | TaskState::Unknown
        | TaskState::Submitted
        | TaskState::Running
        | TaskState::Failed => None,
    };
    let sent = task.sent.as_deref().filter(|_| closely);
    let sent: Option<Outbound> =
        sent.and_then(|sealed| encryption::open_for_task(services, task.account, task.id, sealed));
    let body = sent.map(|sent| sent.body).unwrap_or_default();
    Ok(TaskDetail {
        link,
        content_type: VIDEO,
        guess: views::estimate_progress(services, task).await,
        prompt: prompt_of(&body, MAX_DEPTH),
        settings: settings_of(task, &body),
        can_stop: cancel::is_cancellable(services, task),
    })
}

/// The first prompt, or the first text of a list of parts.
fn prompt_of(body: &Map<String, Value>, depth: usize) -> Option<String> {
    let cut = |text: &str| text.chars().take(MAX_PROMPT).collect::<String>();
    if let Some(text) = body.get(PROMPT).and_then(Value::as_str) {
        return Some(cut(text));
    }
    let deeper = depth.checked_sub(1)?;
    let inside = body.values().flat_map(|value| match value {
        Value::Object(inner) => vec![inner],
        Value::Array(parts) => parts.iter().filter_map(Value::as_object).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    });
    let mut inside = inside.into_iter();
    inside.find_map(|inner| {
        let text = inner.get(TEXT).and_then(Value::as_str).map(cut);
        text.or_else(|| prompt_of(inner, deeper))
    })
}

/// Short values with their names; what is long, nested or an address is left out.
fn settings_of(task: &Task, body: &Map<String, Value>) -> Vec<(String, String)> {
    let size = task.size.clone().map(|size| ("size".to_owned(), size));
    let seconds = task.seconds;
    let seconds = seconds.map(|seconds| ("seconds".to_owned(), seconds.to_string()));
    let mut settings: Vec<(String, String)> = size.into_iter().chain(seconds).collect();
    for (name, value) in body {
        match value {
            Value::Object(inner) => {
                settings.extend(inner.iter().filter_map(|(name, value)| short(name, value)));
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => settings.extend(short(name, value)),
        }
    }
    let mut known: Vec<String> = Vec::new();
    settings.retain(|(name, _)| {
        let is_new = !known.contains(name);
        known.push(name.clone());
        is_new
    });
    settings.truncate(MAX_SETTINGS);
    settings
}

fn short(name: &str, value: &Value) -> Option<(String, String)> {
    let text = match value {
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::String(value) => value.clone(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    let is_setting = name != PROMPT && text.len() <= MAX_SETTING && !text.contains("://");
    is_setting.then(|| (name.to_owned(), text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_prompt_is_found_wherever_a_vendor_puts_it() {
        for (written, found) in [
            (json!({ "prompt": "a cat" }), Some("a cat")),
            (
                json!({ "input": { "prompt": "a cat" }, "n": 1 }),
                Some("a cat"),
            ),
            (
                json!({ "content": [{ "type": "image_url" }, { "type": "text", "text": "a cat" }] }),
                Some("a cat"),
            ),
            (json!({ "image": "https://x.example/y.png" }), None),
            (
                json!({ "a": { "b": { "c": { "d": { "e": { "prompt": "deep" } } } } } }),
                None,
            ),
        ] {
            assert_eq!(prompt_of(&body(written), MAX_DEPTH).as_deref(), found);
        }
    }

    #[test]
    fn a_setting_is_short_and_neither_the_prompt_nor_an_address() {
        for (name, value, expected) in [
            ("mode", json!("pro"), Some("pro")),
            ("watermark", json!(false), Some("false")),
            ("seed", json!(7), Some("7")),
            ("prompt", json!("a cat"), None),
            ("image", json!("https://x.example/y.png"), None),
            ("image", json!("A".repeat(101)), None),
            ("list", json!([1]), None),
        ] {
            let found = short(name, &value).map(|(_, text)| text);
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }
}
