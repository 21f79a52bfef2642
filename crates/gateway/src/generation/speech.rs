//! `POST /v1/audio/speech`: audio passed on as it is produced. Its length is measured on the way and stands
//! in the usage row; what is billed is the text.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use tokio::sync::{mpsc, oneshot};
use trunkline_audio::{Length, SpeechFormat, Walker};
use trunkline_catalog::{Attributes, Sale};
use trunkline_ledger::Outcome;
use trunkline_studio::speech::{Ask, Manner, Protocol, plan, protocol_of};
use trunkline_terms::{Bucket, EndpointType, Moment, RequestId, Usage};
use trunkline_upstream::BodyError;

use super::SPEECH;
use super::failover::Round;
use super::outbound::Waits;
use super::quote::{Planned, Priced, check_door};
use super::speech_stream::{SpeechError, SpeechStream};
use crate::caller::Caller;
use crate::calling::{Responder, left, nothing, tell};
use crate::channels::{Channel, ChannelCredential};
use crate::error::{ApiError, refused};
use crate::failover::Exhausted;
use crate::idempotency::{Content, IdempotencyKey, StoredResponse, is_named};
use crate::in_flight::InFlightPermit;
use crate::request_context::RequestContext;
use crate::reservation::Reservation;
use crate::response::{FilePiece, Response, ResponseBody, set_cost, set_ending, set_warnings};
use crate::services::Services;
use crate::vendors::Heard;

/// Pieces of audio under way to a reader.
const PIECES: usize = 8;
/// Nanoseconds of generated audio that are shown as one token: a thousand a minute.
const TOKEN_NANOS: u64 = 60_000_000;

/// Speech that may be made.
pub(super) struct Wanted {
    pub(super) priced: Priced,
    pub(super) ask: Ask,
}

/// A vendor that speaks.
struct Speaking {
    channel: Arc<Channel>,
    voice: SpeechStream,
    /// The first of it.
    first: Bytes,
}

/// How a stream of audio ended.
enum End {
    Done,
    ClientGone,
    Failed(Outcome),
}

/// The head of an answer. The price is known before the first byte: it is the text's.
fn head_of(priced: &Priced, format: SpeechFormat, body: mpsc::Receiver<FilePiece>) -> Response {
    let mut answer = Response::new(ResponseBody::File(body));
    let headers = answer.headers_mut();
    let kind = HeaderValue::from_static(format.content_type());
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    set_cost(headers, priced.amount);
    set_warnings(headers, &priced.warnings());
    set_ending(headers, priced.sale.model.entry());
    answer
}

/// The way to a reader, and what is kept for when the call comes again.
struct Reader {
    pieces: mpsc::Sender<FilePiece>,
    record: Option<StoredResponse>,
    /// It has gone, or takes nothing.
    gone: bool,
}

impl Reader {
    /// Gives it a piece. False when it has gone and nothing is kept.
    async fn pass(&mut self, piece: Bytes, (wait, context): (Duration, &RequestContext)) -> bool {
        self.record.iter_mut().for_each(|record| record.add(&piece));
        if self.gone {
            return self.outlives();
        }
        let bytes = u64::try_from(piece.len()).unwrap_or(0);
        let sent = self.pieces.send_timeout(FilePiece::Bytes(piece), wait);
        if sent.await.is_ok() {
            context.sent(bytes);
            return true;
        }
        self.gone = true;
        self.outlives()
    }

    /// Whether the audio is made to its end though nobody is there: all of it is kept so far.
    fn outlives(&self) -> bool {
        self.record.as_ref().is_some_and(StoredResponse::is_whole)
    }
}

impl Services {
    /// Plans and prices a request.
    pub(super) fn want_speech(
        (id, caller): (RequestId, Caller),
        headers: &HeaderMap,
        ask: Ask,
        offered: (Sale, Moment),
    ) -> Result<Wanted, ApiError> {
        let endpoint = EndpointType::AudioSpeech;
        check_door(&offered.0, &ask.model, endpoint)?;
        let planned = plan(ask, offered.0.model.entry()).map_err(refused)?;
        let what = Planned {
            word: SPEECH,
            endpoint,
            model: planned.ask.model.clone(),
            usage: Usage::of_text(&planned.ask.input),
            attributes: Attributes::none(),
            report: planned.report,
        };
        let priced = Priced::new((id, caller), headers, what, offered)?;
        Ok(Wanted {
            priced,
            ask: planned.ask,
        })
    }

