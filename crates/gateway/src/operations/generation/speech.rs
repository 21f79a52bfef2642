//! `POST /v1/audio/speech`: audio passed on as it is produced. Its length is measured on the way and stands
//! in the usage row; what is billed is the text.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Request};
use hyper::body::Incoming;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use trunkline_catalog::{Attributes, Sale};
use trunkline_generation::Encoded;
use trunkline_generation::speech::{Protocol, SpeechRequest, StreamMode, plan, protocol_of};
use trunkline_ledger::Outcome;
use trunkline_probe::{SpeechFormat, StreamMeter};
use trunkline_types::{Bucket, EndpointType, Money, Usage};
use trunkline_upstream::BodyError;

use super::SPEECH;
use super::outbound::{self, VendorCall, Waits};
use super::quote_endpoint::fields_of;
use super::speech_relay::{End, SpeechRelayed};
use super::speech_stream::{SpeechError, SpeechStream};
use crate::body;
use crate::caller::Caller;
use crate::channels::Channel;
use crate::detach::respond;
use crate::error::{ApiError, ErrorCode, refused};
use crate::failover::{
    AfterSent, AttemptLog, Attempts, Built, Candidates, Classified, Exhausted, Served, Tally, To,
};
use crate::guardrail::AnswerExcerpt;
use crate::idempotency::{Fingerprint, StoredResponse};
use crate::operation::{
    Execution, HoldPolicy, Metered, Operation, PricedOperation, Received, RelayEnd, Settled,
};
use crate::operations::exact_price::{Planned, Priced, check_endpoint, classified};
use crate::priced_call::{PricedCall, Pricing};
use crate::request_context::{RequestContext, Tokens};
use crate::reservation::Reservation;
use crate::response::{
    FilePiece, Responder, Response, ResponseBody, set_cost, set_ending, set_warnings,
};
use crate::services::Services;
use crate::vendors::BufferedResponse;

/// Pieces of audio under way to a reader.
const PIECES: usize = 8;
/// Nanoseconds of generated audio that are shown as one token: a thousand a minute.
const TOKEN_NANOS: u64 = 60_000_000;

/// A text to be spoken.
pub(crate) struct Speech {
    ask: SpeechRequest,
    /// As the caller sent them.
    fields: Map<String, Value>,
    /// What a locked quote must have been made for.
    quoted_body: Bytes,
}

/// A text to be spoken, with its price.
pub(crate) struct SpeechExecution {
    pub(super) priced: Priced,
    pub(super) ask: SpeechRequest,
}

pub(crate) struct Speaking {
    stream: SpeechStream,
    first: Bytes,
    written: Encoded,
}

impl Operation for Speech {
    type Route = ();
    type Body = Bytes;
    type Priced = SpeechExecution;

    fn endpoint(_route: &()) -> &'static str {
        SPEECH
    }

    fn name(&self) -> &'static str {
        SPEECH
    }

    async fn receive(
        services: &Services,
        caller: &Caller,
        _route: &(),
        request: Request<Incoming>,
    ) -> Result<Received<Bytes>, ApiError> {
        body::receive_json(services, caller, request).await
    }

    fn body_bytes(body: &Bytes) -> usize {
        body.len()
    }

    fn fingerprint<'a>(
        context: &'a RequestContext,
        _route: &(),
        body: &'a Bytes,
    ) -> Fingerprint<'a> {
        Fingerprint {
            path: context.path(),
            class: "json",
            body: Cow::Borrowed(body),
            task: false,
        }
    }

    fn parse(_route: (), body: Bytes) -> Result<Self, ApiError> {
        let fields = fields_of(&body)?;
        Ok(Self {
            ask: SpeechRequest::read(&fields).map_err(refused)?,
            fields: fields.values,
            quoted_body: body,
        })
    }

    fn model(&self) -> &str {
        &self.ask.model
    }

    fn set_model(&mut self, model: String) {
        self.ask.model = model;
    }

    fn quoted_body(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.quoted_body)
    }

    fn check_endpoint(&self, sale: &Sale) -> Result<(), ApiError> {
        check_endpoint(sale, &self.ask.model, EndpointType::AudioSpeech)
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.fields.get(name).cloned()
    }

    async fn price(
        self,
        _services: &Services,
        pricing: Pricing<'_>,
    ) -> Result<SpeechExecution, ApiError> {
        let endpoint = EndpointType::AudioSpeech;
        let sale = &pricing.offer.sale;
        let planned = plan(self.ask, sale.model.entry()).map_err(refused)?;
        let terms = Planned {
            name: SPEECH,
            endpoint,
            model: planned.request.model.clone(),
            usage: Usage::of_text(&planned.request.input),
            attributes: Attributes::none(),
            report: planned.report,
        };
        Ok(SpeechExecution {
            priced: Priced::new(pricing, terms)?,
            ask: planned.request,
        })
    }
}

