//! Ark's answers, one file each, and the calls that lead to them.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use trunkline_generation::video::Outbound;
use trunkline_generation::video::upstreams::{
    Cancelled, File, JobContext, JobRef, MediaForm, Method, Polled, Protocol, Submitted, UrlPath,
    VendorRequest, VendorResponse, protocol_of,
};

/// One answer and what is read out of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    about: String,
    operation: String,
    status: u16,
    retry_after: Option<u64>,
    body: Value,
    expect: Value,
}

fn ark() -> &'static Protocol {
    protocol_of("ark_video").unwrap()
}

fn sent() -> Outbound {
    let body = json!({"content": [{"type": "text", "text": "a cat"}], "duration": 5});
    Outbound {
        protocol: "ark_video".to_owned(),
        endpoint: String::new(),
        body: body.as_object().unwrap().clone(),
    }
}

fn handle(id: &str) -> JobRef {
    JobRef {
        id: id.to_owned(),
        endpoint: String::new(),
    }
}

/// What is read, as the files write it.
fn read(answer: &Answer) -> Value {
    let text = answer.body.as_str().map(str::to_owned);
    let body = text.unwrap_or_else(|| answer.body.to_string());
    let body = body.into_bytes();
    let response = VendorResponse {
        status: answer.status,
        retry_after: answer.retry_after,
        body: &body,
    };
    let ark = ark();
    match answer.operation.as_str() {
        "submit" => match (ark.read_submit)(&sent(), &response) {
            Submitted::Accepted { id } => json!({ "accepted": id }),
            Submitted::Refused(error) => json!({ "refused": error.code }),
            Submitted::Full { retry_after } => json!({ "full": retry_after }),
            Submitted::Credential(error) => json!({ "credential": error.code }),
            Submitted::Unknown(error) => json!({ "unknown": error.code }),
        },
        "poll" => match (ark.read_poll)(&handle("x"), &response) {
            Polled::Running { queued, progress } => {
                assert_eq!(progress, None, "the vendor tells none");
                json!({ "running": queued })
            }
            Polled::Done {
                file: File::Link(link),
                usage,
            } => json!({ "done": [link, usage.output_seconds] }),
            Polled::Failed(error) => json!({ "failed": [error.code, error.message] }),
            Polled::Unclear { retry_after, .. } => json!({ "unclear": retry_after }),
            other @ (Polled::FileAt(_) | Polled::Done { .. }) => panic!("{other:?}"),
        },
        "cancel" => match (ark.read_cancel)(&handle("x"), &response) {
            Cancelled::Confirmed => json!({ "cancelled": "confirmed" }),
            Cancelled::GoesOn => json!({ "cancelled": "goes_on" }),
            Cancelled::Unknown => json!({ "cancelled": "unknown" }),
        },
        other => panic!("no operation {other}"),
    }
}

#[test]
fn every_answer_of_ark_is_read_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/video/ark");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let answer: Answer = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let name = path.file_name().unwrap();
        assert_eq!(read(&answer), answer.expect, "{name:?}: {}", answer.about);
        count += 1;
    }
    assert!(count >= 40, "{count}");
}

#[test]
fn a_job_is_submitted_asked_for_and_stopped_at_arks_paths() {
    let naming = JobContext {
        model: "doubao-seedance-2-5-260628",
        reference: "task_1",
    };
    let call = (ark().submit)(&sent(), &naming);
    assert_eq!(call.method, Method::Post);
    let at = |call: &VendorRequest| call.path.clone();
    assert_eq!(
        at(&call),
        UrlPath::Base("/contents/generations/tasks".to_owned())
    );
    let body: Value = serde_json::from_slice(&call.body.unwrap()).unwrap();
    let written = json!({"model": "doubao-seedance-2-5-260628", "duration": 5,
        "content": [{"type": "text", "text": "a cat"}]});
    assert_eq!(body, written, "nothing of ours but the model goes along");
    let call = (ark().poll)(&handle("cgt-1/../x?y"));
    assert_eq!(call.method, Method::Get);
    let path = "/contents/generations/tasks/cgt-1%2F%2E%2E%2Fx%3Fy";
    assert_eq!(at(&call), UrlPath::Base(path.to_owned()));
    let call = (ark().cancel.unwrap())(&handle("cgt-1"));
    assert_eq!(call.method, Method::Delete);
    assert_eq!(
        at(&call),
        UrlPath::Base("/contents/generations/tasks/cgt-1".to_owned())
    );
    assert!(ark().lookup.is_none(), "the vendor keeps no name of ours");
    assert_eq!(ark().media, MediaForm::DataUri);
}

#[test]
fn a_model_in_a_stored_body_does_not_go_before_the_channels() {
    let mut sent = sent();
    sent.body.insert("model".to_owned(), json!("another"));
    let naming = JobContext {
        model: "right",
        reference: "task_1",
    };
    let call = (ark().submit)(&sent, &naming);
    let body: Value = serde_json::from_slice(&call.body.unwrap()).unwrap();
    assert_eq!(body["model"], "right");
}
