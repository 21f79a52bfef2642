//! A request for a video, read by its family and priced. Nothing moves yet.

use bytes::Bytes;
use http::HeaderMap;
use sha2::{Digest as _, Sha256};
use trunkline_catalog::{PriceClass, Sale, Situation, quote};
use trunkline_terms::{EndpointType, Moment, Money, RequestId, Units};
use trunkline_video::{Ask, Asked, Measurements, Plan, Refusal, family_of};
use trunkline_wire::scan;

use super::WORD;
use super::prices::Prices;
use crate::caller::Caller;
use crate::fault::{Fault, Kind};
use crate::fields::trapped;
use crate::gateway::Gateway;
use crate::headers::{MAX_COST_HEADER, max_cost};

/// A video with its price.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) id: RequestId,
    pub(crate) caller: Caller,
    pub(crate) model: String,
    pub(crate) sale: Sale,
    pub(crate) class: PriceClass,
    pub(crate) plan: Plan,
    pub(crate) units: Units,
    /// The price, or the most it can come to.
    pub(crate) amount: Money,
    pub(super) prices: Prices,
    pub(super) body_hash: [u8; 32],
}

impl Gateway {
    /// Reads a body of JSON.
    pub(crate) fn read_video(body: &Bytes) -> Result<Ask, Fault> {
        // Duplicate keys are refused here as everywhere.
        scan(body).map_err(|error| {
            Fault::new(Kind::Invalid("invalid_request"), error.to_string()).at("body")
        })?;
        Ask::read(body).map_err(refused)
    }

    /// Plans and prices a video under the prices and the clock that it is offered.
    pub(crate) async fn want(
        &self,
        (id, caller): (RequestId, Caller),
        headers: &HeaderMap,
        (ask, body): (&Ask, &[u8]),
        (sale, at): (Sale, Moment),
    ) -> Result<Wanted, Fault> {
        let strict = headers
            .get("trunkline-strict")
            .is_some_and(|value| value == "true");
        let specs = &sale.model.entry().specs;
        let family = specs.video_family.as_deref().and_then(family_of);
        let serves = sale.model.entry().serves(EndpointType::OpenaiVideo);
        let (family, variant) = family.filter(|_| serves).ok_or_else(|| {
            let text = format!("{:?} makes no videos here; see GET /v1/models", ask.model());
            Fault::new(Kind::EndpointNotSupported, text).at("model")
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
        if strict && let Some(note) = plan.report.first_trap() {
            return Err(trapped(note));
        }
        if strict && !plan.bill.exact {
            let text = "the price depends on media that could not be measured; \
                        strict mode refuses that, and nothing was charged";
            return Err(Fault::new(Kind::Rule("unpriceable".to_owned()), text));
        }
        let class = match caller.account.topped_up_at {
            Some(_) => PriceClass::Paid,
            None => PriceClass::Standard,
        };
        let usage = plan.bill.usage();
        let unit = sale.model.list().billing_unit();
        let unpriceable = |why: String| {
            let text = format!("{:?} has no price for this request: {why}", ask.model());
            Fault::new(Kind::Rule("unpriceable".to_owned()), text)
        };
        let units = usage
            .billed(unit)
            .map_err(|error| unpriceable(error.to_string()))?;
        let situation = Situation {
            attributes: &plan.bill.attributes,
            at,
        };
        let priced = quote(sale.offer(), class, &units, situation)
            .map_err(|error| unpriceable(error.to_string()))?;
        let (amount, prices) = (priced.total, Prices::of(unit, &priced, usage));
        Ok(Wanted {
            id,
            caller,
            model: ask.model().to_owned(),
            class,
            plan,
            units,
            amount,
            prices,
            body_hash: Sha256::digest(body).into(),
            sale,
        })
    }

    /// Refuses a task that costs more than its caller allows.
    pub(super) fn check_video_cost(headers: &HeaderMap, wanted: &Wanted) -> Result<(), Fault> {
        const NAME: &str = MAX_COST_HEADER;
        let Some(most) = max_cost(headers)? else {
            return Ok(());
        };
        if wanted.amount <= most {
            return Ok(());
        }
        let amount = wanted.amount;
        let text = format!("this video may cost {amount} USD, and `{NAME}` allows {most}");
        Err(Fault::new(Kind::MaxCostExceeded, text).with_money("required_usd", amount))
    }

    /// The price of a model for a caller, as offered now or by a quote that comes along.
    pub(super) async fn offered_video(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        (model, body): (&str, &[u8]),
    ) -> Result<(Sale, Moment), Fault> {
        caller.check_endpoint(WORD)?;
        match headers.get(crate::locking::QUOTE_HEADER) {
            Some(quote) => self.locked(quote, caller, (WORD, model, body)).await,
            None => {
                let book = &self.inner.shelf.get().book;
                Ok((caller.sale(book, model)?, self.inner.now()))
            }
        }
    }
}

/// A family's refusal as a fault.
pub(super) fn refused(refusal: Refusal) -> Fault {
    let text = if refusal.fix.is_empty() {
        refusal.message
    } else {
        format!("{}; {}", refusal.message, refusal.fix)
    };
    let fault = Fault::new(Kind::Rule(refusal.code.to_owned()), text);
    if refusal.param.is_empty() {
        fault
    } else {
        fault.at(&refusal.param)
    }
}
