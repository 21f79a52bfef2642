//! Kling's video jobs, in both of its designs. The older one: `/v1/videos/text2video`, `image2video` and
//! `omni-video`, with the model in the body, a job asked for at the path that took it. The newer one:
//! `/text-to-video/{model}` and `/image-to-video/{model}`, jobs at `/tasks`. OrderedJson from the vendor's
//! documentation as it stood in September 2026; what rests on others' clients is `[unverified]`.

mod auth;
mod error;
mod v1;
mod v2;
mod validate;

use http::Method;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use self::auth::Credential;
use self::error::KlingError;
use crate::fault_stage;
use crate::headers::last_four;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};
use crate::video_jobs::JobDirectives;
use crate::video_jobs::{Jobs, NewJob, VideoJob};

/// The name under which its jobs are kept.
const VENDOR: &str = "kling";
/// How long a link to a file counts: the vendor keeps files for thirty days.
const LINK_SECONDS: u64 = 30 * 86_400;

/// Where a job came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KlingEndpoint {
    OlderText,
    OlderImage,
    Omni,
    NewerText,
    NewerImage,
}

/// What a path asks for.
enum Place<'a> {
    /// A path of the older design, and what stands behind it.
    Older(KlingEndpoint, Option<&'a str>),
    /// A path of the newer design with a model.
    Newer(KlingEndpoint, &'a str),
    Tasks,
}

/// A request that can be taken as a job.
struct Checked<'a> {
    model: &'a str,
    prompt: String,
    reference: Option<String>,
    seconds: u64,
    fails: Option<(String, String)>,
}

pub(super) fn owns(path: &str) -> bool {
    place(path).is_some()
}

pub(super) async fn serve(mut recorded: RecordedRequest) -> VendorResult {
    let path = recorded.parts.uri.path().to_owned();
    let Some(place) = place(&path) else {
        return Ok(refuse(recorded, &KlingError::path()));
    };
    let is_newer = matches!(place, Place::Newer(..) | Place::Tasks);
    let credential = Credential::read(
        &recorded.key,
        &recorded.state.keys,
        recorded.received_at_micros,
    );
    match credential {
        Ok(Credential::ApiKey) => {}
        Ok(Credential::Token { .. }) if is_newer => {
            return Ok(refuse(recorded, &KlingError::token_here()));
        }
        Ok(Credential::Token { access_key }) => recorded.keyed(&access_key),
        Err(wrong) => return Ok(refuse(recorded, &wrong)),
    }
    let method = recorded.parts.method.clone();
    match (place, method) {
        (Place::Older(endpoint, None), Method::POST) => submit(recorded, endpoint, None).await,
        (Place::Newer(endpoint, model), Method::POST) => {
            submit(recorded, endpoint, Some(model)).await
        }
        (Place::Older(endpoint, id), Method::GET) => Ok(v1::ask(recorded, endpoint, id)),
        (Place::Tasks, Method::GET) => Ok(v2::ask(recorded)),
        (Place::Older(..) | Place::Newer(..) | Place::Tasks, _) => {
            Ok(refuse(recorded, &KlingError::path()))
        }
    }
}

fn place(path: &str) -> Option<Place<'_>> {
    if path == "/tasks" {
        return Some(Place::Tasks);
    }
    let newer = [
        ("/text-to-video/", KlingEndpoint::NewerText),
        ("/image-to-video/", KlingEndpoint::NewerImage),
    ];
    for (prefix, endpoint) in newer {
        if let Some(model) = path.strip_prefix(prefix) {
            return Some(Place::Newer(endpoint, model));
        }
    }
    let rest = path.strip_prefix("/v1/videos/")?;
    let (word, id) = match rest.split_once('/') {
        Some((word, id)) => (word, Some(id)),
        None => (rest, None),
    };
    let endpoints = [
        KlingEndpoint::OlderText,
        KlingEndpoint::OlderImage,
        KlingEndpoint::Omni,
    ];
    let endpoint = endpoints
        .into_iter()
        .find(|endpoint| endpoint.as_str() == word)?;
    Some(Place::Older(endpoint, id))
}

