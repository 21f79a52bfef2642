//! A call with its price: what every paid operation has in common once it is quoted. Nothing has moved
//! yet. Here is the one place that says what the ledger is asked to hold and what a usage row tells.

use std::borrow::Cow;
use std::time::Duration;

use http::HeaderMap;
use trunkline_catalog::{
    Attributes, ExtraLine, FieldNote, FieldReport, LineRounding, PriceClass, PricingContext, Quote,
    QuoteError, Sale, ToolLine, quote, unit_prices,
};
use trunkline_ledger::{CapacityClaim, Detail, Outcome, Owner, Reserve, Wallets};
use trunkline_store::OnDisconnect;
use trunkline_types::{Bucket, Face, Money, RequestId, Timestamp, Units, Usage};

use crate::caller::Caller;
use crate::channels::{Channel, RouteRules};
use crate::charge::ChargeLimits;
use crate::error::{ApiError, ErrorCode};
use crate::field_report::strict_violation;
use crate::guardrail::{Excerpt, Subject};
use crate::headers::{is_strict, max_cost};
use crate::idempotency::IdempotencyKey;
use crate::request_context::RequestContext;

/// A model at a caller's price, and the clock that tiers look at: now, or that of a locked quote.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    pub(crate) sale: Sale,
    pub(crate) at: Timestamp,
    /// The most that a locked quote said.
    pub(crate) maximum: Option<Money>,
}

/// A caller with the offer that its request is priced by.
pub(crate) struct Pricing<'a> {
    pub(crate) id: RequestId,
    pub(crate) caller: Caller,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) offer: Offer,
}

impl<'a> Pricing<'a> {
    pub(crate) const fn new(
        id: RequestId,
        caller: Caller,
        headers: &'a HeaderMap,
        offer: Offer,
    ) -> Self {
        Self {
            id,
            caller,
            headers,
            offer,
        }
    }
}

/// What an operation contributes to a price: never money.
pub(crate) struct Terms {
    /// Its name in policies, quotes and usage rows.
    pub(crate) endpoint: &'static str,
    pub(crate) model: String,
    pub(crate) attributes: Attributes,
    pub(crate) report: FieldReport,
}

#[derive(Debug, Clone)]
pub(crate) struct PricedCall {
    pub(crate) id: RequestId,
    pub(crate) caller: Caller,
    /// Its name in policies, quotes and usage rows.
    pub(crate) endpoint: &'static str,
    pub(crate) model: String,
    pub(crate) sale: Sale,
    /// The clock that tiers look at.
    pub(crate) at: Timestamp,
    /// Which column of the prices the account pays.
    pub(crate) class: PriceClass,
    pub(crate) strict: bool,
    /// What its charge never passes.
    pub(crate) limits: ChargeLimits,
    /// What becomes of the fields, as far as there is something to say.
    pub(crate) report: FieldReport,
    /// Codes of what happened after the quote.
    pub(crate) late_warnings: Vec<&'static str>,
    /// What it is known by when it is sent again.
    pub(crate) idempotency: Option<IdempotencyKey>,
    /// What the guardrail is shown of the request, where there is one.
    pub(crate) excerpt: Option<Excerpt>,
    attributes: Attributes,
}

#[derive(Debug, Clone)]
pub(crate) struct Price {
    pub(crate) units: Units,
    pub(crate) amount: Money,
    pub(crate) tier: String,
    /// Vendor-run tools that are part of the amount.
    pub(crate) tools: Vec<ToolLine>,
}

/// How money is held for a call.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    pub(crate) amount: Money,
    pub(crate) owner: Owner,
    pub(crate) wallets: Wallets,
    pub(crate) lifetime: Duration,
    /// A daily number that the call takes one of.
    pub(crate) capacity: Option<CapacityClaim>,
}

/// What a usage row tells of a call, beside its price.
pub(crate) struct Measured {
    pub(crate) usage: Usage,
    /// The vendor told nothing, and we counted.
    pub(crate) estimated: bool,
    pub(crate) outcome: Outcome,
}

// === impl PricedCall ===

