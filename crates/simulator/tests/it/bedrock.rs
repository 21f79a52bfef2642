//! Bedrock: signed calls, AWS's framing read byte by byte, and its exceptions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use time::macros::format_description;
use trunkline_simulator::{AwsKey, Simulator};

use crate::anthropic_fixtures::masked;
use crate::client::{Response, ask, served, started};

/// A message of an event stream: headers and payload.
pub(crate) struct Framed {
    headers: Vec<(String, String)>,
    payload: Value,
}

impl Framed {
    fn header(&self, name: &str) -> &str {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map_or("", |(_, value)| value)
    }

    /// The model's own event inside a chunk.
    pub(crate) fn event(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap_or(Value::Null)
    }

    fn text(&self) -> String {
        let bytes = STANDARD.decode(self.payload["bytes"].as_str().unwrap());
        String::from_utf8(bytes.unwrap()).unwrap()
    }

    /// Headers in their order, then the payload, an event taken out of its base64.
    fn line(&self) -> String {
        let headers: Vec<String> = self
            .headers
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let payload = if self.payload.get("bytes").is_some() {
            self.text()
        } else {
            self.payload.to_string()
        };
        format!("{} {payload}", headers.join(" "))
    }
}

const MODEL: &str = "anthropic.sim-small-v1%3A0";

fn asking(prompt: &str) -> Value {
    json!({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 1000,
        "messages": [{"role": "user", "content": prompt}]})
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn keyed(key: &[u8], data: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(data.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// The headers of a signed call, `late_secs` before now.
fn signed(path: &str, body: &str, key: &AwsKey, late_secs: i64) -> String {
    #[expect(
        clippy::disallowed_methods,
        reason = "the simulator compares with a clock of its own"
    )]
    let now = OffsetDateTime::now_utc() - time::Duration::seconds(late_secs);
    let form = format_description!("[year][month][day]T[hour][minute][second]Z");
    let moment = now.format(form).unwrap();
    let day = &moment[..8];
    let names = "content-type;host;x-amz-date";
    let canonical = format!(
        "POST\n{}\n\ncontent-type:application/json\nhost:simulator\nx-amz-date:{moment}\n\n\
         {names}\n{}",
        path.replace('%', "%25"),
        hex(&Sha256::digest(body))
    );
    let scope = format!("{day}/eu-west-1/bedrock/aws4_request");
    let digest = hex(&Sha256::digest(canonical));
    let to_sign = format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}");
    let mut secret = format!("AWS4{}", key.secret).into_bytes();
    for part in [day, "eu-west-1", "bedrock", "aws4_request", &to_sign] {
        secret = keyed(&secret, part);
    }
    format!(
        "content-type: application/json\r\nx-amz-date: {moment}\r\nauthorization: \
         AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={}\r\n",
        key.id,
        hex(&secret)
    )
}

async fn call(simulator: &Simulator, model: &str, action: &str, body: &Value) -> Response {
    let path = format!("/model/{model}/{action}");
    let body = body.to_string();
    let head = signed(&path, &body, &AwsKey::simulators(), 0);
    ask(simulator, "POST", &path, &head, body.as_bytes()).await
}

async fn invoke(simulator: &Simulator, body: &Value) -> Response {
    call(simulator, MODEL, "invoke", body).await
}

async fn stream(simulator: &Simulator, prompt: &str) -> Response {
    let action = "invoke-with-response-stream";
    call(simulator, MODEL, action, &asking(prompt)).await
}

fn number(bytes: &[u8]) -> usize {
    usize::try_from(u32::from_be_bytes(bytes.try_into().unwrap())).unwrap()
}

/// Takes a stream apart. Lengths and checksums must be right; a rest that is no message is given
/// back.
pub(crate) fn framed(mut bytes: &[u8]) -> (Vec<Framed>, &[u8]) {
    let mut messages = Vec::new();
    while bytes.len() >= 16 {
        let (total, head) = (number(&bytes[..4]), number(&bytes[4..8]));
        let is_prelude =
            number(&bytes[8..12]) == usize::try_from(crc32fast::hash(&bytes[..8])).unwrap();
        if !is_prelude || bytes.len() < total {
            break;
        }
        let (message, rest) = bytes.split_at(total);
        let (covered, sum) = message.split_at(total - 4);
        assert_eq!(sum, crc32fast::hash(covered).to_be_bytes());
        let mut left = &covered[12..12 + head];
        let mut headers = Vec::new();
        while !left.is_empty() {
            let name = usize::from(left[0]);
            assert_eq!(left[name + 1], 7);
            let length = usize::from(u16::from_be_bytes([left[name + 2], left[name + 3]]));
            let value = &left[name + 4..name + 4 + length];
            headers.push((
                String::from_utf8(left[1..=name].to_vec()).unwrap(),
                String::from_utf8(value.to_vec()).unwrap(),
            ));
            left = &left[name + 4 + length..];
        }
        let payload = serde_json::from_slice(&covered[12 + head..]).unwrap();
        messages.push(Framed { headers, payload });
        bytes = rest;
    }
    (messages, bytes)
}

