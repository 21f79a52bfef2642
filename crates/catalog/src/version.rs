//! `pricing_version`: one hash that names a whole set of prices, however it was written down.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use trunkline_types::BillingUnit;

use crate::document::CatalogHeader;
use crate::extra_prices::ExtraPrices;
use crate::model::Model;
use crate::price_list::{PriceList, Tier};

/// Begins the hashed text, so that a later canonical form cannot be taken for this one.
const FORM: &str = "trunkline prices, form 2\n";

/// The hash of one model's prices: the whole is a hash of these, so that a change of one price does
/// not hash all.
pub(crate) type PricesDigest = [u8; 32];

/// SHA-256 of the canonical form of a price set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PricingVersion([u8; 32]);

#[derive(Serialize)]
struct CanonicalModel<'a> {
    billing_unit: BillingUnit,
    groups: &'a [String],
    tiers: Vec<&'a Tier>,
    /// Left out where there are none: versions of before stay what they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_prices: Option<&'a ExtraPrices>,
}

// === impl PricingVersion ===

impl PricingVersion {
    /// Groups and models come sorted by name; what a model's prices are was hashed when it was
    /// checked.
    pub(crate) fn of<'a>(
        header: &CatalogHeader,
        models: impl Iterator<Item = (&'a str, &'a Model)>,
    ) -> Self {
        let mut hash = Hashing(Sha256::new_with_prefix(FORM));
        let rates: BTreeMap<&str, String> = header
            .groups
            .iter()
            .map(|(name, group)| (name.as_str(), group.rate.to_string()))
            .collect();
        hash.json(&(rates, &header.auto_groups));
        for (name, model) in models {
            hash.json(&name);
            hash.0.update(model.digest());
        }
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

/// The hash of a model's prices and of the groups it is sold in. Tiers are sorted by their names;
/// conditions were put into one spelling when the list was checked.
pub(crate) fn prices_digest(
    groups: &[String],
    list: &PriceList,
    extra: &ExtraPrices,
) -> PricesDigest {
    let mut tiers: Vec<&Tier> = list.tiers().iter().collect();
    tiers.sort_by(|left, right| left.tier.cmp(&right.tier));
    let mut hash = Hashing(Sha256::new());
    hash.json(&CanonicalModel {
        billing_unit: list.billing_unit(),
        groups,
        tiers,
        extra_prices: Some(extra).filter(|extra| !extra.is_empty()),
    });
    hash.0.finalize().into()
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

impl Hashing {
    /// Writing text, integers and lists into a hash has no way to fail.
    fn json(&mut self, value: &impl Serialize) {
        let written = serde_json::to_writer(self, value);
        debug_assert!(written.is_ok(), "the canonical form is plain data");
    }
}
