//! A listening socket that can be passed to another process.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use tokio::net::TcpListener;
use tokio::sync::watch;

/// A listening socket. When it has been handed over, another process accepts its connections.
#[derive(Debug)]
pub struct ListeningSocket {
    socket: Arc<TcpListener>,
    handed_over: watch::Receiver<bool>,
}

/// Whether a socket was handed over, for its connections.
#[derive(Debug, Clone)]
pub(crate) struct HandedOver(watch::Receiver<bool>);

// === impl ListeningSocket ===

impl ListeningSocket {
    /// A socket that is handed over when the word changes to true.
    #[must_use]
    pub fn new(socket: TcpListener, handed_over: watch::Receiver<bool>) -> Self {
        Self {
            socket: Arc::new(socket),
            handed_over,
        }
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The socket, for as long as this process accepts its connections.
    #[must_use]
    pub fn downgrade(&self) -> Weak<TcpListener> {
        Arc::downgrade(&self.socket)
    }

    pub(crate) fn state(&self) -> HandedOver {
        HandedOver(self.handed_over.clone())
    }

    pub(crate) fn socket(&self) -> &TcpListener {
        &self.socket
    }
}

impl From<TcpListener> for ListeningSocket {
    /// One that is never handed over.
    fn from(socket: TcpListener) -> Self {
        let (_, never) = watch::channel(false);
        Self::new(socket, never)
    }
}

// === impl HandedOver ===

impl HandedOver {
    pub(crate) fn is_true(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for it; for ever where it cannot be handed over.
    pub(crate) async fn wait(&mut self) {
        if self.0.wait_for(|done| *done).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
