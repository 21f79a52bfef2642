//! A line between a client and an engine that can be slowed, cut, blocked and refused, and that can
//! lose or keep back a commit or its answer.
//!
//! It runs in a thread of its own, so that a test which blocks does not block the line.

mod connection;
mod frames;
mod tx_parser;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::port;

/// Orders that may wait for the thread.
const ORDERS: usize = 16;

/// A breakable line. Whatever is ordered holds when the call returns, for open connections and new
/// ones alike. Dropping it resets every connection.
pub struct FaultProxy {
    address: SocketAddr,
    orders: Option<mpsc::Sender<(Order, SyncSender<()>)>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What happens to the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Pass,
    Delay(Duration),
    BlackHole,
    Refuse,
}

#[derive(Debug, Clone, Copy)]
enum Order {
    Become(Mode),
    Cut,
}

/// What the line's end points are told.
#[derive(Debug, Clone, Copy)]
struct Signal {
    mode: Mode,
    cuts: u64,
}

/// The trap for a commit. Seen by every connection; the first one that steps on it springs it.
struct Shared {
    upstream: Mutex<SocketAddr>,
    speaks_postgres: bool,
    trap: AtomicU8,
    /// Whose commit the trap is for: of a transaction with these words in one of its statements.
    of: Mutex<Option<String>>,
    strikes: AtomicUsize,
}

const NO_TRAP: u8 = 0;
const BEFORE_COMMIT: u8 = 1;
const AFTER_COMMIT: u8 = 2;
const STALL_BEFORE_COMMIT: u8 = 3;
const STALL_AFTER_COMMIT: u8 = 4;

// === impl FaultProxy ===

impl FaultProxy {
    /// A line to a PostgreSQL, whose messages it can read.
    #[must_use]
    pub fn to_postgres(upstream: SocketAddr) -> Self {
        Self::open(IpAddr::V4(Ipv4Addr::LOCALHOST), upstream, true)
    }

    /// A line to anything else.
    #[must_use]
    pub fn to_anything(upstream: SocketAddr) -> Self {
        Self::open(IpAddr::V4(Ipv4Addr::LOCALHOST), upstream, false)
    }

    /// A line to anything that listens on another address of this machine than the loopback, for
    /// processes of an [`NetNamespace`](crate::NetNamespace).
    #[must_use]
    pub fn on(host: IpAddr, upstream: SocketAddr) -> Self {
        Self::open(host, upstream, false)
    }

