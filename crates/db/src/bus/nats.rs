//! The bus over NATS.
//!
//! JetStream stores the copies for external consumers; nodes receive them by a plain subscription
//! on the same subjects. A JetStream consumer would be state on one server of the cluster, to be
//! elected and recreated when that server fails; a plain subscription moves with the connection to
//! the next server, and events missed in between are found by their numbers in the table.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::context::{Context, ContextBuilder};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::{Client, ConnectOptions, Event, HeaderMap};
use bytes::Bytes;
use futures_util::future::join_all;

use super::error::BusError;
use super::message::{EVENTS, EventCopy, LIVE, LiveNotification};
use super::servers::Servers;
use super::subscriber::{FROM_HEADER, Subscriber, TOPIC_HEADER};

/// The stream of all events.
pub const STREAM: &str = "TRUNKLINE_EVENTS";
/// Limits of the stream. The oldest messages are discarded: the table is authoritative.
const MAX_AGE: Duration = Duration::from_secs(7 * 86_400);
const MAX_MESSAGES: i64 = 20_000_000;
const MAX_MESSAGE_BYTES: i32 = 131_072;
/// Window in which JetStream removes duplicates.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(600);
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// Copies in flight at once.
const MAX_IN_FLIGHT: usize = 2_000;
/// Messages queued in this process; more are dropped, and found by their numbers in the table.
const MAX_QUEUED: usize = 65_536;
/// Ping interval; three missed pongs end the connection.
const PING: Duration = Duration::from_secs(5);
const MAX_PAUSE: Duration = Duration::from_secs(2);
const PAUSE_STEP: Duration = Duration::from_millis(100);

#[derive(Debug, Clone)]
pub struct NatsSettings {
    pub servers: Servers,
    /// A file of certificates (PEM) that the servers' must be signed by; none for those of the system.
    pub roots: Option<PathBuf>,
    pub replicas: usize,
    /// Unique name of this process.
    pub own_name: String,
}

pub(crate) struct Nats {
    client: Client,
    stream: Context,
    settings: NatsSettings,
    /// Whether the stream is known to exist.
    is_made: AtomicBool,
}

// === impl Nats ===

impl Nats {
    pub(crate) async fn open(settings: NatsSettings) -> Result<Self, BusError> {
        let options = ConnectOptions::new()
            .name("trunkline")
            .retry_on_initial_connect()
            .connection_timeout(ANSWER_WAIT)
            .request_timeout(Some(ANSWER_WAIT))
            .ping_interval(PING)
            .subscription_capacity(MAX_QUEUED)
            .reconnect_delay_callback(|attempts| {
                let steps = u32::try_from(attempts).unwrap_or(u32::MAX);
                PAUSE_STEP.saturating_mul(steps).min(MAX_PAUSE)
            })
            .event_callback(|event| async move { note(&event) });
        let options = match settings.roots.clone() {
            Some(roots) => options.add_root_certificates(roots),
            None => options,
        };
        let connected = settings
            .servers
            .log_in(options)
            .connect(settings.servers.addresses())
            .await;
        let client = connected.map_err(|error| BusError::Unavailable(error.to_string()))?;
        let stream = ContextBuilder::new()
            .timeout(ANSWER_WAIT)
            .ack_timeout(ANSWER_WAIT)
            .max_ack_inflight(MAX_IN_FLIGHT)
            .backpressure_on_inflight(true)
            .build(client.clone());
        Ok(Self {
            client,
            stream,
            settings,
            is_made: AtomicBool::new(false),
        })
    }

