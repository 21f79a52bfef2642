//! A new customer and a running `trunkline dev`: from the set-up link to a key, a call, its cost, its
//! price lines and a task that is stopped, through nothing but HTTP.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::dev::{Dev, PATIENCE, audit};
use crate::sdk::console::schemathesis;

/// An answer.
pub(crate) struct Sent {
    pub(crate) status: u16,
    head: String,
    body: Vec<u8>,
}

impl Sent {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut named = lines.filter(|(one, _)| one.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.to_owned())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// By the plainest of clients.
pub(crate) async fn send_bytes(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Sent {
    let (host, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let mut text = format!("{method} /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    let mut stream = TcpStream::connect(host).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let edge = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let body = answer.split_off(edge.unwrap() + 4);
    let head = String::from_utf8(answer).unwrap();
    Sent {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head,
        body,
    }
}

/// A status, a head and JSON.
async fn send(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> (u16, String, Value) {
    let mut all = vec![("content-type", "application/json")];
    all.extend_from_slice(headers);
    let body = body.map(ToString::to_string).unwrap_or_default();
    let sent = send_bytes(method, url, &all, body.as_bytes()).await;
    let json = sent.json();
    (sent.status, sent.head, json)
}

/// A browser that is signed in.
pub(crate) struct Browser {
    dash: String,
    cookie: String,
}

impl Browser {
    /// Opens the link that the first start prints.
    pub(crate) async fn set_up(dev: &Dev) -> Self {
        let dash = dev.text("dash_url").to_owned();
        let (_, token) = dev.text("operator_link").split_once('#').unwrap();
        let body = json!({
            "token": token,
            "email": "ada@example.com",
            "name": "Ada",
            "password": "correct horse battery",
            "organisation": "Acme",
        });
        let own = [("x-trunkline-console", "1"), ("origin", dash.as_str())];
        let url = format!("{dash}/api/setup");
        let (status, head, session) = send("POST", &url, &own, Some(&body)).await;
        assert_eq!(status, 200, "{session}");
        let line = head
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = line.unwrap().split(';').next().unwrap().to_owned();
        Self { dash, cookie }
    }

    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let own = [
            ("x-trunkline-console", "1"),
            ("origin", self.dash.as_str()),
            ("cookie", self.cookie.as_str()),
        ];
        let url = format!("{}{path}", self.dash);
        let (status, _, answer) = send(method, &url, &own, body).await;
        (status, answer)
    }

    async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.ask("GET", path, None).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }
}

async fn call(dev: &Dev, key: &str, path: &str, body: &Value) -> Value {
    let bearer = format!("Bearer {key}");
    let url = format!("{}{path}", dev.api());
    let (status, _, answer) = send("POST", &url, &[("authorization", &bearer)], Some(body)).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

// covers: G-5-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_customer_makes_a_key_calls_with_it_and_sees_what_it_cost() {
    let dev = Dev::start().await;
    let browser = Browser::set_up(&dev).await;
    let params = json!({ "name": "laptop", "budgets": [{ "period": "daily", "limit_usd": "1" }] });
    let (status, made) = browser.ask("POST", "/api/keys", Some(&params)).await;
    assert_eq!(status, 201, "{made}");
    let (id, secret) = (made["key"]["id"].clone(), made["secret"].as_str().unwrap());
    let green = format!("/api/keys/{id}/first-call");
    assert_eq!(browser.get(&green).await, json!({ "call": null }));

    // The key works at once, on this very node.
    let body = json!({ "model": "sim-fast", "messages": [{ "role": "user", "content": "hello" }] });
    call(&dev, secret, "/chat/completions", &body).await;
    let ends = Instant::now() + PATIENCE;
    let first = loop {
        let first = browser.get(&green).await["call"].clone();
        if !first.is_null() || Instant::now() > ends {
            break first;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert_eq!(
        (&first["model"], &first["charged"]),
        (&json!("sim-fast"), &json!(true))
    );

    let request = first["request_id"].as_str().unwrap();
    let log = browser.get(&format!("/api/logs/{request}")).await;
    let lines = log["lines"].as_array().expect("the price, line by line");
    assert!(
        lines.iter().any(|line| line["face"] == "input"),
        "{lines:?}"
    );
    assert_eq!(log["attempts"][0]["channel"], "upstream 1");
    assert_eq!(log["attempts"][0]["outcome"], "answered");
    let found = browser.get(&format!("/api/logs?q={request}")).await;
    assert_eq!(found["data"][0]["request_id"], request);
    let home = browser.get("/api/home").await;
    assert_eq!(
        (&home["has_key"], &home["has_called"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(home["calls_today"], 1);

    // The playground's key calls too.
    let (status, playground) = browser
        .ask("POST", "/api/playground/key", Some(&json!({})))
        .await;
    assert_eq!(status, 200, "{playground}");
    let play = playground["secret"].as_str().unwrap();
    call(&dev, play, "/chat/completions", &body).await;
    audit(&dev).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemathesis_finds_no_lie_in_what_a_signed_in_person_reads() {
    let dev = Dev::start().await;
    let browser = Browser::set_up(&dev).await;
    let (_, made) = browser
        .ask("POST", "/api/keys", Some(&json!({ "name": "laptop" })))
        .await;
    let secret = made["secret"].as_str().unwrap();
    let body = json!({ "model": "sim-fast", "messages": [{ "role": "user", "content": "hello" }] });
    call(&dev, secret, "/chat/completions", &body).await;
    let video = json!({ "model": "sim-video", "prompt": "a cat", "seconds": "4" });
    call(&dev, secret, "/videos", &video).await;
    let mut document = browser.get("/openapi.json").await;
    let own = ["wallet", "keys", "logs", "tasks", "usage"];
    let mut operations = 0;
    for item in document["paths"].as_object_mut().unwrap().values_mut() {
        let item = item.as_object_mut().unwrap();
        // What changes things would end the sign-in or the key that it is tried with.
        item.retain(|method, operation| {
            let tag = operation["tags"][0].as_str().unwrap_or_default();
            method == "get" && own.contains(&tag)
        });
        operations += item.len();
    }
    assert_eq!(operations, 15);
    let cookie = format!("cookie: {}", browser.cookie);
    // A few of each are enough here: what is looked at is answers, and there are few kinds of them.
    let words = ["--header", cookie.as_str(), "--max-examples", "6"];
    // Days, amounts and ids have rules that a schema cannot say; what is answered has none.
    let phases_and_checks = (
        "examples,coverage,fuzzing",
        "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
    );
    let (succeeded, text) = schemathesis(&browser.dash, &document, phases_and_checks, &words).await;
    assert!(succeeded, "{text}");
    assert!(!text.contains("Authentication failed"), "{text}");
    audit(&dev).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_waits_is_stopped_at_the_console_and_costs_nothing() {
    let dev = Dev::start().await;
    let browser = Browser::set_up(&dev).await;
    let (_, made) = browser
        .ask("POST", "/api/keys", Some(&json!({ "name": "studio" })))
        .await;
    let secret = made["secret"].as_str().unwrap();
    // One that is done has a file, by a link that needs no key.
    let body = json!({ "model": "sim-video", "prompt": "a cat", "seconds": "4" });
    let video = call(&dev, secret, "/videos", &body).await;
    let path = format!("/api/tasks/{}", video["id"].as_str().unwrap());
    let ends = Instant::now() + PATIENCE;
    let done = loop {
        let done = browser.get(&path).await;
        if done["state"] == "completed" || Instant::now() > ends {
            break done;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    };
    assert_eq!(done["state"], "completed", "{done}");
    let (status, head) = send_head(done["media"]["url"].as_str().unwrap()).await;
    assert_eq!(status, 200, "{head}");
    assert!(head.contains("video/mp4"), "{head}");
    assert!(!head.contains("content-disposition"), "it is shown: {head}");
    // A page at another address cannot name a file that it links to; the file names itself.
    let (status, head) = send_head(done["media"]["download_url"].as_str().unwrap()).await;
    let named = format!(
        "attachment; filename=\"{}.mp4\"",
        video["id"].as_str().unwrap()
    );
    assert_eq!(status, 200, "{head}");
    assert!(head.contains(&named.to_lowercase()), "{head}");

    // The simulator has no capacity for this one, however often it is requested.
    let body = json!({ "model": "sim-video", "prompt": "a <b>cat</b> [[id:w]][[job:full:100000]]", "seconds": "4" });
    let task = call(&dev, secret, "/videos", &body).await;
    let id = task["id"].as_str().unwrap();
    let path = format!("/api/tasks/{id}");
    let view = browser.get(&path).await;
    assert_eq!(
        (&view["state"], &view["can_cancel"]),
        (&json!("queued"), &json!(true)),
        "{view}"
    );
    assert!(
        view["prompt"].as_str().unwrap().starts_with("a <b>cat</b>"),
        "{view}"
    );
    assert_eq!(view["family"], "openai_videos");
    let (status, stopped) = browser.ask("POST", &format!("{path}/cancel"), None).await;
    assert_eq!(status, 200, "{stopped}");
    assert_eq!(
        (&stopped["state"], &stopped["cost_usd"]),
        (&json!("cancelled"), &json!("0"))
    );
    let (status, repeated) = browser.ask("POST", &format!("{path}/cancel"), None).await;
    assert_eq!(
        (status, &repeated["error"]["code"]),
        (409, &json!("conflict"))
    );
    audit(&dev).await;
    dev.end().await;
}

/// A status and a head, whatever the body.
async fn send_head(url: &str) -> (u16, String) {
    let sent = send_bytes("GET", url, &[], b"").await;
    (sent.status, sent.head.to_lowercase())
}
