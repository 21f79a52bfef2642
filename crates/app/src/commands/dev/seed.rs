//! What a new development database needs: a customer with credit, a key, and a channel to the
//! simulator.

use std::collections::BTreeMap;

use anyhow::Context as _;
use trunkline_catalog::{Book, Document, Entry, ModelKind};
use trunkline_db::{Database, SystemClock};
use trunkline_gateway::{Change, Signed, publish};
use trunkline_keyring::{Binding, Keyring, Purpose};
use trunkline_ledger::desk::{self, AccountKind, TopUp, Wallet};
use trunkline_social::Cells;
use trunkline_store::accounts::{self, DEFAULT_GROUP, NewAccount};
use trunkline_store::channels::{self, NewChannel, NewCredential, credential_context};
use trunkline_store::keys::{self, NewKey, SECRET_BYTES};
use trunkline_store::people;
use trunkline_store::{Policy, PolicyFields};
use trunkline_terms::{AccountId, Clock as _, EndpointType, Money};

use crate::chance;
use crate::social::{add_records, starter};

/// Ten USD of play money.
const CREDIT: Money = Money::from_nanos(10_000_000_000);
/// The simulator's models that stand in for those of vendors.
const PLAIN: &str = "sim-fast";
const THINKING: &str = "sim-reason";
const CATALOG: &str = include_str!("catalog.toml");
/// The simulator takes any.
const SIMULATOR_KEY: &str = "sk-simulator-development";

/// What is made while the caller waits.
const MADE: [EndpointType; 3] = [
    EndpointType::ImageGeneration,
    EndpointType::AudioSpeech,
    EndpointType::AudioTranscription,
];

/// In which format the simulator is asked, so that each can be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Chat,
    Responses,
    Claude,
    Gemini,
    /// Vendors of videos, pictures and audio.
    Dashscope,
    Ark,
    Kling,
    Minimax,
    OpenaiMade,
    Zhipu,
    /// The source of social data.
    Social,
}

/// What was made.
pub(super) struct Seeded {
    pub(super) account: AccountId,
    pub(super) key: String,
}

// === impl Way ===

impl Way {
    fn of(name: &str, entry: &Entry) -> Self {
        match (entry.vendor.as_deref(), name) {
            (Some("anthropic"), _) | (_, "sim-claude" | "gemini-sim-claude") => Self::Claude,
            (_, "sim-responses" | "gemini-sim-responses") => Self::Responses,
            (Some("google"), _) | (_, "sim-gemini" | "gemini-sim") => Self::Gemini,
            (Some(_) | None, _) => Self::Chat,
        }
    }

    /// The video vendor of a family's word, such as `a_text`.
    fn of_video(family: &str) -> Option<Self> {
        match family.split('_').next()? {
            "a" | "e" => Some(Self::Dashscope),
            "b" => Some(Self::Ark),
            "c" => Some(Self::Kling),
            "d" => Some(Self::Minimax),
            "openai" => Some(Self::OpenaiMade),
            _ => None,
        }
    }

    /// The vendor of pictures, speech or transcripts that stands in for a model's own; none if it makes
    /// no such thing.
    fn of_made(entry: &Entry) -> Option<Self> {
        if !MADE.iter().any(|endpoint| entry.serves(*endpoint)) {
            return None;
        }
        Some(match entry.vendor.as_deref() {
            Some("alibaba") => Self::Dashscope,
            Some("bytedance") => Self::Ark,
            Some("minimax") => Self::Minimax,
            Some("zhipu") => Self::Zhipu,
            Some(_) | None => Self::OpenaiMade,
        })
    }

