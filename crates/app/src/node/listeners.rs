//! The three listeners of a node. They are bound first of all and opened last.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use trunkline_catalog::{Book, Routes};
use trunkline_console::{
    BoxFuture, Console, ConsoleSettings, FileLink, GatewayPort, MakeChange, Parts, PublishFault,
    PublishedPrices, SocialCell, TaskInspection, Viewer,
};
use trunkline_db::{Database, SystemClock, Tx};
use trunkline_edge::authenticate::KeyOwner;
use trunkline_edge::listener::{
    BoundListener, EdgeSettings, ListeningSocket, MountedService, caller_address,
};
use trunkline_gateway::{
    Change, ChangeAuthor, PublishError, Router, Services, admin_listener, publish,
};
use trunkline_keyring::{Keyring, SystemRandom};
use trunkline_payments::Payments;
use trunkline_store::Network;
use trunkline_store::tasks::Task;
use trunkline_upstream::{Client, Providers};

use crate::handover::{Listener, ListenerAt, Passable};

/// Bound listeners, before they serve.
pub(super) struct Listeners {
    /// None if no calls are answered here.
    edge: Option<BoundListener>,
    console: ConsoleAt,
    admin: ListeningSocket,
    /// True when another process accepts the connections.
    pub(super) handed_over: watch::Sender<bool>,
    /// What a successor gets.
    pub(super) passed: Vec<Passable>,
}

/// Sockets that are opened one by one.
struct Sockets {
    /// Those of the process before; none where this one is the first.
    inherited: Vec<(ListenerAt, std::net::TcpListener)>,
    handed_over: watch::Receiver<bool>,
    passed: Vec<Passable>,
}

enum ConsoleAt {
    Nowhere,
    Edge,
    Own(ListeningSocket),
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
    /// Takes the addresses, with the sockets of the process before where it listened there.
    pub(super) async fn bind(
        addresses: Addresses,
        settings: EdgeSettings,
        inherited: Vec<(ListenerAt, std::net::TcpListener)>,
    ) -> anyhow::Result<Self> {
        let (handed_over, watched) = watch::channel(false);
        let mut sockets = Sockets {
            inherited,
            handed_over: watched,
            passed: Vec::new(),
        };
        let edge = match addresses.edge {
            Some(address) => {
                let socket = sockets.open(Listener::Edge, address).await?;
                Some(BoundListener::on(socket, settings)?)
            }
            None => None,
        };
        let console = match addresses.console {
            None => ConsoleAt::Nowhere,
            // Port 0 is a free one, which no two ever share.
            Some(address) if Some(address) == addresses.edge && address.port() != 0 => {
                ConsoleAt::Edge
            }
            Some(address) => ConsoleAt::Own(sockets.open(Listener::Console, address).await?),
        };
        let admin = sockets.open(Listener::Admin, addresses.admin).await?;
        Ok(Self {
            edge,
            console,
            admin,
            handed_over,
            passed: sockets.passed,
        })
    }

    pub(super) fn addresses(&self) -> anyhow::Result<Addresses> {
        let edge = self.edge.as_ref().map(BoundListener::address).transpose()?;
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
        gateway: &Arc<Services>,
        console: Option<Console>,
        stop: &watch::Receiver<bool>,
        tasks: &mut JoinSet<()>,
    ) {
        let edge = match (self.console, console) {
            (ConsoleAt::Nowhere, _) | (_, None) => self.edge,
            (ConsoleAt::Edge, Some(console)) => self.edge.map(|edge| edge.share(guest(console))),
            (ConsoleAt::Own(listener), Some(console)) => {
                tasks.spawn(console.serve(listener, stop.clone()));
                self.edge
            }
        };
        if let Some(edge) = edge {
            tasks.spawn(
                edge.open(Router::boxed(gateway.clone()))
                    .serve(stop.clone()),
            );
        }
        tasks.spawn(admin_listener(gateway.clone(), self.admin).serve(stop.clone()));
    }
}

/// What the console works with.
pub(super) struct ConsoleDeps {
    pub(super) data: Database,
    pub(super) people: Database,
    pub(super) keyring: Keyring,
    pub(super) settings: ConsoleSettings,
    /// The way to providers of sign-ins.
    pub(super) client: Client,
    /// Whose word for the caller's address is taken.
    pub(super) proxies: Vec<Network>,
    pub(super) payments: Option<Payments>,
    pub(super) upstreams: Arc<Providers>,
}

impl ConsoleDeps {
    /// The console of a node, and the sweeping that goes with it until the word `stop` changes.
    pub(super) fn open(
        self,
        gateway: &Arc<Services>,
        stop: &watch::Receiver<bool>,
        tasks: &mut JoinSet<()>,
    ) -> Console {
        let (ids, proxies) = (gateway.clone(), self.proxies);
        let console = Console::new(Parts {
            data: self.data,
            people: self.people,
            keyring: self.keyring,
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            settings: self.settings,
            callers: Arc::new(move |headers, peer| caller_address(headers, peer, &proxies)),
            client: self.client,
            payments: self.payments,
            upstreams: self.upstreams,
            gateway: Arc::new(ConsoleGateway(gateway.clone())),
            request_ids: Arc::new(move || ids.request_id()),
        });
        tasks.spawn(console.clone().run_cleanup(stop.clone()));
        console
    }
}

