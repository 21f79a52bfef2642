//! `POST /v1/images/generations` and `/v1/images/edits`. A request that left is not sent to another
//! vendor, because an image that no client sees may be billed to us twice; what succeeds in part is
//! charged in part.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use hyper::body::Incoming;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use trunkline_catalog::Sale;
use trunkline_generation::images::{
    GeneratedImages as Drawn, ImageEndpoint, ImageRequest, InputImage, Protocol, plan, protocol_of,
};
use trunkline_generation::{Encoded, Fields};
use trunkline_ledger::Outcome;
use trunkline_types::{Bucket, EndpointType, Money, Usage};

use super::IMAGES;
use super::image_hosting::{self, kind_of};
use super::outbound::{self, VendorCall, Waits};
use super::quote_endpoint::fields_of;
use crate::body::{self, JsonOrForm};
use crate::caller::Caller;
use crate::channels::Channel;
use crate::error::{ApiError, ErrorCode, refused};
use crate::failover::{
    AfterSent, AttemptLog, Attempts, Built, Candidates, Classified, Exhausted, Served, Tally, To,
};
use crate::form::{Content, Form, file_hash, invalid};
use crate::guardrail::AnswerExcerpt;
use crate::idempotency::{Fingerprint, IdempotencyPolicy, StoredResponse};
use crate::operation::{
    Execution, HoldPolicy, Metered, Operation, PricedOperation, Received, RelayEnd, Settled,
};
use crate::operations::exact_price::{Planned, Priced, check_endpoint, classified};
use crate::operations::whole::{Made, Whole};
use crate::priced_call::{PricedCall, Pricing};
use crate::request_context::{RequestContext, Tokens};
use crate::reservation::Reservation;
use crate::response::Responder;
use crate::services::Services;
use crate::vendors::BufferedResponse;

/// Tokens that the usage row of a call shows, for accounting alone.
const PROMPT_TOKENS: u64 = 1;
/// What a client says that knows no type.
const UNTYPED: &str = "application/octet-stream";

pub(crate) struct Images {
    ask: ImageRequest,
    /// As the caller sent them; a file is known by its type.
    fields: Map<String, Value>,
    /// What a locked quote must have been made for.
    quoted_body: Bytes,
}

/// A request for images with its price.
pub(crate) struct ImagesExecution {
    pub(super) priced: Priced,
    pub(super) ask: ImageRequest,
}

impl Operation for Images {
    type Route = ImageEndpoint;
    type Body = JsonOrForm;
    type Priced = ImagesExecution;

    // A second submission would be a second image.
    const IDEMPOTENCY: IdempotencyPolicy = IdempotencyPolicy::KeyOrSdkRetry;

    fn endpoint(_route: &ImageEndpoint) -> &'static str {
        IMAGES
    }

    fn name(&self) -> &'static str {
        IMAGES
    }

    async fn receive(
        services: &Services,
        caller: &Caller,
        route: &ImageEndpoint,
        request: Request<Incoming>,
    ) -> Result<Received<JsonOrForm>, ApiError> {
        match route {
            ImageEndpoint::Edits => body::receive_json_or_form(services, caller, request).await,
            ImageEndpoint::Generations => {
                let received = body::receive_json(services, caller, request).await?;
                Ok(received.map(JsonOrForm::Json))
            }
        }
    }

    fn body_bytes(body: &JsonOrForm) -> usize {
        body.len()
    }

    fn fingerprint<'a>(
        context: &'a RequestContext,
        _route: &ImageEndpoint,
        body: &'a JsonOrForm,
    ) -> Fingerprint<'a> {
        Fingerprint {
            path: context.path(),
            class: IMAGES,
            body: body.known_by(),
            task: false,
        }
    }

    fn parse(route: ImageEndpoint, body: JsonOrForm) -> Result<Self, ApiError> {
        match body {
            JsonOrForm::Json(bytes) => {
                let fields = fields_of(&bytes)?;
                Ok(Self {
                    ask: ImageRequest::read(route, &fields, Vec::new()).map_err(refused)?,
                    fields: fields.values,
                    quoted_body: bytes,
                })
            }
            JsonOrForm::Form(form) => {
                let (quoted_body, types) = (form_as_json(&form), types_of(&form));
                let (mut fields, files) = read_form(form)?;
                let ask = ImageRequest::read(route, &fields, files).map_err(refused)?;
                fields.values.extend(types);
                Ok(Self {
                    ask,
                    fields: fields.values,
                    quoted_body,
                })
            }
        }
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
        check_endpoint(sale, &self.ask.model, EndpointType::ImageGeneration)
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.fields.get(name).cloned()
    }

    async fn price(
        self,
        _services: &Services,
        pricing: Pricing<'_>,
    ) -> Result<ImagesExecution, ApiError> {
        let endpoint = EndpointType::ImageGeneration;
        let sale = &pricing.offer.sale;
        let planned = plan(self.ask, sale.model.entry(), sale.model.list()).map_err(refused)?;
        let terms = Planned {
            name: IMAGES,
            endpoint,
            model: planned.request.model.clone(),
            usage: Usage::unknown().with(Bucket::Calls, planned.request.count),
            attributes: planned.attributes,
            report: planned.report,
        };
        Ok(ImagesExecution {
            priced: Priced::new(pricing, terms)?,
            ask: planned.request,
        })
    }
}

