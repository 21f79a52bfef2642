//! The jobs that were taken: what was asked, how far each is by the clock, and how it ends.

mod directives;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;

use crate::clock;

pub(crate) use directives::JobDirectives;

/// How long jobs take, and how many a key may have at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoSettings {
    /// How long a job waits before it begins.
    pub wait_millis: u64,
    pub run_millis: u64,
    /// Jobs of one key that wait or run at once; one more is refused as the vendor does.
    pub lane: usize,
}

impl Default for VideoSettings {
    fn default() -> Self {
        Self {
            wait_millis: 20,
            run_millis: 100,
            lane: 100_000,
        }
    }
}

/// The record of a job, for checkers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VideoJob {
    /// The vendor's name of it.
    pub id: String,
    pub vendor: &'static str,
    /// The model as it was sent.
    pub model: String,
    /// The last four characters of the key.
    pub key: String,
    /// The name the prompt gave it with `[[id:…]]`.
    pub marker: Option<String>,
    /// The caller's own name of it, where the vendor keeps one.
    pub reference: Option<String>,
    pub body: Value,
    /// Seconds of video that it makes.
    pub seconds: u64,
    /// When it was taken.
    pub created_micros: u64,
    /// When it begins.
    pub begins_micros: u64,
    /// When it ends; none if it never does.
    pub ends_micros: Option<u64>,
    /// The code and the text with which it ends badly.
    pub fails: Option<(String, String)>,
    /// When it was cancelled.
    pub cancelled_micros: Option<u64>,
    /// Its state is an undocumented word while it runs.
    pub is_odd: bool,
    /// How often it was asked for.
    pub polls: u64,
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It has not begun.
    Waiting,
    Running,
    /// It is done, and billed.
    Succeeded,
    /// It failed, and is not billed.
    Failed {
        code: String,
        message: String,
    },
    /// It was stopped, and is not billed.
    Cancelled,
}

/// A job that is about to be taken.
pub(crate) struct NewJob<'a> {
    pub(crate) id: String,
    pub(crate) vendor: &'static str,
    pub(crate) model: &'a str,
    pub(crate) key: String,
    pub(crate) reference: Option<String>,
    pub(crate) body: Value,
    pub(crate) seconds: u64,
    /// Why it will end badly whatever the prompt says: the vendor found out too late.
    pub(crate) fails: Option<(String, String)>,
}

/// All jobs, newest last.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    all: Vec<VideoJob>,
    by_id: HashMap<String, usize>,
    by_reference: HashMap<String, usize>,
    refused_for_capacity: HashMap<String, u64>,
    downloads: HashMap<String, u64>,
}

// === impl VideoJob ===

impl VideoJob {
    /// How far it is now.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase_at(clock::now_micros())
    }

    fn phase_at(&self, now: u64) -> Phase {
        if self.cancelled_micros.is_some() {
            return Phase::Cancelled;
        }
        if now < self.begins_micros {
            return Phase::Waiting;
        }
        match (self.ends_micros, &self.fails) {
            (Some(ends), Some((code, message))) if now >= ends => Phase::Failed {
                code: code.clone(),
                message: message.clone(),
            },
            (Some(ends), None) if now >= ends => Phase::Succeeded,
            (Some(_) | None, _) => Phase::Running,
        }
    }

    /// From 0 to 99 while it runs.
    pub(crate) fn progress(&self) -> u64 {
        let now = clock::now_micros();
        let Some(ends) = self.ends_micros else {
            return 0;
        };
        let whole = ends.saturating_sub(self.begins_micros).max(1);
        let done = now.saturating_sub(self.begins_micros).saturating_mul(100);
        (done / whole).min(99)
    }
}

// === impl Jobs ===

impl Jobs {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the prompt asks that this submission finds no capacity, or the key has too many jobs.
    pub(crate) fn is_full(
        &self,
        directives: &JobDirectives,
        key: &str,
        settings: VideoSettings,
    ) -> bool {
        let now = clock::now_micros();
        let mut inner = self.inner();
        if let Some(marker) = &directives.marker {
            let refused = inner
                .refused_for_capacity
                .entry(marker.clone())
                .or_default();
            if *refused < directives.full_times {
                *refused = refused.saturating_add(1);
                return true;
            }
        }
        let is_open = |job: &&VideoJob| {
            job.key == key && matches!(job.phase_at(now), Phase::Waiting | Phase::Running)
        };
        inner.all.iter().rev().filter(is_open).count() >= settings.lane
    }

