//! What a gateway reaches and where its files lie.

use std::path::Path;

use tokio::sync::watch;
use trunkline_blobs::{Media, MediaSettings, Place};
use trunkline_db::Database;
use trunkline_db::bus::{Bus, Health, NatsSettings, Servers};
use trunkline_edge::telemetry::{Telemetry, TelemetrySettings};
use trunkline_gateway::media_seal;
use trunkline_keyring::Keyring;
use trunkline_limits::{Limits, Mode, RedisSettings};
use trunkline_testkit::{Shared, count};
use trunkline_types::Secret;
use trunkline_upstream::Client;
use trunkline_upstream::safe_fetch::{SafeFetchSettings, SafeFetcher};

use crate::collector::COLLECTOR_TOKEN;
use crate::options::{OtherEngines, TestOptions};

/// Fetches from this machine too: simulators stand where the internet would be.
pub(crate) fn fetcher() -> SafeFetcher {
    let settings = SafeFetchSettings {
        allowed: vec!["127.0.0.0/8".parse().unwrap()],
        has_high_ports: true,
        ..SafeFetchSettings::default()
    };
    SafeFetcher::new(settings).unwrap()
}

/// Media in a directory, sealed as those of a node.
pub(crate) async fn media(folder: &Path, data: &Database, keyring: &Keyring) -> Media {
    let settings = MediaSettings {
        place: Place::Directory(folder.to_owned()),
        budget_bytes: None,
    };
    let seal = media_seal(data, keyring).await.unwrap();
    Media::open(&settings).await.unwrap().sealed(seal)
}

/// Rate limits and event bus of a gateway: a share of the run's Redis and NATS, unless its test has brought
/// some. With TRUNKLINE_ENGINES=postgres PostgreSQL is the only engine (`just postgres-alone`).
pub(crate) struct Engines {
    pub(crate) limits: Limits,
    pub(crate) bus: Bus,
    shared: Option<Shared>,
    stop: watch::Sender<bool>,
}

impl Engines {
    pub(crate) async fn of(options: &TestOptions) -> Self {
        let (limits, bus) = (options.limits.clone(), options.bus.clone());
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that reads which engines tests have"
        )]
        let alone = std::env::var("TRUNKLINE_ENGINES").is_ok_and(|word| word == "postgres");
        let alone = alone || options.engines == OtherEngines::None;
        let shared = match !alone && are_local(&limits, &bus) {
            true => Some(Shared::take().await),
            false => None,
        };
        let (stop, _) = watch::channel(false);
        let mut engines = Self {
            limits,
            bus,
            shared,
            stop,
        };
        let (limits, bus) = engines
            .beside("n1", engines.limits.clone(), engines.bus.clone())
            .await;
        (engines.limits, engines.bus) = (limits, bus);
        engines
    }

    /// Those of another node: of the same share, unless its test has brought some.
    pub(crate) async fn beside(&self, node: &str, limits: Limits, bus: Bus) -> (Limits, Bus) {
        // Each gateway asks for its engines once.
        count("gateway");
        let Some(shared) = &self.shared else {
            return (limits, bus);
        };
        if !are_local(&limits, &bus) {
            return (limits, bus);
        }
        let settings = RedisSettings::new(Secret::new(shared.redis_url.clone()), node);
        let (limits, keeper) = Limits::redis(settings).unwrap();
        #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
        tokio::spawn(keeper.run(self.stop.subscribe()));
        let bus = Bus::nats(NatsSettings {
            servers: Servers::parse(&Secret::new(shared.nats_url.clone())).unwrap(),
            roots: None,
            replicas: 1,
            own_name: node.to_owned(),
        });
        (limits, bus.await.unwrap())
    }
}

fn are_local(limits: &Limits, bus: &Bus) -> bool {
    limits.mode() == Mode::Local && bus.health() == Health::Local
}

/// The gateway's way to a collector.
pub(crate) fn trace_to(
    (collector, sample_per_thousand): (String, u64),
    client: Client,
    stopped: watch::Receiver<bool>,
) -> Telemetry {
    let settings = TelemetrySettings {
        endpoint: collector.parse().unwrap(),
        headers: http::HeaderMap::from_iter([(
            http::header::AUTHORIZATION,
            http::HeaderValue::from_static(COLLECTOR_TOKEN),
        )]),
        sample_per_thousand,
        node: "n1".to_owned(),
    };
    let (telemetry, exporter) = Telemetry::open(settings, client);
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(exporter.run(stopped));
    telemetry
}
