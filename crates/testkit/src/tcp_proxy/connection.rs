//! One client's connection through a wire.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;

use super::frames::{Frames, Side};
use super::tx_parser::TransactionLog;
use super::{
    AFTER_COMMIT, BEFORE_COMMIT, Mode, STALL_AFTER_COMMIT, STALL_BEFORE_COMMIT, Shared, Signal,
};

const BUFFER_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// One side has closed; so does the other.
    Closed,
    Cut,
}

/// Serves one client until either side ends or the wire is cut once more than `cuts` times.
pub(super) async fn run(
    mut client: TcpStream,
    shared: Arc<Shared>,
    mut signal: watch::Receiver<Signal>,
    cuts: u64,
) {
    let mut of_gate = signal.clone();
    let connected = tokio::select! {
        connected = connect(&shared, &mut of_gate) => connected,
        () = is_cut(&mut signal, cuts) => None,
    };
    let Some(mut server) = connected else {
        drop(client.set_zero_linger());
        return;
    };
    let ended = tokio::select! {
        ended = carry(&mut client, &mut server, &shared, &of_gate) => ended,
        () = is_cut(&mut signal, cuts) => End::Cut,
    };
    if ended == End::Cut {
        drop(client.set_zero_linger());
        drop(server.set_zero_linger());
    }
}

async fn connect(shared: &Shared, signal: &mut watch::Receiver<Signal>) -> Option<TcpStream> {
    gate(signal).await;
    let server = TcpStream::connect(shared.upstream()).await.ok()?;
    server.set_nodelay(true).ok()?;
    Some(server)
}

async fn carry(
    client: &mut TcpStream,
    server: &mut TcpStream,
    shared: &Shared,
    signal: &watch::Receiver<Signal>,
) -> End {
    drop(client.set_nodelay(true));
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let traps = Traps {
        shared,
        log: Mutex::new(TransactionLog::default()),
    };
    tokio::select! {
        end = pump(from_client, to_server, Side::Client, &traps, signal.clone()) => end,
        end = pump(from_server, to_client, Side::Server, &traps, signal.clone()) => end,
    }
}

/// The wire's trap, as one connection sees it.
struct Traps<'a> {
    shared: &'a Shared,
    log: Mutex<TransactionLog>,
}

// === impl Traps ===

impl Traps<'_> {
    /// Takes in one message, and tells whether it ends a batch that commits itself.
    fn hear(&self, side: Side, message: &[u8]) -> bool {
        let mut log = self.log();
        match side {
            Side::Client => log.hear(message),
            Side::Server => log.hear_server(message),
        }
        log.ends_batch(message)
    }

    /// Whether a commit on this connection, now, springs the trap.
    fn spring(&self, trap: u8) -> bool {
        let of = self.shared.lock_of().clone();
        of.is_none_or(|words| self.log().has(&words)) && self.shared.springs(trap)
    }

    fn log(&self) -> std::sync::MutexGuard<'_, TransactionLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Carries one direction, message by message where it can read them.
async fn pump(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    side: Side,
    traps: &Traps<'_>,
    mut signal: watch::Receiver<Signal>,
) -> End {
    let mut frames = Frames::of(side, traps.shared.speaks_postgres);
    let mut buffer = vec![0; BUFFER_BYTES];
    let (trap, pause) = match side {
        Side::Client => (BEFORE_COMMIT, STALL_BEFORE_COMMIT),
        Side::Server => (AFTER_COMMIT, STALL_AFTER_COMMIT),
    };
    loop {
        let piece = match from.read(&mut buffer).await {
            Ok(0) => return End::Closed,
            Ok(count) => buffer.get(..count).unwrap_or_default(),
            Err(_) => return End::Cut,
        };
        frames.take_in(piece);
        let delay = gate(&mut signal).await;
        if side == Side::Server {
            tokio::time::sleep(delay).await;
        }
        while let Some(frame) = frames.next() {
            let is_commit = traps.hear(side, &frame.bytes) || frame.is_commit;
            if is_commit && traps.spring(trap) {
                return End::Cut;
            }
            if is_commit && traps.spring(pause) {
                return swallow(from, &mut buffer).await;
            }
            if to.write_all(&frame.bytes).await.is_err() {
                return End::Cut;
            }
        }
    }
}

/// Passes nothing on any more, and ends when the side that speaks does.
async fn swallow(mut from: ReadHalf<'_>, buffer: &mut [u8]) -> End {
    loop {
        match from.read(buffer).await {
            Ok(0) => return End::Closed,
            Ok(_) => {}
            Err(_) => return End::Cut,
        }
    }
}

/// Waits while nothing may pass, and tells by how much what passes is delayed.
async fn gate(signal: &mut watch::Receiver<Signal>) -> std::time::Duration {
    loop {
        let mode = signal.borrow_and_update().mode;
        match mode {
            Mode::Pass => return std::time::Duration::ZERO,
            Mode::Delay(by) => return by,
            Mode::BlackHole | Mode::Refuse => {}
        }
        if signal.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

async fn is_cut(signal: &mut watch::Receiver<Signal>, cuts: u64) {
    // An error means that the wire is gone, which is a cut too.
    drop(signal.wait_for(|signal| signal.cuts != cuts).await);
}
