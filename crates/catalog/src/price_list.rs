//! The price list of one model: a default tier and, above it, tiers that hold in narrower
//! situations. A [`PriceList`] exists only if every check passed.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize};
use trunkline_types::{BillingUnit, Defect, Face, UnitPrice};

use crate::check::{self, Finding};
use crate::condition::{Condition, Point, Region};
use crate::hour_of_week::hour_of_week;
use crate::pricing_context::{Attributes, PricingContext, Scalar};
use crate::unique_map::unique_keys;

/// Most tiers in one list, the default included.
pub const MAX_TIERS: usize = 16;

/// Prices by face.
pub type Faces = BTreeMap<Face, UnitPrice>;

/// Name of the default tier when the book gives it none.
const DEFAULT_TIER: &str = "standard";

/// Which of the two columns of a list an account pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceClass {
    /// Accounts that never topped up.
    Standard,
    /// Accounts that topped up at least once.
    Paid,
}

/// A price list as it is written in a book, unchecked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawList {
    pub billing_unit: BillingUnit,
    /// Prices of the default tier.
    #[serde(deserialize_with = "unique_keys")]
    pub standard: Faces,
    /// Prices of the default tier for accounts that topped up.
    #[serde(
        default,
        deserialize_with = "optional_faces",
        skip_serializing_if = "Option::is_none"
    )]
    pub paid: Option<Faces>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<RawTier>,
}

/// A tier as it is written in a book, unchecked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawTier {
    pub tier: String,
    #[serde(deserialize_with = "unique_keys")]
    pub standard: Faces,
    /// Prices in this tier for accounts that topped up.
    #[serde(
        default,
        deserialize_with = "optional_faces",
        skip_serializing_if = "Option::is_none"
    )]
    pub paid: Option<Faces>,
    /// What must hold; nothing for the default tier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<Condition>,
}

#[derive(Debug, Clone)]
pub struct PriceList {
    billing_unit: BillingUnit,
    /// Narrow tiers before the tiers that contain them, so the first that holds is the one; the
    /// default tier, which always holds, is last.
    tiers: Vec<Tier>,
    zone: Option<TimeZone>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Tier {
    pub(crate) tier: String,
    pub(crate) standard: Faces,
    pub(crate) paid: Option<Faces>,
    pub(crate) when: Vec<Condition>,
    #[serde(skip)]
    pub(crate) region: Region,
}

// === impl RawList ===

impl RawList {
    /// Checks the list and puts its tiers in order.
    pub fn check(self) -> Result<PriceList, Vec<Finding>> {
        check::list(self)
    }

    /// The default tier and the others, each in canonical form.
    pub(crate) fn into_tiers(self) -> Vec<RawTier> {
        let mut tiers = self.tiers;
        for tier in &mut tiers {
            tier.when = tier.when.drain(..).map(Condition::canonical).collect();
            tier.when.sort();
            tier.when.dedup();
        }
        // A book may repeat the default tier inside `tiers`, to give it a name.
        let repeated = |tier: &RawTier| {
            tier.when.is_empty() && tier.standard == self.standard && tier.paid == self.paid
        };
        let name = match tiers.iter().position(repeated) {
            Some(position) => tiers.remove(position).tier,
            None => DEFAULT_TIER.to_owned(),
        };
        tiers.push(RawTier {
            tier: name,
            standard: self.standard,
            paid: self.paid,
            when: Vec::new(),
        });
        tiers
    }
}

// === impl PriceList ===

impl PriceList {
    pub(crate) fn assemble(
        billing_unit: BillingUnit,
        tiers: Vec<Tier>,
        zone: Option<TimeZone>,
    ) -> Self {
        Self {
            billing_unit,
            tiers,
            zone,
        }
    }

    #[must_use]
    pub const fn billing_unit(&self) -> BillingUnit {
        self.billing_unit
    }

