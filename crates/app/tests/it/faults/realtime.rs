//! Realtime connections under load, and while the node, its database, its upstream and its clients break. Short in the
//! gate; `just realtime-load` and `just realtime-chaos` run the long forms.

mod bare_relay;
mod chaos;
mod load;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use trunkline_types::Money;

use crate::faults::process_harness::{ProcessHarness, add_channel, publish_text};

/// The voice model by our name, and by the simulator's.
const MODEL: &str = "live-voice";
const UPSTREAM_MODEL: &str = "sim-voice";
const RECORD: &str = "[models.live-voice]
groups = [\"default\"]
endpoints = [\"realtime\"]
specs = { context_window = 32000, max_output_tokens = 4096 }
[models.live-voice.prices]
billing_unit = \"tokens\"
standard = { input = 4000000, output = 24000000, cache_read = 400000, audio_input = 32000000, audio_output = 64000000 }
";
/// Longest wait for an event.
const WAIT: Duration = Duration::from_secs(60);
/// Samples of a tenth of a second.
const SAMPLES: usize = 2_400;

/// A response that a client has got, as it was reported.
#[derive(Debug, Clone)]
struct Delivered {
    request: String,
    /// Nano-USD.
    cost: i64,
}

/// A client's end of a connection.
struct Voice {
    socket: WebSocketStream<TcpStream>,
}

/// A gateway that sells the voice model; its upstream is behind a line that can be cut where it is asked for.
async fn sold(is_breakable: bool) -> ProcessHarness {
    let mut harness = ProcessHarness::furnished_with(&[]).await;
    let port = if is_breakable {
        harness.road.port()
    } else {
        harness.simulator.address().port()
    };
    publish_text(&harness.console, RECORD).await;
    let models = BTreeMap::from([(MODEL.to_owned(), UPSTREAM_MODEL.to_owned())]);
    let base_url = format!("http://127.0.0.1:{port}/v1");
    let named = ("voice", "openai".to_owned());
    add_channel(
        (&harness.console, &harness.keyring),
        named,
        &base_url,
        &models,
    )
    .await;
    harness.start_gateway().await;
    harness
}

// === impl Voice ===

impl Voice {
    /// Connects; none if that is refused or broken.
    async fn connect(address: SocketAddr, model: &str, key: &str) -> Option<Self> {
        let uri = format!("ws://{address}/v1/realtime?model={model}");
        let mut request = uri.into_client_request().unwrap();
        let bearer = format!("Bearer {key}").parse().unwrap();
        request.headers_mut().insert("authorization", bearer);
        let stream = TcpStream::connect(address).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let connected = tokio_tungstenite::client_async(request, stream).await;
        let (socket, _) = connected.ok()?;
        Some(Self { socket })
    }

    /// False if the connection is gone.
    async fn send(&mut self, event: &Value) -> bool {
        let sent = self.socket.send(Message::text(event.to_string())).await;
        sent.is_ok()
    }

    /// The next event; none at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            let next = tokio::time::timeout(WAIT, self.socket.next()).await;
            match next.expect("an event in time")? {
                Ok(Message::Text(text)) => return serde_json::from_str(text.as_str()).ok(),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// The next event of a type; none if the connection ends before it.
    async fn until(&mut self, kind: &str) -> Option<Value> {
        loop {
            let event = self.next().await?;
            if event["type"] == kind {
                return Some(event);
            }
        }
    }

    async fn session(&mut self, session: Value) -> Option<()> {
        self.until("session.created").await?;
        let update = json!({ "type": "session.update", "session": session });
        if !self.send(&update).await {
            return None;
        }
        self.until("session.updated").await.map(drop)
    }

    /// The response that is being made, to its end.
    async fn delivered(&mut self) -> Option<Delivered> {
        let done = self.until("response.done").await?;
        let reported = &done["trunkline"];
        let cost: Money = reported["cost_usd"].as_str()?.parse().unwrap();
        Some(Delivered {
            request: reported["request_id"].as_str()?.to_owned(),
            cost: cost.nanos(),
        })
    }
}

/// A tenth of a second of sound as an event.
fn audio(level: i16) -> Value {
    let bytes: Vec<u8> = std::iter::repeat_n(level.to_le_bytes(), SAMPLES)
        .flatten()
        .collect();
    json!({ "type": "input_audio_buffer.append", "audio": STANDARD.encode(bytes) })
}
