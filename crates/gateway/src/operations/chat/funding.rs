//! Money for a turn: the bound of its price first, then less where the turn can do with less.

use trunkline_catalog::{FieldNote, FieldTreatment};
use trunkline_ledger::accounts;
use trunkline_types::Money;

use super::Quoted;
use crate::error::ApiError;
use crate::operation::HoldPolicy;
use crate::reservation::{NotHeld, Shortfall, free_balance, insufficient_funds};
use crate::services::Services;

/// Fewer tokens than this are no answer: the caller is told instead.
const LEAST_FITTED: u64 = 16;
/// A turn without a maximum gets this part of what is free beside its input, so that several of them
/// run at once on a small balance.
const DEFAULT_SHARE: i64 = 10;
/// Output tokens of a usual answer: a maximum below it would cut answers that the caller did not ask to be short.
const USUAL_ANSWER: u64 = 2_048;
/// The code of a maximum that the caller left to us.
const DEFAULTED: &str = "max_tokens_defaulted";

impl Quoted {
    pub(super) fn bound_policy(&self) -> Result<HoldPolicy, ApiError> {
        Ok(HoldPolicy::exact(self.bound(self.held_output_tokens)?))
    }

    /// A turn that comes whole and names no maximum gets one: the model's longest answer, or less where
    /// that would hold more than its share of the balance.
    pub(super) async fn fit_default(&mut self, services: &Services) -> Result<(), ApiError> {
        if !self.is_defaulted() {
            return Ok(());
        }
        let account = self.call.caller.account.id;
        if let Some(free) = free_balance(services, account).await? {
            self.default_to(free)?;
        }
        Ok(())
    }

    /// Lowers the maximum that we choose to the share of what is free. False if it is that low already,
    /// or nothing fits.
    fn default_to(&mut self, free: Money) -> Result<bool, ApiError> {
        let input = self.bound(0)?;
        let beside = free.checked_sub(input).unwrap_or(Money::ZERO);
        let share = Money::from_nanos(beside.nanos().div_euclid(DEFAULT_SHARE));
        let share = input.checked_add(share).unwrap_or(free);
        let least = LEAST_FITTED.min(self.longest_answer());
        let each = Some(self.affordable_each(share)).filter(|each| *each >= least);
        let each = each.unwrap_or_else(|| self.affordable_each(free));
        if each < least || each >= self.longest_answer() {
            return Ok(false);
        }
        self.held_output_tokens = each.saturating_mul(self.request.facts.choices);
        self.unfitted_cap.get_or_insert(self.longest_answer());
        let why = "an answer that comes whole cannot be stopped, so a longest length is written out, \
                   which a tenth of the free balance pays for";
        self.report_default(each, why);
        Ok(true)
    }

    /// Chooses the longest answer, and says so.
    fn report_default(&mut self, each: u64, why: &'static str) {
        self.cap = Some(each);
        let notes = self.call.report.notes().iter();
        let mut defaulted = notes.filter(|note| note.code.as_deref() == Some(DEFAULTED));
        let field = defaulted.next().map(|note| note.field.clone());
        let field =
            field.unwrap_or_else(|| self.request.path_of("max_completion_tokens").to_owned());
        let note = FieldNote::new(field, FieldTreatment::Defaulted, DEFAULTED, why);
        self.call.report.add(note.with_value(each.to_string()));
    }

    /// The longest answer without the balance, where what the balance leaves of it would cut a usual answer.
    pub(super) fn cap_uncut(&self) -> Option<u64> {
        let is_short = self.cap.is_some_and(|cap| cap < USUAL_ANSWER);
        self.unfitted_cap.filter(|_| is_short)
    }

    /// The answer is assembled from a stream: it may be as long as the model's longest, and money is held as
    /// it grows.
    pub(super) fn lift_cap(&mut self) {
        if let Some(cap) = self.unfitted_cap {
            let why = "the answer is assembled from a stream, so the model's longest length is written \
                       out, and money is held as it grows";
            self.report_default(cap, why);
        }
    }

    /// What the turn can do with when its bound is not there.
    pub(super) async fn fitted_hold(
        &mut self,
        services: &Services,
        shortfall: Shortfall,
    ) -> Result<Option<Money>, ApiError> {
        let stream = self.request.facts.stream;
        // Agents send much and have little: a stream is stopped where its money ends, so the fair guess
        // at its input is enough to begin with.
        if stream && !self.tight_hold {
            self.tight_hold = true;
            return self.bound(self.held_output_tokens).map(Some);
        }
        if self.is_defaulted() {
            let lowered = self.default_to(shortfall.fits)?;
            return lowered
                .then(|| self.bound(self.held_output_tokens))
                .transpose();
        }
        if self.is_fitted {
            return Ok(None);
        }
        let least = LEAST_FITTED
            .saturating_mul(self.request.facts.choices)
            .min(self.held_output_tokens);
        let affordable = self.affordable(shortfall.fits);
        let Some(tokens) = affordable.filter(|tokens| *tokens >= least) else {
            return Ok(None);
        };
        // A stream is paid for as it goes: a smaller first tranche changes nothing that was asked for.
        // Strict mode changes nothing else either.
        if !stream && (self.call.strict || !self.may_fit(services).await) {
            return Ok(None);
        }
        let less = self.bound(tokens)?;
        self.fit(tokens);
        Ok(Some(less))
    }

    /// What the caller is told when not even that is there.
    pub(super) fn short_of(&self, not_held: NotHeld, required: Money) -> ApiError {
        let NotHeld::TooLittle(shortfall) = not_held else {
            tracing::error!(answer = ?not_held, "unexpected ledger answer to reserve");
            return ApiError::unavailable();
        };
        let fix = "top up, wait for running calls, or lower `max_tokens`";
        let affordable = self.affordable_each(shortfall.fits);
        insufficient_funds(shortfall, required, "this call may cost", fix)
            .with("max_tokens_affordable", affordable)
    }

    /// A key may say so; where it does not, calls that trial credit pays are fitted.
    async fn may_fit(&self, services: &Services) -> bool {
        match self.call.caller.key.policy.fields().fit_to_balance {
            Some(fits) => fits,
            None => {
                let account = self.call.caller.account.id;
                let balance = accounts::balance(&services.data, account).await;
                matches!(balance, Ok(Some(balance)) if balance.trial > Money::ZERO)
            }
        }
    }

    fn fit(&mut self, tokens: u64) {
        self.is_fitted = true;
        self.held_output_tokens = tokens;
        if !self.request.facts.stream {
            let each = tokens
                .checked_div(self.request.facts.choices)
                .unwrap_or(tokens);
            let each = each.max(1);
            self.cap = Some(each);
            let why = "the balance does not cover a longer answer";
            let field = self.request.path_of("max_completion_tokens").to_owned();
            let note = FieldNote::new(field, FieldTreatment::Rewritten, "max_tokens_fitted", why);
            self.call.report.add(note.with_value(each.to_string()));
        }
    }
}
