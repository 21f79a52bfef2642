//! A credential ready to be sent, and what is known of it: limits, refusals, models that it does not have.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use trunkline_keyring::{GenerationId, Keyring};
use trunkline_store::channels::{Credential as CredentialRow, CredentialId, credential_context};
use trunkline_types::{AccountId, Secret, Timestamp};
use trunkline_upstream::{Credential as UpstreamCredential, Provider};

use super::evidence::Evidence;
use super::opened;
use crate::settings::ProbeSettings;

/// A cool-down that an upstream may ask for at most.
const MAX_COOL_SECONDS: u64 = 600;
/// How long a refused credential is not sent for an account again, unless a probe has looked at it.
const REFUSED_MILLIS: i64 = 30_000;
/// How long a model counts as absent after a call missed it.
const ABSENT_MILLIS: i64 = 45_000;
/// How long after a list did: while it does, the credential is probed again and again.
const UNLISTED_MILLIS: i64 = 300_000;
/// After so long a pause ends where no probe can tell.
const LONGEST_PAUSE_MILLIS: i64 = 600_000;
const DAY_MILLIS: i64 = 86_400_000;
/// Models of one credential that may count as absent, or as served.
const MAX_MODELS: usize = 1_000;

/// A credential ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct ChannelCredential {
    pub(crate) id: CredentialId,
    pub(crate) opened: Arc<UpstreamCredential>,
    /// What people call it.
    pub(crate) label: String,
    /// Longest time to a connection, as its provider says.
    pub(crate) connects_within: Duration,
    /// The same text is the same credential, however often it was sealed.
    secret: Secret,
    /// Outlives a new list of channels.
    state: Arc<CredentialState>,
}

#[derive(Debug)]
struct CredentialState {
    paused: AtomicBool,
    /// Since when this node knows of the pause.
    paused_at_millis: AtomicI64,
    /// Rate limits and exhausted quotas.
    limits: Evidence,
    refusals: Evidence,
    /// A call was refused with it, and none was served since.
    is_refused: AtomicBool,
    absent: Mutex<HashMap<String, Arc<Evidence>>>,
    has_absent: AtomicBool,
    /// Models that calls got with it. A list without them is no whole one.
    has_served: RwLock<HashSet<String>>,
    wants_probe: AtomicBool,
    probed_at_millis: AtomicI64,
    /// When a call was last served with it; at first, when it was first looked at.
    served_at_millis: AtomicI64,
    /// The day, and the calls that it was probed with on it.
    probe_calls: Mutex<(i64, u32)>,
}

/// Which call, and when: what is known of a channel may concern one model or one account alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChannelQuery<'a> {
    /// Its public name.
    pub(crate) model: &'a str,
    pub(crate) account: AccountId,
    pub(crate) now: Timestamp,
}

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Probed {
    /// The credential works. The names of the models, where they were listed in full.
    Works(Option<BTreeSet<String>>),
    /// The upstream does not list models for it.
    Refused(u16),
    /// The upstream refuses a call with it.
    CallRefused(u16),
    /// Nothing about the credential.
    Unclear,
}

/// Why a credential is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CredentialError {
    /// The keyring does not open it.
    Unopened,
    /// Its provider cannot use it.
    Unusable,
}

/// What follows from a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterProbe {
    Nothing,
    Pause(u16),
    Resume,
}

// === impl ChannelCredential ===

impl ChannelCredential {
    pub(super) fn open(
        credential: &CredentialRow,
        channel: &str,
        provider: &Provider,
        keyring: &Keyring,
    ) -> Result<Self, CredentialError> {
        let context = credential_context(channel, &credential.label);
        let Some(secret) = opened(keyring, &context, &credential.sealed) else {
            let generation = Keyring::generation_of(&credential.sealed);
            tracing::error!(
                channel.name = channel,
                credential.label = credential.label,
                keyring.generation = generation.map(GenerationId::number),
                "channel registry: credential cannot be opened with this keyring"
            );
            return Err(CredentialError::Unopened);
        };
        let opened = UpstreamCredential::new(&provider.auth, &secret).map_err(|error| {
            tracing::warn!(channel.name = channel, %error, "channel registry: credential skipped");
            CredentialError::Unusable
        })?;
        Ok(Self {
            id: credential.id,
            opened: Arc::new(opened),
            label: credential.label.clone(),
            connects_within: Duration::from_millis(provider.connect_ms),
            secret,
            state: Arc::default(),
        })
    }

