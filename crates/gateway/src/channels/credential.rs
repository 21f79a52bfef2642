//! A credential ready to be sent, and what is known of it: limits, refusals, models that it does not have.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use trunkline_keyring::{GenerationId, Keyring};
use trunkline_store::channels::{Credential as CredentialRow, CredentialId, credential_context};
use trunkline_types::{AccountId, Secret, Timestamp};
use trunkline_upstream::{Credential as UpstreamCredential, Provider};

use super::evidence::Evidence;
use super::opened;

/// A cool-down that an upstream may ask for at most.
const MAX_COOL_SECONDS: u64 = 600;
/// How long a refused credential is not sent for an account again, unless a probe has looked at it.
const REFUSED_MILLIS: i64 = 30_000;
/// How long a model counts as absent.
const ABSENT_MILLIS: i64 = 300_000;
/// Between two probes of one credential.
const PROBE_EVERY_MILLIS: i64 = 30_000;
/// After so long a pause ends where no probe can tell.
const LONGEST_PAUSE_MILLIS: i64 = 600_000;
/// Models of one credential that may count as absent, or as served.
const MAX_MODELS: usize = 1_000;

/// A credential ready to be sent.
#[derive(Debug)]
pub(crate) struct ChannelCredential {
    pub(crate) id: CredentialId,
    pub(crate) opened: Arc<UpstreamCredential>,
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
    /// The upstream refuses it.
    Refused(u16),
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

    /// The upstream wants no call with it for so many seconds.
    pub(crate) fn limited(&self, query: ChannelQuery<'_>, seconds: u64) {
        let seconds = i64::try_from(seconds.min(MAX_COOL_SECONDS)).unwrap_or(0);
        let until = query
            .now
            .millis()
            .saturating_add(seconds.saturating_mul(1_000));
        self.state.limits.record(query.account, query.now, until);
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
    pub(crate) fn served(&self, model: &str) {
        self.state.accepted();
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

    /// Whether it is to be probed now: it was refused, lacked a model, or is paused.
    pub(crate) fn is_probe_due(&self, now: Timestamp) -> bool {
        let state = &self.state;
        let is_needed = state.wants_probe.load(Ordering::Relaxed) || self.is_paused();
        let probed = state.probed_at_millis.load(Ordering::Relaxed);
        is_needed && now.millis() >= probed.saturating_add(PROBE_EVERY_MILLIS)
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
            Probed::Refused(_) if self.is_paused() => AfterProbe::Nothing,
            // A key that may serve calls and not list models is no reason to stop calls that work.
            Probed::Refused(_) if !state.is_refused.load(Ordering::Relaxed) => AfterProbe::Nothing,
            Probed::Refused(status) => AfterProbe::Pause(*status),
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
        let until = now.millis().saturating_add(ABSENT_MILLIS);
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
        }
    }
}

#[cfg(test)]
mod tests {
    use trunkline_types::Secret;
    use trunkline_upstream::Auth;

    use super::*;

    const MODEL: &str = "m";

    fn credential() -> ChannelCredential {
        let secret = Secret::new("a-credential-0123456789".to_owned());
        ChannelCredential {
            id: CredentialId::new(1),
            opened: Arc::new(UpstreamCredential::new(&Auth::Bearer, &secret).unwrap()),
            secret: Secret::new(String::new()),
            state: Arc::default(),
        }
    }

    fn query(account: i64, seconds: i64) -> ChannelQuery<'static> {
        ChannelQuery {
            model: MODEL,
            account: AccountId::new(account),
            now: Timestamp::from_micros(seconds * 1_000_000),
        }
    }

    fn after(credential: &ChannelCredential, found: &Probed, seconds: i64) -> AfterProbe {
        let now = Timestamp::from_micros(seconds * 1_000_000);
        credential.probed(found, now, str::to_owned)
    }

