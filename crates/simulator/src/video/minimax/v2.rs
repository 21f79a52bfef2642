//! The second interface: `POST /v2/video_generation`, `GET /v2/query/video_generation/{id}`,
//! `DELETE /v2/video_generation/{id}`. The list of jobs is left out: its shape is not known.

mod content;

use http::Method;
use serde_json::{Map, Value, json};

use super::{VENDOR, hand_over, is_mine, link, new_id, note};
use crate::headers::last_four;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};
use crate::video_jobs::JobDirectives;
use crate::video_jobs::{NewJob, Phase, VideoJob};

const CREATE: &str = "/v2/video_generation";
const ONE: &str = "/v2/video_generation/";
const QUERY: &str = "/v2/query/video_generation/";

const MODEL: &str = "MiniMax-H3";
/// What is made where no resolution is asked for. No document says which it is; the dearer one shows
/// an adapter that leaves it out.
const DEFAULT_RESOLUTION: &str = "2K";
const RATIOS: [&str; 7] = ["adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"];
/// Seconds that a link lives: records are kept seven days.
const LINK_SECONDS: u64 = 604_800;

pub(super) fn owns(path: &str) -> bool {
    path == CREATE || path.starts_with(ONE) || path.starts_with(QUERY)
}

pub(super) async fn serve(recorded: RecordedRequest) -> VendorResult {
    if recorded.key.is_empty() || !recorded.state.accepts(&recorded.key) {
        return Ok(refuse(recorded, "1004", "login fail: invalid api key"));
    }
    let path = recorded.parts.uri.path().to_owned();
    let method = recorded.parts.method.clone();
    if path == CREATE && method == Method::POST {
        return create(recorded).await;
    }
    if let Some(id) = path.strip_prefix(QUERY)
        && method == Method::GET
    {
        return Ok(query(recorded, id));
    }
    if let Some(id) = path.strip_prefix(ONE)
        && method == Method::DELETE
    {
        return Ok(remove(recorded, id));
    }
    let body = json!({ "error": "404 page not found" }).to_string();
    Ok(recorded.play(Script::json(404, None, body), None))
}

async fn create(recorded: RecordedRequest) -> VendorResult {
    let Some(body) = recorded.json_object() else {
        return Ok(refuse(recorded, "2013", "invalid params, body is not JSON"));
    };
    let model = body.get("model").and_then(Value::as_str);
    let directives = JobDirectives::read(&content::prompt(&body));
    note(&recorded, model.unwrap_or_default(), &directives);
    let seconds = match checked(&body) {
        Ok(seconds) => seconds,
        Err(text) => return Ok(refuse(recorded, "2013", &format!("invalid params, {text}"))),
    };
    if let Some(code) = &directives.refuse {
        return Ok(refuse(recorded, code, "the prompt asked to be refused"));
    }
    let key = last_four(&recorded.key);
    if recorded
        .state
        .jobs
        .is_full(&directives, &key, recorded.state.video)
    {
        return Ok(refuse(recorded, "1002", "rate limit exceeded(concurrency)"));
    }
    let new = NewJob {
        id: new_id(&recorded),
        vendor: VENDOR,
        model: MODEL,
        key,
        reference: None,
        body: Value::Object(body.clone()),
        seconds,
        fails: None,
    };
    let job = recorded
        .state
        .jobs
        .take(new, &directives, recorded.state.video);
    let reply = json!({ "task_id": job.id }).to_string();
    hand_over(recorded, &directives, Script::json(200, None, reply)).await
}

/// The seconds that are made, or what is wrong.
fn checked(body: &Map<String, Value>) -> Result<u64, &'static str> {
    if body.get("model").and_then(Value::as_str) != Some(MODEL) {
        return Err("model");
    }
    let is_text_only = content::check(body)?;
    let duration = body.get("duration").and_then(Value::as_u64);
    let duration = duration.filter(|seconds| (4..=15).contains(seconds));
    let duration = duration.ok_or("duration must be an integer from 4 to 15")?;
    if !["768P", "2K"].contains(&word(body, "resolution", DEFAULT_RESOLUTION)) {
        return Err("resolution");
    }
    let ratio = word(body, "ratio", "adaptive");
    if !RATIOS.contains(&ratio) {
        return Err("ratio");
    }
    if is_text_only && ratio == "adaptive" {
        return Err("ratio adaptive needs an image or a video");
    }
    if body
        .get("aigc_watermark")
        .is_some_and(|mark| !mark.is_boolean())
    {
        return Err("aigc_watermark");
    }
    Ok(duration)
}

