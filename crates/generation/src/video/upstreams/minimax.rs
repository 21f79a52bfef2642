//! `MiniMax`, two interfaces behind one credential. The first (endpoint `v1`) responds to errors with
//! status 200 and a number in `base_resp`, and reports a file's id that another request turns into its
//! URL. The second (endpoint `v2`) is at the root of the host, responds to errors by status, and wraps a
//! job into `task`, which some relays leave out.

use serde_json::Value;

use super::{
    Cancelled, File, JobContext, JobRef, MediaForm, Polled, Protocol, ReportedUsage, Submitted,
    VendorError, VendorRequest, VendorResponse, filled_at, no_lookup, path_part, seconds_at,
    text_at, unclear,
};
use crate::error_mapping::{minimax_by_number, minimax_number, trailing_number};
use crate::vendor_failure::VendorFailure;
use crate::video::plan::Outbound;

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "minimax_video",
    submit,
    read_submit,
    poll,
    read_poll,
    read_file,
    cancel: Some(cancel),
    read_cancel,
    lookup: None,
    read_lookup: no_lookup,
    media: MediaForm::DataUri,
    clips: MediaForm::DataUri,
};

/// The endpoint of the second interface; every other name is the first.
const SECOND: &str = "v2";

fn submit(outbound: &Outbound, context: &JobContext<'_>) -> VendorRequest {
    let mut body = outbound.body.clone();
    body.insert("model".to_owned(), Value::from(context.model));
    if outbound.endpoint == SECOND {
        VendorRequest::post("/v2/video_generation", &body).at_host()
    } else {
        VendorRequest::post("/video_generation", &body)
    }
}

fn read_submit(_sent: &Outbound, response: &VendorResponse<'_>) -> Submitted {
    let body = response.json();
    let error = error(response, &body);
    let full = Submitted::Full {
        retry_after: response.retry_after,
    };
    match response.status {
        // Numbers of faults inside the vendor are no sure refusals.
        200..=299 if minimax_number(&body).is_some() => match minimax_by_number(response, error) {
            VendorFailure::Limited { .. } => full,
            VendorFailure::Credential(error) => Submitted::Credential(error),
            VendorFailure::Refused(error) => Submitted::Refused(error),
            VendorFailure::Busy(error) | VendorFailure::Failed(error) => Submitted::Unknown(error),
        },
        200..=299 => taken(&body, error),
        401..=403 => Submitted::Credential(error),
        429 | 503 | 529 => full,
        // The number is more specific than the status, where there is one.
        400 | 404 | 405 | 413 | 415 | 422 => match minimax_by_number(response, error) {
            VendorFailure::Limited { .. } => full,
            VendorFailure::Credential(error) => Submitted::Credential(error),
            VendorFailure::Refused(error)
            | VendorFailure::Busy(error)
            | VendorFailure::Failed(error) => Submitted::Refused(error),
        },
        _ => Submitted::Unknown(error),
    }
}

fn taken(body: &Value, error: VendorError) -> Submitted {
    let id = text_at(body, "/task_id").or_else(|| text_at(body, "/task/id"));
    match id.filter(|id| !id.is_empty() && id != "0") {
        Some(id) => Submitted::Accepted { id },
        None => Submitted::Unknown(error),
    }
}

fn poll(job_ref: &JobRef) -> VendorRequest {
    let id = path_part(&job_ref.id);
    if job_ref.endpoint == SECOND {
        VendorRequest::get(format!("/v2/query/video_generation/{id}")).at_host()
    } else {
        VendorRequest::get(format!("/query/video_generation?task_id={id}"))
    }
}

fn read_poll(job_ref: &JobRef, response: &VendorResponse<'_>) -> Polled {
    let body = response.json();
    if !response.is_success() {
        return unclear(response, &error(response, &body).message);
    }
    if job_ref.endpoint == SECOND {
        second_state(response, &body)
    } else {
        first_state(response, &body)
    }
}

