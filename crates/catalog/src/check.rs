//! The checks a price list passes before it can be used: nothing missing, nothing overlapping,
//! nothing unreachable, nothing that gets cheaper as a context grows.
//!
//! Overlap is decided exactly. The space of situations is cut at every threshold, value and hour
//! that any tier names; inside one cell all tiers hold or do not hold alike, so looking at one point
//! of each cell is looking at all situations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::tz::TimeZone;
use trunkline_types::{BillingUnit, Face};

use crate::condition::{Condition, MAX_CONDITIONS, Point, Region};
use crate::hour_of_week::{HourOfWeek, all_hours};
use crate::price_list::{Faces, MAX_TIERS, PriceClass, PriceList, RawList, RawTier, Tier};
use crate::pricing_context::{Attributes, Scalar};

/// Most cells the situations of one list may fall into. A list that needs more cannot be understood
/// by a person either.
pub const MAX_CELLS: usize = 20_000;
/// Longest name of a tier.
const MAX_TIER_NAME: usize = 64;

/// One thing that is wrong with a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    text: String,
    /// It is about a tier that no call can ever reach.
    is_unreachable: bool,
}

/// Checks a list and puts its tiers in order, narrow before wide.
pub(crate) fn list(raw: RawList) -> Result<PriceList, Vec<Finding>> {
    let billing_unit = raw.billing_unit;
    let tiers = raw.into_tiers();
    let mut findings = Findings::default();
    findings.names(&tiers);
    findings.faces(&tiers, billing_unit);
    findings.conditions(&tiers, billing_unit);
    let zone = findings.zone(&tiers);
    let mut placed = findings.regions(tiers);
    if findings.any() {
        return Err(findings.0);
    }
    order_narrow_first(&mut placed);
    findings.cells(&placed);
    if findings.any() {
        return Err(findings.0);
    }
    Ok(PriceList::assemble(billing_unit, placed, zone))
}

#[derive(Default)]
struct Findings(Vec<Finding>);

// === impl Finding ===

