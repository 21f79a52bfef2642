//! An independent way to the same price: every situation's prices stand in a table, and the sum is
//! done with rationals of any size. It shares no arithmetic and no tier search with the product.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use num_bigint::BigInt;
use num_rational::BigRational;
use trunkline_catalog::{
    Attributes, Condition, Faces, Limits, PriceClass, RawList, RawTier, Scalar,
};
use trunkline_types::{BillingUnit, Face, MAX_QUANTITY, Ratio, Side, Timestamp, UnitPrice, Units};

const ZONES: [&str; 6] = [
    "UTC",
    "Asia/Shanghai",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Europe/Berlin",
];

/// Which of the dearer or cheaper circumstances hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell {
    level: usize,
    priority: bool,
    peak: bool,
}

/// A price list known by its construction.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) unit: BillingUnit,
    pub(crate) rate: Ratio,
    thresholds: Vec<u64>,
    with_priority: bool,
    peak: Option<Peak>,
    /// Standard and paid prices of every cell.
    prices: BTreeMap<Cell, (Faces, Option<Faces>)>,
}

#[derive(Debug, Clone)]
struct Peak {
    zone: &'static str,
    weekdays: Vec<u8>,
    hours: Vec<u8>,
}

/// A small generator: one number names a whole case.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Small numbers often, large ones sometimes: where borders lie.
    pub(crate) fn magnitude(&mut self, most: u64) -> u64 {
        let digits = self.below(u64::from(most.ilog10()) + 2);
        let end = 10_u64.saturating_pow(u32::try_from(digits).unwrap());
        self.below(end.min(most) + 1)
    }
}

impl Plan {
    pub(crate) fn new(dice: &mut Rng) -> Self {
        let unit = BillingUnit::ALL[dice.below(5) as usize];
        let levels = if unit == BillingUnit::Tokens {
            dice.below(4)
        } else {
            0
        };
        let mut thresholds: Vec<u64> = (0..levels).map(|_| dice.magnitude(2_000_000)).collect();
        thresholds.sort_unstable();
        thresholds.dedup();
        let with_priority = dice.coin();
        let peak = dice
            .coin()
            .then(|| Peak::new(dice))
            .filter(|peak| !peak.is_always());
        let faces: Vec<Face> = Face::ALL
            .into_iter()
            .filter(|face| {
                unit.required_faces().contains(face) || (unit.may_price(*face) && dice.coin())
            })
            .collect();
        let with_paid = dice.coin();
        let mut prices = BTreeMap::new();
        for priority in [false, true] {
            for peak in [false, true] {
                let mut standard = BTreeMap::new();
                let mut paid = BTreeMap::new();
                for level in 0..=thresholds.len() {
                    let raise = |dice: &mut Rng, column: &mut BTreeMap<Face, u64>| {
                        for face in &faces {
                            let price = column.entry(*face).or_insert(0);
                            *price = (*price + dice.magnitude(UnitPrice::MAX_PICO))
                                .min(UnitPrice::MAX_PICO);
                        }
                        priced(column)
                    };
                    let of_standard = raise(dice, &mut standard);
                    let of_paid = with_paid.then(|| raise(dice, &mut paid));
                    prices.insert(
                        Cell {
                            level,
                            priority,
                            peak,
                        },
                        (of_standard, of_paid),
                    );
                }
            }
        }
        let rate = Ratio::new(1 + dice.magnitude(999_999), 1 + dice.magnitude(999_999)).unwrap();
        Self {
            unit,
            rate,
            thresholds,
            with_priority,
            peak,
            prices,
        }
    }

    /// The list as a book would write it, its tiers in random order.
    pub(crate) fn raw_list(&self, dice: &mut Rng) -> RawList {
        let mut tiers = Vec::new();
        for (cell, (standard, paid)) in &self.prices {
            let exists =
                (self.with_priority || !cell.priority) && (self.peak.is_some() || !cell.peak);
            let when = self.conditions(*cell);
            if exists && !when.is_empty() {
                let tier = format!(
                    "t{}{}{}",
                    cell.level,
                    u8::from(cell.priority),
                    u8::from(cell.peak)
                );
                tiers.push(RawTier {
                    tier,
                    standard: standard.clone(),
                    paid: paid.clone(),
                    when,
                });
            }
        }
        for left in (1..tiers.len()).rev() {
            tiers.swap(left, dice.below(left as u64 + 1) as usize);
        }
        let (standard, paid) = self.prices[&Cell {
            level: 0,
            priority: false,
            peak: false,
        }]
            .clone();
        RawList {
            billing_unit: self.unit,
            standard,
            paid,
            tiers,
        }
    }

    fn conditions(&self, cell: Cell) -> Vec<Condition> {
        let mut when = Vec::new();
        if cell.level > 0 {
            when.push(Condition::ContextLen {
                context_len_gt: self.thresholds[cell.level - 1],
            });
        }
        if cell.priority {
            when.push(Condition::RequestAttr {
                path: "service_tier".to_owned(),
                equals: Scalar::from("priority"),
            });
        }
        if let (true, Some(peak)) = (cell.peak, &self.peak) {
            when.push(Condition::WallClock {
                timezone: peak.zone.to_owned(),
                weekdays: peak.weekdays.clone(),
                hours: peak.hours.clone(),
            });
        }
        when
    }

