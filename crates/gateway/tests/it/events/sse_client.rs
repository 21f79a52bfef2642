//! A plain client of server-sent events: one socket, read line by line.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// Longest wait for anything that must come.
pub(crate) const WAIT: Duration = Duration::from_secs(60);

/// One block of a stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) data: Option<Value>,
    pub(crate) comment: Option<String>,
    pub(crate) retry: Option<String>,
}

pub(crate) struct Follower {
    stream: BufReader<TcpStream>,
    pub(crate) status: u16,
    pub(crate) head: Vec<String>,
    body: Vec<u8>,
    /// As a browser keeps it.
    pub(crate) last_id: Option<String>,
}

impl Frame {
    /// The number, which every stored event has.
    pub(crate) fn seq(&self) -> i64 {
        let data = self.data.as_ref().unwrap();
        data["seq"].as_i64().unwrap_or_else(|| panic!("{data}"))
    }

    pub(crate) fn topic(&self) -> &str {
        self.event.as_deref().unwrap_or_default()
    }

    fn read(block: &str) -> Self {
        let mut frame = Self::default();
        for line in block.lines().filter(|line| !line.is_empty()) {
            match line.split_once(": ").unwrap_or((line, "")) {
                ("id", value) => frame.id = Some(value.to_owned()),
                ("event", value) => frame.event = Some(value.to_owned()),
                ("data", value) => frame.data = Some(serde_json::from_str(value).unwrap()),
                ("retry", value) => frame.retry = Some(value.to_owned()),
                ("", value) => frame.comment = Some(value.to_owned()),
                (other, _) => panic!("an unknown line: {other:?}"),
            }
        }
        frame
    }
}

impl Follower {
    /// Asks, and reads the head.
    pub(crate) async fn open(address: SocketAddr, key: &str, query: &str) -> Self {
        Self::ask("GET", address, key, query, None).await
    }

    /// Goes on where another one was, as a browser does.
    pub(crate) async fn after(address: SocketAddr, key: &str, query: &str, last: &str) -> Self {
        Self::ask("GET", address, key, query, Some(last)).await
    }

    pub(crate) async fn ask(
        method: &str,
        address: SocketAddr,
        key: &str,
        query: &str,
        last: Option<&str>,
    ) -> Self {
        let last_id = last.map(str::to_owned);
        let last = last.map_or(String::new(), |last| format!("last-event-id: {last}\r\n"));
        let request = format!(
            "{method} /v1/events{query} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n{last}\r\n"
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            let read = tokio::time::timeout(WAIT, stream.read_line(&mut line));
            assert!(read.await.unwrap().unwrap() > 0, "no head: {head:?}");
            if line == "\r\n" {
                break;
            }
            head.push(line.trim_end().to_owned());
        }
        let status = head[0].split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            stream,
            status,
            head,
            body: Vec::new(),
            last_id,
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.iter();
        let mut lines = lines.filter_map(|line| line.split_once(": "));
        lines
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// All of an answer that is not a stream.
    pub(crate) async fn whole(mut self) -> Value {
        let length = self.header("content-length").unwrap().parse().unwrap();
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    /// The next block; none when the stream has ended.
    pub(crate) async fn frame(&mut self) -> Option<Frame> {
        loop {
            let end = self.body.windows(2).position(|pair| pair == b"\n\n");
            if let Some(end) = end {
                let rest = self.body.split_off(end + 2);
                let block = std::mem::replace(&mut self.body, rest);
                let frame = Frame::read(std::str::from_utf8(&block).unwrap());
                if frame.id.is_some() {
                    self.last_id.clone_from(&frame.id);
                }
                return Some(frame);
            }
            if !tokio::time::timeout(WAIT, self.chunk())
                .await
                .expect("something comes in time")
            {
                assert!(self.body.is_empty(), "a frame is cut");
                return None;
            }
        }
    }

    /// One piece of the body; false at its end.
    async fn chunk(&mut self) -> bool {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return false;
        }
        let length = usize::from_str_radix(line.trim_end(), 16).unwrap();
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes).await.unwrap();
        bytes.truncate(length);
        self.body.extend(bytes);
        length > 0
    }

    /// The next event, live or stored.
    pub(crate) async fn event(&mut self) -> Frame {
        loop {
            let frame = self.frame().await.expect("the stream goes on");
            if frame.data.is_some() {
                return frame;
            }
        }
    }

    /// Numbers of the account's next events.
    pub(crate) async fn numbers(&mut self, many: usize) -> Vec<i64> {
        let mut numbers = Vec::with_capacity(many);
        while numbers.len() < many {
            numbers.push(self.event().await.seq());
        }
        numbers
    }

    /// Waits until the place was told, so that everything after is heard.
    pub(crate) async fn placed(mut self) -> Self {
        assert_eq!(self.status, 200, "{:?}", self.head);
        loop {
            let frame = self.frame().await.expect("the stream goes on");
            assert_eq!(frame.data, None, "{frame:?}");
            if frame.id.is_some() {
                return self;
            }
        }
    }
}
