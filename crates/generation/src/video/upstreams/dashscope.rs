//! `DashScope`: one door for every model, jobs by their id, cancelling while they wait. It keeps no name
//! of ours, so a submission whose answer was lost cannot be found again.

use serde_json::{Value, json};

use super::{
    Call, Cancelled, Complaint, Counted, File, Found, Handle, MediaForm, Method, Naming, Polled,
    Protocol, Said, Submitted, path_part, seconds_at, text_at, unclear,
};
use crate::video::plan::Sent;

/// The protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    format: "dashscope_video",
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

const SUBMIT: &str = "/services/aigc/video-generation/video-synthesis";
/// A vendor's text is cut here before it goes on.
const MAX_WORDS: usize = 2_000;

fn submit(sent: &Sent, naming: &Naming<'_>) -> Call {
    let mut body = sent.body.clone();
    body.insert("model".to_owned(), json!(naming.model));
    // Without it the upstream refuses: there are no synchronous videos.
    Call::post(SUBMIT, &body).with("X-DashScope-Async", "enable")
}

fn read_submit(_sent: &Sent, said: &Said<'_>) -> Submitted {
    let answer = said.json();
    let complaint = complaint(said.status, &answer, "");
    let is_throttled = complaint.code.starts_with("Throttling");
    match said.status {
        200..=299 => match text_at(&answer, "/output/task_id") {
            Some(id) if !id.is_empty() => Submitted::Accepted { id },
            Some(_) | None => Submitted::Unknown(complaint),
        },
        429 | 503 | 529 => Submitted::Full {
            retry_after: said.retry_after,
        },
        // Not asked in time, in conflict with itself, too early, gone: nothing that tells whether it
        // was taken.
        408 | 409 | 425 | 499 => Submitted::Unknown(complaint),
        400..=499 if is_throttled => Submitted::Full {
            retry_after: said.retry_after,
        },
        // The account, its money or its models are at fault, not what the customer asked.
        401..=404 => Submitted::Credential(complaint),
        400 if is_of_the_account(&complaint) => Submitted::Credential(complaint),
        400..=499 => Submitted::Refused(complaint),
        _ => Submitted::Unknown(complaint),
    }
}

fn is_of_the_account(complaint: &Complaint) -> bool {
    let code = complaint.code.as_str();
    matches!(
        code,
        "Arrearage" | "InvalidApiKey" | "InvalidModel" | "ModelNotFound"
    ) || complaint.message.starts_with("Model not exist")
}

fn poll(handle: &Handle) -> Call {
    Call::get(format!("/tasks/{}", path_part(&handle.id)))
}

fn read_poll(_handle: &Handle, said: &Said<'_>) -> Polled {
    let answer = said.json();
    let Some(state) = text_at(&answer, "/output/task_status").filter(|_| said.status == 200) else {
        let code = text_at(&answer, "/code").unwrap_or_default();
        return unclear(said, &format!("no state {}", cut(&code)));
    };
    let running = |queued| Polled::Running {
        queued,
        progress: None,
    };
    match state.to_ascii_uppercase().as_str() {
        "PENDING" => running(true),
        "SUCCEEDED" => done(said, &answer),
        "FAILED" => Polled::Failed(complaint(said.status, &answer, "/output")),
        "CANCELED" | "CANCELLED" => {
            let text = "the upstream cancelled the task";
            Polled::Failed(Complaint::new(said.status, "Canceled", text))
        }
        // So it answers for ids that it has forgotten or not yet learnt: no verdict.
        "UNKNOWN" => unclear(said, "state UNKNOWN"),
        _ => running(false),
    }
}

fn done(said: &Said<'_>, answer: &Value) -> Polled {
    let places = ["/output/video_url", "/output/results/0/url"];
    let mut links = places.iter().filter_map(|place| text_at(answer, place));
    match links.find(|link| !link.is_empty()) {
        Some(link) => Polled::Done {
            file: File::Link(link),
            counted: counted(answer),
        },
        None => unclear(said, "SUCCEEDED without a file"),
    }
}

/// Older models tell one length, newer ones what went in and what came out beside their sum.
fn counted(answer: &Value) -> Counted {
    let input = seconds_at(answer, "/usage/input_video_duration");
    let output = seconds_at(answer, "/usage/output_video_duration")
        .or_else(|| seconds_at(answer, "/usage/video_duration"))
        .or_else(|| {
            let sum = seconds_at(answer, "/usage/duration")?;
            Some(sum.saturating_sub(input.unwrap_or(0)))
        });
    Counted {
        output_seconds: output,
        input_seconds: input,
        images: None,
    }
}

fn read_file(said: &Said<'_>) -> Polled {
    unclear(said, "files are never asked for apart")
}

fn cancel(handle: &Handle) -> Call {
    Call {
        method: Method::Post,
        ..Call::get(format!("/tasks/{}/cancel", path_part(&handle.id)))
    }
}

fn read_cancel(_handle: &Handle, said: &Said<'_>) -> Cancelled {
    let code = text_at(&said.json(), "/code").unwrap_or_default();
    match said.status {
        200 if code.is_empty() => Cancelled::Confirmed,
        // It can be stopped only while it waits.
        400..=499 if code.starts_with("UnsupportedOperation") => Cancelled::GoesOn,
        _ => Cancelled::Unknown,
    }
}

fn read_lookup(_said: &Said<'_>) -> Found {
    Found::Unknown
}

/// The vendor's words at a place of its answer.
fn complaint(status: u16, answer: &Value, place: &str) -> Complaint {
    let word = |name: &str| text_at(answer, &format!("{place}/{name}")).unwrap_or_default();
    Complaint::new(status, cut(&word("code")), cut(&word("message")))
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_WORDS).collect()
}