    fn word(self) -> &'static str {
        match self {
            Self::Dashscope => "simulator-dashscope",
            Self::Ark => "simulator-ark",
            Self::Kling => "simulator-kling",
            Self::Minimax => "simulator-minimax",
            Self::OpenaiMade => "simulator-openai",
            Self::Zhipu => "simulator-zhipu",
            Self::Social => "simulator-social",
            Self::Chat => "simulator",
            Self::Responses => "simulator-responses",
            Self::Claude => "simulator-claude",
            Self::Gemini => "simulator-gemini",
        }
    }

    /// A provider that speaks this format and no other.
    fn provider(self) -> &'static str {
        match self {
            Self::Dashscope => "dashscope_native",
            Self::Ark => "ark",
            Self::Kling => "kling",
            Self::Minimax => "minimax",
            Self::OpenaiMade => "openai",
            Self::Zhipu => "zhipu",
            Self::Social => "tikhub",
            Self::Chat => "simulator",
            Self::Responses => "simulator_responses",
            Self::Claude => "anthropic",
            Self::Gemini => "google",
        }
    }

    /// Where the simulator hears it; `simulator` ends with `/v1`.
    fn address(self, simulator: &str) -> String {
        let root = simulator.trim_end_matches("/v1");
        match self {
            Self::Chat | Self::Responses | Self::Claude | Self::Minimax | Self::OpenaiMade => {
                simulator.to_owned()
            }
            Self::Gemini => format!("{simulator}beta"),
            Self::Dashscope => format!("{root}/api/v1"),
            Self::Ark => format!("{root}/api/v3"),
            Self::Zhipu => format!("{root}/api/paas/v4"),
            Self::Kling | Self::Social => root.to_owned(),
        }
    }
}

/// Makes a customer and its channels. Each start makes new ones: a key is shown once, and the simulator
/// has another address.
pub(super) async fn plant(
    console: &Database,
    keyring: &Keyring,
    simulator: &str,
    cells: &Cells,
) -> anyhow::Result<Seeded> {
    let mut tx = console.begin().await?;
    let done = plant_in(&mut tx, keyring, simulator, cells).await;
    tx.finish(done)
        .await
        .context("cannot make a customer and a channel")
}

async fn plant_in(
    tx: &mut trunkline_db::Tx,
    keyring: &Keyring,
    simulator: &str,
    cells: &Cells,
) -> anyhow::Result<Seeded> {
    let account = account(tx).await?;
    let request = chance::request(SystemClock.now())?;
    let top_up = TopUp {
        request,
        account,
        wallet: Wallet::Paid,
        amount: CREDIT,
        provider: "dev".to_owned(),
        event: request.to_string(),
    };
    desk::top_up(tx, &top_up).await?;
    let new = NewKey {
        account,
        parent: None,
        name: "dev",
        policy: Policy::new(PolicyFields::default())?,
    };
    let made = keys::create(tx, &new, &chance::bytes::<SECRET_BYTES>()?).await?;
    desk::register_key(tx, account, made.key.id, None).await?;
    let catalog = catalog(cells)?;
    let ways = served(&catalog, cells);
    let signed = Signed {
        author: "trunkline dev",
        note: "what dev sells",
    };
    publish(tx, signed, |before| missing(catalog, before)).await?;
    // Channels of earlier starts lead to simulators that are gone.
    for old in channels::list(tx).await? {
        channels::set_state(tx, old.id, channels::ChannelState::Off).await?;
    }
    for (way, models) in &ways {
        let name = format!("{}-{}", way.word(), made.key.id);
        let address = way.address(simulator);
        add_channel(tx, keyring, (&name, way.provider(), &address), models).await?;
    }
    Ok(Seeded {
        account,
        key: made.plain.reveal().to_owned(),
    })
}

/// The operator's organisation, who shall see the calls of this start at the console; a new one as long
/// as there is none.
async fn account(tx: &mut trunkline_db::Tx) -> anyhow::Result<AccountId> {
    if let Some(known) = people::operators_account(tx).await? {
        return Ok(known);
    }
    let account = desk::create_account(tx, AccountKind::Test).await?;
    let new = NewAccount {
        id: account,
        name: "Developer",
        group: DEFAULT_GROUP,
        allowed_groups: &[],
        shard: chance::shard()?,
    };
    accounts::create(tx, &new).await?;
    Ok(account)
}

