//! What a conversation turn may cost and what becomes of its fields, before anything moves. Pure: prices,
//! a request, a moment. Admission, quotes and strict mode all read this one value.

use http::HeaderMap;
use trunkline_catalog::{Limits, Quote, bound, floor};
use trunkline_types::{BillingUnit, Bucket, Money, Units, Usage};
use trunkline_wire::canonical::{Conversation, Signature, find_signatures};
use trunkline_wire::{Format, Request, RequestError};

use super::sold_tools::{SoldTool, sold_tools};
use crate::endpoint::Endpoint;
use crate::error::{ApiError, ErrorCode};
use crate::field_report::{self, CheckedFields};
use crate::input_tokens::InputTokens;
use crate::priced_call::{Price, PricedCall, Pricing, Terms};
use crate::response_id::SealedResponseId;

/// A tight hold has a quarter more than the fair guess at the input, and what stands around it.
const TIGHT_MARGIN: u64 = 4;
const FRAME_TOKENS: u64 = 64;

/// A conversation turn with its price.
pub(crate) struct Quoted {
    pub(crate) call: PricedCall,
    pub(crate) endpoint: Endpoint,
    pub(crate) request: Request,
    pub(crate) continues: Option<SealedResponseId>,
    /// What of the caller's headers an upstream of the same format is told.
    pub(crate) forwarded: HeaderMap,
    /// Gemini: a stream is one JSON array in pieces, and not events.
    pub(crate) as_json_array: bool,
    /// Output tokens of one choice, as they are written out.
    pub(crate) cap: Option<u64>,
    /// Output tokens of all choices that money is held for.
    pub(crate) held_output_tokens: u64,
    /// Vendor-run tools that its model's record has a price for.
    pub(crate) sold_tools: Vec<SoldTool>,
    /// Its own input, without that of a response which it continues.
    pub(crate) input: InputTokens,
    /// Fields that do not go on.
    pub(crate) drop_fields: Vec<String>,
    /// Fields that are written, each with its JSON.
    pub(crate) set_fields: Vec<(String, String)>,
    /// Money is short, and a stream is held for by the fair guess at its input instead of the bound.
    pub(crate) tight_hold: bool,
    /// The longest answer that we chose before it was fitted to the balance, once it was.
    pub(super) unfitted_cap: Option<u64>,
    /// Money is short, and the answer was fitted to it.
    pub(super) is_fitted: bool,
    /// Signatures of reasoning in the conversation.
    pub(super) signatures: Vec<Signature>,
    /// The conversation, read when a channel of another format first needs it.
    pub(super) conversation: Option<Result<Conversation, RequestError>>,
}

/// What a turn asks for beside its price.
pub(crate) struct Turn {
    pub(crate) endpoint: Endpoint,
    pub(crate) request: Request,
    pub(crate) continues: Option<SealedResponseId>,
    pub(crate) as_json_array: bool,
    /// Output tokens that a stream holds money for ahead.
    pub(crate) tranche: u64,
}

impl Quoted {
    /// Prices a request, or says why it has no price.
    pub(crate) fn price(pricing: Pricing<'_>, turn: Turn) -> Result<Self, ApiError> {
        let Turn {
            endpoint,
            request,
            continues,
            as_json_array,
            tranche,
        } = turn;
        let CheckedFields {
            report,
            attributes,
            without,
            with,
        } = field_report::read(&pricing.offer.sale, &request)?;
        let terms = Terms {
            endpoint: endpoint.name,
            model: request.model().to_owned(),
            attributes,
            report,
        };
        let call = PricedCall::new(pricing, terms)?;
        let entry = call.sale.model.entry();
        let most = entry.specs.max_output();
        let cap = request
            .facts
            .max_output
            .or_else(|| field_report::is_capped(entry, &request).then_some(most));
        let all = cap.unwrap_or(most).saturating_mul(request.facts.choices);
        let held_output_tokens = if request.facts.stream {
            all.min(tranche)
        } else {
            all
        };
        let quoted = Self {
            input: InputTokens::of(&request, entry),
            sold_tools: sold_tools(&request, entry),
            signatures: find_signatures(request.body()),
            call,
            endpoint,
            request,
            continues,
            forwarded: HeaderMap::new(),
            as_json_array,
            cap,
            held_output_tokens,
            drop_fields: without,
            set_fields: with,
            tight_hold: false,
            unfitted_cap: None,
            is_fitted: false,
            conversation: None,
        };
        quoted.check_output_price()?;
        Ok(quoted)
    }

    /// Refuses an answer that has no price: a model billed by what an answer does not have, or one whose
    /// input is sold and whose output is not.
    fn check_output_price(&self) -> Result<(), ApiError> {
        const MANY: u64 = 1_000_000;
        let priced = match self.call.sale.model.list().billing_unit() {
            BillingUnit::PerCall => true,
            BillingUnit::Tokens => {
                let input = self.bound(0)?;
                let writes = self.request.facts.max_output != Some(0);
                !writes || input == Money::ZERO || self.bound(MANY)? > input
            }
            BillingUnit::PerSecond | BillingUnit::Characters | BillingUnit::AudioDuration => false,
        };
        if priced {
            return Ok(());
        }
        Err(self.unpriceable("an answer has no price"))
    }

    /// The most that the input and so many output tokens can cost.
    pub(crate) fn bound(&self, output: u64) -> Result<Money, ApiError> {
        let tokens = self.bound_quote(output)?.total;
        self.with_tools(tokens, &self.tool_bounds()?)
    }

