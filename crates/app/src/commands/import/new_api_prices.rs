//! Prices of new-api: a ratio of 1 is 0.002 USD for a thousand tokens, and outputs and caches have ratios to
//! that. What the options do not say is inside the program there, depends on a model's name and changes with its
//! version, so it is not guessed here.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use serde_json::{Map, Value, json};
use trunkline_catalog::{Document, Entry, Faces};
use trunkline_types::{BillingUnit, Face, UnitPrice};

use super::plan::{Plan, record};
use super::tables::Row;
use crate::decimal::{Decimal, Scaled};

/// USD for one token at a ratio of 1.
const UNIT: &str = "0.000002";
const PICO_PLACES: u32 = 12;

pub(super) struct Prices {
    /// Group ratios as they are written.
    pub(super) group_ratios: BTreeMap<String, String>,
    model_ratios: Map<String, Value>,
    completion_ratios: Map<String, Value>,
    cache_ratios: Map<String, Value>,
    cache_write_ratios: Map<String, Value>,
    call_prices: Map<String, Value>,
}

// === impl Prices ===

impl Prices {
    pub(super) fn read(options: &[Row]) -> anyhow::Result<Self> {
        let map = |name: &str| -> anyhow::Result<Map<String, Value>> {
            let row = options.iter().find(|row| row.text("key") == name);
            let Some(row) = row else {
                return Ok(Map::new());
            };
            row.object("value")
                .with_context(|| format!("the option {name} is not a JSON object"))
        };
        let groups = map("GroupRatio")?;
        Ok(Self {
            group_ratios: groups
                .into_iter()
                .map(|(name, ratio)| (name, written(&ratio)))
                .collect(),
            model_ratios: map("ModelRatio")?,
            completion_ratios: map("CompletionRatio")?,
            cache_ratios: map("CacheRatio")?,
            cache_write_ratios: map("CreateCacheRatio")?,
            call_prices: map("ModelPrice")?,
        })
    }

    /// Puts the models of all channels on sale, in the groups of the channels that serve them.
    pub(super) fn sell(&self, starter: &Document, plan: &mut Plan) {
        let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for channel in &plan.channels {
            for model in channel.models.keys() {
                let own = groups.entry(model.clone()).or_default();
                own.extend(channel.groups.iter().cloned());
            }
        }
        for (name, groups) in groups {
            let groups: Vec<String> = groups.into_iter().collect();
            match self.record(&name, &groups, starter.models.get(&name)) {
                Ok(priced) => {
                    if !priced.is_exact {
                        plan.differs("model", &name, "a price was rounded to a whole pico-USD");
                    }
                    plan.sell_known(&name, priced.entry, starter);
                }
                Err(error) => plan.skip("model", &name, format!("{error:#}")),
            }
        }
    }

    fn record(
        &self,
        name: &str,
        groups: &[String],
        known: Option<&Entry>,
    ) -> anyhow::Result<Priced> {
        // A price of a call goes before a ratio, as it does there.
        let (unit, faces, is_exact) = match self.call_prices.get(name) {
            Some(price) => {
                let mut faces = Faced::default();
                faces.add(Face::PerCall, &[written(price)])?;
                (BillingUnit::PerCall, faces.faces, faces.is_exact)
            }
            None => {
                let faces = self.token_faces(name)?;
                (BillingUnit::Tokens, faces.faces, faces.is_exact)
            }
        };
        let specs = json!({ "type": "llm" });
        Ok(Priced {
            entry: record(known, groups, unit, faces, &specs)?,
            is_exact,
        })
    }

    fn token_faces(&self, name: &str) -> anyhow::Result<Faced> {
        let ratio = self.model_ratios.get(name);
        let ratio = ratio.context("no price: ModelRatio and ModelPrice do not name it")?;
        let completion = self.completion_ratios.get(name).context(
            "CompletionRatio does not name it, and the value inside new-api depends on its version: add it there",
        )?;
        let input = [UNIT.to_owned(), written(ratio)];
        let mut faces = Faced::default();
        faces.add(Face::Input, &input)?;
        let times = |factor: &Value| {
            let factors = input.iter().cloned().chain([written(factor)]);
            factors.collect::<Vec<String>>()
        };
        faces.add(Face::Output, &times(completion))?;
        if let Some(cache) = self.cache_ratios.get(name) {
            faces.add(Face::CacheRead, &times(cache))?;
        }
        if let Some(write) = self.cache_write_ratios.get(name) {
            faces.add(Face::CacheWrite, &times(write))?;
        }
        Ok(faces)
    }
}

struct Priced {
    entry: Entry,
    is_exact: bool,
}

/// Prices as they are worked out.
struct Faced {
    faces: Faces,
    is_exact: bool,
}

impl Default for Faced {
    fn default() -> Self {
        Self {
            faces: Faces::new(),
            is_exact: true,
        }
    }
}

impl Faced {
    /// Adds the product of some numbers, rounded once.
    fn add(&mut self, face: Face, factors: &[String]) -> anyhow::Result<()> {
        let Scaled { number, is_exact } = product(factors)
            .with_context(|| format!("its {face} price cannot be used: {}", factors.join(" × ")))?;
        let pico = i64::try_from(number).context("a price is out of range")?;
        self.faces.insert(face, UnitPrice::from_pico(pico)?);
        self.is_exact &= is_exact;
        Ok(())
    }
}

fn product(factors: &[String]) -> Option<Scaled> {
    let mut product = Decimal::parse("1")?;
    for factor in factors {
        product = product.times(Decimal::parse(factor)?)?;
    }
    product.scaled(PICO_PLACES)
}

/// A number with the digits it was written with.
fn written(value: &Value) -> String {
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_of_one_is_two_usd_for_a_million_tokens() {
        let of = |factors: &[&str]| {
            let factors: Vec<String> = factors.iter().map(|one| (*one).to_owned()).collect();
            product(&factors).map(|scaled| (scaled.number, scaled.is_exact))
        };
        assert_eq!(of(&[UNIT, "1"]), Some((2_000_000, true)));
        assert_eq!(of(&[UNIT, "1.25", "4"]), Some((10_000_000, true)));
        assert_eq!(of(&[UNIT, "0.075", "4", "0.5"]), Some((300_000, true)));
        assert_eq!(of(&[UNIT, "0.1428571428571428"]), Some((285_714, false)));
        assert_eq!(of(&["0.04"]), Some((40_000_000_000, true)));
        assert_eq!(of(&[UNIT, "-1"]), None);
    }
}
