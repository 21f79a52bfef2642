//! Kling, both designs. The older has the model in the body and polls a job at the path that accepted
//! it; the newer has the model in the path and one path for all jobs. Both store our reference of a job
//! (`external_task_id`), so that a submission whose response was lost can be found. No job can be
//! stopped.

use serde_json::{Map, Value};

use super::{
    Cancelled, File, JobContext, JobRef, LookupResult, MediaForm, Polled, Protocol, ReportedUsage,
    Submitted, VendorError, VendorRequest, VendorResponse, filled_at, no_file, path_part, text_at,
    unclear,
};
use crate::video::plan::Outbound;

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "kling_video",
    submit,
    read_submit,
    poll,
    read_poll,
    read_file: no_file,
    cancel: None,
    read_cancel,
    lookup: Some(lookup),
    read_lookup,
    // The older design would take bare base64, the newer addresses alone.
    media: MediaForm::Link,
    clips: MediaForm::Link,
};

/// The code of a failed job: the vendor gives a text only.
const FAILED: &str = "task_failed";
/// The code of an error without one.
const NO_CODE: &str = "upstream_error";
/// Longest text of the vendor's that is passed on.
const MAX_TEXT_CHARACTERS: usize = 1_000;

/// The API design of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Design {
    /// `/v1/videos/text2video` and its kin.
    Older,
    /// `/text-to-video/{model}` and its kin.
    Newer,
}

fn design(endpoint: &str) -> Design {
    match endpoint {
        "text-to-video" | "image-to-video" => Design::Newer,
        _ => Design::Older,
    }
}

fn submit(outbound: &Outbound, context: &JobContext<'_>) -> VendorRequest {
    let mut body = outbound.body.clone();
    let reference = Value::from(context.reference);
    match design(&outbound.endpoint) {
        Design::Older => {
            body.insert("model_name".to_owned(), Value::from(context.model));
            body.insert("external_task_id".to_owned(), reference);
            VendorRequest::post(older_path(&outbound.endpoint), &body)
        }
        Design::Newer => {
            let options = body.entry("options");
            let options = options.or_insert_with(|| Value::Object(Map::new()));
            if let Some(options) = options.as_object_mut() {
                options.insert("external_task_id".to_owned(), reference);
            }
            let model = model_part(context.model);
            VendorRequest::post(format!("/{}/{model}", path_part(&outbound.endpoint)), &body)
        }
    }
}

fn read_submit(_sent: &Outbound, response: &VendorResponse<'_>) -> Submitted {
    let body = response.json();
    let error = error(response, &body);
    match response.status {
        200..=299 => {
            let id = text_at(&body, "/data/task_id").or_else(|| text_at(&body, "/data/id"));
            let is_good = code(&body).is_none_or(|code| code == "0");
            match id.filter(|id| is_good && !id.is_empty()) {
                Some(id) => Submitted::Accepted { id },
                None => Submitted::Unknown(error),
            }
        }
        401..=403 => Submitted::Credential(error),
        429 => match error.code.as_str() {
            // The account is abnormal, owes money, has used its pack, or may not call from here.
            "1100" | "1101" | "1102" | "1304" => Submitted::Credential(error),
            _ => full(response),
        },
        503 | 529 => full(response),
        // A name that is taken already was taken by a submission of ours.
        400..=499 if error.message.contains("external_task_id") => Submitted::Unknown(error),
        // A proxy between the gateway and the vendor timed out.
        408 | 425 | 499 => Submitted::Unknown(error),
        400..=499 => Submitted::Refused(error),
        _ => Submitted::Unknown(error),
    }
}

fn poll(job_ref: &JobRef) -> VendorRequest {
    let id = path_part(&job_ref.id);
    match design(&job_ref.endpoint) {
        Design::Older => VendorRequest::get(format!("{}/{id}", older_path(&job_ref.endpoint))),
        Design::Newer => VendorRequest::get(format!("/tasks?task_ids={id}")),
    }
}