impl SpeechExecution {
    pub(super) fn protocol(channel: &Channel) -> Option<&'static Protocol> {
        let mut formats = channel.provider.formats.iter();
        formats.find_map(|format| protocol_of(format.as_str()))
    }
}

impl Attempts for SpeechExecution {
    type Outbound = VendorCall<Protocol>;
    type Accepted = Speaking;

    fn candidates(&self, services: &Services) -> Candidates {
        self.priced.candidates(services, AfterSent::AskNext)
    }

    async fn build(
        &mut self,
        _services: &Services,
        channel: &Arc<Channel>,
    ) -> Built<Self::Outbound> {
        let Some(protocol) = Self::protocol(channel) else {
            return Built::Skip;
        };
        let written = (protocol.encode)(&self.ask, channel.upstream_model(&self.ask.model));
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
    ) -> Classified<Speaking> {
        let VendorCall { protocol, written } = call;
        match self.open(services, log, to, protocol, &written).await {
            Ok((stream, first)) => Classified::Accepted(Speaking {
                stream,
                first,
                written,
            }),
            Err(error) => match error.lost() {
                Ok(lost) => Classified::Lost(lost),
                Err(failure) => classified(services, to, failure),
            },
        }
    }

    fn exhausted(&self, tally: Tally) -> Exhausted {
        tally.exhausted(&self.priced.call.model)
    }
}

impl SpeechExecution {
    /// Asks one vendor for its first sound: an answer that is none is found before ours begins.
    async fn open(
        &self,
        services: &Services,
        log: AttemptLog<'_>,
        to: To<'_>,
        protocol: &Protocol,
        written: &Encoded,
    ) -> Result<(SpeechStream, Bytes), SpeechError> {
        let settings = &services.settings;
        let waits = Waits {
            total: Duration::from_millis(to.channel.provider.total_ms),
            idle: settings.stream_idle,
        };
        let (id, account) = (self.priced.call.id, self.priced.call.caller.account.id);
        let sent = outbound::send(services, to, &written.request, None, id, waits);
        let answer = sent.await.map_err(SpeechError::Unsent)?;
        log.answered(answer.status);
        // A body of JSON where audio or events should be is an error, whatever its status.
        let manner = (protocol.stream_mode)(&self.ask);
        let kind = answer.headers.get(CONTENT_TYPE);
        let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let is_error = is_json && !matches!(manner, StreamMode::Whole(_));
        if is_error || !answer.status.is_success() {
            let response = BufferedResponse::read(answer, settings.max_answer_bytes).await;
            let response = response.map_err(|error| BodyError::Broken(error.to_string()))?;
            return Err(SpeechError::Vendor((protocol.read_error)(
                &response.as_vendor_response(),
            )));
        }
        let mut stream = SpeechStream::open(services, account, answer, manner).await?;
        let Some(sound) = stream.next(services).await? else {
            return Err(SpeechError::Body(BodyError::Broken(
                "no audio came".to_owned(),
            )));
        };
        let opening = (protocol.prefix)(&self.ask);
        let first = if opening.is_empty() {
            sound
        } else {
            Bytes::from([opening, sound].concat())
        };
        Ok((stream, first))
    }

    /// The head of the response. The price is known before the first byte: it is the text's.
    fn head(&self, format: SpeechFormat, body: mpsc::Receiver<FilePiece>) -> Response {
        let call = &self.priced.call;
        let mut response = Response::new(ResponseBody::File(body));
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static(format.content_type());
        headers.insert(CONTENT_TYPE, kind);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        set_cost(headers, self.priced.price.amount);
        set_warnings(headers, &call.warnings());
        set_ending(headers, call.sale.model.entry());
        response
    }
}

impl PricedOperation for SpeechExecution {
    fn call(&self) -> &PricedCall {
        &self.priced.call
    }