    pub(crate) fn take(
        &self,
        new: NewJob<'_>,
        directives: &JobDirectives,
        settings: VideoSettings,
    ) -> VideoJob {
        let created_micros = clock::now_micros();
        let micros = |millis: u64| millis.saturating_mul(1_000);
        let wait = directives.wait_millis.unwrap_or(settings.wait_millis);
        let run = directives.run_millis.unwrap_or(settings.run_millis);
        let begins_micros = created_micros.saturating_add(micros(wait));
        let ends = begins_micros.saturating_add(micros(run));
        let requested_failure =
            |code: &String| (code.clone(), format!("the prompt asked for {code}"));
        let job = VideoJob {
            id: new.id,
            vendor: new.vendor,
            model: new.model.to_owned(),
            key: new.key,
            marker: directives.marker.clone(),
            reference: new.reference,
            body: new.body,
            seconds: new.seconds,
            created_micros,
            begins_micros,
            ends_micros: (!directives.is_stuck).then_some(ends),
            fails: new
                .fails
                .or_else(|| directives.fail.as_ref().map(requested_failure)),
            cancelled_micros: None,
            is_odd: directives.is_odd,
            polls: 0,
        };
        let mut inner = self.inner();
        let place = inner.all.len();
        inner.by_id.insert(job.id.clone(), place);
        if let Some(reference) = &job.reference {
            inner.by_reference.insert(reference.clone(), place);
        }
        inner.all.push(job.clone());
        job
    }

    /// A job that is asked for; it counts.
    pub(crate) fn polled(&self, id: &str) -> Option<VideoJob> {
        let mut inner = self.inner();
        let place = *inner.by_id.get(id)?;
        let job = inner.all.get_mut(place)?;
        job.polls = job.polls.saturating_add(1);
        Some(job.clone())
    }

    /// A job, without counting a poll.
    pub(crate) fn seen(&self, id: &str) -> Option<VideoJob> {
        let inner = self.inner();
        let place = *inner.by_id.get(id)?;
        inner.all.get(place).cloned()
    }

    /// Counts a download of a job's file; says how many there were before.
    pub(crate) fn downloaded(&self, id: &str) -> u64 {
        let mut inner = self.inner();
        let count = inner.downloads.entry(id.to_owned()).or_default();
        let before = *count;
        *count = count.saturating_add(1);
        before
    }

    /// A job by the caller's own name.
    pub(crate) fn referred(&self, reference: &str) -> Option<VideoJob> {
        let inner = self.inner();
        let place = *inner.by_reference.get(reference)?;
        inner.all.get(place).cloned()
    }

    /// Stops a job that has not begun (or, for vendors that can, one that runs). False if it is too
    /// late.
    pub(crate) fn cancel(&self, id: &str, also_running: bool) -> Option<bool> {
        let now = clock::now_micros();
        let mut inner = self.inner();
        let place = *inner.by_id.get(id)?;
        let job = inner.all.get_mut(place)?;
        let phase = job.phase_at(now);
        let can = phase == Phase::Waiting || (also_running && phase == Phase::Running);
        if can {
            job.cancelled_micros = Some(now);
        }
        Some(can)
    }

    /// Deletes a vendor's record of a job: it is no longer found by its name. It stays in the request log.
    pub(crate) fn forget(&self, id: &str) {
        self.inner().by_id.remove(id);
    }

    /// Copies of those that can be found by their names, oldest first.
    pub(crate) fn kept(&self) -> Vec<VideoJob> {
        let inner = self.inner();
        let all = inner.all.iter();
        all.filter(|job| inner.by_id.contains_key(&job.id))
            .cloned()
            .collect()
    }

    /// Whether the vendor knows a job.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.inner().by_id.contains_key(id)
    }

    pub(crate) fn all(&self) -> Vec<VideoJob> {
        self.inner().all.clone()
    }
}
