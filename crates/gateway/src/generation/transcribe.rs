//! A transcript from a recording that lies here: money, a vendor, its task if it makes one, the charge,
//! the text. Synchronous outside whatever it is inside.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::sync::oneshot;
use tokio::time::Instant;
use trunkline_ledger::Outcome;
use trunkline_media::{ContentType, ObjectPath};
use trunkline_studio::transcription::{
    Handing, Protocol, Shown, Stage, Transcript, Turn, protocol_of, shown,
};
use trunkline_studio::{Errand, Trouble};
use trunkline_terms::vendor::{Complaint, Said};
use trunkline_terms::{Bucket, Usage};
use trunkline_upstream::SendError;
use trunkline_upstream::guarded::GuardedAsk;

use super::deliver::Whole;
use super::failover::Round;
use super::outbound::Waits;
use super::speech_stream::SpeechError;
use super::transcription_form::Wanted;
use crate::calling::{Responder, left, nothing, tell};
use crate::channels::{Channel, ChannelCredential};
use crate::error::ApiError;
use crate::failover::Exhausted;
use crate::in_flight::InFlightPermit;
use crate::request_context::RequestContext;
use crate::response::Response;
use crate::services::Services;
use crate::vendors::Heard;

/// Largest answer of a vendor that is read.
const MAX_ANSWER_BYTES: usize = 16_000_000;
/// Questions about a task that may fail before it is given up.
const MAX_LOST: u32 = 10;

/// A recording that a vendor can fetch. It goes away with the call.
struct Lent {
    services: Services,
    path: Option<ObjectPath>,
    link: String,
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(path) = self.path.take() else { return };
        let media = self.services.inner.media.clone();
        self.services.inner.tasks.spawn(async move {
            // If that fails, the sweep finds it later.
            if let Err(error) = media.delete(&path).await {
                tracing::warn!(%error, "a recording is deleted later");
            }
        });
    }
}

impl Services {
    pub(super) async fn transcribe(
        &self,
        context: &Arc<RequestContext>,
        wanted: Wanted,
        place: InFlightPermit,
    ) -> Result<Response, ApiError> {
        let (head, answer) = oneshot::channel();
        let (services, context) = (self.clone(), Arc::clone(context));
        self.inner.tasks.spawn(Box::pin(async move {
            services.transcript_call(wanted, &context, head).await;
            drop(place);
        }));
        answer
            .await
            .unwrap_or_else(|_| Err(ApiError::unavailable()))
    }

    async fn transcript_call(
        &self,
        mut wanted: Wanted,
        context: &RequestContext,
        mut head: Responder,
    ) {
        let reservation = match wanted.priced.hold(self).await {
            Ok(reservation) => reservation,
            Err(fault) => return tell(head, Err(fault)),
        };
        let outlives = wanted.priced.named.is_some();
        let written = tokio::select! {
            written = self.ask_listeners(&mut wanted, context) => written,
            () = left(context, &mut head), if !outlives => {
                reservation.void(nothing(context, Outcome::Cancelled)).await;
                return context.ended(Outcome::Cancelled, None, (0, 0));
            }
        };
        context.upstream_ended();
        let seconds = wanted.ask.seconds();
        let heard = Usage::unknown().with(Bucket::AudioSeconds, seconds);
        let priced = &wanted.priced;
        let sum = priced.sum(&heard).map_err(failed);
        let (channel, Shown { content_type, body }, sum) = match (written, sum) {
            (Ok((channel, shown)), Ok(sum)) => (channel, shown, sum),
            (Err(Exhausted { fault, outcome }), _) | (_, Err(Exhausted { fault, outcome })) => {
                reservation.void(nothing(context, outcome)).await;
                context.ended(outcome, None, (0, 0));
                return tell(head, Err(fault));
            }
        };
        let whole = Whole {
            sum,
            measured: heard,
            tokens: (trunkline_catalog::audio_tokens_shown(seconds), 0),
            content_type,
            body,
        };
        self.hand_over((priced, reservation), (&channel, context), head, whole)
            .await;
    }

    async fn ask_listeners(
        &self,
        wanted: &mut Wanted,
        context: &RequestContext,
    ) -> Result<(Arc<Channel>, Shown), Exhausted> {
        // It starts when the upload has been read.
        let ends = Instant::now().checked_add(self.inner.settings.whole_wait);
        let way = wanted.priced.sale.model.entry().specs.recognition.clone();
        let way = way.unwrap_or_default();
        let mut lent: Option<Lent> = None;
        let mut round = Round::new(self, &wanted.priced, context, true);
        let (channel, shown, notes) = loop {
            let Some(channel) = round.next() else {
                return Err(round.nobody());
            };
            let mut formats = channel.provider.formats.iter();
            let protocol = formats.find_map(|format| protocol_of(format.word(), &way));
            let (Some(protocol), Some(credential)) = (protocol, round.credential(&channel)) else {
                continue;
            };
            if protocol.handing == Handing::Link && lent.is_none() {
                lent = Some(self.lend(wanted).await.map_err(failed)?);
            }
            let link = lent.as_ref().map(|lent| lent.link.as_str());
            let upstream = channel.upstream_model(&wanted.ask.model);
            let written = (protocol.begin)(&wanted.ask, upstream, link);
            let Some(written) = round.sayable(&wanted.priced, written) else {
                continue;
            };
            if !round.sits(&channel).await {
                continue;
            }
            round.begins(&channel);
            let asked = (&*wanted, protocol, ends);
            let turned = self
                .listen(&round, (&channel, credential), asked, written.errand)
                .await;
            let turned = turned.and_then(|transcript| {
                shown(&wanted.ask, &transcript).map_err(|refusal| {
                    let complaint = Complaint::new(502, refusal.code, refusal.message);
                    SpeechError::Trouble(Trouble::Failed(complaint))
                })
            });
            let stop = match turned.map_err(SpeechError::lost) {
                Ok(shown) => break (channel, shown, written.notes),
                Err(Ok(error)) => round.lost(&channel, &error),
                Err(Err(trouble)) => round.troubled((&channel, credential), trouble),
            };
            if let Some(stop) = stop {
                return Err(stop);
            }
        };
        channel.went_well();
        notes
            .into_iter()
            .for_each(|note| wanted.priced.report.say(note));
        Ok((channel, shown))
    }

