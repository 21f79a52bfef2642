//! The channels in memory: which ones serve a model, in which order, and which are cooling down.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use trunkline_keyring::{Binding, Keyring, Purpose};
use trunkline_store::Policy;
use trunkline_store::channels::{
    Channel as ChannelRow, ChannelId, ChannelState, CostBook, Credential as CredentialRow,
    CredentialId, credential_context, proxy_context,
};
use trunkline_types::{EndpointType, RequestId, Secret, Timestamp};
use trunkline_upstream::{Credential as UpstreamCredential, Deadlines, Provider, Providers, Proxy};
use trunkline_wire::Format;

use crate::attempt::AttemptChannel;
use crate::caller::allows_region;
use crate::format_selection::provider_format;
use crate::metrics::AttemptMetrics;
use crate::splitmix::mix;
use crate::stream_history::StreamHistory;

/// What channels of a data source speak.
pub(crate) const SOCIAL_FORMAT: &str = "social_data";

/// Failures in a row after which a channel is skipped.
const OPEN_AFTER: u32 = 5;
/// How long, before one call may try again.
const OPEN_FOR_MILLIS: i64 = 10_000;
/// A cool-down that an upstream may ask for at most.
const MAX_COOL_SECONDS: u64 = 600;

/// What is sold here beside conversations.
const MADE: [EndpointType; 4] = [
    EndpointType::OpenaiVideo,
    EndpointType::ImageGeneration,
    EndpointType::AudioSpeech,
    EndpointType::AudioTranscription,
];

/// All channels that can be used.
#[derive(Debug, Default)]
pub(crate) struct ChannelRegistry {
    by_model: HashMap<String, Vec<Arc<Channel>>>,
    all: HashMap<ChannelId, Arc<Channel>>,
    secrets: Vec<Secret>,
    /// The number of the newest change that may be in here.
    pub(crate) revision: i64,
}

/// A channel ready to be asked.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) row: ChannelRow,
    pub(crate) provider: Provider,
    /// Where it is, without a slash at the end.
    pub(crate) base: String,
    /// Its number as a text, by which seals of its upstream are told apart.
    pub(crate) mark: String,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) cost: Option<CostBook>,
    pub(crate) credentials: Vec<ChannelCredential>,
    /// What no text sent to a client may contain: the credentials, the proxy's login, headers.
    secrets: Vec<Secret>,
    health: Arc<Health>,
    /// Its names and metrics, for attempts at it.
    pub(crate) attempted: Arc<AttemptChannel>,
}

/// A credential ready to be sent.
#[derive(Debug)]
pub(crate) struct ChannelCredential {
    pub(crate) id: CredentialId,
    pub(crate) opened: Arc<UpstreamCredential>,
    /// As it stands in the database: the same text opens to the same.
    sealed: Vec<u8>,
    cool_until_millis: AtomicI64,
    paused: AtomicBool,
}

#[derive(Debug, Default)]
struct Health {
    failures: AtomicU32,
    open_until_millis: AtomicI64,
    attempts: Arc<AttemptMetrics>,
    streams: StreamHistory,
}

/// How many credentials of a channel are in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CredentialStates {
    pub(crate) usable: usize,
    pub(crate) resting: usize,
    pub(crate) paused: usize,
}

// === impl ChannelRegistry ===

impl ChannelRegistry {
    /// Opens what is sealed. A channel that cannot be used is told of and left out; health and
    /// cool-downs are carried over.
    pub(crate) fn build(
        rows: Vec<ChannelRow>,
        revision: i64,
        providers: &Providers,
        keyring: &Keyring,
        before: &Self,
    ) -> Self {
        let mut channels = Self {
            revision,
            ..Self::default()
        };
        for row in rows {
            let name = row.name.clone();
            match Channel::open(row, providers, keyring, before) {
                Ok(channel) => channels.add(Arc::new(channel)),
                Err(reason) => tracing::warn!(
                    channel.name = name,
                    reason,
                    "channel registry: channel skipped"
                ),
            }
        }
        for channels in channels.by_model.values_mut() {
            channels.sort_by_key(|channel| (channel.row.priority, channel.row.id));
        }
        channels
    }

