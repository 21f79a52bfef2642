//! All metrics of a node. Labels are bounded, and never an account or a key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trunkline_db::bus::Health;
use trunkline_edge::admin::Admin;
use trunkline_edge::listener::ListeningSocket;
use trunkline_edge::obstacles::Obstacle;
use trunkline_edge::process;
use trunkline_edge::prometheus::Page;
use trunkline_limits::Mode;

use crate::channels::Channel;
use crate::losses;
use crate::services::Services;

/// The admin listener of a gateway.
#[must_use]
pub fn admin_listener(services: Arc<Services>, listener: impl Into<ListeningSocket>) -> Admin {
    let edge = Arc::clone(&services.edge);
    Admin::new(edge, Arc::new(move || metrics(&services)), listener.into())
}

fn metrics(services: &Services) -> String {
    let mut page = Page::default();
    node(&mut page, services);
    calls(&mut page, services);
    calls_by_model(&mut page, services);
    durations(&mut page, services);
    channels(&mut page, services);
    absent_models(&mut page, services);
    credentials(&mut page, services);
    engines(&mut page, services);
    limits(&mut page, services);
    keyring(&mut page, services);
    traces(&mut page, services);
    catalog(&mut page, services);
    events(&mut page, services);
    webhooks(&mut page, services);
    losses::page(&mut page, services);
    process::page(&mut page);
    page.text()
}

