//! OpenAI's video jobs: `POST /v1/videos` (JSON or a form, as the vendor's SDK sends), `GET
//! /v1/videos`, `GET` and `DELETE /v1/videos/{id}`, `GET /v1/videos/{id}/content`.
//!
//! Models whose names begin with `sora-2` take what the vendor's did. Names that begin with `sim-`
//! stand for relays that speak this interface for models of their own: they take any size, any length
//! up to a minute, and fields that the vendor does not know.

mod form;
mod request;

use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};

use super::media;
use super::minimax::{hand_over, is_mine, note, query_param};
use crate::headers::last_four;
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};
use crate::video_jobs::JobDirectives;
use crate::video_jobs::{NewJob, Phase, VideoJob};

const VENDOR: &str = "openai";
const ALL: &str = "/v1/videos";
const ONE: &str = "/v1/videos/";
/// Jobs of one page, where nothing is asked for, and at most.
const PAGE: usize = 20;
const MAX_PAGE: usize = 100;
/// Seconds that a file is kept.
const KEPT_SECONDS: u64 = 86_400;
/// Seconds after which one may ask again.
const RETRY_SECONDS: u32 = 1;
const PICTURE: &str = "a picture";

pub(super) fn owns(path: &str) -> bool {
    path == ALL || path.starts_with(ONE)
}

pub(super) async fn serve(recorded: RecordedRequest) -> VendorResult {
    if recorded.key.is_empty() {
        return Ok(recorded.refuse(&Refusal::no_key()));
    }
    if !recorded.state.accepts(&recorded.key) {
        let refusal = Refusal::wrong_key(&last_four(&recorded.key));
        return Ok(recorded.refuse(&refusal));
    }
    let path = recorded.parts.uri.path().to_owned();
    let method = recorded.parts.method.clone();
    let Some(rest) = path.strip_prefix(ONE) else {
        return match method {
            Method::POST => create(recorded).await,
            Method::GET => Ok(list(recorded)),
            _ => wrong_method(recorded),
        };
    };
    let (id, behind) = match rest.split_once('/') {
        Some((id, behind)) => (id, Some(behind)),
        None => (rest, None),
    };
    let job = recorded.state.jobs.polled(id);
    let Some(job) = job.filter(|job| is_mine(&recorded, job, VENDOR)) else {
        let text = format!("Video with id '{id}' not found.");
        return Ok(refuse(recorded, 404, "invalid_request_error", None, &text));
    };
    match (method, behind) {
        (Method::GET, None) => Ok(answer(recorded, &job_view(&job))),
        (Method::DELETE, None) => Ok(remove(recorded, &job)),
        (Method::GET, Some("content")) => Ok(content(recorded, &job)),
        (_, _) => wrong_method(recorded),
    }
}

