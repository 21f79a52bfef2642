//! Events and their way between nodes: from texts to values.

use std::path::PathBuf;

use trunkline_account_api::EventSettings;
use trunkline_db::bus::Servers;

use super::check::{Check, in_range};
use super::raw::{RawEvents, RawNats};
use super::{Events, Nats};

/// Copies of a stream that NATS can keep.
const MAX_REPLICAS: i64 = 5;
/// Most connections that can be set.
const MAX_CONNECTIONS: i64 = 1_000_000;

impl Check<'_> {
    /// Outer none: a finding was made. Inner none: not set.
    fn nats(&mut self, raw: &RawNats) -> Option<Option<Nats>> {
        let replicas = self.take("nats.replicas", in_range(raw.replicas, 1, MAX_REPLICAS));
        if raw.url.reveal().is_empty() {
            return replicas.map(|_| None);
        }
        let servers = Servers::parse(&raw.url).map_err(|error| error.to_string());
        let servers = self.take("nats.url", servers)?;
        let roots = self.tls_roots("nats.tls_roots", &raw.tls_roots, servers.are_tls())?;
        Some(Some(Nats {
            servers,
            // The client reads it at each connection, so a renewed one is followed.
            roots: roots.map(|_| PathBuf::from(&raw.tls_roots)),
            replicas: usize::try_from(replicas?).ok()?,
        }))
    }

    pub(super) fn events(&mut self, nats: &RawNats, raw: &RawEvents) -> Option<Events> {
        let nats = self.nats(nats);
        let all = in_range(raw.max_connections, 1, MAX_CONNECTIONS);
        let all = self.take("events.max_connections", all);
        let own = in_range(raw.max_connections_per_account, 1, MAX_CONNECTIONS);
        let own = self.take("events.max_connections_per_account", own);
        let settings = EventSettings {
            max_connections: usize::try_from(all?).ok()?,
            max_per_account: usize::try_from(own?).ok()?,
            ..EventSettings::default()
        };
        Some(Events {
            nats: nats?,
            settings,
        })
    }
}