impl ImagesExecution {
    pub(super) fn protocol(channel: &Channel) -> Option<&'static Protocol> {
        let mut formats = channel.provider.formats.iter();
        formats.find_map(|format| protocol_of(format.as_str()))
    }
}

impl Attempts for ImagesExecution {
    type Outbound = VendorCall<Protocol>;
    type Accepted = (Drawn, Encoded);

    fn candidates(&self, services: &Services) -> Candidates {
        self.priced.candidates(services, AfterSent::Stop)
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
    ) -> Classified<Self::Accepted> {
        let VendorCall { protocol, written } = call;
        let settings = &services.settings;
        let waits = Waits {
            total: settings.whole_wait,
            idle: settings.whole_wait,
        };
        let id = self.priced.call.id;
        let sent = outbound::send(services, to, &written.request, None, id, waits);
        let response = match sent.await {
            Ok(answer) => {
                log.answered(answer.status);
                BufferedResponse::read(answer, settings.max_answer_bytes).await
            }
            Err(error) => Err(error),
        };
        let response = match response {
            Ok(response) => response,
            Err(error) => return Classified::Lost(error),
        };
        match (protocol.decode)(&self.ask, &response.as_vendor_response()) {
            Ok(drawn) => {
                to.channel.health.record_success();
                Classified::Accepted((drawn, written))
            }
            Err(failure) => classified(services, to, failure),
        }
    }

    fn exhausted(&self, tally: Tally) -> Exhausted {
        tally.exhausted(&self.priced.call.model)
    }
}

impl PricedOperation for ImagesExecution {
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

impl Execution for ImagesExecution {
    type Relayed = Whole;

    fn is_acked(&self) -> bool {
        true
    }

    fn hold_policy(&self, _services: &Services) -> Result<HoldPolicy, ApiError> {
        Ok(HoldPolicy::exact(self.priced.price.amount))
    }

    /// Fetches the images: they are ours before they are charged.
    async fn relay(
        &mut self,
        services: &Services,
        context: &Arc<RequestContext>,
        _reservation: &mut Reservation,
        served: Served<Self::Accepted>,
        mut responder: Responder,
    ) -> RelayEnd<Whole> {
        let (drawn, written) = served.answer;
        for note in written.notes {
            self.priced.call.report.add(note);
        }
        let outlives = self.priced.call.idempotency.is_some();
        let fetched = tokio::select! {
            fetched = self.fetch(services, context, drawn) => fetched,
            () = context.client_gone(&mut responder), if !outlives => return RelayEnd::ClientGone,
        };
        match fetched {
            Ok(made) => {
                let whole = Whole {
                    responder,
                    made: Some(made),
                };
                RelayEnd::charge(whole, served.channel, Outcome::Complete)
            }
            Err(exhausted) => RelayEnd::Failed(Whole::nothing(responder), exhausted),
        }
    }

    fn answer_excerpt<'a>(&'a self, relayed: &'a Whole) -> AnswerExcerpt<'a> {
        relayed.excerpt()
    }

