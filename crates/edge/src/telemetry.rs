//! Traces: finished calls become spans, wait in a bounded queue, and are handed to a collector by a
//! task of their own. A collector that is away or slow costs calls nothing: what does not fit is
//! dropped and counted. No prompt, answer, key or credential is ever put into a span.

mod export;
mod names;
mod parent;
mod spans;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, Uri};
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::sync::mpsc;
use trunkline_types::RequestId;
use trunkline_upstream::Client;

pub use self::export::Exporter;
pub(crate) use self::parent::TraceParent;
pub(crate) use self::spans::{AttemptSpan, CallSpan};

/// Calls whose spans may wait for the collector.
const QUEUED_CALLS: usize = 2_048;
/// The whole of a sampling ratio.
pub const ALL_PER_THOUSAND: u64 = 1_000;

#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// Where the collector takes traces, such as `http://127.0.0.1:4318/v1/traces`.
    pub endpoint: Uri,
    /// What the collector wants to see with them, such as a token.
    pub headers: HeaderMap,
    /// How many of a thousand calls are traced.
    pub sample_per_thousand: u64,
    /// The node's name, told with every span.
    pub node: String,
}

/// The way to the collector. Clones share it.
#[derive(Clone)]
pub struct Telemetry {
    queue: mpsc::Sender<Vec<Span>>,
    sample_per_thousand: u64,
    counts: Arc<SpanCounts>,
}

#[derive(Debug, Default)]
pub struct SpanCounts {
    pub exported: AtomicU64,
    pub dropped_full: AtomicU64,
    pub dropped_refused: AtomicU64,
}

impl Telemetry {
    /// A queue and the task that empties it. Nothing is sent before [`Exporter::run`].
    #[must_use]
    pub fn open(settings: TelemetrySettings, client: Client) -> (Self, Exporter) {
        let (queue, waiting) = mpsc::channel(QUEUED_CALLS);
        let counts = Arc::new(SpanCounts::default());
        let telemetry = Self {
            queue,
            sample_per_thousand: settings.sample_per_thousand,
            counts: Arc::clone(&counts),
        };
        (telemetry, Exporter::new(settings, client, waiting, counts))
    }

    /// Whether this call is traced, and under which caller's span. Drawn from our own id: a stranger
    /// can neither fill the collector nor hide from it by the flags it sends.
    pub(crate) fn begin(&self, id: RequestId, headers: &HeaderMap) -> Option<Option<TraceParent>> {
        let number = u64::try_from(id.uuid().as_u128() & u128::from(u32::MAX)).unwrap_or(0);
        let drawn = number.checked_rem(ALL_PER_THOUSAND).unwrap_or(0);
        (drawn < self.sample_per_thousand).then(|| TraceParent::read(headers))
    }

    /// Hands a call over, or drops it if the queue is full.
    pub(crate) fn tell(&self, call: &CallSpan<'_>) {
        // Looked at first: a call that would be dropped is not written out.
        if self.queue.capacity() == 0 {
            return self.dropped(call.spans_count());
        }
        let spans = call.spans();
        let count = spans.len();
        if self.queue.try_send(spans).is_err() {
            self.dropped(count);
        }
    }

    fn dropped(&self, spans: usize) {
        let spans = u64::try_from(spans).unwrap_or(0);
        self.counts.dropped_full.fetch_add(spans, Ordering::Relaxed);
    }

    pub fn counts(&self) -> &SpanCounts {
        &self.counts
    }
}
