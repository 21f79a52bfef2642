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
    /// None if no calls are answered here.
    door: Option<Door>,
    console: ConsoleAt,
    admin: TcpListener,
}

/// Where the console answers.
enum ConsoleAt {
    /// Nowhere.
    Nowhere,
    /// At the edge's address.
    Edge,
    /// At one of its own.
    Own(TcpListener),
}

/// Where they are; none for what this node does not do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addresses {
    pub(super) edge: Option<SocketAddr>,
    pub(super) console: Option<SocketAddr>,
    pub(super) admin: SocketAddr,
}

// === impl Listeners ===

impl Listeners {
    pub(super) async fn bind(wanted: Addresses, settings: EdgeSettings) -> anyhow::Result<Self> {
        let door = match wanted.edge {
            Some(address) => Some(Door::bind(address, settings).await?),
            None => None,
        };
        let console = match wanted.console {
            None => ConsoleAt::Nowhere,
            // Port 0 is a free one, which no two ever share.
            Some(address) if Some(address) == wanted.edge && address.port() != 0 => ConsoleAt::Edge,
            Some(address) => ConsoleAt::Own(bind(address).await?),
        };
        Ok(Self {
            door,
            console,
            admin: bind(wanted.admin).await?,
        })
    }

    pub(super) fn addresses(&self) -> anyhow::Result<Addresses> {
        let edge = self.door.as_ref().map(Door::address).transpose()?;
        let console = match &self.console {
            ConsoleAt::Nowhere => None,
            ConsoleAt::Edge => edge,
            ConsoleAt::Own(listener) => Some(listener.local_addr()?),
        };
        Ok(Addresses {
            edge,
            console,
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
            ConsoleAt::Nowhere => self.door,
            ConsoleAt::Edge => self.door.map(|door| door.share(guest(console))),
            ConsoleAt::Own(listener) => {
                tasks.spawn(console.serve(listener, stop.clone()));
                self.door
            }
        };
        if let Some(door) = door {
            tasks.spawn(door.open(gateway.clone()).serve(stop.clone()));
        }
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