    /// Takes over what was learnt, and what its row says now.
    pub(super) fn with_memory_of(mut self, known: Option<&Self>, row: &CredentialRow) -> Self {
        if let Some(known) = known.filter(|known| known.secret.reveal() == self.secret.reveal()) {
            self.opened = Arc::clone(&known.opened);
            self.state = Arc::clone(&known.state);
        }
        let cool_until = row.cool_until.map_or(0, Timestamp::millis);
        self.state.limits.confirm(cool_until);
        let is_paused = row.paused_reason.is_some();
        let was_paused = self.state.paused.swap(is_paused, Ordering::Relaxed);
        if was_paused && !is_paused {
            self.state.accepted();
            self.state.paused_at_millis.store(0, Ordering::Relaxed);
        }
        self
    }

    pub(super) fn is_paused(&self) -> bool {
        self.state.paused.load(Ordering::Relaxed)
    }

    pub(super) fn is_usable(&self, query: ChannelQuery<'_>) -> bool {
        let (state, account, now) = (&self.state, query.account, query.now);
        !self.is_paused()
            && !state.limits.excludes(account, now)
            && !state.refusals.excludes(account, now)
            && !self
                .absence(query.model)
                .is_some_and(|it| it.excludes(account, now))
    }

    /// Whether a call of another account had to leave it: one without such a mark is better.
    pub(super) fn is_doubted(&self, query: ChannelQuery<'_>) -> bool {
        let absence = self.absence(query.model);
        self.is_resting(query.now) || absence.is_some_and(|it| it.is_doubted(query.now))
    }

    /// Whether it is left alone for a while by any account.
    pub(super) fn is_resting(&self, now: Timestamp) -> bool {
        self.state.limits.is_doubted(now) || self.state.refusals.is_doubted(now)
    }

    /// The upstream wants no call with it for so many seconds. True if several accounts have seen that, and it is
    /// left alone for all from now on.
    pub(crate) fn limited(&self, query: ChannelQuery<'_>, seconds: u64) -> bool {
        let seconds = i64::try_from(seconds.min(MAX_COOL_SECONDS)).unwrap_or(0);
        let until = query
            .now
            .millis()
            .saturating_add(seconds.saturating_mul(1_000));
        let limits = &self.state.limits;
        let was_shared = limits.excludes_all(query.now);
        limits.record(query.account, query.now, until);
        !was_shared && limits.excludes_all(query.now)
    }

    /// The upstream refused it. True if several accounts have seen that: then it is to be paused.
    pub(crate) fn refused(&self, query: ChannelQuery<'_>) -> bool {
        let until = query.now.millis().saturating_add(REFUSED_MILLIS);
        let refusals = &self.state.refusals;
        refusals.record(query.account, query.now, until);
        self.state.is_refused.store(true, Ordering::Relaxed);
        self.state.wants_probe.store(true, Ordering::Relaxed);
        refusals.excludes_all(query.now)
    }

