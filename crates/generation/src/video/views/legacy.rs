//! The legacy shape: `{"code": "success", "data": {"task_id", "status": "SUCCESS", …}}`.

use serde_json::{Value, json};

use super::{State, VideoView};

#[must_use]
pub fn legacy(task: &VideoView) -> Value {
    let (status, reason, url) = match &task.state {
        State::Queued { submitted: false } => ("NOT_START", "", ""),
        State::Queued { submitted: true } => ("QUEUED", "", ""),
        State::Sent => ("SUBMITTED", "", ""),
        State::InProgress => ("IN_PROGRESS", "", ""),
        State::Completed { url } => ("SUCCESS", "", url.as_str()),
        State::Failed { message, .. } => ("FAILURE", message.as_str(), ""),
    };
    json!({
        "code": "success",
        "message": "",
        "data": {
            "task_id": task.id,
            "status": status,
            "progress": format!("{}%", task.progress),
            "fail_reason": reason,
            "result_url": url,
            "submit_time": task.created_at,
            "finish_time": task.completed_at.unwrap_or(0),
        },
    })
}

/// An error in the legacy format, in place of a task.
#[must_use]
pub fn legacy_error(code: &str, message: &str) -> Value {
    json!({ "code": code, "message": message, "data": null })
}