    /// All tiers; the default is last.
    #[must_use]
    pub fn tiers(&self) -> &[Tier] {
        &self.tiers
    }

    /// The tier that always holds.
    #[must_use]
    pub fn default_tier(&self) -> Option<&Tier> {
        self.tiers.last()
    }

    /// What a call must have said to have been priced by a tier, as far as the tier's name tells: the
    /// fields of past calls are not stored.
    #[must_use]
    pub fn attributes_of(&self, tier: Option<&str>) -> Attributes {
        let tier = self.tiers().iter().find(|one| Some(one.name()) == tier);
        let conditions = tier.map(Tier::when).unwrap_or_default();
        let mut attributes = Attributes::none();
        for condition in conditions {
            if let Condition::RequestAttr { path, equals } = condition {
                attributes = attributes.with(path, equals.clone());
            }
        }
        attributes
    }

    /// The fields of a request that tiers compare with.
    pub fn request_paths(&self) -> impl Iterator<Item = &str> {
        let regions = self.tiers.iter().map(|tier| &tier.region);
        regions.flat_map(|region| region.attributes.keys().map(String::as_str))
    }

    /// Whether some tier is for a value of a field: then the value has a price.
    #[must_use]
    pub fn sells(&self, path: &str, value: &Scalar) -> bool {
        let regions = self.tiers.iter().map(|tier| &tier.region);
        regions
            .into_iter()
            .any(|region| region.attributes.get(path) == Some(value))
    }

    /// The tier that holds for a context length in a situation: the narrowest of those whose
    /// conditions all hold.
    pub(crate) fn tier_at(&self, context_len: u64, context: PricingContext<'_>) -> Option<&Tier> {
        let hour = match &self.zone {
            Some(zone) => hour_of_week(zone, context.at)?,
            None => 0,
        };
        let point = Point {
            context_len,
            attributes: context.attributes,
            hour,
        };
        let mut holding = self
            .tiers
            .iter()
            .skip_while(|tier| !tier.region.contains(point));
        let tier = holding.next();
        if Defect::WrongPriceTier.is_on() {
            return holding.next().or(tier);
        }
        tier
    }

    /// Context lengths at which another tier may begin to hold, and zero.
    pub(crate) fn context_steps(&self) -> impl Iterator<Item = u64> {
        let over = self
            .tiers
            .iter()
            .filter_map(|tier| tier.region.context_over);
        std::iter::once(0).chain(over.map(|threshold| threshold.saturating_add(1)))
    }
}

// === impl Tier ===

impl Tier {
    #[must_use]
    pub fn name(&self) -> &str {
        &self.tier
    }

    /// What must hold; empty for the default tier.
    #[must_use]
    pub fn when(&self) -> &[Condition] {
        &self.when
    }

    /// The column an account pays.
    #[must_use]
    pub fn faces(&self, class: PriceClass) -> &Faces {
        match (class, &self.paid) {
            (PriceClass::Paid, Some(paid)) => paid,
            (PriceClass::Paid, None) | (PriceClass::Standard, _) => &self.standard,
        }
    }

    /// The column of accounts that topped up, where it has one of its own.
    #[must_use]
    pub const fn paid(&self) -> Option<&Faces> {
        self.paid.as_ref()
    }

    /// The price of a face and the face it was found under: itself, or its stand-in.
    #[must_use]
    pub fn price(&self, face: Face, class: PriceClass) -> Option<(Face, UnitPrice)> {
        let faces = self.faces(class);
        let mut next = Some(face);
        while let Some(current) = next {
            if let Some(price) = faces.get(&current) {
                return Some((current, *price));
            }
            next = current.stand_in();
        }
        None
    }
}

fn optional_faces<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Faces>, D::Error> {
    #[derive(Deserialize)]
    struct Checked(#[serde(deserialize_with = "unique_keys")] Faces);
    Ok(Option::<Checked>::deserialize(deserializer)?.map(|Checked(faces)| faces))
}
