//! What all connections share: settings, rules, the truth and the numbers of requests.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use crate::access_tokens::Tokens;
use crate::audio_state::Audio;
use crate::client_secrets::ClientSecrets;
use crate::clock;
use crate::fault::Plans;
use crate::image_store::ImageStore;
use crate::models;
use crate::prompt_cache::PromptCache;
use crate::prompt_memory::Memory;
use crate::realtime_log::{RealtimeLog, RealtimeSettings};
use crate::request_log::RequestLog;
use crate::responses::ResponseStore;
use crate::settings::{AwsKey, Settings};
use crate::social_state::Social;
use crate::stripe_state::StripeState;
use crate::tokens::hex;
use crate::video_jobs::{Jobs, VideoSettings};

/// The shared state of one simulator.
#[derive(Debug)]
pub(crate) struct SharedState {
    pub(crate) keys: Vec<String>,
    pub(crate) aws_keys: Vec<AwsKey>,
    /// Keys may not list models.
    pub(crate) hides_models: bool,
    /// Models that are listed beside the usual ones.
    pub(crate) models: Vec<String>,
    pub(crate) requests: RequestLog,
    /// Prefixes of prompts that Anthropic's models were asked to remember.
    pub(crate) prompts: PromptCache,
    /// Prompts that Google saw before.
    pub(crate) gemini: Memory,
    /// Prompts that chat completions saw before; none where they cache nothing.
    pub(crate) chats: Option<Memory>,
    /// Access tokens of Vertex AI.
    pub(crate) vertex: Tokens,
    /// Video jobs of all vendors.
    pub(crate) jobs: Jobs,
    pub(crate) video: VideoSettings,
    /// What was said and heard.
    pub(crate) audio: Audio,
    /// Orders for pictures, and the pictures behind links.
    pub(crate) images: ImageStore,
    /// What realtime connections served.
    pub(crate) realtime: RealtimeLog,
    pub(crate) realtime_settings: RealtimeSettings,
    /// Secrets that were minted for browsers.
    pub(crate) client_secrets: ClientSecrets,
    /// What the source of social data remembers.
    pub(crate) social: Social,
    /// What Stripe remembers.
    pub(crate) stripe: StripeState,
    /// Set before connections are ended, so that no client is recorded as gone.
    pub(crate) is_closing: AtomicBool,
    plans: Mutex<Plans>,
    withdrawn: Mutex<Withdrawn>,
    responses: Mutex<ResponseStore>,
    numbers: AtomicU64,
    started_micros: u64,
}

/// What was taken away while it serves.
#[derive(Debug, Default)]
pub(crate) struct Withdrawn {
    pub(crate) keys: BTreeSet<String>,
    pub(crate) models: BTreeSet<String>,
}

/// Hexadecimal digits of an id, as long as the vendor's.
const ID_DIGITS: usize = 29;

// === impl SharedState ===

impl SharedState {
    pub(crate) fn new(settings: Settings) -> Self {
        let started_micros = clock::now_micros();
        Self {
            keys: settings.keys,
            aws_keys: settings.aws_keys,
            hides_models: settings.hides_models,
            models: settings.models,
            prompts: PromptCache::default(),
            requests: RequestLog::new(settings.max_requests),
            gemini: Memory::default(),
            chats: settings.caches_prompts.then(Memory::default),
            vertex: Tokens::new(settings.vertex, started_micros),
            jobs: Jobs::default(),
            video: settings.video,
            audio: Audio::new(settings.audio, settings.max_requests),
            images: ImageStore::new(settings.max_requests),
            realtime: RealtimeLog::new(settings.max_requests),
            realtime_settings: settings.realtime,
            client_secrets: ClientSecrets::default(),
            social: Social::new(settings.social, settings.max_requests),
            stripe: StripeState::default(),
            is_closing: AtomicBool::new(false),
            plans: Mutex::default(),
            withdrawn: Mutex::default(),
            responses: Mutex::default(),
            numbers: AtomicU64::new(0),
            started_micros,
        }
    }

    pub(crate) fn plans(&self) -> MutexGuard<'_, Plans> {
        // Rules are plain data: after a thread died they are still the rules.
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The responses that are kept to be continued.
    pub(crate) fn responses(&self) -> MutexGuard<'_, ResponseStore> {
        self.responses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops all records. Numbers go on.
    pub(crate) fn clear_requests(&self) {
        self.requests.forget();
        self.audio.forget();
        self.images.forget();
        self.realtime.forget();
        self.social.forget();
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.numbers
            .fetch_add(1, Ordering::Relaxed)
            .saturating_add(1)
    }

    /// An id that no other request has, of this or another run.
    pub(crate) fn id(&self, kind: &str, number: u64) -> String {
        let text = format!("{kind} {number} {}", self.started_micros);
        let digits = hex(&Sha256::digest(text));
        let digits = digits.get(..ID_DIGITS).unwrap_or_default();
        format!("{kind}{digits}")
    }

    /// The same in the form of a UUID.
    pub(crate) fn uuid(&self, kind: &str, number: u64) -> String {
        let long = self.id(kind, number);
        let digits = long.strip_prefix(kind).unwrap_or_default();
        let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
        format!(
            "{}-{}-4{}-8{}-{}0",
            part(0, 8),
            part(8, 12),
            part(12, 15),
            part(15, 18),
            part(18, 29),
        )
    }

    /// No keys set means that every key is welcome that was not revoked.
    pub(crate) fn accepts(&self, key: &str) -> bool {
        let is_known = self.keys.is_empty() || self.keys.iter().any(|known| known == key);
        is_known && !self.withdrawn().keys.contains(key)
    }

    pub(crate) fn withdrawn(&self) -> MutexGuard<'_, Withdrawn> {
        self.withdrawn
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The list of models as JSON.
    pub(crate) fn listed_models(&self) -> String {
        let withdrawn = self.withdrawn();
        let more = self.models.iter().map(String::as_str);
        models::list(more.filter(|model| !withdrawn.models.contains(*model)))
    }
}
