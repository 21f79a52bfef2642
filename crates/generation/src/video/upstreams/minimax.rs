//! `MiniMax`, two interfaces behind one credential. The first (door `v1`) answers errors with status
//! 200 and a number in `base_resp`, and tells a file's number that another question turns into its
//! address. The second (door `v2`) stands at the root of the host, answers errors by status, and
//! wraps a job into `task`, which some relays leave out.

use serde_json::Value;

use super::{
    Call, Cancelled, Complaint, Counted, File, Found, Handle, MediaForm, Naming, Polled, Protocol,
    Said, Submitted, path_part, seconds_at, text_at, unclear,
};
use crate::video::plan::Sent;

/// The protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    format: "minimax_video",
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

/// The door of the second interface; every other word is the first.
const SECOND: &str = "v2";

fn submit(sent: &Sent, naming: &Naming<'_>) -> Call {
    let mut body = sent.body.clone();
    body.insert("model".to_owned(), Value::from(naming.model));
    if sent.door == SECOND {
        Call::post("/v2/video_generation", &body).at_host()
    } else {
        Call::post("/video_generation", &body)
    }
}

fn read_submit(_sent: &Sent, said: &Said<'_>) -> Submitted {
    let body = said.json();
    let complaint = complaint(said, &body);
    let full = Submitted::Full {
        retry_after: said.retry_after,
    };
    match said.status {
        200..=299 => match base_code(&body) {
            Some(code) => refused_by_number(&code, complaint, full),
            None => taken(&body, complaint),
        },
        401..=403 => Submitted::Credential(complaint),
        429 | 503 | 529 => full,
        // The number says more than the status, where there is one.
        400 | 404 | 405 | 413 | 415 | 422 => match complaint.code.as_str() {
            "1002" | "1039" | "2045" => full,
            "1004" | "1008" | "2049" | "2056" | "2061" => Submitted::Credential(complaint),
            _ => Submitted::Refused(complaint),
        },
        _ => Submitted::Unknown(complaint),
    }
}

fn taken(body: &Value, complaint: Complaint) -> Submitted {
    let id = text_at(body, "/task_id").or_else(|| text_at(body, "/task/id"));
    match id.filter(|id| !id.is_empty() && id != "0") {
        Some(id) => Submitted::Accepted { id },
        None => Submitted::Unknown(complaint),
    }
}

/// An error under status 200. Numbers of faults inside the vendor are no sure refusals.
fn refused_by_number(code: &str, complaint: Complaint, full: Submitted) -> Submitted {
    match code {
        "1002" | "1039" | "2045" => full,
        "1004" | "1008" | "2049" | "2056" | "2061" => Submitted::Credential(complaint),
        "1026" | "1027" | "1042" | "2013" => Submitted::Refused(complaint),
        _ => Submitted::Unknown(complaint),
    }
}

fn poll(handle: &Handle) -> Call {
    let id = path_part(&handle.id);
    if handle.door == SECOND {
        Call::get(format!("/v2/query/video_generation/{id}")).at_host()
    } else {
        Call::get(format!("/query/video_generation?task_id={id}"))
    }
}

fn read_poll(handle: &Handle, said: &Said<'_>) -> Polled {
    let body = said.json();
    if !(200..300).contains(&said.status) {
        return unclear(said, &complaint(said, &body).message);
    }
    if handle.door == SECOND {
        second_state(said, &body)
    } else {
        first_state(said, &body)
    }
}

fn first_state(said: &Said<'_>, body: &Value) -> Polled {
    let why = complaint(said, body);
    let status = text_at(body, "/status").unwrap_or_default();
    match status.as_str() {
        // A verdict carries its reason in the place of an error.
        "Fail" | "Failed" => Polled::Failed(reason(why)),
        _ if base_code(body).is_some() => unclear(said, &why.message),
        "" => unclear(said, "no status"),
        "Preparing" | "Queueing" => running(true),
        "Success" => match text_at(body, "/file_id").filter(|id| !id.is_empty() && id != "0") {
            Some(id) => {
                let path = format!("/files/retrieve?file_id={}", path_part(&id));
                Polled::FileAt(Call::get(path))
            }
            None => unclear(said, "a finished job without a file"),
        },
        // `Processing`, and words that nobody knows.
        _ => running(false),
    }
}

