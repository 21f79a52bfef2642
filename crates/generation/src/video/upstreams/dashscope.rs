//! `DashScope`: one endpoint for every model, jobs by their id, cancelling while they are queued. It stores
//! no reference of ours, so a submission whose response was lost cannot be found again.

use serde_json::{Value, json};

use super::{
    Cancelled, JobContext, JobRef, MediaForm, Method, Polled, Protocol, ReportedUsage, Submitted,
    VendorError, VendorRequest, VendorResponse, no_file, no_lookup, path_part, seconds_at, text_at,
    unclear,
};
use crate::error_mapping::cut;
use crate::video::plan::Outbound;

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "dashscope_video",
    submit,
    read_submit,
    poll,
    read_poll,
    read_file: no_file,
    cancel: Some(cancel),
    read_cancel,
    lookup: None,
    read_lookup: no_lookup,
    media: MediaForm::DataUri,
    clips: MediaForm::Link,
};

const SUBMIT: &str = "/services/aigc/video-generation/video-synthesis";

fn submit(outbound: &Outbound, context: &JobContext<'_>) -> VendorRequest {
    let mut body = outbound.body.clone();
    body.insert("model".to_owned(), json!(context.model));
    // Without it the upstream refuses: there are no synchronous videos.
    VendorRequest::post(SUBMIT, &body).with("X-DashScope-Async", "enable")
}

fn read_submit(_sent: &Outbound, response: &VendorResponse<'_>) -> Submitted {
    let answer = response.json();
    let mut error = error(response.status, &answer, "");
    if error.message.starts_with("Model not exist") {
        // It has the code of any wrong parameter.
        "ModelNotFound".clone_into(&mut error.code);
    }
    let is_throttled = error.code.starts_with("Throttling");
    match response.status {
        200..=299 => match text_at(&answer, "/output/task_id") {
            Some(id) if !id.is_empty() => Submitted::Accepted { id },
            Some(_) | None => Submitted::Unknown(error),
        },
        429 | 503 | 529 => Submitted::Full {
            retry_after: response.retry_after,
        },
        // Timeout, conflict, too early, connection closed: none tells whether the vendor accepted it.
        408 | 409 | 425 | 499 => Submitted::Unknown(error),
        400..=499 if is_throttled => Submitted::Full {
            retry_after: response.retry_after,
        },
        // The account, its money or its models are at fault, not the customer's request.
        401..=404 => Submitted::Credential(error),
        400 if is_of_the_account(&error) => Submitted::Credential(error),
        400..=499 => Submitted::Refused(error),
        _ => Submitted::Unknown(error),
    }
}

fn is_of_the_account(error: &VendorError) -> bool {
    let code = error.code.as_str();
    matches!(
        code,
        "Arrearage" | "InvalidApiKey" | "InvalidModel" | "ModelNotFound"
    )
}

fn poll(job_ref: &JobRef) -> VendorRequest {
    VendorRequest::get(format!("/tasks/{}", path_part(&job_ref.id)))
}

fn read_poll(_handle: &JobRef, response: &VendorResponse<'_>) -> Polled {
    let answer = response.json();
    let Some(state) = text_at(&answer, "/output/task_status").filter(|_| response.status == 200)
    else {
        let code = text_at(&answer, "/code").unwrap_or_default();
        return unclear(response, &format!("no state {}", cut(&code)));
    };
    match state.to_ascii_uppercase().as_str() {
        "PENDING" => Polled::running(true),
        "SUCCEEDED" => done(response, &answer),
        "FAILED" => Polled::Failed(error(response.status, &answer, "/output")),
        "CANCELED" | "CANCELLED" => {
            let text = "the upstream cancelled the task";
            Polled::Failed(VendorError::new(response.status, "Canceled", text))
        }
        // Its state for ids that it has forgotten or does not know yet: no verdict.
        "UNKNOWN" => unclear(response, "state UNKNOWN"),
        _ => Polled::running(false),
    }
}

fn done(response: &VendorResponse<'_>, answer: &Value) -> Polled {
    let places = ["/output/video_url", "/output/results/0/url"];
    let mut links = places.iter().filter_map(|place| text_at(answer, place));
    match links.find(|link| !link.is_empty()) {
        Some(link) => Polled::linked(link, usage(answer)),
        None => unclear(response, "SUCCEEDED without a file"),
    }
}

/// Older models report one length, newer ones input, output and their sum.
fn usage(answer: &Value) -> ReportedUsage {
    let input = seconds_at(answer, "/usage/input_video_duration");
    let output = seconds_at(answer, "/usage/output_video_duration")
        .or_else(|| seconds_at(answer, "/usage/video_duration"))
        .or_else(|| {
            let sum = seconds_at(answer, "/usage/duration")?;
            Some(sum.saturating_sub(input.unwrap_or(0)))
        });
    ReportedUsage {
        output_seconds: output,
        input_seconds: input,
        images: None,
    }
}

fn cancel(job_ref: &JobRef) -> VendorRequest {
    VendorRequest {
        method: Method::Post,
        ..VendorRequest::get(format!("/tasks/{}/cancel", path_part(&job_ref.id)))
    }
}

fn read_cancel(_handle: &JobRef, response: &VendorResponse<'_>) -> Cancelled {
    let code = text_at(&response.json(), "/code").unwrap_or_default();
    match response.status {
        200 if code.is_empty() => Cancelled::Confirmed,
        // It can be stopped only while it waits.
        400..=499 if code.starts_with("UnsupportedOperation") => Cancelled::GoesOn,
        _ => Cancelled::Unknown,
    }
}

/// The vendor's error at a place of its response.
fn error(status: u16, answer: &Value, place: &str) -> VendorError {
    let word = |name: &str| text_at(answer, &format!("{place}/{name}")).unwrap_or_default();
    VendorError::new(status, cut(&word("code")), cut(&word("message")))
}
