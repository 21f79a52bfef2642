//! `trunkline dev`: everything on this machine in one command, with no vendor's key: a database of
//! its own, a simulator for an upstream, a customer with credit, and each call as it happens.

mod postgres;
mod seed;

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;
use trunkline_console::{ConsoleSettings, Mode};
use trunkline_db::{Database, PoolSettings, Role, SystemClock, connect};
use trunkline_gateway::{CallLine, EdgeSettings, Gateway, Settings, VideoSettings};
use trunkline_keyring::{Document, FileSource, Keyring, SystemRandom};
use trunkline_media::{MediaSettings, Place};
use trunkline_simulator::{Settings as SimulatorSettings, Simulator};
use trunkline_social::Cells;
use trunkline_terms::{AccountId, Clock as _, NodeId, Secret};
use trunkline_upstream::guarded::GuardedSettings;

use self::postgres::OwnPostgres;
use crate::config::{Config, Roles};
use crate::node::{Leave, Node, Plan};
use crate::output::Output;

/// Where a lasting one keeps its things, below the current directory.
const FOLDER: &str = ".trunkline-dev";
const LEAVE: Leave = Leave {
    notice: Duration::ZERO,
    drain: Duration::from_secs(2),
};
/// Files that a run may leave on the disk.
const MEDIA_BYTES: u64 = 2_000_000_000;
/// The simulator's videos are quick.
const POLL: Duration = Duration::from_millis(500);

/// What is wanted of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    pub(super) ephemeral: bool,
    pub(super) json: bool,
}

