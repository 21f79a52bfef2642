//! What the newer design answers about jobs. The shape of the list has one source: `[unverified]`.

use serde_json::{Value, json};

use super::error::KlingError;
use super::{KlingEndpoint, answer_with, link, millis, query, refuse, seen};
use crate::recorded_request::RecordedRequest;
use crate::scripted_body::VendorResponse;
use crate::video_jobs::{Phase, VideoJob};

/// Jobs that one question may name.
const MAX_ASKED: usize = 100;

/// The answer to a submission.
pub(super) fn taken(job: &VideoJob) -> Value {
    json!({
        "id": job.id,
        "status": "submitted",
        "message": "",
        "create_time": millis(job.created_micros),
        "update_time": millis(job.created_micros),
        "external_id": job.reference.as_deref().unwrap_or_default(),
    })
}

/// Jobs by the vendor's names or by the caller's; unknown ones are left out.
pub(super) fn ask(recorded: RecordedRequest) -> VendorResponse {
    let is_here = |job: &VideoJob| {
        let endpoints = [KlingEndpoint::NewerText, KlingEndpoint::NewerImage];
        endpoints
            .iter()
            .any(|endpoint| job.id.starts_with(endpoint.digits()))
    };
    let (names, is_ours) = match (
        query(&recorded, "task_ids"),
        query(&recorded, "external_task_ids"),
    ) {
        (Some(names), None) => (names, true),
        (None, Some(names)) => (names, false),
        (Some(_), Some(_)) | (None, None) => {
            let wrong = KlingError::parameter("one of task_ids and external_task_ids is required");
            return refuse(recorded, &wrong);
        }
    };
    let jobs = names.split(',').take(MAX_ASKED).filter_map(|name| {
        let job = if is_ours {
            recorded.state.jobs.polled(name)
        } else {
            recorded.state.jobs.referred(name)
        };
        seen(&recorded, job).filter(is_here)
    });
    let views: Vec<Value> = jobs.map(|job| job_view(&recorded, &job)).collect();
    answer_with(recorded, Value::Array(views))
}

fn job_view(recorded: &RecordedRequest, job: &VideoJob) -> Value {
    let mut view = taken(job);
    let phase = job.phase();
    let word = match &phase {
        Phase::Waiting => "submitted",
        Phase::Running if job.is_odd => "dispatching",
        Phase::Running => "processing",
        Phase::Succeeded => "succeeded",
        Phase::Failed { .. } | Phase::Cancelled => "failed",
    };
    if let Some(fields) = view.as_object_mut() {
        fields.insert("status".to_owned(), Value::from(word));
        match phase {
            Phase::Succeeded => {
                let marked = job.body.pointer("/options/watermark_info/enabled");
                let url = link(recorded, job);
                let is_marked = marked == Some(&Value::Bool(true));
                let mark = if is_marked { url.as_str() } else { "" };
                let output = json!({
                    "type": "video",
                    "id": job.id,
                    "url": url,
                    "watermark_url": mark,
                    "duration": job.seconds.to_string(),
                });
                fields.insert("outputs".to_owned(), json!([output]));
                let billing =
                    json!([{ "charge_type": "unit", "amount": "4.0", "package_type": "video" }]);
                fields.insert("billing".to_owned(), billing);
            }
            Phase::Failed { message, .. } => {
                fields.insert("message".to_owned(), Value::from(message));
            }
            Phase::Waiting | Phase::Running | Phase::Cancelled => {}
        }
    }
    view
}
