//! Which channel serves which model in dev. A vendor whose key was found serves its own models; the
//! simulator stands in for every other one and speaks the API of the model's vendor. What neither
//! serves is not listed.

use std::collections::BTreeMap;

use trunkline_catalog::{Document, Entry, ModelKind};
use trunkline_types::{EndpointType, Secret};
use trunkline_upstream::{Format, Providers};

use super::seed::Ground;
use super::vendors::{self, VendorKey};

/// The simulator takes any key.
const SIMULATOR_KEY: &str = "sk-simulator-development";
/// Endpoints of images, audio and voice.
const MEDIA: [EndpointType; 4] = [
    EndpointType::ImageGeneration,
    EndpointType::AudioSpeech,
    EndpointType::AudioTranscription,
    EndpointType::Realtime,
];
/// Tasks whose requests are passed through in OpenAI's format, and the simulator's models for them.
const PASSED_THROUGH: [(&str, &str); 3] = [
    ("embeddings", "sim-embedding"),
    ("rerank", "sim-rerank"),
    ("moderation", "sim-moderation"),
];

/// A channel to be made.
pub(super) struct Route {
    pub(super) name: String,
    pub(super) provider: &'static str,
    /// None: the provider's own.
    pub(super) base_url: Option<String>,
    pub(super) key: Secret,
    /// Our names of models, and the upstream's.
    pub(super) models: BTreeMap<String, String>,
}

/// Where the simulator answers the API of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Base {
    V1,
    V1Beta,
    Dashscope,
    Ark,
    Zhipu,
    Root,
}

/// The simulator, as one provider is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Simulated {
    provider: &'static str,
    base: Base,
}

/// What a model is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Chat,
    PassedThrough(&'static str),
    Media,
    Video(Simulated),
}

// === impl Base ===

impl Base {
    /// `simulator` ends with `/v1`.
    fn url(self, simulator: &str) -> String {
        let root = simulator.trim_end_matches("/v1");
        match self {
            Self::V1 => simulator.to_owned(),
            Self::V1Beta => format!("{simulator}beta"),
            Self::Dashscope => format!("{root}/api/v1"),
            Self::Ark => format!("{root}/api/v3"),
            Self::Zhipu => format!("{root}/api/paas/v4"),
            Self::Root => root.to_owned(),
        }
    }
}

// === impl Simulated ===

impl Simulated {
    const fn at(provider: &'static str, base: Base) -> Self {
        Self { provider, base }
    }

    /// The vendor of a family of video models, such as `a_text`.
    fn of_family(family: &str) -> Option<Self> {
        match family.split('_').next()? {
            "a" | "e" => Some(Self::at("dashscope_native", Base::Dashscope)),
            "b" => Some(Self::at("ark", Base::Ark)),
            "c" => Some(Self::at("kling", Base::Root)),
            "d" => Some(Self::at("minimax", Base::V1)),
            "openai" => Some(Self::at("openai", Base::V1)),
            _ => None,
        }
    }

    /// Whose API is simulated for a chat model.
    fn of_chat(name: &str, vendor: &str) -> Self {
        match (vendor, name) {
            ("anthropic", _) | (_, "sim-claude" | "gemini-sim-claude") => {
                Self::at("anthropic", Base::V1)
            }
            (_, "sim-responses" | "gemini-sim-responses") => {
                Self::at("simulator_responses", Base::V1)
            }
            ("google", _) | (_, "sim-gemini" | "gemini-sim") => Self::at("google", Base::V1Beta),
            ("openai" | "simulator", _) => Self::at("simulator", Base::V1),
            (other, _) => {
                let known = vendors::named(other).and_then(|vendor| vendor.chat);
                Self::at(known.unwrap_or("openai_compatible"), Base::V1)
            }
        }
    }

    /// Whose API is simulated for images and audio; a vendor that is not simulated is stood in for by
    /// OpenAI's.
    fn of_media(vendor: &str) -> Self {
        match vendor {
            "alibaba" => Self::at("dashscope_native", Base::Dashscope),
            "bytedance" => Self::at("ark", Base::Ark),
            "minimax" => Self::at("minimax", Base::V1),
            "zhipu" => Self::at("zhipu", Base::Zhipu),
            _ => Self::at("openai", Base::V1),
        }
    }
}

// === impl Kind ===

impl Kind {
    /// None: nothing in dev serves it.
    fn of(entry: &Entry) -> Option<Self> {
        if let Some(family) = entry.specs.video_family.as_deref() {
            return Simulated::of_family(family).map(Self::Video);
        }
        if MEDIA.iter().any(|endpoint| entry.serves(*endpoint)) {
            return Some(Self::Media);
        }
        if !entry.serves(EndpointType::Openai) {
            return None;
        }
        let task = |known: &&(&str, &str)| entry.tasks.iter().any(|task| task == known.0);
        match PASSED_THROUGH.iter().find(task) {
            Some((_, stand_in)) => Some(Self::PassedThrough(stand_in)),
            None => (entry.specs.kind == Some(ModelKind::Llm)).then_some(Self::Chat),
        }
    }
}

