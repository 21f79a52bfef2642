//! What vendors answer, as files: each holds one answer beside what it is read as. The answers are
//! written after the vendors' documents and public clients, none was fetched live.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_generation::video::Outbound;
use trunkline_generation::video::upstreams::{
    Cancelled, File, JobContext, JobRef, Method, Polled, Protocol, Submitted, UrlPath, VendorError,
    VendorRequest, VendorResponse, protocol_of,
};

/// One answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    protocol: String,
    #[serde(default)]
    endpoint: String,
    /// `submit`, `poll`, `file` or `cancel`.
    question: String,
    status: u16,
    retry_after: Option<u64>,
    /// A text is the body as it is, everything else is written as JSON.
    body: Value,
    expect: Value,
}

#[test]
fn every_answer_is_read_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/video/answers_d");
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(paths.len() > 40, "{} answers", paths.len());
    let mut wrong = Vec::new();
    for path in &paths {
        let case: Case = serde_json::from_slice(&std::fs::read(path).unwrap())
            .unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let got = read(&case);
        if got != case.expect {
            wrong.push(format!(
                "{path:?}: {}\n  expected {}\n  got      {got}",
                case.about, case.expect
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{} answers", paths.len());
}

#[test]
fn questions_go_where_the_vendor_listens() {
    let named = |format: &str, endpoint: &str, id: &str| {
        let protocol = protocol_of(format).unwrap();
        let sent = sent(format, endpoint);
        let naming = JobContext {
            model: "upstream-name",
            reference: "ours",
        };
        let submit = (protocol.submit)(&sent, &naming);
        let body: Value = serde_json::from_slice(&submit.body.clone().unwrap()).unwrap();
        assert_eq!(body, json!({"model": "upstream-name", "prompt": "a fox"}));
        (
            request_view(&submit),
            request_view(&(protocol.poll)(&handle(endpoint, id))),
        )
    };
    assert_eq!(
        named("minimax_video", "v1", "17&x=1"),
        (
            json!("Post base /video_generation"),
            json!("Get base /query/video_generation?task_id=17%26x%3D1")
        )
    );
    assert_eq!(
        named("minimax_video", "v2", "4/../2"),
        (
            json!("Post host /v2/video_generation"),
            json!("Get host /v2/query/video_generation/4%2F%2E%2E%2F2")
        )
    );
    assert_eq!(
        named("openai_video", "", "video_1"),
        (
            json!("Post base /videos"),
            json!("Get base /videos/video_1")
        )
    );
    let cancel = protocol_of("minimax_video").unwrap().cancel.unwrap();
    assert_eq!(
        request_view(&cancel(&handle("v2", "42"))),
        json!("Delete host /v2/video_generation/42")
    );
    // The first interface cannot stop a job: nothing but a question is asked.
    assert_eq!(cancel(&handle("v1", "42")).method, Method::Get);
    assert!(protocol_of("openai_video").unwrap().cancel.is_none());
}

fn read(case: &Case) -> Value {
    let protocol: &Protocol = protocol_of(&case.protocol).unwrap();
    let bytes = match case.body.as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => serde_json::to_vec(&case.body).unwrap(),
    };
    let response = VendorResponse {
        status: case.status,
        retry_after: case.retry_after,
        body: &bytes,
    };
    let handle = handle(&case.endpoint, "42");
    match case.question.as_str() {
        "submit" => submitted((protocol.read_submit)(
            &sent(&case.protocol, &case.endpoint),
            &response,
        )),
        "poll" => polled((protocol.read_poll)(&handle, &response)),
        "file" => polled((protocol.read_file)(&response)),
        "cancel" => cancelled(&(protocol.read_cancel)(&handle, &response)),
        other => panic!("no question {other}"),
    }
}

fn sent(protocol: &str, endpoint: &str) -> Outbound {
    let mut body = Map::new();
    body.insert("prompt".to_owned(), json!("a fox"));
    Outbound {
        protocol: protocol.to_owned(),
        endpoint: endpoint.to_owned(),
        body,
    }
}

fn handle(endpoint: &str, id: &str) -> JobRef {
    JobRef {
        id: id.to_owned(),
        endpoint: endpoint.to_owned(),
    }
}

fn submitted(outcome: Submitted) -> Value {
    match outcome {
        Submitted::Accepted { id } => json!({ "accepted": id }),
        Submitted::Refused(error) => json!({ "refused": error_view(&error) }),
        Submitted::Full { retry_after } => json!({ "full": retry_after }),
        Submitted::Credential(error) => json!({ "credential": error.code }),
        Submitted::Unknown(_) => json!("unknown"),
    }
}

fn polled(outcome: Polled) -> Value {
    match outcome {
        Polled::Running { queued, progress } => {
            json!({ "running": { "queued": queued, "progress": progress } })
        }
        Polled::FileAt(call) => json!({ "file_at": request_view(&call) }),
        Polled::Done { file, usage } => {
            let file = match file {
                File::Link(url) => json!(url),
                File::Behind(call) => json!({ "behind": request_view(&call) }),
            };
            let usage = [usage.output_seconds, usage.input_seconds, usage.images];
            json!({ "done": file, "counted": usage })
        }
        Polled::Failed(error) => json!({ "failed": error_view(&error) }),
        Polled::Unclear { retry_after, .. } => json!({ "unclear": retry_after }),
    }
}

fn cancelled(outcome: &Cancelled) -> Value {
    match outcome {
        Cancelled::Confirmed => json!("confirmed"),
        Cancelled::GoesOn => json!("goes on"),
        Cancelled::Unknown => json!("unknown"),
    }
}

fn error_view(error: &VendorError) -> Value {
    json!([error.status, error.code, error.message])
}

fn request_view(call: &VendorRequest) -> Value {
    let at = match &call.path {
        UrlPath::Base(path) => format!("base {path}"),
        UrlPath::Host(path) => format!("host {path}"),
    };
    json!(format!("{:?} {at}", call.method))
}
