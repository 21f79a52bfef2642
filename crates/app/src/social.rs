//! Cells of social data and their records: which cells this installation knows, and what the catalog
//! says of one. Prices come from the cells' files and are the operator's to change.

use anyhow::{Context as _, anyhow, bail};
use trunkline_catalog::{Book, Document, Entry, Faces, ListPrice, PriceClass, RawList, Specs};
use trunkline_gateway::cells_with_folder;
use trunkline_social::{Cell, Cells};
use trunkline_types::{BillingUnit, Face, Money, UnitPrice};

use crate::config::Config;

/// The task of every record of a cell.
const TASK: &str = "social-data";
/// The groups that records of cells are sold in, as those of models are.
const GROUPS: [&str; 2] = ["default", "vip"];
/// Where published prices stand, and the day they were read.
const PUBLISHED: &str = "published price list of the social data endpoints, section 4.2";
const PUBLISHED_ON: &str = "2026-11-15";
/// Source of a price that is not published.
const OWN: &str = "the operator's own price list";
/// Pico-USD, in which records are written, in a nano-USD.
const PICO_IN_NANO: i64 = 1_000;

/// What a cell may be sold for, and why that much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Proposal {
    pub(crate) price: Money,
    pub(crate) basis: Basis,
}

/// What a proposed price rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The price of the cell's file.
    Published,
    /// Twice what the source asks.
    TwiceTheCost,
}

// === impl Basis ===

impl Basis {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Published => "the published price",
            Self::TwiceTheCost => "2 × the source's price",
        }
    }
}

/// The cells in force: those built in and those of `social.cells`.
pub(crate) fn cells(config: &Config) -> anyhow::Result<Cells> {
    let Some(folder) = &config.social.cells else {
        return builtin();
    };
    cells_with_folder(folder).context("the platforms of social.cells cannot be used")
}

fn builtin() -> anyhow::Result<Cells> {
    Cells::builtin().context("the built-in platforms of social data cannot be read")
}

/// The starter catalog: what vendors sell, and every cell with a published price.
pub(crate) fn starter() -> anyhow::Result<Document> {
    let mut whole = trunkline_catalog::starter().context("the starter catalog cannot be read")?;
    let mut records = Document::default();
    for cell in builtin()?.all() {
        let Some(price) = cell.price else { continue };
        let published = Proposal {
            price,
            basis: Basis::Published,
        };
        let entry = record(cell, published, &GROUPS.map(str::to_owned))?;
        records.models.insert(cell.model.clone(), entry);
    }
    let merged = whole.merge(records);
    merged.map_err(|twice| anyhow!("said twice: {}", twice.join(", ")))?;
    Ok(whole)
}

/// Writes a record for every cell, at the price that would be proposed.
pub(crate) fn add_records(catalog: &mut Document, cells: &Cells) -> anyhow::Result<()> {
    for cell in cells.all() {
        let entry = record(cell, proposal(cell)?, &GROUPS.map(str::to_owned))?;
        catalog.models.insert(cell.model.clone(), entry);
    }
    Ok(())
}

/// What a cell may be sold for: its published price, or else twice what the source asks.
pub(crate) fn proposal(cell: &Cell) -> anyhow::Result<Proposal> {
    if let Some(price) = cell.price {
        let basis = Basis::Published;
        return Ok(Proposal { price, basis });
    }
    Ok(Proposal {
        price: cell.cost.usd.checked_add(cell.cost.usd)?,
        basis: Basis::TwiceTheCost,
    })
}

/// The record that sells a cell at a price. One that is there keeps everything but its prices.
pub(crate) fn priced(cell: &Cell, proposal: Proposal, book: &Book) -> anyhow::Result<Entry> {
    let known = GROUPS.map(str::to_owned).into_iter();
    let groups: Vec<String> = known
        .filter(|group| book.header().groups.contains_key(group))
        .collect();
    if groups.is_empty() {
        bail!(
            "the catalog has neither a group {} nor {}: import one first, such as \
             `trunkline catalog import --starter`",
            GROUPS[0],
            GROUPS[1]
        );
    }
    let new = record(cell, proposal, &groups)?;
    let Some(model) = book.model(&cell.model) else {
        return Ok(new);
    };
    Ok(Entry {
        prices: new.prices,
        list: new.list,
        ..model.entry().clone()
    })
}

/// Whether the catalog says what a call of a cell costs, in whatever group.
pub(crate) fn is_priced(book: &Book, cell: &Cell) -> bool {
    let tier = book
        .model(&cell.model)
        .and_then(|model| model.list().default_tier());
    let price = tier.and_then(|tier| tier.price(Face::PerCall, PriceClass::Paid));
    price.is_some()
}

fn record(cell: &Cell, proposal: Proposal, groups: &[String]) -> anyhow::Result<Entry> {
    let pico = proposal.price.nanos().checked_mul(PICO_IN_NANO);
    let pico = pico.with_context(|| format!("{} costs too much", cell.model))?;
    let (source, read_on) = match proposal.basis {
        Basis::Published => (PUBLISHED, PUBLISHED_ON),
        Basis::TwiceTheCost => (OWN, cell.cost.read_on.as_str()),
    };
    let list = ListPrice {
        tier: None,
        source: source.to_owned(),
        read_on: read_on.to_owned(),
        currency: "USD".to_owned(),
        usd_rate: None,
        unit: "1 call".to_owned(),
        per: 1,
        faces: [(Face::PerCall, proposal.price.to_string())].into(),
    };
    Ok(Entry {
        groups: groups.to_vec(),
        prices: RawList {
            billing_unit: BillingUnit::PerCall,
            standard: Faces::from([(Face::PerCall, UnitPrice::from_pico(pico)?)]),
            paid: None,
            tiers: Vec::new(),
        },
        vendor: None,
        description: Some(format!(
            "{} {}. One page is one call; a call without a result is free.",
            cell.capability.sentence(),
            cell.platform.name
        )),
        icon: None,
        tags: Vec::new(),
        login_required: false,
        endpoints: Vec::new(),
        capabilities: Vec::new(),
        tasks: vec![TASK.to_owned()],
        specs: Specs::default(),
        default_voice: None,
        default_response_format: None,
        speech_input: None,
        accepted_upload_formats: None,
        list: vec![list],
        rules: Vec::new(),
        parameters: Default::default(),
        extra_prices: Default::default(),
        pass_fields: Vec::new(),
        created: 0,
        deprecated_on: None,
        sunset_on: None,
        replaced_by: None,
    })
}

#[cfg(test)]
mod tests;