    /// The port to connect to instead of the engine's.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn pass(&self) {
        self.order(Order::Become(Mode::Pass));
    }

    /// Lets everything through, every piece of an answer so much later.
    pub fn delay(&self, by: Duration) {
        self.order(Order::Become(Mode::Delay(by)));
    }

    /// Lets nothing through and notifies no peer: as if a cable were cut or the other machine had
    /// vanished. What was sent meanwhile arrives after [`FaultProxy::pass`].
    pub fn black_hole(&self) {
        self.order(Order::Become(Mode::BlackHole));
    }

    /// Resets every connection and takes no new ones.
    pub fn refuse(&self) {
        self.order(Order::Become(Mode::Refuse));
    }

    /// Resets every connection that is open now.
    pub fn cut(&self) {
        self.order(Order::Cut);
    }

    /// Leads new connections to another engine, as an address that was moved does. Open ones stay
    /// where they are.
    pub fn lead_to(&self, upstream: SocketAddr) {
        *self.shared.lock_upstream() = upstream;
    }

    /// Loses the answer to the next `COMMIT`: it happens, the client's connection is reset instead
    /// of being told. Once. A batch of the ledger that commits itself is a commit too, here and below.
    pub fn cut_after_commit(&self) {
        self.set_trap(AFTER_COMMIT);
    }

    /// Loses the next `COMMIT` itself: it never arrives, and to the client it looks the same. Once.
    pub fn cut_before_commit(&self) {
        self.set_trap(BEFORE_COMMIT);
    }

    /// Keeps the next `COMMIT` for good: it never arrives, and the client goes on waiting on an open
    /// connection. Once.
    pub fn stall_before_commit(&self) {
        self.set_trap(STALL_BEFORE_COMMIT);
    }

    /// Keeps the answer to the next `COMMIT` for good: it happens, and the client goes on waiting on
    /// an open connection. Once.
    pub fn stall_after_commit(&self) {
        self.set_trap(STALL_AFTER_COMMIT);
    }

    /// From now on only commits of transactions that had these words in a statement count for
    /// traps, so that no heartbeat steps on what was meant for a call.
    pub fn only_of(&self, words: &str) {
        *self.shared.lock_of() = Some(words.to_owned());
    }

    /// Disarms a trap that has not sprung.
    pub fn disarm(&self) {
        self.set_trap(NO_TRAP);
    }

    /// How often a commit or its answer was lost or kept.
    #[must_use]
    pub fn strikes(&self) -> usize {
        self.shared.strikes.load(Ordering::SeqCst)
    }

    fn set_trap(&self, trap: u8) {
        assert!(
            self.shared.speaks_postgres,
            "only PostgreSQL's commits are known"
        );
        self.shared.trap.store(trap, Ordering::SeqCst);
    }

    fn open(host: IpAddr, upstream: SocketAddr, speaks_postgres: bool) -> Self {
        let shared = Arc::new(Shared {
            upstream: Mutex::new(upstream),
            speaks_postgres,
            trap: AtomicU8::new(NO_TRAP),
            of: Mutex::new(None),
            strikes: AtomicUsize::new(0),
        });
        let (orders, inbox) = mpsc::channel(ORDERS);
        let (reported, is_listening) = sync_channel(1);
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime can be made");
            runtime.block_on(serve(host, &of_thread, inbox, &reported));
        });
        let address = is_listening.recv().expect("the wire listens");
        Self {
            address,
            orders: Some(orders),
            shared,
            thread: Some(thread),
        }
    }

    fn order(&self, order: Order) {
        let (done, is_done) = sync_channel(1);
        let Some(orders) = &self.orders else { return };
        // A plain `blocking_send` would refuse to work inside the test's runtime.
        let mut sent = orders.try_send((order, done));
        while let Err(mpsc::error::TrySendError::Full(unsent)) = sent {
            std::thread::yield_now();
            sent = orders.try_send(unsent);
        }
        is_done.recv().expect("the wire is there");
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

// === impl Shared ===

impl Shared {
    fn upstream(&self) -> SocketAddr {
        *self.lock_upstream()
    }

    fn lock_upstream(&self) -> std::sync::MutexGuard<'_, SocketAddr> {
        self.upstream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_of(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this is the step that springs the trap.
    fn springs(&self, trap: u8) -> bool {
        let sprung = self
            .trap
            .compare_exchange(trap, NO_TRAP, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok();
        if sprung {
            self.strikes.fetch_add(1, Ordering::SeqCst);
        }
        sprung
    }
}

async fn listen(host: IpAddr) -> (TcpListener, SocketAddr) {
    loop {
        let address = SocketAddr::new(host, port::free());
        if let Ok(listener) = TcpListener::bind(address).await {
            return (listener, address);
        }
    }
}

async fn serve(
    host: IpAddr,
    shared: &Arc<Shared>,
    mut inbox: mpsc::Receiver<(Order, SyncSender<()>)>,
    reported: &SyncSender<SocketAddr>,
) {
    let (first, address) = listen(host).await;
    let mut listener = Some(first);
    reported.send(address).expect("the wire's maker waits");
    let (signal, _) = watch::channel(Signal {
        mode: Mode::Pass,
        cuts: 0,
    });
    let mut lines = JoinSet::new();
    loop {
        tokio::select! {
            client = accept(listener.as_ref()) => {
                // Counted here: a line that counts when it first runs may take a cut that came in
                // between for an old one, and outlive it.
                let cuts = signal.borrow().cuts;
                let signal = signal.subscribe();
                lines.spawn(connection::run(client, Arc::clone(shared), signal, cuts));
            }
            Some(_) = lines.join_next() => {}
            order = inbox.recv() => {
                let Some((order, done)) = order else { break };
                obey(order, &signal, &mut lines).await;
                listener = relisten(listener, signal.borrow().mode, address).await;
                done.send(()).expect("who orders waits");
            }
        }
    }
    cut(&signal, &mut lines).await;
}

async fn obey(order: Order, signal: &watch::Sender<Signal>, lines: &mut JoinSet<()>) {
    match order {
        Order::Cut => cut(signal, lines).await,
        Order::Become(mode) => {
            signal.send_modify(|signal| signal.mode = mode);
            if mode == Mode::Refuse {
                cut(signal, lines).await;
            }
        }
    }
}

async fn cut(signal: &watch::Sender<Signal>, lines: &mut JoinSet<()>) {
    signal.send_modify(|signal| signal.cuts += 1);
    while lines.join_next().await.is_some() {}
}

async fn relisten(
    listener: Option<TcpListener>,
    mode: Mode,
    address: SocketAddr,
) -> Option<TcpListener> {
    match (mode, listener) {
        (Mode::Refuse, _) => None,
        (Mode::Pass | Mode::Delay(_) | Mode::BlackHole, Some(listener)) => Some(listener),
        (Mode::Pass | Mode::Delay(_) | Mode::BlackHole, None) => {
            let listener = TcpListener::bind(address).await;
            Some(listener.expect("the wire's own port is free again"))
        }
    }
}

/// Waits for a client, for ever while no listener is there.
async fn accept(listener: Option<&TcpListener>) -> tokio::net::TcpStream {
    loop {
        let Some(listener) = listener else {
            return std::future::pending().await;
        };
        if let Ok((client, _)) = listener.accept().await {
            return client;
        }
    }
}
