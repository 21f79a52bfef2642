//! A request for a video, read by its family and priced. Nothing moves yet.

use std::borrow::Cow;

use bytes::Bytes;
use http::Request;
use hyper::body::Incoming;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use trunkline_account_api::webhooks::task_webhook::check_task_webhook;
use trunkline_catalog::{Entry, Quote, Sale};
use trunkline_generation::video::{Family, KnownMedia, Plan, PlanContext, VideoRequest, family_of};
use trunkline_types::{EndpointType, Money};
use trunkline_wire::scan;

use super::WORD;
use super::clips::{ClipDelivery, MeasuredClip};
use super::form;
use super::measure;
use super::prices::Prices;
use super::views;
use crate::body::{self, JsonOrForm};
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode, refused};
use crate::headers::MAX_COST_HEADER;
use crate::idempotency::Fingerprint;
use crate::operation::{Operation, PricedOperation, Received};
use crate::priced_call::{Price, PricedCall, Pricing, Terms};
use crate::request_context::RequestContext;
use crate::services::Services;

/// Both paths make the same videos: a duplicate may come on either.
const PATH: &str = "/v1/videos";

/// A request for a video.
pub(crate) struct Video {
    ask: VideoRequest,
    /// What it was asked for as, where that was an alias.
    alias: Option<String>,
    known_by: Bytes,
}

pub(crate) enum VideoBody {
    Json(Bytes),
    /// A form whose files are in the media store.
    Form {
        fields: Map<String, Value>,
        /// The same with the content of its files instead of their links.
        known_by: Bytes,
    },
}

pub(crate) struct PricedVideo {
    pub(crate) call: PricedCall,
    /// What it was asked for as, where that was an alias.
    pub(crate) alias: Option<String>,
    pub(crate) plan: Plan,
    /// The price, or the most it can come to.
    pub(crate) price: Price,
    pub(super) prices: Prices,
    /// The clips that were measured for it.
    pub(super) clips: Vec<MeasuredClip>,
    pub(super) body_hash: [u8; 32],
    /// Where the customer wants to be told of the end.
    pub(super) webhook_url: Option<String>,
}

impl Video {
    /// A body of JSON.
    pub(super) fn read(body: Bytes) -> Result<Self, ApiError> {
        // Duplicate keys are refused here as everywhere.
        scan(&body).map_err(|error| {
            ApiError::new(ErrorCode::Invalid("invalid_request"), error.to_string()).at("body")
        })?;
        Ok(Self {
            ask: VideoRequest::read(&body).map_err(refused)?,
            alias: None,
            known_by: body,
        })
    }

    /// The family of its model, if that is sold for videos.
    fn family(&self, entry: &Entry) -> Result<(&'static Family, &'static str), ApiError> {
        let family = entry.specs.video_family.as_deref().and_then(family_of);
        let serves = entry.serves(EndpointType::OpenaiVideo);
        family.filter(|_| serves).ok_or_else(|| {
            let model = self.ask.model();
            let text = format!("{model:?} is not a video model; see GET /v1/models");
            ApiError::new(ErrorCode::EndpointNotSupported, text).at("model")
        })
    }
}

impl Operation for Video {
    type Route = ();
    type Body = VideoBody;
    type Priced = PricedVideo;

