//! What a call may cost and what becomes of its fields, before anything moves. Pure: prices, a
//! request, a moment. Admission, quotes and strict mode all read this one value.

use std::borrow::Cow;

use http::HeaderMap;
use trunkline_catalog::{
    Attributes, Limits, PriceClass, Quote, Report, Sale, Situation, bound, floor, quote,
};
use trunkline_terms::{Bucket, Moment, Money, RequestId, Units, Usage};
use trunkline_wire::{Format, Request};

use crate::caller::Caller;
use crate::endpoint::Endpoint;
use crate::error::{ApiError, ErrorCode};
use crate::field_report::{self, Reading};
use crate::idempotency::IdempotencyKey;
use crate::response_id::Kept;

/// A lean hold has a quarter more than the fair guess at the input, and what stands around it.
const LEAN_MARGIN: u64 = 4;
const FRAME_TOKENS: u64 = 64;

/// What is asked of a price.
pub(crate) struct Asked {
    pub(crate) id: RequestId,
    pub(crate) caller: Caller,
    pub(crate) endpoint: Endpoint,
    pub(crate) request: Request,
    /// The response that it continues.
    pub(crate) continues: Option<Kept>,
    pub(crate) sale: Sale,
    /// The clock that tiers look at: now, or that of a locked quote.
    pub(crate) at: Moment,
    pub(crate) strict: bool,
    /// Output tokens that a stream holds money for ahead.
    pub(crate) tranche: u64,
}

/// A request with its price.
#[derive(Debug)]
pub(crate) struct Quoted {
    pub(crate) id: RequestId,
    pub(crate) caller: Caller,
    pub(crate) endpoint: Endpoint,
    pub(crate) request: Request,
    /// The response that it continues.
    pub(crate) continues: Option<Kept>,
    /// What of the caller's headers an upstream of the same format is told.
    pub(crate) forwarded: HeaderMap,
    /// Gemini: a stream is one list in pieces, and not events.
    pub(crate) in_a_list: bool,
    pub(crate) sale: Sale,
    pub(crate) at: Moment,
    pub(crate) strict: bool,
    /// Output tokens of one choice, as they are written out.
    pub(crate) cap: Option<u64>,
    /// Output tokens of all choices that money is held for.
    pub(crate) covered: u64,
    /// What becomes of the fields, as far as there is something to say.
    pub(crate) report: Report,
    /// Fields that do not go on.
    pub(crate) without: Vec<String>,
    /// Fields that are written, each with its JSON.
    pub(crate) with: Vec<(String, String)>,
    /// Money is short, and a stream is held for by the fair guess at its input instead of the bound.
    pub(crate) lean: bool,
    /// Codes of what happened later.
    pub(crate) later: Vec<&'static str>,
    /// What it is known by when it comes again.
    pub(crate) named: Option<IdempotencyKey>,
    attributes: Attributes,
    class: PriceClass,
}

/// An exact price.
#[derive(Debug, Clone)]
pub(crate) struct Price {
    pub(crate) units: Units,
    pub(crate) amount: Money,
    pub(crate) tier: String,
}

impl Quoted {
    /// Prices a request, or says why it has no price.
    pub(crate) fn price(asked: Asked) -> Result<Self, ApiError> {
        let Asked {
            id,
            caller,
            endpoint,
            request,
            continues,
            sale,
            at,
            strict,
            tranche,
        } = asked;
        let strict = strict || caller.key.policy.fields().strict;
        let Reading {
            report,
            attributes,
            without,
            with,
        } = field_report::read(&sale, endpoint, &request)?;
        if strict && let Some(note) = report.first_trap() {
            return Err(field_report::trapped(note));
        }
        let most = sale.model.entry().specs.max_output();
        let cap = request
            .facts
            .max_output
            .or_else(|| field_report::is_capped(sale.model.entry(), &request).then_some(most));
        let all = cap.unwrap_or(most).saturating_mul(request.facts.choices);
        let covered = if request.facts.stream {
            all.min(tranche)
        } else {
            all
        };
        let class = match caller.account.topped_up_at {
            Some(_) => PriceClass::Paid,
            None => PriceClass::Standard,
        };
        Ok(Self {
            id,
            caller,
            endpoint,
            request,
            continues,
            forwarded: HeaderMap::new(),
            in_a_list: false,
            sale,
            at,
            strict,
            cap,
            covered,
            report,
            without,
            with,
            lean: false,
            later: Vec::new(),
            named: None,
            attributes,
            class,
        })
    }