    /// The upstream does not have a model. True if several accounts have seen that.
    pub(crate) fn lacks(&self, query: ChannelQuery<'_>) -> bool {
        let absence = {
            let mut absent = self.absent();
            if absent.len() >= MAX_MODELS && !absent.contains_key(query.model) {
                return false;
            }
            let evidence = absent.entry(query.model.to_owned());
            Arc::clone(evidence.or_insert_with(|| Arc::new(Evidence::of_each())))
        };
        self.state.has_absent.store(true, Ordering::Relaxed);
        let before = absence.excludes_all(query.now);
        let until = query.now.millis().saturating_add(ABSENT_MILLIS);
        absence.record(query.account, query.now, until);
        self.state.wants_probe.store(true, Ordering::Relaxed);
        let is_new = !before && absence.excludes_all(query.now);
        if is_new {
            // What it served once it may have lost: from now on the list counts again.
            let served = self.state.has_served.write();
            let mut served = served.unwrap_or_else(PoisonError::into_inner);
            served.remove(query.model);
        }
        is_new
    }

    /// It served a call: it is not bad, and the model is there.
    pub(crate) fn served(&self, model: &str, now: Timestamp) {
        self.state.accepted();
        let served_at = &self.state.served_at_millis;
        served_at.store(now.millis(), Ordering::Relaxed);
        if let Some(absence) = self.absence(model) {
            absence.clear();
        }
        if !self.has_served(model) {
            let served = self.state.has_served.write();
            let mut served = served.unwrap_or_else(PoisonError::into_inner);
            if served.len() < MAX_MODELS {
                served.insert(model.to_owned());
            }
        }
    }

    fn has_served(&self, model: &str) -> bool {
        let served = self.state.has_served.read();
        let served = served.unwrap_or_else(PoisonError::into_inner);
        served.contains(model)
    }

    /// Skips it until a probe or an operator resumes it. True if it was not paused before.
    pub(crate) fn pause(&self, now: Timestamp) -> bool {
        let state = &self.state;
        let is_new = !state.paused.swap(true, Ordering::Relaxed);
        if is_new {
            let since = &state.paused_at_millis;
            since.store(now.millis(), Ordering::Relaxed);
        }
        is_new
    }

    /// The models that count as absent for all.
    pub(super) fn absent_models(&self, now: Timestamp) -> Vec<String> {
        let absent = self.absent();
        let marked = absent.iter().filter(|(_, it)| it.excludes_all(now));
        marked.map(|(model, _)| model.clone()).collect()
    }

    /// Whether it is to be probed now: it was refused, lacks a model, is paused or was not used for long.
    pub(crate) fn is_probe_due(&self, now: Timestamp, settings: &ProbeSettings) -> bool {
        let state = &self.state;
        let is_needed = state.wants_probe.load(Ordering::Relaxed)
            || self.is_paused()
            || self.lacks_any(now)
            || self.is_idle(now, settings);
        let probed = state.probed_at_millis.load(Ordering::Relaxed);
        is_needed && now.millis() >= probed.saturating_add(millis(settings.every))
    }

    /// Whether no call was served with it, and no probe made, for long.
    fn is_idle(&self, now: Timestamp, settings: &ProbeSettings) -> bool {
        if settings.idle.is_zero() {
            return false;
        }
        let (state, relaxed) = (&self.state, Ordering::Relaxed);
        let served = &state.served_at_millis;
        let unknown = served.compare_exchange(0, now.millis(), relaxed, relaxed);
        let served = unknown.map_or_else(|since| since, |_| now.millis());
        let last = served.max(state.probed_at_millis.load(relaxed));
        now.millis() >= last.saturating_add(millis(settings.idle))
    }

    /// Whether a model counts as absent for any account: then it is looked whether it is back.
    fn lacks_any(&self, now: Timestamp) -> bool {
        self.state.has_absent.load(Ordering::Relaxed)
            && self.absent().values().any(|it| it.is_doubted(now))
    }

    /// Whether a call may be spent on a probe: only while it is paused or not used, and so many in a day.
    pub(crate) fn takes_probe_call(&self, now: Timestamp, settings: &ProbeSettings) -> bool {
        if !self.is_paused() && !self.is_idle(now, settings) {
            return false;
        }
        let today = now.millis().div_euclid(DAY_MILLIS);
        let calls = self.state.probe_calls.lock();
        let mut calls = calls.unwrap_or_else(PoisonError::into_inner);
        if calls.0 != today {
            *calls = (today, 0);
        }
        if calls.1 >= settings.calls_a_day {
            return false;
        }
        calls.1 = calls.1.saturating_add(1);
        true
    }

