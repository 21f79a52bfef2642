//! What the older design answers about jobs.

use http::Response;
use serde_json::{Value, json};

use super::wrong::Wrong;
use super::{Door, answer_with, link, millis, query, refuse, seen};
use crate::played::Played;
use crate::server::Read;
use crate::video::jobs::{Phase, VideoJob};

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
pub(super) fn ask(read: Read, door: Door, id: Option<&str>) -> Response<Played> {
    let of_door = |job: &VideoJob| job.id.starts_with(door.digits());
    let reference = query(&read, "external_task_id");
    let job = match (id, &reference) {
        (Some(id), _) => read.house.jobs.polled(id),
        (None, Some(reference)) => read.house.jobs.referred(reference),
        (None, None) => {
            let all = read.house.jobs.all().into_iter().rev();
            let all = all.filter(of_door).filter_map(|job| seen(&read, Some(job)));
            let page: Vec<Value> = all.take(PAGE).map(|job| shown(&read, &job)).collect();
            return answer_with(read, Value::Array(page));
        }
    };
    match seen(&read, job).filter(of_door) {
        Some(job) => {
            let shown = shown(&read, &job);
            answer_with(read, shown)
        }
        None => refuse(read, &Wrong::not_there()),
    }
}

fn shown(read: &Read, job: &VideoJob) -> Value {
    let mut shown = taken(job);
    let phase = job.phase();
    let word = match &phase {
        Phase::Waiting => "submitted",
        Phase::Running if job.is_odd => "dispatching",
        Phase::Running => "processing",
        Phase::Succeeded => "succeed",
        Phase::Failed { .. } | Phase::Cancelled => "failed",
    };
    let marked = job.body.pointer("/watermark_info/enabled") == Some(&Value::Bool(true));
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("task_status".to_owned(), Value::from(word));
        let info = json!({ "enabled": marked });
        fields.insert("watermark_info".to_owned(), info);
        match phase {
            Phase::Succeeded => {
                let url = link(read, job);
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
    shown
}
