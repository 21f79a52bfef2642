//! A call with its price. Nothing has moved yet.

use std::borrow::Cow;

use http::HeaderMap;
use trunkline_catalog::{Attributes, Note, PriceClass, Quote, Report, Sale, Situation, quote};
use trunkline_ledger::{Detail, Outcome, Owner, Reserve, Wallets};
use trunkline_terms::{EndpointType, Moment, Money, RequestId, Units, Usage};

use crate::caller::Caller;
use crate::channels::Channel;
use crate::error::{ApiError, ErrorCode};
use crate::field_report::trapped;
use crate::headers::{check_cost, is_strict};
use crate::idempotency::IdempotencyKey;
use crate::request_context::RequestContext;
use crate::reservation::Reservation;
use crate::services::Services;

/// What is to be priced: the door, the model, what it is billed by at most and what of its fields.
pub(super) struct Planned {
    pub(super) word: &'static str,
    pub(super) endpoint: EndpointType,
    pub(super) model: String,
    pub(super) usage: Usage,
    pub(super) attributes: Attributes,
    pub(super) report: Report,
}

/// A call with its price.
#[derive(Debug)]
pub(super) struct Priced {
    pub(super) id: RequestId,
    pub(super) caller: Caller,
    pub(super) word: &'static str,
    pub(super) endpoint: EndpointType,
    pub(super) model: String,
    pub(super) sale: Sale,
    pub(super) report: Report,
    pub(super) strict: bool,
    /// What it comes to if all is made that was asked for.
    pub(super) amount: Money,
    pub(super) units: Units,
    /// What it is known by when it comes again.
    pub(super) named: Option<IdempotencyKey>,
    class: PriceClass,
    attributes: Attributes,
    at: Moment,
}

/// What something that was made costs.
pub(super) struct Sum {
    pub(super) amount: Money,
    pub(super) units: Units,
    pub(super) tier: String,
}

// === impl Priced ===

impl Priced {
    /// Prices a call under the prices and the clock that it is offered.
    pub(super) fn new(
        (id, caller): (RequestId, Caller),
        headers: &HeaderMap,
        planned: Planned,
        (sale, at): (Sale, Moment),
    ) -> Result<Self, ApiError> {
        let strict = is_strict(headers) || caller.key.policy.fields().strict;
        if strict && let Some(note) = planned.report.first_trap() {
            return Err(trapped(note));
        }
        let class = match caller.account.topped_up_at {
            Some(_) => PriceClass::Paid,
            None => PriceClass::Standard,
        };
        let mut priced = Self {
            id,
            caller,
            word: planned.word,
            endpoint: planned.endpoint,
            model: planned.model,
            sale,
            report: planned.report,
            strict,
            amount: Money::ZERO,
            units: Units::none(),
            named: None,
            class,
            attributes: planned.attributes,
            at,
        };
        let sum = priced.sum(&planned.usage)?;
        (priced.amount, priced.units) = (sum.amount, sum.units);
        check_cost(headers, "this call", priced.amount)?;
        Ok(priced)
    }

    /// What usage costs.
    pub(super) fn sum(&self, usage: &Usage) -> Result<Sum, ApiError> {
        let units = self.billed(usage)?;
        let priced = self.quote(&units)?;
        Ok(Sum {
            amount: priced.total,
            tier: priced.tier.to_owned(),
            units,
        })
    }

    /// The same with its lines.
    pub(super) fn quote(&self, units: &Units) -> Result<Quote<'_>, ApiError> {
        let situation = Situation {
            attributes: &self.attributes,
            at: self.at,
        };
        quote(self.sale.offer(), self.class, units, situation)
            .map_err(|error| self.unpriceable(&error.to_string()))
    }

    fn billed(&self, usage: &Usage) -> Result<Units, ApiError> {
        let unit = self.sale.model.list().billing_unit();
        usage
            .billed(unit)
            .map_err(|error| self.unpriceable(&error.to_string()))
    }

    fn unpriceable(&self, why: &str) -> ApiError {
        let text = format!("{:?} has no price for this call: {why}", self.model);
        ApiError::new(ErrorCode::Rule("unpriceable".to_owned()), text)
    }

    /// Which column of the prices the account pays.
    pub(super) const fn class(&self) -> PriceClass {
        self.class
    }

    /// The clock that tiers look at.
    pub(super) const fn at(&self) -> Moment {
        self.at
    }

    /// The codes of everything the caller should know.
    pub(super) fn warnings(&self) -> Vec<Cow<'static, str>> {
        self.report.codes().cloned().collect()
    }

    /// What a vendor cannot be told; in strict mode that is the caller's to decide about.
    pub(super) fn unsaid(&self, notes: &[Note]) -> Option<ApiError> {
        let trap = notes.iter().find(|note| self.strict && note.is_trap());
        trap.map(trapped)
    }

    /// Holds the price.
    pub(super) async fn hold(&self, services: &Services) -> Result<Reservation, ApiError> {
        let reserve = Reserve {
            request: self.id,
            account: self.caller.account.id,
            key: Some(self.caller.key.id),
            owner: Owner::Request,
            amount: self.amount,
            wallets: Wallets::TrialFirst,
            model: self.model.clone(),
            endpoint: self.word.to_owned(),
            group: self.sale.group.clone(),
            price_version: self.sale.version.bytes(),
            lifetime: services.inner.settings.hold_lifetime,
            capacity: None,
            idempotency: self.named.as_ref().map(IdempotencyKey::idempotency),
        };
        let fix = "top up, wait for running calls, or ask for less";
        Reservation::whole(services, reserve, fix).await
    }

    /// What the usage row says of something that was made.
    pub(super) fn detail(
        &self,
        (channel, context): (&Channel, &RequestContext),
        sum: &Sum,
        measured: Usage,
        outcome: Outcome,
    ) -> Detail {
        let cost = channel.cost.as_ref();
        let upstream = channel.upstream_model(&self.model);
        let warnings = self.warnings();
        Detail {
            units: sum.units.clone(),
            measured,
            estimated: false,
            tier: Some(sum.tier.clone()),
            cost: cost.and_then(|book| book.cost_usd(upstream, &sum.units)),
            attempts: context.attempts_json(),
            warnings: warnings.into_iter().map(Cow::into_owned).collect(),
            outcome,
        }
    }
}

/// Whether a model is sold at a door at all.
pub(super) fn check_door(sale: &Sale, model: &str, endpoint: EndpointType) -> Result<(), ApiError> {
    let entry = sale.model.entry();
    if entry.serves(endpoint) {
        return Ok(());
    }
    let others: Vec<&str> = entry.endpoints.iter().map(|other| other.name()).collect();
    let text = format!(
        "{model:?} does not take {}; it takes {}",
        endpoint.name(),
        others.join(", ")
    );
    Err(ApiError::new(ErrorCode::EndpointNotSupported, text).at("model"))
}
