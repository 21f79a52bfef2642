//! `pricing_version`: one hash that names a whole set of prices, however it was written down.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use trunkline_terms::{BillingUnit, Ratio};

use crate::book::ModelPrices;
use crate::list::Tier;

/// Begins the hashed text, so that a later canonical form cannot be taken for this one.
const FORM: &str = "trunkline prices, form 1\n";

/// SHA-256 of the canonical form of a price set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PricingVersion([u8; 32]);

#[derive(Serialize)]
struct CanonicalModel<'a> {
    billing_unit: BillingUnit,
    groups: &'a [String],
    tiers: Vec<&'a Tier>,
}

// === impl PricingVersion ===

impl PricingVersion {
    /// Maps are sorted by their keys, tiers by their names; conditions were put into one spelling
    /// when the list was checked.
    pub(crate) fn of(
        groups: &BTreeMap<String, Ratio>,
        auto_groups: &[String],
        models: &BTreeMap<String, ModelPrices>,
    ) -> Self {
        let mut hash = Hashing(Sha256::new_with_prefix(FORM));
        let canonical_models: BTreeMap<&str, CanonicalModel<'_>> = models
            .iter()
            .map(|(name, model)| (name.as_str(), canonical(model)))
            .collect();
        // Writing maps of text, integers and lists into a hash has no way to fail.
        let written = serde_json::to_writer(&mut hash, &(groups, auto_groups, canonical_models));
        debug_assert!(written.is_ok(), "canonical form is plain data");
        Self(hash.0.finalize().into())
    }

    /// The bytes of the hash.
    #[must_use]
    pub const fn bytes(self) -> [u8; 32] {
        self.0
    }

    /// A version that was stored.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

/// Lower-case hexadecimal.
impl fmt::Display for PricingVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for PricingVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_fmt(format_args!("{self}"))
    }
}

impl Serialize for PricingVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn canonical(model: &ModelPrices) -> CanonicalModel<'_> {
    let mut tiers: Vec<&Tier> = model.list.tiers().iter().collect();
    tiers.sort_by(|left, right| left.tier.cmp(&right.tier));
    CanonicalModel {
        billing_unit: model.list.billing_unit(),
        groups: &model.groups,
        tiers,
    }
}

struct Hashing(Sha256);

impl std::io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
