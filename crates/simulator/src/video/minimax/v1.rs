//! The first interface: `POST /v1/video_generation`, `GET /v1/query/video_generation?task_id=`,
//! `GET /v1/files/retrieve?file_id=`. Jobs cannot be stopped.

use http::Method;
use serde_json::{Map, Value, json};

use super::{VENDOR, hand_over, is_media, is_mine, link, new_id, note, number, query_param};
use crate::headers::last_four;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};
use crate::video_jobs::JobDirectives;
use crate::video_jobs::{NewJob, Phase, VideoJob};

const CREATE: &str = "/v1/video_generation";
const QUERY: &str = "/v1/query/video_generation";
const FILE: &str = "/v1/files/retrieve";

/// The models of this interface.
const USUAL: &str = "MiniMax-Hailuo-2.3";
const FAST: &str = "MiniMax-Hailuo-2.3-Fast";
const OLDEST: &str = "MiniMax-Hailuo-02";
const MAX_PROMPT: usize = 2_000;
/// What is made where nothing is asked for.
const DEFAULT_DURATION: u64 = 6;
const DEFAULT_RESOLUTION: &str = "768P";
/// Seconds that a link lives.
const LINK_SECONDS: u64 = 3_600;
/// What stands before a job's digits in its file's.
const FILE_MARK: char = '2';

