//! A gateway that sells a voice model of the simulator's, and a client of it.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use trunkline_gateway::Settings;
use trunkline_simulator::{RealtimeConnection, RealtimeUsage};

use crate::test_gateway::{ChannelOptions, TestGateway, TestOptions};

const CATALOG: &str = include_str!("catalog.toml");
const WAIT: Duration = Duration::from_secs(20);
pub(crate) const PATH: &str = "/v1/realtime?model=live-voice";
/// Nano-USD of one token.
const INPUT_TEXT: u64 = 4_000;
const INPUT_AUDIO: u64 = 32_000;
const CACHED: u64 = 400;
const OUTPUT_TEXT: u64 = 24_000;
const OUTPUT_AUDIO: u64 = 64_000;

/// A client's end of a connection.
pub(crate) struct Client {
    pub(crate) socket: WebSocketStream<TcpStream>,
    /// The sub-protocol that was chosen.
    pub(crate) protocol: Option<String>,
}

/// A handshake that was refused: its status and its body.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl TestGateway {
    pub(crate) async fn realtime(paid: i64) -> Self {
        Self::realtime_with(Settings::default(), paid).await
    }

    pub(crate) async fn realtime_with(settings: Settings, paid: i64) -> Self {
        Self::realtime_of(TestOptions {
            settings,
            paid,
            ..TestOptions::default()
        })
        .await
    }

    pub(crate) async fn realtime_of(options: TestOptions) -> Self {
        let harness = Self::build(options).await;
        harness.sell_realtime().await;
        harness
    }

    /// Adds the models and their channel.
    pub(crate) async fn sell_realtime(&self) {
        self.sell(CATALOG).await;
        let base = format!("http://{}/v1", self.simulator.address());
        let models = [
            ("live-voice", "sim-voice"),
            ("live-line", "sim-voice"),
            ("live-time", "sim-voice"),
            ("live-ears", "whisper-1"),
            ("live-words", "gpt-4o-transcribe"),
        ];
        let options = ChannelOptions {
            provider: Some("openai"),
            priority: 10,
            ..ChannelOptions::default()
        };
        self.channel_with("voice", &base, &models, options).await;
    }

    pub(crate) async fn connect(&self) -> Client {
        let bearer = format!("Bearer {}", self.key);
        let connected = self.connect_as(PATH, &[("authorization", &bearer)]).await;
        connected.unwrap()
    }

    pub(crate) async fn connect_to(&self, model: &str) -> Client {
        let bearer = format!("Bearer {}", self.key);
        let path = format!("/v1/realtime?model={model}");
        let connected = self.connect_as(&path, &[("authorization", &bearer)]).await;
        connected.unwrap()
    }

    pub(crate) async fn connect_as(
        &self,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Client, Refused> {
        let uri = format!("ws://{}{path}", self.address);
        let mut request = uri.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(self.address).await.unwrap();
        match tokio_tungstenite::client_async(request, stream).await {
            Ok((socket, response)) => Ok(Client {
                socket,
                protocol: response
                    .headers()
                    .get("sec-websocket-protocol")
                    .map(|value| value.to_str().unwrap().to_owned()),
            }),
            Err(Error::Http(response)) => Err(Refused {
                status: response.status().as_u16(),
                body: serde_json::from_slice(response.body().as_deref().unwrap_or_default())
                    .unwrap_or_default(),
            }),
            Err(other) => panic!("{other}"),
        }
    }

    /// The only connection that the simulator had.
    pub(crate) fn served(&self) -> RealtimeConnection {
        let mut all = self.simulator.realtime_connections();
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    /// The same, when the vendor's side has ended.
    pub(crate) async fn ended(&self) -> RealtimeConnection {
        for _ in 0..1_000 {
            let served = self.served();
            if served.end.is_some() {
                return served;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the vendor's side does not end: {:?}", self.served());
    }

    /// Waits until nothing is held, and checks the books.
    pub(crate) async fn at_rest(&self) -> i64 {
        let posted = self.posted_at_rest().await;
        self.audit().await;
        posted
    }
}

impl Client {
    pub(crate) async fn send(&mut self, event: Value) {
        self.socket
            .send(Message::text(event.to_string()))
            .await
            .unwrap();
    }

    /// The next event; an error has the close code, where there was one.
    pub(crate) async fn next(&mut self) -> Result<Value, Option<u16>> {
        loop {
            let next = tokio::time::timeout(WAIT, self.socket.next()).await;
            match next.expect("an event in time") {
                Some(Ok(Message::Text(text))) => {
                    return Ok(serde_json::from_str(text.as_str()).unwrap());
                }
                Some(Ok(Message::Close(frame))) => {
                    return Err(frame.map(|frame| u16::from(frame.code)));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    /// The next event of a type. Errors fail the test.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let event = self.next().await.unwrap();
            assert!(kind == "error" || event["type"] != "error", "{event}");
            if event["type"] == kind {
                return event;
            }
        }
    }

    /// All events to the end, and the close code.
    pub(crate) async fn rest(&mut self) -> (Vec<Value>, Option<u16>) {
        let mut events = Vec::new();
        loop {
            match self.next().await {
                Ok(event) => events.push(event),
                Err(code) => return (events, code),
            }
        }
    }

    /// A session in text, whose responses begin when they are asked for.
    pub(crate) async fn text_session(&mut self, instructions: &str) {
        let session = json!({
            "type": "realtime", "output_modalities": ["text"], "instructions": instructions,
            "audio": { "input": { "turn_detection": null } },
        });
        self.send(json!({ "type": "session.update", "session": session }))
            .await;
        self.until("session.updated").await;
    }

    /// A message of the user's.
    pub(crate) async fn write(&mut self, text: &str) {
        let content = [json!({ "type": "input_text", "text": text })];
        let item = json!({ "type": "message", "role": "user", "content": content });
        self.send(json!({ "type": "conversation.item.create", "item": item }))
            .await;
    }

    /// A message and the end of its response.
    pub(crate) async fn ask(&mut self, text: &str) -> Value {
        self.write(text).await;
        self.send(json!({ "type": "response.create" })).await;
        self.until("response.done").await
    }

    /// Speech of so many milliseconds, then silence that ends the turn.
    pub(crate) async fn speak(&mut self, millis: usize) {
        for _ in 0..millis.div_ceil(100) {
            self.audio(8_000).await;
        }
        for _ in 0..6 {
            self.audio(0).await;
        }
    }

    /// A tenth of a second.
    async fn audio(&mut self, level: i16) {
        let bytes: Vec<u8> = std::iter::repeat_n(level.to_le_bytes(), 2_400)
            .flatten()
            .collect();
        let audio = STANDARD.encode(bytes);
        self.send(json!({ "type": "input_audio_buffer.append", "audio": audio }))
            .await;
    }

    pub(crate) async fn close(mut self) {
        self.socket.close(None).await.unwrap();
        while self.next().await.is_ok() {}
    }
}

/// What usage costs, in nano-USD.
pub(crate) fn price(used: &RealtimeUsage) -> i64 {
    price_with(used, CACHED)
}

/// The same where a token of cached audio has this price.
pub(crate) fn price_with(used: &RealtimeUsage, cached_audio: u64) -> i64 {
    let cached = used.cached_text + used.cached_image;
    let nanos = (used.input_text - used.cached_text) * INPUT_TEXT
        + (used.input_audio - used.cached_audio) * INPUT_AUDIO
        + cached * CACHED
        + used.cached_audio * cached_audio
        + used.output_text * OUTPUT_TEXT
        + used.output_audio * OUTPUT_AUDIO;
    i64::try_from(nanos).unwrap()
}

/// The cost that an event says, in nano-USD.
pub(crate) fn cost(event: &Value) -> i64 {
    let text = event["trunkline"]["cost_usd"].as_str();
    let money: trunkline_types::Money = text.unwrap_or_else(|| panic!("{event}")).parse().unwrap();
    money.nanos()
}
