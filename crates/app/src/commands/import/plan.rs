//! What another gateway has, in our words, before anything is compared or written.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde_json::{Value, json};
use trunkline_catalog::{Document, Entry, Faces, RawList, Vendor};
use trunkline_types::{BillingUnit, Money, Ratio, Secret, Timestamp};

/// What is to be imported.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) groups: BTreeMap<String, Ratio>,
    pub(super) vendors: BTreeMap<String, Vendor>,
    pub(super) models: BTreeMap<String, Entry>,
    pub(super) channels: Vec<PlannedChannel>,
    pub(super) users: Vec<PlannedUser>,
    /// What is left out, and why.
    pub(super) skipped: Vec<Remark>,
    /// What is imported otherwise than it was.
    pub(super) differences: Vec<Remark>,
    /// What the other gateway has and we do not read.
    pub(super) ignored: Vec<String>,
}

pub(super) struct PlannedChannel {
    pub(super) name: String,
    pub(super) provider: String,
    pub(super) base_url: Option<String>,
    /// Credentials by their labels.
    pub(super) keys: Vec<(String, Secret)>,
    /// Our names and the upstream's.
    pub(super) models: BTreeMap<String, String>,
    pub(super) groups: Vec<String>,
    pub(super) priority: i32,
    pub(super) weight: u32,
    /// Whether it takes calls.
    pub(super) is_on: bool,
    /// What the upstream takes, by its names.
    pub(super) cost: BTreeMap<String, Faces>,
}

pub(super) struct PlannedUser {
    /// Its number at the source.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) email: String,
    pub(super) group: String,
    pub(super) balance: Money,
    pub(super) is_on: bool,
    pub(super) keys: Vec<PlannedKey>,
}

pub(super) struct PlannedKey {
    pub(super) name: String,
    pub(super) group: Option<String>,
    pub(super) models: Option<Vec<String>>,
    pub(super) addresses: Option<Vec<String>>,
    pub(super) expires: Option<Timestamp>,
    /// What it may spend in all.
    pub(super) cap: Option<Money>,
}

/// Something the report names.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(super) struct Remark {
    /// `channel`, `model`, `group`, `user` or `key`.
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) reason: String,
}

// === impl Plan ===

impl Plan {
    pub(super) fn skip(&mut self, kind: &'static str, name: &str, reason: impl Into<String>) {
        self.skipped.push(Remark::new(kind, name, reason));
    }

    pub(super) fn differs(&mut self, kind: &'static str, name: &str, reason: impl Into<String>) {
        self.differences.push(Remark::new(kind, name, reason));
    }

    /// Sells a model as a record of the starter catalog does.
    pub(super) fn sell_known(&mut self, name: &str, mut entry: Entry, starter: &Document) {
        if let Some(vendor) = &entry.vendor {
            match starter.vendors.get(vendor) {
                Some(known) => drop(self.vendors.insert(vendor.clone(), known.clone())),
                None => entry.vendor = None,
            }
        }
        self.models.insert(name.to_owned(), entry);
    }
}

// === impl Remark ===

impl Remark {
    pub(super) fn new(kind: &'static str, name: &str, reason: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            reason: reason.into(),
        }
    }
}

/// Whether a text can be a group or a model of a channel: visible ASCII without commas.
pub(super) fn is_word(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_graphic() && byte != b',';
    !text.is_empty() && text.len() <= 128 && text.bytes().all(legal)
}

/// A record for prices of our own: what the starter catalog knows of the model, or the least that a chat
/// model needs. A record that is sold by another unit does not fit.
pub(super) fn record(
    known: Option<&Entry>,
    groups: &[String],
    unit: BillingUnit,
    prices: Faces,
    specs: &Value,
) -> anyhow::Result<Entry> {
    let prices = RawList {
        billing_unit: unit,
        standard: prices,
        paid: None,
        tiers: Vec::new(),
    };
    if let Some(known) = known {
        let unit = known.prices.billing_unit;
        anyhow::ensure!(
            unit == prices.billing_unit,
            "it is sold by {} here; put it on sale by `trunkline catalog import`",
            serde_json::to_value(unit)?
        );
        let mut entry = known.clone();
        entry.groups = groups.to_vec();
        entry.prices = prices;
        entry.list.retain(|price| price.tier.is_none());
        return Ok(entry);
    }
    let entry = json!({
        "groups": groups,
        "prices": prices,
        "tasks": ["chat"],
        "specs": specs,
    });
    serde_json::from_value(entry).context("the record cannot be made")
}
