//! The state of all handlers, and of the extractors and guards before them.

use std::sync::Arc;

use bytes::Bytes;
use trunkline_db::Database;
use trunkline_keyring::{Keyring, RandomSource};
use trunkline_payments::Payments;
use trunkline_types::Clock;
use trunkline_upstream::Client;

use crate::gateway_port::GatewayPort;
use crate::oidc::Providers;
use crate::passwords::Passwords;
use crate::response_cache::ResponseCache;
use crate::settings::ConsoleSettings;

#[derive(Clone)]
pub(crate) struct Shared {
    /// For what is no customer's: its role sees all accounts.
    pub(crate) data: Database,
    /// The same database under the role console, which sees the account of the request alone where it is a customer's.
    pub(crate) people: Database,
    pub(crate) keyring: Keyring,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn RandomSource>,
    pub(crate) passwords: Passwords,
    /// Identity providers that people may sign in with.
    pub(crate) providers: Providers,
    /// None where no payment provider is configured.
    pub(crate) payments: Option<Payments>,
    pub(crate) settings: Arc<ConsoleSettings>,
    pub(crate) gateway: Arc<dyn GatewayPort>,
    /// Rendered catalogs of models.
    pub(crate) prices: ResponseCache,
    /// Rendered catalogs of social data.
    pub(crate) cells: ResponseCache,
    /// The console's OpenAPI document.
    pub(crate) document: Bytes,
    /// That of the operator's API.
    pub(crate) operator_document: Bytes,
    /// Providers that channels may have.
    pub(crate) upstreams: Arc<trunkline_upstream::Providers>,
    /// The way to upstreams, for tests of channels.
    pub(crate) client: Client,
}
