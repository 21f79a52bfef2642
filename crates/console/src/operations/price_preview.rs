//! What other prices would change: prices themselves, what is sold below cost or for nothing, and what the calls of
//! the last days would have cost, by model and by customer.

use std::collections::BTreeMap;
use std::sync::Arc;

use trunkline_catalog::{
    Attributes, Book, BookError, CatalogHeader, Document, Entry, Faces, GroupChoice, Model,
    PriceClass, PricingContext, quote,
};
use trunkline_db::{Database, DbError, Session};
use trunkline_ledger::usage::{self, SoldCall};
use trunkline_store::catalog::{self, HistoryError, entry_of, header_of};
use trunkline_store::channels::{Channel, CostBook};
use trunkline_types::{
    AccountId, Exact, Face, Money, RANDOM_BYTES, Ratio, RequestId, Timestamp, UnitPrice, Units,
};

/// Units that prices and costs are compared for.
const MILLION: u64 = 1_000_000;
const SECONDS_A_DAY: i64 = 86_400;
/// Calls that one question brings.
const PAGE: i64 = 5_000;
/// The columns of a price list.
const COLUMNS: [&str; 2] = ["standard", "paid"];

/// A change of the catalog.
#[derive(Debug, Clone, Default)]
pub struct CatalogChange {
    /// Groups and vendors; none if they stay.
    pub frame: Option<CatalogHeader>,
    /// Models that are new or other, and, without an entry, those to be sold no more.
    pub models: BTreeMap<String, Option<Entry>>,
}

/// One price that would be other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceChange {
    pub model: String,
    pub tier: String,
    pub column: &'static str,
    pub face: Face,
    pub before: Option<UnitPrice>,
    pub after: Option<UnitPrice>,
}

/// One face that would be sold for less than a channel takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BelowCost {
    pub model: String,
    pub channel: String,
    pub group: String,
    pub face: Face,
    /// For a million.
    pub sale: Money,
    pub cost: Money,
}

/// The calls of one model together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Repriced {
    pub calls: u64,
    pub was: Money,
    pub would_be: Money,
    /// What those whose cost is known cost us, and what they would be sold for.
    pub cost: Money,
    pub costed_sale: Money,
    /// Calls that the new prices have no price for.
    pub unpriced: u64,
}

/// What calls of the last days would have cost.
#[derive(Debug, Clone, Default)]
pub struct Traffic {
    pub models: BTreeMap<String, Repriced>,
    pub customers: BTreeMap<AccountId, Repriced>,
    /// Whether all calls were looked at, and not as many as may be.
    pub is_complete: bool,
}

/// Which calls are looked at.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Those that began then or later.
    pub since: Timestamp,
    /// At most so many; more change the picture little.
    pub max_calls: usize,
}

