//! What a test wants of its house and its channels.

use std::net::SocketAddr;
use std::sync::Arc;

use trunkline_db::SystemClock;
use trunkline_gateway::{EdgeSettings, Settings};
use trunkline_terms::Clock;

/// What a house is to be like.
pub(crate) struct Wishes {
    pub(crate) settings: Settings,
    /// Money in the wallets, in nano-USD.
    pub(crate) paid: i64,
    pub(crate) trial: i64,
    /// The gateway's own way to the database goes through a line that can be broken.
    pub(crate) breakable: bool,
    /// Links lead to the house itself, so that upstreams can fetch what is lent to them.
    pub(crate) own_links: bool,
    pub(crate) edge: EdgeSettings,
    /// Where traces go, and how many of a thousand.
    pub(crate) traces: Option<(String, u64)>,
    /// The gateway's clock.
    pub(crate) clock: Arc<dyn Clock>,
}

/// What a channel is to be like.
#[derive(Default)]
pub(crate) struct ChannelWishes<'a> {
    /// None: the simulator.
    pub(crate) provider: Option<&'a str>,
    pub(crate) priority: i32,
    pub(crate) extra_headers: &'a [(&'a str, &'a str)],
    pub(crate) proxy: Option<&'a str>,
}

impl Wishes {
    /// The settings of a house that listens there.
    pub(crate) fn settings_at(&self, address: SocketAddr) -> Settings {
        let mut settings = self.settings.clone();
        if self.own_links {
            settings.public_url = format!("http://{address}");
        }
        settings
    }
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            paid: 10_000_000_000,
            trial: 0,
            breakable: false,
            own_links: false,
            edge: EdgeSettings::default(),
            traces: None,
            clock: Arc::new(SystemClock),
        }
    }
}