/// Every channel of a start. What no channel serves is taken out of the catalog.
pub(super) fn routes(catalog: &mut Document, ground: &Ground<'_>) -> Vec<Route> {
    let Ground {
        keys,
        providers,
        simulator,
        cells,
        ..
    } = *ground;
    let mut real: Vec<BTreeMap<&'static str, BTreeMap<String, String>>> =
        keys.iter().map(|_| BTreeMap::new()).collect();
    let mut simulated: BTreeMap<Simulated, BTreeMap<String, String>> = BTreeMap::new();
    catalog.models.retain(|name, entry| {
        // Cells of social data have a source of their own.
        if cells.all().any(|cell| cell.model == *name) {
            return true;
        }
        let Some(kind) = Kind::of(entry) else {
            return false;
        };
        let own = keys.iter().zip(&mut real);
        let own = own.filter(|(key, _)| entry.vendor.as_deref() == Some(key.vendor.name));
        for (key, models) in own {
            if let Some(provider) = provider(key, kind, providers) {
                let models = models.entry(provider).or_default();
                models.insert(name.clone(), name.clone());
                return true;
            }
        }
        let (upstream, theirs) = stand_in(name, entry, kind);
        let models = simulated.entry(upstream).or_default();
        models.insert(name.clone(), theirs);
        true
    });
    // Cells are asked for by their paths, so the source's name of one is ours.
    let models = cells
        .all()
        .map(|cell| (cell.model.clone(), cell.model.clone()));
    simulated.insert(Simulated::at("tikhub", Base::Root), models.collect());
    let real = keys.iter().zip(real).flat_map(|(key, by_provider)| {
        by_provider.into_iter().map(|(provider, models)| Route {
            name: provider.to_owned(),
            provider,
            base_url: None,
            key: key.key.clone(),
            models,
        })
    });
    let stood_in = simulated.into_iter().map(|(upstream, models)| Route {
        name: format!("simulated-{}-{:?}", upstream.provider, upstream.base).to_lowercase(),
        provider: upstream.provider,
        base_url: Some(upstream.base.url(simulator)),
        key: Secret::new(SIMULATOR_KEY.to_owned()),
        models,
    });
    real.chain(stood_in).collect()
}

/// The provider through which a vendor serves a model of its own; none if no file of ours speaks its API
/// for that.
fn provider(key: &VendorKey, kind: Kind, providers: &Providers) -> Option<&'static str> {
    match kind {
        Kind::Chat => key.vendor.chat,
        Kind::PassedThrough(_) => {
            let speaks = |name: &&str| {
                let provider = providers.get(name);
                provider.is_some_and(|provider| provider.speaks(Format::OpenaiChat))
            };
            key.vendor.chat.filter(speaks)
        }
        Kind::Media => key.vendor.media,
        Kind::Video(family) => key.vendor.media.filter(|own| *own == family.provider),
    }
}

/// The simulator's model that stands in for one, and whose API it is asked in.
fn stand_in(name: &str, entry: &Entry, kind: Kind) -> (Simulated, String) {
    let vendor = entry.vendor.as_deref().unwrap_or_default();
    match kind {
        Kind::Chat => {
            let theirs = match (vendor, entry.reasons()) {
                ("simulator", false) => format!("{name}-prose"),
                // The first shows its thoughts, the second only counts them.
                ("simulator", true) if matches!(name, "sim-reason" | "sim-large") => {
                    format!("{name}-prose")
                }
                ("moonshot", true) => "sim-moonshot-prose".to_owned(),
                ("xai", true) => "sim-xai-prose".to_owned(),
                ("mistral" | "cohere", _) => "sim-mistral-prose".to_owned(),
                ("openai" | "anthropic" | "google", true) => "sim-reason-prose".to_owned(),
                (_, true) => "sim-think-prose".to_owned(),
                (_, false) => "sim-prose".to_owned(),
            };
            (Simulated::of_chat(name, vendor), theirs)
        }
        Kind::PassedThrough(theirs) => (Simulated::at("simulator", Base::V1), theirs.to_owned()),
        // Video vendors are simulated under the names of their own models.
        Kind::Video(family) => (family, name.to_owned()),
        Kind::Media => {
            let upstream = Simulated::of_media(vendor);
            let is_known =
                upstream.provider != "openai" || matches!(vendor, "openai" | "simulator");
            let theirs = if is_known {
                name
            } else if entry.serves(EndpointType::ImageGeneration) {
                "gpt-image-2"
            } else if entry.serves(EndpointType::AudioSpeech) {
                "tts-1"
            } else if entry.serves(EndpointType::Realtime) {
                "sim-voice"
            } else {
                "whisper-1"
            };
            (upstream, theirs.to_owned())
        }
    }
}
