//! A transcript of a recording that lies here: a vendor, its task if it makes one, the text. Synchronous
//! to the client whatever it is to the vendor.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use trunkline_blobs::{ContentType, Media, ObjectPath};
use trunkline_catalog::audio_tokens_shown;
use trunkline_generation::transcription::{
    NextStep, Protocol, RenderedTranscript, Stage, Transcript, TranscriptionRequest, UploadMode,
    protocol_of, render,
};
use trunkline_generation::vendor_http::{VendorError, VendorResponse};
use trunkline_generation::{VendorFailure, VendorRequest};
use trunkline_ledger::Outcome;
use trunkline_types::{AccountId, Bucket, Money, Usage};
use trunkline_upstream::SendError;
use trunkline_upstream::safe_fetch::FetchRequest;

use super::image_hosting;
use super::outbound::{self, VendorCall, Waits};
use super::speech_stream::SpeechError;
use super::transcription::UploadedFile;
use crate::channels::Channel;
use crate::error::ApiError;
use crate::failover::{
    AfterSent, AttemptLog, Attempts, Built, Candidates, Classified, Exhausted, Served, Tally, To,
};
use crate::guardrail::AnswerExcerpt;
use crate::idempotency::StoredResponse;
use crate::operation::{Execution, HoldPolicy, Metered, PricedOperation, RelayEnd, Settled};
use crate::operations::exact_price::{Priced, classified};
use crate::operations::whole::{Made, Whole};
use crate::priced_call::PricedCall;
use crate::request_context::{RequestContext, Tokens};
use crate::reservation::Reservation;
use crate::response::Responder;
use crate::services::Services;
use crate::vendors::BufferedResponse;

/// Largest answer of a vendor that is read.
const MAX_ANSWER_BYTES: usize = 16_000_000;
/// Questions about a task that may fail before it is given up.
const MAX_LOST: u32 = 10;

/// A recording with its price.
pub(crate) struct TranscriptionExecution {
    pub(super) priced: Priced,
    pub(super) ask: TranscriptionRequest,
    file: Option<UploadedFile>,
    /// Where a vendor can fetch the recording, once one has to.
    published: Option<Published>,
    /// When the vendors' time is over; it begins with the first one.
    ends: Option<Instant>,
}

/// A recording that a vendor can fetch. It goes away with the call.
struct Published {
    media: Media,
    tasks: TaskTracker,
    path: Option<ObjectPath>,
    link: String,
}

impl Drop for Published {
    fn drop(&mut self) {
        let Some(path) = self.path.take() else { return };
        let media = self.media.clone();
        self.tasks.spawn(async move {
            // If that fails, the retention job finds it later.
            if let Err(error) = media.delete(&path).await {
                tracing::warn!(%error, "transcription: deleting the published recording failed");
            }
        });
    }
}

impl TranscriptionExecution {
    pub(super) const fn new(
        priced: Priced,
        ask: TranscriptionRequest,
        file: Option<UploadedFile>,
    ) -> Self {
        Self {
            priced,
            ask,
            file,
            published: None,
            ends: None,
        }
    }

    pub(super) fn protocol(&self, channel: &Channel) -> Option<&'static Protocol> {
        let specs = &self.priced.call.sale.model.entry().specs;
        let way = specs.recognition.as_deref().unwrap_or_default();
        let mut formats = channel.provider.formats.iter();
        formats.find_map(|format| protocol_of(format.as_str(), way))
    }

    /// The link to the recording, which is put where a vendor can fetch it.
    async fn link(&mut self, services: &Services) -> Result<&str, ApiError> {
        if self.published.is_none() {
            self.published = Some(self.publish(services).await?);
        }
        let published = self.published.as_ref().ok_or_else(ApiError::unavailable)?;
        Ok(&published.link)
    }

    async fn publish(&self, services: &Services) -> Result<Published, ApiError> {
        let file = self.file.as_ref().ok_or_else(ApiError::unavailable)?;
        let kind = ContentType::parse(&file.content_type);
        let plain = || ContentType::parse("application/octet-stream");
        let kind = kind
            .or_else(|_| plain())
            .map_err(|_| ApiError::unavailable())?;
        let path = image_hosting::mint_path(services, &self.priced.call.caller, &kind)?;
        let mut published = Published {
            media: services.media.clone(),
            tasks: services.tasks.clone(),
            path: Some(path.clone()),
            link: String::new(),
        };
        let pieces = stream::unfold(file.upload.reading(), |mut reading| async move {
            let piece = reading.next().await?;
            Some((piece, reading))
        });
        let bytes = file.upload.bytes();
        let media = &services.media;
        let put = media.put(&path, pieces.boxed(), &kind, bytes);
        put.await.map_err(|error| {
            tracing::error!(%error, name = file.name, "transcription: publishing the recording for the vendor failed");
            ApiError::unavailable()
        })?;
        published.link = image_hosting::sign_link(services, path)?;
        Ok(published)
    }
}