fn first_state(response: &VendorResponse<'_>, body: &Value) -> Polled {
    let why = error(response, body);
    let status = text_at(body, "/status").unwrap_or_default();
    match status.as_str() {
        // A verdict carries its reason in the place of an error.
        "Fail" | "Failed" => Polled::Failed(reason(why)),
        _ if minimax_number(body).is_some() => unclear(response, &why.message),
        "" => unclear(response, "no status"),
        "Preparing" | "Queueing" => Polled::running(true),
        "Success" => match text_at(body, "/file_id").filter(|id| !id.is_empty() && id != "0") {
            Some(id) => {
                let path = format!("/files/retrieve?file_id={}", path_part(&id));
                Polled::FileAt(VendorRequest::get(path))
            }
            None => unclear(response, "a finished job without a file"),
        },
        // `Processing`, and unknown states.
        _ => Polled::running(false),
    }
}

fn second_state(response: &VendorResponse<'_>, body: &Value) -> Polled {
    let task = match body.get("task") {
        Some(task) if task.is_object() => task,
        Some(_) | None => body,
    };
    let Some(status) = text_at(task, "/status") else {
        return unclear(response, &error(response, body).message);
    };
    match status.as_str() {
        "queued" => Polled::running(true),
        "succeeded" => match filled_at(task, "/content/url") {
            Some(url) => Polled::Done {
                file: File::Link(url),
                usage: ReportedUsage {
                    output_seconds: seconds_at(task, "/usage/output_seconds"),
                    input_seconds: seconds_at(task, "/usage/input_seconds"),
                    images: seconds_at(task, "/usage/input_image_count"),
                },
            },
            None => unclear(response, "a finished job without a file"),
        },
        "failed" | "cancelled" | "expired" => {
            let code = filled_at(task, "/error/code");
            let message = text_at(task, "/error/message").unwrap_or_default();
            let code = code.unwrap_or_else(|| status.clone());
            Polled::Failed(reason(VendorError::new(400, code, message)))
        }
        // `running`, and unknown states.
        _ => Polled::running(false),
    }
}

fn read_file(response: &VendorResponse<'_>) -> Polled {
    let body = response.json();
    let url = filled_at(&body, "/file/download_url");
    match url.filter(|_| response.is_success()) {
        Some(url) => Polled::linked(url, ReportedUsage::default()),
        None => unclear(response, &error(response, &body).message),
    }
}

/// The first interface cannot cancel a job: it is polled, and the outcome is that it is still running.
fn cancel(job_ref: &JobRef) -> VendorRequest {
    if job_ref.endpoint == SECOND {
        let id = path_part(&job_ref.id);
        VendorRequest::delete(format!("/v2/video_generation/{id}")).at_host()
    } else {
        poll(job_ref)
    }
}

fn read_cancel(job_ref: &JobRef, response: &VendorResponse<'_>) -> Cancelled {
    if job_ref.endpoint != SECOND {
        return Cancelled::GoesOn;
    }
    let body = response.json();
    let action = text_at(&body, "/action").or_else(|| text_at(&body, "/task/action"));
    match (response.status, action.as_deref()) {
        (200..=299, Some("cancelled")) => Cancelled::Confirmed,
        (400..=499, _) if response.status != 408 && response.status != 429 => Cancelled::GoesOn,
        // `deleted` is reported for a job that had ended, well or badly.
        (_, _) => Cancelled::Unknown,
    }
}

/// The error of either interface. The second writes its number at the end of the text:
/// `… (2013)`.
fn error(response: &VendorResponse<'_>, body: &Value) -> VendorError {
    if let Some(code) = minimax_number(body) {
        let message = text_at(body, "/base_resp/status_msg").unwrap_or_default();
        let status = if response.status < 400 {
            400
        } else {
            response.status
        };
        return VendorError::new(status, code, message);
    }
    let message = text_at(body, "/error/message").unwrap_or_default();
    let kind = text_at(body, "/error/type").unwrap_or_default();
    let code = trailing_number(&message).map_or(kind, str::to_owned);
    VendorError::new(response.status, code, message)
}

/// A verdict always has a code and a text.
fn reason(mut error: VendorError) -> VendorError {
    error.status = 400;
    if error.code.is_empty() {
        "task_failed".clone_into(&mut error.code);
    }
    if error.message.is_empty() {
        "the upstream gave no reason".clone_into(&mut error.message);
    }
    error
}