    /// Takes over what a probe found. `upstream_name` is a model's name at the upstream.
    pub(crate) fn probed(
        &self,
        found: &Probed,
        now: Timestamp,
        upstream_name: impl Fn(&str) -> String,
    ) -> AfterProbe {
        let state = &self.state;
        state
            .probed_at_millis
            .store(now.millis(), Ordering::Relaxed);
        state.wants_probe.store(false, Ordering::Relaxed);
        match found {
            Probed::Works(listed) => {
                state.accepted();
                if let Some(listed) = listed {
                    self.compare_models(listed, now, upstream_name);
                }
                self.resume()
            }
            Probed::Refused(_) | Probed::CallRefused(_) if self.is_paused() => AfterProbe::Nothing,
            // A key that may serve calls and not list models is no reason to stop calls that work.
            Probed::Refused(_) if !state.is_refused.load(Ordering::Relaxed) => AfterProbe::Nothing,
            Probed::Refused(status) | Probed::CallRefused(status) => AfterProbe::Pause(*status),
            Probed::Unclear if self.is_paused() => {
                let since = &state.paused_at_millis;
                // A pause that was there when this process started begins with it.
                let unknown =
                    since.compare_exchange(0, now.millis(), Ordering::Relaxed, Ordering::Relaxed);
                let since = unknown.map_or_else(|since| since, |_| now.millis());
                if now.millis() < since.saturating_add(LONGEST_PAUSE_MILLIS) {
                    return AfterProbe::Nothing;
                }
                state.accepted();
                self.resume()
            }
            Probed::Unclear => AfterProbe::Nothing,
        }
    }

    fn resume(&self) -> AfterProbe {
        self.state.paused_at_millis.store(0, Ordering::Relaxed);
        match self.state.paused.swap(false, Ordering::Relaxed) {
            true => AfterProbe::Resume,
            false => AfterProbe::Nothing,
        }
    }

    /// The models that calls missed, compared with those that the upstream lists. Not every vendor lists
    /// all that it serves: a model that calls got before is taken from all only by calls of several accounts.
    fn compare_models(
        &self,
        listed: &BTreeSet<String>,
        now: Timestamp,
        upstream_name: impl Fn(&str) -> String,
    ) {
        let until = now.millis().saturating_add(UNLISTED_MILLIS);
        let mut absent = self.absent();
        absent.retain(|_, it| it.is_doubted(now));
        for (model, absence) in absent.iter() {
            if listed.contains(&upstream_name(model)) {
                absence.clear();
            } else if !self.has_served(model) {
                absence.confirm(until);
            }
        }
    }

    fn absence(&self, model: &str) -> Option<Arc<Evidence>> {
        if !self.state.has_absent.load(Ordering::Relaxed) {
            return None;
        }
        self.absent().get(model).map(Arc::clone)
    }

    fn absent(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Evidence>>> {
        let absent = &self.state.absent;
        absent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl CredentialState ===

impl CredentialState {
    /// It is not refused, or no longer.
    fn accepted(&self) {
        self.is_refused.store(false, Ordering::Relaxed);
        self.refusals.clear();
    }
}

impl Default for CredentialState {
    fn default() -> Self {
        Self {
            paused: AtomicBool::new(false),
            paused_at_millis: AtomicI64::new(0),
            limits: Evidence::of_each(),
            refusals: Evidence::of_each(),
            is_refused: AtomicBool::new(false),
            absent: Mutex::default(),
            has_absent: AtomicBool::new(false),
            has_served: RwLock::default(),
            wants_probe: AtomicBool::new(false),
            probed_at_millis: AtomicI64::new(0),
            served_at_millis: AtomicI64::new(0),
            probe_calls: Mutex::default(),
        }
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
