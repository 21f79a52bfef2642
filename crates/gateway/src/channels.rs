//! The channels in memory: which ones serve a model, in which order, and which are cooling down.

mod credential;
mod evidence;
mod health;
mod order;
mod speeds;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use trunkline_keyring::{Binding, GenerationId, Generations, Keyring, Purpose};
use trunkline_store::Policy;
use trunkline_store::channels::{
    Channel as ChannelRow, ChannelId, ChannelState, CostBook, Credential as CredentialRow,
    proxy_context,
};
use trunkline_types::{EndpointType, OwnKeyMap, RequestId, Secret, Timestamp};
use trunkline_upstream::{
    Ask, Deadlines, Format as UpstreamFormat, Provider, Providers, Proxy, Task, UrlError,
};
use trunkline_wire::Format;

use self::credential::CredentialError;
pub(crate) use self::credential::{AfterProbe, ChannelCredential, ChannelQuery, Probed};
use self::health::Health;
pub(crate) use self::order::RouteRules;
use crate::attempt::AttemptChannel;
use crate::format_selection::provider_format;

/// What channels of a data source speak.
pub(crate) const SOCIAL_FORMAT: &str = "social_data";

/// What is sold here beside conversations.
const MADE: [EndpointType; 5] = [
    EndpointType::OpenaiVideo,
    EndpointType::ImageGeneration,
    EndpointType::AudioSpeech,
    EndpointType::AudioTranscription,
    EndpointType::Realtime,
];

/// All channels that can be used.
#[derive(Debug, Default)]
pub(crate) struct ChannelRegistry {
    by_model: OwnKeyMap<String, Vec<Arc<Channel>>>,
    all: OwnKeyMap<ChannelId, Arc<Channel>>,
    secrets: Vec<Secret>,
    /// Channels with sealed values that the keyring does not open, and how many of each.
    pub(crate) unopened: BTreeMap<String, usize>,
    /// The keys it was opened with.
    pub(crate) generations: Option<Generations>,
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
    /// The addresses of calls that differ in nothing but their bodies, by the provider's format.
    addresses: Vec<(UpstreamFormat, Uri)>,
    /// Its number as a text, by which seals of its upstream are told apart.
    pub(crate) mark: String,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) cost: Option<CostBook>,
    pub(crate) credentials: Vec<ChannelCredential>,
    /// What no text sent to a client may contain: the credentials, the proxy's login, headers.
    secrets: Vec<Secret>,
    pub(crate) health: Arc<Health>,
    /// Its names and metrics, for attempts at it.
    pub(crate) attempted: Arc<AttemptChannel>,
}

