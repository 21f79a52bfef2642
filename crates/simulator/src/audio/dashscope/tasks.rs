//! Recognition of files as tasks: `POST …/audio/asr/transcription`, then `GET /api/v1/tasks/{id}`, then
//! the file that the answer names. The vendor fetches what it is to hear when the task begins.

mod view;

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Dialect, VENDOR, is_enabled, refuse, request_id, upstream_error};
use crate::audio::answer;
use crate::audio::audio_sniff::{AudioInfo, Container};
use crate::audio::fake_transcript::Words;
use crate::audio::fetch::fetch;
use crate::audio::file_store;
use crate::audio_state::{
    AudioCall, AudioWork, Calls, FileStore, Kept, Known, Outcome, Task, Tasks,
};
use crate::clock;
use crate::dashscope_error::DashScopeError;
use crate::directives::Directives;
use crate::fault::{AudioFault, Fault};
use crate::fault_stage::{self, RuleScope};
use crate::headers::last_four;
use crate::models;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};

struct TaskRequest {
    model: String,
    addresses: Vec<String>,
    is_single: bool,
    language: Option<String>,
}

/// What the work on a task needs.
struct Work {
    id: String,
    number: u64,
    host: String,
    wait: Duration,
    request: TaskRequest,
    is_dead: bool,
    known: Arc<Known>,
    files: Arc<FileStore>,
    calls: Arc<Calls>,
}

const MODELS: [&str; 5] = [
    "paraformer-v2",
    "paraformer-v1",
    "paraformer-8k-v2",
    "fun-asr",
    "qwen3-asr-flash-filetrans",
];
/// The model that takes one address and not a list.
const SINGLE: &str = "-filetrans";
const MAX_FILES: usize = 100;
const MAX_FILE_BYTES: u64 = 2 * 1024 * 1024 * 1024;

pub(super) async fn submit(mut recorded: RecordedRequest) -> VendorResult {
    let body: Value = serde_json::from_slice(&recorded.body).unwrap_or(Value::Null);
    let model = body.get("model").and_then(Value::as_str);
    answer::note(&recorded, model.unwrap_or_default(), false);
    if !is_enabled(&recorded, "x-dashscope-async") {
        let text = "current user api does not support synchronous calls.";
        let refused = DashScopeError::new(403, "AccessDenied", text);
        return Ok(refuse(recorded, Dialect::Native, &refused));
    }
    let request = match TaskRequest::read(&body) {
        Ok(request) => request,
        Err(refused) => return Ok(refuse(recorded, Dialect::Native, &refused)),
    };
    let directives = Directives::default();
    let fault = fault_stage::select(&recorded, &directives, &request.model, RuleScope::Audio);
    if let Some(error) = fault_stage::before_answer(&mut recorded, fault, false).await? {
        let script = upstream_error(&recorded, error, Dialect::Native);
        return Ok(recorded.play_error(script));
    }
    let id = begin(&recorded, request, fault);
    let reply = json!({
        "output": { "task_id": id, "task_status": "PENDING" },
        "request_id": request_id(&recorded),
    });
    let script = answer::whole(reply.to_string(), 0, fault);
    Ok(recorded.play(script, None))
}

/// Takes a task and begins to work on it.
fn begin(recorded: &RecordedRequest, request: TaskRequest, fault: Option<Fault>) -> String {
    let audio = &recorded.state.audio;
    let id = recorded.uuid("task");
    let fault = match fault {
        Some(Fault::Audio(fault)) => Some(fault),
        Some(_) | None => None,
    };
    let wait = audio.settings.wait_millis;
    let run = match fault {
        Some(AudioFault::TaskSlow { millis }) => millis.into(),
        Some(_) | None => audio.settings.run_millis,
    };
    let created_micros = clock::now_micros();
    let begins_micros = created_micros.saturating_add(wait.saturating_mul(1_000));
    let ends_micros = begins_micros.saturating_add(run.saturating_mul(1_000));
    let is_stuck = fault == Some(AudioFault::TaskStuck);
    let task = Task {
        key: last_four(&recorded.key),
        is_single: request.is_single,
        created_micros,
        begins_micros,
        ends_micros: (!is_stuck).then_some(ends_micros),
        fault,
        results: None,
    };
    let mut call = AudioCall::new(recorded, VENDOR, AudioWork::Task, &request.model);
    call.task = Some(id.clone());
    audio.calls.add(call);
    audio.tasks.known.add(&id, task);
    audio.tasks.work(Work {
        id: id.clone(),
        number: recorded.number,
        host: file_store::host(&recorded.parts.headers),
        wait: Duration::from_millis(wait),
        request,
        is_dead: fault == Some(AudioFault::DeadTranscript),
        known: Arc::clone(&audio.tasks.known),
        files: Arc::clone(&audio.files),
        calls: Arc::clone(&audio.calls),
    });
    id
}

