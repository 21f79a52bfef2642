//! The keyring of a running node: said to the others at start, and read anew when its file was rotated.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use tokio::sync::watch;
use trunkline_gateway::Services;
use trunkline_keyring::{Document, FileSource, Keyring};
use trunkline_types::NodeId;

/// How often the file is looked at.
const EVERY: Duration = Duration::from_secs(2);

/// Refuses to start with keys that are older than those in use: what other nodes sealed could not be opened
/// here.
pub(super) async fn register(gateway: &Services, node: &NodeId) -> anyhow::Result<()> {
    let registered = gateway.register_keyring().await;
    let registered = registered.context("cannot read which keyring is in use")?;
    registered.map_err(|lags| anyhow!("node {:?} does not start: {lags}", node.as_str()))
}

/// A keyring and the file that it is read from.
pub(super) struct Reload {
    keyring: Keyring,
    /// None for one that is kept as text.
    file: Option<PathBuf>,
}

impl Reload {
    pub(super) fn of(keyring: &Keyring, file: Option<PathBuf>) -> Self {
        let keyring = keyring.clone();
        Self { keyring, file }
    }
}

/// Takes over a rotated file until it is reported to stop. What is wrong with it is logged once, and the keys in
/// use stay.
pub(super) async fn run_reload(
    gateway: Arc<Services>,
    Reload { keyring, file }: Reload,
    mut stop: watch::Receiver<bool>,
) {
    let Some(path) = file else {
        return;
    };
    let mut pause = tokio::time::interval(EVERY);
    pause.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut reported = None;
    // A rotation that other nodes were not told of yet, because the database was away.
    let mut is_untold = false;
    loop {
        tokio::select! {
            _ = stop.changed() => return,
            _ = pause.tick() => {}
        }
        let problem = reload(&gateway, &keyring, path.clone(), &mut is_untold).await;
        let problem = problem.err();
        let problem = problem.map(|error| format!("{error:#}"));
        if problem != reported
            && let Some(error) = &problem
        {
            tracing::error!(error, "keyring reload failed; the keys in use stay");
        }
        reported = problem;
    }
}

async fn reload(
    gateway: &Services,
    keyring: &Keyring,
    path: PathBuf,
    is_untold: &mut bool,
) -> anyhow::Result<()> {
    let read = move || Document::from_source(&FileSource::new(path));
    let document = tokio::task::spawn_blocking(read).await??;
    if keyring.replace(&document)? {
        let generation = keyring.generations().current.id.number();
        tracing::info!(keyring.generation = generation, "keyring reloaded");
        *is_untold = true;
    }
    if *is_untold {
        let registered = gateway.keyring_replaced().await?;
        *is_untold = false;
        registered?;
    }
    Ok(())
}