/// Starts everything, tells where it is, and shows calls until Ctrl-C or the end of input.
pub(super) async fn run(config: &Config, wish: Wish, output: &Output) -> anyhow::Result<ExitCode> {
    let folder = folder(wish.ephemeral)?;
    let (own, url) = match &config.database.url {
        Some(url) if !wish.ephemeral => (None, url.clone()),
        Some(_) | None => {
            let own = OwnPostgres::start(&folder.path, wish.ephemeral).await?;
            let url = own.url();
            (Some(own), url)
        }
    };
    let ran = serve(config, wish, output, &folder, &url).await;
    if let Some(own) = own {
        own.stop().await;
    }
    folder.clean();
    ran?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(
    config: &Config,
    wish: Wish,
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
    let seeded = seed::plant(&console, &keyring, &simulator.base_url(), &cells).await?;
    let supplies = Supplies {
        data,
        people: console,
        keyring,
        cells,
        account: seeded.account,
    };
    let node = Box::pin(Node::start(plan(config, wish, folder, supplies)?)).await?;
    let (edge, console) = node.edge.zip(node.console).context("this node listens")?;
    let base_url = format!("http://{edge}/v1");
    let dash_url = format!("http://{console}");
    let link = node.setup_link().await?;
    let object = json!({
        "base_url": base_url,
        "dash_url": dash_url,
        "key": seeded.key,
        "operator_link": link,
        "database_url": url.reveal(),
        "simulator_url": simulator.base_url(),
        "account": seeded.account.number(),
        "admin_url": format!("http://{}", node.admin),
    });
    output.success(
        &greeting(
            &base_url,
            (&dash_url, link.as_deref()),
            &seeded.key,
            &simulator.base_url(),
        ),
        &object,
    );
    let shown = !wish.json;
    tokio::select! {
        ended = until_told() => ended?,
        () = node.replaced() => {}
        () = show_calls(&node.gateway, shown) => {}
    }
    node.stop(LEAVE).await;
    simulator.stop().await;
    Ok(())
}

/// What a run has made for its node.
struct Supplies {
    data: Database,
    people: Database,
    keyring: Keyring,
    cells: Cells,
    /// The seeded one.
    account: AccountId,
}

fn plan(config: &Config, wish: Wish, folder: &Folder, supplies: Supplies) -> anyhow::Result<Plan> {
    let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let listen = |configured| if wish.ephemeral { any } else { configured };
    Ok(Plan {
        roles: Roles::ALL,
        name: NodeId::new("dev")?,
        data: supplies.data,
        people: Some(supplies.people),
        keyring: supplies.keyring,
        providers: super::channel::providers(config)?,
        cells: supplies.cells,
        extra_roots: config.extra_roots.clone(),
        media: media(folder),
        fetch: fetch(config)?,
        settings: settings(config),
        edge: listen(config.edge.listen),
        edge_settings: EdgeSettings {
            trusted_proxies: config.edge.trusted_proxies.clone(),
            ..EdgeSettings::default()
        },
        console: listen(config.console.listen),
        console_settings: ConsoleSettings {
            mode: Mode::Dev,
            first_account: Some(supplies.account),
            ..super::serve::console(config)
        },
        admin: any,
        mail: config.mail.clone(),
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
fn fetch(config: &Config) -> anyhow::Result<GuardedSettings> {
    Ok(GuardedSettings {
        allowed: vec!["127.0.0.0/8".parse()?, "::1/128".parse()?],
        denied_suffixes: Vec::new(),
        has_high_ports: true,
        ..config.fetch.clone()
    })
}

fn settings(config: &Config) -> Settings {
    Settings {
        public_url: config.edge.public_url.clone(),
        video: VideoSettings {
            poll_first: POLL,
            ..config.video.clone()
        },
        social: config.social.clone(),
        studio: config.studio.clone(),
        events: config.events.settings.clone(),
        webhooks: config.webhooks.clone(),
        limits: config.limits.clone(),
        ..Settings::default()
    }
}

/// Until Ctrl-C, a polite kill, or the end of input.
async fn until_told() -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (ended, input_ends) = oneshot::channel();
    // A thread of its own, because a read of a terminal cannot be called off; it ends with us.
    std::thread::spawn(move || {
        drop(io::copy(&mut io::stdin().lock(), &mut io::sink()));
        ended.send(())
    });
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = input_ends => {}
    }
    Ok(())
}

async fn show_calls(gateway: &Gateway, shown: bool) {
    let mut calls = gateway.watch();
    loop {
        match calls.recv().await {
            Ok(line) if shown => drop(writeln!(io::stdout().lock(), "{}", call_text(&line))),
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

fn call_text(line: &CallLine) -> String {
    let (input, output) = line.tokens;
    let price = match line.charged {
        Some(charged) => format!("{charged} USD"),
        None => "free".to_owned(),
    };
    format!(
        "{}  {:<12} {:>6} in {:>6} out  {:<18} {}",
        line.request,
        line.model,
        input,
        output,
        line.outcome.word(),
        price
    )
}

fn greeting(
    base_url: &str,
    (dash_url, link): (&str, Option<&str>),
    key: &str,
    simulator: &str,
) -> String {
    let link = link.map(|link| format!("\n  set up     {link} (once: makes you its operator)"));
    let link = link.unwrap_or_default();
    format!(
        "Trunkline is running.

  address    {base_url}
  console    {dash_url} (its interface: {dash_url}/openapi.json){link}
  API key    {key}
  upstream   {simulator} (a simulator: no vendor key, no vendor bill)

Try it:

  curl {base_url}/chat/completions -H 'authorization: Bearer {key}' \\
    -H 'content-type: application/json' \\
    -d '{{\"model\":\"sim-fast\",\"messages\":[{{\"role\":\"user\",\"content\":\"Hello\"}}]}}'

  python -c \"from openai import OpenAI; c = OpenAI(base_url='{base_url}', api_key='{key}'); \\
    print(c.chat.completions.create(model='sim-fast', messages=[{{'role': 'user', 'content': 'Hello'}}]).choices[0].message.content)\"

  node -e \"const O = require('openai'); new O({{baseURL: '{base_url}', apiKey: '{key}'}}).chat.completions.create(\\
    {{model: 'sim-fast', messages: [{{role: 'user', content: 'Hello'}}]}}).then(r => console.log(r.choices[0].message.content))\"

  A video, paid when it is taken, refunded if it fails:

  python -c \"from openai import OpenAI; c = OpenAI(base_url='{base_url}', api_key='{key}'); \\
    v = c.videos.create_and_poll(model='sim-video', prompt='A cat', seconds='4'); \\
    c.videos.download_content(v.id).write_to_file('cat.mp4'); print(v.status, v.metadata['cost_usd'], 'USD')\"

  A picture and a voice, paid by the picture and by the character, and what the voice said, by the second:

  python -c \"from openai import OpenAI; c = OpenAI(base_url='{base_url}', api_key='{key}'); \\
    print(c.images.generate(model='gpt-image-1.5', prompt='A cat', size='1024x1024', quality='low').data[0].url); \\
    c.audio.speech.create(model='tts-1', voice='alloy', input='Good morning.').write_to_file('morning.mp3'); \\
    print(c.audio.transcriptions.create(model='whisper-1', file=open('morning.mp3', 'rb')).text)\"

  Public posts of a platform, paid by the page and only if there is a result. What else there is:
  {dash_url}/api/social/catalog

  curl -G {base_url}/social/douyin/search -H 'authorization: Bearer {key}' --data-urlencode 'keyword=coffee'

Every call is shown here with what it cost. Ctrl-C stops everything.
"
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
        let word = u64::from_be_bytes(crate::chance::bytes()?);
        std::env::temp_dir().join(format!("trunkline-dev-{word:016x}"))
    } else {
        std::env::current_dir()?.join(FOLDER)
    };
    std::fs::create_dir_all(&path)
        .with_context(|| format!("cannot make the directory {}", path.display()))?;
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
