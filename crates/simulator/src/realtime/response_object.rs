//! The response object of `response.created` and `response.done`.

use serde_json::{Value, json};

use super::generation::Generation;

/// A response as it stands.
pub(super) fn response_object(
    generation: &Generation,
    conversation_id: &str,
    is_done: bool,
    usage: Option<Value>,
) -> Value {
    let output: Vec<Value> = if is_done {
        let items = (0..generation.outputs.len()).filter_map(|at| generation.item(at));
        let begun = items.filter(|item| item.view.get("status") != Some(&json!("in_progress")));
        begun.map(|item| item.view).collect()
    } else {
        Vec::new()
    };
    let status = if is_done {
        generation.status
    } else {
        "in_progress"
    };
    let details = match (status, generation.reason) {
        ("failed", _) => json!({
            "type": "failed",
            "error": {
                "type": if generation.reason.is_some() { "invalid_request_error" } else { "server_error" },
                "code": generation.reason.unwrap_or("server_error"),
            },
        }),
        ("cancelled" | "incomplete", Some(reason)) => json!({"type": status, "reason": reason}),
        _ => Value::Null,
    };
    let conversation = generation.is_in_conversation.then_some(conversation_id);
    let mut object = json!({
        "object": "realtime.response",
        "id": generation.id,
        "status": status,
        "status_details": details,
        "conversation_id": conversation,
        "output": output,
    });
    if let (Some(fields), Some(echo)) = (object.as_object_mut(), generation.echo.as_object()) {
        for (name, value) in echo {
            fields.insert(name.clone(), value.clone());
        }
        if let Some(usage) = usage {
            fields.insert("usage".to_owned(), usage);
        } else if !is_done {
            fields.insert("usage".to_owned(), Value::Null);
        }
    }
    object
}
