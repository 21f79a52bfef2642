//! The handle: opens the port, owns every task behind it, and closes both.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::audio_state::AudioCall;
use crate::fault::Rule;
use crate::image_store::ImageCall;
use crate::realtime::{self, Connection};
use crate::realtime_log::RealtimeConnection;
use crate::request_log::RequestRecord;
use crate::server;
use crate::settings::Settings;
use crate::shared_state::SharedState;
use crate::social_state::SocialCall;
use crate::stripe::StripeControl;
use crate::video_jobs::VideoJob;

/// A running upstream. Clones are handles to the same one; it ends when it is stopped or when the
/// last handle is dropped.
#[derive(Clone, Debug)]
pub struct Simulator {
    state: Arc<SharedState>,
    handle: Arc<ListenerHandle>,
}

/// What only handles hold, so that the listener can see them go.
#[derive(Debug)]
struct ListenerHandle {
    address: SocketAddr,
    close: watch::Sender<bool>,
    listener: Mutex<Option<JoinHandle<()>>>,
}

/// Connections at one time; more wait to be taken.
const MAX_CONNECTIONS: usize = 16_384;
/// Bytes of headers, and of an answer waiting to be written: small, so that what is counted as
/// handed over is not far ahead of the socket.
const MAX_BUFFER_BYTES: usize = 64 * 1024;
/// How long a connection may take over the head of a request, idle time included.
const HEAD_TIMEOUT: Duration = Duration::from_secs(300);
/// Pause after the system refused to hand out a connection, as when files run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

// === impl Simulator ===

impl Simulator {
    /// Opens the port and begins to serve.
    ///
    /// # Errors
    ///
    /// The port cannot be opened.
    #[expect(
        clippy::disallowed_methods,
        reason = "the handle owns this task: stop() waits for it, and it ends with the last handle"
    )]
    pub async fn start(settings: Settings) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.bind).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(SharedState::new(settings));
        let (close, closed) = watch::channel(false);
        let task = tokio::spawn(listen(listener, Arc::clone(&state), closed));
        let handle = Arc::new(ListenerHandle {
            address,
            close,
            listener: Mutex::new(Some(task)),
        });
        Ok(Self { state, handle })
    }

    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.handle.address
    }

    /// What a client is pointed at, `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.handle.address)
    }

    /// Adds a rule behind those that are there.
    pub fn plan(&self, rule: Rule) {
        self.state.plans().add(rule);
    }

    pub fn clear_plans(&self) {
        self.state.plans().clear();
    }

    /// Refuses a key from now on, or takes it again.
    pub fn revoke_key(&self, key: &str, revoked: bool) {
        let mut withdrawn = self.state.withdrawn();
        if revoked {
            withdrawn.keys.insert(key.to_owned());
        } else {
            withdrawn.keys.remove(key);
        }
    }

    /// Takes a model of chat completions away, or gives it back.
    pub fn remove_model(&self, model: &str, removed: bool) {
        let mut withdrawn = self.state.withdrawn();
        if removed {
            withdrawn.models.insert(model.to_owned());
        } else {
            withdrawn.models.remove(model);
        }
    }

    /// A copy of all records, the running requests included, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.state.requests.all()
    }

    /// A copy of all video jobs, oldest first.
    #[must_use]
    pub fn video_jobs(&self) -> Vec<VideoJob> {
        self.state.jobs.all()
    }

    /// A copy of all speech that was made and all that was heard, oldest first.
    #[must_use]
    pub fn audio_calls(&self) -> Vec<AudioCall> {
        self.state.audio.calls()
    }

    /// A copy of all realtime connections, the open ones included, oldest first.
    #[must_use]
    pub fn realtime_connections(&self) -> Vec<RealtimeConnection> {
        self.state.realtime.all()
    }

    /// A copy of all orders for pictures that were taken, oldest first.
    #[must_use]
    pub fn image_calls(&self) -> Vec<ImageCall> {
        self.state.images.calls()
    }

    /// A copy of all calls for social data, those that were refused included, oldest first.
    #[must_use]
    pub fn social_calls(&self) -> Vec<SocialCall> {
        self.state.social.calls()
    }

    /// Takes a path of the source of social data away: from now on it is answered as one that never
    /// was.
    pub fn retire_social_path(&self, path: &str) {
        self.state.social.retire(path);
    }

    /// Gives all of them back.
    pub fn restore_social_paths(&self) {
        self.state.social.restore();
    }

    /// People and banks at Stripe.
    #[must_use]
    pub fn stripe(&self) -> StripeControl {
        StripeControl::new(Arc::clone(&self.state))
    }

    /// Drops all records. Numbers go on.
    pub fn clear_requests(&self) {
        self.state.clear_requests();
    }

    /// Closes the port and every connection, and waits until they are closed. The records stay
    /// readable through other handles.
    pub async fn stop(self) {
        self.state.is_closing.store(true, Ordering::Release);
        // Without a receiver the listener has ended already.
        self.handle.close.send_replace(true);
        let task = self
            .handle
            .listener
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(task) = task {
            // A listener that panicked is closed too.
            task.await.unwrap_or_default();
        }
    }
}

/// Takes connections until the handle closes, then ends those that are left.
async fn listen(listener: TcpListener, state: Arc<SharedState>, mut closed: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // It changes once, when the simulator is stopped; an error means that the last handle is gone.
            _ = closed.changed() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(stream, Arc::clone(&state)));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    state.is_closing.store(true, Ordering::Release);
    drop(listener);
    connections.shutdown().await;
}

async fn serve_connection(stream: TcpStream, state: Arc<SharedState>) {
    // Frames must leave one by one; a system that refuses only makes them come in clumps.
    stream.set_nodelay(true).unwrap_or_default();
    // A connection becomes a WebSocket at most once.
    let (upgrades, mut upgraded) = mpsc::channel::<Connection>(1);
    let service =
        service_fn(move |request| server::serve(Arc::clone(&state), request, upgrades.clone()));
    let record = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    // How a connection ends is in the records; most errors here are faults that were ordered.
    drop(record);
    // In the task of the connection, so that it ends with the simulator.
    if let Ok(connection) = upgraded.try_recv() {
        realtime::run(connection).await;
    }
}
