//! The prices that a task was sold at, kept with it: a difference is computed under them and no others.

use serde::{Deserialize, Serialize};
use trunkline_catalog::Quote;
use trunkline_types::{BillingUnit, Exact, Face, Money, Ratio, UnitPrice, Units, Usage};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    face: Face,
    pico: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Prices {
    unit: BillingUnit,
    lines: Vec<Line>,
    rate: (u64, u64),
    pub(super) tier: String,
    /// What it was priced for.
    usage: Usage,
}

impl Prices {
    pub(super) fn of(unit: BillingUnit, quote: &Quote<'_>, usage: Usage) -> Self {
        let line = |line: &trunkline_catalog::Line| Line {
            face: line.face,
            pico: line.price.pico(),
        };
        Self {
            unit,
            lines: quote.lines.iter().map(line).collect(),
            rate: (quote.rate.numerator(), quote.rate.denominator()),
            tier: quote.tier.to_owned(),
            usage,
        }
    }

    /// What it was priced for.
    pub(super) fn usage(&self) -> Usage {
        self.usage.clone()
    }

    /// The same as it is billed.
    pub(super) fn units(&self) -> Option<Units> {
        self.usage.billed(self.unit).ok()
    }

    /// What usage costs; none if it has no price here.
    pub(super) fn amount(&self, usage: &Usage) -> Option<Money> {
        let units = usage.billed(self.unit).ok()?;
        self.of_units(&units)
    }

    fn of_units(&self, units: &Units) -> Option<Money> {
        let mut total = Exact::ZERO;
        for (face, quantity) in units.iter() {
            let line = self.lines.iter().find(|line| line.face == face)?;
            let price = UnitPrice::from_pico(i64::try_from(line.pico).ok()?).ok()?;
            total = total.plus(Exact::line(quantity, price).ok()?).ok()?;
        }
        let rate = Ratio::new(self.rate.0, self.rate.1).ok()?;
        total.times(rate).ok()?.round_half_up().ok()
    }
}