impl PricedCall {
    /// Whose call it is, and for what, as the guardrail is told.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            id: self.id,
            account: self.caller.account.id,
            key: self.caller.key.id,
            endpoint: self.endpoint,
            model: &self.model,
        }
    }

    /// Prices a request under an offer; strict mode refuses what would be ignored.
    pub(crate) fn new(pricing: Pricing<'_>, terms: Terms) -> Result<Self, ApiError> {
        let Pricing {
            id,
            caller,
            headers,
            offer: Offer { sale, at, maximum },
        } = pricing;
        let strict = is_strict(headers) || caller.key.policy.fields().strict;
        if strict && let Some(note) = terms.report.first_pitfall() {
            return Err(strict_violation(note));
        }
        let class = match caller.account.topped_up_at {
            Some(_) => PriceClass::Paid,
            None => PriceClass::Standard,
        };
        Ok(Self {
            id,
            caller,
            endpoint: terms.endpoint,
            model: terms.model,
            sale,
            at,
            class,
            strict,
            limits: ChargeLimits {
                requested_tier: None,
                // A limit that cannot be read is refused before money moves.
                max_cost: max_cost(headers).ok().flatten(),
                quote_maximum: maximum,
            },
            report: terms.report,
            late_warnings: Vec::new(),
            idempotency: None,
            excerpt: None,
            attributes: terms.attributes,
        })
    }

    /// Whether its key wants streams read to their end and charged whole when their client leaves.
    pub(crate) fn finishes_streams(&self) -> bool {
        let fields = self.caller.key.policy.fields();
        fields.on_disconnect == Some(OnDisconnect::Finish)
    }

    /// What of its caller decides about routes.
    pub(crate) fn route_rules(&self) -> RouteRules<'_> {
        RouteRules {
            group: &self.sale.group,
            policy: &self.caller.key.policy,
        }
    }

    /// Refuses a price above what its key pays, in any tier that it can reach with so much input.
    pub(crate) fn check_max_price(&self, most_input: u64) -> Result<(), ApiError> {
        let limit = self.caller.key.policy.fields().max_price;
        if !limit.is_set() {
            return Ok(());
        }
        let offer = self.sale.offer();
        let prices = unit_prices(offer, self.class, most_input, self.situation());
        let prices = prices.map_err(|error| self.unpriceable(&error.to_string()))?;
        let rows = [
            ("a million input tokens", prices.input, limit.input),
            ("a million output tokens", prices.output, limit.output),
            ("a unit", prices.unit, limit.unit),
        ];
        for (what, price, most) in rows {
            if let (Some(price), Some(most)) = (price, most)
                && price > most
            {
                let text = format!(
                    "{what} of {:?} costs {price} USD, and this API key pays at most {most}; nothing was charged",
                    self.model
                );
                return Err(ApiError::new(ErrorCode::PriceAboveLimit, text)
                    .at("model")
                    .with_money("price_usd", price)
                    .with_money("max_price_usd", most));
            }
        }
        Ok(())
    }

    pub(crate) fn price(&self, usage: &Usage) -> Result<Price, ApiError> {
        let unit = self.sale.model.list().billing_unit();
        let extra = &self.sale.model.entry().extra_prices;
        let units = extra.billed_by_faces(usage).billed(unit);
        let units = units.map_err(|error| self.unpriceable(&error.to_string()))?;
        let priced = self.quote(&units);
        let priced = priced.map_err(|error| self.unpriceable(&error.to_string()))?;
        let lines = self.extra_lines(usage)?;
        let mut amounts = lines.iter().map(|line| line.amount);
        let amount = amounts.try_fold(priced.total, Money::checked_add);
        Ok(Price {
            amount: amount.map_err(|_| self.unpriceable("the amount is too large"))?,
            tier: priced.tier.to_owned(),
            tools: Vec::new(),
            units,
        })
    }

    /// What is billed beside the faces, a line for each.
    pub(crate) fn extra_lines(&self, usage: &Usage) -> Result<Vec<ExtraLine>, ApiError> {
        let extra = &self.sale.model.entry().extra_prices;
        let lines = extra.lines(usage, self.sale.rate, LineRounding::HalfUp);
        lines.map_err(|error| self.unpriceable(&error.to_string()))
    }

    /// What an upstream bills: cost books know no price of cached audio beside the faces.
    fn upstream_units(&self, price: &Price, usage: &Usage) -> Option<Units> {
        let extra = &self.sale.model.entry().extra_prices;
        let cached = usage.reported(Bucket::CachedAudio);
        let cached = cached.filter(|_| extra.cached_audio.is_some());
        let units = price.units.clone();
        units.plus(Face::CacheRead, cached.unwrap_or(0)).ok()
    }

    /// The price of units with its lines.
    pub(crate) fn quote(&self, units: &Units) -> Result<Quote<'_>, QuoteError> {
        quote(self.sale.offer(), self.class, units, self.situation())
    }

    /// The same as if the request had said something else in one field.
    pub(crate) fn quote_with(
        &self,
        units: &Units,
        path: &str,
        value: &str,
    ) -> Result<Quote<'_>, QuoteError> {
        let attributes = self.attributes.clone().with(path, value);
        let context = PricingContext {
            attributes: &attributes,
            at: self.at,
        };
        quote(self.sale.offer(), self.class, units, context)
    }

    pub(crate) fn situation(&self) -> PricingContext<'_> {
        PricingContext {
            attributes: &self.attributes,
            at: self.at,
        }
    }

    fn unpriceable(&self, why: &str) -> ApiError {
        let text = format!("{:?} has no price for this call: {why}", self.model);
        ApiError::new(ErrorCode::Rule("unpriceable".to_owned()), text)
    }

    /// The codes of everything that the caller should know.
    pub(crate) fn warnings(&self) -> Vec<Cow<'static, str>> {
        let late = self.late_warnings.iter().map(|code| Cow::Borrowed(*code));
        self.report.codes().cloned().chain(late).collect()
    }

    /// The same for the usage row: what was not sent is named behind its code.
    fn logged_warnings(&self) -> Vec<String> {
        let notes = self.report.notes().iter();
        let named = notes.filter_map(|note| {
            let code = note.code.as_deref()?;
            // The row is a list with commas.
            let name = note.field.replace(',', "?");
            Some(if note.is_dropped() {
                format!("{code}:{name}")
            } else {
                code.to_owned()
            })
        });
        let late = self.late_warnings.iter().map(|code| (*code).to_owned());
        named.chain(late).collect()
    }

    /// What a vendor cannot be told; in strict mode the caller decides about that.
    pub(crate) fn strict_violation(&self, notes: &[FieldNote]) -> Option<ApiError> {
        let trap = notes.iter().find(|note| self.strict && note.is_pitfall());
        trap.map(strict_violation)
    }

    /// What the ledger is asked to hold.
    pub(crate) fn reserve(&self, hold: Hold) -> Reserve {
        Reserve {
            request: self.id,
            account: self.caller.account.id,
            key: Some(self.caller.key.id),
            owner: hold.owner,
            amount: hold.amount,
            wallets: hold.wallets,
            model: self.model.clone(),
            endpoint: self.endpoint.to_owned(),
            group: self.sale.group.clone(),
            price_version: self.sale.version.bytes(),
            lifetime: hold.lifetime,
            capacity: hold.capacity,
            idempotency: self.idempotency.as_ref().map(IdempotencyKey::for_ledger),
        }
    }

    /// What the usage row tells of a call that a channel served.
    pub(crate) fn detail(
        &self,
        channel: &Channel,
        context: &RequestContext,
        price: &Price,
        measured: Measured,
    ) -> Detail {
        let cost = channel.cost.as_ref();
        let upstream = channel.upstream_model(&self.model);
        let warnings = self.logged_warnings();
        let upstream_units = self.upstream_units(price, &measured.usage);
        Detail {
            units: price.units.clone(),
            measured: measured.usage,
            estimated: measured.estimated,
            tier: Some(price.tier.clone()),
            cost: cost.and_then(|book| book.cost_usd(upstream, &upstream_units?)),
            attempts: context.attempts_json(),
            warnings,
            outcome: measured.outcome,
        }
    }
}
