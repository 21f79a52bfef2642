//! Kling's protocol: what is asked, and what is read from answers as the vendor gives them. The answers
//! are files: those that look whole are the examples of its documentation as it stood in September
//! 2026, with other ids; the rest are what proxies, outages and haste make of them.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_generation::video::Outbound;
use trunkline_generation::video::upstreams::{
    File, JobContext, JobRef, LookupResult, Method, Polled, Protocol, ReportedUsage, Submitted,
    UrlPath, VendorError, VendorRequest, VendorResponse, protocol_of,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    about: String,
    /// `submit`, `poll` or `lookup`.
    to: String,
    #[serde(default)]
    endpoint: String,
    /// The job that was asked for.
    #[serde(default)]
    id: String,
    status: u16,
    retry_after: Option<u64>,
    /// A text stands for itself, all else for its JSON.
    body: Value,
    expect: Value,
}

fn kling() -> &'static Protocol {
    protocol_of("kling_video").expect("the protocol")
}

fn sent(endpoint: &str, body: Value) -> Outbound {
    Outbound {
        protocol: "kling_video".to_owned(),
        endpoint: endpoint.to_owned(),
        body: body.as_object().expect("an object").clone(),
    }
}

fn naming(model: &str) -> JobContext<'_> {
    JobContext {
        model,
        reference: "task_1/2",
    }
}

fn path(call: &VendorRequest) -> &str {
    match &call.path {
        UrlPath::Base(path) => path,
        UrlPath::Host(path) => panic!("{path} is not behind the base"),
    }
}

fn body(call: &VendorRequest) -> Value {
    serde_json::from_slice(call.body.as_deref().expect("a body")).expect("JSON")
}

fn error_view(error: &VendorError) -> Value {
    json!([error.status, error.code, error.message])
}

fn submitted(outcome: &Submitted) -> Value {
    match outcome {
        Submitted::Accepted { id } => json!({ "accepted": id }),
        Submitted::Refused(error) => json!({ "refused": error_view(error) }),
        Submitted::Full { retry_after } => json!({ "full": retry_after }),
        Submitted::Credential(error) => json!({ "credential": error_view(error) }),
        Submitted::Unknown(error) => json!({ "unknown": error_view(error) }),
    }
}

fn polled(outcome: &Polled) -> Value {
    match outcome {
        Polled::Running { queued, progress } => {
            assert_eq!(*progress, None, "this vendor tells none");
            json!({ "running": { "queued": queued } })
        }
        Polled::FileAt(call) => panic!("never said: {call:?}"),
        Polled::Done { file, usage } => {
            assert_eq!(
                *usage,
                ReportedUsage::default(),
                "a file's length is no count"
            );
            match file {
                File::Link(link) => json!({ "done": link }),
                File::Behind(call) => panic!("never said: {call:?}"),
            }
        }
        Polled::Failed(error) => json!({ "failed": error_view(error) }),
        Polled::Unclear { retry_after, .. } => json!({ "unclear": retry_after }),
    }
}

fn found(outcome: &LookupResult) -> Value {
    match outcome {
        LookupResult::Found { id } => json!({ "there": id }),
        LookupResult::NotFound => json!("not_there"),
        LookupResult::Unknown => json!("unknown"),
    }
}

fn outcome(answer: &Answer) -> Value {
    let bytes = match answer.body.as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => serde_json::to_vec(&answer.body).unwrap(),
    };
    let response = VendorResponse {
        status: answer.status,
        retry_after: answer.retry_after,
        body: &bytes,
    };
    let handle = JobRef {
        id: answer.id.clone(),
        endpoint: answer.endpoint.clone(),
    };
    match answer.to.as_str() {
        "submit" => submitted(&(kling().read_submit)(
            &sent(&answer.endpoint, json!({})),
            &response,
        )),
        "poll" => polled(&(kling().read_poll)(&handle, &response)),
        "lookup" => found(&(kling().read_lookup)(&response)),
        other => panic!("no call {other}"),
    }
}

#[test]
fn every_answer_of_kling_is_read_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/video/kling");
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read(&path).unwrap();
        let answers: Vec<Answer> =
            serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        for answer in &answers {
            count += 1;
            let got = outcome(answer);
            if got != answer.expect {
                wrong.push(format!("{}: {} not {got}", answer.about, answer.expect));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 50, "only {count} answers");
    println!("kling: {count} answers");
}

#[test]
fn the_v1_api_has_model_and_our_name_in_the_body_and_polls_its_own_path() {
    for endpoint in ["text2video", "image2video", "omni-video"] {
        let sent = sent(endpoint, json!({ "prompt": "a cat", "duration": "5" }));
        let call = (kling().submit)(&sent, &naming("kling-v3"));
        assert_eq!(call.method, Method::Post);
        assert_eq!(path(&call), format!("/v1/videos/{endpoint}"));
        let expected = json!({
            "prompt": "a cat", "duration": "5",
            "model_name": "kling-v3", "external_task_id": "task_1/2",
        });
        assert_eq!(body(&call), expected);
        let handle = JobRef {
            id: "83/1".to_owned(),
            endpoint: endpoint.to_owned(),
        };
        let poll = (kling().poll)(&handle);
        assert_eq!(
            (poll.method, path(&poll)),
            (
                Method::Get,
                format!("/v1/videos/{endpoint}/83%2F1").as_str()
            )
        );
        let lookup = (kling().lookup.unwrap())(&sent, "task_1/2");
        let expected = format!("/v1/videos/{endpoint}?external_task_id=task_1%2F2");
        assert_eq!(
            (lookup.method, path(&lookup)),
            (Method::Get, expected.as_str())
        );
    }
}

#[test]
fn the_newer_design_has_the_model_in_the_path_and_our_name_in_the_options() {
    for endpoint in ["text-to-video", "image-to-video"] {
        for options in [
            json!({ "watermark_info": { "enabled": false } }),
            Value::Null,
        ] {
            let mut requested = Map::new();
            requested.insert("prompt".to_owned(), json!("a cat"));
            if options.is_object() {
                requested.insert("options".to_owned(), options.clone());
            }
            let sent = sent(endpoint, Value::Object(requested));
            let call = (kling().submit)(&sent, &naming("kling-3.0-turbo"));
            assert_eq!(path(&call), format!("/{endpoint}/kling-3.0-turbo"));
            let body = body(&call);
            assert_eq!(body["options"]["external_task_id"], "task_1/2");
            assert_eq!(body["options"]["watermark_info"], options["watermark_info"]);
            assert_eq!(body.get("model_name"), None);
            let lookup = (kling().lookup.unwrap())(&sent, "task_1/2");
            assert_eq!(path(&lookup), "/tasks?external_task_ids=task_1%2F2");
        }
        let handle = JobRef {
            id: "8,4".to_owned(),
            endpoint: endpoint.to_owned(),
        };
        assert_eq!(path(&(kling().poll)(&handle)), "/tasks?task_ids=8%2C4");
    }
}

#[test]
fn a_model_name_cannot_leave_its_place_in_the_path() {
    for (model, part) in [
        ("kling-3.0-turbo", "kling-3.0-turbo"),
        ("..", "%2E%2E"),
        ("a/b", "a%2Fb"),
        ("a?b", "a%3Fb"),
    ] {
        let call = (kling().submit)(&sent("text-to-video", json!({})), &naming(model));
        assert_eq!(path(&call), format!("/text-to-video/{part}"));
    }
}

#[test]
fn a_job_of_kling_cannot_be_stopped() {
    assert!(kling().cancel.is_none());
}
