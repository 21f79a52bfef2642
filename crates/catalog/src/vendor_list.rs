//! What a vendor asks for its model in public, by source, and how our price stands to it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trunkline_types::{Face, Ratio};

use crate::number::Number;
use crate::price_list::Faces;
use crate::unique_map::unique_keys;

/// Most list prices of one model: some sources for each of its tiers.
pub const MAX_SOURCES: usize = 64;
const USD: &str = "USD";

/// Prices that one source names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListPrice {
    /// The tier they are the vendor's prices of; none for the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    pub source: String,
    /// The day they were read.
    pub read_on: String,
    #[serde(default = "usd")]
    pub currency: String,
    /// USD for one unit of the currency; needed where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_rate: Option<Ratio>,
    /// What the prices are for, such as `1M tokens`.
    pub unit: String,
    /// How many of the billed units that is.
    pub per: u64,
    #[serde(deserialize_with = "unique_keys")]
    pub faces: BTreeMap<Face, String>,
}

/// How a price stands to the vendor's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The vendor's price is not known.
    Unverified,
    /// The same.
    AtList,
    BelowList,
    AboveList,
    SourcesDisagree,
}

/// The `vendor_list` of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VendorList {
    pub verdict: Verdict,
    /// How far the first face lies below the vendor's price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discount_pct: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_currency: Option<String>,
    /// The first face in that currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_input: Option<Number>,
    /// The same in USD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_input_usd: Option<Number>,
    /// Our price of the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selling_usd: Option<Number>,
    /// What the prices are for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_source: Option<String>,
    /// The day on which the oldest of them was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_at: Option<String>,
    /// One for each face that a vendor lists.
    pub faces: Vec<FaceVerdict>,
    /// Faces that are sold and that no vendor lists.
    pub unverified_faces: Vec<Face>,
}

/// How one face stands to the vendor's price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FaceVerdict {
    pub face: Face,
    /// The vendor's price in USD for the list's unit.
    pub list_usd: Number,
    /// Ours; null if it is not sold.
    pub selling_usd: Option<Number>,
    /// How far ours lies below; negative if above.
    pub discount_pct: Option<Number>,
    pub verdict: Verdict,
}

impl ListPrice {
    /// What is wrong with it, if anything.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let source: String = self.source.chars().take(40).collect();
        let mut say = |text: String| faults.push(format!("list price of {source:?}: {text}"));
        if self.source.trim().is_empty() {
            say("it has no source".to_owned());
        }
        if !is_day(&self.read_on) {
            say(format!("{:?} is no day such as 2026-11-15", self.read_on));
        }
        let is_currency_code = self.currency.bytes().all(|byte| byte.is_ascii_uppercase());
        if self.currency.len() != 3 || !is_currency_code {
            say("currency must be three capital letters".to_owned());
        }
        match (self.currency == USD, self.usd_rate) {
            (false, None) => say("it needs usd_rate, USD for one of its currency".to_owned()),
            (true, Some(rate)) if rate != Ratio::ONE => {
                say("usd_rate of USD is 1".to_owned());
            }
            (true, _) | (false, Some(_)) => {}
        }
        if self.per == 0 || self.unit.trim().is_empty() {
            say("it must say for which unit and how many billed units that is".to_owned());
        }
        if self.faces.is_empty() {
            say("it lists no face".to_owned());
        }
        for (face, text) in &self.faces {
            if Number::parse(text).is_none() {
                say(format!("{face} {text:?} is no decimal such as 0.28"));
            }
        }
        faults
    }

    fn in_usd(&self, face: Face) -> Option<Number> {
        let listed = Number::parse(self.faces.get(&face)?)?;
        let rate = self.usd_rate.unwrap_or(Ratio::ONE);
        let upper = listed.pico().checked_mul(i128::from(rate.numerator()))?;
        let half = i128::from(rate.denominator()).checked_div(2)?;
        let pico = upper
            .checked_add(half)?
            .checked_div(i128::from(rate.denominator()))?;
        Some(Number::from_pico(pico))
    }
}