/// What vendors sell, at their list prices, every cell of social data, and the simulator's own models.
fn catalog(cells: &Cells) -> anyhow::Result<Document> {
    let mut catalog = starter()?;
    add_records(&mut catalog, cells)?;
    let own = Document::from_toml(CATALOG).map_err(anyhow::Error::msg)?;
    let merged = catalog.merge(own);
    merged.map_err(|twice| anyhow::anyhow!("said twice: {}", twice.join(", ")))?;
    Ok(catalog)
}

/// What is not there yet: a lasting database keeps what its owner has changed.
fn missing(mut catalog: Document, before: &Book) -> Change {
    let frame = before.frame();
    catalog
        .models
        .retain(|name, _| before.model(name).is_none());
    catalog
        .groups
        .retain(|name, _| !frame.groups.contains_key(name));
    catalog
        .vendors
        .retain(|name, _| !frame.vendors.contains_key(name));
    if !frame.auto_groups.is_empty() {
        catalog.auto_groups.clear();
    }
    Change::adding(catalog, before)
}

/// Every model that takes chat completions is served: its own name at the simulator, or a stand-in,
/// asked in the format of its vendor.
fn served(catalog: &Document, cells: &Cells) -> BTreeMap<Way, BTreeMap<String, String>> {
    let chats = catalog.models.iter().filter(|(_, entry)| {
        entry.serves(EndpointType::Openai) && entry.specs.kind == Some(ModelKind::Llm)
    });
    let mut ways: BTreeMap<Way, BTreeMap<String, String>> = BTreeMap::new();
    for (name, entry) in chats {
        let theirs = match entry.vendor.as_deref() {
            _ if entry.reasons() => THINKING.to_owned(),
            Some("simulator") => name.clone(),
            Some(_) | None => PLAIN.to_owned(),
        };
        let models = ways.entry(Way::of(name, entry)).or_default();
        models.insert(name.clone(), theirs);
    }
    // Video vendors are simulated under the names of their own models.
    for (name, entry) in &catalog.models {
        let family = entry.specs.video_family.as_deref();
        if let Some(way) = family.and_then(Way::of_video) {
            let models = ways.entry(way).or_default();
            models.insert(name.clone(), name.clone());
        }
    }
    for (name, entry) in &catalog.models {
        if let Some(way) = Way::of_made(entry) {
            let theirs = match (way, entry.vendor.as_deref()) {
                // A vendor that is not simulated is stood in for by a model that is.
                (Way::OpenaiMade, Some("openai" | "simulator")) => name.as_str(),
                (Way::OpenaiMade, _) if entry.serves(EndpointType::ImageGeneration) => {
                    "gpt-image-2"
                }
                (Way::OpenaiMade, _) if entry.serves(EndpointType::AudioSpeech) => "tts-1",
                (Way::OpenaiMade, _) => "whisper-1",
                (_, _) => name.as_str(),
            };
            let models = ways.entry(way).or_default();
            models.insert(name.clone(), theirs.to_owned());
        }
    }
    // Cells are asked for by their paths, so the source's name of one is ours.
    let models = cells
        .all()
        .map(|cell| (cell.model.clone(), cell.model.clone()));
    ways.insert(Way::Social, models.collect());
    ways
}

async fn add_channel(
    tx: &mut trunkline_db::Tx,
    keyring: &Keyring,
    (name, provider, address): (&str, &str, &str),
    models: &BTreeMap<String, String>,
) -> anyhow::Result<()> {
    let context = credential_context(name, "main");
    let binding = Binding::of_operator(&context);
    let sealed = keyring.seal(Purpose::Credentials, &binding, SIMULATOR_KEY.as_bytes())?;
    let new = NewChannel {
        name,
        provider,
        base_url: Some(address),
        priority: 0,
        weight: 1,
        region: None,
        models,
        groups: &[],
        extra_headers: &BTreeMap::new(),
        proxy: None,
        requests_per_minute: None,
        concurrent_calls: None,
        cost: None,
        credentials: &[NewCredential {
            label: "main",
            sealed: &sealed,
            hint: "ment",
        }],
    };
    channels::add(tx, &new).await?;
    Ok(())
}
