//! `DashScope`'s protocol: the calls that are made, and every answer of its folder.

use std::path::Path;

use serde_json::{Value, json};
use trunkline_generation::video::Outbound;
use trunkline_generation::video::upstreams::{
    Cancelled, File, JobContext, JobRef, LookupResult, Method, Polled, Protocol, Submitted,
    UrlPath, VendorError, VendorResponse, protocol_of,
};

use crate::video::cases::files;

fn protocol() -> &'static Protocol {
    protocol_of("dashscope_video").unwrap()
}

fn sent() -> Outbound {
    let body = json!({"input": {"prompt": "a cat"}, "parameters": {"duration": 5}});
    Outbound {
        protocol: "dashscope_video".to_owned(),
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

#[test]
fn a_job_is_submitted_with_the_upstream_model_and_the_async_header() {
    let naming = JobContext {
        model: "wan2.7-t2v",
        reference: "task_1",
    };
    let call = (protocol().submit)(&sent(), &naming);
    assert_eq!(call.method, Method::Post);
    let path = "/services/aigc/video-generation/video-synthesis";
    assert_eq!(call.path, UrlPath::Base(path.to_owned()));
    assert_eq!(call.headers, [("X-DashScope-Async", "enable".to_owned())]);
    let body: Value = serde_json::from_slice(&call.body.unwrap()).unwrap();
    let expected = json!({"model": "wan2.7-t2v", "input": {"prompt": "a cat"},
        "parameters": {"duration": 5}});
    assert_eq!(body, expected);
}

#[test]
fn a_job_is_asked_for_and_stopped_by_its_id_which_cannot_leave_its_place() {
    let call = (protocol().poll)(&handle("0385-dc79"));
    assert_eq!((call.method, call.body), (Method::Get, None));
    assert_eq!(call.path, UrlPath::Base("/tasks/0385-dc79".to_owned()));
    let call = (protocol().poll)(&handle("../a?b"));
    assert_eq!(call.path, UrlPath::Base("/tasks/%2E%2E%2Fa%3Fb".to_owned()));
    let call = (protocol().cancel.unwrap())(&handle("0385-dc79"));
    assert_eq!((call.method, call.body), (Method::Post, None));
    assert_eq!(
        call.path,
        UrlPath::Base("/tasks/0385-dc79/cancel".to_owned())
    );
    assert!(protocol().lookup.is_none());
}

// covers: D-6-A-09
#[test]
fn every_answer_is_read_as_its_file_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/video/dashscope");
    let mut count = 0;
    for (name, case) in files(&folder) {
        let page = case["body"].as_str().map(str::to_owned);
        let body = page.unwrap_or_else(|| case["body"].to_string());
        let response = VendorResponse {
            status: u16::try_from(case["status"].as_u64().unwrap()).unwrap(),
            retry_after: case.get("retry_after").and_then(Value::as_u64),
            body: body.as_bytes(),
        };
        assert_eq!(
            response_view(case["ask"].as_str().unwrap(), &response),
            case["expect"],
            "{name}"
        );
        count += 1;
    }
    println!("{count} answers of DashScope");
    assert!(count >= 45);
}

#[test]
fn no_bytes_make_a_verdict_or_stop_the_reader() {
    for body in [
        &b""[..],
        b"\xff\xfe",
        b"[]",
        b"null",
        b"{\"output\":7}",
        b"{\"output\":{\"task_status\":[]}}",
    ] {
        for status in [200, 204, 404, 500] {
            let response = VendorResponse {
                status,
                retry_after: None,
                body,
            };
            assert_eq!(
                response_view("poll", &response),
                json!({"unclear": null}),
                "{status} {body:?}"
            );
            assert_eq!((protocol().read_lookup)(&response), LookupResult::Unknown);
        }
    }
}

/// What was read, as the files write it.
fn response_view(ask: &str, response: &VendorResponse<'_>) -> Value {
    let words = |error: VendorError| json!({"status": error.status, "code": error.code, "message": error.message});
    match ask {
        "submit" => match (protocol().read_submit)(&sent(), response) {
            Submitted::Accepted { id } => json!({"accepted": id}),
            Submitted::Refused(error) => json!({"refused": words(error)}),
            Submitted::Full { retry_after } => json!({"full": retry_after}),
            Submitted::Credential(error) => json!({"credential": words(error)}),
            Submitted::Unknown(error) => json!({"unknown": words(error)}),
        },
        "poll" => match (protocol().read_poll)(&handle("1"), response) {
            Polled::Running { queued, progress } => {
                assert_eq!(progress, None);
                json!({"running": {"queued": queued}})
            }
            Polled::Done {
                file: File::Link(link),
                usage,
            } => json!({"done": {"link": link, "output_seconds": usage.output_seconds,
                "input_seconds": usage.input_seconds}}),
            Polled::Failed(error) => json!({"failed": words(error)}),
            Polled::Unclear { retry_after, .. } => json!({"unclear": retry_after}),
            other @ (Polled::FileAt(_) | Polled::Done { .. }) => panic!("{other:?}"),
        },
        "cancel" => match (protocol().read_cancel)(&handle("1"), response) {
            Cancelled::Confirmed => json!({"cancelled": "confirmed"}),
            Cancelled::GoesOn => json!({"cancelled": "goes_on"}),
            Cancelled::Unknown => json!({"cancelled": "unknown"}),
        },
        ask => panic!("no question {ask}"),
    }
}
