//! The three listeners of a node. They are bound first of all and opened last.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use trunkline_catalog::{Book, Routes};
use trunkline_console::{Console, Parts, Shop, SocialCell, Viewer};
use trunkline_db::Database;
use trunkline_gateway::{Admin, Door, EdgeSettings, Gateway, Guest, Holder};

/// Addresses that are ours, before anybody is served there.
pub(super) struct Listeners {
    door: Door,
    /// None if the console answers at the edge's address.
    console: Option<TcpListener>,
    admin: TcpListener,
}

/// Where they are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addresses {
    pub(super) edge: SocketAddr,
    pub(super) console: SocketAddr,
    pub(super) admin: SocketAddr,
}

// === impl Listeners ===

impl Listeners {
    pub(super) async fn bind(wanted: Addresses, settings: EdgeSettings) -> anyhow::Result<Self> {
        let door = Door::bind(wanted.edge, settings).await?;
        // Port 0 is a free one, which no two ever share.
        let is_shared = wanted.console == wanted.edge && wanted.console.port() != 0;
        let console = if is_shared {
            None
        } else {
            Some(bind(wanted.console).await?)
        };
        Ok(Self {
            door,
            console,
            admin: bind(wanted.admin).await?,
        })
    }

    pub(super) fn addresses(&self) -> anyhow::Result<Addresses> {
        let edge = self.door.address()?;
        let console = self.console.as_ref().map(TcpListener::local_addr);
        Ok(Addresses {
            edge,
            console: console.unwrap_or(Ok(edge))?,
            admin: self.admin.local_addr()?,
        })
    }

    /// Serves on all of them until the word `stop` changes.
    pub(super) fn open(
        self,
        gateway: &Gateway,
        data: &Database,
        stop: &watch::Receiver<bool>,
        tasks: &mut JoinSet<()>,
    ) {
        let ids = gateway.clone();
        let console = Console::new(Parts {
            data: data.clone(),
            shop: Arc::new(Front(gateway.clone())),
            request_ids: Arc::new(move || ids.request_id()),
        });
        let door = match self.console {
            Some(listener) => {
                tasks.spawn(console.serve(listener, stop.clone()));
                self.door
            }
            None => self.door.share(guest(console)),
        };
        tasks.spawn(door.open(gateway.clone()).serve(stop.clone()));
        tasks.spawn(Admin::new(gateway.clone(), self.admin).serve(stop.clone()));
    }
}

/// What the gateway sells, as the console shows it.
struct Front(Gateway);

impl Shop for Front {
    fn book(&self) -> Arc<Book> {
        Arc::clone(&self.0.shelf().book)
    }

    fn routes(&self, model: &str) -> Routes {
        self.0.routes(model)
    }

    fn cells(&self) -> Vec<SocialCell> {
        let cells = self.0.cells().into_iter();
        cells
            .map(|(cell, is_paused)| SocialCell { cell, is_paused })
            .collect()
    }

    fn stamp(&self) -> u64 {
        self.0.stamp()
    }

    fn viewer(&self, headers: &http::HeaderMap) -> Viewer {
        match self.0.holder(headers) {
            Holder::Nobody => Viewer::Stranger,
            Holder::Stranger => Viewer::Unknown,
            Holder::Known { group, models } => Viewer::Customer { group, models },
        }
    }
}

/// The console behind the edge's door, where both have one address.
fn guest(console: Console) -> Guest {
    Guest {
        owns: Console::owns,
        answer: Box::new(move |request| {
            let console = console.clone();
            Box::pin(async move { console.answer_whole(request).await })
        }),
    }
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.with_context(|| format!("cannot listen on {address}"))
}