#[tokio::test]
async fn a_signed_call_is_answered_with_the_models_message() {
    let simulator = started().await;
    let got = invoke(&simulator, &asking("[[tokens:6]] [[id:x]]")).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let answer = got.json();
    assert_eq!(answer["model"], "sim-small");
    assert_eq!(answer["usage"]["output_tokens"], 6);
    let count = |name: &str| got.header(name).unwrap().to_owned();
    assert_eq!(count("x-amzn-bedrock-output-token-count"), "6");
    assert_eq!(
        count("x-amzn-bedrock-input-token-count"),
        answer["usage"]["input_tokens"].to_string()
    );
    assert_eq!(count("x-amzn-requestid").len(), 36);
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!(record.model, "anthropic.sim-small-v1:0");
    assert_eq!((record.key.as_str(), record.stream), ("0001", false));
    assert_eq!(
        (record.completion_tokens, record.marker.as_deref()),
        (6, Some("x"))
    );
}

#[tokio::test]
async fn a_stream_is_framed_and_its_last_event_tells_the_metrics() {
    let simulator = started().await;
    let got = stream(&simulator, "[[tokens:2]] [[cached:3]] [[written_5m:2]]").await;
    let kind = "application/vnd.amazon.eventstream";
    assert_eq!(got.header("content-type"), Some(kind));
    assert!(got.is_whole);
    let (messages, rest) = framed(&got.body);
    assert!(rest.is_empty());
    for message in &messages {
        assert_eq!(message.header(":event-type"), "chunk");
        assert_eq!(message.header(":content-type"), "application/json");
        assert_eq!(message.header(":message-type"), "event");
    }
    let events: Vec<Value> = messages.iter().map(Framed::event).collect();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    let metrics = &events[6]["amazon-bedrock-invocationMetrics"];
    let usage = &events[5]["usage"];
    assert_eq!(metrics["inputTokenCount"], usage["input_tokens"]);
    assert_eq!(metrics["outputTokenCount"], 2);
    assert_eq!(metrics["cacheReadInputTokenCount"], 3);
    assert_eq!(metrics["cacheWriteInputTokenCount"], 2);
    assert!(metrics["invocationLatency"].is_u64() && metrics["firstByteLatency"].is_u64());
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!((record.completion_tokens, record.stream), (2, true));
}