async fn create(recorded: RecordedRequest) -> VendorResult {
    let body = match form::body(&recorded) {
        Ok(body) => body,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    let prompt = body.get("prompt").and_then(Value::as_str);
    let directives = JobDirectives::read(prompt.unwrap_or_default());
    let named = body.get("model").and_then(Value::as_str);
    note(&recorded, named.unwrap_or_default(), &directives);
    let request = match request::read(&body) {
        Ok(request) => request,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    if let Some(code) = &directives.refuse {
        let text = "the prompt asked to be refused";
        let code = Some(code.as_str());
        return Ok(refuse(recorded, 400, "invalid_request_error", code, text));
    }
    let key = last_four(&recorded.key);
    if recorded
        .state
        .jobs
        .is_full(&directives, &key, recorded.state.video)
    {
        let text = "Rate limit reached for videos in organization org-simulator.";
        let code = Some("rate_limit_exceeded");
        return Ok(refuse(recorded, 429, "requests", code, text));
    }
    let new = NewJob {
        id: recorded.id("video_"),
        vendor: VENDOR,
        model: &request.model,
        key,
        reference: None,
        body: Value::Object(body),
        seconds: request.seconds,
        fails: None,
    };
    let job = recorded
        .state
        .jobs
        .take(new, &directives, recorded.state.video);
    let script = Script::json(200, None, job_view(&job).to_string());
    hand_over(recorded, &directives, script).await
}

/// A page of the caller's jobs, newest first unless asked otherwise.
fn list(recorded: RecordedRequest) -> VendorResponse {
    let mut jobs = recorded.state.jobs.all();
    jobs.retain(|job| is_mine(&recorded, job, VENDOR) && recorded.state.jobs.knows(&job.id));
    if query_param(&recorded, "order") != Some("asc") {
        jobs.reverse();
    }
    let after = query_param(&recorded, "after");
    let from = after.and_then(|id| jobs.iter().position(|job| job.id == id));
    let limit = query_param(&recorded, "limit").and_then(|text| text.parse().ok());
    let limit = limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let rest = jobs
        .iter()
        .skip(from.map_or(0, |place| place.saturating_add(1)));
    let has_more = rest.clone().count() > limit;
    let page: Vec<&VideoJob> = rest.take(limit).collect();
    let reply = json!({
        "object": "list",
        "data": page.iter().map(|job| job_view(job)).collect::<Vec<_>>(),
        "first_id": page.first().map(|job| &job.id),
        "last_id": page.last().map(|job| &job.id),
        "has_more": has_more,
    });
    answer(recorded, &reply)
}

fn remove(recorded: RecordedRequest, job: &VideoJob) -> VendorResponse {
    if matches!(job.phase(), Phase::Waiting | Phase::Running) {
        let text = "Video is still being processed and cannot be deleted.";
        return refuse(recorded, 400, "invalid_request_error", None, text);
    }
    recorded.state.jobs.forget(&job.id);
    let reply = json!({ "id": job.id, "object": "video.deleted", "deleted": true });
    answer(recorded, &reply)
}

fn content(recorded: RecordedRequest, job: &VideoJob) -> VendorResponse {
    if job.phase() != Phase::Succeeded {
        let text = "Video is not ready yet, use GET /v1/videos/{video_id} to check status.";
        return refuse(recorded, 404, "invalid_request_error", None, text);
    }
    let kind = match query_param(&recorded, "variant") {
        None | Some("video") => return media::serve_job(recorded, job),
        Some("thumbnail") => "image/webp",
        Some("spritesheet") => "image/jpeg",
        Some(_) => {
            let text = "Invalid value for 'variant'.";
            return refuse(recorded, 400, "invalid_request_error", None, text);
        }
    };
    let mut response = recorded.play(Script::json(200, None, PICTURE.to_owned()), None);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn job_view(job: &VideoJob) -> Value {
    let (status, progress) = match job.phase() {
        Phase::Waiting => ("queued", 0),
        Phase::Running if job.is_odd => ("polishing", job.progress()),
        Phase::Running => ("in_progress", job.progress()),
        Phase::Succeeded => ("completed", 100),
        Phase::Failed { .. } | Phase::Cancelled => ("failed", 0),
    };
    let seconds = |micros: u64| micros / 1_000_000;
    let error = match job.phase() {
        Phase::Failed { code, message } => json!({ "code": code, "message": message }),
        Phase::Waiting | Phase::Running | Phase::Succeeded | Phase::Cancelled => Value::Null,
    };
    let done = (status == "completed").then_some(job.ends_micros).flatten();
    let expires = done.map(|micros| seconds(micros).saturating_add(KEPT_SECONDS));
    let size = job.body.get("size").and_then(Value::as_str);
    json!({
        "id": job.id,
        "object": "video",
        "model": job.model,
        "status": status,
        "progress": progress,
        "created_at": seconds(job.created_micros),
        "completed_at": done.map(seconds),
        "expires_at": expires,
        "prompt": job.body.get("prompt"),
        "seconds": job.seconds.to_string(),
        "size": size.unwrap_or(request::DEFAULT_SIZE),
        "remixed_from_video_id": null,
        "error": error,
    })
}

fn answer(recorded: RecordedRequest, reply: &Value) -> VendorResponse {
    recorded.play(Script::json(200, None, reply.to_string()), None)
}

fn wrong_method(recorded: RecordedRequest) -> VendorResult {
    let refusal = Refusal::wrong_method(recorded.parts.method.as_str(), recorded.parts.uri.path());
    Ok(recorded.refuse(&refusal))
}

fn refuse(
    recorded: RecordedRequest,
    status: u16,
    kind: &str,
    code: Option<&str>,
    text: &str,
) -> VendorResponse {
    let reply = json!({
        "error": { "message": text, "type": kind, "param": null, "code": code },
    });
    let retry_after = (status == 429).then_some(RETRY_SECONDS);
    let script = Script::json(status, retry_after, reply.to_string());
    recorded.play(script, None)
}