pub(super) fn poll(recorded: RecordedRequest, id: &str) -> VendorResponse {
    if super::stranger(&recorded) {
        return refuse(recorded, Dialect::Native, &DashScopeError::key());
    }
    let task = recorded.state.audio.tasks.known.find(id);
    // A task of another account is one that it does not know.
    let mut answer = match task.filter(|task| task.key == last_four(&recorded.key)) {
        Some(task) => view::task_view(id, &task),
        None => json!({ "output": { "task_id": id, "task_status": "UNKNOWN" } }),
    };
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("request_id".to_owned(), json!(request_id(&recorded)));
    }
    recorded.play(Script::json(200, None, answer.to_string()), None)
}

// === impl TaskRequest ===

impl TaskRequest {
    fn read(body: &Value) -> Result<Self, DashScopeError> {
        let model = body.get("model").and_then(Value::as_str);
        let model = model.unwrap_or_default();
        if !MODELS.contains(&model) && !models::is_known(model) {
            return Err(DashScopeError::model());
        }
        let single = body.pointer("/input/file_url").and_then(Value::as_str);
        let single = single.filter(|_| model.ends_with(SINGLE));
        let list = body.pointer("/input/file_urls").and_then(Value::as_array);
        let listed = list.into_iter().flatten().filter_map(Value::as_str);
        let addresses: Vec<String> = single
            .into_iter()
            .chain(listed)
            .map(str::to_owned)
            .collect();
        if !(1..=MAX_FILES).contains(&addresses.len()) {
            return Err(DashScopeError::invalid(
                "file_urls must have 1 to 100 items",
            ));
        }
        let is_address = |address: &String| {
            let schemes = ["http://", "https://", "oss://"];
            schemes.iter().any(|scheme| address.starts_with(scheme))
        };
        if !addresses.iter().all(is_address) {
            return Err(DashScopeError::new(
                400,
                "InvalidURL",
                "The url is not valid.",
            ));
        }
        let hint = body.pointer("/parameters/language_hints/0");
        let language = hint.or_else(|| body.pointer("/parameters/language"));
        let language = language.and_then(Value::as_str);
        Ok(Self {
            model: model.to_owned(),
            addresses,
            is_single: single.is_some(),
            language: language.map(str::to_owned),
        })
    }
}

// === impl Tasks ===

impl Tasks {
    fn work(&self, work: Work) {
        let mut all = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        // What has ended is let go.
        while all.try_join_next().is_some() {}
        all.spawn(work.done());
    }
}

// === impl Work ===

impl Work {
    async fn done(self) {
        fault_stage::pause(self.wait).await;
        let mut results = Vec::new();
        for (index, address) in (0u64..).zip(&self.request.addresses) {
            let audio = match fetch(address).await {
                Ok(audio) => self.write(index, address, &audio),
                Err(_) => Err((
                    "InvalidFile.DownloadFailed",
                    "The audio file cannot be downloaded.",
                )),
            };
            results.push(Outcome {
                address: address.clone(),
                audio,
            });
        }
        let mut inner = self.known.inner();
        if let Some(task) = inner.by_id.get_mut(&self.id) {
            task.results = Some(results);
        }
    }

    fn write(
        &self,
        index: u64,
        address: &str,
        audio: &AudioInfo,
    ) -> Result<(String, u64), (&'static str, &'static str)> {
        if audio.container == Container::Unknown {
            return Err((
                "InvalidFile.FormatUnsupported",
                "The format is not supported.",
            ));
        }
        if audio.bytes > MAX_FILE_BYTES {
            return Err(("InvalidFile.TooLarge", "The file is larger than 2 GB."));
        }
        let words = Words::for_audio(&audio.sha256, self.request.language.as_deref());
        let file = format!("{}-{index}", self.id);
        if !self.is_dead {
            let transcript = view::transcript(address, audio, &words);
            self.files
                .keep(&file, Kept::Transcript(transcript.to_string()));
        }
        self.calls.note(self.number, |call| {
            *call = call.clone().with_audio(audio, &words);
        });
        let link = file_store::link(&self.host, &file, "json");
        Ok((link, audio.millis))
    }
}