    fn add(&mut self, channel: Arc<Channel>) {
        if channel.row.state == ChannelState::Active {
            for model in channel.row.models.keys() {
                let channels = self.by_model.entry(model.clone()).or_default();
                channels.push(Arc::clone(&channel));
            }
        }
        self.secrets.extend(channel.secrets.iter().cloned());
        self.all.insert(channel.row.id, channel);
    }

    /// Every channel, whether it is used or not.
    pub(crate) fn channels(&self) -> impl Iterator<Item = &Arc<Channel>> {
        self.all.values()
    }

    /// What no text sent to a client may contain.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let fixed = self.secrets.iter().cloned();
        let channels = self.all.values();
        // Tokens come and go, so they are asked for when they are needed.
        let opened = channels.flat_map(|channel| &channel.credentials);
        let opened = opened.flat_map(|one| one.opened.secrets());
        fixed.chain(opened).collect()
    }

    /// A channel by its number, if it is used.
    pub(crate) fn channel(&self, number: i64) -> Option<Arc<Channel>> {
        self.channel_in_any_state(number)
            .filter(|known| known.row.state == ChannelState::Active)
    }

    /// A channel by its number, also one that takes nothing new: its running jobs are polled to the end.
    pub(crate) fn channel_in_any_state(&self, number: i64) -> Option<Arc<Channel>> {
        self.all.get(&ChannelId::new(number)).map(Arc::clone)
    }

    /// How many channels serve a model.
    pub(crate) fn count(&self, model: &str) -> u64 {
        let serving = self.by_model.get(model).map_or(0, Vec::len);
        u64::try_from(serving).unwrap_or(u64::MAX)
    }

    /// Whether a channel of the model works where a policy lets it.
    pub(crate) fn serves_under(&self, model: &str, policy: &Policy) -> bool {
        let mut serving = self.by_model.get(model).into_iter().flatten();
        serving.any(|channel| allows_region(policy, channel.row.region.as_deref()))
    }

    /// Whether any channel knows the model.
    pub(crate) fn knows(&self, model: &str) -> bool {
        self.by_model.contains_key(model)
    }

    /// The channels of a model for a group, in the order in which they are to be asked: by priority,
    /// then drawn by weight. The same seed draws the same order, so that a conversation stays where
    /// its cache is.
    pub(crate) fn order(
        &self,
        model: &str,
        group: &str,
        now: Timestamp,
        seed: u64,
    ) -> Vec<Arc<Channel>> {
        let serving = self.by_model.get(model).into_iter().flatten();
        let mut waiting: Vec<&Arc<Channel>> = serving
            .filter(|channel| channel.row.serves(group) && channel.is_open(now))
            .filter(|channel| channel.credential(now, seed).is_some())
            .collect();
        let mut ordered = Vec::new();
        let mut state = seed;
        while let Some(first) = waiting.first() {
            let priority = first.row.priority;
            let same = waiting
                .iter()
                .take_while(|channel| channel.row.priority == priority);
            let weights: Vec<u64> = same
                .map(|channel| u64::from(channel.row.weight).max(1))
                .collect();
            let index = draw(&weights, &mut state);
            ordered.push(Arc::clone(waiting.remove(index)));
        }
        ordered
    }
}

/// What to draw by for a call that is no turn of a conversation. The end of an id is random, its beginning
/// is the time.
pub(crate) fn seed_of_id(id: RequestId) -> u64 {
    let bytes = id.uuid().into_bytes();
    let tail = bytes.iter().rev().take(8);
    tail.fold(0, |seed, byte| (seed << 8) | u64::from(*byte))
}

/// A place, drawn by weight.
fn draw(weights: &[u64], state: &mut u64) -> usize {
    let total: u64 = weights
        .iter()
        .fold(0, |sum, weight| sum.saturating_add(*weight));
    let mut left = mix(state).checked_rem(total).unwrap_or(0);
    for (index, weight) in weights.iter().enumerate() {
        if left < *weight {
            return index;
        }
        left = left.saturating_sub(*weight);
    }
    0
}

// === impl Live ===

