//! The dependencies of a console, which the app puts together. The middleware and the routes take theirs out
//! of them.

use std::net::IpAddr;
use std::sync::Arc;

use http::HeaderMap;
use trunkline_db::Database;
use trunkline_keyring::{Keyring, RandomSource};
use trunkline_payments::Payments;
use trunkline_types::{Clock, RequestId};
use trunkline_upstream::{Client, Providers as UpstreamProviders};

use crate::gateway_port::GatewayPort;
use crate::settings::ConsoleSettings;

/// Where the ids of requests come from.
pub type RequestIds = Arc<dyn Fn() -> RequestId + Send + Sync>;

/// Tells the caller's address from the headers and the peer's, where proxies stand between.
pub type Callers = Arc<dyn Fn(&HeaderMap, IpAddr) -> IpAddr + Send + Sync>;

/// What a console is made of.
pub struct Parts {
    /// The database; reading what the console shows is all that its role must allow.
    pub data: Database,
    /// The same under the role console: people, and what they change.
    pub people: Database,
    pub keyring: Keyring,
    pub clock: Arc<dyn Clock>,
    /// Chance, for tokens.
    pub random: Arc<dyn RandomSource>,
    /// What the operator has decided.
    pub settings: ConsoleSettings,
    pub callers: Callers,
    /// The way to providers of sign-ins, and to upstreams that an operator tests.
    pub client: Client,
    /// Payments; none where no provider is configured.
    pub payments: Option<Payments>,
    /// Providers that channels may have.
    pub upstreams: Arc<UpstreamProviders>,
    pub gateway: Arc<dyn GatewayPort>,
    pub request_ids: RequestIds,
}