/// How many credentials of a channel are in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CredentialStates {
    pub(crate) usable: usize,
    pub(crate) cooling_down: usize,
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
            generations: Some(keyring.generations()),
            ..Self::default()
        };
        for row in rows {
            let name = row.name.clone();
            let mut unopened = 0;
            match Channel::open(row, providers, keyring, before, &mut unopened) {
                Ok(channel) => channels.add(Arc::new(channel)),
                Err(reason) => tracing::warn!(
                    channel.name = name,
                    reason,
                    "channel registry: channel skipped"
                ),
            }
            if unopened > 0 {
                channels.unopened.insert(name, unopened);
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

    /// Whether sealed values do not open and no channel can be asked because of that.
    pub(crate) fn opens_nothing(&self) -> bool {
        let mut usable = self.by_model.values().flatten();
        !self.unopened.is_empty() && usable.all(|channel| channel.credentials.is_empty())
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

    /// Whether a channel of the model has the attributes that a policy demands.
    pub(crate) fn serves_under(&self, model: &str, policy: &Policy) -> bool {
        let mut serving = self.by_model.get(model).into_iter().flatten();
        serving.any(|channel| channel.qualifies(policy))
    }

    /// Whether any channel knows the model.
    pub(crate) fn knows(&self, model: &str) -> bool {
        self.by_model.contains_key(model)
    }
}

/// What to draw by for a call that is no turn of a conversation. The end of an id is random, its beginning
/// is the time.
pub(crate) fn seed_of_id(id: RequestId) -> u64 {
    let bytes = id.uuid().into_bytes();
    let tail = bytes.iter().rev().take(8);
    tail.fold(0, |seed, byte| (seed << 8) | u64::from(*byte))
}

// === impl Channel ===

impl Channel {
    fn open(
        row: ChannelRow,
        providers: &Providers,
        keyring: &Keyring,
        before: &ChannelRegistry,
        unopened: &mut usize,
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
            .any(|one| one.as_str() == SOCIAL_FORMAT);
        if !makes && !looks && !Format::ALL.iter().any(talks) {
            return Err("its provider does nothing that is sold here");
        }
        let base = row.base_url.as_deref().or(provider.base_url.as_deref());
        let base = base.ok_or("it has no address")?.trim_end_matches('/');
        let base = base.to_owned();
        if base.parse::<Uri>().is_err() {
            return Err("its address is not one");
        }
        let known = before.all.get(&row.id);
        let known = known.map(AsRef::as_ref);
        let credentials = open_credentials(&row, &provider, keyring, known, unopened);
        let headers = row.extra_headers.values().cloned();
        let mut secrets: Vec<Secret> = headers.map(Secret::new).collect();
        let proxy = match &row.proxy {
            None => None,
            Some(sealed) => {
                let text = opened(keyring, &proxy_context(&row.name), sealed);
                if text.is_none() {
                    *unopened = unopened.saturating_add(1);
                }
                let kept = known.filter(|_| text.is_none() && is_next(keyring, sealed));
                if let Some(kept) = kept.filter(|known| known.proxy.is_some()) {
                    secrets.extend(kept.secrets.iter().cloned());
                    kept.proxy.clone()
                } else {
                    let text = text.ok_or("its proxy cannot be unsealed")?;
                    secrets.extend(logins(&text));
                    Some(Proxy::read(&text).map_err(|_| "its proxy is not one")?)
                }
            }
        };
        let cost = match &row.cost {
            None => None,
            Some(book) => Some(CostBook::from_json(book).map_err(|_| "its cost book is wrong")?),
        };
        let health = known.map_or_else(Arc::default, |channel| Arc::clone(&channel.health));
        let attempted = Arc::new(attempt_channel(&row, &health));
        Ok(Self {
            mark: row.id.number().to_string(),
            row,
            addresses: fixed_addresses(&provider, &base),
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

    /// Whether it has the attributes that a policy demands. What it does not say of itself it has not.
    pub(crate) fn qualifies(&self, policy: &Policy) -> bool {
        let fields = policy.fields();
        let is_one_of = |own: &Option<String>, demanded: &Option<Vec<String>>| {
            demanded.as_ref().is_none_or(|demanded| {
                let own = own.as_ref();
                own.is_some_and(|own| demanded.contains(own))
            })
        };
        is_one_of(&self.row.region, &fields.regions)
            && is_one_of(&self.row.residency, &fields.residencies)
            && (self.row.zero_retention || !fields.upstream_zero_retention)
    }

    /// Whether its provider speaks a format, by its name in files.
    pub(crate) fn speaks(&self, word: &str) -> bool {
        let mut formats = self.provider.formats.iter();
        formats.any(|format| format.as_str() == word)
    }

    /// Where a call goes.
    pub(crate) fn address(&self, ask: &Ask<'_>) -> Result<Uri, UrlError> {
        let is_fixed = |format: UpstreamFormat| ask.task == Task::Generate && format == ask.format;
        let mut fixed = self.addresses.iter();
        match fixed.find(|(format, _)| is_fixed(*format)) {
            Some((_, address)) => Ok(address.clone()),
            None => self.provider.address(&self.base, ask),
        }
    }

    /// The upstream's name of a model.
    pub(crate) fn upstream_model<'a>(&'a self, public: &'a str) -> &'a str {
        self.row.models.get(public).map_or(public, String::as_str)
    }

    pub(crate) fn credential_states(&self, now: Timestamp) -> CredentialStates {
        let mut states = CredentialStates::default();
        for credential in &self.credentials {
            let state = if credential.is_paused() {
                &mut states.paused
            } else if credential.is_resting(now) {
                &mut states.cooling_down
            } else {
                &mut states.usable
            };
            *state = state.saturating_add(1);
        }
        states
    }

    /// The models that no credential of it has, or only a paused one, sorted.
    pub(crate) fn absent_models(&self, now: Timestamp) -> Vec<String> {
        let mut lacking: HashMap<String, usize> = HashMap::new();
        let usable = self.credentials.iter().filter(|one| !one.is_paused());
        let mut count = 0_usize;
        for credential in usable {
            count = count.saturating_add(1);
            for model in credential.absent_models(now) {
                let times = lacking.entry(model).or_default();
                *times = times.saturating_add(1);
            }
        }
        let lacking = lacking.into_iter().filter(|(_, times)| *times == count);
        let mut models: Vec<String> = lacking.map(|(model, _)| model).collect();
        models.sort();
        models
    }

    /// One credential by its number, if it may be used for a call.
    pub(crate) fn credential_by(
        &self,
        number: i64,
        query: ChannelQuery<'_>,
    ) -> Option<&ChannelCredential> {
        let known = self
            .credentials
            .iter()
            .find(|one| one.id.number() == number);
        known.filter(|credential| credential.is_usable(query))
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

/// The addresses that need not be put together for each call.
fn fixed_addresses(provider: &Provider, base: &str) -> Vec<(UpstreamFormat, Uri)> {
    let formats = provider.formats.iter();
    let fixed =
        formats.filter_map(|format| Some((*format, provider.fixed_address(base, *format)?)));
    fixed.collect()
}

/// The credentials of a channel that can be used, with what was learnt of them; counts those that the keyring
/// does not open.
fn open_credentials(
    row: &ChannelRow,
    provider: &Provider,
    keyring: &Keyring,
    known: Option<&Channel>,
    unopened: &mut usize,
) -> Vec<ChannelCredential> {
    let mut credentials = Vec::new();
    for credential in row.credentials.iter().filter(|one| !one.disabled) {
        let mut before = known.into_iter().flat_map(|channel| &channel.credentials);
        let before = before.find(|known| known.id == credential.id);
        match ChannelCredential::open(credential, &row.name, provider, keyring) {
            Ok(opened) => credentials.push(opened.with_memory_of(before, credential)),
            Err(CredentialError::Unopened) => {
                *unopened = unopened.saturating_add(1);
                let kept = before.filter(|_| {
                    is_next(keyring, &credential.sealed) && has_same_hint(known, credential)
                });
                let kept = kept.map(|known| known.clone().with_memory_of(Some(known), credential));
                credentials.extend(kept);
            }
            Err(CredentialError::Unusable) => {}
        }
    }
    credentials
}

fn attempt_channel(row: &ChannelRow, health: &Health) -> AttemptChannel {
    AttemptChannel {
        id: row.id.number(),
        name: row.name.clone(),
        provider: row.provider.clone(),
        metrics: Arc::clone(&health.attempts),
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

/// Whether a value was sealed by the generation after this node's. What was opened of it before is used until the node
/// has read its file: a reseal right after a rotation must not stop the channels of nodes that read it a moment
/// later.
fn is_next(keyring: &Keyring, sealed: &[u8]) -> bool {
    let own = keyring.generations().current.id.number();
    let generation = Keyring::generation_of(sealed).map(GenerationId::number);
    generation.is_some_and(|generation| Some(generation) == own.checked_add(1))
}

/// Whether a credential ends as it did before. One that was replaced must not be used any more.
fn has_same_hint(known: Option<&Channel>, credential: &CredentialRow) -> bool {
    let mut before = known
        .into_iter()
        .flat_map(|channel| &channel.row.credentials);
    before.any(|before| before.id == credential.id && before.hint == credential.hint)
}

fn opened(keyring: &Keyring, context: &[u8], sealed: &[u8]) -> Option<Secret> {
    let bytes = keyring.open(Purpose::Credentials, &Binding::of_operator(context), sealed);
    let bytes = bytes.ok()?;
    let text = std::str::from_utf8(bytes.reveal()).ok()?;
    Some(Secret::new(text.to_owned()))
}