fn second_state(said: &Said<'_>, body: &Value) -> Polled {
    let task = match body.get("task") {
        Some(task) if task.is_object() => task,
        Some(_) | None => body,
    };
    let Some(status) = text_at(task, "/status") else {
        return unclear(said, &complaint(said, body).message);
    };
    match status.as_str() {
        "queued" => running(true),
        "succeeded" => match text_at(task, "/content/url").filter(|url| !url.is_empty()) {
            Some(url) => Polled::Done {
                file: File::Link(url),
                counted: Counted {
                    output_seconds: seconds_at(task, "/usage/output_seconds"),
                    input_seconds: seconds_at(task, "/usage/input_seconds"),
                    images: seconds_at(task, "/usage/input_image_count"),
                },
            },
            None => unclear(said, "a finished job without a file"),
        },
        "failed" | "cancelled" | "expired" => {
            let code = text_at(task, "/error/code").filter(|code| !code.is_empty());
            let message = text_at(task, "/error/message").unwrap_or_default();
            let code = code.unwrap_or_else(|| status.clone());
            Polled::Failed(reason(Complaint::new(400, code, message)))
        }
        // `running`, and words that nobody knows.
        _ => running(false),
    }
}

const fn running(queued: bool) -> Polled {
    Polled::Running {
        queued,
        progress: None,
    }
}

fn read_file(said: &Said<'_>) -> Polled {
    let body = said.json();
    let url = text_at(&body, "/file/download_url").filter(|url| !url.is_empty());
    match url.filter(|_| (200..300).contains(&said.status)) {
        Some(url) => Polled::Done {
            file: File::Link(url),
            counted: Counted::default(),
        },
        None => unclear(said, &complaint(said, &body).message),
    }
}

/// The first interface cannot stop a job: it is asked how it does, and the answer is that it goes on.
fn cancel(handle: &Handle) -> Call {
    if handle.door == SECOND {
        let id = path_part(&handle.id);
        Call::delete(format!("/v2/video_generation/{id}")).at_host()
    } else {
        poll(handle)
    }
}

fn read_cancel(handle: &Handle, said: &Said<'_>) -> Cancelled {
    if handle.door != SECOND {
        return Cancelled::GoesOn;
    }
    let body = said.json();
    let action = text_at(&body, "/action").or_else(|| text_at(&body, "/task/action"));
    match (said.status, action.as_deref()) {
        (200..=299, Some("cancelled")) => Cancelled::Confirmed,
        (400..=499, _) if said.status != 408 && said.status != 429 => Cancelled::GoesOn,
        // `deleted` is said of a job that had ended, well or badly.
        (_, _) => Cancelled::Unknown,
    }
}

fn read_lookup(_said: &Said<'_>) -> Found {
    Found::Unknown
}

/// The number of an error in `base_resp`; none where all is well.
fn base_code(body: &Value) -> Option<String> {
    text_at(body, "/base_resp/status_code").filter(|code| code != "0")
}

/// What is wrong, in either interface's words. The second writes its number at the end of the text:
/// `… (2013)`.
fn complaint(said: &Said<'_>, body: &Value) -> Complaint {
    if let Some(code) = base_code(body) {
        let message = text_at(body, "/base_resp/status_msg").unwrap_or_default();
        let status = if said.status < 400 { 400 } else { said.status };
        return Complaint::new(status, code, message);
    }
    let message = text_at(body, "/error/message").unwrap_or_default();
    let kind = text_at(body, "/error/type").unwrap_or_default();
    let number = message.trim_end().strip_suffix(')');
    let number = number
        .and_then(|text| text.rsplit_once('('))
        .map(|(_, n)| n);
    let is_number = |n: &&str| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit());
    let code = number.filter(is_number).map_or(kind, str::to_owned);
    Complaint::new(said.status, code, message)
}

/// A verdict always has a code and a text.
fn reason(mut complaint: Complaint) -> Complaint {
    complaint.status = 400;
    if complaint.code.is_empty() {
        "task_failed".clone_into(&mut complaint.code);
    }
    if complaint.message.is_empty() {
        "the upstream gave no reason".clone_into(&mut complaint.message);
    }
    complaint
}
