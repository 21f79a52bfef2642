//! The numbers in Prometheus' text format. Every family has its help and its type; labels are
//! bounded, and never an account or a key.

use std::fmt::{Display, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use trunkline_db::bus::Health;
use trunkline_limits::Mode;

use crate::channels::Channel;
use crate::metrics::{ByStream, Histogram};
use crate::services::Services;

/// A page that is being written.
#[derive(Default)]
struct Page(String);

type Label<'a> = (&'a str, &'a str);

/// All numbers.
pub(super) fn metrics(services: &Services) -> String {
    let mut page = Page::default();
    node(&mut page, services);
    calls(&mut page, services);
    channels(&mut page, services);
    engines(&mut page, services);
    limits(&mut page, services);
    traces(&mut page, services);
    catalog(&mut page, services);
    events(&mut page, services);
    webhooks(&mut page, services);
    page.0
}

fn catalog(page: &mut Page, services: &Services) {
    let shelf = services.catalog();
    page.gauge("catalog_models", "Models that are sold.");
    page.value("catalog_models", &[], shelf.book.count());
    page.gauge("catalog_revision", "The number of the catalog in use.");
    page.value("catalog_revision", &[], shelf.revision);
    let refused = services.rejected_catalog.load(Ordering::Relaxed);
    let help = "The number of a newer catalog that cannot be used; 0 if there is none.";
    page.gauge("catalog_refused_revision", help);
    page.value("catalog_refused_revision", &[], refused);
}

fn events(page: &mut Page, services: &Services) {
    let hub = &services.event_hub;
    let counts = &hub.counts;
    let (readers, accounts) = hub.size();
    page.gauge("event_readers", "Open connections that follow events.");
    page.value("event_readers", &[], readers);
    page.gauge(
        "event_accounts",
        "Accounts that are followed, the house among them.",
    );
    page.value("event_accounts", &[], accounts);
    let is_up = u8::from(services.bus.health() != Health::Down);
    let help = "Whether copies of events come, or none are expected; 0 while NATS is away.";
    page.gauge("bus_up", help);
    page.value("bus_up", &[], is_up);
    let counted = [
        (
            "event_frames_total",
            "Frames handed to event connections.",
            &counts.told,
        ),
        (
            "event_pages_total",
            "Pages read from the table of events.",
            &counts.pages,
        ),
        (
            "event_readers_lagged_total",
            "Times a reader was too slow for its queue.",
            &counts.lagged,
        ),
        (
            "event_copies_heard_total",
            "Copies of events that came.",
            &counts.copies,
        ),
        (
            "event_copies_carried_total",
            "Copies of events that were carried.",
            &counts.carried,
        ),
        (
            "event_copies_failed_total",
            "Rounds in which copies were not taken.",
            &counts.not_carried,
        ),
    ];
    for (name, help, counter) in counted {
        page.counted(name, help, counter);
    }
    let waiting = counts.waiting.load(Ordering::Relaxed);
    page.gauge(
        "outbox_rows",
        "Copies of events that wait, counted up to 10000.",
    );
    page.value("outbox_rows", &[], waiting);
    let seconds = counts.waiting_seconds.load(Ordering::Relaxed);
    page.gauge(
        "outbox_lag_seconds",
        "How long the oldest of these has waited.",
    );
    page.value("outbox_lag_seconds", &[], seconds);
}

fn node(page: &mut Page, services: &Services) {
    page.gauge("build_info", "The version that runs.");
    page.value("build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    page.gauge("ready", "Whether calls are served.");
    page.value("ready", &[], u8::from(services.is_ready()));
    let (age, keys) = services.key_table.age();
    page.gauge("keys", "API keys in memory.");
    page.value("keys", &[], keys);
    let sizes = services.key_table.sizes();
    page.gauge("keys_bytes", "Bytes of the key table, without policies.");
    page.value("keys_bytes", &[], sizes.bytes);
    page.gauge("keys_policies", "Policies that the keys share.");
    page.value("keys_policies", &[], sizes.policies);
    let (recounts, mended) = services.key_table.recounts();
    let help = "Comparisons of keys and accounts in memory with the tables.";
    page.counter("keys_reconcile_total", help);
    page.value("keys_reconcile_total", &[], recounts);
    let help = "Comparisons that found a difference, after which all was read anew.";
    page.counter("keys_reconcile_repaired_total", help);
    page.value("keys_reconcile_repaired_total", &[], mended);
    if let Some(age) = age {
        let help = "Since keys and accounts were last compared with the database.";
        page.gauge("keys_age_seconds", help);
        page.value("keys_age_seconds", &[], age.as_secs());
    }
}

fn calls(page: &mut Page, services: &Services) {
    let numbers = &services.metrics;
    page.counted(
        "requests_answered_total",
        "Requests that ended.",
        &numbers.answered,
    );
    page.counted(
        "calls_charged_total",
        "Calls that were charged.",
        &numbers.charged,
    );
    page.counted(
        "calls_free_total",
        "Calls that ended without a charge.",
        &numbers.voided,
    );
    page.counter("charged_nano_usd_total", "What was charged, in nano-USD.");
    let nanos = numbers.charged_nanos.load(Ordering::Relaxed);
    page.value("charged_nano_usd_total", &[], nanos);
    page.gauge("calls_in_flight", "Calls under way.");
    page.value("calls_in_flight", &[], services.calls_in_flight());
    page.gauge("buffered_bytes", "Bytes of bodies in memory, or promised.");
    page.value("buffered_bytes", &[], services.buffered_bytes());
    page.gauge("holds_open", "Calls under way that money is held for.");
    page.value("holds_open", &[], numbers.holds.load(Ordering::Relaxed));
    let models = numbers.models();
    page.counter(
        "calls_total",
        "Calls that money was held for, by model and outcome.",
    );
    for (model, of_model) in &models {
        for (outcome, count) in &of_model.outcomes {
            page.value(
                "calls_total",
                &[("model", model), ("outcome", outcome)],
                count,
            );
        }
    }
    page.counter(
        "tokens_total",
        "Tokens that were charged, by model and side.",
    );
    for (model, of_model) in &models {
        let sides = [
            ("input", of_model.input_tokens),
            ("output", of_model.output_tokens),
        ];
        for (side, count) in sides {
            page.value("tokens_total", &[("model", model), ("side", side)], count);
        }
    }
    page.counter(
        "faults_total",
        "Calls that were refused or failed, by the word for why.",
    );
    for (word, count) in numbers.faults.all() {
        page.value("faults_total", &[("fault", word)], count);
    }
    let first_byte = "From a call to the first byte of its answer.";
    page.by_stream("first_byte_seconds", first_byte, &numbers.first_byte);
    page.by_stream("call_seconds", "From a call to its end.", &numbers.duration);
    let late = "How late jobs of video tasks are taken.";
    page.head("job_lag_seconds", "histogram", late);
    page.histogram("job_lag_seconds", ("job", "video"), &numbers.job_lag);
}

fn webhooks(page: &mut Page, services: &Services) {
    let numbers = &services.metrics;
    let help = "Messages to webhooks, by what came of them.";
    page.counter("webhook_messages_total", help);
    for (word, count) in numbers.webhooks.all() {
        page.value("webhook_messages_total", &[("outcome", word)], count);
    }
    let help = "Tries to reach webhooks that did not succeed, by the word for why.";
    page.counter("webhook_failures_total", help);
    for (word, count) in numbers.webhook_troubles.all() {
        page.value("webhook_failures_total", &[("reason", word)], count);
    }
    let late = "How late messages to webhooks are taken.";
    page.head("webhook_lag_seconds", "histogram", late);
    page.histogram(
        "webhook_lag_seconds",
        ("job", "webhook"),
        &numbers.webhook_lag,
    );
}

fn channels(page: &mut Page, services: &Services) {
    let now = services.now();
    let channels = services.channels.load_full();
    let mut channels: Vec<&Channel> = channels.channels().map(AsRef::as_ref).collect();
    channels.sort_by_key(|channel| channel.row.id);
    page.counter(
        "attempts_total",
        "Attempts at upstreams, by channel and result.",
    );
    for channel in &channels {
        for (word, count) in channel.tries().0.all() {
            let labels = [("channel", channel.row.name.as_str()), ("result", word)];
            page.value("attempts_total", &labels, count);
        }
    }
    let help = "From a request to the head of the upstream's answer, by channel.";
    page.head("upstream_head_seconds", "histogram", help);
    for channel in &channels {
        page.histogram(
            "upstream_head_seconds",
            ("channel", &channel.row.name),
            channel.tries().1,
        );
    }
    page.gauge(
        "channel_left_alone",
        "Whether a channel is not asked because of its faults.",
    );
    for channel in &channels {
        let left_alone = u8::from(!channel.is_open(now));
        page.value(
            "channel_left_alone",
            &[("channel", &channel.row.name)],
            left_alone,
        );
    }
    page.gauge("channel_faults", "Faults of a channel in a row.");
    for channel in &channels {
        page.value(
            "channel_faults",
            &[("channel", &channel.row.name)],
            channel.faults(),
        );
    }
    page.gauge(
        "credentials",
        "Credentials of a channel by state: usable, resting, paused.",
    );
    for channel in &channels {
        let states = channel.credential_states(now);
        let rows = [
            ("usable", states.usable),
            ("resting", states.resting),
            ("paused", states.paused),
        ];
        for (state, count) in rows {
            let labels = [("channel", channel.row.name.as_str()), ("state", state)];
            page.value("credentials", &labels, count);
        }
    }
}

fn engines(page: &mut Page, services: &Services) {
    let batches = services.ledger.counts();
    page.counter("ledger_batches_total", "Commits of the ledger.");
    page.value("ledger_batches_total", &[], batches.batches);
    page.counter(
        "ledger_operations_total",
        "Operations in committed batches.",
    );
    page.value("ledger_operations_total", &[], batches.operations);
    page.counter(
        "ledger_batches_retried_total",
        "Batches repeated because the outcome of their commit was unknown.",
    );
    page.value("ledger_batches_retried_total", &[], batches.retried);
    let (open, idle) = services.data.connections();
    let used = usize::try_from(open).unwrap_or(0).saturating_sub(idle);
    page.gauge(
        "database_connections",
        "Connections of the data plane's pool, by state.",
    );
    page.value("database_connections", &[("state", "used")], used);
    page.value("database_connections", &[("state", "idle")], idle);
    page.gauge(
        "database_connections_max",
        "Connections that the pool may open.",
    );
    let most = services.data.settings().max_connections;
    page.value("database_connections_max", &[], most);
}

fn limits(page: &mut Page, services: &Services) {
    let limits = &services.limits;
    let (mode, counts) = (limits.mode(), limits.counts());
    let help = "How limits are counted: local, redis, or fallback while Redis is away.";
    page.gauge("limits_mode", help);
    for one in Mode::ALL {
        let labels = [("mode", one.word())];
        page.value("limits_mode", &labels, u8::from(one == mode));
    }
    page.counter("limits_redis_asked_total", "Questions to Redis.");
    page.value("limits_redis_asked_total", &[], counts.asked);
    let help = "Questions that Redis did not answer, or not in time.";
    page.counter("limits_redis_errors_total", help);
    page.value("limits_redis_errors_total", &[], counts.failed);
    let help = "Decisions by this node's share of a limit, because Redis was away.";
    page.counter("limits_fallback_total", help);
    page.value("limits_fallback_total", &[], counts.decided_locally);
    page.gauge("limits_counters", "Counters in memory.");
    page.value("limits_counters", &[], counts.counters);
    page.gauge(
        "limits_nodes",
        "Nodes that share limits while Redis is away.",
    );
    page.value("limits_nodes", &[], counts.nodes);
}

fn traces(page: &mut Page, services: &Services) {
    let Some(telemetry) = &services.telemetry else {
        return;
    };
    let counts = telemetry.counts();
    page.counted(
        "spans_exported_total",
        "Spans that the collector took.",
        &counts.exported,
    );
    let help = "Spans that were dropped: the queue was full, or the collector would not take them.";
    page.counter("spans_dropped_total", help);
    let rows = [
        ("queue_full", &counts.dropped_full),
        ("not_taken", &counts.dropped_refused),
    ];
    for (reason, counter) in rows {
        let count = counter.load(Ordering::Relaxed);
        page.value("spans_dropped_total", &[("reason", reason)], count);
    }
}

// === impl Page ===

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP trunkline_{name} {help}"));
        self.line(format_args!("# TYPE trunkline_{name} {kind}"));
    }

    fn counter(&mut self, name: &str, help: &str) {
        self.head(name, "counter", help);
    }

    fn gauge(&mut self, name: &str, help: &str) {
        self.head(name, "gauge", help);
    }

    fn counted(&mut self, name: &str, help: &str, counter: &AtomicU64) {
        self.counter(name, help);
        self.value(name, &[], counter.load(Ordering::Relaxed));
    }

    fn value(&mut self, name: &str, labels: &[Label<'_>], value: impl Display) {
        let labels = written(labels);
        self.line(format_args!("trunkline_{name}{labels} {value}"));
    }

    fn by_stream(&mut self, name: &str, help: &str, both: &ByStream) {
        self.head(name, "histogram", help);
        self.histogram(name, ("stream", "false"), &both.whole);
        self.histogram(name, ("stream", "true"), &both.stream);
    }

    fn histogram(&mut self, name: &str, label: Label<'_>, histogram: &Histogram) {
        // Read first: what comes while the page is written must not make a bucket larger than all.
        let buckets: Vec<(&str, u64)> = histogram.buckets().collect();
        let count = histogram.count();
        let bucket = format!("{name}_bucket");
        for (seconds, below) in buckets {
            self.value(&bucket, &[label, ("le", seconds)], below.min(count));
        }
        self.value(&bucket, &[label, ("le", "+Inf")], count);
        self.value(&format!("{name}_sum"), &[label], histogram.sum_seconds());
        self.value(&format!("{name}_count"), &[label], count);
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // A text that grows cannot fail to.
        writeln!(self.0, "{line}").ok();
    }
}

fn written(labels: &[Label<'_>]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    format!("{{{}}}", pairs.join(","))
}

/// Models and channels are named by people.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_its_line_or_its_quotes() {
        let labels = written(&[("model", "a\"b\\c\nd"), ("le", "1")]);
        assert_eq!(labels, "{model=\"a\\\"b\\\\c\\nd\",le=\"1\"}");
        assert_eq!(written(&[]), "");
    }
}
