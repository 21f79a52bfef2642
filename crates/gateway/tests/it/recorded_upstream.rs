//! Answers from a file, played byte for byte to any client, and what was asked.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use http::HeaderMap;
use http::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// One case of a provider: `NAME.http` and `NAME.toml`.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) expected: Expected,
    script: Vec<Vec<u8>>,
}

/// What the caller must see and what must be billed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    /// Whether the caller asks for a stream.
    pub(crate) stream: bool,
    pub(crate) status: u16,
    /// Why the answer ended, and what it says; none for an error.
    pub(crate) finish: Option<String>,
    pub(crate) text: Option<String>,
    /// What it reasons, as a caller of messages must see it: read under whatever name the vendor has for it.
    pub(crate) reasoning: Option<String>,
    /// The error's code, and a part of its message; none for an answer.
    pub(crate) code: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) retry_after: Option<u64>,
    /// Whether we had to count because the upstream reported none.
    #[serde(default)]
    pub(crate) estimated: bool,
    /// In nano-USD.
    pub(crate) charged: i64,
    /// Billed units per face.
    #[serde(default)]
    pub(crate) units: BTreeMap<String, u64>,
}

/// What every folder must show at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequiredCase {
    WholeAnswer,
    Stream,
    RefusedRequest,
    RateLimit,
}

/// What was asked for.
pub(crate) struct RecordedRequest {
    pub(crate) first_line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

pub(crate) struct RecordedUpstream(TcpListener);

// === impl RequiredCase ===

impl RequiredCase {
    pub(crate) const ALL: [Self; 4] = [
        Self::WholeAnswer,
        Self::Stream,
        Self::RefusedRequest,
        Self::RateLimit,
    ];

    fn is_shown_by(self, case: &Expected) -> bool {
        let answered = case.status == 200 && case.finish.is_some();
        match self {
            Self::WholeAnswer => answered && !case.stream,
            Self::Stream => answered && case.stream,
            Self::RefusedRequest => matches!(case.status, 400..=428 | 430..=499),
            Self::RateLimit => case.status == 429,
        }
    }
}

/// Where the folders of the providers are.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/providers")
}

/// The cases of one folder, by name, or what it lacks.
pub(crate) fn cases(folder: &Path) -> Result<Vec<Case>, String> {
    let root = folder.display();
    let Ok(entries) = fs::read_dir(folder) else {
        return Err(format!("there is no folder {root}"));
    };
    let mut names: BTreeMap<String, [bool; 2]> = BTreeMap::new();
    for entry in entries {
        let path = entry.unwrap().path();
        let part = |part: Option<&std::ffi::OsStr>| part.unwrap().to_str().unwrap().to_owned();
        let is_answer = match part(path.extension()).as_str() {
            "http" => true,
            "toml" => false,
            other => return Err(format!("{root}: .{other} is neither .http nor .toml")),
        };
        let halves = names.entry(part(path.file_stem())).or_default();
        halves[usize::from(is_answer)] = true;
    }
    let mut cases = Vec::new();
    for (name, halves) in names {
        if halves != [true, true] {
            return Err(format!(
                "{root}/{name}: an .http and a .toml belong together"
            ));
        }
        cases.push(Case::read(folder, name)?);
    }
    for lesson in RequiredCase::ALL {
        if !cases.iter().any(|case| lesson.is_shown_by(&case.expected)) {
            return Err(format!("{root}: no case shows {lesson:?}"));
        }
    }
    Ok(cases)
}

// === impl Case ===

impl Case {
    fn read(folder: &Path, name: String) -> Result<Self, String> {
        let path = |ending: &str| folder.join(format!("{name}.{ending}"));
        let text = |path: PathBuf| String::from_utf8(fs::read(path).unwrap()).unwrap();
        let expected: Expected = toml::from_str(&text(path("toml")))
            .map_err(|error| format!("{}: {error}", path("toml").display()))?;
        let is_answer = expected.finish.is_some() && expected.text.is_some();
        let is_error = expected.code.is_some() && expected.charged == 0;
        if is_answer == is_error {
            let path = path("toml").display().to_string();
            return Err(format!(
                "{path}: either finish and text, or a code and no charge"
            ));
        }
        let script = script(&text(path("http")));
        Ok(Self {
            name,
            expected,
            script,
        })
    }
}

/// The pieces to write. A file has plain line ends and no length: both are made here. A stream goes
/// out event by event, as vendors send it.
fn script(file: &str) -> Vec<Vec<u8>> {
    let (head, body) = file.split_once("\n\n").expect("a head and a body");
    let head = head.replace('\n', "\r\n");
    if !head.contains("text/event-stream") {
        let length = body.len();
        return vec![
            format!("{head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n").into_bytes(),
            body.as_bytes().to_vec(),
        ];
    }
    let head = format!("{head}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n");
    let mut pieces = vec![head.into_bytes()];
    for event in body.split_inclusive("\n\n") {
        pieces.push(format!("{:x}\r\n{event}\r\n", event.len()).into_bytes());
    }
    pieces.push(b"0\r\n\r\n".to_vec());
    pieces
}

// === impl RecordedUpstream ===

impl RecordedUpstream {
    pub(crate) async fn new() -> Self {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        Self(TcpListener::bind(any).await.unwrap())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    /// Refuses one call.
    pub(crate) async fn refuse(&self) -> RecordedRequest {
        const REFUSAL: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 26\r\n\
            content-type: application/json\r\nconnection: close\r\n\r\n{\"error\":{\"message\":\"no\"}}";
        let (mut stream, _) = self.0.accept().await.unwrap();
        let request = read_request(&mut stream).await;
        stream.write_all(REFUSAL).await.unwrap();
        stream.shutdown().await.unwrap();
        request
    }

    /// Answers one call with a body of JSON.
    pub(crate) async fn answer(&self, json: &str) -> RecordedRequest {
        let (mut stream, _) = self.0.accept().await.unwrap();
        let request = read_request(&mut stream).await;
        let length = json.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\ncontent-type: application/json\r\n\
             connection: close\r\n\r\n{json}"
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        request
    }

    /// Answers one call as its file says.
    pub(crate) async fn play(&self, case: &Case) -> RecordedRequest {
        let (mut stream, _) = self.0.accept().await.unwrap();
        let request = read_request(&mut stream).await;
        for piece in &case.script {
            stream.write_all(piece).await.unwrap();
            stream.flush().await.unwrap();
        }
        stream.shutdown().await.unwrap();
        request
    }
}

async fn read_request(stream: &mut TcpStream) -> RecordedRequest {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "a head");
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let first_line = lines.next().unwrap().to_owned();
    let headers: HeaderMap = lines
        .map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            (name, HeaderValue::from_str(value).unwrap())
        })
        .collect();
    let length = headers.get(CONTENT_LENGTH).unwrap().to_str().unwrap();
    let whole = end + 4 + length.parse::<usize>().unwrap();
    while bytes.len() < whole {
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "a body");
    }
    RecordedRequest {
        first_line,
        headers,
        body: serde_json::from_slice(&bytes[end + 4..]).unwrap(),
    }
}
