//! A task and a transcript as the vendor tells of them.

use serde_json::{Value, json};

use crate::audio::audio_sniff::AudioInfo;
use crate::audio::fake_transcript::{TimedText, Words};
use crate::audio_state::{Outcome, Task};
use crate::clock;
use crate::fault::AudioFault;
use crate::video::written;

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Running,
    Odd,
    Succeeded,
    Failed,
}

impl State {
    fn of(task: &Task) -> Self {
        let now = clock::now_micros();
        if now < task.begins_micros {
            return Self::Pending;
        }
        let is_over = task.ends_micros.is_some_and(|ends| now >= ends);
        let Some(results) = task.results.as_ref().filter(|_| is_over) else {
            return match task.fault {
                Some(AudioFault::TaskOdd) => Self::Odd,
                Some(_) | None => Self::Running,
            };
        };
        let is_well = results.iter().any(|outcome| outcome.audio.is_ok());
        if is_well && task.fault != Some(AudioFault::TaskFails) {
            Self::Succeeded
        } else {
            Self::Failed
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Odd => "REVIEWING",
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
        }
    }
}

pub(super) fn task_view(id: &str, task: &Task) -> Value {
    let state = State::of(task);
    let mut output = json!({
        "task_id": id,
        "task_status": state.name(),
        "submit_time": written(task.created_micros),
    });
    let mut add = |name: &str, value: Value| {
        if let Some(fields) = output.as_object_mut() {
            fields.insert(name.to_owned(), value);
        }
    };
    if state != State::Pending {
        add("scheduled_time", json!(written(task.begins_micros)));
    }
    let results = task.results.as_deref().unwrap_or_default();
    match state {
        State::Pending | State::Running | State::Odd => return json!({ "output": output }),
        State::Failed => {
            let (code, message) = failure(results);
            add("code", json!(code));
            add("message", json!(message));
        }
        State::Succeeded => {
            if task.is_single {
                add("result", results.first().map_or(Value::Null, single));
            } else {
                add("results", results.iter().map(listed).collect());
            }
        }
    }
    add("end_time", json!(written(task.ends_micros.unwrap_or(0))));
    let good = results.iter().filter(|outcome| outcome.audio.is_ok());
    let good = match state {
        State::Succeeded => good.count(),
        State::Pending | State::Running | State::Odd | State::Failed => 0,
    };
    let bad = results.len().saturating_sub(good);
    let metrics = json!({ "TOTAL": results.len(), "SUCCEEDED": good, "FAILED": bad });
    add("task_metrics", metrics);
    if state == State::Failed {
        return json!({ "output": output });
    }
    let audio = results.iter().filter_map(|one| one.audio.as_ref().ok());
    let seconds: u64 = audio.map(|(_, millis)| millis.div_ceil(1_000)).sum();
    let unit = if task.is_single {
        "seconds"
    } else {
        "duration"
    };
    json!({ "output": output, "usage": { unit: seconds } })
}

/// The failure of the first file, or an internal error.
fn failure(results: &[Outcome]) -> (&'static str, &'static str) {
    let first = results
        .iter()
        .find_map(|outcome| outcome.audio.as_ref().err());
    let unknown = ("InternalError.Algo", "An internal error has occured.");
    first.copied().unwrap_or(unknown)
}

fn listed(outcome: &Outcome) -> Value {
    match &outcome.audio {
        Ok((url, _)) => json!({
            "file_url": outcome.address,
            "transcription_url": url,
            "subtask_status": "SUCCEEDED",
        }),
        Err((code, message)) => json!({
            "file_url": outcome.address,
            "code": code,
            "message": message,
            "subtask_status": "FAILED",
        }),
    }
}

fn single(outcome: &Outcome) -> Value {
    match &outcome.audio {
        Ok((url, _)) => json!({ "transcription_url": url }),
        Err(_) => Value::Null,
    }
}

/// The file that a task's answer names.
pub(super) fn transcript(address: &str, audio: &AudioInfo, words: &Words) -> Value {
    let sentence = |(id, stretch): (u64, &TimedText)| {
        json!({
            "sentence_id": id,
            "begin_time": stretch.begin_millis,
            "end_time": stretch.end_millis,
            "language": words.language.code,
            "text": stretch.text,
        })
    };
    let sentences = words.sentences(audio.millis);
    let sentences: Vec<Value> = (1u64..).zip(&sentences).map(sentence).collect();
    json!({
        "file_url": address,
        "properties": {
            "channels": [0],
            "original_duration_in_milliseconds": audio.millis,
        },
        "transcripts": [{
            "channel_id": 0,
            "content_duration_in_milliseconds": audio.millis,
            "text": words.text(),
            "sentences": sentences,
        }],
    })
}