    /// The most that the input and so many output tokens can cost.
    pub(crate) fn bound(&self, output: u64) -> Result<Money, ApiError> {
        self.bound_quote(output).map(|quote| quote.total)
    }

    /// The same with its lines.
    pub(crate) fn bound_quote(&self, output: u64) -> Result<Quote<'_>, ApiError> {
        let limits = Limits {
            input: self.most_input(),
            output,
            calls: 1,
            video_seconds: 0,
        };
        bound(self.sale.offer(), self.class, &limits, self.situation())
            .map_err(|error| self.unpriceable(&error.to_string()))
    }

    /// The least that the call can cost if it is answered at all.
    pub(crate) fn floor(&self) -> Result<Money, ApiError> {
        let limits = Limits {
            input: self.request.input_least,
            output: 0,
            calls: 1,
            video_seconds: 0,
        };
        floor(self.sale.offer(), self.class, &limits, self.situation())
            .map(|quote| quote.total)
            .map_err(|error| self.unpriceable(&error.to_string()))
    }

    /// What usage costs, exactly.
    pub(crate) fn exact(&self, usage: &Usage) -> Result<Price, ApiError> {
        let (units, priced) = self.exact_quote(usage)?;
        Ok(Price {
            amount: priced.total,
            tier: priced.tier.to_owned(),
            units,
        })
    }

    /// The same with its lines.
    pub(crate) fn exact_quote(&self, usage: &Usage) -> Result<(Units, Quote<'_>), ApiError> {
        let wrong = |text: String| self.unpriceable(&text);
        // Where calls are billed, this is one.
        let usage = usage.clone().with(Bucket::Calls, 1);
        let units = usage
            .billed(self.sale.model.list().billing_unit())
            .map_err(|error| wrong(error.to_string()))?;
        let priced = quote(self.sale.offer(), self.class, &units, self.situation())
            .map_err(|error| wrong(error.to_string()))?;
        Ok((units, priced))
    }

    /// Usage counted by us, for when nobody tells.
    pub(crate) fn estimate(&self, told_input: Option<u64>, written: u64) -> Usage {
        Usage::unknown()
            .with(
                Bucket::PlainInput,
                told_input.unwrap_or(self.request.input_estimate),
            )
            .with(Bucket::PlainOutput, written)
    }

    /// The most output tokens that an amount covers beside the input; none if not even one.
    pub(crate) fn affordable(&self, amount: Money) -> Option<u64> {
        let fits = |output: u64| self.bound(output).is_ok_and(|bound| bound <= amount);
        if !fits(1) {
            return None;
        }
        let (mut low, mut high) = (1_u64, self.most_output().max(1));
        while low < high {
            let middle = high.saturating_sub(high.saturating_sub(low).div_euclid(2));
            if fits(middle) {
                low = middle;
            } else {
                high = middle.saturating_sub(1);
            }
        }
        Some(low)
    }

    /// Output tokens of all choices at most.
    pub(crate) fn most_output(&self) -> u64 {
        let most = self.sale.model.entry().specs.max_output();
        self.cap
            .unwrap_or(most)
            .saturating_mul(self.request.facts.choices)
    }

    /// Input tokens at most, those of a response that is continued included.
    pub(crate) fn most_input(&self) -> u64 {
        let before = self.continues.as_ref().map_or(0, |kept| kept.tokens);
        let fair = self.request.input_estimate;
        let own = if self.lean {
            let margin = fair.div_euclid(LEAN_MARGIN).saturating_add(FRAME_TOKENS);
            self.request.input_tokens.min(fair.saturating_add(margin))
        } else {
            self.request.input_tokens
        };
        own.saturating_add(before)
    }

    /// What the caller speaks.
    pub(crate) const fn format(&self) -> Format {
        self.endpoint.format
    }

    /// Which column of the prices the account pays.
    pub(crate) const fn class(&self) -> PriceClass {
        self.class
    }

    /// The codes of everything the caller should know.
    pub(crate) fn warnings(&self) -> Vec<Cow<'static, str>> {
        let later = self.later.iter().map(|code| Cow::Borrowed(*code));
        self.report.codes().cloned().chain(later).collect()
    }

    fn situation(&self) -> Situation<'_> {
        Situation {
            attributes: &self.attributes,
            at: self.at,
        }
    }

    fn unpriceable(&self, why: &str) -> ApiError {
        tracing::error!(model = self.request.model(), why, "a call has no price");
        let text = format!("{:?} has no price for this call", self.request.model());
        ApiError::new(ErrorCode::EndpointNotSupported, text).at("model")
    }
}
