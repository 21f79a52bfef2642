//! The OpenAI shape: `{"id", "task_id", "object": "video", "status", "progress", …}`.

use serde_json::{Map, Value, json};

use super::{State, VideoView};

#[must_use]
pub fn openai(task: &VideoView) -> Value {
    let mut metadata = Map::new();
    if let State::Completed { url } = &task.state {
        metadata.insert("url".to_owned(), json!(url));
    }
    if task.estimated {
        metadata.insert("progress_estimated".to_owned(), json!(true));
    }
    if let Some(cost) = &task.cost_usd {
        metadata.insert("cost_usd".to_owned(), json!(cost));
    }
    if !task.warnings.is_empty() {
        metadata.insert("warnings".to_owned(), json!(task.warnings));
    }
    let mut view = json!({
        "id": task.id,
        "task_id": task.id,
        "object": "video",
        "model": task.model,
        "status": word(&task.state),
        "progress": task.progress,
        "created_at": task.created_at,
        "completed_at": task.completed_at,
        "expires_at": task.expires_at,
        "seconds": task.seconds.map(|seconds| seconds.to_string()),
        "size": task.size,
        "metadata": metadata,
    });
    // The vendor's clients know `error: null`; ours is there only where there is one.
    if let (State::Failed { code, message }, Some(fields)) = (&task.state, view.as_object_mut()) {
        let error = json!({ "code": code, "message": message });
        fields.insert("error".to_owned(), error);
    }
    view
}

#[must_use]
pub fn openai_list(tasks: &[VideoView], has_more: bool) -> Value {
    json!({
        "object": "list",
        "data": tasks.iter().map(openai).collect::<Vec<_>>(),
        "first_id": tasks.first().map(|task| &task.id),
        "last_id": tasks.last().map(|task| &task.id),
        "has_more": has_more,
    })
}

const fn word(state: &State) -> &'static str {
    match state {
        State::Queued { .. } | State::Sent => "queued",
        State::InProgress => "in_progress",
        State::Completed { .. } => "completed",
        State::Failed { .. } => "failed",
    }
}
