//! Secrets are planted everywhere: in the credential, in a header of the channel, in the proxy's
//! login, in the caller's key, prompt and address. Upstreams repeat them in every way an upstream can
//! fail. Afterwards everything that left the gateway is searched: answers, the whole log, the traces.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use trunkline_gateway::Settings;
use trunkline_simulator::{Fault, Rule};

use crate::collector::Collector;
use crate::log::Log;
use crate::test_gateway::{CANARY, ChannelOptions, GatewayResponse, TestGateway, TestOptions, ask};

const HEADER_CANARY: &str = "canary-header-fedcba9876543210";
const PROXY_CANARY: &str = "canary-proxy-a1b2c3d4e5f60718";
const PROMPT_CANARY: &str = "canary prompt of a caller";
/// Served by this test's channel only.
const MODELS: [(&str, &str); 1] = [("unserved", "sim-fast")];

/// An upstream that answers every request with the same bytes and closes.
async fn parrot(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(repeat(stream, answer.clone()));
        }
    });
    base
}

async fn repeat(mut stream: TcpStream, answer: String) {
    let mut received = Vec::new();
    let mut piece = [0; 4_096];
    // All of the head and the beginning of the body are enough; the requests here are small.
    while !received.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(length) => received.extend_from_slice(&piece[..length]),
        }
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    drop(stream.write_all(answer.as_bytes()).await);
    drop(stream.shutdown().await);
}

/// Every way to say a secret that we could think of.
fn sayings(secret: &str) -> Vec<String> {
    let bodies = errors(secret).into_iter().chain(answers_of(secret));
    let whole = bodies.map(|(status, body)| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status} {secret}\r\ncontent-type: text/html\r\nx-echo: {secret}\r\n\
             set-cookie: k={secret}\r\nlocation: /{secret}\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        )
    });
    // No HTTP at all, and half of it.
    let ok = "HTTP/1.1 200 OK\r\n";
    let broken = [
        format!("{secret}\r\n\r\n"),
        format!("HTTP/1.1 2{secret}\r\n\r\n"),
        format!("{ok}{secret}\r\n\r\n"),
        format!("{ok}content-length: {secret}\r\n\r\n"),
        format!("{ok}transfer-encoding: chunked\r\n\r\n{secret}\r\n"),
    ];
    whole.chain(broken).collect()
}

fn error(secret: &str) -> String {
    format!(
        r#"{{"error":{{"message":"bad key {secret}, Bearer {secret}","type":"{secret}","param":"{secret}","code":"{secret}"}}}}"#
    )
}