    pub(crate) fn is_up(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// All copies are sent before the first acknowledgement is awaited.
    pub(crate) async fn publish(&self, copies: &[EventCopy]) -> Result<Vec<bool>, BusError> {
        if !self.is_up() {
            return Err(BusError::Unavailable("the connection is lost".to_owned()));
        }
        self.make_stream().await?;
        let mut sent = Vec::with_capacity(copies.len());
        for copy in copies {
            let mut headers = HeaderMap::new();
            headers.insert(NATS_MESSAGE_ID, copy.message_id());
            headers.insert(TOPIC_HEADER, copy.topic.as_str());
            let subject = format!("{EVENTS}{}", copy.account);
            let bytes = Bytes::from(serde_json::to_vec(copy)?);
            let published = self
                .stream
                .publish_with_headers(subject, headers, bytes)
                .await;
            sent.push(published.map_err(|error| BusError::Unavailable(error.to_string()))?);
        }
        let answers = join_all(sent.into_iter().map(IntoFuture::into_future)).await;
        let arrived: Vec<bool> = answers.iter().map(Result::is_ok).collect();
        if let Some(error) = answers.into_iter().find_map(Result::err) {
            // The stream may be gone; it is checked before the next copy.
            self.is_made.store(false, Ordering::Relaxed);
            tracing::warn!(%error, "NATS publish: event copy not acknowledged");
        }
        Ok(arrived)
    }

    async fn make_stream(&self) -> Result<(), BusError> {
        if self.is_made.load(Ordering::Relaxed) {
            return Ok(());
        }
        let config = Config {
            name: STREAM.to_owned(),
            subjects: vec![format!("{EVENTS}*")],
            retention: RetentionPolicy::Limits,
            storage: StorageType::File,
            discard: DiscardPolicy::Old,
            max_age: MAX_AGE,
            max_messages: MAX_MESSAGES,
            max_message_size: MAX_MESSAGE_BYTES,
            duplicate_window: DUPLICATE_WINDOW,
            num_replicas: self.settings.replicas,
            ..Config::default()
        };
        let made = self.stream.get_or_create_stream(config).await;
        made.map_err(|error| BusError::Stream(error.to_string()))?;
        self.is_made.store(true, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) async fn stored(&self) -> Result<u64, BusError> {
        let lost = |error: String| BusError::Stream(error);
        let stream = self.stream.get_stream(STREAM).await;
        let mut stream = stream.map_err(|error| lost(error.to_string()))?;
        let info = stream.info().await;
        let info = info.map_err(|error| lost(error.to_string()))?;
        Ok(info.state.messages)
    }

    pub(crate) async fn notify(&self, news: &LiveNotification) {
        // A notification that waits for a connection would be stale.
        if !self.is_up() {
            return;
        }
        let Ok(bytes) = serde_json::to_vec(news) else {
            return;
        };
        let mut headers = HeaderMap::new();
        headers.insert(FROM_HEADER, self.settings.own_name.as_str());
        let subject = format!("{LIVE}{}", news.account);
        let publish = self
            .client
            .publish_with_headers(subject, headers, bytes.into());
        match tokio::time::timeout(ANSWER_WAIT, publish).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "NATS publish: live notification not sent"),
            Err(_) => tracing::debug!("NATS publish: live notification timed out"),
        }
    }

    pub(crate) async fn subscribe(&self) -> Result<Subscriber, BusError> {
        let events = self.subscribe_to(format!("{EVENTS}*")).await?;
        let live = self.subscribe_to(format!("{LIVE}*")).await?;
        Ok(Subscriber::open(
            events,
            live,
            self.settings.own_name.clone(),
        ))
    }

    async fn subscribe_to(&self, subject: String) -> Result<async_nats::Subscriber, BusError> {
        let subscribed = tokio::time::timeout(ANSWER_WAIT, self.client.subscribe(subject)).await;
        let subscribed = subscribed.map_err(|_| BusError::Unavailable("no answer".to_owned()))?;
        subscribed.map_err(|error| BusError::Unavailable(error.to_string()))
    }
}

impl std::fmt::Debug for Nats {
    /// Without the client, whose options hold the login.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Nats")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

fn note(event: &Event) {
    match event {
        Event::Connected => tracing::info!("NATS: connected"),
        Event::Disconnected => {
            tracing::warn!("NATS: disconnected; events are read from their table")
        }
        Event::SlowConsumer(_) => {
            tracing::warn!("NATS: slow consumer; dropped event copies are read from their table");
        }
        Event::ServerError(error) => tracing::warn!(%error, "NATS: server error"),
        Event::ClientError(error) => tracing::warn!(%error, "NATS: client error"),
        Event::LameDuckMode | Event::Draining | Event::Closed => {
            tracing::info!(%event, "NATS: connection closing");
        }
    }
}