/// Why something is refused: the number and the text.
type Refused = (&'static str, String);

pub(super) fn owns(path: &str) -> bool {
    [CREATE, QUERY, FILE].contains(&path)
}

pub(super) async fn serve(recorded: RecordedRequest) -> VendorResult {
    if recorded.key.is_empty() {
        let text = "login fail: Please carry the API secret key in the 'Authorization' field";
        return Ok(refuse(recorded, "1004", text));
    }
    if !recorded.state.accepts(&recorded.key) {
        return Ok(refuse(recorded, "2049", "invalid api key"));
    }
    let path = recorded.parts.uri.path().to_owned();
    match (recorded.parts.method.clone(), path.as_str()) {
        (Method::POST, CREATE) => create(recorded).await,
        (Method::GET, QUERY) => Ok(query(recorded)),
        (Method::GET, FILE) => Ok(file(recorded)),
        (_, _) => {
            let body = json!({ "error": "404 page not found" }).to_string();
            Ok(recorded.play(Script::json(404, None, body), None))
        }
    }
}

async fn create(recorded: RecordedRequest) -> VendorResult {
    let Some(body) = recorded.json_object() else {
        return Ok(refuse(recorded, "2013", "invalid params, body is not JSON"));
    };
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let directives = JobDirectives::read(text("prompt"));
    note(&recorded, text("model"), &directives);
    let seconds = match checked(&body) {
        Ok(seconds) => seconds,
        Err((code, text)) => return Ok(refuse(recorded, code, &text)),
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
        return Ok(refuse(recorded, "1002", "rate limit exceeded(RPM)"));
    }
    let new = NewJob {
        id: new_id(&recorded),
        vendor: VENDOR,
        model: text("model"),
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
    let reply = json!({ "task_id": job.id, "base_resp": well() });
    hand_over(
        recorded,
        &directives,
        Script::json(200, None, reply.to_string()),
    )
    .await
}

/// The seconds that are made, with the vendor's defaults, or why it is not taken.
fn checked(body: &Map<String, Value>) -> Result<u64, Refused> {
    let wrong = |what: &str| Err(("2013", format!("invalid params, {what}")));
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let Some(model @ (USUAL | FAST | OLDEST)) = text("model") else {
        return wrong("model");
    };
    let has_frame = match (body.get("first_frame_image"), text("first_frame_image")) {
        (None, _) => false,
        (Some(_), Some(frame)) if is_media(frame) => true,
        (Some(_), _) => return wrong("first_frame_image"),
    };
    if model == FAST && !has_frame {
        return wrong("first_frame_image is required");
    }
    match (body.get("prompt"), text("prompt")) {
        (None, _) if has_frame => {}
        (_, Some(prompt)) if prompt.chars().count() <= MAX_PROMPT => {
            if prompt.is_empty() && !has_frame {
                return wrong("prompt is empty");
            }
        }
        (_, _) => return wrong("prompt"),
    }
    let duration = match body.get("duration") {
        None => DEFAULT_DURATION,
        Some(value) => value.as_u64().unwrap_or_default(),
    };
    if ![6, 10].contains(&duration) {
        return wrong("duration");
    }
    let resolution = match body.get("resolution") {
        None => DEFAULT_RESOLUTION,
        Some(value) => value.as_str().unwrap_or_default(),
    };
    match resolution {
        "768P" => {}
        "1080P" if duration == 6 => {}
        "512P" if model == OLDEST && has_frame => {}
        _ => return wrong("model does not support this resolution and duration"),
    }
    for name in ["prompt_optimizer", "fast_pretreatment", "aigc_watermark"] {
        if body.get(name).is_some_and(|value| !value.is_boolean()) {
            return wrong(name);
        }
    }
    Ok(duration)
}

fn query(recorded: RecordedRequest) -> VendorResponse {
    let Some(job) = query_param(&recorded, "task_id").and_then(|id| mine(&recorded, id)) else {
        return refuse(recorded, "2013", "invalid params, task_id not exist");
    };
    let mut base_resp = well();
    let status = match job.phase() {
        Phase::Waiting => "Queueing",
        Phase::Running if job.is_odd => "Polishing",
        Phase::Running => "Processing",
        Phase::Succeeded => "Success",
        Phase::Failed { code, message } => {
            base_resp = json!({ "status_code": number(&code), "status_msg": message });
            "Fail"
        }
        Phase::Cancelled => "Fail",
    };
    let is_done = status == "Success";
    let (width, height) = if is_done { frame(&job) } else { (0, 0) };
    let file = is_done.then(|| format!("{FILE_MARK}{}", job.id));
    let reply = json!({
        "task_id": job.id,
        "status": status,
        "file_id": file.unwrap_or_default(),
        "video_width": width,
        "video_height": height,
        "base_resp": base_resp,
    });
    recorded.play(Script::json(200, None, reply.to_string()), None)
}

fn file(recorded: RecordedRequest) -> VendorResponse {
    let id = query_param(&recorded, "file_id").and_then(|id| id.strip_prefix(FILE_MARK));
    let job = id.and_then(|id| mine(&recorded, id));
    let Some(job) = job.filter(|job| job.phase() == Phase::Succeeded) else {
        return refuse(recorded, "2013", "invalid params, file_id not exist");
    };
    let reply = json!({
        "file": {
            "file_id": number(&format!("{FILE_MARK}{}", job.id)),
            "bytes": 0,
            "created_at": job.created_micros / 1_000_000,
            "filename": "output_aigc.mp4",
            "purpose": "video_generation",
            "download_url": link(&recorded, &job, LINK_SECONDS),
        },
        "base_resp": well(),
    });
    recorded.play(Script::json(200, None, reply.to_string()), None)
}

fn mine(recorded: &RecordedRequest, id: &str) -> Option<VideoJob> {
    let job = recorded.state.jobs.polled(id)?;
    is_mine(recorded, &job, VENDOR).then_some(job)
}

fn frame(job: &VideoJob) -> (u64, u64) {
    match job.body.get("resolution").and_then(Value::as_str) {
        Some("1080P") => (1920, 1080),
        Some("512P") => (912, 512),
        Some(_) | None => (1366, 768),
    }
}

fn well() -> Value {
    json!({ "status_code": 0, "status_msg": "success" })
}

fn refuse(recorded: RecordedRequest, code: &str, text: &str) -> VendorResponse {
    let reply = json!({
        "task_id": "",
        "base_resp": { "status_code": number(code), "status_msg": text },
    });
    recorded.play(Script::json(200, None, reply.to_string()), None)
}
