//! What a house reaches and where its files lie.

use std::path::Path;

use tokio::sync::watch;
use trunkline_bus::{Bus, Health, NatsSettings, Servers};
use trunkline_gateway::{Telemetry, TelemetrySettings};
use trunkline_limits::{Limits, Mode, RedisSettings};
use trunkline_media::{Media, MediaSettings, Place};
use trunkline_terms::Secret;
use trunkline_testkit::{Nats, Redis};
use trunkline_upstream::Client;
use trunkline_upstream::guarded::{Guarded, GuardedSettings};

/// Fetches from this machine too: simulators stand where the internet would be.
pub(crate) fn fetcher() -> Guarded {
    let settings = GuardedSettings {
        allowed: vec!["127.0.0.0/8".parse().unwrap()],
        has_high_ports: true,
        ..GuardedSettings::default()
    };
    Guarded::new(settings).unwrap()
}

/// Media in a directory.
pub(crate) async fn media(folder: &Path) -> Media {
    let settings = MediaSettings {
        place: Place::Directory(folder.to_owned()),
        budget_bytes: None,
    };
    Media::open(&settings).await.unwrap()
}

/// Counters and the way of events of a house. PostgreSQL alone is the usual; `just engines` gives every
/// house a Redis and a NATS of its own, unless its test has brought some.
pub(crate) struct Engines {
    pub(crate) limits: Limits,
    pub(crate) bus: Bus,
    _stop: watch::Sender<bool>,
    _redis: Option<Redis>,
    _nats: Option<Nats>,
}

impl Engines {
    pub(crate) async fn of(limits: Limits, bus: Bus) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that reads which engines tests have"
        )]
        let all = std::env::var("TRUNKLINE_ENGINES").is_ok_and(|word| word == "all");
        let (stop, stopped) = watch::channel(false);
        let mut engines = Self {
            limits,
            bus,
            _stop: stop,
            _redis: None,
            _nats: None,
        };
        if all && engines.limits.mode() == Mode::Local && engines.bus.health() == Health::Local {
            let (redis, nats) = (Redis::start().await, Nats::start().await);
            let (limits, keeper) =
                Limits::redis(RedisSettings::new(Secret::new(redis.url()), "n1")).unwrap();
            #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
            tokio::spawn(keeper.run(stopped));
            let bus = Bus::nats(NatsSettings {
                servers: Servers::parse(&Secret::new(nats.url())).unwrap(),
                replicas: 1,
                own_name: "n1".to_owned(),
            });
            (engines.limits, engines.bus) = (limits, bus.await.unwrap());
            (engines._redis, engines._nats) = (Some(redis), Some(nats));
        }
        engines
    }
}

/// The gateway's way to a collector.
pub(crate) fn trace_to(
    (collector, sample_per_thousand): (String, u64),
    client: Client,
    stopped: watch::Receiver<bool>,
) -> Telemetry {
    let settings = TelemetrySettings {
        endpoint: collector.parse().unwrap(),
        sample_per_thousand,
        node: "n1".to_owned(),
    };
    let (telemetry, exporter) = Telemetry::open(settings, client);
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(exporter.run(stopped));
    telemetry
}
