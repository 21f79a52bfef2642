//! `trunkline dev`: everything on this machine in one command: a database of its own, a customer with
//! credit, vendors whose keys are in the environment, a simulator for all others, and each call as it
//! happens.

mod greeting;
mod postgres;
mod routes;
mod seed;
mod sign_in;
mod vendors;

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;
use trunkline_blobs::{MediaSettings, Place};
use trunkline_console::{ConsoleSettings, Mode};
use trunkline_db::{Database, PoolSettings, Role, SystemClock, connect};
use trunkline_edge::listener::EdgeSettings;
use trunkline_edge::state::CompletedCall;
use trunkline_gateway::{Services, Settings, VideoSettings};
use trunkline_keyring::{Document, FileSource, Keyring, SystemRandom};
use trunkline_simulator::{Settings as SimulatorSettings, Simulator};
use trunkline_social::Cells;
use trunkline_types::{AccountId, Clock as _, NodeId, Secret};
use trunkline_upstream::safe_fetch::{SafeFetchSettings, is_public_url};
use trunkline_worker::Retention;

use self::greeting::Greeting;
use self::postgres::OwnPostgres;
use self::seed::Ground;
use self::sign_in::SignInLink;
use crate::config::{Config, DrainTimes, Roles};
use crate::node::{Node, NodeConfig, PaymentsConfig};
use crate::output::Output;

/// Where a lasting one keeps its things, below the current directory.
const FOLDER: &str = ".trunkline-dev";
const DRAIN_TIMES: DrainTimes = DrainTimes {
    notice: Duration::ZERO,
    drain: Duration::from_secs(2),
};
/// Files that a run may leave on the disk.
const MEDIA_BYTES: u64 = 2_000_000_000;
/// The simulator's videos are quick.
const POLL: Duration = Duration::from_millis(500);

/// What is wanted of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct DevOptions {
    pub(super) ephemeral: bool,
    pub(super) json: bool,
    /// Stop at the end of input, too.
    pub(super) exit_on_eof: bool,
    /// Leave vendors' keys in the environment alone.
    pub(super) simulated: bool,
}

/// Starts everything, tells where it is, and shows calls until a signal.
pub(super) async fn run(
    config: &Config,
    options: DevOptions,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let folder = folder(options.ephemeral)?;
    let (own, url) = match &config.database.url {
        Some(url) if !options.ephemeral => (None, url.clone()),
        Some(_) | None => {
            let own = OwnPostgres::start(&folder.path, options.ephemeral).await?;
            let url = own.url();
            (Some(own), url)
        }
    };
    let ran = serve(config, options, output, &folder, &url).await;
    if let Some(own) = own {
        own.stop().await;
    }
    folder.clean();
    ran?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(
    config: &Config,
    options: DevOptions,
    output: &Output,
    folder: &Folder,
    url: &Secret,
) -> anyhow::Result<()> {
    trunkline_db::migrate(url)
        .await
        .context("cannot migrate the database")?;
    let pool = async |role| {
        let settings = PoolSettings::named("trunkline-dev");
        connect(url, role, settings)
            .await
            .context("cannot open the database")
    };
    let (data, console) = (pool(Role::Data).await?, pool(Role::Console).await?);
    let keyring = keyring(folder)?;
    let simulator = Simulator::start(SimulatorSettings::default()).await?;
    let cells = crate::social::cells(config)?;
    let keys = match options.simulated {
        true => Vec::new(),
        false => vendors::keys(crate::config::variable),
    };
    let ground = Ground {
        keyring: &keyring,
        simulator: &simulator.base_url(),
        cells: &cells,
        providers: &super::channel::providers(config)?,
        keys: &keys,
    };
    let seeded = seed::plant(&console, &ground).await?;
    let supplies = Supplies {
        data,
        people: console,
        keyring,
        cells,
        account: seeded.account,
        is_simulated: keys.is_empty(),
    };
    let mut plan = plan(config, options, folder, supplies)?;
    let sign_in = SignInLink::offer(&mut plan)?;
    let node = Box::pin(Node::start(plan)).await?;
    let (edge, console) = node.edge.zip(node.console).context("this node listens")?;
    let dash_url = format!("http://{console}");
    let greeting = Greeting {
        base_url: format!("http://{edge}"),
        console_link: sign_in.map(|sign_in| sign_in.at(&dash_url)),
        // The form that makes an operator is needed only where no link signs in; tests walk it.
        setup_link: node.setup_link().await?,
        dash_url,
        admin_url: format!("http://{}", node.admin),
        key: seeded.key,
        account: seeded.account,
        database_url: url,
        simulator_url: simulator.base_url(),
        keys: &keys,
    };
    output.success(&greeting.text(), &greeting.facts());
    let greeting = !options.json;
    tokio::select! {
        ended = until_told(options.exit_on_eof) => ended?,
        () = node.replaced() => {}
        () = show_calls(&node.gateway, greeting) => {}
    }
    node.stop(DRAIN_TIMES).await;
    simulator.stop().await;
    Ok(())
}

/// What a run has made for its node.
struct Supplies {
    data: Database,
    people: Database,
    keyring: Keyring,
    cells: Cells,
    account: AccountId,
    /// All vendors are on this machine.
    is_simulated: bool,
}

fn plan(
    config: &Config,
    options: DevOptions,
    folder: &Folder,
    supplies: Supplies,
) -> anyhow::Result<NodeConfig> {
    let payments = config.stripe.clone().map(|stripe| PaymentsConfig {
        stripe,
        database: supplies.people.clone(),
    });
    let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let listen = |configured| if options.ephemeral { any } else { configured };
    Ok(NodeConfig {
        roles: Roles::ALL,
        name: NodeId::new("dev")?,
        data: supplies.data,
        people: Some(supplies.people),
        keyring: supplies.keyring,
        keyring_file: None,
        providers: super::channel::providers(config)?,
        cells: supplies.cells,
        extra_roots: config.extra_roots.clone(),
        media: media(folder),
        fetch: fetch(config)?,
        settings: settings(config, supplies.is_simulated),
        retention: Retention::default(),
        sockets: Vec::new(),
        edge: listen(config.edge.listen),
        edge_settings: EdgeSettings {
            trusted_proxies: config.edge.trusted_proxies.clone(),
            receive_bytes: config.edge.half_memory,
            ..EdgeSettings::default()
        },
        console: listen(config.console.listen),
        console_settings: ConsoleSettings {
            mode: Mode::Dev,
            first_account: Some(supplies.account),
            ..super::serve::console(config)
        },
        admin: any,
        payments,
        mail: config.mail.clone(),
        alarms: config.alarms.clone(),
        telemetry: super::serve::telemetry(config),
        nats: super::serve::nats(config),
        redis: super::serve::redis(config),
    })
}

/// Files lie beside the rest.
fn media(folder: &Folder) -> MediaSettings {
    MediaSettings {
        place: Place::Directory(folder.path.join("media")),
        budget_bytes: Some(MEDIA_BYTES),
    }
}

/// Everything here is on this machine, files of callers included.
fn fetch(config: &Config) -> anyhow::Result<SafeFetchSettings> {
    Ok(SafeFetchSettings {
        allowed: vec!["127.0.0.0/8".parse()?, "::1/128".parse()?],
        denied_suffixes: Vec::new(),
        has_high_ports: true,
        ..config.fetch.clone()
    })
}

fn settings(config: &Config, is_simulated: bool) -> Settings {
    Settings {
        public_url: config.edge.public_url.clone(),
        vendors_reach_links: is_simulated || is_public_url(&config.edge.public_url),
        video: VideoSettings {
            poll_first: POLL,
            ..config.video.clone()
        },
        social: config.social.clone(),
        generation: config.studio.clone(),
        events: config.events.settings.clone(),
        webhooks: config.webhooks.clone(),
        stream_idle: config.edge.calls.stream_idle,
        whole_wait: config.edge.calls.whole_wait,
        accept: super::serve::accept(config),
        ..Settings::default()
    }
}

/// Until SIGINT or SIGTERM; the end of input counts only for a caller who asked for that, since a
/// container, a service or CI has none to begin with.
async fn until_told(exit_on_eof: bool) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = end_of_input(), if exit_on_eof => {}
    }
    Ok(())
}