/// What the gateway sells, as the console shows it.
struct ConsoleGateway(Arc<Services>);

impl GatewayPort for ConsoleGateway {
    fn book(&self) -> Arc<Book> {
        Arc::clone(&self.0.catalog().book)
    }

    fn routes(&self, model: &str) -> Routes {
        self.0.routes(model)
    }

    fn cells(&self) -> Vec<SocialCell> {
        let cells = trunkline_gateway::social_cells(&self.0).into_iter();
        cells
            .map(|(cell, is_paused)| SocialCell { cell, is_paused })
            .collect()
    }

    fn stamp(&self) -> u64 {
        self.0.catalog_etag()
    }

    fn viewer(&self, headers: &http::HeaderMap) -> Viewer {
        match trunkline_edge::authenticate::key_owner(self.0.edge(), headers) {
            KeyOwner::NoKey => Viewer::Stranger,
            KeyOwner::Stranger => Viewer::Unknown,
            KeyOwner::Known { group, models } => Viewer::Customer { group, models },
        }
    }

    fn refresh_keys(&self) -> BoxFuture<'_, ()> {
        Box::pin(trunkline_account_api::refresh_keys(self.0.account_api()))
    }

    fn inspect_task<'a>(
        &'a self,
        task: &'a Task,
        closely: bool,
    ) -> BoxFuture<'a, Option<TaskInspection>> {
        Box::pin(async move {
            let look = trunkline_gateway::inspect_task(&self.0, task, closely)
                .await
                .ok()?;
            Some(TaskInspection {
                link: look.link.map(|link| FileLink {
                    url: link.url,
                    download_url: link.download_url,
                    ends: link.ends,
                }),
                content_type: look.content_type.to_owned(),
                guess: look.guess,
                prompt: look.prompt,
                settings: look.settings,
                can_stop: look.can_stop,
            })
        })
    }

    fn publish<'a>(
        &'a self,
        tx: &'a mut Tx,
        author: &'a str,
        note: &'a str,
        change: MakeChange<'a>,
    ) -> BoxFuture<'a, Result<PublishedPrices, PublishFault>> {
        Box::pin(async move {
            let signed = ChangeAuthor { author, note };
            // What is wrong with it shows on the catalog as it is then; in that case nothing is changed.
            let mut wrong = None;
            let done = publish(tx, signed, |before| match change(before) {
                Ok(change) => Change {
                    frame: change.frame,
                    models: change.models,
                },
                Err(text) => {
                    wrong = Some(text);
                    Change::default()
                }
            });
            let done = done.await;
            if let Some(wrong) = wrong {
                return Err(PublishFault::Refused(wrong));
            }
            let done = done.map_err(|error| match error {
                PublishError::Db(error) => PublishFault::Db(error),
                error @ (PublishError::Refused(_)
                | PublishError::Stored(_)
                | PublishError::Unwritable(_)) => PublishFault::Refused(error.to_string()),
            })?;
            Ok(PublishedPrices {
                before: done.before.book,
                before_revision: done.before.revision,
                after: done.after.book,
                revision: done.after.revision,
                models: done.models,
            })
        })
    }

    fn stop_task<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Option<bool>> {
        Box::pin(async move { trunkline_gateway::cancel_task(&self.0, task).await.ok() })
    }
}

/// The console behind the edge's listener, where both have one address.
fn guest(console: Console) -> MountedService {
    MountedService {
        owns: Console::owns,
        answer: Box::new(move |request, peer| {
            let console = console.clone();
            Box::pin(async move { console.answer_whole(request, peer).await })
        }),
    }
}

// === impl Sockets ===

impl Sockets {
    /// The socket of the process before for this listener and address, or a new one.
    async fn open(
        &mut self,
        listener: Listener,
        configured: SocketAddr,
    ) -> anyhow::Result<ListeningSocket> {
        let at = ListenerAt {
            listener,
            configured,
        };
        let place = self.inherited.iter().position(|(there, _)| *there == at);
        let socket = match place.map(|place| self.inherited.swap_remove(place)) {
            Some((_, socket)) => {
                socket.set_nonblocking(true)?;
                TcpListener::from_std(socket)
            }
            None => TcpListener::bind(configured).await,
        };
        let socket = socket.with_context(|| format!("cannot listen on {configured}"))?;
        let socket = ListeningSocket::new(socket, self.handed_over.clone());
        self.passed.push(Passable {
            at,
            socket: socket.downgrade(),
        });
        Ok(socket)
    }
}