    fn call_mut(&mut self) -> &mut PricedCall {
        &mut self.priced.call
    }

    fn streams(&self) -> bool {
        true
    }

    fn maximum(&self) -> Result<Money, ApiError> {
        Ok(self.priced.price.amount)
    }

    fn check_max_cost(&self, most: Money) -> Result<(), ApiError> {
        self.priced.check_max_cost(most)
    }
}

impl Execution for SpeechExecution {
    type Relayed = SpeechRelayed;

    fn is_acked(&self) -> bool {
        true
    }

    fn hold_policy(&self, _services: &Services) -> Result<HoldPolicy, ApiError> {
        Ok(HoldPolicy::exact(self.priced.price.amount))
    }

    /// The audio but for its last piece, which waits for the charge.
    async fn relay(
        &mut self,
        services: &Services,
        context: &Arc<RequestContext>,
        _reservation: &mut Reservation,
        served: Served<Speaking>,
        responder: Responder,
    ) -> RelayEnd<SpeechRelayed> {
        let speaking = served.answer;
        for note in &speaking.written.notes {
            self.priced.call.report.add(note.clone());
        }
        let format = self.ask.format.unwrap_or(SpeechFormat::Mp3);
        let (pieces, body) = mpsc::channel(PIECES);
        let response = self.head(format, body);
        let call = &self.priced.call;
        let stored = call.idempotency.as_ref().map(|_| {
            let (status, headers) = (response.status(), response.headers());
            StoredResponse::begin(services, call.caller.account.id, status, headers)
        });
        let mut relayed = SpeechRelayed {
            pieces,
            stored,
            is_served: false,
            gone: false,
            last: speaking.first,
            meter: StreamMeter::new(format),
        };
        // A client that has gone is found by the first piece.
        respond(responder, Ok(response));
        let end = relayed.pass_on(services, context, speaking.stream).await;
        context.upstream_ended();
        let outcome = match end {
            End::Done => Outcome::Complete,
            End::ClientGone if relayed.is_served => Outcome::ClientGone,
            End::ClientGone => return RelayEnd::ClientGone,
            End::Failed(outcome) => {
                self.priced.failed_at(services, &served.channel);
                context.attempt_finished(|attempt| attempt.error = Some("broke_off"));
                let text = "the upstream ended its audio early";
                let error = ApiError::new(ErrorCode::UpstreamFailed, text);
                return RelayEnd::Failed(relayed, Exhausted { error, outcome });
            }
        };
        served.channel.health.record_success();
        RelayEnd::charge(relayed, served.channel, outcome)
    }

    /// Sound that its client has heard; the guardrail saw the text.
    fn answer_excerpt<'a>(&'a self, relayed: &'a SpeechRelayed) -> AnswerExcerpt<'a> {
        AnswerExcerpt::Sent(Cow::Borrowed(&relayed.last))
    }

    fn meter(
        &mut self,
        relayed: &mut SpeechRelayed,
        _outcome: Outcome,
    ) -> Result<Metered, ApiError> {
        let spoken = Usage::of_text(&self.ask.input);
        let length = relayed.meter.length();
        let audio_tokens = length.map_or(0, |length| length.nanos().div_ceil(TOKEN_NANOS));
        Ok(Metered::known(
            self.priced.call.price(&spoken)?,
            spoken.with(Bucket::AudioOutput, audio_tokens),
            Tokens {
                input: self.ask.characters(),
                output: audio_tokens,
            },
        ))
    }

    fn stored(
        &mut self,
        _services: &Services,
        relayed: &mut SpeechRelayed,
        _metered: &Metered,
    ) -> Option<StoredResponse> {
        let mut stored = relayed.stored.take()?;
        stored.add(&relayed.last);
        Some(stored)
    }

    /// The last piece. Dropping the way to the client breaks the body off.
    async fn deliver(
        &mut self,
        services: &Services,
        context: &RequestContext,
        mut relayed: SpeechRelayed,
        settled: Result<Settled, ApiError>,
    ) -> bool {
        let Ok(settled) = settled else { return true };
        if !relayed.gone {
            let last = std::mem::take(&mut relayed.last);
            let wait = services.settings.accept.reader_wait;
            relayed.send(context, last, wait).await;
            drop(relayed.pieces.send(FilePiece::End).await);
        }
        settled.is_stored || relayed.is_served
    }
}