/// Puts the prices of our default tier beside the vendor's.
#[must_use]
pub fn compare(list: &[ListPrice], sold: &Faces) -> VendorList {
    compare_tier(list, None, sold)
}

/// Puts the prices of a tier beside the vendor's for the same tier.
pub(crate) fn compare_tier(list: &[ListPrice], tier: Option<&str>, sold: &Faces) -> VendorList {
    let of_tier = |price: &&ListPrice| price.tier.as_deref() == tier;
    let list: Vec<&ListPrice> = list.iter().filter(of_tier).collect();
    let list = list.as_slice();
    let faces: Vec<FaceVerdict> = Face::ALL
        .into_iter()
        .filter_map(|face| compare_face(list, sold, face))
        .collect();
    let unverified_faces = sold
        .keys()
        .filter(|face| !faces.iter().any(|listed| listed.face == **face))
        .copied()
        .collect();
    let first = list.first().copied();
    let leading = faces.first();
    let mut sources: Vec<&str> = list.iter().map(|price| price.source.as_str()).collect();
    sources.dedup();
    let in_its_currency = || Number::parse(first?.faces.get(&leading?.face)?);
    VendorList {
        verdict: overall(&faces),
        discount_pct: leading.and_then(|face| face.discount_pct),
        list_currency: first.map(|price| price.currency.clone()),
        list_input: in_its_currency(),
        list_input_usd: leading.map(|face| face.list_usd),
        selling_usd: leading.and_then(|face| face.selling_usd),
        unit: first.map(|price| price.unit.clone()),
        list_source: first.map(|_| sources.join("; ")),
        verified_at: list.iter().map(|price| price.read_on.clone()).min(),
        faces,
        unverified_faces,
    }
}

fn compare_face(list: &[&ListPrice], sold: &Faces, face: Face) -> Option<FaceVerdict> {
    let listed: Vec<(Number, u64)> = list
        .iter()
        .filter_map(|price| Some((price.in_usd(face)?, price.per)))
        .collect();
    let (list_usd, per) = *listed.first()?;
    // Sources may list for different amounts: compared crosswise, nothing is rounded.
    let disagree = listed.iter().any(|(other, other_per)| {
        other.pico().checked_mul(i128::from(per))
            != list_usd.pico().checked_mul(i128::from(*other_per))
    });
    let selling = sold.get(&face).and_then(|price| {
        let pico = i128::from(price.pico()).checked_mul(i128::from(per))?;
        Some(Number::from_pico(pico))
    });
    let verdict = match selling {
        _ if disagree => Verdict::SourcesDisagree,
        None => Verdict::Unverified,
        Some(ours) => match ours.cmp(&list_usd) {
            std::cmp::Ordering::Less => Verdict::BelowList,
            std::cmp::Ordering::Equal => Verdict::AtList,
            std::cmp::Ordering::Greater => Verdict::AboveList,
        },
    };
    Some(FaceVerdict {
        face,
        list_usd,
        selling_usd: selling,
        discount_pct: selling.and_then(|ours| discount(list_usd, ours)),
        verdict,
    })
}

/// Percent below the list, with two places; none where the list is free.
fn discount(list: Number, ours: Number) -> Option<Number> {
    let less = list.pico().checked_sub(ours.pico())?;
    let pct = Number::fraction(less.checked_abs()?.checked_mul(100)?, list.pico(), 2)?;
    Some(if less < 0 {
        Number::from_pico(pct.pico().checked_neg()?)
    } else {
        pct
    })
}

fn overall(faces: &[FaceVerdict]) -> Verdict {
    let any = |verdict: Verdict| faces.iter().any(|face| face.verdict == verdict);
    [
        Verdict::SourcesDisagree,
        Verdict::AboveList,
        Verdict::BelowList,
        Verdict::AtList,
    ]
    .into_iter()
    .find(|verdict| any(*verdict))
    .unwrap_or(Verdict::Unverified)
}

/// `2026-11-15`.
pub(crate) fn is_day(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn usd() -> String {
    USD.to_owned()
}
