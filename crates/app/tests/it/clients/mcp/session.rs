//! A client of the MCP server, as plain as the protocol allows, over both transports.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::clients::ledger_rows::Customer;
use crate::dev::{Dev, PATIENCE, TRUNKLINE};

const VERSION: &str = "2025-06-18";

/// A server that this test started, over its standard input and output.
pub(super) struct Pipes {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    last_id: u64,
}

/// A server that this test started, over HTTP.
pub(super) struct HttpServer {
    child: Child,
    pub(super) url: String,
}

fn mcp(dev: &Dev, key: &str) -> Command {
    let mut command = Command::new(TRUNKLINE);
    command
        .args(["mcp", "--url", dev.text("base_url")])
        .env("TRUNKLINE_KEY", key)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    command
}

fn tool_call(id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

// === impl Pipes ===

impl Pipes {
    /// Up to the end of the handshake.
    pub(super) async fn start(dev: &Dev, customer: &Customer) -> Self {
        let mut child = mcp(dev, &customer.key)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipes = Self {
            input: child.stdin.take().unwrap(),
            lines: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
            last_id: 0,
        };
        let hello = json!({
            "protocolVersion": VERSION, "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = pipes.request("initialize", hello).await;
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], VERSION, "{answer:#}");
        assert_eq!(result["serverInfo"]["name"], "trunkline", "{answer:#}");
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        pipes.write(&ready.to_string()).await;
        pipes
    }

    pub(super) async fn write(&mut self, line: &str) {
        self.input.write_all(line.as_bytes()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    pub(super) async fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&request.to_string()).await;
        loop {
            let line = timeout(PATIENCE, self.lines.next_line()).await;
            let line = line.expect("an answer in time").unwrap().expect("a line");
            // Nothing else is ever printed there.
            let answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            assert_eq!(answer["jsonrpc"], "2.0", "{line}");
            if answer["id"] == id {
                return answer;
            }
        }
    }

    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.request("tools/call", params).await
    }

    /// Closes its input; it ends by itself.
    pub(super) async fn end(mut self) -> Option<i32> {
        drop(self.input);
        let status = timeout(PATIENCE, self.child.wait()).await;
        status.expect("it ends").unwrap().code()
    }
}

// === impl HttpServer ===

impl HttpServer {
    /// With a key in its environment, which it must not use.
    pub(super) async fn start(dev: &Dev, key: &str) -> Self {
        let mut command = mcp(dev, key);
        command.args(["--listen", "127.0.0.1:0", "--json"]);
        let mut child = command.stdin(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = timeout(PATIENCE, lines.next_line()).await;
        let line = line.expect("it is ready in time").unwrap().expect("a line");
        let ready: Value = serde_json::from_str(&line).unwrap();
        let url = ready["url"].as_str().unwrap().to_owned();
        Self { child, url }
    }

    pub(super) async fn post(
        &self,
        key: Option<&str>,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> (u16, Value) {
        post(&self.url, key, headers, body).await
    }

    pub(super) async fn call(&self, key: &str, tool: &str, arguments: Value) -> Value {
        let version = [("mcp-protocol-version", VERSION)];
        let (status, answer) = self
            .post(Some(key), &version, &tool_call(1, tool, &arguments))
            .await;
        assert_eq!(status, 200, "{answer:#}");
        answer
    }

    pub(super) async fn end(mut self) -> Option<i32> {
        let id = self.child.id().unwrap().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().await;
        assert!(sent.unwrap().success());
        let status = timeout(PATIENCE, self.child.wait()).await;
        status.expect("it ends").unwrap().code()
    }
}

/// One request on a connection of its own; an answer that is not JSON is null.
pub(super) async fn post(
    url: &str,
    key: Option<&str>,
    headers: &[(&str, &str)],
    body: &Value,
) -> (u16, Value) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap());
    let mut head = format!("POST {path} HTTP/1.1\r\nconnection: close\r\n");
    let body = body.to_string();
    let usual = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    for (name, value) in usual.iter().chain(headers) {
        head += &format!("{name}: {value}\r\n");
    }
    if !headers.iter().any(|(name, _)| *name == "host") {
        head += &format!("host: {host}\r\n");
    }
    if let Some(key) = key {
        head += &format!("authorization: Bearer {key}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    let mut stream = TcpStream::connect(host).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    // A server that refuses it need not read it.
    drop(stream.write_all(body.as_bytes()).await);
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("{url}: {answer:?}"));
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}