    fn meter(&mut self, relayed: &mut Whole, _outcome: Outcome) -> Result<Metered, ApiError> {
        let made = relayed.made.as_ref().ok_or_else(ApiError::unavailable)?;
        Ok(Metered::known(
            self.priced.call.price(&made.usage)?,
            made.usage.clone().with(Bucket::PlainInput, PROMPT_TOKENS),
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

impl ImagesExecution {
    async fn fetch(
        &self,
        services: &Services,
        context: &RequestContext,
        drawn: Drawn,
    ) -> Result<Made, Exhausted> {
        let settings = &services.settings;
        context.upstream_ended();
        // A slow vendor leaves its images the time of a body; together they never outlive the hold.
        let left = settings.whole_wait.saturating_sub(context.elapsed());
        let now = Instant::now();
        let ends = now
            .checked_add(left.max(settings.accept.body_wait))
            .unwrap_or(now);
        let requested = self.ask.count;
        let caller = &self.priced.call.caller;
        let mut images = drawn.pictures;
        // More than was asked for is not handed on: it is not paid for.
        images.truncate(usize::try_from(requested).unwrap_or(usize::MAX));
        let entries =
            image_hosting::host_images(services, caller, images, ends, self.ask.wants_base64).await;
        let count = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        if let Some(why) = drawn.why {
            tracing::warn!(why, "images: the upstream made fewer than it was asked for");
        }
        if count == 0 {
            let text = "the upstream made no picture that could be handed over; \
                        nothing was charged";
            let error = ApiError::new(ErrorCode::UpstreamFailed, text);
            return Err(Exhausted::from(error));
        }
        let body = json!({
            "created": services.now().seconds(),
            "data": entries,
            "metadata": {
                "success_count": count.to_string(),
                "failed_count": requested.saturating_sub(count).to_string(),
            },
        });
        Ok(Made {
            usage: Usage::unknown().with(Bucket::Calls, count),
            tokens: Tokens {
                input: PROMPT_TOKENS,
                output: 0,
            },
            content_type: "application/json",
            body: Bytes::from(body.to_string()),
        })
    }
}

/// A form as the JSON that a quote of it is bound to.
fn form_as_json(form: &Form) -> Bytes {
    let (mut fields, mut files) = (Map::new(), Vec::new());
    for part in &form.parts {
        match &part.content {
            Content::Text(text) => {
                fields.insert(part.name.clone(), Value::String(text.clone()));
            }
            Content::File { bytes, .. } => files.push(json!([part.name, file_hash(bytes)])),
        }
    }
    Bytes::from(json!({ "fields": fields, "files": files }).to_string())
}

/// The files of a form as its model's rules see them: `image[]` is `image`.
fn types_of(form: &Form) -> Map<String, Value> {
    let files = form.parts.iter().filter_map(|part| match &part.content {
        Content::Text(_) => None,
        Content::File { content_type, .. } => {
            let name = part.name.trim_end_matches("[]").to_owned();
            Some((name, json!({ "type": content_type })))
        }
    });
    files.collect()
}

/// The fields and the files of a form.
fn read_form(form: Form) -> Result<(Fields, Vec<(String, InputImage)>), ApiError> {
    let mut fields = Fields {
        is_form: true,
        ..Fields::default()
    };
    let mut files = Vec::new();
    for part in form.parts {
        match part.content {
            Content::Text(text) => put(&mut fields.values, part.name, text)?,
            Content::File {
                name,
                content_type,
                bytes,
            } => {
                let picture = InputImage::Held {
                    name,
                    content_type: type_of(content_type, &bytes),
                    bytes,
                };
                files.push((part.name, picture));
            }
        }
    }
    Ok((fields, files))
}

/// The type of an image. Client libraries know none of a file without a name and say so; vendors refuse
/// that, and the bytes tell.
fn type_of(claimed: Option<String>, bytes: &[u8]) -> String {
    match claimed.filter(|kind| kind != UNTYPED) {
        Some(kind) => kind,
        None => kind_of(bytes).unwrap_or(UNTYPED).to_owned(),
    }
}

/// A field of a form. One whose name ends in brackets may stand several times, and is a list.
pub(super) fn put(
    fields: &mut Map<String, Value>,
    name: String,
    text: String,
) -> Result<(), ApiError> {
    if name.ends_with("[]") {
        // Nothing else is ever put under such a name.
        let list = fields.entry(name).or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(Value::String(text));
        }
        return Ok(());
    }
    if fields.contains_key(&name) {
        return Err(invalid("the form contains a field twice").at(&name));
    }
    fields.insert(name, Value::String(text));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_untyped_image_is_typed_by_its_bytes_and_others_by_the_form() {
        let png = b"\x89PNG\r\n\x1a\n and so on";
        let untyped = || Some(UNTYPED.to_owned());
        assert_eq!(type_of(None, png), "image/png");
        assert_eq!(type_of(untyped(), png), "image/png");
        assert_eq!(type_of(untyped(), b"something else"), UNTYPED);
        assert_eq!(type_of(Some("image/webp".to_owned()), png), "image/webp");
    }
}