#[tokio::test]
async fn a_wrong_late_or_missing_signature_is_refused_as_aws_does() {
    let simulator = started().await;
    let body = asking("hello").to_string();
    let path = format!("/model/{MODEL}/invoke");
    let wrong = AwsKey {
        secret: "wrong".to_owned(),
        ..AwsKey::simulators()
    };
    let stranger = AwsKey {
        id: "AKIANOBODY".to_owned(),
        ..AwsKey::simulators()
    };
    let good = AwsKey::simulators();
    for (head, name, says) in [
        (
            signed(&path, &body, &wrong, 0),
            "InvalidSignatureException",
            "The request signature we calculated does not match",
        ),
        (
            signed(&path, &body, &good, 600),
            "InvalidSignatureException",
            "Signature expired",
        ),
        (
            signed(&path, &body, &good, -600),
            "InvalidSignatureException",
            "Signature not yet current",
        ),
        (
            signed(&path, "{}", &good, 0),
            "InvalidSignatureException",
            "does not match",
        ),
        (
            signed(&path, &body, &stranger, 0),
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
        (
            String::new(),
            "MissingAuthenticationTokenException",
            "Missing Authentication Token",
        ),
    ] {
        let got = ask(&simulator, "POST", &path, &head, body.as_bytes()).await;
        assert_eq!(got.status, 403, "{says}");
        let kind = got.header("x-amzn-errortype").unwrap();
        assert_eq!(kind.split(':').next(), Some(name));
        let answer = got.json();
        assert!(
            answer["message"].as_str().unwrap().contains(says),
            "{answer}"
        );
    }
    // The last that passes.
    let head = signed(&path, &body, &good, 290);
    let got = ask(&simulator, "POST", &path, &head, body.as_bytes()).await;
    assert_eq!(got.status, 200);
}

#[tokio::test]
async fn refusals_and_faults_are_exceptions_by_name() {
    let simulator = started().await;
    let mut no_version = asking("a");
    no_version
        .as_object_mut()
        .unwrap()
        .remove("anthropic_version");
    let mut with_model = asking("a");
    with_model["model"] = json!("sim-small");
    for (body, status, name, says) in [
        (
            no_version,
            400,
            "ValidationException",
            "anthropic_version: Field required",
        ),
        (
            with_model,
            400,
            "ValidationException",
            "model: Extra inputs",
        ),
        (asking(""), 400, "ValidationException", "non-empty content"),
        (
            asking("[[fault:rate_limited]]"),
            429,
            "ThrottlingException",
            "Too many requests",
        ),
        (
            asking("[[fault:status:403]]"),
            403,
            "AccessDeniedException",
            "access",
        ),
        (
            asking("[[fault:status:404]]"),
            404,
            "ResourceNotFoundException",
            "model",
        ),
        (
            asking("[[fault:status:408]]"),
            408,
            "ModelTimeoutException",
            "timed out",
        ),
        (
            asking("[[fault:status:424]]"),
            424,
            "ModelErrorException",
            "unexpected",
        ),
        (
            asking("[[fault:status:500]]"),
            500,
            "InternalServerException",
            "unexpected",
        ),
        (
            asking("[[fault:status:529]]"),
            503,
            "ServiceUnavailableException",
            "unable",
        ),
    ] {
        let got = invoke(&simulator, &body).await;
        assert_eq!(got.status, status, "{}", got.text());
        let kind = got.header("x-amzn-errortype").unwrap();
        assert_eq!(kind.split(':').next(), Some(name));
        let answer = got.json();
        assert!(
            answer["message"].as_str().unwrap().contains(says),
            "{answer}"
        );
        assert_eq!(answer.as_object().unwrap().len(), 1);
    }
    for (model, action, status, name) in [
        ("amazon.nova-v1%3A0", "invoke", 400, "ValidationException"),
        ("small", "invoke", 400, "ValidationException"),
        (MODEL, "converse", 404, "UnknownOperationException"),
    ] {
        let got = call(&simulator, model, action, &asking("a")).await;
        assert_eq!(got.status, status, "{model} {action}");
        let kind = got.header("x-amzn-errortype").unwrap();
        assert_eq!(kind.split(':').next(), Some(name));
    }
}

#[tokio::test]
async fn a_stream_can_end_with_an_exception() {
    let simulator = started().await;
    for (fault, before, name) in [
        ("error_frame_mid_stream:3", 3, "modelStreamErrorException"),
        ("error_inside200", 0, "throttlingException"),
    ] {
        let got = stream(&simulator, &format!("[[fault:{fault}]]")).await;
        assert_eq!(got.status, 200);
        let (messages, rest) = framed(&got.body);
        assert!(rest.is_empty() && messages.len() == before + 1, "{fault}");
        let last = messages.last().unwrap();
        assert_eq!(last.header(":message-type"), "exception");
        assert_eq!(last.header(":exception-type"), name);
        assert!(last.payload["message"].is_string());
    }
    assert!(simulator.requests().iter().all(|served| !served.finished));
}

#[tokio::test]
async fn a_stream_breaks_in_its_framing_or_inside_it() {
    let simulator = started().await;
    let got = stream(&simulator, "[[fault:garbage_frame:2]] [[tokens:2]]").await;
    let (messages, rest) = framed(&got.body);
    assert_eq!(messages.len(), 2);
    assert!(!rest.is_empty());
    let got = stream(&simulator, "[[fault:truncated_json]] [[tokens:2]]").await;
    let (messages, rest) = framed(&got.body);
    assert!(rest.is_empty());
    assert_eq!(messages.last().unwrap().event(), Value::Null);
    let got = stream(&simulator, "[[fault:close_mid_stream:2]]").await;
    assert!(!got.is_whole && framed(&got.body).0.len() == 2);
    let got = stream(&simulator, "[[fault:split_bytes:1]] [[tokens:2]]").await;
    let (messages, rest) = framed(&got.body);
    assert!(rest.is_empty() && got.pieces.iter().all(|piece| piece.len() == 1));
    assert_eq!(messages[2].event()["delta"]["text"], "s\u{ef}m1 ");
    let got = stream(&simulator, "[[fault:gigantic_frame:40000]]").await;
    let (messages, rest) = framed(&got.body);
    assert!(rest.is_empty());
    let event = messages[2].event();
    assert_eq!(event["delta"]["text"].as_str().unwrap().len(), 40_000);
}

#[tokio::test]
async fn messages_of_a_stream_are_those_of_the_fixture() {
    let simulator = started().await;
    let mut lines = Vec::new();
    for prompt in [
        "[[tokens:2]] [[cached:2]]",
        "[[fault:error_frame_mid_stream:0]]",
        "[[fault:error_inside200]]",
    ] {
        let got = stream(&simulator, prompt).await;
        let (messages, _) = framed(&got.body);
        lines.extend(messages.iter().map(|message| masked(&message.line())));
    }
    let text = lines.join("\n");
    let fixture = include_str!("../fixtures/anthropic/bedrock.txt");
    assert_eq!(text, fixture.trim_end(), "bedrock.txt is now:\n{text}");
}
