//! What the account API of one node works with.

use std::sync::Arc;

use tokio_util::task::TaskTracker;
use trunkline_db::bus::Bus;
use trunkline_db::{Database, DbError};
use trunkline_edge::state::EdgeState;
use trunkline_keyring::Keyring;
use trunkline_ledger::Ledger;
use trunkline_upstream::safe_fetch::SafeFetcher;

use crate::event_hub::Hub;
use crate::published_keys::PublishedKeys;
use crate::settings::AccountSettings;
use crate::webhook_sender::WebhookSender;

/// What [`AccountApi`] is made of.
pub struct AccountConfig {
    pub settings: AccountSettings,
    pub edge: Arc<EdgeState>,
    /// The database under the data plane's role.
    pub data: Database,
    pub ledger: Ledger,
    pub keyring: Keyring,
    /// Reaches addresses of customers.
    pub fetcher: SafeFetcher,
    /// Copies of events between nodes.
    pub bus: Bus,
    /// Tasks that the node waits for when it stops.
    pub tasks: TaskTracker,
}

/// State of the account API, shared by its requests and by the jobs of events and webhooks.
pub struct AccountApi {
    pub(crate) settings: AccountSettings,
    pub(crate) edge: Arc<EdgeState>,
    pub(crate) data: Database,
    pub(crate) ledger: Ledger,
    pub(crate) keyring: Keyring,
    pub bus: Bus,
    pub event_hub: Arc<Hub>,
    pub(crate) webhooks: WebhookSender,
    pub(crate) tasks: TaskTracker,
    pub(crate) published_keys: PublishedKeys,
}

impl AccountApi {
    #[must_use]
    pub fn new(config: AccountConfig) -> Arc<Self> {
        Arc::new(Self {
            webhooks: WebhookSender::new(&config.settings.webhooks, &config.fetcher),
            settings: config.settings,
            edge: config.edge,
            data: config.data,
            ledger: config.ledger,
            keyring: config.keyring,
            bus: config.bus,
            event_hub: Hub::new(),
            tasks: config.tasks,
            published_keys: PublishedKeys::default(),
        })
    }

    /// Takes over what has changed of keys and accounts alone: cheap, after a notification.
    pub(crate) async fn refresh_keys(&self) -> Result<(), DbError> {
        self.edge.key_table.follow(&self.data).await
    }
}