    /// Speaks.
    pub(crate) async fn speak(
        &self,
        context: &Arc<RequestContext>,
        caller: Caller,
        headers: &HeaderMap,
        (mut ask, body): (Ask, &[u8]),
        place: InFlightPermit,
    ) -> Result<Response, ApiError> {
        let named = if is_named(headers) {
            let content = Content {
                path: context.path(),
                class: "json",
                body,
                task: false,
            };
            Box::pin(self.named(&caller, headers, content)).await?
        } else {
            None
        };
        self.rename(&caller, &mut ask.model);
        let what = (SPEECH, ask.model.as_str(), body);
        let offered = self.offered(&caller, headers, what).await?;
        let mut wanted = Self::want_speech((context.id, caller), headers, ask, offered)?;
        wanted.priced.named = named;
        context.asks_for(&wanted.priced.model, true);
        self.has_route(&wanted.priced)?;
        self.limit_made(context, &wanted.priced).await?;
        let (head, answer) = oneshot::channel();
        let (services, context) = (self.clone(), Arc::clone(context));
        self.inner.tasks.spawn(Box::pin(async move {
            services.speech_call(wanted, &context, head).await;
            drop(place);
        }));
        answer
            .await
            .unwrap_or_else(|_| Err(ApiError::unavailable()))
    }

    /// Money, a vendor that speaks, the audio but for its last piece, the charge, the last piece.
    async fn speech_call(&self, mut wanted: Wanted, context: &RequestContext, mut head: Responder) {
        let reservation = match wanted.priced.hold(self).await {
            Ok(reservation) => reservation,
            Err(fault) => return tell(head, Err(fault)),
        };
        let outlives = wanted.priced.named.is_some();
        let asked = tokio::select! {
            asked = self.ask_speakers(&mut wanted, context) => asked,
            () = left(context, &mut head), if !outlives => {
                reservation.void(nothing(context, Outcome::Cancelled)).await;
                return context.ended(Outcome::Cancelled, None, (0, 0));
            }
        };
        let speaking = match asked {
            Ok(speaking) => speaking,
            Err(Exhausted { fault, outcome }) => {
                reservation.void(nothing(context, outcome)).await;
                context.ended(outcome, None, (0, 0));
                return tell(head, Err(fault));
            }
        };
        let format = wanted.ask.format.unwrap_or(SpeechFormat::Mp3);
        let (pieces, body) = mpsc::channel(PIECES);
        let answer = head_of(&wanted.priced, format, body);
        let begun = (answer.status(), answer.headers());
        let account = wanted.priced.caller.account.id;
        let mut out = Reader {
            pieces,
            record: outlives.then(|| StoredResponse::begin(self, account, begun)),
            gone: false,
        };
        // Whoever has left is found by the first piece.
        tell(head, Ok(answer));
        let mut walker = Walker::new(format);
        let channel = Arc::clone(&speaking.channel);
        let (end, last) = self
            .pass_on(speaking, &mut walker, (&mut out, context))
            .await;
        context.upstream_ended();
        let outcome = match end {
            End::Done => Outcome::Complete,
            End::ClientGone => Outcome::ClientGone,
            End::Failed(outcome) => {
                channel.failed(self.inner.now());
                context.tried(|attempt| attempt.error = Some("broke_off"));
                reservation.void(nothing(context, outcome)).await;
                // Dropping the way to the reader breaks the body off.
                return context.ended(outcome, None, (0, 0));
            }
        };
        channel.went_well();
        let length = walker.length();
        let mut record = out.record.take();
        record.iter_mut().for_each(|record| record.add(&last));
        let kept = wanted.priced.named.as_ref().zip(record.as_ref());
        let said = (outcome, length, kept);
        let is_charged = self
            .charge_speech(&wanted, (&channel, context), reservation, said)
            .await;
        if is_charged && matches!(end, End::Done) && !out.gone {
            let bytes = u64::try_from(last.len()).unwrap_or(0);
            let sent = out.pieces.send(FilePiece::Bytes(last)).await;
            context.sent(if sent.is_ok() { bytes } else { 0 });
            drop(out.pieces.send(FilePiece::End).await);
        }
    }

    /// Passes audio on, and keeps its last piece back.
    async fn pass_on(
        &self,
        mut speaking: Speaking,
        walker: &mut Walker,
        (out, context): (&mut Reader, &RequestContext),
    ) -> (End, Bytes) {
        let wait = self.inner.settings.reader_wait;
        let mut kept = speaking.first;
        walker.give(&kept);
        loop {
            let outlives = out.outlives();
            let next = tokio::select! {
                next = speaking.voice.next(self) => next,
                () = out.pieces.closed(), if !outlives => return (End::ClientGone, kept),
            };
            let piece = match next {
                Ok(None) => return (End::Done, kept),
                Ok(Some(piece)) => piece,
                Err(SpeechError::Body(BodyError::Stalled)) => {
                    return (End::Failed(Outcome::UpstreamTimeout), kept);
                }
                Err(
                    SpeechError::Body(BodyError::Broken(_) | BodyError::TooLarge(_))
                    | SpeechError::Trouble(_)
                    | SpeechError::Unsent(_),
                ) => return (End::Failed(Outcome::UpstreamFailed), kept),
            };
            walker.give(&piece);
            let before = std::mem::replace(&mut kept, piece);
            if !out.pass(before, (wait, context)).await {
                return (End::ClientGone, kept);
            }
        }
    }

