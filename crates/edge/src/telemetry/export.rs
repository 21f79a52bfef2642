//! From the queue to the collector: batches, each within its time, tried again a few times, then
//! dropped. OTLP over HTTP with protobuf bodies.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;
use tokio::sync::{mpsc, watch};
use trunkline_upstream::{Client, Deadlines, Outgoing};

use super::spans::text;
use super::{SpanCounts, TelemetrySettings, names};

/// Spans in one batch, about.
const BATCH_SPANS: usize = 512;
/// How long the first span of a batch waits for others.
const BATCH_WAIT: Duration = Duration::from_secs(1);
/// Longest wait for the collector's answer to one batch.
const COLLECTOR_WAIT: Duration = Duration::from_secs(5);
/// Pauses before a batch is offered again; after the last it is dropped.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
/// How long the last batches may take when the node stops.
const LAST_WAIT: Duration = Duration::from_secs(3);
/// Bytes of the collector's answer that are read, so that its connection can be used again.
const MAX_ANSWER_BYTES: usize = 65_536;

/// The task that hands spans to the collector.
pub struct Exporter {
    settings: TelemetrySettings,
    client: Client,
    waiting: mpsc::Receiver<Vec<Span>>,
    counts: Arc<SpanCounts>,
    /// Out of the queue and not offered yet.
    gathered: Vec<Span>,
    offered: Option<Batch>,
    is_failing: bool,
}

/// Spans as they are sent.
#[derive(Clone)]
struct Batch {
    body: Bytes,
    spans: usize,
}

/// Why a batch was not taken.
struct NotTaken {
    reason: String,
    may_try_again: bool,
}

impl Exporter {
    pub(super) const fn new(
        settings: TelemetrySettings,
        client: Client,
        waiting: mpsc::Receiver<Vec<Span>>,
        counts: Arc<SpanCounts>,
    ) -> Self {
        Self {
            settings,
            client,
            waiting,
            counts,
            gathered: Vec::new(),
            offered: None,
            is_failing: false,
        }
    }

    /// Exports spans until `stop` changes, then what is left, within a bound.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = self.gather() => {}
                _ = stop.changed() => break,
            }
            if self.offered.is_none() {
                return;
            }
            tokio::select! {
                () = self.offer() => {}
                _ = stop.changed() => break,
            }
        }
        self.waiting.close();
        let finished = tokio::time::timeout(LAST_WAIT, self.finish()).await;
        if finished.is_err() {
            tracing::warn!(
                "trace export: the collector did not accept the last spans before shutdown"
            );
        }
        self.drop_all();
    }

    /// Waits for a first call, takes what comes soon after it, and writes it out. Nothing is offered
    /// when nothing can come any more.
    async fn gather(&mut self) {
        let (gathered, waiting) = (&mut self.gathered, &mut self.waiting);
        // Whatever is out of the queue is kept here, because this may be called off at any wait.
        if gathered.is_empty() {
            gathered.extend(waiting.recv().await.unwrap_or_default());
        }
        let more = async {
            while gathered.len() < BATCH_SPANS {
                match waiting.recv().await {
                    Some(spans) => gathered.extend(spans),
                    None => break,
                }
            }
        };
        // The end of the wait is as good as a full batch.
        tokio::time::timeout(BATCH_WAIT, more).await.ok();
        if !self.gathered.is_empty() {
            let spans = std::mem::take(&mut self.gathered);
            self.offered = Some(Batch {
                spans: spans.len(),
                body: batch_body(&self.settings.node, spans),
            });
        }
    }

    /// Offers a batch until it is taken or not worth another try.
    async fn offer(&mut self) {
        let mut pauses = PAUSES.into_iter();
        while let Some(batch) = self.offered.clone() {
            let Err(refused) = self.send(batch.body).await else {
                self.taken();
                continue;
            };
            // Once, and not for every batch of a collector that is away.
            if !std::mem::replace(&mut self.is_failing, true) {
                let reason = refused.reason;
                tracing::warn!(reason, "trace export failed");
            }
            match pauses.next() {
                Some(pause) if refused.may_try_again => tokio::time::sleep(pause).await,
                Some(_) | None => self.refused(),
            }
        }
    }

    /// Everything that is left, each batch once.
    async fn finish(&mut self) {
        loop {
            if self.offered.is_none() {
                self.gather().await;
            }
            let Some(batch) = self.offered.clone() else {
                return;
            };
            match self.send(batch.body).await {
                Ok(()) => self.taken(),
                Err(_) => self.refused(),
            }
        }
    }

    async fn send(&self, body: Bytes) -> Result<(), NotTaken> {
        let mut headers = self.settings.headers.clone();
        let protobuf = HeaderValue::from_static("application/x-protobuf");
        headers.insert(CONTENT_TYPE, protobuf);
        let call = Outgoing {
            method: Method::POST,
            uri: self.settings.endpoint.clone(),
            headers,
            body: body.into(),
            deadlines: Deadlines {
                first_byte: COLLECTOR_WAIT,
                idle: COLLECTOR_WAIT,
                total: COLLECTOR_WAIT,
            },
            proxy: None,
            protocol: trunkline_upstream::Protocol::Http1,
        };
        let mut answer = self.client.send(call).await.map_err(|error| NotTaken {
            reason: error.to_string(),
            may_try_again: true,
        })?;
        let status = answer.status;
        // Read, so that the connection can be reused; the body is not needed.
        drop(answer.whole(MAX_ANSWER_BYTES).await);
        if status.is_success() {
            return Ok(());
        }
        Err(NotTaken {
            reason: format!("it answered {}", status.as_u16()),
            may_try_again: matches!(status.as_u16(), 429 | 502..=504),
        })
    }

    fn taken(&mut self) {
        let spans = self.offered.take().map_or(0, |batch| batch.spans);
        self.counts
            .exported
            .fetch_add(count(spans), Ordering::Relaxed);
        if std::mem::take(&mut self.is_failing) {
            tracing::info!("trace export recovered");
        }
    }

    fn refused(&mut self) {
        let spans = self.offered.take().map_or(0, |batch| batch.spans);
        let dropped = &self.counts.dropped_refused;
        dropped.fetch_add(count(spans), Ordering::Relaxed);
    }

    /// Drops spans that cannot be exported any more.
    fn drop_all(&mut self) {
        self.refused();
        let mut left = self.gathered.len();
        while let Ok(spans) = self.waiting.try_recv() {
            left = left.saturating_add(spans.len());
        }
        let dropped = &self.counts.dropped_refused;
        dropped.fetch_add(count(left), Ordering::Relaxed);
    }
}

fn count(spans: usize) -> u64 {
    u64::try_from(spans).unwrap_or(0)
}

fn batch_body(node: &str, spans: Vec<Span>) -> Bytes {
    let version = env!("CARGO_PKG_VERSION");
    let resource = Resource {
        attributes: vec![
            text(names::SERVICE_NAME, names::SERVICE),
            text(names::SERVICE_VERSION, version),
            text(names::SERVICE_INSTANCE_ID, node),
        ],
        ..Resource::default()
    };
    let scope = InstrumentationScope {
        name: names::SCOPE.to_owned(),
        version: version.to_owned(),
        ..InstrumentationScope::default()
    };
    let request = ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(resource),
            scope_spans: vec![ScopeSpans {
                scope: Some(scope),
                spans,
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    };
    Bytes::from(request.encode_to_vec())
}