impl Channel {
    fn open(
        row: ChannelRow,
        providers: &Providers,
        keyring: &Keyring,
        before: &ChannelRegistry,
    ) -> Result<Self, &'static str> {
        let provider = providers
            .get(&row.provider)
            .ok_or("its provider is unknown")?
            .clone();
        let talks = |format: &Format| provider.speaks(provider_format(*format));
        let makes = MADE.iter().any(|endpoint| provider.serves(*endpoint));
        let looks = provider
            .formats
            .iter()
            .any(|one| one.word() == SOCIAL_FORMAT);
        if !makes && !looks && !Format::ALL.iter().any(talks) {
            return Err("its provider does nothing that is sold here");
        }
        let base = row.base_url.as_deref().or(provider.base_url.as_deref());
        let base = base.ok_or("it has no address")?.trim_end_matches('/');
        let base = base.to_owned();
        if base.parse::<http::Uri>().is_err() {
            return Err("its address is not one");
        }
        let known = before.all.get(&row.id);
        let credentials: Vec<ChannelCredential> = row
            .credentials
            .iter()
            .filter(|credential| !credential.disabled)
            .filter_map(|credential| {
                let channel = ChannelCredential::open(credential, &row.name, &provider, keyring)?;
                Some(channel.with_memory_of(known.map(AsRef::as_ref)))
            })
            .collect();
        let headers = row.extra_headers.values().cloned();
        let mut secrets: Vec<Secret> = headers.map(Secret::new).collect();
        let proxy = match &row.proxy {
            None => None,
            Some(sealed) => {
                let text = opened(keyring, &proxy_context(&row.name), sealed);
                let text = text.ok_or("its proxy cannot be unsealed")?;
                secrets.extend(logins(&text));
                Some(Proxy::read(&text).map_err(|_| "its proxy is not one")?)
            }
        };
        let cost = match &row.cost {
            None => None,
            Some(book) => Some(CostBook::from_json(book).map_err(|_| "its cost book is wrong")?),
        };
        let health = known.map_or_else(Arc::default, |channel| Arc::clone(&channel.health));
        let attempted = Arc::new(AttemptChannel {
            id: row.id.number(),
            name: row.name.clone(),
            provider: row.provider.clone(),
            metrics: Arc::clone(&health.attempts),
        });
        Ok(Self {
            mark: row.id.number().to_string(),
            row,
            provider,
            base,
            proxy,
            cost,
            credentials,
            secrets,
            health,
            attempted,
        })
    }

    /// Whether its provider speaks a format, by its name in files.
    pub(crate) fn speaks(&self, word: &str) -> bool {
        let mut formats = self.provider.formats.iter();
        formats.any(|format| format.word() == word)
    }

    /// The upstream's name of a model.
    pub(crate) fn upstream_model<'a>(&'a self, public: &'a str) -> &'a str {
        self.row.models.get(public).map_or(public, String::as_str)
    }

    /// What its streamed answers told.
    pub(crate) fn streams(&self) -> &StreamHistory {
        &self.health.streams
    }

    pub(crate) fn failures(&self) -> u32 {
        self.health.failures.load(Ordering::Relaxed)
    }

    pub(crate) fn credential_states(&self, now: Timestamp) -> CredentialStates {
        let mut states = CredentialStates::default();
        for credential in &self.credentials {
            let state = if credential.paused.load(Ordering::Relaxed) {
                &mut states.paused
            } else if credential.is_usable(now) {
                &mut states.usable
            } else {
                &mut states.resting
            };
            *state = state.saturating_add(1);
        }
        states
    }

    /// A credential that may be used now; which one is drawn by the seed.
    pub(crate) fn credential(&self, now: Timestamp, seed: u64) -> Option<&ChannelCredential> {
        let usable: Vec<&ChannelCredential> = self
            .credentials
            .iter()
            .filter(|credential| credential.is_usable(now))
            .collect();
        let count = u64::try_from(usable.len()).ok()?;
        let index = usize::try_from(mix(&mut seed.rotate_left(17)).checked_rem(count)?).ok()?;
        usable.get(index).copied()
    }

    /// One credential by its number, if it may be used now.
    pub(crate) fn credential_by(&self, number: i64, now: Timestamp) -> Option<&ChannelCredential> {
        let known = self
            .credentials
            .iter()
            .find(|one| one.id.number() == number);
        known.filter(|credential| credential.is_usable(now))
    }

    /// Whether requests may be sent to it, its failures considered.
    pub(crate) fn is_open(&self, now: Timestamp) -> bool {
        self.health.open_until_millis.load(Ordering::Relaxed) <= now.millis()
    }

    pub(crate) fn record_success(&self) {
        self.health.failures.store(0, Ordering::Relaxed);
    }

    /// The upstream failed.
    pub(crate) fn failed(&self, now: Timestamp) {
        let failures = self.health.failures.fetch_add(1, Ordering::Relaxed);
        if failures.saturating_add(1) >= OPEN_AFTER {
            let until = now.millis().saturating_add(OPEN_FOR_MILLIS);
            self.health
                .open_until_millis
                .store(until, Ordering::Relaxed);
        }
    }

    /// How long the parts of a call may take here.
    pub(crate) fn deadlines(&self, total: Duration, idle: Duration) -> Deadlines {
        let millis = Duration::from_millis;
        Deadlines {
            first_byte: millis(self.provider.first_byte_ms).min(total),
            idle: millis(self.provider.idle_ms).min(idle),
            total: millis(self.provider.total_ms).min(total),
        }
    }
}