    #[test]
    fn a_refused_probe_pauses_only_a_credential_that_calls_were_refused_with() {
        let credential = credential();
        let refused = Probed::Refused(401);
        assert!(!credential.lacks(query(1, 100)));
        assert!(credential.is_probe_due(query(1, 100).now));
        assert_eq!(after(&credential, &refused, 100), AfterProbe::Nothing);
        assert!(!credential.refused(query(1, 200)));
        credential.served(MODEL);
        assert_eq!(after(&credential, &refused, 200), AfterProbe::Nothing);
        assert!(!credential.refused(query(1, 300)));
        assert_eq!(after(&credential, &refused, 300), AfterProbe::Pause(401));
    }

    #[test]
    fn a_paused_credential_is_probed_every_half_minute_and_resumes_when_it_works() {
        let credential = credential();
        assert!(!credential.is_probe_due(query(1, 100).now));
        assert!(credential.pause(query(1, 100).now) && !credential.pause(query(1, 101).now));
        assert!(!credential.is_usable(query(1, 100)));
        let refused = Probed::Refused(401);
        assert_eq!(after(&credential, &refused, 100), AfterProbe::Nothing);
        assert!(!credential.is_probe_due(query(1, 129).now));
        assert!(credential.is_probe_due(query(1, 130).now));
        assert_eq!(after(&credential, &refused, 9_000), AfterProbe::Nothing);
        let works = Probed::Works(None);
        assert_eq!(after(&credential, &works, 9_030), AfterProbe::Resume);
        assert!(credential.is_usable(query(1, 9_030)));
        assert_eq!(after(&credential, &works, 9_060), AfterProbe::Nothing);
    }

    #[test]
    fn a_pause_that_no_probe_can_judge_ends_after_ten_minutes() {
        let credential = credential();
        credential.pause(query(1, 100).now);
        let unclear = Probed::Unclear;
        assert_eq!(after(&credential, &unclear, 130), AfterProbe::Nothing);
        assert_eq!(after(&credential, &unclear, 699), AfterProbe::Nothing);
        assert_eq!(after(&credential, &unclear, 700), AfterProbe::Resume);
        // One that another node wrote is as old as this node's first look at it.
        credential.state.paused.store(true, Ordering::Relaxed);
        assert_eq!(after(&credential, &unclear, 9_000), AfterProbe::Nothing);
        assert_eq!(after(&credential, &unclear, 9_600), AfterProbe::Resume);
    }

    #[test]
    fn a_model_is_absent_for_the_account_that_missed_it_and_for_all_once_the_list_lacks_it() {
        let credential = credential();
        assert!(!credential.lacks(query(1, 100)));
        assert!(!credential.is_usable(query(1, 101)) && credential.is_usable(query(2, 101)));
        let there = Probed::Works(Some(BTreeSet::from([MODEL.to_owned()])));
        after(&credential, &there, 110);
        assert!(credential.is_usable(query(1, 110)));
        assert!(!credential.lacks(query(1, 120)));
        let lacking = Probed::Works(Some(BTreeSet::from(["another".to_owned()])));
        after(&credential, &lacking, 140);
        assert!(!credential.is_usable(query(2, 141)));
        assert_eq!(credential.absent_models(query(2, 141).now), [MODEL]);
        let other = ChannelQuery {
            model: "another",
            ..query(1, 141)
        };
        assert!(credential.is_usable(other), "other models are served");
        assert!(credential.is_usable(query(2, 440)), "for five minutes");
    }

    #[test]
    fn a_list_without_a_served_model_removes_it_only_when_several_accounts_miss_it() {
        let credential = credential();
        credential.served(MODEL);
        let lacking = Probed::Works(Some(BTreeSet::from(["another".to_owned()])));
        assert!(!credential.lacks(query(1, 100)));
        after(&credential, &lacking, 110);
        assert!(!credential.is_usable(query(1, 111)) && credential.is_usable(query(2, 111)));
        assert!(!credential.lacks(query(2, 120)) && credential.lacks(query(3, 120)));
        assert!(!credential.is_usable(query(4, 121)));
        after(&credential, &lacking, 200);
        assert!(!credential.is_usable(query(4, 499)), "the list counts now");
        assert!(credential.is_usable(query(4, 500)));
    }
}
