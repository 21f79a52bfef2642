//! Ark's video jobs: Seedance at `/api/v3/contents/generations/tasks`.
//!
//! What is refused at once and what fails later follows the vendor's pages as they were read in
//! stored form; wordings of refusals are recalled: [unverified].

mod request;
mod view;

use http::Method;
use serde_json::{Value, json};

use crate::ark_error::ArkError;
use crate::clock;
use crate::fault_stage;
use crate::headers;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};
use crate::video_jobs::JobDirectives;
use crate::video_jobs::{NewJob, Phase, VideoJob};
use request::VideoRequest;

const TASKS: &str = "/api/v3/contents/generations/tasks";
const VENDOR: &str = "ark";
/// Jobs on one page of a list.
const DEFAULT_PAGE: usize = 10;
const MAX_PAGE: usize = 500;

pub(super) fn owns(path: &str) -> bool {
    path.strip_prefix(TASKS)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(super) async fn serve(recorded: RecordedRequest) -> VendorResult {
    if recorded.key.is_empty() || !recorded.state.accepts(&recorded.key) {
        return Ok(refuse(recorded, &ArkError::wrong_key()));
    }
    let path = recorded.parts.uri.path().to_owned();
    let id = path.strip_prefix(TASKS).unwrap_or_default();
    let id = id.strip_prefix('/').unwrap_or(id);
    match (recorded.parts.method.clone(), id) {
        (Method::POST, "") => submit(recorded).await,
        (Method::GET, "") => Ok(list(recorded)),
        (Method::GET, id) => Ok(poll(recorded, id)),
        (Method::DELETE, id) if !id.is_empty() => Ok(delete(recorded, id)),
        (_, _) => Ok(refuse(recorded, &ArkError::wrong_method())),
    }
}

async fn submit(mut recorded: RecordedRequest) -> VendorResult {
    let body: Value = serde_json::from_slice(&recorded.body).unwrap_or(Value::Null);
    let prompt = request::prompt(&body);
    let directives = JobDirectives::read(&prompt);
    let model = body.get("model").and_then(Value::as_str).unwrap_or("");
    let model = model.to_owned();
    recorded.note(|record| {
        record.marker.clone_from(&directives.marker);
        record.model.clone_from(&model);
    });
    let request = match VideoRequest::read(&body) {
        Ok(request) => request,
        Err(refusal) => return Ok(refuse(recorded, &refusal)),
    };
    if let Some(code) = &directives.refuse {
        return Ok(refuse(recorded, &ArkError::requested(code)));
    }
    let key = headers::last_four(&recorded.key);
    let state = &recorded.state;
    if state.jobs.is_full(&directives, &key, state.video) {
        return Ok(refuse(recorded, &ArkError::full()));
    }
    let new = NewJob {
        id: id(&recorded),
        vendor: VENDOR,
        model: &model,
        key,
        reference: None,
        seconds: request.seconds,
        fails: request.fails,
        body,
    };
    let job = recorded
        .state
        .jobs
        .take(new, &directives, recorded.state.video);
    fault_stage::early(&mut recorded, directives.fault()).await?;
    Ok(answer(recorded, &json!({ "id": job.id })))
}

/// `cgt-20260102101112-abcde`: the vendor writes the time; ours is a number of seconds.
fn id(recorded: &RecordedRequest) -> String {
    let unique = recorded.id("");
    let end = unique.get(..12).unwrap_or_default();
    format!("cgt-{}-{end}", clock::seconds(recorded.received_at_micros))
}

fn poll(recorded: RecordedRequest, id: &str) -> VendorResponse {
    let found = recorded.state.jobs.polled(id);
    match found.filter(|job| is_visible(&recorded, job)) {
        Some(job) => {
            let view = view::one(&job, &host(&recorded));
            answer(recorded, &view)
        }
        None => refuse(recorded, &ArkError::no_such_task(id)),
    }
}

fn delete(recorded: RecordedRequest, id: &str) -> VendorResponse {
    let jobs = recorded.state.jobs.kept();
    let found = jobs.into_iter().find(|job| job.id == id);
    let Some(job) = found.filter(|job| is_visible(&recorded, job)) else {
        return refuse(recorded, &ArkError::no_such_task(id));
    };
    match job.phase() {
        Phase::Waiting if recorded.state.jobs.cancel(id, false) == Some(true) => {}
        Phase::Succeeded | Phase::Failed { .. } => recorded.state.jobs.forget(id),
        Phase::Waiting | Phase::Running | Phase::Cancelled => {
            return refuse(recorded, &ArkError::cannot_cancel());
        }
    }
    answer(recorded, &json!({}))
}

/// `?page_num=1&page_size=10&filter.status=…&filter.task_ids=…&filter.model=…`, newest first.
fn list(recorded: RecordedRequest) -> VendorResponse {
    let query = recorded.parts.uri.query().unwrap_or("").to_owned();
    let pairs: Vec<(&str, &str)> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .collect();
    let one = |name: &str| {
        pairs
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    };
    let number = |name: &str, usual: usize| {
        one(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or(usual)
    };
    let size = number("page_size", DEFAULT_PAGE).clamp(1, MAX_PAGE);
    let page = number("page_num", 1).max(1);
    let ids: Vec<&str> = pairs
        .iter()
        .filter(|(name, _)| *name == "filter.task_ids")
        .flat_map(|(_, value)| value.split(','))
        .collect();
    let is_asked = |job: &VideoJob| {
        is_visible(&recorded, job)
            && one("filter.status").is_none_or(|word| word == view::word(job))
            && one("filter.model").is_none_or(|model| model == job.model)
            && (ids.is_empty() || ids.contains(&job.id.as_str()))
    };
    let mut jobs = recorded.state.jobs.kept();
    jobs.retain(is_asked);
    let from = page.saturating_sub(1).saturating_mul(size);
    let host = host(&recorded);
    let listed = jobs.iter().rev().skip(from).take(size);
    let items: Vec<Value> = listed.map(|job| view::one(job, &host)).collect();
    let total = jobs.len();
    answer(recorded, &json!({ "items": items, "total": total }))
}

/// Jobs of other vendors and of other accounts are not there.
fn is_visible(recorded: &RecordedRequest, job: &VideoJob) -> bool {
    job.vendor == VENDOR && job.key == headers::last_four(&recorded.key)
}

fn host(recorded: &RecordedRequest) -> String {
    let host = recorded.parts.headers.get(http::header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    host.unwrap_or("localhost").to_owned()
}

fn answer(recorded: RecordedRequest, body: &Value) -> VendorResponse {
    recorded.play(Script::json(200, None, body.to_string()), None)
}

fn refuse(recorded: RecordedRequest, refusal: &ArkError) -> VendorResponse {
    let id = recorded.id("0217");
    let script = Script::json(refusal.status, None, refusal.body(&id));
    recorded.play(script, None)
}