/// Takes a job, or says why not.
async fn submit(
    mut recorded: RecordedRequest,
    endpoint: KlingEndpoint,
    model: Option<&str>,
) -> VendorResult {
    let body = match serde_json::from_slice(&recorded.body) {
        Ok(Value::Object(body)) => body,
        Ok(_) | Err(_) => {
            return Ok(refuse(
                recorded,
                &KlingError::parameter("invalid request body"),
            ));
        }
    };
    let checked = match model {
        None => validate::older(endpoint, &body),
        Some(model) => validate::newer(endpoint, model, &body),
    };
    let checked = match checked {
        Ok(checked) => checked,
        Err(wrong) => return Ok(refuse(recorded, &wrong)),
    };
    let directives = JobDirectives::read(&checked.prompt);
    recorded.note(|record| {
        record.marker.clone_from(&directives.marker);
        checked.model.clone_into(&mut record.model);
    });
    let key = last_four(&recorded.key);
    if let Some(wrong) = unwilling(&recorded.state.jobs, &recorded, &checked, &directives, &key) {
        return Ok(refuse(recorded, &wrong));
    }
    let job = recorded.state.jobs.take(
        NewJob {
            id: id(&recorded, endpoint),
            vendor: VENDOR,
            model: checked.model,
            key,
            reference: checked.reference,
            body: Value::Object(body.clone()),
            seconds: checked.seconds,
            fails: checked.fails,
        },
        &directives,
        recorded.state.video,
    );
    fault_stage::early(&mut recorded, directives.fault()).await?;
    let answer = match endpoint {
        KlingEndpoint::OlderText | KlingEndpoint::OlderImage | KlingEndpoint::Omni => {
            v1::taken(&job)
        }
        KlingEndpoint::NewerText | KlingEndpoint::NewerImage => v2::taken(&job),
    };
    Ok(answer_with(recorded, answer))
}

/// Why a good request is not taken: a directive, a full queue, or a name that is in use.
fn unwilling(
    jobs: &Jobs,
    recorded: &RecordedRequest,
    checked: &Checked<'_>,
    directives: &JobDirectives,
    key: &str,
) -> Option<KlingError> {
    if let Some(code) = &directives.refuse {
        return Some(KlingError::coded(code));
    }
    let reference = checked.reference.as_deref();
    let known = reference.and_then(|reference| jobs.referred(reference));
    if known.is_some_and(|job| job.vendor == VENDOR && job.key == key) {
        return Some(KlingError::parameter("external_task_id already exists"));
    }
    let is_full = jobs.is_full(directives, key, recorded.state.video);
    is_full.then(KlingError::full)
}

/// The vendor's ids are long numbers. The endpoint is in it: a job is known at the path that took it.
fn id(recorded: &RecordedRequest, endpoint: KlingEndpoint) -> String {
    let number = recorded.number % 1_000;
    format!(
        "{}{}{number:03}",
        endpoint.digits(),
        recorded.received_at_micros
    )
}

/// A job of this vendor's that the key may see.
fn seen(recorded: &RecordedRequest, job: Option<VideoJob>) -> Option<VideoJob> {
    let key = last_four(&recorded.key);
    job.filter(|job| job.vendor == VENDOR && job.key == key)
}

/// A value of the query.
fn query(recorded: &RecordedRequest, name: &str) -> Option<String> {
    let pairs = recorded.parts.uri.query()?.split('&');
    let mut values = pairs.filter_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let value = values.next()?;
    Some(percent_decode_str(value).decode_utf8_lossy().into_owned())
}

/// Where a finished file is.
fn link(recorded: &RecordedRequest, job: &VideoJob) -> String {
    let host = recorded.parts.headers.get(http::header::HOST);
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    let ends = (job.created_micros / 1_000_000).saturating_add(LINK_SECONDS);
    format!(
        "http://{host}/_media/{}.mp4?Expires={ends}&Signature=x",
        job.id
    )
}

fn millis(micros: u64) -> u64 {
    micros / 1_000
}

fn request_id(recorded: &RecordedRequest) -> String {
    recorded.id("")
}

/// What every good answer has around its data.
fn answer_with(recorded: RecordedRequest, data: Value) -> VendorResponse {
    let mut body = Map::new();
    body.insert("code".to_owned(), Value::from(0));
    body.insert("message".to_owned(), Value::from("SUCCEED"));
    body.insert("request_id".to_owned(), Value::from(request_id(&recorded)));
    body.insert("data".to_owned(), data);
    let script = Script::json(200, None, Value::Object(body).to_string());
    recorded.play(script, None)
}

fn refuse(recorded: RecordedRequest, wrong: &KlingError) -> VendorResponse {
    let body = wrong.body(&request_id(&recorded));
    let script = Script::json(wrong.status, None, body.to_string());
    recorded.play(script, None)
}

// === impl KlingEndpoint ===

impl KlingEndpoint {
    const fn as_str(self) -> &'static str {
        match self {
            Self::OlderText => "text2video",
            Self::OlderImage => "image2video",
            Self::Omni => "omni-video",
            Self::NewerText => "text-to-video",
            Self::NewerImage => "image-to-video",
        }
    }

    const fn digits(self) -> &'static str {
        match self {
            Self::OlderText => "81",
            Self::OlderImage => "82",
            Self::Omni => "83",
            Self::NewerText => "84",
            Self::NewerImage => "85",
        }
    }
}