// === impl LiveCredential ===

impl ChannelCredential {
    fn open(
        credential: &CredentialRow,
        channel: &str,
        provider: &Provider,
        keyring: &Keyring,
    ) -> Option<Self> {
        let context = credential_context(channel, &credential.label);
        let secret = opened(keyring, &context, &credential.sealed)?;
        let opened = UpstreamCredential::new(&provider.auth, &secret);
        if let Err(error) = &opened {
            tracing::warn!(channel.name = channel, %error, "channel registry: credential skipped");
        }
        let opened = opened.ok()?;
        Some(Self {
            id: credential.id,
            opened: Arc::new(opened),
            sealed: credential.sealed.clone(),
            cool_until_millis: AtomicI64::new(credential.cool_until.map_or(0, Timestamp::millis)),
            paused: AtomicBool::new(credential.paused_reason.is_some()),
        })
    }

    /// Takes over what was learnt: how long to leave it alone, and a token that it has fetched.
    fn with_memory_of(mut self, before: Option<&Channel>) -> Self {
        let known = before
            .into_iter()
            .flat_map(|channel| &channel.credentials)
            .find(|known| known.id == self.id);
        if let Some(known) = known {
            let until = known.cool_until_millis.load(Ordering::Relaxed);
            self.cool_until_millis.fetch_max(until, Ordering::Relaxed);
            if known.sealed == self.sealed {
                self.opened = Arc::clone(&known.opened);
            }
        }
        self
    }

    fn is_usable(&self, now: Timestamp) -> bool {
        !self.paused.load(Ordering::Relaxed)
            && self.cool_until_millis.load(Ordering::Relaxed) <= now.millis()
    }

    /// Leaves it alone for a while, as the upstream asked.
    pub(crate) fn cool(&self, now: Timestamp, seconds: u64) {
        let seconds = i64::try_from(seconds.min(MAX_COOL_SECONDS)).unwrap_or(0);
        let until = now.millis().saturating_add(seconds.saturating_mul(1_000));
        self.cool_until_millis.fetch_max(until, Ordering::Relaxed);
    }

    /// Skips it until an operator resumes it. True if it was not paused before.
    pub(crate) fn pause(&self) -> bool {
        !self.paused.swap(true, Ordering::Relaxed)
    }
}

/// The login of a proxy's address, and its password alone.
fn logins(text: &Secret) -> Vec<Secret> {
    let rest = text.reveal().split_once("://").map_or("", |(_, rest)| rest);
    let Some((login, _)) = rest.rsplit_once('@') else {
        return Vec::new();
    };
    let password = login.split_once(':').map(|(_, password)| password);
    let both = [Some(login), password].into_iter().flatten();
    both.map(|text| Secret::new(text.to_owned())).collect()
}

fn opened(keyring: &Keyring, context: &[u8], sealed: &[u8]) -> Option<Secret> {
    let bytes = keyring.open(Purpose::Credentials, &Binding::of_operator(context), sealed);
    let bytes = bytes.ok()?;
    let text = std::str::from_utf8(bytes.reveal()).ok()?;
    Some(Secret::new(text.to_owned()))
}