fn read_poll(job_ref: &JobRef, response: &VendorResponse<'_>) -> Polled {
    let body = response.json();
    let is_good = code(&body).is_none_or(|code| code == "0");
    if !response.is_success() || !is_good {
        let vendor_error = error(response, &body);
        return unclear(
            response,
            &format!("{} {}", vendor_error.code, vendor_error.message),
        );
    }
    let Some(job) = job_in(&body, &job_ref.id) else {
        return unclear(response, "the answer does not speak of the job");
    };
    let word = text_at(job, "/task_status").or_else(|| text_at(job, "/status"));
    match word.as_deref() {
        Some("submitted") => Polled::running(true),
        Some("succeed" | "succeeded") => match file_of(job) {
            Some(link) => Polled::Done {
                file: File::Link(link),
                // Its `duration` is the length of the file, such as 5.041 for five seconds that were
                // requested and billed: no usage.
                usage: ReportedUsage::default(),
            },
            None => unclear(response, "the job is done and has no file"),
        },
        Some("failed") => {
            let text = text_at(job, "/task_status_msg").or_else(|| text_at(job, "/message"));
            Polled::Failed(VendorError::new(
                400,
                FAILED,
                cut(&text.unwrap_or_default()),
            ))
        }
        Some(_) => Polled::running(false),
        None => unclear(response, "the job has no state"),
    }
}

/// There is no such call; a job that was taken goes on.
fn read_cancel(_handle: &JobRef, _said: &VendorResponse<'_>) -> Cancelled {
    Cancelled::GoesOn
}

fn lookup(outbound: &Outbound, reference: &str) -> VendorRequest {
    let reference = path_part(reference);
    match design(&outbound.endpoint) {
        Design::Older => {
            let path = older_path(&outbound.endpoint);
            VendorRequest::get(format!("{path}?external_task_id={reference}"))
        }
        Design::Newer => VendorRequest::get(format!("/tasks?external_task_ids={reference}")),
    }
}

fn read_lookup(response: &VendorResponse<'_>) -> LookupResult {
    let body = response.json();
    let code = code(&body);
    if response.status == 404 && code.as_deref() == Some("1203") {
        return LookupResult::NotFound;
    }
    if response.status != 200 || code.as_deref() != Some("0") {
        return LookupResult::Unknown;
    }
    let there = |job: &Value, pointer: &str| match text_at(job, pointer) {
        Some(id) if !id.is_empty() => LookupResult::Found { id },
        Some(_) | None => LookupResult::Unknown,
    };
    match body.pointer("/data") {
        Some(Value::Array(jobs)) => match jobs.as_slice() {
            [] => LookupResult::NotFound,
            // The newer design. A list of the older one is of the account's last jobs, not of
            // ours alone: it found nothing by our reference.
            [job] if job.pointer("/task_id").is_none() => there(job, "/id"),
            _ => LookupResult::Unknown,
        },
        Some(job @ Value::Object(_)) => there(job, "/task_id"),
        Some(_) | None => LookupResult::Unknown,
    }
}

fn older_path(endpoint: &str) -> String {
    format!("/v1/videos/{}", path_part(endpoint))
}

/// A model's name in a path: its dots stay as the vendor writes them, where they lead nowhere.
fn model_part(model: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if model.bytes().all(plain) && !model.bytes().all(|byte| byte == b'.') {
        model.to_owned()
    } else {
        path_part(model)
    }
}

/// The polled job: an object in the older design, a list in the newer.
fn job_in<'a>(body: &'a Value, id: &str) -> Option<&'a Value> {
    let data = body.pointer("/data")?;
    match data {
        Value::Array(jobs) => {
            let is_it = |job: &&Value| {
                let own_id = text_at(job, "/id").or_else(|| text_at(job, "/task_id"));
                own_id.as_deref() == Some(id)
            };
            jobs.iter().find(is_it)
        }
        Value::Object(_) => Some(data),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The file, with the watermark where that was requested.
fn file_of(job: &Value) -> Option<String> {
    let filled = |pointer: &str| filled_at(job, pointer);
    let is_marked = job.pointer("/watermark_info/enabled") == Some(&Value::Bool(true));
    let marked = filled("/task_result/videos/0/watermark_url").filter(|_| is_marked);
    marked
        .or_else(|| filled("/task_result/videos/0/url"))
        // Here the second file exists only if it was requested, and the field is always sent.
        .or_else(|| filled("/outputs/0/watermark_url"))
        .or_else(|| filled("/outputs/0/url"))
}

const fn full(response: &VendorResponse<'_>) -> Submitted {
    Submitted::Full {
        retry_after: response.retry_after,
    }
}

fn code(body: &Value) -> Option<String> {
    text_at(body, "/code")
}

fn error(response: &VendorResponse<'_>, body: &Value) -> VendorError {
    let code = code(body).unwrap_or_else(|| NO_CODE.to_owned());
    let message = text_at(body, "/message").unwrap_or_default();
    VendorError::new(response.status, code, cut(&message))
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT_CHARACTERS).collect()
}
