//! OpenAI's videos: `POST /videos`, `GET /videos/{id}`, and the file at `GET /videos/{id}/content`
//! with the credential. A job cannot be stopped there, and it has no name of ours.

use serde_json::Value;

use super::{
    Cancelled, File, JobContext, JobRef, MediaForm, Polled, Protocol, ReportedUsage, Submitted,
    VendorError, VendorRequest, VendorResponse, filled_at, no_file, no_lookup, path_part,
    seconds_at, text_at, unclear,
};
use crate::video::plan::Outbound;

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "openai_video",
    submit,
    read_submit,
    poll,
    read_poll,
    read_file: no_file,
    cancel: None,
    read_cancel,
    lookup: None,
    read_lookup: no_lookup,
    media: MediaForm::DataUri,
    clips: MediaForm::Link,
};

fn submit(outbound: &Outbound, context: &JobContext<'_>) -> VendorRequest {
    let mut body = outbound.body.clone();
    body.insert("model".to_owned(), Value::from(context.model));
    VendorRequest::post("/videos", &body)
}

fn read_submit(_sent: &Outbound, response: &VendorResponse<'_>) -> Submitted {
    let body = response.json();
    let error = error(response.status, &body);
    match response.status {
        200..=299 => match filled_at(&body, "/id") {
            Some(id) => Submitted::Accepted { id },
            None => Submitted::Unknown(error),
        },
        401..=403 => Submitted::Credential(error),
        // An exhausted balance and a rate limit have the same status.
        429 if is_broke(&error) => Submitted::Credential(error),
        429 | 503 | 529 => Submitted::Full {
            retry_after: response.retry_after,
        },
        400 | 404 | 405 | 413 | 415 | 422 => Submitted::Refused(error),
        _ => Submitted::Unknown(error),
    }
}

fn poll(job_ref: &JobRef) -> VendorRequest {
    VendorRequest::get(format!("/videos/{}", path_part(&job_ref.id)))
}

fn read_poll(job_ref: &JobRef, response: &VendorResponse<'_>) -> Polled {
    let body = response.json();
    let Some(status) = text_at(&body, "/status").filter(|_| response.is_success()) else {
        return unclear(response, &error(response.status, &body).message);
    };
    match status.as_str() {
        "queued" => Polled::running(true),
        "completed" => Polled::Done {
            file: File::Behind(VendorRequest::get(format!(
                "/videos/{}/content",
                path_part(&job_ref.id)
            ))),
            usage: ReportedUsage {
                output_seconds: seconds_at(&body, "/seconds"),
                ..ReportedUsage::default()
            },
        },
        "failed" | "cancelled" | "expired" => Polled::Failed(failure(&status, &body)),
        // `in_progress`, and unknown states.
        _ => Polled::Running {
            queued: false,
            progress: progress(&body),
        },
    }
}

fn read_cancel(_handle: &JobRef, _said: &VendorResponse<'_>) -> Cancelled {
    Cancelled::Unknown
}

fn is_broke(error: &VendorError) -> bool {
    let words = ["insufficient_quota", "billing_hard_limit_reached"];
    words.contains(&error.code.as_str())
}

/// From 0 to 99; a fraction is cut.
fn progress(body: &Value) -> Option<u8> {
    let text = text_at(body, "/progress")?;
    let whole = text.split('.').next()?;
    let whole: u8 = whole.parse().ok()?;
    Some(whole.min(99))
}

fn failure(status: &str, body: &Value) -> VendorError {
    let code = filled_at(body, "/error/code");
    let message = text_at(body, "/error/message");
    VendorError::new(
        400,
        code.unwrap_or_else(|| status.to_owned()),
        message.unwrap_or_else(|| "the upstream gave no reason".to_owned()),
    )
}

/// `{"error": {"message", "type", "param", "code"}}`, where the code may be missing.
fn error(status: u16, body: &Value) -> VendorError {
    let code = text_at(body, "/error/code").or_else(|| text_at(body, "/error/type"));
    let message = text_at(body, "/error/message");
    VendorError::new(
        status,
        code.unwrap_or_default(),
        message.unwrap_or_default(),
    )
}
