//! A job as Ark tells of it.

use serde_json::{Map, Value, json};

use crate::clock;
use crate::video_jobs::{Phase, VideoJob};

/// How long a link is good.
const LINK_SECONDS: u64 = 86_400;
const EXPIRES_AFTER: u64 = 172_800;
const FRAMES_A_SECOND: u64 = 24;

/// The state of a job in the vendor's word.
pub(super) fn word(job: &VideoJob) -> &'static str {
    match job.phase() {
        Phase::Waiting => "queued",
        Phase::Running if job.is_odd => "polishing",
        Phase::Running => "running",
        Phase::Succeeded => "succeeded",
        Phase::Failed { .. } => "failed",
        Phase::Cancelled => "cancelled",
    }
}

/// The answer to a poll.
pub(super) fn one(job: &VideoJob, host: &str) -> Value {
    let phase = job.phase();
    let created = clock::seconds(job.created_micros);
    let ended = job.cancelled_micros.or(job.ends_micros);
    let updated = match phase {
        Phase::Waiting => created,
        Phase::Running => clock::seconds(job.begins_micros),
        Phase::Succeeded | Phase::Failed { .. } | Phase::Cancelled => {
            ended.map_or(created, clock::seconds)
        }
    };
    let mut view = Map::new();
    let mut put = |name: &str, value: Value| view.insert(name.to_owned(), value);
    put("id", json!(job.id));
    put("model", json!(job.model));
    put("status", json!(word(job)));
    put("error", Value::Null);
    put("created_at", json!(created));
    put("updated_at", json!(updated));
    put("service_tier", json!("default"));
    put("execution_expires_after", json!(EXPIRES_AFTER));
    put("draft", json!(false));
    put("priority", json!(0));
    match phase {
        Phase::Failed { code, message } => {
            put("error", json!({ "code": code, "message": message }));
        }
        Phase::Succeeded => {
            for (name, value) in finished(job, host, updated) {
                put(name, value);
            }
        }
        Phase::Waiting | Phase::Running | Phase::Cancelled => {}
    }
    Value::Object(view)
}

fn finished(job: &VideoJob, host: &str, ended: u64) -> Vec<(&'static str, Value)> {
    let requested = |name: &str, usual: Value| {
        let given = job.body.get(name).filter(|value| !value.is_null());
        given.cloned().unwrap_or(usual)
    };
    let resolution = requested("resolution", json!("720p"));
    let tokens = tokens(resolution.as_str().unwrap_or_default(), job.seconds);
    // The vendor's own links carry other parameters; these are what the simulator's files take.
    let expires = ended.saturating_add(LINK_SECONDS);
    let link = |end: &str| {
        format!(
            "http://{host}/_media/{}.{end}?Expires={expires}&Signature=x",
            job.id
        )
    };
    let mut content = json!({ "video_url": link("mp4") });
    if requested("return_last_frame", json!(false)) == json!(true)
        && let Some(fields) = content.as_object_mut()
    {
        fields.insert("last_frame_url".to_owned(), json!(link("png")));
    }
    // An `adaptive` task says which shape came of it.
    let ratio = requested("ratio", json!("adaptive"));
    let ratio = if ratio == json!("adaptive") {
        json!("16:9")
    } else {
        ratio
    };
    vec![
        ("content", content),
        (
            "usage",
            json!({ "completion_tokens": tokens, "total_tokens": tokens,
                    "tool_usage": { "web_search": 0 } }),
        ),
        ("seed", json!(1234)),
        ("resolution", resolution),
        ("ratio", ratio),
        ("duration", json!(job.seconds)),
        ("framespersecond", json!(FRAMES_A_SECOND)),
        ("generate_audio", requested("generate_audio", json!(true))),
    ]
}

/// Seconds times pixels times frames a second, by the thousand. Clips that go in are not fetched, so
/// they are not counted.
fn tokens(resolution: &str, seconds: u64) -> u64 {
    let pixels: u64 = match resolution {
        "480p" => 864 * 496,
        "1080p" => 1920 * 1080,
        "4k" => 3840 * 2160,
        _ => 1280 * 720,
    };
    let all = pixels
        .saturating_mul(FRAMES_A_SECOND)
        .saturating_mul(seconds);
    all / 1024
}
