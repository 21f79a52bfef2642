//! Ark: Seedance's video jobs, at `/contents/generations/tasks` behind the base.
//!
//! The vendor keeps no name of ours and knows no idempotency: a submission without an answer stays
//! unknown. A DELETE stops a job that waits, but of one that ended it deletes the record, and says the
//! same both times: whether it was stopped is read from the next poll.

use serde_json::{Map, Value, json};

use super::{
    Call, Cancelled, Complaint, Counted, File, Found, Handle, MediaForm, Naming, Polled, Protocol,
    Said, Submitted, path_part, seconds_at, text_at, unclear,
};
use crate::video::plan::Sent;

/// The protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    format: "ark_video",
    submit,
    read_submit,
    poll,
    read_poll,
    read_file,
    cancel: Some(cancel),
    read_cancel,
    lookup: None,
    read_lookup,
    media: MediaForm::DataUri,
};

const TASKS: &str = "/contents/generations/tasks";

fn submit(sent: &Sent, naming: &Naming<'_>) -> Call {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(naming.model));
    let rest = sent.body.iter().filter(|(name, _)| *name != "model");
    body.extend(rest.map(|(name, value)| (name.clone(), value.clone())));
    Call::post(TASKS, &body)
}

fn read_submit(_sent: &Sent, said: &Said<'_>) -> Submitted {
    let answer = said.json();
    let has_code = text_at(&answer, "/error/code").is_some();
    match said.status {
        200..300 => match text_at(&answer, "/id").filter(|id| !id.is_empty()) {
            Some(id) => Submitted::Accepted { id },
            None => Submitted::Unknown(complaint(said, &answer)),
        },
        429 | 503 | 529 => Submitted::Full {
            retry_after: said.retry_after,
        },
        // A model that is not there or not opened is the account's affair too.
        401..=404 => Submitted::Credential(complaint(said, &answer)),
        400 | 413 | 415 | 422 => Submitted::Refused(complaint(said, &answer)),
        // A timeout of a middlebox says nothing about what is behind it.
        408 => Submitted::Unknown(complaint(said, &answer)),
        405..500 if has_code => Submitted::Refused(complaint(said, &answer)),
        _ => Submitted::Unknown(complaint(said, &answer)),
    }
}

fn poll(handle: &Handle) -> Call {
    Call::get(task(handle))
}

fn read_poll(_handle: &Handle, said: &Said<'_>) -> Polled {
    let answer = said.json();
    if !(200..300).contains(&said.status) {
        return unclear(said, &complaint(said, &answer).code);
    }
    let Some(status) = text_at(&answer, "/status") else {
        return unclear(said, "the answer names no status");
    };
    match status.to_ascii_lowercase().as_str() {
        "queued" | "pending" => running(true),
        "succeeded" => match file(&answer) {
            Some(link) => Polled::Done {
                file: File::Link(link),
                counted: Counted {
                    output_seconds: seconds_at(&answer, "/duration"),
                    ..Counted::default()
                },
            },
            None => unclear(said, "succeeded, and names no file"),
        },
        word @ ("failed" | "cancelled" | "canceled" | "expired") => {
            let code = text_at(&answer, "/error/code").unwrap_or_else(|| word.to_owned());
            let message = text_at(&answer, "/error/message");
            let message = message.unwrap_or_else(|| format!("the vendor ended the task: {word}"));
            Polled::Failed(Complaint::new(400, code, message))
        }
        // `running`, `processing`, and every word that nobody knows yet.
        _ => running(false),
    }
}

const fn running(queued: bool) -> Polled {
    Polled::Running {
        queued,
        progress: None,
    }
}

/// `content` is an object; some relays make a list of it.
fn file(answer: &Value) -> Option<String> {
    let places = ["/content/video_url", "/content/0/video_url"];
    let found = places.iter().find_map(|place| text_at(answer, place));
    found.filter(|link| !link.is_empty())
}

fn read_file(said: &Said<'_>) -> Polled {
    unclear(said, "this vendor names its file in the answer to a poll")
}

fn cancel(handle: &Handle) -> Call {
    Call::delete(task(handle))
}

fn read_cancel(_handle: &Handle, said: &Said<'_>) -> Cancelled {
    match said.status {
        // Nothing tells a job that is gone from one that was never there.
        404 | 408 => Cancelled::Unknown,
        400..500 => Cancelled::GoesOn,
        _ => Cancelled::Unknown,
    }
}

fn read_lookup(_said: &Said<'_>) -> Found {
    Found::Unknown
}

fn task(handle: &Handle) -> String {
    format!("{TASKS}/{}", path_part(&handle.id))
}

fn complaint(said: &Said<'_>, answer: &Value) -> Complaint {
    let code = text_at(answer, "/error/code").unwrap_or_else(|| format!("http_{}", said.status));
    let message = text_at(answer, "/error/message");
    let message = message.unwrap_or_else(|| "the vendor says no more".to_owned());
    Complaint::new(said.status, code, message)
}