    async fn ask_speakers(
        &self,
        wanted: &mut Wanted,
        context: &RequestContext,
    ) -> Result<Speaking, Exhausted> {
        let (priced, ask) = (&mut wanted.priced, &wanted.ask);
        let mut round = Round::new(self, priced, context, true);
        let (speaking, notes) = loop {
            let Some(channel) = round.next() else {
                return Err(round.nobody());
            };
            let formats = channel.provider.formats.iter();
            let protocol = formats
                .filter_map(|format| protocol_of(format.word()))
                .next();
            let (Some(protocol), Some(credential)) = (protocol, round.credential(&channel)) else {
                continue;
            };
            let written = (protocol.write)(ask, channel.upstream_model(&ask.model));
            let Some(written) = round.sayable(priced, written) else {
                continue;
            };
            if !round.sits(&channel).await {
                continue;
            }
            round.begins(&channel);
            let errand = (&written.errand, priced.id);
            let voice = self
                .voice(&round, (&channel, credential), (protocol, ask), errand)
                .await;
            match voice {
                Ok((voice, first)) => {
                    break (
                        Speaking {
                            channel,
                            voice,
                            first,
                        },
                        written.notes,
                    );
                }
                Err(broke) => {
                    let stop = match broke.lost() {
                        Ok(error) => round.lost(&channel, &error),
                        Err(trouble) => round.troubled((&channel, credential), trouble),
                    };
                    if let Some(stop) = stop {
                        return Err(stop);
                    }
                }
            }
        };
        notes.into_iter().for_each(|note| priced.report.say(note));
        Ok(speaking)
    }

    /// Asks one vendor, and waits for its first sound: an answer that is none is found before ours begins.
    async fn voice(
        &self,
        round: &Round<'_>,
        (channel, credential): (&Arc<Channel>, &ChannelCredential),
        (protocol, ask): (&Protocol, &Ask),
        (errand, id): (&trunkline_studio::Errand, RequestId),
    ) -> Result<(SpeechStream, Bytes), SpeechError> {
        let settings = &self.inner.settings;
        let waits = Waits {
            total: Duration::from_millis(channel.provider.total_ms),
            idle: settings.stream_idle,
        };
        let sent = self
            .run_errand((channel, credential), errand, None, (id, waits))
            .await;
        let answer = sent.map_err(SpeechError::Unsent)?;
        round.heard(Some(answer.status.as_u16()), None);
        // A body of JSON where audio or events should be is an error, whatever its status.
        let manner = (protocol.manner)(ask);
        let kind = answer.headers.get(CONTENT_TYPE);
        let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let is_told = is_json && !matches!(manner, Manner::Whole(_));
        if is_told || !answer.status.is_success() {
            let heard = Heard::read(answer, settings.max_answer_bytes).await;
            let heard = heard.map_err(|error| BodyError::Broken(error.to_string()))?;
            return Err(SpeechError::Trouble((protocol.read_error)(&heard.said())));
        }
        let mut voice = SpeechStream::open(self, answer, manner).await?;
        let Some(sound) = voice.next(self).await? else {
            return Err(SpeechError::Body(BodyError::Broken(
                "no audio came".to_owned(),
            )));
        };
        let opening = (protocol.opening)(ask);
        let first = if opening.is_empty() {
            sound
        } else {
            Bytes::from([opening, sound].concat())
        };
        Ok((voice, first))
    }
}

impl Services {
    /// Charges for the text. False if that could not be written: then the last piece is not sent.
    async fn charge_speech(
        &self,
        wanted: &Wanted,
        (channel, context): (&Channel, &RequestContext),
        reservation: Reservation,
        (outcome, length, kept): (
            Outcome,
            Option<Length>,
            Option<(&IdempotencyKey, &StoredResponse)>,
        ),
    ) -> bool {
        let priced = &wanted.priced;
        let spoken = Usage::of_text(&wanted.ask.input);
        let Ok(sum) = priced.sum(&spoken) else {
            reservation
                .void(nothing(context, Outcome::UpstreamFailed))
                .await;
            context.ended(Outcome::UpstreamFailed, None, (0, 0));
            return false;
        };
        let shown = length.map_or(0, |length| length.nanos().div_ceil(TOKEN_NANOS));
        let measured = spoken.with(Bucket::AudioOutput, shown);
        let detail = priced.detail((channel, context), &sum, measured, outcome);
        // The text's price is what was held: it is known before the first byte.
        let settled = self
            .settle_kept(reservation, (sum.amount, detail), kept)
            .await;
        let outcome = settled.as_ref().map_or(Outcome::DatabaseAway, |_| outcome);
        let tokens = (wanted.ask.characters(), shown);
        context.ended(outcome, settled.as_ref().ok().copied(), tokens);
        settled.is_ok()
    }
}