/// A book at a revision.
#[derive(Debug, thiserror::Error)]
pub enum BookAtError {
    #[error("there is no revision {0}")]
    Unknown(i64),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Book(#[from] BookError),
    #[error(transparent)]
    Db(#[from] DbError),
}

type Found<'a> = Option<&'a Arc<Model>>;

/// The whole catalog as it was at a revision.
pub async fn book_at(session: &mut Session, revision: i64) -> Result<Book, BookAtError> {
    let newest = catalog::newest(session).await?;
    if !(1..=newest).contains(&revision) {
        return Err(BookAtError::Unknown(revision));
    }
    let changes = catalog::changes_between(session, 0, revision).await?;
    let header = match changes.header {
        Some(header) => header_of(header)?,
        None => CatalogHeader::default(),
    };
    let mut models = BTreeMap::new();
    for (name, entry) in changes.models {
        if let Some(entry) = entry {
            let entry = entry_of(&name, entry)?;
            models.insert(name, entry);
        }
    }
    Ok(Book::check(Document::of_parts(header, models))?)
}

/// The change that leads from one catalog to exactly another one.
#[must_use]
pub fn change_to(target: &Book, before: &Book) -> CatalogChange {
    let (frame, models) = target.document().into_parts();
    let mut models: BTreeMap<String, Option<Entry>> = models
        .into_iter()
        .map(|(name, entry)| (name, Some(entry)))
        .collect();
    for name in before.models() {
        models.entry(name.to_owned()).or_insert(None);
    }
    CatalogChange {
        frame: Some(frame),
        models,
    }
}

/// Models whose entries, or whose groups' rates, are other.
#[must_use]
pub fn changed_models(before: &Book, after: &Book) -> Vec<String> {
    let entry = |book: &Book, name: &str| book.model(name).map(|model| model.entry().clone());
    let frame_changed = before.header() != after.header();
    let mut names: Vec<&str> = before.models().chain(after.models()).collect();
    names.sort_unstable();
    names.dedup();
    // A group's rate is a price of everything.
    let other = |name: &&str| frame_changed || entry(before, name) != entry(after, name);
    let names = names.into_iter().filter(other);
    names.map(str::to_owned).collect()
}

/// The prices of a model that are other.
#[must_use]
pub fn price_changes(name: &str, before: Found<'_>, after: Found<'_>) -> Vec<PriceChange> {
    let mut changes = Vec::new();
    for tier in tiers(before, after) {
        for column in COLUMNS {
            let (old, new) = (faces(before, tier, column), faces(after, tier, column));
            for face in Face::ALL {
                let price =
                    |faces: Option<&Faces>| faces.and_then(|faces| faces.get(&face)).copied();
                if price(old) != price(new) {
                    changes.push(PriceChange {
                        model: name.to_owned(),
                        tier: tier.to_owned(),
                        column,
                        face,
                        before: price(old),
                        after: price(new),
                    });
                }
            }
        }
    }
    changes
}

/// Prices that become zero and were not: a slip sells for nothing.
#[must_use]
pub fn zero_prices(changes: &[PriceChange]) -> Vec<PriceChange> {
    let is_zero = |price: Option<UnitPrice>| price.is_some_and(|price| price.pico() == 0);
    let zero = changes.iter();
    zero.filter(|change| is_zero(change.after) && !is_zero(change.before))
        .cloned()
        .collect()
}

/// The default prices in every group beside what each channel takes for the model.
#[must_use]
pub fn below_cost(name: &str, after: &Book, channels: &[Channel]) -> Vec<BelowCost> {
    let mut found = Vec::new();
    let Some(model) = after.model(name) else {
        return found;
    };
    let Some(tier) = model.list().default_tier() else {
        return found;
    };
    for channel in channels {
        let Some(theirs) = channel.models.get(name) else {
            continue;
        };
        let costs = channel.cost.as_ref().map(CostBook::from_json);
        let Some(Ok(costs)) = costs else { continue };
        for group in model.groups() {
            let Some(rate) = after.header().groups.get(group).map(|group| group.rate) else {
                continue;
            };
            let cheapest = tier.paid().unwrap_or(tier.faces(PriceClass::Standard));
            for (face, price) in cheapest {
                let units = Units::none().plus(*face, MILLION).unwrap_or_default();
                let cost = costs.cost_usd(theirs, &units);
                let sale = sale_of(*price, rate);
                if let (Some(cost), Some(sale)) = (cost, sale)
                    && sale < cost
                {
                    found.push(BelowCost {
                        model: name.to_owned(),
                        channel: channel.name.clone(),
                        group: group.clone(),
                        face: *face,
                        sale,
                        cost,
                    });
                }
            }
        }
    }
    found
}

/// Prices calls of some models anew.
pub async fn reprice(
    database: &Database,
    models: &[String],
    before: &Book,
    after: &Book,
    window: Window,
) -> Result<Traffic, DbError> {
    let mut traffic = Traffic {
        is_complete: true,
        ..Traffic::default()
    };
    let mut last = RequestId::new(window.since, [0; RANDOM_BYTES]);
    let mut seen = 0_usize;
    loop {
        if seen >= window.max_calls {
            traffic.is_complete = false;
            return Ok(traffic);
        }
        let calls = usage::sold_after(database, models, last, PAGE).await?;
        let Some(newest) = calls.last() else {
            return Ok(traffic);
        };
        last = newest.request;
        seen = seen.saturating_add(calls.len());
        for call in &calls {
            let price = priced(call, before, after);
            let model = traffic.models.entry(call.model.clone()).or_default();
            model.add(call, price);
            let customer = traffic.customers.entry(call.account).or_default();
            customer.add(call, price);
        }
    }
}

/// The first moment of the last days.
#[must_use]
pub fn days_ago(now: Timestamp, days: i64) -> Timestamp {
    now.plus_seconds(days.saturating_mul(SECONDS_A_DAY).saturating_neg())
}

// === impl Repriced ===

impl Repriced {
    fn add(&mut self, call: &SoldCall, price: Option<Money>) {
        self.calls = self.calls.saturating_add(1);
        self.was = plus(self.was, call.charged);
        let Some(price) = price else {
            self.unpriced = self.unpriced.saturating_add(1);
            return;
        };
        self.would_be = plus(self.would_be, price);
        if let Some(cost) = call.cost {
            self.cost = plus(self.cost, cost);
            self.costed_sale = plus(self.costed_sale, price);
        }
    }

    /// Whether what its cost is known of would be sold for less.
    #[must_use]
    pub fn loses(&self) -> bool {
        self.costed_sale < self.cost
    }
}

fn priced(call: &SoldCall, before: &Book, after: &Book) -> Option<Money> {
    let choice = GroupChoice::Named(&call.group);
    let (_, offer) = after.offer(&call.model, choice).ok()?;
    let class = if call.topped_up {
        PriceClass::Paid
    } else {
        PriceClass::Standard
    };
    // The tiers it was sold by are those of the prices before.
    let sold = before.model(&call.model).map(|model| model.list());
    let attributes = sold.map_or_else(Attributes::none, |list| {
        list.attributes_of(call.tier.as_deref())
    });
    let situation = PricingContext {
        attributes: &attributes,
        at: call.at,
    };
    let quote = quote(offer, class, &call.units, situation).ok()?;
    Some(quote.total)
}

fn tiers<'a>(before: Found<'a>, after: Found<'a>) -> Vec<&'a str> {
    let mut tiers: Vec<&str> = Vec::new();
    for model in [before, after].into_iter().flatten() {
        tiers.extend(model.list().tiers().iter().map(|tier| tier.name()));
    }
    tiers.sort_unstable();
    tiers.dedup();
    tiers
}

fn faces<'a>(model: Found<'a>, tier: &str, column: &str) -> Option<&'a Faces> {
    let mut tiers = model?.list().tiers().iter();
    let tier = tiers.find(|one| one.name() == tier)?;
    match column {
        "paid" => tier.paid(),
        _ => Some(tier.faces(PriceClass::Standard)),
    }
}

fn sale_of(price: UnitPrice, rate: Ratio) -> Option<Money> {
    let line = Exact::line(MILLION, price).ok()?;
    line.times(rate).ok()?.round_half_up().ok()
}

fn plus(one: Money, other: Money) -> Money {
    one.checked_add(other).unwrap_or(one)
}
