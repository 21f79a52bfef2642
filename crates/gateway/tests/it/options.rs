//! What a test wants of its gateway and its channels.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trunkline_db::SystemClock;
use trunkline_db::bus::Bus;
use trunkline_edge::listener::EdgeSettings;
use trunkline_edge::settings::LimitSettings;
use trunkline_gateway::Settings;
use trunkline_ledger::LedgerSettings;
use trunkline_limits::Limits;
use trunkline_types::Clock;
use trunkline_upstream::safe_fetch::SafeFetcher;

/// Options of a test gateway.
pub(crate) struct TestOptions {
    pub(crate) settings: Settings,
    pub(crate) ledger: LedgerSettings,
    /// Money in the wallets, in nano-USD.
    pub(crate) paid: i64,
    pub(crate) trial: i64,
    /// The gateway's own way to the database goes through a line that can be broken.
    pub(crate) breakable: bool,
    /// Links lead to the gateway itself, so that upstreams can fetch what is lent to them.
    pub(crate) own_links: bool,
    pub(crate) edge: EdgeSettings,
    /// Where traces go, and how many of a thousand.
    pub(crate) traces: Option<(String, u64)>,
    /// The gateway's way to addresses of customers; none for one that reaches this machine.
    pub(crate) fetcher: Option<SafeFetcher>,
    /// The gateway's clock.
    pub(crate) clock: Arc<dyn Clock>,
    /// The way of events to other nodes.
    pub(crate) bus: Bus,
    /// Where requests are counted.
    pub(crate) limits: Limits,
    /// Providers besides those built in.
    pub(crate) providers: PathBuf,
    /// Keys have the limits that customers' have; without this, only those that a test gives them.
    pub(crate) has_usual_limits: bool,
    /// Beside PostgreSQL, where the test brings none.
    pub(crate) engines: OtherEngines,
}

/// Limits that no test reaches which is not about them.
pub(crate) const WIDE: LimitSettings = LimitSettings {
    requests_per_minute: 1_000_000_000,
    concurrent_calls: 1_000_000_000,
    polls_per_minute: 1_000_000_000,
    reads_per_minute: 1_000_000_000,
};

/// What a channel is to be like.
#[derive(Default)]
pub(crate) struct ChannelOptions<'a> {
    /// None: the simulator.
    pub(crate) provider: Option<&'a str>,
    pub(crate) priority: i32,
    pub(crate) extra_headers: &'a [(&'a str, &'a str)],
    pub(crate) proxy: Option<&'a str>,
    pub(crate) requests_per_minute: Option<i64>,
    pub(crate) concurrent_calls: Option<i64>,
    /// Labels and secrets beside the usual credential.
    pub(crate) more_credentials: &'a [(&'a str, &'a str)],
}

/// Redis and NATS of a gateway whose test brings none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherEngines {
    /// A share of those that the run has.
    OfTheRun,
    None,
}

impl TestOptions {
    /// The settings of a gateway that listens there.
    pub(crate) fn settings_at(&self, address: SocketAddr) -> Settings {
        let mut settings = self.settings.clone();
        if !self.has_usual_limits {
            settings.accept.limits = WIDE;
        }
        if self.own_links {
            settings.public_url = format!("http://{address}");
        }
        settings
    }
}

impl Default for TestOptions {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            ledger: LedgerSettings::default(),
            paid: 10_000_000_000,
            trial: 0,
            breakable: false,
            own_links: false,
            edge: EdgeSettings::default(),
            traces: None,
            fetcher: None,
            clock: Arc::new(SystemClock),
            bus: Bus::local(),
            limits: Limits::local(),
            // The simulator in the formats of single vendors.
            providers: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstreams"),
            has_usual_limits: false,
            engines: OtherEngines::OfTheRun,
        }
    }
}
