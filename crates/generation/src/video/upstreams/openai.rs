//! OpenAI's videos: `POST /videos`, `GET /videos/{id}`, and the file at `GET /videos/{id}/content`
//! with the credential. A job cannot be stopped there, and it has no name of ours.

use serde_json::Value;

use super::{
    Call, Cancelled, Complaint, Counted, File, Found, Handle, MediaForm, Naming, Polled, Protocol,
    Said, Submitted, path_part, seconds_at, text_at, unclear,
};
use crate::video::plan::Sent;

/// The protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    format: "openai_video",
    submit,
    read_submit,
    poll,
    read_poll,
    read_file,
    cancel: None,
    read_cancel,
    lookup: None,
    read_lookup,
    media: MediaForm::DataUri,
};

fn submit(sent: &Sent, naming: &Naming<'_>) -> Call {
    let mut body = sent.body.clone();
    body.insert("model".to_owned(), Value::from(naming.model));
    Call::post("/videos", &body)
}

fn read_submit(_sent: &Sent, said: &Said<'_>) -> Submitted {
    let body = said.json();
    let complaint = complaint(said.status, &body);
    match said.status {
        200..=299 => match text_at(&body, "/id").filter(|id| !id.is_empty()) {
            Some(id) => Submitted::Accepted { id },
            None => Submitted::Unknown(complaint),
        },
        401..=403 => Submitted::Credential(complaint),
        // No money left and too many at once have the same status.
        429 if is_broke(&complaint) => Submitted::Credential(complaint),
        429 | 503 | 529 => Submitted::Full {
            retry_after: said.retry_after,
        },
        400 | 404 | 405 | 413 | 415 | 422 => Submitted::Refused(complaint),
        _ => Submitted::Unknown(complaint),
    }
}

fn poll(handle: &Handle) -> Call {
    Call::get(format!("/videos/{}", path_part(&handle.id)))
}

fn read_poll(handle: &Handle, said: &Said<'_>) -> Polled {
    let body = said.json();
    let Some(status) = text_at(&body, "/status").filter(|_| is_success(said)) else {
        return unclear(said, &complaint(said.status, &body).message);
    };
    match status.as_str() {
        "queued" => Polled::Running {
            queued: true,
            progress: None,
        },
        "completed" => Polled::Done {
            file: File::Behind(Call::get(format!(
                "/videos/{}/content",
                path_part(&handle.id)
            ))),
            counted: Counted {
                output_seconds: seconds_at(&body, "/seconds"),
                ..Counted::default()
            },
        },
        "failed" | "cancelled" | "expired" => Polled::Failed(failure(&status, &body)),
        // `in_progress`, and words that nobody knows.
        _ => Polled::Running {
            queued: false,
            progress: progress(&body),
        },
    }
}

fn read_file(said: &Said<'_>) -> Polled {
    unclear(said, "the file is behind a door, not at an address")
}

fn read_cancel(_handle: &Handle, _said: &Said<'_>) -> Cancelled {
    Cancelled::Unknown
}

fn read_lookup(_said: &Said<'_>) -> Found {
    Found::Unknown
}

fn is_success(said: &Said<'_>) -> bool {
    (200..300).contains(&said.status)
}

fn is_broke(complaint: &Complaint) -> bool {
    let words = ["insufficient_quota", "billing_hard_limit_reached"];
    words.contains(&complaint.code.as_str())
}

/// From 0 to 99; a fraction is cut.
fn progress(body: &Value) -> Option<u8> {
    let text = text_at(body, "/progress")?;
    let whole = text.split('.').next()?;
    let whole: u8 = whole.parse().ok()?;
    Some(whole.min(99))
}

fn failure(status: &str, body: &Value) -> Complaint {
    let code = text_at(body, "/error/code").filter(|code| !code.is_empty());
    let message = text_at(body, "/error/message");
    Complaint::new(
        400,
        code.unwrap_or_else(|| status.to_owned()),
        message.unwrap_or_else(|| "the upstream gave no reason".to_owned()),
    )
}

/// `{"error": {"message", "type", "param", "code"}}`, where the code may be missing.
fn complaint(status: u16, body: &Value) -> Complaint {
    let code = text_at(body, "/error/code").or_else(|| text_at(body, "/error/type"));
    let message = text_at(body, "/error/message");
    Complaint::new(
        status,
        code.unwrap_or_default(),
        message.unwrap_or_default(),
    )
}
