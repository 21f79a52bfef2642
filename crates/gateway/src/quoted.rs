//! What a call may cost, before anything moves. Pure: prices, a request, a moment.

use std::sync::Arc;

use trunkline_catalog::{
    Attributes, GroupChoice, Limits, NotSold, PriceClass, Situation, bound, quote,
};
use trunkline_terms::{Bucket, Moment, Money, RequestId, Units, Usage};
use trunkline_wire::openai_chat::{ChatRequest, ToolChoice};

use crate::caller::Caller;
use crate::fault::{Fault, Kind};
use crate::shelf::{Record, Restriction, Shelf};

/// The endpoint's word in policies and usage rows.
pub(crate) const ENDPOINT: &str = "chat";

/// A request with its price.
#[derive(Debug)]
pub(crate) struct Quoted {
    pub(crate) id: RequestId,
    pub(crate) caller: Caller,
    pub(crate) request: ChatRequest,
    pub(crate) record: Record,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) group: String,
    pub(crate) at: Moment,
    /// Output tokens of one choice, as they are written out.
    pub(crate) cap: Option<u64>,
    /// Output tokens of all choices that money is held for.
    pub(crate) covered: u64,
    /// Codes of what the caller should know.
    pub(crate) warnings: Vec<&'static str>,
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
    pub(crate) fn price(
        id: RequestId,
        caller: Caller,
        request: ChatRequest,
        shelf: Arc<Shelf>,
        at: Moment,
        (tranche, strict): (u64, bool),
    ) -> Result<Self, Fault> {
        let model = request.model.clone();
        let group = match shelf.book.offer(&model, caller.group()) {
            Ok((group, _)) => group.to_owned(),
            Err(NotSold::UnknownModel(_)) => return Err(unknown_model(&model)),
            Err(NotSold::OtherGroups) => {
                let text = format!("{model:?} is not sold in this key's group");
                return Err(Fault::new(Kind::ModelNotAllowed, text).at("model"));
            }
        };
        if !caller.may_use(&model) {
            let text = format!("this API key may not use {model:?}");
            return Err(Fault::new(Kind::ModelNotAllowed, text).at("model"));
        }
        let record = shelf.record(&model);
        let mut warnings = Vec::new();
        let strict = strict || caller.key.policy.fields().strict;
        check_against(&record, strict, &request, &mut warnings)?;
        // A call that cannot be stopped must say how long it may become.
        let cap = match (request.max_output, request.stream) {
            (Some(asked), _) => Some(asked),
            (None, false) => {
                warnings.push("max_tokens_defaulted");
                Some(record.max_output)
            }
            (None, true) => None,
        };
        let all = cap
            .unwrap_or(record.max_output)
            .saturating_mul(request.choices);
        let covered = if request.stream {
            all.min(tranche)
        } else {
            all
        };
        Ok(Self {
            id,
            caller,
            request,
            record,
            shelf,
            group,
            at,
            cap,
            covered,
            warnings,
        })
    }

    /// The most that the input and so many output tokens can cost.
    pub(crate) fn bound(&self, output: u64) -> Result<Money, Fault> {
        let limits = Limits {
            input: self.request.input_tokens,
            output,
            calls: 1,
            video_seconds: 0,
        };
        let attributes = Attributes::none();
        let situation = self.situation(&attributes);
        let offer = self
            .shelf
            .book
            .offer(&self.request.model, GroupChoice::Named(&self.group));
        let (_, offer) = offer.map_err(|_| unknown_model(&self.request.model))?;
        let bound = bound(offer, PriceClass::Standard, &limits, situation);
        bound
            .map(|quote| quote.total)
            .map_err(|error| self.unpriceable(&error.to_string()))
    }

    /// What usage costs, exactly.
    pub(crate) fn exact(&self, usage: &Usage) -> Result<Price, Fault> {
        let offer = self
            .shelf
            .book
            .offer(&self.request.model, GroupChoice::Named(&self.group));
        let (_, offer) = offer.map_err(|_| unknown_model(&self.request.model))?;
        let unit = offer.list.billing_unit();
        let wrong = |text: String| self.unpriceable(&text);
        let units = usage
            .billed(unit)
            .map_err(|error| wrong(error.to_string()))?;
        let attributes = Attributes::none();
        let situation = self.situation(&attributes);
        let priced = quote(offer, PriceClass::Standard, &units, situation)
            .map_err(|error| wrong(error.to_string()))?;
        Ok(Price {
            amount: priced.total,
            tier: priced.tier.to_owned(),
            units,
        })
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
        let most = self.cap.unwrap_or(self.record.max_output);
        let (mut low, mut high) = (1_u64, most.saturating_mul(self.request.choices).max(1));
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
        let one = self.cap.unwrap_or(self.record.max_output);
        one.saturating_mul(self.request.choices)
    }

    fn situation<'a>(&self, attributes: &'a Attributes) -> Situation<'a> {
        Situation {
            attributes,
            at: self.at,
        }
    }

    fn unpriceable(&self, why: &str) -> Fault {
        tracing::error!(model = self.request.model, why, "a call has no price");
        let text = format!("{:?} has no price for this call", self.request.model);
        Fault::new(Kind::EndpointNotSupported, text).at("model")
    }
}

