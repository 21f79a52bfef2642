//! Alibaba's `DashScope`: `POST /api/v1/services/aigc/video-generation/video-synthesis`, then
//! `GET /api/v1/tasks/{id}`. Refusals are flat (`code`, `message`, `request_id`); a job that fails is an
//! answer of 200; an id that it does not know is one too, with the state `UNKNOWN`.

mod models;
mod request;

use http::Method;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::format_description;

use super::media;
use crate::clock;
use crate::dashscope_error::DashScopeError;
use crate::fault_stage;
use crate::headers;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};
use crate::video_jobs::JobDirectives;
use crate::video_jobs::{NewJob, Phase, VideoJob};
use request::VideoRequest;

pub(super) const VENDOR: &str = "dashscope";
const SERVICES: &str = "/api/v1/services/aigc/";
const SUBMIT: &str = "/api/v1/services/aigc/video-generation/video-synthesis";
const TASKS: &str = "/api/v1/tasks/";
/// An id is forgotten after a day.
const LIFE_MICROS: u64 = 86_400_000_000;
/// The hours by which the vendor's clock in its answers is ahead of ours.
const ZONE_SECONDS: i64 = 8 * 3_600;
/// A word for a state that no document has.
const ODD_STATE: &str = "REVIEWING";

pub(super) fn owns(path: &str) -> bool {
    path.starts_with(SERVICES) || path.starts_with(TASKS)
}

pub(super) async fn serve(recorded: RecordedRequest) -> VendorResult {
    let method = recorded.parts.method.clone();
    let path = recorded.parts.uri.path().to_owned();
    if recorded.key.is_empty() || !recorded.state.accepts(&recorded.key) {
        return Ok(refuse(recorded, &DashScopeError::key()));
    }
    if let Some(rest) = path.strip_prefix(TASKS) {
        return Ok(match (method, rest.strip_suffix("/cancel")) {
            (Method::POST, Some(id)) => cancel(recorded, id),
            (Method::GET, None) => poll(recorded, rest),
            (_, _) => refuse(recorded, &DashScopeError::path(400)),
        });
    }
    if path != SUBMIT || method != Method::POST {
        return Ok(refuse(recorded, &DashScopeError::path(400)));
    }
    submit(recorded).await
}

async fn submit(mut recorded: RecordedRequest) -> VendorResult {
    let asynchronous = recorded.parts.headers.get("x-dashscope-async");
    if asynchronous.is_none_or(|value| value.as_bytes() != b"enable") {
        return Ok(refuse(recorded, &request::synchronous()));
    }
    let Ok(body) = serde_json::from_slice::<Value>(&recorded.body) else {
        return Ok(refuse(recorded, &DashScopeError::body_invalid()));
    };
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    let directives = JobDirectives::read(text("/input/prompt").unwrap_or_default());
    let model = text("/model").unwrap_or_default().to_owned();
    recorded.note(|record| {
        record.model.clone_from(&model);
        record.marker.clone_from(&directives.marker);
    });
    let request = match VideoRequest::read(&body, &recorded.state) {
        Ok(request) => request,
        Err(refused) => return Ok(refuse(recorded, &refused)),
    };
    if let Some(code) = &directives.refuse {
        return Ok(refuse(recorded, &request::requested(code)));
    }
    let key = headers::last_four(&recorded.key);
    if recorded
        .state
        .jobs
        .is_full(&directives, &key, recorded.state.video)
    {
        return Ok(refuse(recorded, &DashScopeError::rate_limited()));
    }
    let new = NewJob {
        id: recorded.uuid("task"),
        vendor: VENDOR,
        model: &model,
        key,
        reference: None,
        body: body.clone(),
        seconds: request.seconds,
        fails: request.fails,
    };
    let job = recorded
        .state
        .jobs
        .take(new, &directives, recorded.state.video);
    fault_stage::early(&mut recorded, directives.fault()).await?;
    let output = json!({ "task_id": job.id, "task_status": "PENDING" });
    let answer = json!({ "output": output, "request_id": recorded.uuid("request") });
    Ok(say(recorded, 200, &answer))
}

