//! Prices line by line, of every kind of call, in a running `trunkline dev`: what is told before it and
//! what its receipt says after it. Lines that do not come to the price explain nothing.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_types::Money;

use crate::dev::{Dev, PATIENCE, audit};
use crate::sdk::customer::{Browser, Sent, send_bytes};

/// A picture of one pixel.
const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A recording of so many seconds.
fn wav(seconds: u32) -> Vec<u8> {
    let (rate, bytes) = (8_000_u32, 8_000 * 2 * seconds);
    let mut file = b"RIFF".to_vec();
    file.extend_from_slice(&(36 + bytes).to_le_bytes());
    file.extend_from_slice(b"WAVEfmt ");
    file.extend_from_slice(&16_u32.to_le_bytes());
    // Plain samples, one channel.
    file.extend_from_slice(&[1, 0, 1, 0]);
    file.extend_from_slice(&rate.to_le_bytes());
    file.extend_from_slice(&(rate * 2).to_le_bytes());
    file.extend_from_slice(&[2, 0, 16, 0]);
    file.extend_from_slice(b"data");
    file.extend_from_slice(&bytes.to_le_bytes());
    file.resize(file.len() + usize::try_from(bytes).unwrap(), 7);
    file
}

/// A form of fields and one file.
fn form(fields: &Value, (file_name, file): (&str, &[u8])) -> (String, Vec<u8>) {
    let mut body = Vec::new();
    for (name, value) in fields.as_object().unwrap() {
        let value = value.as_str().unwrap();
        let part = format!("content-disposition: form-data; name=\"{name}\"\r\n\r\n{value}");
        body.extend_from_slice(format!("--edge\r\n{part}\r\n").as_bytes());
    }
    let head = format!("content-disposition: form-data; name=\"file\"; filename=\"{file_name}\"");
    let head = format!("--edge\r\n{head}\r\ncontent-type: application/octet-stream\r\n\r\n");
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(file);
    body.extend_from_slice(b"\r\n--edge--\r\n");
    ("multipart/form-data; boundary=edge".to_owned(), body)
}

struct Caller<'a> {
    dev: &'a Dev,
    browser: &'a Browser,
    key: String,
}

/// What is asked for, as a quote is asked for it.
struct Kind {
    name: &'static str,
    endpoint: &'static str,
    body: Value,
    /// What is counted.
    units: u64,
}