impl Attempts for TranscriptionExecution {
    type Outbound = VendorCall<Protocol>;
    type Accepted = RenderedTranscript;

    fn candidates(&self, services: &Services) -> Candidates {
        self.priced.candidates(services, AfterSent::AskNext)
    }

    async fn build(
        &mut self,
        services: &Services,
        channel: &Arc<Channel>,
    ) -> Built<Self::Outbound> {
        let Some(protocol) = self.protocol(channel) else {
            return Built::Skip;
        };
        let link = match protocol.upload_mode {
            UploadMode::Link => match self.link(services).await {
                Ok(link) => Some(link.to_owned()),
                Err(error) => return Built::Stop(Exhausted::from(error)),
            },
            UploadMode::Form => None,
        };
        let upstream = channel.upstream_model(&self.ask.model);
        let written = (protocol.encode)(&self.ask, upstream, link.as_deref());
        self.priced
            .built(written)
            .map(|written| VendorCall { protocol, written })
    }

    async fn attempt(
        &mut self,
        services: &Services,
        log: AttemptLog<'_>,
        to: To<'_>,
        call: Self::Outbound,
    ) -> Classified<RenderedTranscript> {
        let VendorCall { protocol, written } = call;
        let wait = services.settings.whole_wait;
        let ends = *self.ends.get_or_insert_with(|| {
            Instant::now()
                .checked_add(wait)
                .unwrap_or_else(Instant::now)
        });
        let listened = self.listen(services, log, to, protocol, written.request, ends);
        let turned = listened.await.and_then(|transcript| {
            render(&self.ask, &transcript).map_err(|refusal| {
                let vendor_error = VendorError::new(502, refusal.code, refusal.message);
                SpeechError::Vendor(VendorFailure::Failed(vendor_error))
            })
        });
        match turned.map_err(SpeechError::lost) {
            Ok(rendered) => {
                to.channel.health.record_success();
                for note in written.notes {
                    self.priced.call.report.add(note);
                }
                Classified::Accepted(rendered)
            }
            Err(Ok(lost)) => Classified::Lost(lost),
            Err(Err(failure)) => classified(services, to, failure),
        }
    }

    fn exhausted(&self, tally: Tally) -> Exhausted {
        tally.exhausted(&self.priced.call.model)
    }
}

impl PricedOperation for TranscriptionExecution {
    fn call(&self) -> &PricedCall {
        &self.priced.call
    }

    fn call_mut(&mut self) -> &mut PricedCall {
        &mut self.priced.call
    }

    fn maximum(&self) -> Result<Money, ApiError> {
        Ok(self.priced.price.amount)
    }

    fn check_max_cost(&self, most: Money) -> Result<(), ApiError> {
        self.priced.check_max_cost(most)
    }
}

impl Execution for TranscriptionExecution {
    type Relayed = Whole;

    fn is_acked(&self) -> bool {
        true
    }

    fn hold_policy(&self, _services: &Services) -> Result<HoldPolicy, ApiError> {
        Ok(HoldPolicy::exact(self.priced.price.amount))
    }

    async fn relay(
        &mut self,
        _services: &Services,
        context: &Arc<RequestContext>,
        _reservation: &mut Reservation,
        served: Served<RenderedTranscript>,
        responder: Responder,
    ) -> RelayEnd<Whole> {
        context.upstream_ended();
        let seconds = self.ask.seconds();
        let whole = Whole {
            responder,
            made: Some(Made {
                usage: Usage::unknown().with(Bucket::AudioSeconds, seconds),
                tokens: Tokens {
                    input: audio_tokens_shown(seconds),
                    output: 0,
                },
                content_type: served.answer.content_type,
                body: served.answer.body,
            }),
        };
        RelayEnd::charge(whole, served.channel, Outcome::Complete)
    }

    fn answer_excerpt<'a>(&'a self, relayed: &'a Whole) -> AnswerExcerpt<'a> {
        relayed.excerpt()
    }