/// A word of the body, or the one that stands for its absence; another type is no word.
fn word<'a>(body: &'a Map<String, Value>, name: &str, absent: &'a str) -> &'a str {
    match body.get(name) {
        None => absent,
        Some(value) => value.as_str().unwrap_or_default(),
    }
}

fn query(recorded: RecordedRequest, id: &str) -> VendorResponse {
    let Some(job) = mine(&recorded, id) else {
        return refuse(recorded, "2013", "invalid params, task not exist");
    };
    let body = job.body.as_object().cloned().unwrap_or_default();
    let mut task = json!({
        "id": job.id,
        "model": job.model,
        "status": state(&job),
        "task_type": "generation",
        "modality": "video",
        "resolution": word(&body, "resolution", DEFAULT_RESOLUTION),
        "duration": job.seconds,
        "ratio": word(&body, "ratio", "adaptive"),
        "created_at": job.created_micros / 1_000_000,
        "updated_at": job.begins_micros / 1_000_000,
    });
    let ending = match job.phase() {
        Phase::Waiting | Phase::Running | Phase::Cancelled => json!({}),
        Phase::Succeeded => {
            let (pictures, clips) = content::counted(&body);
            let usage = json!({
                "total_seconds": job.seconds.saturating_add(clips),
                "input_seconds": clips,
                "output_seconds": job.seconds,
                "input_image_count": pictures,
                "input_audio_seconds": 0,
            });
            json!({ "content": { "url": link(&recorded, &job, LINK_SECONDS) }, "usage": usage })
        }
        Phase::Failed { code, message } => {
            json!({ "error": { "code": code, "message": message } })
        }
    };
    if let (Value::Object(task), Value::Object(ending)) = (&mut task, ending) {
        task.extend(ending);
    }
    let reply = json!({ "task": task }).to_string();
    recorded.play(Script::json(200, None, reply), None)
}

/// A job that waits is stopped, one that runs goes on, and one that has ended is forgotten.
fn remove(recorded: RecordedRequest, id: &str) -> VendorResponse {
    let Some(job) = mine(&recorded, id) else {
        return refuse(recorded, "2013", "invalid params, task not exist");
    };
    let action = match job.phase() {
        Phase::Waiting if recorded.state.jobs.cancel(id, false) == Some(true) => "cancelled",
        Phase::Waiting | Phase::Running => {
            return refuse(recorded, "2013", "invalid params, task is running");
        }
        Phase::Succeeded | Phase::Failed { .. } | Phase::Cancelled => {
            recorded.state.jobs.forget(id);
            "deleted"
        }
    };
    let status = match action {
        "cancelled" => "cancelled",
        _ => state(&job),
    };
    let reply = json!({ "task_id": id, "action": action, "status": status }).to_string();
    recorded.play(Script::json(200, None, reply), None)
}

fn state(job: &VideoJob) -> &'static str {
    match job.phase() {
        Phase::Waiting => "queued",
        Phase::Running if job.is_odd => "polishing",
        Phase::Running => "running",
        Phase::Succeeded => "succeeded",
        Phase::Failed { .. } => "failed",
        Phase::Cancelled => "cancelled",
    }
}

fn mine(recorded: &RecordedRequest, id: &str) -> Option<VideoJob> {
    let job = recorded.state.jobs.polled(id)?;
    is_mine(recorded, &job, VENDOR).then_some(job)
}

/// The status and the type go by the number.
fn refuse(recorded: RecordedRequest, code: &str, text: &str) -> VendorResponse {
    let (status, kind) = match code {
        "1004" | "2049" => (401, "authorized_error"),
        "1008" => (402, "insufficient_balance_error"),
        "1026" | "1027" => (422, "unprocessable_entity_error"),
        "1002" | "1039" | "2045" => (429, "rate_limit_error"),
        "1000" | "1001" | "1024" | "1033" => (500, "server_error"),
        _ => (400, "bad_request_error"),
    };
    let reply = json!({
        "type": "error",
        "error": {
            "type": kind,
            "message": format!("{text} ({code})"),
            "http_code": status.to_string(),
        },
        "request_id": recorded.id(""),
    });
    recorded.play(Script::json(status, None, reply.to_string()), None)
}