impl Caller<'_> {
    async fn send(&self, method: &str, path: &str, (kind, body): (&str, &[u8])) -> Sent {
        let url = format!("{}{path}", self.dev.api());
        let bearer = format!("Bearer {}", self.key);
        let headers = [("authorization", bearer.as_str()), ("content-type", kind)];
        send_bytes(method, &url, &headers, body).await
    }

    async fn quote(&self, kind: &Kind) -> Value {
        let ask = json!({ "endpoint": kind.endpoint, "body": kind.body }).to_string();
        let json = ("application/json", ask.as_bytes());
        let sent = self.send("POST", "/quotes", json).await;
        assert_eq!(sent.status, 200, "{}: {}", kind.name, sent.text());
        sent.json()
    }

    async fn call(&self, kind: &Kind) -> Sent {
        let path = kind.endpoint.strip_prefix("/v1").unwrap();
        let mut fields = kind.body.clone();
        match kind.name {
            "social data" => {
                let query = format!("{path}?keyword=coffee");
                return self.send("GET", &query, ("text/plain", b"")).await;
            }
            "transcription" => {
                let about = fields.as_object_mut().unwrap().remove("file").unwrap();
                let seconds = u32::try_from(about["seconds"].as_u64().unwrap()).unwrap();
                let (kind, body) = form(&fields, ("a.wav", &wav(seconds)));
                self.send("POST", path, (&kind, &body)).await
            }
            _ => {
                let body = fields.to_string();
                let json = ("application/json", body.as_bytes());
                self.send("POST", path, json).await
            }
        }
    }

    /// The receipt of a call, once it is written.
    async fn receipt(&self, request: &str) -> Value {
        let ends = Instant::now() + PATIENCE;
        loop {
            let path = format!("/api/logs/{request}");
            let (status, log) = self.browser.ask("GET", &path, None).await;
            if status == 200 || Instant::now() > ends {
                assert_eq!(status, 200, "{request}: {log}");
                return log;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

fn usd(value: &Value) -> i64 {
    let text = value.as_str().unwrap_or_else(|| panic!("{value}"));
    text.parse::<Money>().unwrap().nanos()
}

fn sum(lines: &Value) -> i64 {
    let lines = lines.as_array().unwrap_or_else(|| panic!("{lines}"));
    lines.iter().map(|line| usd(&line["amount_usd"])).sum()
}

fn kinds() -> [Kind; 7] {
    let kind = |name, endpoint, body, units| Kind {
        name,
        endpoint,
        body,
        units,
    };
    [
        kind(
            "chat",
            "/v1/chat/completions",
            json!({ "model": "sim-fast", "messages": [{ "role": "user", "content": "hello" }], "max_completion_tokens": 33 }),
            33,
        ),
        kind(
            "image",
            "/v1/images/generations",
            json!({ "model": "gpt-image-1.5", "prompt": "a cat", "n": 3 }),
            3,
        ),
        kind(
            "image edit",
            "/v1/images/edits",
            json!({ "model": "gpt-image-1.5", "prompt": "a hat on it", "image": PIXEL }),
            1,
        ),
        kind(
            "speech",
            "/v1/audio/speech",
            json!({ "model": "tts-1", "input": "Hello.", "voice": "alloy" }),
            6,
        ),
        kind(
            "transcription",
            "/v1/audio/transcriptions",
            // Seven seconds are no whole number of tokens.
            json!({ "model": "whisper-1", "file": { "seconds": 7 } }),
            7,
        ),
        kind(
            "video",
            "/v1/videos",
            json!({ "model": "sim-video", "prompt": "a cat", "seconds": "4" }),
            4,
        ),
        kind(
            "social data",
            "/v1/social/douyin/search",
            json!({ "keyword": "coffee" }),
            1,
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lines_of_every_quote_and_receipt_sum_to_its_price() {
    let dev = Dev::start().await;
    let browser = Browser::set_up(&dev).await;
    let params = json!({ "name": "laptop" });
    let (_, made) = browser.ask("POST", "/api/keys", Some(&params)).await;
    let caller = Caller {
        dev: &dev,
        browser: &browser,
        key: made["secret"].as_str().unwrap().to_owned(),
    };
    for kind in kinds() {
        let quote = caller.quote(&kind).await;
        let price = if quote["exact"] == true {
            &quote["price_usd"]
        } else {
            &quote["maximum_usd"]
        };
        assert!(usd(price) > 0, "{}: {quote:#}", kind.name);
        assert_eq!(sum(&quote["lines"]), usd(price), "{}: {quote:#}", kind.name);
        let lines = quote["lines"].as_array().unwrap();
        let last = lines.last().unwrap();
        assert_eq!(last["units"], kind.units, "{}: {quote:#}", kind.name);
        if let Some(billed) = quote.get("units_billed") {
            assert_eq!(billed, kind.units, "{}: {quote:#}", kind.name);
        }

        let sent = caller.call(&kind).await;
        assert_eq!(sent.status, 200, "{}: {}", kind.name, sent.text());
        let log = caller.receipt(&sent.header("x-request-id").unwrap()).await;
        let cost = usd(&log["cost_usd"]);
        assert!(cost > 0 && cost <= usd(price), "{}: {log:#}", kind.name);
        assert_eq!(sum(&log["lines"]), cost, "{}: {log:#}", kind.name);
        assert!(
            log["lines"][0]["units"].as_u64().unwrap() > 0,
            "{}: {log:#}",
            kind.name
        );
        if quote["exact"] == true {
            assert_eq!(cost, usd(price), "{}", kind.name);
            assert_eq!(log["lines"][0]["amount_usd"], lines[0]["amount_usd"]);
        }
    }
    audit(&dev).await;
    dev.end().await;
}
