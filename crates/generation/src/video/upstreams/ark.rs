//! Ark: Seedance's video jobs, at `/contents/generations/tasks` behind the base.
//!
//! The vendor stores no reference of ours and has no idempotency: a submission without a response stays
//! unknown. A DELETE cancels a queued job, but deletes the record of an ended one, with the same response:
//! whether it was cancelled is read from the next poll.

use serde_json::{Map, Value, json};

use super::{
    Cancelled, File, JobContext, JobRef, MediaForm, Polled, Protocol, ReportedUsage, Submitted,
    VendorError, VendorRequest, VendorResponse, filled_at, no_lookup, path_part, seconds_at,
    text_at, unclear,
};
use crate::video::plan::Outbound;

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "ark_video",
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

const TASKS: &str = "/contents/generations/tasks";

fn submit(outbound: &Outbound, context: &JobContext<'_>) -> VendorRequest {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(context.model));
    let rest = outbound.body.iter().filter(|(name, _)| *name != "model");
    body.extend(rest.map(|(name, value)| (name.clone(), value.clone())));
    VendorRequest::post(TASKS, &body)
}

fn read_submit(_sent: &Outbound, response: &VendorResponse<'_>) -> Submitted {
    let answer = response.json();
    let has_code = text_at(&answer, "/error/code").is_some();
    match response.status {
        200..300 => match filled_at(&answer, "/id") {
            Some(id) => Submitted::Accepted { id },
            None => Submitted::Unknown(error(response, &answer)),
        },
        429 | 503 | 529 => Submitted::Full {
            retry_after: response.retry_after,
        },
        // A model that is missing or not activated is a problem of the account too.
        401..=404 => Submitted::Credential(error(response, &answer)),
        400 | 413 | 415 | 422 => Submitted::Refused(error(response, &answer)),
        // A timeout of a proxy does not tell whether the vendor accepted it.
        408 => Submitted::Unknown(error(response, &answer)),
        405..500 if has_code => Submitted::Refused(error(response, &answer)),
        _ => Submitted::Unknown(error(response, &answer)),
    }
}

fn poll(job_ref: &JobRef) -> VendorRequest {
    VendorRequest::get(task(job_ref))
}

fn read_poll(_handle: &JobRef, response: &VendorResponse<'_>) -> Polled {
    let answer = response.json();
    if !response.is_success() {
        return unclear(response, &error(response, &answer).code);
    }
    let Some(status) = text_at(&answer, "/status") else {
        return unclear(response, "the answer names no status");
    };
    match status.to_ascii_lowercase().as_str() {
        "queued" | "pending" => Polled::running(true),
        "succeeded" => match file(&answer) {
            Some(link) => Polled::Done {
                file: File::Link(link),
                usage: ReportedUsage {
                    output_seconds: seconds_at(&answer, "/duration"),
                    ..ReportedUsage::default()
                },
            },
            None => unclear(response, "succeeded, and names no file"),
        },
        word @ ("failed" | "cancelled" | "canceled" | "expired") => {
            let code = text_at(&answer, "/error/code").unwrap_or_else(|| word.to_owned());
            let message = text_at(&answer, "/error/message");
            let message = message.unwrap_or_else(|| format!("the vendor ended the task: {word}"));
            Polled::Failed(VendorError::new(400, code, message))
        }
        // `running`, `processing`, and every unknown state.
        _ => Polled::running(false),
    }
}

/// `content` is an object; some relays make a list of it.
fn file(answer: &Value) -> Option<String> {
    let places = ["/content/video_url", "/content/0/video_url"];
    let found = places.iter().find_map(|place| text_at(answer, place));
    found.filter(|link| !link.is_empty())
}

fn read_file(response: &VendorResponse<'_>) -> Polled {
    unclear(
        response,
        "this vendor names its file in the answer to a poll",
    )
}

fn cancel(job_ref: &JobRef) -> VendorRequest {
    VendorRequest::delete(task(job_ref))
}

fn read_cancel(_handle: &JobRef, response: &VendorResponse<'_>) -> Cancelled {
    match response.status {
        // A deleted job cannot be distinguished from one that never existed.
        404 | 408 => Cancelled::Unknown,
        400..500 => Cancelled::GoesOn,
        _ => Cancelled::Unknown,
    }
}

fn task(job_ref: &JobRef) -> String {
    format!("{TASKS}/{}", path_part(&job_ref.id))
}

fn error(response: &VendorResponse<'_>, answer: &Value) -> VendorError {
    let code =
        text_at(answer, "/error/code").unwrap_or_else(|| format!("http_{}", response.status));
    let message = text_at(answer, "/error/message");
    let message = message.unwrap_or_else(|| "the vendor says no more".to_owned());
    VendorError::new(response.status, code, message)
}