    /// Asks one vendor until it has the text, or has none.
    async fn listen(
        &self,
        round: &Round<'_>,
        from: (&Channel, &ChannelCredential),
        (wanted, protocol, ends): (&Wanted, &Protocol, Option<Instant>),
        mut errand: Errand,
    ) -> Result<Transcript, SpeechError> {
        let mut stage = Stage::Begun;
        let mut lost = 0_u32;
        loop {
            let left = ends.map(|ends| ends.saturating_duration_since(Instant::now()));
            let Some(left) = left.filter(|left| !left.is_zero()) else {
                return Err(SpeechError::Unsent(SendError::Silent));
            };
            let waits = Waits {
                total: left,
                idle: left,
            };
            let upload = Some(&wanted.upload).filter(|_| errand.form.is_some());
            let sent = self
                .run_errand(from, &errand, upload, (wanted.priced.id, waits))
                .await;
            let heard = match sent {
                Ok(answer) => {
                    if stage == Stage::Begun {
                        round.heard(Some(answer.status.as_u16()), None);
                    }
                    Heard::read(answer, MAX_ANSWER_BYTES).await
                }
                Err(error) => Err(error),
            };
            let turn = match (heard, stage) {
                (Ok(heard), stage) => (protocol.read)(&wanted.ask, stage, &heard.said()),
                (Err(error), Stage::Begun | Stage::Fetched) => {
                    return Err(SpeechError::Unsent(error));
                }
                // The task runs on, whether a question about it arrives or not.
                (Err(error), Stage::Polled) if lost >= MAX_LOST => {
                    return Err(SpeechError::Unsent(error));
                }
                (Err(_), Stage::Polled) => {
                    lost = lost.saturating_add(1);
                    tokio::time::sleep(self.inner.settings.studio.poll_pause).await;
                    continue;
                }
            };
            match turn.map_err(SpeechError::Trouble)? {
                Turn::Done(transcript) => return Ok(transcript),
                Turn::Ask(next) => {
                    (errand, stage) = (next, Stage::Polled);
                    tokio::time::sleep(self.inner.settings.studio.poll_pause).await;
                }
                Turn::Fetch(link) => {
                    let bytes = self.fetch_text(&link).await?;
                    let said = Said {
                        status: 200,
                        retry_after: None,
                        body: &bytes,
                    };
                    let turn = (protocol.read)(&wanted.ask, Stage::Fetched, &said);
                    return match turn.map_err(SpeechError::Trouble)? {
                        Turn::Done(transcript) => Ok(transcript),
                        Turn::Ask(_) | Turn::Fetch(_) => {
                            let words = "a transcript that leads to another one".to_owned();
                            Err(SpeechError::Unsent(SendError::Broken(words)))
                        }
                    };
                }
            }
        }
    }

    /// The file that a vendor put a transcript into.
    async fn fetch_text(&self, link: &str) -> Result<Bytes, SpeechError> {
        let ask = GuardedAsk {
            range: None,
            max_bytes: u64::try_from(MAX_ANSWER_BYTES).unwrap_or(u64::MAX),
            within: self.inner.settings.body_wait,
        };
        let broken = |words: String| SpeechError::Unsent(SendError::Broken(words));
        let mut answer = self
            .inner
            .fetcher
            .get(link, ask)
            .await
            .map_err(|error| broken(error.to_string()))?;
        if !answer.status.is_success() {
            return Err(broken(format!("its link answers {}", answer.status)));
        }
        let whole = answer.whole().await;
        whole.map_err(|error| broken(error.to_string()))
    }

    /// Puts the recording where a vendor can fetch it.
    async fn lend(&self, wanted: &Wanted) -> Result<Lent, ApiError> {
        let kind = ContentType::parse(&wanted.content_type);
        let plain = || ContentType::parse("application/octet-stream");
        let kind = kind
            .or_else(|_| plain())
            .map_err(|_| ApiError::unavailable())?;
        let path = self.minted(&wanted.priced.caller, &kind)?;
        let mut lent = Lent {
            services: self.clone(),
            path: Some(path.clone()),
            link: String::new(),
        };
        let reading = wanted.upload.reading();
        let pieces = stream::unfold(reading, |mut reading| async move {
            let piece = reading.next().await?;
            Some((piece, reading))
        });
        let put = self
            .inner
            .media
            .put(&path, pieces.boxed(), &kind, wanted.upload.bytes());
        put.await.map_err(|error| {
            tracing::error!(%error, name = wanted.name, "a recording could not be lent");
            ApiError::unavailable()
        })?;
        lent.link = self.signed(path)?;
        Ok(lent)
    }
}

fn failed(fault: ApiError) -> Exhausted {
    Exhausted {
        fault,
        outcome: Outcome::UpstreamFailed,
    }
}