/// What the model cannot do, refused or told.
fn check_against(
    record: &Record,
    strict: bool,
    request: &ChatRequest,
    warnings: &mut Vec<&'static str>,
) -> Result<(), Fault> {
    let model = &request.model;
    let invalid = |text: String| Fault::new(Kind::Invalid("invalid_request"), text);
    let effort = request.reasoning_effort.as_ref();
    if let Some(word) = effort.filter(|word| record.reasoning && !record.efforts.contains(word)) {
        let word: String = word.chars().take(32).collect();
        let known = record.efforts.join(", ");
        let text = format!("{model:?} knows the efforts {known}, not {word:?}");
        return Err(invalid(text).at("reasoning_effort"));
    }
    for restriction in &record.restrictions {
        check_restriction(*restriction, request)?;
    }
    if request.names_a_response {
        if strict {
            let text =
                "`previous_response_id` belongs to the Responses format and has no effect here";
            return Err(invalid(text.to_owned()).at("previous_response_id"));
        }
        warnings.push("previous_response_id_ignored");
    }
    if effort.is_some() && !record.reasoning {
        if strict {
            let text = format!("{model:?} does not reason, so `reasoning_effort` has no effect");
            return Err(invalid(text).at("reasoning_effort"));
        }
        warnings.push("reasoning_effort_ignored");
    }
    if request
        .max_output
        .is_some_and(|asked| asked > record.max_output)
    {
        let text = format!("{model:?} writes at most {} tokens", record.max_output);
        return Err(invalid(text).at("max_completion_tokens"));
    }
    Ok(())
}

/// A rule of this model alone.
fn check_restriction(restriction: Restriction, request: &ChatRequest) -> Result<(), Fault> {
    let model = &request.model;
    let refused =
        |param: &str, code, text: String| Err(Fault::new(Kind::Invalid(code), text).at(param));
    match restriction {
        Restriction::ToolsNeedEffortNone => {
            let effort = request.reasoning_effort.as_deref();
            if !request.has_tools || effort == Some("none") {
                return Ok(());
            }
            let text = format!("{model:?} calls tools only with `reasoning_effort` \"none\"");
            refused("reasoning_effort", "invalid_request", text)
        }
        Restriction::ToolChoiceFreeOnly => match request.tool_choice {
            ToolChoice::Free => Ok(()),
            ToolChoice::Forced => {
                let text = format!("{model:?} takes `tool_choice` \"auto\" or \"none\"");
                refused("tool_choice", "invalid_request", text)
            }
        },
        Restriction::RolesNeedNames => {
            let Some(place) = request.nameless else {
                return Ok(());
            };
            let text = "messages of this role need a `name`; nothing was charged".to_owned();
            refused(&format!("messages[{place}].name"), "2013", text)
        }
    }
}

fn unknown_model(model: &str) -> Fault {
    let model: String = model.chars().take(64).collect();
    let text = format!("there is no model {model:?}; GET /v1/models lists those of this key");
    Fault::new(Kind::ModelNotFound, text).at("model")
}
