//! What a turn can cost at most, and how long it may be for what there is.

use trunkline_catalog::{FieldNote, FieldTreatment};
use trunkline_types::{Bucket, Money, Usage};

use super::request::{TokenBound, TurnKind};
use super::turn::TurnExecution;
use crate::error::ApiError;
use crate::priced_call::Price;
use crate::reservation::{Extended, Reservation, Shortfall, insufficient_funds};
use crate::services::Services;

/// Fewer tokens than this are no answer: the caller is told instead.
pub(super) const LEAST_OUTPUT: u64 = 64;

impl TurnExecution {
    /// The most that a bound can cost.
    pub(super) fn most(&self, bound: TokenBound) -> Result<Money, ApiError> {
        Ok(self.dearest(bound)?.1.amount)
    }

    /// The dearest use of a bound, and its price; no use where all of them are free.
    pub(super) fn dearest(&self, bound: TokenBound) -> Result<(Option<Usage>, Price), ApiError> {
        let nothing = Usage::unknown()
            .with(Bucket::PlainInput, 0)
            .with(Bucket::AudioSeconds, 0);
        let mut dearest = (None, self.priced.call.price(&nothing)?);
        for usage in self.kind.usages(bound) {
            let price = self.priced.call.price(&usage)?;
            if price.amount > dearest.1.amount {
                dearest = (Some(usage), price);
            }
        }
        Ok(dearest)
    }

    /// The longest output that an amount pays for, up to the bound's own; of a connection's time, the seconds.
    pub(super) fn affordable(&self, amount: Money) -> Result<u64, ApiError> {
        let longest = match self.kind {
            TurnKind::Time { .. } => self.bound.seconds,
            TurnKind::Response { .. } | TurnKind::Transcription => self.bound.output,
        };
        let (mut fits, mut above) = (0_u64, longest.saturating_add(1));
        while fits.saturating_add(1) < above {
            let length = fits.midpoint(above);
            if self.most(self.bound_of(length))? <= amount {
                fits = length;
            } else {
                above = length;
            }
        }
        Ok(fits)
    }

    pub(super) const fn bound_of(&self, length: u64) -> TokenBound {
        let bound = self.bound;
        match self.kind {
            TurnKind::Time { .. } => TokenBound {
                seconds: length,
                ..bound
            },
            TurnKind::Response { .. } | TurnKind::Transcription => TokenBound {
                output: length,
                ..bound
            },
        }
    }

    pub(super) fn bills_time(&self) -> bool {
        let entry = self.priced.call.sale.model.entry();
        entry.extra_prices.connection_second.is_some()
    }

    pub(super) fn shorten(&mut self, output: u64, why: &'static str) {
        self.bound.output = output;
        let field = "session.max_output_tokens";
        let note = FieldNote::new(
            field,
            FieldTreatment::Defaulted,
            "max_tokens_defaulted",
            why,
        );
        self.priced
            .call
            .report
            .add(note.with_value(output.to_string()));
    }

    /// Raises the hold ahead of what is needed.
    pub(super) async fn cover(
        &mut self,
        services: &Services,
        reservation: &mut Reservation,
        needed: TokenBound,
    ) -> Result<TokenBound, ApiError> {
        let ahead = needed.ahead(services.settings.realtime.ahead_tokens);
        let total = self.most(ahead)?;
        if total <= reservation.held {
            return Ok(ahead);
        }
        match reservation.extend(total).await {
            Extended::Whole => Ok(ahead),
            Extended::Unknown => Err(ApiError::unavailable()),
            Extended::Short(by) => {
                // A shorter response may do with what there is.
                self.bound = needed;
                let output = self.affordable(reservation.held)?;
                if output >= needed.output.min(LEAST_OUTPUT) {
                    return Ok(TokenBound { output, ..needed });
                }
                let required = self.most(needed)?;
                let shortfall = Shortfall {
                    by,
                    fits: reservation.held,
                    reserved: reservation.held,
                };
                let fix = "top up, or begin a new connection";
                Err(insufficient_funds(
                    shortfall,
                    required,
                    "the next response may cost",
                    fix,
                ))
            }
        }
    }
}
