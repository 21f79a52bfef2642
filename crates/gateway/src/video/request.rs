//! A request for a video, read by its family and priced. Nothing moves yet.

use bytes::Bytes;
use http::HeaderMap;
use sha2::{Digest as _, Sha256};
use trunkline_catalog::{PriceClass, Quote, QuoteError, Sale, Situation, quote};
use trunkline_terms::{EndpointType, Moment, Money, RequestId, Units};
use trunkline_video::{Ask, Asked, Measurements, Plan, family_of};
use trunkline_wire::scan;

use super::prices::Prices;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode, refused};
use crate::field_report::trapped;
use crate::headers::is_strict;
use crate::services::Services;

/// A video with its price.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) id: RequestId,
    pub(crate) caller: Caller,
    pub(crate) model: String,
    /// What it was asked for as, where that was an alias.
    pub(crate) asked: Option<String>,
    pub(crate) sale: Sale,
    pub(crate) class: PriceClass,
    pub(crate) plan: Plan,
    pub(crate) units: Units,
    /// The price, or the most it can come to.
    pub(crate) amount: Money,
    pub(super) prices: Prices,
    pub(super) body_hash: [u8; 32],
    /// Where the customer wants to be told of the end.
    pub(super) webhook_url: Option<String>,
}

impl Services {
    /// Reads a body of JSON.
    pub(crate) fn read_video(body: &Bytes) -> Result<Ask, ApiError> {
        // Duplicate keys are refused here as everywhere.
        scan(body).map_err(|error| {
            ApiError::new(ErrorCode::Invalid("invalid_request"), error.to_string()).at("body")
        })?;
        Ask::read(body).map_err(refused)
    }

    /// The same for the model that an alias stands for, and the alias.
    pub(crate) fn named_video(&self, caller: &Caller, ask: Ask) -> (Ask, Option<String>) {
        match caller.meant(&self.inner.shelf.get().book, ask.model()) {
            Some(model) => {
                let asked = ask.model().to_owned();
                (ask.for_model(&model), Some(asked))
            }
            None => (ask, None),
        }
    }

    /// Plans and prices a video under the prices and the clock that it is offered.
    pub(crate) async fn want(
        &self,
        (id, caller): (RequestId, Caller),
        headers: &HeaderMap,
        (ask, body): (&Ask, &[u8]),
        (sale, at): (Sale, Moment),
    ) -> Result<Wanted, ApiError> {
        let strict = is_strict(headers) || caller.key.policy.fields().strict;
        let specs = &sale.model.entry().specs;
        let family = specs.video_family.as_deref().and_then(family_of);
        let serves = sale.model.entry().serves(EndpointType::OpenaiVideo);
        let (family, variant) = family.filter(|_| serves).ok_or_else(|| {
            let text = format!("{:?} makes no videos here; see GET /v1/models", ask.model());
            ApiError::new(ErrorCode::EndpointNotSupported, text).at("model")
        })?;
        let nothing = Measurements::default();
        let asked = |measured| Asked {
            variant,
            ask,
            specs,
            measured,
        };
        let mut plan = (family.plan)(&asked(&nothing)).map_err(refused)?;
        if !plan.to_measure.is_empty() {
            let measured = Box::pin(self.measure(&plan.to_measure)).await;
            plan = (family.plan)(&asked(&measured)).map_err(refused)?;
        }
        if strict {
            check_strictly(&plan)?;
        }
        self.check_task_hook(ask.webhook_url()).await?;
        let class = match caller.account.topped_up_at {
            Some(_) => PriceClass::Paid,
            None => PriceClass::Standard,
        };
        let usage = plan.bill.usage();
        let unit = sale.model.list().billing_unit();
        let unpriceable = |why: String| {
            let text = format!("{:?} has no price for this request: {why}", ask.model());
            ApiError::new(ErrorCode::Rule("unpriceable".to_owned()), text)
        };
        let units = usage
            .billed(unit)
            .map_err(|error| unpriceable(error.to_string()))?;
        let priced = quote_of((&sale, class), &plan, &units, at)
            .map_err(|error| unpriceable(error.to_string()))?;
        let (amount, prices) = (priced.total, Prices::of(unit, &priced, usage));
        Ok(Wanted {
            id,
            caller,
            model: ask.model().to_owned(),
            asked: None,
            class,
            plan,
            units,
            amount,
            prices,
            body_hash: Sha256::digest(body).into(),
            webhook_url: ask.webhook_url().map(str::to_owned),
            sale,
        })
    }
}

// === impl Wanted ===

impl Wanted {
    /// The price with its lines, by the clock that it was priced by.
    pub(super) fn quote(&self, at: Moment) -> Result<Quote<'_>, ApiError> {
        quote_of((&self.sale, self.class), &self.plan, &self.units, at)
            .map_err(|_| ApiError::unavailable())
    }
}

fn quote_of<'a>(
    (sale, class): (&'a Sale, PriceClass),
    plan: &Plan,
    units: &Units,
    at: Moment,
) -> Result<Quote<'a>, QuoteError> {
    let situation = Situation {
        attributes: &plan.bill.attributes,
        at,
    };
    quote(sale.offer(), class, units, situation)
}

/// What strict mode refuses of a plan.
fn check_strictly(plan: &Plan) -> Result<(), ApiError> {
    if let Some(note) = plan.report.first_trap() {
        return Err(trapped(note));
    }
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
