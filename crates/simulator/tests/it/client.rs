//! A client of a few lines: it writes a request as bytes and keeps the answer as bytes, so a test
//! can see what a library would smooth over.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use trunkline_simulator::{Fault, RequestRecord, Rule, Settings, Simulator};

/// How long a test waits for something that must come.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a test waits to see that nothing comes.
const SILENCE: Duration = Duration::from_millis(200);

/// What came back on one connection.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// The body with its transfer coding taken off, as far as it came.
    pub(crate) body: Vec<u8>,
    /// The pieces of a chunked body.
    pub(crate) pieces: Vec<Vec<u8>>,
    /// Whether the body came to the end its framing promised.
    pub(crate) is_whole: bool,
    /// Whether the connection was closed; false if it was only silent.
    pub(crate) is_closed: bool,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The data of every frame of a stream.
    pub(crate) fn frames(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.body).replace("\r\n", "\n");
        text.split("\n\n")
            .filter_map(|frame| frame.strip_prefix("data: "))
            .map(str::to_owned)
            .collect()
    }

    /// The named events of a stream with their data, as far as it is JSON.
    pub(crate) fn events(&self) -> Vec<(String, Value)> {
        let text = String::from_utf8_lossy(&self.body).replace("\r\n", "\n");
        let mut events = Vec::new();
        for frame in text.split("\n\n") {
            if let Some((name, data)) = frame
                .strip_prefix("event: ")
                .and_then(|rest| rest.split_once("\ndata: "))
            {
                let data = serde_json::from_str(data).unwrap_or(Value::Null);
                events.push((name.to_owned(), data));
            }
        }
        events
    }

    /// The frames that are JSON.
    pub(crate) fn chunks(&self) -> Vec<Value> {
        let frames = self.frames();
        frames
            .iter()
            .filter_map(|frame| serde_json::from_str(frame).ok())
            .collect()
    }

    /// All content of a stream, joined.
    pub(crate) fn content(&self) -> String {
        let chunks = self.chunks();
        let parts = chunks
            .iter()
            .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
        parts.collect()
    }
}

pub(crate) async fn started() -> Simulator {
    Simulator::start(Settings::default())
        .await
        .expect("a free port on loopback")
}

pub(crate) fn always(fault: Fault) -> Rule {
    Rule {
        fault,
        times: None,
        model: None,
        key: None,
        one_in: 1,
    }
}

pub(crate) fn asking(prompt: &str) -> Value {
    json!({"model": "sim-small", "messages": [{"role": "user", "content": prompt}]})
}

pub(crate) fn streaming(prompt: &str) -> Value {
    let mut body = asking(prompt);
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    body
}

/// Asks for a completion with a good key.
pub(crate) async fn chat(simulator: &Simulator, body: &Value) -> Response {
    let mut stream = send(simulator, body).await;
    receive(&mut stream).await
}

/// Posts JSON to a path with a good key.
pub(crate) async fn post(simulator: &Simulator, path: &str, body: &Value) -> Response {
    post_as(simulator, "sk-test-1234", path, body).await
}

/// Posts JSON to a path with this key.
pub(crate) async fn post_as(
    simulator: &Simulator,
    key: &str,
    path: &str,
    body: &Value,
) -> Response {
    let head = format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
    let body = body.to_string();
    ask(simulator, "POST", path, &head, body.as_bytes()).await
}

/// Sends a request for a completion and leaves the answer on the wire.
pub(crate) async fn send(simulator: &Simulator, body: &Value) -> TcpStream {
    send_to(simulator, "/v1/chat/completions", body).await
}

/// Sends JSON to a path and leaves the answer on the wire.
pub(crate) async fn send_to(simulator: &Simulator, path: &str, body: &Value) -> TcpStream {
    let head = "authorization: Bearer sk-test-1234\r\ncontent-type: application/json\r\n";
    send_raw(simulator, "POST", path, head, body.to_string().as_bytes()).await
}

pub(crate) async fn ask(
    simulator: &Simulator,
    method: &str,
    path: &str,
    head: &str,
    body: &[u8],
) -> Response {
    let mut stream = send_raw(simulator, method, path, head, body).await;
    receive(&mut stream).await
}

/// Sends a head that announces a body, and no body.
pub(crate) async fn announce(
    simulator: &Simulator,
    method: &str,
    path: &str,
    head: &str,
    length: usize,
) -> Response {
    let mut stream = connect(simulator, method, path, head, length).await;
    receive(&mut stream).await
}

async fn send_raw(
    simulator: &Simulator,
    method: &str,
    path: &str,
    head: &str,
    body: &[u8],
) -> TcpStream {
    let mut stream = connect(simulator, method, path, head, body.len()).await;
    stream.write_all(body).await.unwrap();
    stream
}

async fn connect(
    simulator: &Simulator,
    method: &str,
    path: &str,
    head: &str,
    length: usize,
) -> TcpStream {
    let mut stream = TcpStream::connect(simulator.address()).await.unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: simulator\r\nconnection: close\r\n{head}\
         content-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Reads until the connection is closed or silent.
pub(crate) async fn receive(stream: &mut TcpStream) -> Response {
    let mut bytes = Vec::new();
    let mut is_closed = false;
    let mut piece = vec![0; 64 * 1024];
    // Nothing may come for a while at the start, when the answer is paced.
    let mut wait = PATIENCE;
    if hangs(stream).await {
        wait = SILENCE;
    }
    while let Ok(read) = timeout(wait, stream.read(&mut piece)).await {
        match read {
            Ok(0) | Err(_) => {
                is_closed = true;
                break;
            }
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
        wait = SILENCE.max(Duration::from_millis(500));
    }
    parse(&bytes, is_closed)
}

async fn hangs(stream: &TcpStream) -> bool {
    timeout(Duration::from_secs(2), stream.readable())
        .await
        .is_err()
}

fn parse(bytes: &[u8], is_closed: bool) -> Response {
    let mut got = Response {
        status: 0,
        headers: Vec::new(),
        body: Vec::new(),
        pieces: Vec::new(),
        is_whole: false,
        is_closed,
    };
    let Some(end) = find(bytes, b"\r\n\r\n") else {
        return got;
    };
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    got.status = status.unwrap().parse().unwrap();
    got.headers = lines
        .map(|line| line.split_once(": ").expect("a header has a colon"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut rest = &bytes[end + 4..];
    if got.header("transfer-encoding") == Some("chunked") {
        while let Some(line) = find(rest, b"\r\n") {
            let digits = std::str::from_utf8(&rest[..line]).unwrap();
            let size = usize::from_str_radix(digits, 16).expect("a chunk has a size");
            rest = &rest[line + 2..];
            got.is_whole = size == 0;
            if size == 0 || rest.len() < size + 2 {
                break;
            }
            got.pieces.push(rest[..size].to_vec());
            rest = &rest[size + 2..];
        }
        got.body = got.pieces.concat();
    } else {
        let promised = got
            .header("content-length")
            .and_then(|text| text.parse().ok());
        got.is_whole = promised == Some(rest.len());
        got.body = rest.to_vec();
    }
    got
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes
        .windows(needle.len())
        .position(|window| window == needle)
}

/// The only record, once it satisfies the test.
pub(crate) async fn served(
    simulator: &Simulator,
    is_done: impl Fn(&RequestRecord) -> bool,
) -> RequestRecord {
    for _ in 0..400 {
        let truth = simulator.requests();
        if let [only] = truth.as_slice()
            && is_done(only)
        {
            return only.clone();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("no such record: {:#?}", simulator.requests());
}
