//! What the older design answers about jobs.

use serde_json::{Value, json};

use super::error::KlingError;
use super::{KlingEndpoint, answer_with, link, millis, query, refuse, seen};
use crate::recorded_request::RecordedRequest;
use crate::scripted_body::VendorResponse;
use crate::video_jobs::{Phase, VideoJob};

/// Jobs of one page of a list.
const PAGE: usize = 30;

/// The answer to a submission.
pub(super) fn taken(job: &VideoJob) -> Value {
    json!({
        "task_id": job.id,
        "task_status": "submitted",
        "task_info": { "external_task_id": job.reference.as_deref().unwrap_or_default() },
        "created_at": millis(job.created_micros),
        "updated_at": millis(job.created_micros),
    })
}

/// One job by the vendor's name or by the caller's, or the last ones.
pub(super) fn ask(
    recorded: RecordedRequest,
    endpoint: KlingEndpoint,
    id: Option<&str>,
) -> VendorResponse {
    let of_endpoint = |job: &VideoJob| job.id.starts_with(endpoint.digits());
    let reference = query(&recorded, "external_task_id");
    let job = match (id, &reference) {
        (Some(id), _) => recorded.state.jobs.polled(id),
        (None, Some(reference)) => recorded.state.jobs.referred(reference),
        (None, None) => {
            let all = recorded.state.jobs.all().into_iter().rev();
            let all = all
                .filter(of_endpoint)
                .filter_map(|job| seen(&recorded, Some(job)));
            let page: Vec<Value> = all
                .take(PAGE)
                .map(|job| job_view(&recorded, &job))
                .collect();
            return answer_with(recorded, Value::Array(page));
        }
    };
    match seen(&recorded, job).filter(of_endpoint) {
        Some(job) => {
            let view = job_view(&recorded, &job);
            answer_with(recorded, view)
        }
        None => refuse(recorded, &KlingError::not_there()),
    }
}

fn job_view(recorded: &RecordedRequest, job: &VideoJob) -> Value {
    let mut view = taken(job);
    let phase = job.phase();
    let word = match &phase {
        Phase::Waiting => "submitted",
        Phase::Running if job.is_odd => "dispatching",
        Phase::Running => "processing",
        Phase::Succeeded => "succeed",
        Phase::Failed { .. } | Phase::Cancelled => "failed",
    };
    let marked = job.body.pointer("/watermark_info/enabled") == Some(&Value::Bool(true));
    if let Some(fields) = view.as_object_mut() {
        fields.insert("task_status".to_owned(), Value::from(word));
        let info = json!({ "enabled": marked });
        fields.insert("watermark_info".to_owned(), info);
        match phase {
            Phase::Succeeded => {
                let url = link(recorded, job);
                let mark = if marked { url.as_str() } else { "" };
                // A file is never as long as it was asked for to the frame.
                let video = json!({
                    "id": job.id,
                    "url": url,
                    "watermark_url": mark,
                    "duration": format!("{}.041", job.seconds),
                });
                fields.insert("task_result".to_owned(), json!({ "videos": [video] }));
                fields.insert("final_unit_deduction".to_owned(), Value::from("1"));
            }
            Phase::Failed { message, .. } => {
                fields.insert("task_status_msg".to_owned(), Value::from(message));
            }
            Phase::Waiting | Phase::Running | Phase::Cancelled => {}
        }
    }
    view
}