    fn endpoint(_route: &()) -> &'static str {
        WORD
    }

    fn name(&self) -> &'static str {
        WORD
    }

    async fn receive(
        services: &Services,
        caller: &Caller,
        _route: &(),
        request: Request<Incoming>,
    ) -> Result<Received<VideoBody>, ApiError> {
        let Received {
            headers,
            body,
            permit,
        } = body::receive_json_or_form(services, caller, request).await?;
        let body = match body {
            JsonOrForm::Json(bytes) => VideoBody::Json(bytes),
            JsonOrForm::Form(form) => form::store_video_form(services, caller, form).await?,
        };
        Ok(Received {
            headers,
            body,
            permit,
        })
    }

    fn body_bytes(body: &VideoBody) -> usize {
        match body {
            VideoBody::Json(bytes) => bytes.len(),
            VideoBody::Form { known_by, .. } => known_by.len(),
        }
    }

    fn fingerprint<'a>(
        _context: &'a RequestContext,
        _route: &(),
        body: &'a VideoBody,
    ) -> Fingerprint<'a> {
        let known_by = match body {
            VideoBody::Json(bytes) => bytes,
            VideoBody::Form { known_by, .. } => known_by,
        };
        Fingerprint {
            path: PATH,
            class: WORD,
            body: Cow::Borrowed(known_by),
            task: true,
        }
    }

    fn parse(_route: (), body: VideoBody) -> Result<Self, ApiError> {
        match body {
            VideoBody::Json(bytes) => Self::read(bytes),
            VideoBody::Form { fields, known_by } => Ok(Self {
                ask: VideoRequest::of(fields).map_err(refused)?,
                alias: None,
                known_by,
            }),
        }
    }

    fn model(&self) -> &str {
        self.ask.model()
    }

    fn set_model(&mut self, model: String) {
        self.alias = Some(self.ask.model().to_owned());
        self.ask.set_model(model);
    }

    fn quoted_body(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.known_by)
    }

    fn check_endpoint(&self, sale: &Sale) -> Result<(), ApiError> {
        self.family(sale.model.entry()).map(drop)
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.ask.get(name).cloned()
    }

    /// Plans the video by its family, measures what has to be measured, and prices the plan.
    async fn price(
        self,
        services: &Services,
        pricing: Pricing<'_>,
    ) -> Result<PricedVideo, ApiError> {
        let ask = &self.ask;
        let entry = pricing.offer.sale.model.entry();
        let specs = &entry.specs;
        let (family, variant) = self.family(entry)?;
        let nothing = KnownMedia::default();
        let context = |measured| PlanContext {
            variant,
            request: ask,
            specs,
            facts: measured,
        };
        let mut plan = (family.plan)(&context(&nothing)).map_err(refused)?;
        let mut clips = Vec::new();
        if !plan.to_probe.is_empty() {
            let account = pricing.caller.account.id;
            let delivery = ClipDelivery::of(services, &pricing.caller, &plan);
            let measuring = measure::measure(
                services,
                account,
                &plan.to_probe,
                delivery.max_stated_bytes(),
            );
            let measured = Box::pin(measuring).await;
            let planned = (family.plan)(&context(&measured)).map_err(refused)?;
            // What cannot be copied may be another clip for the vendor: its own count is billed.
            if delivery != ClipDelivery::OwnLink {
                clips = MeasuredClip::of(std::mem::take(&mut plan.to_probe), &measured);
                plan = planned;
            }
        }
        let terms = Terms {
            endpoint: WORD,
            model: ask.model().to_owned(),
            attributes: plan.bill.attributes.clone(),
            report: plan.report.clone(),
        };
        let call = PricedCall::new(pricing, terms)?;
        if call.strict {
            check_strictly(&plan)?;
        }
        check_task_webhook(&services.account_api, ask.webhook_url()).await?;
        let usage = plan.bill.usage();
        let price = call.price(&usage)?;
        let quote = call.quote(&price.units);
        let quote = quote.map_err(|_| ApiError::unavailable())?;
        let unit = call.sale.model.list().billing_unit();
        let prices = Prices::of(unit, &quote, usage);
        Ok(PricedVideo {
            alias: self.alias,
            plan,
            price,
            prices,
            clips,
            body_hash: Sha256::digest(&self.known_by).into(),
            webhook_url: ask.webhook_url().map(str::to_owned),
            call,
        })
    }
}

impl PricedOperation for PricedVideo {
    fn call(&self) -> &PricedCall {
        &self.call
    }

    fn call_mut(&mut self) -> &mut PricedCall {
        &mut self.call
    }

    fn maximum(&self) -> Result<Money, ApiError> {
        Ok(self.price.amount)
    }

    fn check_max_cost(&self, most: Money) -> Result<(), ApiError> {
        let amount = self.price.amount;
        if amount <= most {
            return Ok(());
        }
        let text =
            format!("this video may cost {amount} USD, and `{MAX_COST_HEADER}` allows {most}");
        Err(ApiError::new(ErrorCode::MaxCostExceeded, text).with_money("required_usd", amount))
    }

    fn check_route(&self, services: &Services) -> Result<(), ApiError> {
        views::check_video_route(services, self)
    }
}

impl PricedVideo {
    /// The price with its lines.
    pub(super) fn quote(&self) -> Result<Quote<'_>, ApiError> {
        let quote = self.call.quote(&self.price.units);
        quote.map_err(|_| ApiError::unavailable())
    }
}

/// What strict mode refuses of a plan.
fn check_strictly(plan: &Plan) -> Result<(), ApiError> {
    if !plan.bill.exact {
        let text = "the price depends on media that could not be measured; \
                    strict mode refuses that, and nothing was charged";
        return Err(ApiError::new(
            ErrorCode::Rule("unpriceable".to_owned()),
            text,
        ));
    }
    Ok(())
}
