//! Money for a turn: the bound of its price first, then less where the turn can do with less.

use trunkline_catalog::{FieldNote, FieldTreatment};
use trunkline_ledger::accounts;
use trunkline_types::Money;

use super::Quoted;
use crate::error::ApiError;
use crate::operation::HoldPolicy;
use crate::reservation::{NotHeld, Shortfall, insufficient_funds};
use crate::services::Services;

/// Fewer tokens than this are no answer: the caller is told instead.
const LEAST_FITTED: u64 = 16;

impl Quoted {
    pub(super) fn bound_policy(&self) -> Result<HoldPolicy, ApiError> {
        Ok(HoldPolicy::exact(self.bound(self.held_output_tokens)?))
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
        let affordable = self.affordable(shortfall.fits).unwrap_or(0);
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