fn node(page: &mut Page, services: &Services) {
    page.gauges("build_info", "Version of this executable.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let ready = u8::from(services.edge.is_ready());
    page.gauge("ready", "1 while calls are served.", ready);
    let (age, keys) = services.edge.key_table.age();
    page.gauge("keys", "API keys in memory.", keys);
    let sizes = services.edge.key_table.sizes();
    let help = "Bytes of the key table, without policies.";
    page.gauge("keys_bytes", help, sizes.bytes);
    let help = "Policies shared by the keys.";
    page.gauge("keys_policies", help, sizes.policies);
    let (recounts, mended) = services.edge.key_table.recounts();
    let help = "Checks of the key table against the database.";
    page.counter("keys_reconcile_total", help, recounts);
    let help = "Checks that found a difference and reloaded the key table.";
    page.counter("keys_reconcile_repaired_total", help, mended);
    if let Some(age) = age {
        let help = "Seconds since the last check of the key table against the database.";
        page.gauge("keys_age_seconds", help, age.as_secs());
    }
}

fn calls(page: &mut Page, services: &Services) {
    let numbers = &services.edge.metrics;
    let answered = read(&numbers.answered);
    page.counter("requests_answered_total", "Finished requests.", answered);
    let charged = read(&numbers.charged);
    page.counter("calls_charged_total", "Charged calls.", charged);
    let help = "Calls without a charge.";
    page.counter("calls_free_total", help, read(&numbers.voided));
    let nanos = numbers.charged_nanos.load(Ordering::Relaxed);
    let help = "Amount charged in nano-USD.";
    page.counter("charged_nano_usd_total", help, nanos);
    let cost = numbers.cost_nanos.load(Ordering::Relaxed);
    let help = "What upstreams bill for charged calls in nano-USD, where that is known.";
    page.counter("cost_nano_usd_total", help, cost);
    let help =
        "Finished calls by what their client got; availability is server_error of all of them.";
    let mut family = page.counters("responses_total", help);
    for (class, count) in numbers.responses.all() {
        family.sample(&[("class", class)], count);
    }
    let in_flight = services.calls_in_flight();
    page.gauge("calls_in_flight", "Calls in flight.", in_flight);
    let help = "Bytes of bodies buffered or reserved.";
    page.gauge("buffered_bytes", help, services.edge.buffered_bytes());
    let help = "Calls in flight with a hold.";
    let holds = numbers.holds.load(Ordering::Relaxed);
    page.gauge("holds_open", help, holds);
}

fn calls_by_model(page: &mut Page, services: &Services) {
    let numbers = &services.edge.metrics;
    let models = numbers.models();
    let help = "Calls with a hold by model and outcome.";
    let mut family = page.counters("calls_total", help);
    for (model, of_model) in &models {
        for (outcome, count) in &of_model.outcomes {
            family.sample(&[("model", model), ("outcome", outcome)], count);
        }
    }
    let help = "Charged tokens by model and direction.";
    let mut family = page.counters("tokens_total", help);
    for (model, of_model) in &models {
        let (input, output) = (of_model.input_tokens, of_model.output_tokens);
        family.sample(&[("model", model), ("side", "input")], input);
        family.sample(&[("model", model), ("side", "output")], output);
    }
    let help = "Refused and failed calls by error code.";
    let mut family = page.counters("faults_total", help);
    for (code, count) in numbers.errors.all() {
        family.sample(&[("fault", code)], count);
    }
    let help =
        "Fields and tools on no list that were not sent, by provider; the 64 most frequent names.";
    let mut family = page.counters("fields_dropped_total", help);
    for (provider, names) in numbers.dropped.all() {
        for (name, count) in names {
            family.sample(&[("provider", &provider), ("name", &name)], count);
        }
    }
}

fn durations(page: &mut Page, services: &Services) {
    let numbers = &services.edge.metrics;
    let help = "Time to the first byte of the response.";
    page.by_stream("first_byte_seconds", help, &numbers.first_byte);
    page.by_stream("call_seconds", "Duration of a call.", &numbers.duration);
    let help = "Time to the first byte that was spent here and not at an upstream.";
    page.by_stream("added_seconds", help, &numbers.added);
    let help = "Time from an upstream's last byte to the durable charge.";
    page.histograms("settlement_seconds", help)
        .histogram(("operation", "settle"), &numbers.settlement);
    let help = "Delay of video jobs after their due time.";
    page.histograms("job_lag_seconds", help)
        .histogram(("job", "video"), &numbers.job_lag);
}

fn channels(page: &mut Page, services: &Services) {
    let now = services.now();
    let registry = services.channels.load_full();
    let channels = sorted(registry.channels().map(AsRef::as_ref));
    let help = "Upstream attempts by channel and result.";
    let mut family = page.counters("attempts_total", help);
    for channel in &channels {
        for (code, count) in channel.attempted.metrics.results.all() {
            family.sample(&[("channel", &channel.row.name), ("result", code)], count);
        }
    }
    let help = "Time to the upstream's response headers by channel.";
    let mut family = page.histograms("upstream_head_seconds", help);
    for channel in &channels {
        let took = &channel.attempted.metrics.first_byte;
        family.histogram(("channel", &channel.row.name), took);
    }
    let help = "1 while the circuit breaker of a channel is open, for all accounts or for some.";
    let mut family = page.gauges("channel_left_alone", help);
    for channel in &channels {
        let left_alone = u8::from(channel.health.is_left_alone(now));
        family.sample(&[("channel", &channel.row.name)], left_alone);
    }
    let mut family = page.gauges("channel_faults", "Consecutive failures of a channel.");
    for channel in &channels {
        family.sample(&[("channel", &channel.row.name)], channel.health.failures());
    }
}

fn absent_models(page: &mut Page, services: &Services) {
    let now = services.now();
    let registry = services.channels.load_full();
    let help = "1 while a model of a channel counts as absent at its upstream.";
    let mut family = page.gauges("channel_model_absent", help);
    for channel in sorted(registry.channels().map(AsRef::as_ref)) {
        for model in channel.absent_models(now) {
            family.sample(&[("channel", &channel.row.name), ("model", &model)], 1_u8);
        }
    }
}

fn credentials(page: &mut Page, services: &Services) {
    let now = services.now();
    let registry = services.channels.load_full();
    let help = "Credentials of a channel by state: usable, cooling_down, paused.";
    let mut family = page.gauges("credentials", help);
    for channel in sorted(registry.channels().map(AsRef::as_ref)) {
        let states = channel.credential_states(now);
        let rows = [
            ("usable", states.usable),
            ("cooling_down", states.cooling_down),
            ("paused", states.paused),
        ];
        for (state, count) in rows {
            family.sample(&[("channel", &channel.row.name), ("state", state)], count);
        }
    }
}

fn keyring(page: &mut Page, services: &Services) {
    let generation = services.keyring.generations().current.id.number();
    let help = "Generation of keys that this node seals with.";
    page.gauge("keyring_generation", help, generation);
    let lags = u8::from(services.edge.obstacles.has(Obstacle::KeyringLags));
    let help = "1 while another node seals with a newer generation than this one has.";
    page.gauge("keyring_lags", help, lags);
    let help = "Credentials and proxies of a channel that cannot be opened with the keyring.";
    let mut family = page.gauges("credentials_unopened", help);
    for (channel, count) in &services.channels.load_full().unopened {
        family.sample(&[("channel", channel)], count);
    }
    let help = "Times that a sealed value of the database could not be opened, by kind.";
    let mut family = page.counters("keyring_unopened_total", help);
    for (purpose, count) in services.keyring.unopened() {
        family.sample(&[("kind", purpose.as_str())], count);
    }
}

fn engines(page: &mut Page, services: &Services) {
    let is_up = u8::from(!services.edge.obstacles.has(Obstacle::DatabaseAway));
    let help = "1 while the database answers; 0 after a refresh that it did not answer.";
    page.gauge("database_up", help, is_up);
    let batches = services.ledger.counts();
    let help = "Ledger commits.";
    page.counter("ledger_batches_total", help, batches.batches);
    page.counter(
        "ledger_operations_total",
        "Ledger operations.",
        batches.operations,
    );
    let help = "Ledger commits that were retried.";
    page.counter("ledger_batches_retried_total", help, batches.retried);
    let (open, idle) = services.data.connections();
    let used = usize::try_from(open).unwrap_or(0).saturating_sub(idle);
    let help = "Data-plane database connections by state.";
    let mut family = page.gauges("database_connections", help);
    family.sample(&[("state", "used")], used);
    family.sample(&[("state", "idle")], idle);
    let help = "Size of the data-plane connection pool.";
    let most = services.data.settings().max_connections;
    page.gauge("database_connections_max", help, most);
}

fn limits(page: &mut Page, services: &Services) {
    let limits = &services.edge.limits;
    let (mode, counts) = (limits.mode(), limits.counts());
    let help = "How limits are counted: local, redis, or fallback while Redis is unavailable.";
    let mut family = page.gauges("limits_mode", help);
    for one in Mode::ALL {
        family.sample(&[("mode", one.as_str())], u8::from(one == mode));
    }
    let help = "Requests to Redis.";
    page.counter("limits_redis_requests_total", help, counts.requests);
    let help = "Requests to Redis that failed or timed out.";
    page.counter("limits_redis_errors_total", help, counts.failed);
    let help = "Decisions by this node's share of a limit while Redis was unavailable.";
    page.counter("limits_fallback_total", help, counts.decided_locally);
    page.gauge(
        "limits_counters",
        "Rate-limit counters in memory.",
        counts.counters,
    );
    let help = "Nodes that share limits while Redis is unavailable.";
    page.gauge("limits_nodes", help, counts.nodes);
}

fn traces(page: &mut Page, services: &Services) {
    let Some(telemetry) = &services.edge.telemetry else {
        return;
    };
    let counts = telemetry.counts();
    let help = "Spans accepted by the collector.";
    page.counter("spans_exported_total", help, read(&counts.exported));
    let help = "Spans dropped because the queue was full or the collector rejected them.";
    let mut family = page.counters("spans_dropped_total", help);
    family.sample(&[("reason", "queue_full")], read(&counts.dropped_full));
    family.sample(&[("reason", "not_taken")], read(&counts.dropped_refused));
}

fn catalog(page: &mut Page, services: &Services) {
    let catalog = services.catalog();
    page.gauge(
        "catalog_models",
        "Models in the catalog.",
        catalog.book.count(),
    );
    let help = "Revision of the catalog in use.";
    page.gauge("catalog_revision", help, catalog.revision);
    let refused = services.rejected_catalog.load(Ordering::Relaxed);
    let help = "Revision of a newer catalog that was rejected; 0 if none.";
    page.gauge("catalog_refused_revision", help, refused);
}

fn events(page: &mut Page, services: &Services) {
    let hub = &services.account_api.event_hub;
    let counts = &hub.counts;
    let (readers, accounts) = hub.size();
    let help = "Open event streams.";
    page.gauge("event_readers", help, readers);
    let help = "Accounts with at least one event subscriber, including the system account.";
    page.gauge("event_accounts", help, accounts);
    let is_up = u8::from(services.account_api.bus.health() != Health::Down);
    let help = "1 while event copies arrive or none are expected; 0 while NATS is unavailable.";
    page.gauge("bus_up", help, is_up);
    let help = "Frames sent to event streams.";
    page.counter("event_frames_total", help, read(&counts.frames));
    let help = "Pages read from the event table.";
    page.counter("event_pages_total", help, read(&counts.pages));
    let help = "Event readers that were too slow for their queue.";
    page.counter("event_readers_lagged_total", help, read(&counts.lagged));
    let help = "Event copies received from NATS.";
    page.counter("event_copies_heard_total", help, read(&counts.copies));
    let help = "Event copies published to NATS.";
    page.counter("event_copies_carried_total", help, read(&counts.carried));
    let help = "Publish rounds that NATS did not accept.";
    page.counter("event_copies_failed_total", help, read(&counts.not_carried));
    let help = "Event copies waiting to be published, counted up to 10000.";
    page.gauge("outbox_rows", help, counts.waiting.load(Ordering::Relaxed));
    let help = "Age of the oldest waiting event copy.";
    let seconds = counts.waiting_seconds.load(Ordering::Relaxed);
    page.gauge("outbox_lag_seconds", help, seconds);
}

fn webhooks(page: &mut Page, services: &Services) {
    let numbers = &services.edge.metrics;
    let help = "Webhook deliveries by result.";
    let mut family = page.counters("webhook_messages_total", help);
    for (code, count) in numbers.webhooks.all() {
        family.sample(&[("outcome", code)], count);
    }
    let help = "Failed webhook attempts by reason.";
    let mut family = page.counters("webhook_failures_total", help);
    for (code, count) in numbers.webhook_errors.all() {
        family.sample(&[("reason", code)], count);
    }
    let help = "Delay of webhook deliveries after their due time.";
    page.histograms("webhook_lag_seconds", help)
        .histogram(("job", "webhook"), &numbers.webhook_lag);
}

/// By their number, so that a page is in the order of the page before it.
fn sorted<'a>(channels: impl Iterator<Item = &'a Channel>) -> Vec<&'a Channel> {
    let mut channels: Vec<&Channel> = channels.collect();
    channels.sort_by_key(|channel| channel.row.id);
    channels
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