async fn end_of_input() {
    let (ended, input_ends) = oneshot::channel();
    // A thread of its own, because a read of a terminal cannot be called off; it ends with us.
    std::thread::spawn(move || {
        drop(io::copy(&mut io::stdin().lock(), &mut io::sink()));
        ended.send(())
    });
    // A sender that is gone has ended, too.
    drop(input_ends.await);
}

async fn show_calls(gateway: &Services, enabled: bool) {
    let mut calls = gateway.completed_calls();
    loop {
        match calls.recv().await {
            Ok(line) if enabled => drop(writeln!(io::stdout().lock(), "{}", call_text(&line))),
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

fn call_text(line: &CompletedCall) -> String {
    let price = match line.charged {
        Some(charged) => format!("{charged} USD"),
        None => "free".to_owned(),
    };
    format!(
        "{}  {:<12} {:>6} in {:>6} out  {:<18} {}",
        line.request,
        line.model,
        line.tokens.input,
        line.tokens.output,
        line.outcome.as_str(),
        price
    )
}

/// The directory of this run.
struct Folder {
    path: PathBuf,
    ephemeral: bool,
}

impl Folder {
    /// An ephemeral one leaves nothing behind.
    fn clean(&self) {
        if self.ephemeral {
            drop(std::fs::remove_dir_all(&self.path));
        }
    }
}

fn folder(ephemeral: bool) -> anyhow::Result<Folder> {
    let path = if ephemeral {
        let word = u64::from_be_bytes(crate::random::bytes()?);
        std::env::temp_dir().join(format!("trunkline-dev-{word:016x}"))
    } else {
        std::env::current_dir()?.join(FOLDER)
    };
    std::fs::create_dir_all(&path)
        .with_context(|| format!("cannot create the directory {}", path.display()))?;
    Ok(Folder { path, ephemeral })
}

/// The keyring of this directory, made on the first run.
fn keyring(folder: &Folder) -> anyhow::Result<Keyring> {
    let path = folder.path.join("keyring.toml");
    let source = FileSource::new(path.clone());
    if !path.exists() {
        let document = Document::generate(SystemClock.now(), &SystemRandom)?;
        source.create(&document)?;
    }
    Ok(Keyring::load(&source, Arc::new(SystemRandom))?)
}
