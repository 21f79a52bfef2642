//! One attempt at an upstream, for the usage row, the log and the trace.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use trunkline_ledger::Outcome;

use crate::metrics::AttemptMetrics;

/// The channel of attempts, as logs, traces and metrics name it.
#[derive(Debug)]
pub struct AttemptChannel {
    pub id: i64,
    pub name: String,
    pub provider: String,
    pub metrics: Arc<AttemptMetrics>,
}

/// One attempt. The usage row gets what is not skipped; times count from the call's beginning.
#[derive(Debug, Clone, Serialize)]
pub struct Attempt {
    #[serde(rename = "channel")]
    channel_id: i64,
    pub(crate) status: Option<u16>,
    pub error: Option<&'static str>,
    ms: u64,
    #[serde(skip)]
    pub(crate) channel: Arc<AttemptChannel>,
    /// The upstream's name of the model, where the call is traced.
    #[serde(skip)]
    pub(crate) upstream_model: Option<String>,
    #[serde(skip)]
    pub(crate) began: Duration,
    /// When the last of its answer had come; none as long as that is open.
    #[serde(skip)]
    pub(crate) ended: Option<Duration>,
}

/// What an attempt says about its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptSample {
    /// The number of the channel.
    pub channel: i64,
    /// It failed because of the channel.
    pub failed: bool,
    /// How long its answer took to begin.
    pub first_byte: Option<Duration>,
    /// How long a streamed answer was written after that.
    pub written: Option<Duration>,
}

/// What the attempts of a call say about their channels.
pub(crate) fn samples(
    attempts: &[Attempt],
    outcome: Outcome,
    stream_ended: Option<Duration>,
) -> Vec<AttemptSample> {
    let last = attempts.len().saturating_sub(1);
    let samples = attempts.iter().enumerate().map(|(place, one)| {
        let of_call = (place == last).then_some(outcome);
        one.sample(of_call, stream_ended)
    });
    samples.flatten().collect()
}

// === impl Attempt ===

impl Attempt {
    /// Until something is known of it, it is one that its caller left.
    pub fn begin(
        channel: Arc<AttemptChannel>,
        upstream_model: Option<String>,
        began: Duration,
    ) -> Self {
        Self {
            channel_id: channel.id,
            status: None,
            error: Some("left"),
            ms: 0,
            channel,
            upstream_model,
            began,
            ended: None,
        }
    }

    pub fn answered(&mut self, status: Option<u16>, error: Option<&'static str>, now: Duration) {
        let took = now.saturating_sub(self.began);
        (self.status, self.error) = (status, error);
        self.ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if !matches!(status, Some(200..=299)) {
            self.ended = Some(now);
        }
    }

    /// What it came to, as a code of a closed list.
    pub(crate) const fn as_str(&self) -> &'static str {
        match (self.error, self.status) {
            (Some(code), _) => code,
            (None, Some(200..=299)) => "answered",
            (None, Some(429)) => "limited",
            (None, Some(400..=499)) => "refused",
            (None, Some(_) | None) => "failed",
        }
    }

    /// The same where it is an error.
    pub(crate) fn error_code(&self) -> Option<&'static str> {
        let answered = self.error.is_none() && matches!(self.status, Some(200..=299));
        (!answered).then(|| self.as_str())
    }

    /// What it says about its channel; none if that is nothing. The last one has the outcome of its call.
    fn sample(
        &self,
        outcome: Option<Outcome>,
        stream_ended: Option<Duration>,
    ) -> Option<AttemptSample> {
        let call_failed = matches!(
            outcome,
            Some(Outcome::UpstreamFailed | Outcome::UpstreamTimeout)
        );
        let failed = match self.as_str() {
            "answered" => call_failed,
            // Nothing found is an answer too.
            "refused" if outcome == Some(Outcome::NoResult) => false,
            // About the request, or left by the client.
            "refused" | "left" => return None,
            _ => true,
        };
        let first_byte = self.head_took().filter(|_| !failed);
        let began = first_byte.map(|took| self.began.saturating_add(took));
        let written = stream_ended.filter(|_| outcome.is_some()).zip(began);
        Some(AttemptSample {
            channel: self.channel_id,
            failed,
            first_byte,
            written: written.map(|(ended, began)| ended.saturating_sub(began)),
        })
    }

    /// How long its head took; none if there was none.
    pub(crate) fn head_took(&self) -> Option<Duration> {
        self.status.map(|_| Duration::from_millis(self.ms))
    }
}