fn poll(recorded: RecordedRequest, id: &str) -> VendorResponse {
    let key = headers::last_four(&recorded.key);
    let job = recorded.state.jobs.polled(id);
    // A job of another account, or of yesterday, is one that it does not know.
    let young = |job: &VideoJob| {
        clock::now_micros().saturating_sub(job.created_micros) < LIFE_MICROS && job.key == key
    };
    let mut answer = match job.filter(|job| job.vendor == VENDOR).filter(young) {
        Some(job) => job_view(&recorded, &job),
        None => json!({ "output": { "task_id": id, "task_status": "UNKNOWN" } }),
    };
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("request_id".to_owned(), json!(recorded.uuid("request")));
    }
    say(recorded, 200, &answer)
}

/// A job as the vendor tells of it.
fn job_view(recorded: &RecordedRequest, job: &VideoJob) -> Value {
    let phase = job.phase();
    let state = match &phase {
        Phase::Waiting => "PENDING",
        Phase::Running if job.is_odd => ODD_STATE,
        Phase::Running => "RUNNING",
        Phase::Succeeded => "SUCCEEDED",
        Phase::Failed { .. } => "FAILED",
        Phase::Cancelled => "CANCELED",
    };
    let mut output = json!({
        "task_id": job.id,
        "task_status": state,
        "submit_time": written(job.created_micros),
    });
    let mut add = |name: &str, value: Value| {
        if let Some(fields) = output.as_object_mut() {
            fields.insert(name.to_owned(), value);
        }
    };
    if phase != Phase::Waiting {
        add("scheduled_time", json!(written(job.begins_micros)));
    }
    match phase {
        Phase::Waiting | Phase::Running => json!({ "output": output }),
        Phase::Cancelled => {
            let ended = job.cancelled_micros.unwrap_or(job.begins_micros);
            add("end_time", json!(written(ended)));
            json!({ "output": output })
        }
        Phase::Failed { code, message } => {
            add("end_time", json!(written(job.ends_micros.unwrap_or(0))));
            add("code", json!(code));
            add("message", json!(message));
            json!({ "output": output })
        }
        Phase::Succeeded => {
            add("end_time", json!(written(job.ends_micros.unwrap_or(0))));
            if let Some(prompt) = job.body.pointer("/input/prompt") {
                add("orig_prompt", prompt.clone());
            }
            add(
                "video_url",
                json!(media::link(&recorded.parts.headers, job)),
            );
            let usage =
                VideoRequest::read(&job.body, &recorded.state).map(|request| request.usage());
            json!({ "output": output, "usage": usage.unwrap_or(Value::Null) })
        }
    }
}

fn cancel(recorded: RecordedRequest, id: &str) -> VendorResponse {
    let key = headers::last_four(&recorded.key);
    let mine = recorded.state.jobs.seen(id).filter(|job| job.key == key);
    let stopped = mine.and_then(|job| recorded.state.jobs.cancel(&job.id, false));
    if stopped == Some(true) {
        let answer = json!({ "request_id": recorded.uuid("request") });
        return say(recorded, 200, &answer);
    }
    refuse(recorded, &request::not_waiting())
}

fn refuse(recorded: RecordedRequest, refused: &DashScopeError) -> VendorResponse {
    let answer = refused.body(&recorded.uuid("request"));
    say(recorded, refused.status, &answer)
}

fn say(recorded: RecordedRequest, status: u16, answer: &Value) -> VendorResponse {
    recorded.play(Script::json(status, None, answer.to_string()), None)
}

/// A moment as the vendor writes it: Beijing's time.
pub(crate) fn written(micros: u64) -> String {
    let seconds = i64::try_from(clock::seconds(micros)).unwrap_or(0);
    let moment = OffsetDateTime::from_unix_timestamp(seconds.saturating_add(ZONE_SECONDS));
    let moment = moment.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    let millis = (micros / 1_000) % 1_000;
    let text = moment.format(format).unwrap_or_default();
    format!("{text}.{millis:03}")
}
