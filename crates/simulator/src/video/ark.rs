//! Ark's video jobs: Seedance at `/api/v3/contents/generations/tasks`.
//!
//! What is refused at once and what fails later follows the vendor's pages as they were read in
//! stored form; wordings of refusals are recalled: [unverified].

mod asked;
mod refusal;
mod show;

use http::{Method, Response};
use serde_json::{Value, json};

use super::jobs::NewJob;
use super::wishes::JobWishes;
use super::{Phase, VideoJob};
use crate::clock;
use crate::headers;
use crate::played::{Cut, MAX_HANG, Played};
use crate::script::Script;
use crate::server::Read;
use asked::Asked;
use refusal::Refusal;

const TASKS: &str = "/api/v3/contents/generations/tasks";
const VENDOR: &str = "ark";
/// Jobs on one page of a list.
const DEFAULT_PAGE: usize = 10;
const MAX_PAGE: usize = 500;

pub(super) fn owns(path: &str) -> bool {
    path.strip_prefix(TASKS)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(super) async fn serve(read: Read) -> Result<Response<Played>, Cut> {
    if read.key.is_empty() || !read.house.accepts(&read.key) {
        return Ok(refuse(read, &Refusal::wrong_key()));
    }
    let path = read.parts.uri.path().to_owned();
    let id = path.strip_prefix(TASKS).unwrap_or_default();
    let id = id.strip_prefix('/').unwrap_or(id);
    match (read.parts.method.clone(), id) {
        (Method::POST, "") => submit(read).await,
        (Method::GET, "") => Ok(list(read)),
        (Method::GET, id) => Ok(poll(read, id)),
        (Method::DELETE, id) if !id.is_empty() => Ok(delete(read, id)),
        (_, _) => Ok(refuse(read, &Refusal::wrong_method())),
    }
}

async fn submit(mut read: Read) -> Result<Response<Played>, Cut> {
    let body: Value = serde_json::from_slice(&read.body).unwrap_or(Value::Null);
    let prompt = asked::prompt(&body);
    let wishes = JobWishes::read(&prompt);
    let model = body.get("model").and_then(Value::as_str).unwrap_or("");
    let model = model.to_owned();
    read.watch.entry().note(|served| {
        served.marker.clone_from(&wishes.marker);
        served.model.clone_from(&model);
    });
    let asked = match Asked::read(&body) {
        Ok(asked) => asked,
        Err(refusal) => return Ok(refuse(read, &refusal)),
    };
    if let Some(code) = &wishes.refuse {
        return Ok(refuse(read, &Refusal::wished(code)));
    }
    let key = headers::last_four(&read.key);
    let house = &read.house;
    if house.jobs.is_full(&wishes, &key, house.video) {
        return Ok(refuse(read, &Refusal::full()));
    }
    let new = NewJob {
        id: id(&read),
        vendor: VENDOR,
        model: &model,
        key,
        reference: None,
        seconds: asked.seconds,
        fails: asked.fails,
        body,
    };
    let job = read.house.jobs.take(new, &wishes, read.house.video);
    if wishes.is_silent {
        tokio::time::sleep(MAX_HANG).await;
    }
    if wishes.is_lost || wishes.is_silent {
        read.watch.end(false);
        return Err(Cut);
    }
    Ok(answer(read, &json!({ "id": job.id })))
}

/// `cgt-20260102101112-abcde`: the vendor writes the time; ours is a number of seconds.
fn id(read: &Read) -> String {
    let unique = read.house.id("", read.number);
    let end = unique.get(..12).unwrap_or_default();
    format!("cgt-{}-{end}", clock::seconds(read.received_at_micros))
}

fn poll(read: Read, id: &str) -> Response<Played> {
    let found = read.house.jobs.polled(id);
    match found.filter(|job| is_visible(&read, job)) {
        Some(job) => {
            let shown = show::one(&job, &host(&read));
            answer(read, &shown)
        }
        None => refuse(read, &Refusal::no_such_task(id)),
    }
}

fn delete(read: Read, id: &str) -> Response<Played> {
    let jobs = read.house.jobs.kept();
    let found = jobs.into_iter().find(|job| job.id == id);
    let Some(job) = found.filter(|job| is_visible(&read, job)) else {
        return refuse(read, &Refusal::no_such_task(id));
    };
    match job.phase() {
        Phase::Waiting if read.house.jobs.cancel(id, false) == Some(true) => {}
        Phase::Succeeded | Phase::Failed { .. } => read.house.jobs.forget(id),
        Phase::Waiting | Phase::Running | Phase::Cancelled => {
            return refuse(read, &Refusal::cannot_cancel());
        }
    }
    answer(read, &json!({}))
}

/// `?page_num=1&page_size=10&filter.status=…&filter.task_ids=…&filter.model=…`, newest first.
fn list(read: Read) -> Response<Played> {
    let query = read.parts.uri.query().unwrap_or("").to_owned();
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
        is_visible(&read, job)
            && one("filter.status").is_none_or(|word| word == show::word(job))
            && one("filter.model").is_none_or(|model| model == job.model)
            && (ids.is_empty() || ids.contains(&job.id.as_str()))
    };
    let mut jobs = read.house.jobs.kept();
    jobs.retain(is_asked);
    let from = page.saturating_sub(1).saturating_mul(size);
    let host = host(&read);
    let shown = jobs.iter().rev().skip(from).take(size);
    let items: Vec<Value> = shown.map(|job| show::one(job, &host)).collect();
    let total = jobs.len();
    answer(read, &json!({ "items": items, "total": total }))
}

/// Jobs of other vendors and of other accounts are not there.
fn is_visible(read: &Read, job: &VideoJob) -> bool {
    job.vendor == VENDOR && job.key == headers::last_four(&read.key)
}

fn host(read: &Read) -> String {
    let host = read.parts.headers.get(http::header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    host.unwrap_or("localhost").to_owned()
}

fn answer(read: Read, body: &Value) -> Response<Played> {
    read.play(Script::json(200, None, body.to_string()), None)
}

fn refuse(read: Read, refusal: &Refusal) -> Response<Played> {
    let id = read.house.id("0217", read.number);
    let script = Script::json(refusal.status, None, refusal.body(&id));
    read.play(script, None)
}