    /// The exact price in nano-USD.
    pub(crate) fn exact(
        &self,
        class: PriceClass,
        units: &Units,
        attributes: &Attributes,
        at: Timestamp,
    ) -> BigRational {
        let context = if self.unit == BillingUnit::Tokens {
            units.total_of(Side::Input)
        } else {
            0
        };
        let cell = Cell {
            level: self
                .thresholds
                .iter()
                .filter(|threshold| context > **threshold)
                .count(),
            priority: self.with_priority
                && attributes.get("service_tier") == Some(&Scalar::from("priority")),
            peak: self.peak.as_ref().is_some_and(|peak| peak.holds(at)),
        };
        let (standard, paid) = &self.prices[&cell];
        let faces = match class {
            PriceClass::Standard => standard,
            PriceClass::Paid => paid.as_ref().unwrap_or(standard),
        };
        let mut sum = BigRational::from_integer(BigInt::from(0));
        for (face, quantity) in units.iter() {
            let mut priced = face;
            while !faces.contains_key(&priced) {
                priced = priced.stand_in().unwrap();
            }
            sum += whole(quantity) * whole(faces[&priced].pico());
        }
        if self.unit == BillingUnit::AudioDuration {
            sum *= BigRational::new(BigInt::from(1_000), BigInt::from(60));
        }
        sum * whole(self.rate.numerator()) / whole(self.rate.denominator()) / whole(1_000)
    }

    /// Faces that this plan's unit bills.
    pub(crate) fn billed_faces(&self) -> Vec<Face> {
        // What a list may price and does not has no price, and no call uses it: only tokens stand in
        // for each other.
        let faces = Face::ALL.into_iter();
        let required = self.unit.required_faces();
        let bills = |face: &Face| self.unit == BillingUnit::Tokens || required.contains(face);
        faces
            .filter(|face| self.unit.may_price(*face) && bills(face))
            .collect()
    }

    /// Random use of a call.
    pub(crate) fn units(&self, dice: &mut Rng, most: u64) -> Units {
        self.billed_faces()
            .into_iter()
            .fold(Units::none(), |units, face| {
                let quantity = dice.magnitude(most);
                units.plus(face, quantity).unwrap()
            })
    }

    /// A moment between 1990 and 2060, often close to a change of the hour.
    pub(crate) fn moment(dice: &mut Rng) -> Timestamp {
        let hour = 175_000 + dice.below(613_000) as i64;
        let offset = [0, -1, 1, 1_800_000_000, -1_800_000_000][dice.below(5) as usize];
        Timestamp::from_micros(hour * 3_600_000_000 + offset)
    }

    pub(crate) fn attributes(dice: &mut Rng) -> Attributes {
        match dice.below(3) {
            0 => Attributes::none(),
            1 => Attributes::none().with("service_tier", "priority"),
            _ => Attributes::none().with("service_tier", "flex"),
        }
    }
}

impl Peak {
    fn new(dice: &mut Rng) -> Self {
        let zone = ZONES[dice.below(6) as usize];
        let some = |dice: &mut Rng, range: std::ops::Range<u8>| {
            let mut chosen: Vec<u8> = range.clone().filter(|_| dice.coin()).collect();
            if chosen.is_empty() {
                chosen.push(range.start);
            }
            chosen
        };
        Self {
            zone,
            weekdays: some(dice, 1..8),
            hours: some(dice, 0..24),
        }
    }

    fn is_always(&self) -> bool {
        self.weekdays.len() == 7 && self.hours.len() == 24
    }

    fn holds(&self, at: Timestamp) -> bool {
        let instant = jiff::Timestamp::from_microsecond(at.micros()).unwrap();
        let local = instant.to_zoned(TimeZone::get(self.zone).unwrap());
        let weekday = local.strftime("%u").to_string().parse::<u8>().unwrap();
        let hour = local.strftime("%H").to_string().parse::<u8>().unwrap();
        self.weekdays.contains(&weekday) && self.hours.contains(&hour)
    }
}

/// Limits that some units just fit into, with slack above in some directions.
pub(crate) fn limits_around(dice: &mut Rng, units: &Units) -> Limits {
    let headroom = |dice: &mut Rng, used: u64| {
        (used
            + if dice.coin() {
                0
            } else {
                dice.magnitude(1_000_000)
            })
        .min(MAX_QUANTITY)
    };
    Limits {
        input: headroom(dice, units.total_of(Side::Input)),
        output: headroom(dice, units.total_of(Side::Output)),
        calls: headroom(dice, units.of(Face::PerCall)),
        video_seconds: headroom(dice, units.of(Face::VideoSecond)),
    }
}

/// Half up, to a whole number.
pub(crate) fn half_up(exact: &BigRational) -> BigInt {
    (exact + BigRational::new(BigInt::from(1), BigInt::from(2)))
        .floor()
        .to_integer()
}

fn whole(number: u64) -> BigRational {
    BigRational::from_integer(BigInt::from(number))
}

fn priced(column: &BTreeMap<Face, u64>) -> Faces {
    column
        .iter()
        .map(|(face, pico)| (*face, UnitPrice::from_pico(*pico as i64).unwrap()))
        .collect()
}