impl Finding {
    pub(crate) const fn is_unreachable(&self) -> bool {
        self.is_unreachable
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl From<String> for Finding {
    fn from(text: String) -> Self {
        Self {
            text,
            is_unreachable: false,
        }
    }
}

// === impl Findings ===

impl Findings {
    fn say(&mut self, text: String) {
        self.0.push(Finding::from(text));
    }

    fn say_unreachable(&mut self, text: String) {
        self.0.push(Finding {
            text,
            is_unreachable: true,
        });
    }

    fn any(&self) -> bool {
        !self.0.is_empty()
    }

    fn names(&mut self, tiers: &[RawTier]) {
        if tiers.len() > MAX_TIERS {
            self.say(format!(
                "{} tiers; at most {MAX_TIERS} are allowed",
                tiers.len()
            ));
        }
        let mut seen = BTreeSet::new();
        for RawTier { tier, .. } in tiers {
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            if tier.is_empty() || tier.len() > MAX_TIER_NAME || !tier.bytes().all(legal) {
                self.say(format!(
                    "tier name {tier:?} must be letters, digits, _ and -"
                ));
            }
            if !seen.insert(tier) {
                self.say(format!("tier {tier:?} is duplicated"));
            }
        }
    }

    /// Every tier prices the same faces, all that the billing unit needs and none it cannot bill.
    fn faces(&mut self, tiers: &[RawTier], unit: BillingUnit) {
        let Some(expected) = tiers.last().map(|tier| faces_of(&tier.standard)) else {
            return;
        };
        for face in unit
            .required_faces()
            .iter()
            .filter(|face| !expected.contains(*face))
        {
            self.say(format!(
                "no price for {face}, which a model billed by {unit} must have"
            ));
        }
        for face in expected.iter().filter(|face| !unit.may_price(**face)) {
            self.say(format!(
                "{face} cannot be priced on a model billed by {unit}"
            ));
        }
        for tier in tiers {
            let columns = [
                ("standard", Some(&tier.standard)),
                ("paid", tier.paid.as_ref()),
            ];
            for (column, faces) in columns {
                let Some(priced) = faces.map(faces_of) else {
                    continue;
                };
                for face in expected.difference(&priced) {
                    self.say(format!(
                        "tier {:?}: {column} has no price for {face}",
                        tier.tier
                    ));
                }
                for face in priced.difference(&expected) {
                    self.say(format!(
                        "tier {:?}: {column} prices {face}, which the default tier does not",
                        tier.tier
                    ));
                }
            }
        }
    }

    fn conditions(&mut self, tiers: &[RawTier], unit: BillingUnit) {
        for tier in tiers {
            if tier.when.len() > MAX_CONDITIONS {
                self.say(format!(
                    "tier {:?} has {} conditions; at most {MAX_CONDITIONS} are allowed",
                    tier.tier,
                    tier.when.len()
                ));
            }
            for condition in &tier.when {
                for fault in condition.faults() {
                    self.say(format!("tier {:?}: {fault}", tier.tier));
                }
                let by_context = matches!(condition, Condition::ContextLen { .. });
                if by_context && unit != BillingUnit::Tokens {
                    self.say_unreachable(format!(
                        "tier {:?}: context_len never holds on a model billed by {unit}",
                        tier.tier
                    ));
                }
            }
        }
    }

    /// All wall clocks of a list hang in one time zone: two zones whose offsets drift against each
    /// other cannot be checked for overlap.
    fn zone(&mut self, tiers: &[RawTier]) -> Option<TimeZone> {
        let names: BTreeSet<&str> = tiers
            .iter()
            .flat_map(|tier| &tier.when)
            .filter_map(|condition| match condition {
                Condition::WallClock { timezone, .. } => Some(timezone.as_str()),
                Condition::ContextLen { .. } | Condition::RequestAttr { .. } => None,
            })
            .collect();
        if names.len() > 1 {
            self.say(format!(
                "wall_clock conditions in several time zones {names:?}: use one"
            ));
        }
        let name = names.first()?;
        match TimeZone::get(name) {
            Ok(zone) if zone.iana_name() == Some(*name) => Some(zone),
            Ok(_) | Err(_) => {
                self.say(format!(
                    "unknown time zone {name:?}; write an IANA name such as Asia/Shanghai"
                ));
                None
            }
        }
    }

    fn regions(&mut self, tiers: Vec<RawTier>) -> Vec<Tier> {
        let mut placed: Vec<Tier> = Vec::with_capacity(tiers.len());
        for RawTier {
            tier,
            standard,
            paid,
            when,
        } in tiers
        {
            let Some(region) = Region::of(&when) else {
                self.say_unreachable(format!(
                    "tier {tier:?} is unreachable: its conditions contradict each other"
                ));
                continue;
            };
            if let Some(twin) = placed.iter().find(|other| other.region == region) {
                self.say(format!(
                    "tiers {:?} and {tier:?} overlap: both hold in the same situations",
                    twin.tier
                ));
            }
            placed.push(Tier {
                tier,
                standard,
                paid,
                when,
                region,
            });
        }
        placed
    }

    /// Looks at every cell: is there one narrowest tier, and does its price not fall as the context
    /// grows? A tier that is never the narrowest is unreachable.
    fn cells(&mut self, tiers: &[Tier]) {
        let Some(cells) = Cells::of(tiers) else {
            self.say(format!(
                "the conditions make more than {MAX_CELLS} different situations"
            ));
            return;
        };
        let mut reached = BTreeSet::new();
        let mut overlapping = BTreeSet::new();
        let mut falling = BTreeSet::new();
        for attributes in &cells.attributes {
            for hour in &cells.hours {
                let mut before: Option<&Tier> = None;
                for context_len in &cells.contexts {
                    let point = Point {
                        context_len: *context_len,
                        attributes,
                        hour: *hour,
                    };
                    let holding = tiers.iter().filter(|tier| tier.region.contains(point));
                    let Some(winner) = holding.clone().next() else {
                        continue;
                    };
                    reached.insert(winner.tier.as_str());
                    for other in holding.filter(|other| !winner.region.is_within(&other.region)) {
                        overlapping.insert((winner.tier.as_str(), other.tier.as_str()));
                    }
                    for face in before.iter().flat_map(|lower| fallen_faces(lower, winner)) {
                        falling.insert((winner.tier.as_str(), face));
                    }
                    before = Some(winner);
                }
            }
        }
        for (one, other) in overlapping {
            self.say(format!(
                "tiers {one:?} and {other:?} overlap: add a tier for the situations in which both hold"
            ));
        }
        for (tier, face) in falling {
            self.say(format!(
                "tier {tier:?} lowers {face} as the context grows; prices may only rise"
            ));
        }
        for tier in tiers
            .iter()
            .filter(|tier| !reached.contains(tier.tier.as_str()))
        {
            self.say_unreachable(format!(
                "tier {:?} is unreachable: narrower tiers cover all of it",
                tier.tier
            ));
        }
    }
}

/// One point of every cell, as the values to combine on each axis.
struct Cells {
    contexts: Vec<u64>,
    attributes: Vec<Attributes>,
    hours: Vec<HourOfWeek>,
}

// === impl Cells ===

impl Cells {
    /// None if there are more than [`MAX_CELLS`].
    fn of(tiers: &[Tier]) -> Option<Self> {
        let thresholds: BTreeSet<u64> = tiers
            .iter()
            .filter_map(|tier| tier.region.context_over)
            .collect();
        let above = thresholds
            .iter()
            .map(|threshold| threshold.saturating_add(1));
        let contexts: Vec<u64> = std::iter::once(0).chain(above).collect();
        let hours = Self::hours(tiers);
        let remaining = MAX_CELLS.checked_div(contexts.len().checked_mul(hours.len())?)?;
        let attributes = Self::attributes(tiers, remaining)?;
        Some(Self {
            contexts,
            attributes,
            hours,
        })
    }

    /// One hour for each different set of open tiers.
    fn hours(tiers: &[Tier]) -> Vec<HourOfWeek> {
        let mut by_open_tiers = BTreeMap::new();
        for hour in all_hours() {
            let open: Vec<bool> = tiers
                .iter()
                .map(|tier| tier.region.hours.contains(hour))
                .collect();
            by_open_tiers.entry(open).or_insert(hour);
        }
        by_open_tiers.into_values().collect()
    }

    /// Every combination of the values that tiers compare with, absence included.
    fn attributes(tiers: &[Tier], remaining: usize) -> Option<Vec<Attributes>> {
        let mut values: BTreeMap<&str, BTreeSet<&Scalar>> = BTreeMap::new();
        for (path, value) in tiers.iter().flat_map(|tier| &tier.region.attributes) {
            values.entry(path).or_default().insert(value);
        }
        let mut combinations = vec![Attributes::none()];
        for (path, known) in values {
            let size = combinations
                .len()
                .checked_mul(known.len().checked_add(1)?)?;
            if size > remaining {
                return None;
            }
            let with_values = combinations.iter().flat_map(|attributes| {
                known
                    .iter()
                    .map(|value| attributes.clone().with(path, (*value).clone()))
            });
            combinations = with_values.chain(combinations.iter().cloned()).collect();
        }
        Some(combinations)
    }
}

fn faces_of(faces: &Faces) -> BTreeSet<Face> {
    faces.keys().copied().collect()
}

/// Sorts so that a tier stands before every tier that contains it: a narrower tier lies within more
/// regions.
fn order_narrow_first(tiers: &mut [Tier]) {
    let regions: Vec<Region> = tiers.iter().map(|tier| tier.region.clone()).collect();
    tiers.sort_by_cached_key(|tier| {
        let containing = regions
            .iter()
            .filter(|region| tier.region.is_within(region))
            .count();
        (std::cmp::Reverse(containing), tier.tier.clone())
    });
}

/// Faces that cost less in the second tier than in the first.
fn fallen_faces(lower: &Tier, higher: &Tier) -> Vec<Face> {
    let pico = |tier: &Tier, face, class| tier.price(face, class).map(|(_, price)| price.pico());
    let cheaper = |face: &Face| {
        [PriceClass::Standard, PriceClass::Paid]
            .into_iter()
            .any(|class| pico(higher, *face, class) < pico(lower, *face, class))
    };
    Face::ALL.into_iter().filter(cheaper).collect()
}
