//! Alibaba's `DashScope`: `POST /api/v1/services/aigc/video-generation/video-synthesis`, then
//! `GET /api/v1/tasks/{id}`. Refusals are flat (`code`, `message`, `request_id`); a job that fails is an
//! answer of 200; an id that it does not know is one too, with the state `UNKNOWN`.

mod models;
mod request;

use http::{Method, Response};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::format_description;

use super::jobs::{NewJob, Phase, VideoJob};
use super::media;
use super::wishes::JobWishes;
use crate::clock;
use crate::headers;
use crate::played::{Cut, MAX_HANG, Played};
use crate::script::Script;
use crate::server::Read;
use request::{Film, Refused};

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

pub(super) async fn serve(read: Read) -> Result<Response<Played>, Cut> {
    let method = read.parts.method.clone();
    let path = read.parts.uri.path().to_owned();
    if read.key.is_empty() || !read.house.accepts(&read.key) {
        return Ok(refuse(read, &Refused::key()));
    }
    if let Some(rest) = path.strip_prefix(TASKS) {
        return Ok(match (method, rest.strip_suffix("/cancel")) {
            (Method::POST, Some(id)) => cancel(read, id),
            (Method::GET, None) => poll(read, rest),
            (_, _) => refuse(read, &Refused::path()),
        });
    }
    if path != SUBMIT || method != Method::POST {
        return Ok(refuse(read, &Refused::path()));
    }
    submit(read).await
}

async fn submit(read: Read) -> Result<Response<Played>, Cut> {
    let asynchronous = read.parts.headers.get("x-dashscope-async");
    if asynchronous.is_none_or(|value| value.as_bytes() != b"enable") {
        return Ok(refuse(read, &Refused::synchronous()));
    }
    let Ok(body) = serde_json::from_slice::<Value>(&read.body) else {
        let refused = Refused::invalid("Required body invalid, please check the request body.");
        return Ok(refuse(read, &refused));
    };
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    let wishes = JobWishes::read(text("/input/prompt").unwrap_or_default());
    let model = text("/model").unwrap_or_default().to_owned();
    read.watch.entry().note(|served| {
        served.model.clone_from(&model);
        served.marker.clone_from(&wishes.marker);
    });
    let film = match Film::read(&body, &read.house) {
        Ok(film) => film,
        Err(refused) => return Ok(refuse(read, &refused)),
    };
    if let Some(code) = &wishes.refuse {
        return Ok(refuse(read, &Refused::wished(code)));
    }
    let key = headers::last_four(&read.key);
    if read.house.jobs.is_full(&wishes, &key, read.house.video) {
        return Ok(refuse(read, &Refused::full()));
    }
    let new = NewJob {
        id: uuid(&read, "task"),
        vendor: VENDOR,
        model: &model,
        key,
        reference: None,
        body: body.clone(),
        seconds: film.seconds,
        fails: film.fails,
    };
    let job = read.house.jobs.take(new, &wishes, read.house.video);
    if wishes.is_lost {
        return Err(Cut);
    }
    if wishes.is_silent {
        tokio::time::sleep(MAX_HANG).await;
        return Err(Cut);
    }
    let output = json!({ "task_id": job.id, "task_status": "PENDING" });
    let answer = json!({ "output": output, "request_id": uuid(&read, "request") });
    Ok(say(read, 200, &answer))
}

fn poll(read: Read, id: &str) -> Response<Played> {
    let key = headers::last_four(&read.key);
    let job = read.house.jobs.polled(id);
    // A job of another account, or of yesterday, is one that it does not know.
    let young = |job: &VideoJob| {
        clock::now_micros().saturating_sub(job.created_micros) < LIFE_MICROS && job.key == key
    };
    let mut answer = match job.filter(|job| job.vendor == VENDOR).filter(young) {
        Some(job) => told(&read, &job),
        None => json!({ "output": { "task_id": id, "task_status": "UNKNOWN" } }),
    };
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("request_id".to_owned(), json!(uuid(&read, "request")));
    }
    say(read, 200, &answer)
}

/// A job as the vendor tells of it.
fn told(read: &Read, job: &VideoJob) -> Value {
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
            add("video_url", json!(media::link(&read.parts.headers, job)));
            let usage = Film::read(&job.body, &read.house).map(|film| film.usage());
            json!({ "output": output, "usage": usage.unwrap_or(Value::Null) })
        }
    }
}

fn cancel(read: Read, id: &str) -> Response<Played> {
    let key = headers::last_four(&read.key);
    let mine = read.house.jobs.seen(id).filter(|job| job.key == key);
    let stopped = mine.and_then(|job| read.house.jobs.cancel(&job.id, false));
    if stopped == Some(true) {
        let answer = json!({ "request_id": uuid(&read, "request") });
        return say(read, 200, &answer);
    }
    refuse(read, &Refused::not_waiting())
}

fn refuse(read: Read, refused: &Refused) -> Response<Played> {
    let answer = json!({
        "code": refused.code,
        "message": refused.message,
        "request_id": uuid(&read, "request"),
    });
    say(read, refused.status, &answer)
}

fn say(read: Read, status: u16, answer: &Value) -> Response<Played> {
    read.play(Script::json(status, None, answer.to_string()), None)
}

/// An id as the vendor writes them.
fn uuid(read: &Read, kind: &str) -> String {
    read.house.uuid(kind, read.number)
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