fn errors(secret: &str) -> Vec<(u16, String)> {
    let statuses = [
        302, 400, 401, 402, 403, 404, 409, 413, 422, 429, 500, 502, 503, 529,
    ];
    let html = format!("<html>{secret}</html>");
    let mut all: Vec<(u16, String)> = statuses
        .iter()
        .map(|status| (*status, error(secret)))
        .collect();
    all.extend([
        (400, format!(r#"{{"error":"{secret}"}}"#)),
        (400, format!(r#"{{"message":"{secret}"}}"#)),
        (400, html.clone()),
        (502, html),
    ]);
    all
}

/// Errors that look like answers, and answers whose model is named by a secret.
fn answers_of(secret: &str) -> Vec<(u16, String)> {
    let error = error(secret);
    let piece = r#"data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}"#;
    let usage = r#""usage":{"prompt_tokens":3,"completion_tokens":1}"#;
    let bodies = [
        error.clone(),
        format!("<html>{secret}"),
        format!(r#"{{"choices":[{{"{secret}"#),
        format!("{piece}\n\ndata: {error}\n\n"),
        format!("{piece}\n\ndata: {secret}\n\n"),
        format!("{piece}\n\nevent: error\ndata: {secret}\n\n"),
        format!("{piece}\n\n: {secret}\n\ndata: [DONE]\n\n"),
        format!("data: {error}\n\n"),
        format!("data: <html>{secret}\n\n"),
        format!(
            r#"{{"model":"{secret}","choices":[{{"index":0,"message":{{"content":"hi"}},"finish_reason":"stop"}}],{usage}}}"#
        ),
        format!(
            "data: {{\"model\":\"{secret}\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"hi\"}}}}],{usage}}}\n\ndata: [DONE]\n\n"
        ),
    ];
    bodies.map(|body| (200, body)).to_vec()
}

/// A text that is cut by its bound in the middle of the secret.
fn cut_saying(secret: &str) -> String {
    let body = format!(
        r#"{{"error":{{"message":"{}{secret}","code":"{}{secret}"}}}}"#,
        "x".repeat(488),
        "y".repeat(52)
    );
    let length = body.len();
    format!("HTTP/1.1 400 Bad\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

fn faults() -> Vec<Fault> {
    vec![
        Fault::CloseBeforeHeaders,
        Fault::HangBeforeHeaders,
        Fault::HangMidStream { after_frames: 2 },
        Fault::CloseMidStream { after_frames: 2 },
        Fault::GarbageFrame { after_frames: 2 },
        Fault::TruncatedJson,
        Fault::RateLimited {
            retry_after_secs: 1,
        },
        Fault::Status(400),
        Fault::Status(401),
        Fault::Status(500),
        Fault::ErrorInside200,
        Fault::ErrorFrameMidStream { after_frames: 2 },
        Fault::SlowDrip { millis: 1 },
        Fault::WrongContentLength,
        Fault::GiganticBody { bytes: 2_000_000 },
        Fault::GiganticFrame { bytes: 5_000_000 },
        Fault::LyingUsage { factor: 3 },
        Fault::NoUsage,
        Fault::SplitUsage,
        Fault::NoDone,
        Fault::NoFinishReason,
        Fault::SplitBytes { chunk: 7 },
        Fault::CrLf,
    ]
}

/// Asks in both ways and returns all that came back.
async fn answers(harness: &TestGateway) -> String {
    let mut all = String::new();
    for stream in [false, true] {
        let mut body = ask(&format!("{PROMPT_CANARY} [[tokens:6]]"));
        body["stream"] = stream.into();
        body["model"] = "unserved".into();
        let path = format!("/v1/chat/completions?key={}", harness.key);
        let sent = harness
            .send(Method::POST, &path, Bytes::from(body.to_string()))
            .await;
        let got = GatewayResponse::read(sent).await;
        all.push_str(&format!("{} {:?} ", got.status, got.headers));
        all.push_str(&String::from_utf8_lossy(&got.body));
    }
    all
}

fn assert_without(place: &str, text: &str, secrets: &[&str]) {
    for secret in secrets {
        // The first half is as telling as the whole.
        let half = &secret[..secret.len() / 2];
        if let Some(at) = text.find(half) {
            let from = text.floor_char_boundary(at.saturating_sub(600));
            let to = text.ceil_char_boundary((at + 200).min(text.len()));
            panic!("{secret} is in the {place}: {}", &text[from..to]);
        }
    }
}

// covers: D-1-24
#[tokio::test]
async fn no_secret_is_in_any_answer_header_log_or_trace_whatever_upstreams_say() {
    let log = Log::capture();
    let collector = Collector::start().await;
    let harness = TestGateway::build(TestOptions {
        settings: Settings {
            whole_wait: Duration::from_millis(400),
            stream_idle: Duration::from_millis(400),
            ..Settings::default()
        },
        traces: Some((collector.url.clone(), 1_000)),
        ..TestOptions::default()
    })
    .await;
    let ours = [CANARY, HEADER_CANARY, PROXY_CANARY];
    let mut priority = 100_000;
    let mut cases = 0;
    for fault in faults() {
        // A fresh channel, tried before all others, so that none is skipped for its failures.
        priority -= 1;
        let options = ChannelOptions {
            priority,
            extra_headers: &[("x-tenant", HEADER_CANARY)],
            ..ChannelOptions::default()
        };
        let base = harness.simulator.base_url();
        let name = format!("fault-{cases}");
        harness.channel_with(&name, &base, &MODELS, options).await;
        harness.simulator.plan(Rule {
            fault,
            times: None,
            model: None,
            key: None,
            one_in: 1,
        });
        assert_without("answer", &answers(&harness).await, &ours);
        harness.simulator.clear_plans();
        cases += 1;
    }
    let proxy_words = format!(
        "HTTP/1.1 407 {PROXY_CANARY}\r\nproxy-authenticate: {PROXY_CANARY}\r\ncontent-length: 0\r\n\r\n"
    );
    let proxy = parrot(proxy_words).await.replace("/v1", "");
    let proxy = proxy.replace("http://", &format!("http://user:{PROXY_CANARY}@"));
    let mut reply = sayings(&ours.join("/"));
    reply.extend(ours.map(cut_saying));
    for reply in reply {
        priority -= 2;
        let base = parrot(reply.clone()).await;
        // Behind the proxy first, which refuses; then straight.
        for (shift, proxy) in [(0, Some(proxy.as_str())), (1, None)] {
            let options = ChannelOptions {
                priority: priority + shift,
                extra_headers: &[("x-tenant", HEADER_CANARY)],
                proxy,
                ..ChannelOptions::default()
            };
            let name = format!("parrot-{cases}-{shift}");
            harness.channel_with(&name, &base, &MODELS, options).await;
        }
        assert_without(
            &format!("answer to {reply}"),
            &answers(&harness).await,
            &ours,
        );
        cases += 1;
    }
    over_http2(&harness).await;
    harness.posted_at_rest().await;
    harness.stop_traces.send_replace(true);
    let last = harness
        .chat_with(&ask("x"), &[("authorization", "Bearer no")])
        .await;
    assert_eq!(last.status, 401);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let everything = [
        CANARY,
        HEADER_CANARY,
        PROXY_CANARY,
        PROMPT_CANARY,
        &harness.key,
    ];
    let traces: Vec<u8> = collector.bodies().concat();
    assert!(
        collector.spans().len() > 2 * cases,
        "there are traces to search"
    );
    assert_without("traces", &String::from_utf8_lossy(&traces), &everything);
    let log = log.text();
    let access = log.matches("\"target\":\"trunkline::access\"").count();
    assert!(access >= 2 * cases, "{access} lines for {cases} cases");
    for library in ["sqlx", "h2::"] {
        assert!(
            log.contains(&format!("\"target\":\"{library}")),
            "{library} is heard"
        );
    }
    assert_without("log", &log, &everything);
    assert_without("metrics", &harness.metrics().await, &everything);
}

/// One call over HTTP/2, whose library is talkative.
async fn over_http2(harness: &TestGateway) {
    use http_body_util::{BodyExt as _, Full};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let stream = TcpStream::connect(harness.address).await.unwrap();
    let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = shaken.await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(connection);
    let request = http::Request::post(format!("http://{}/v1/chat/completions", harness.address))
        .header("authorization", format!("Bearer {}", harness.key))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(ask(PROMPT_CANARY).to_string())))
        .unwrap();
    let answer = sender.send_request(request).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(!body.is_empty());
}
