//! A client of realtime connections: events in, events out, over a real socket.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Response;
use tokio_tungstenite::tungstenite::protocol::{Message, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, http::HeaderValue};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use trunkline_simulator::{RealtimeConnection, Simulator};

const PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const BEARER: (&str, &str) = ("authorization", "Bearer sk-test-1234");
pub(crate) const PATH: &str = "/v1/realtime?model=sim-voice";

pub(crate) struct Realtime {
    pub(crate) socket: WebSocketStream<TcpStream>,
    pub(crate) handshake: Response,
}

/// Connects with these headers.
pub(crate) async fn connect(
    simulator: &Simulator,
    path: &str,
    headers: &[(&'static str, &str)],
) -> Result<Realtime, Box<Error>> {
    let stream = TcpStream::connect(simulator.address()).await.unwrap();
    let address = format!("ws://{}{path}", simulator.address());
    let mut request = address.into_client_request().unwrap();
    for (name, value) in headers {
        let value = HeaderValue::from_str(value).unwrap();
        request.headers_mut().insert(*name, value);
    }
    let config = WebSocketConfig::default()
        .max_message_size(None)
        .max_frame_size(None);
    let (socket, handshake) = client_async_with_config(request, stream, Some(config)).await?;
    Ok(Realtime { socket, handshake })
}

/// Connects with a good key and reads the greeting.
pub(crate) async fn greeted(simulator: &Simulator, path: &str) -> (Realtime, Value) {
    let mut client = connect(simulator, path, &[BEARER]).await.unwrap();
    let created = client.until("session.created").await.pop().unwrap();
    (client, created)
}

/// A session that answers in text and marks its own turns.
pub(crate) async fn texting(simulator: &Simulator, instructions: &str) -> Realtime {
    let (mut client, _) = greeted(simulator, PATH).await;
    let session = json!({
        "type": "realtime",
        "output_modalities": ["text"],
        "instructions": instructions,
        "audio": {"input": {"turn_detection": null}},
    });
    client.update(session).await;
    client
}

/// A session with voice detection that answers in audio.
pub(crate) async fn talking(simulator: &Simulator, instructions: &str) -> Realtime {
    let (mut client, _) = greeted(simulator, PATH).await;
    let session = json!({"type": "realtime", "instructions": instructions});
    client.update(session).await;
    client
}

/// Loud samples of 24,000 hertz.
pub(crate) fn speech(millis: usize) -> Vec<u8> {
    [0x00, 0x20].repeat(millis * 24)
}

pub(crate) fn silence(millis: usize) -> Vec<u8> {
    vec![0; millis * 48]
}

impl Realtime {
    pub(crate) async fn send(&mut self, event: Value) {
        self.send_text(event.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, text: String) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    pub(crate) async fn append(&mut self, audio: &[u8]) {
        let audio = STANDARD.encode(audio);
        self.send(json!({"type": "input_audio_buffer.append", "audio": audio}))
            .await;
    }

    /// Speaks and is silent for long enough.
    pub(crate) async fn say(&mut self, millis: usize) {
        self.append(&[speech(millis), silence(500)].concat()).await;
    }

    pub(crate) async fn update(&mut self, session: Value) -> Value {
        self.send(json!({"type": "session.update", "session": session}))
            .await;
        self.until("session.updated").await.pop().unwrap()
    }

    /// Writes a message and asks for a response.
    pub(crate) async fn ask(&mut self, text: &str) {
        self.write(text).await;
        self.send(json!({"type": "response.create"})).await;
    }

    pub(crate) async fn write(&mut self, text: &str) {
        let content = json!([{"type": "input_text", "text": text}]);
        let item = json!({"type": "message", "role": "user", "content": content});
        self.send(json!({"type": "conversation.item.create", "item": item}))
            .await;
    }

    pub(crate) async fn message(&mut self) -> Option<Result<Message, Error>> {
        let next = timeout(PATIENCE, self.socket.next()).await;
        next.expect("a message comes")
    }

    pub(crate) async fn event(&mut self) -> Value {
        let message = self.message().await.expect("the connection is open");
        let text = message.unwrap().into_text().expect("a text message");
        serde_json::from_str(text.as_str()).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// All events up to the first of this type, that one included.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.event().await;
            let is_last = event["type"] == kind;
            events.push(event);
            if is_last {
                return events;
            }
        }
    }

    /// The response object of the next `response.done`.
    pub(crate) async fn done(&mut self) -> Value {
        let mut done = self.until("response.done").await.pop().unwrap();
        done["response"].take()
    }

    /// The `error` object of the next error.
    pub(crate) async fn error(&mut self) -> Value {
        let mut error = self.until("error").await.pop().unwrap();
        error["error"].take()
    }

    /// The code with which the connection is closed; nothing if it ends without a close frame.
    pub(crate) async fn closed(&mut self) -> Option<u16> {
        loop {
            match self.message().await {
                Some(Ok(Message::Close(frame))) => {
                    // The answer to it is written by the next use of the socket.
                    drop(self.socket.flush().await);
                    return frame.map(|frame| frame.code.into());
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }

    /// Whether nothing comes for a while.
    pub(crate) async fn is_silent(&mut self) -> bool {
        let wait = Duration::from_millis(200);
        timeout(wait, self.socket.next()).await.is_err()
    }
}

pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    let names = events.iter().map(|event| event["type"].as_str().unwrap());
    names.collect()
}

/// The only connection, once it satisfies the test.
pub(crate) async fn logged(
    simulator: &Simulator,
    is_done: impl Fn(&RealtimeConnection) -> bool,
) -> RealtimeConnection {
    for _ in 0..400 {
        let log = simulator.realtime_connections();
        if let [only] = log.as_slice()
            && is_done(only)
        {
            return only.clone();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("no such log: {:#?}", simulator.realtime_connections());
}