    /// What input that a prompt cache held would have cost more without one; none where none was read.
    pub(crate) fn cache_saving(&self, usage: &Usage, charged: Money) -> Option<Money> {
        let read = usage.reported(Bucket::CacheRead).filter(|read| *read > 0)?;
        let plain = usage.reported(Bucket::PlainInput).unwrap_or(0);
        let uncached = usage
            .clone()
            .with(Bucket::CacheRead, 0)
            .with(Bucket::PlainInput, plain.saturating_add(read));
        let price = self.exact(&uncached).ok()?.amount;
        let saving = price.checked_sub(charged).ok()?;
        (saving > Money::ZERO).then_some(saving)
    }

    /// The same with its lines, but for those of tools.
    pub(crate) fn bound_quote(&self, output: u64) -> Result<Quote<'_>, ApiError> {
        let limits = Limits {
            input: self.most_input(),
            output,
            calls: 1,
            video_seconds: 0,
        };
        let call = &self.call;
        bound(call.sale.offer(), call.class, &limits, call.situation())
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
        let call = &self.call;
        floor(call.sale.offer(), call.class, &limits, call.situation())
            .map(|quote| quote.total)
            .map_err(|error| self.unpriceable(&error.to_string()))
    }

    pub(crate) fn exact(&self, usage: &Usage) -> Result<Price, ApiError> {
        let (units, priced) = self.exact_quote(usage)?;
        let tools = self.tool_lines(usage)?;
        Ok(Price {
            amount: self.with_tools(priced.total, &tools)?,
            tier: priced.tier.to_owned(),
            tools,
            units,
        })
    }

    /// The same with its lines, but for those of tools.
    pub(crate) fn exact_quote(&self, usage: &Usage) -> Result<(Units, Quote<'_>), ApiError> {
        // Where calls are billed, this is one.
        let usage = usage.clone().with(Bucket::Calls, 1);
        let units = usage
            .billed(self.call.sale.model.list().billing_unit())
            .map_err(|error| self.unpriceable(&error.to_string()))?;
        let priced = self.call.quote(&units);
        let priced = priced.map_err(|error| self.unpriceable(&error.to_string()))?;
        Ok((units, priced))
    }

    /// Usage of a whole answer counted by us, for when the upstream does not report all of it.
    pub(crate) fn estimate(&self, told_input: Option<Usage>, written: u64) -> Usage {
        let guess = || Usage::unknown().with(Bucket::PlainInput, self.input.fair);
        let input = told_input.unwrap_or_else(guess);
        input.with(Bucket::PlainOutput, written)
    }

    /// The same of an answer that was not read to its end: what the upstream did not tell is counted in
    /// the caller's favour, since leaving never costs more than staying.
    pub(crate) fn estimate_left(&self, told_input: Option<Usage>, written: u64) -> Usage {
        let input = told_input.unwrap_or_else(|| self.cheapest_input());
        input.with(Bucket::PlainOutput, written)
    }

    /// The input as it would cost least: all of it may have been in a cache.
    fn cheapest_input(&self) -> Usage {
        let of = |bucket| Usage::unknown().with(bucket, self.request.input_floor);
        let price = |usage: &Usage| self.exact(usage).map_or(Money::MAX, |price| price.amount);
        let (plain, cached) = (of(Bucket::PlainInput), of(Bucket::CacheRead));
        if price(&cached) < price(&plain) {
            cached
        } else {
            plain
        }
    }

    /// The most output tokens of all choices that an amount covers beside the input; none if not even
    /// one.
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

    /// The longest answer of each choice that an amount covers beside the input; zero if none.
    pub(crate) fn affordable_each(&self, amount: Money) -> u64 {
        let all = self.affordable(amount).unwrap_or(0);
        all.checked_div(self.request.facts.choices).unwrap_or(0)
    }

    /// Whether the caller left the longest answer to us, and the answer comes whole.
    pub(super) const fn is_defaulted(&self) -> bool {
        self.request.facts.max_output.is_none() && !self.request.facts.stream
    }

    /// Output tokens of all choices at most.
    pub(crate) fn most_output(&self) -> u64 {
        self.longest_answer()
            .saturating_mul(self.request.facts.choices)
    }

    /// Output tokens of one choice at most.
    pub(super) fn longest_answer(&self) -> u64 {
        let most = || self.call.sale.model.entry().specs.max_output();
        self.cap.unwrap_or_else(most)
    }

    /// Input tokens at most, those of a response that is continued included.
    pub(crate) fn most_input(&self) -> u64 {
        let before = self
            .continues
            .as_ref()
            .map_or(0, |sealed_id| sealed_id.tokens);
        let entry = self.call.sale.model.entry();
        let rules = entry.input_rules(self.request.model());
        let InputTokens { most, fair } = self.input;
        // What a vendor's tool finds is input as well, as much as the model takes.
        let most = match self.sold_tools.as_slice() {
            [] => most,
            [_, ..] => most.max(rules.document()),
        };
        let own = if self.tight_hold {
            let margin = fair.div_euclid(TIGHT_MARGIN).saturating_add(FRAME_TOKENS);
            most.min(fair.saturating_add(margin))
        } else {
            most
        };
        match self.continues {
            Some(_) => rules.within_window(own.saturating_add(before)),
            None => own,
        }
    }

    pub(crate) const fn format(&self) -> Format {
        self.endpoint.format
    }

    pub(super) fn unpriceable(&self, why: &str) -> ApiError {
        tracing::error!(
            model = self.request.model(),
            why,
            "quote: no price for this call"
        );
        let text = format!("{:?} has no price for this call", self.request.model());
        ApiError::new(ErrorCode::EndpointNotSupported, text).at("model")
    }
}