    fn meter(&mut self, relayed: &mut Whole, _outcome: Outcome) -> Result<Metered, ApiError> {
        let made = relayed.made.as_ref().ok_or_else(ApiError::unavailable)?;
        Ok(Metered::known(
            self.priced.call.price(&made.usage)?,
            made.usage.clone(),
            made.tokens,
        ))
    }

    fn stored(
        &mut self,
        services: &Services,
        relayed: &mut Whole,
        metered: &Metered,
    ) -> Option<StoredResponse> {
        relayed.stored(services, &self.priced.call, metered.price.amount)
    }

    async fn deliver(
        &mut self,
        services: &Services,
        context: &RequestContext,
        relayed: Whole,
        settled: Result<Settled, ApiError>,
    ) -> bool {
        relayed
            .deliver(services, context, &self.priced.call, settled)
            .await
    }
}

impl TranscriptionExecution {
    /// Asks one vendor until it has the text, or has none.
    async fn listen(
        &self,
        services: &Services,
        log: AttemptLog<'_>,
        to: To<'_>,
        protocol: &Protocol,
        mut request: VendorRequest,
        ends: Instant,
    ) -> Result<Transcript, SpeechError> {
        let mut stage = Stage::Begun;
        let mut lost = 0_u32;
        loop {
            let left = ends.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(SpeechError::Unsent(SendError::Silent));
            }
            let waits = Waits {
                total: left,
                idle: left,
            };
            let upload = self.file.as_ref().map(|file| &file.upload);
            let upload = upload.filter(|_| request.form.is_some());
            let id = self.priced.call.id;
            let sent = outbound::send(services, to, &request, upload, id, waits).await;
            let response = match sent {
                Ok(answer) => {
                    if stage == Stage::Begun {
                        log.answered(answer.status);
                    }
                    BufferedResponse::read(answer, MAX_ANSWER_BYTES).await
                }
                Err(error) => Err(error),
            };
            let turn = match (response, stage) {
                (Ok(response), stage) => {
                    (protocol.decode)(&self.ask, stage, &response.as_vendor_response())
                }
                (Err(error), Stage::Begun | Stage::Fetched) => {
                    return Err(SpeechError::Unsent(error));
                }
                // The task runs on, whether a question about it arrives or not.
                (Err(error), Stage::Polled) if lost >= MAX_LOST => {
                    return Err(SpeechError::Unsent(error));
                }
                (Err(_), Stage::Polled) => {
                    lost = lost.saturating_add(1);
                    tokio::time::sleep(services.settings.generation.poll_pause).await;
                    continue;
                }
            };
            match turn.map_err(SpeechError::Vendor)? {
                NextStep::Done(transcript) => return Ok(transcript),
                NextStep::Poll(next) => {
                    (request, stage) = (next, Stage::Polled);
                    tokio::time::sleep(services.settings.generation.poll_pause).await;
                }
                NextStep::Fetch(link) => {
                    let account = self.priced.call.caller.account.id;
                    let bytes = fetch_text(services, account, &link).await?;
                    return self.fetched(protocol, &bytes);
                }
            }
        }
    }

    /// What the file behind a vendor's link says.
    fn fetched(&self, protocol: &Protocol, bytes: &[u8]) -> Result<Transcript, SpeechError> {
        let vendor_response = VendorResponse {
            status: 200,
            retry_after: None,
            body: bytes,
        };
        let turn = (protocol.decode)(&self.ask, Stage::Fetched, &vendor_response);
        match turn.map_err(SpeechError::Vendor)? {
            NextStep::Done(transcript) => Ok(transcript),
            NextStep::Poll(_) | NextStep::Fetch(_) => {
                let text = "a transcript that leads to another one".to_owned();
                Err(SpeechError::Unsent(SendError::Broken(text)))
            }
        }
    }
}

/// The file that a vendor put a transcript into.
async fn fetch_text(
    services: &Services,
    account: AccountId,
    link: &str,
) -> Result<Bytes, SpeechError> {
    let ask = FetchRequest {
        range: None,
        max_bytes: u64::try_from(MAX_ANSWER_BYTES).unwrap_or(u64::MAX),
        within: services.settings.accept.body_wait,
    };
    let broken = |text: String| SpeechError::Unsent(SendError::Broken(text));
    let mut answer = services
        .fetcher
        .of(account.number())
        .get(link, ask)
        .await
        .map_err(|error| broken(error.to_string()))?;
    if !answer.status.is_success() {
        return Err(broken(format!("its link answers {}", answer.status)));
    }
    let whole = answer.whole().await;
    whole.map_err(|error| broken(error.to_string()))
}
