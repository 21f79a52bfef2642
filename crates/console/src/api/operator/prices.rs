//! Prices before they are published, published, and taken back. What would be sold below its cost, or for nothing,
//! stops a change unless the operator allows it.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::json;
use trunkline_catalog::{Book, Entry, Group};
use trunkline_store::action_log::NewAction;
use trunkline_store::channels::{self, Channel};
use trunkline_store::{accounts, catalog as store};
use trunkline_types::{AccountId, Face, UnitPrice};
use utoipa::ToSchema;

use super::catalog::{GroupChange, PriceChangeView, groups_between, prices_between};
use super::views::reason;
use crate::api::customer::query;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::gateway_port::{MakeChange, PublishFault, PublishedPrices};
use crate::json_body::JsonBody;
use crate::operations::price_preview::{
    BelowCost, CatalogChange, PriceChange, Repriced, Traffic, Window, below_cost, book_at,
    change_to, changed_models, days_ago, price_changes, reprice, zero_prices,
};
use crate::operator_bodies::{
    CatalogChangeBody, PreviewBody, PriceEdit, PublishBody, RollbackBody,
};
use crate::operator_session::{May, Operator, PricesWrite};
use crate::shared::Shared;

/// How far back a preview looks.
const DAYS: i64 = 30;
/// Calls that a preview looks at: so many fit into the time of a request.
const MAX_CALLS: usize = 100_000;
/// Customers that a preview names.
const MAX_CUSTOMERS: usize = 100;
/// Things that an error names.
const MAX_NAMED: usize = 3;

/// What a change of prices would do.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PricePreview {
    /// Revision that it was compared with.
    base_revision: i64,
    /// Hash of all prices after it.
    pricing_version: String,
    /// Models that change.
    models: Vec<String>,
    /// Prices that change, at most 2,000.
    prices: Vec<PriceChangeView>,
    /// Groups whose rates change.
    groups: Vec<GroupChange>,
    /// Calls of the last 30 days under the new prices, by model.
    last_30_days: Vec<RepricedModel>,
    /// The same by customer, the most changed first, at most 100.
    customers: Vec<RepricedCustomer>,
    /// What would be sold for less than a channel takes.
    below_cost: Vec<BelowCostLine>,
    /// Prices that become zero.
    zero: Vec<PriceChangeView>,
    /// Whether it is published only with `allow_below_cost`.
    is_stopped: bool,
    /// Whether all calls were looked at; false if there are too many.
    is_complete: bool,
}

/// Calls of a model under new prices.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RepricedModel {
    /// Public name.
    model: String,
    /// Calls.
    calls: u64,
    /// What they were charged.
    #[schema(example = "10")]
    was_usd: String,
    /// What they would be charged.
    #[schema(example = "12")]
    would_be_usd: String,
    /// What upstreams bill for those whose cost is known.
    known_cost_usd: String,
    /// What those would be charged.
    would_be_of_known_cost_usd: String,
    /// Calls that the new prices have no price for.
    unpriced_calls: u64,
    /// Whether those whose cost is known would be sold below it.
    is_below_cost: bool,
}

/// Calls of a customer under new prices.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RepricedCustomer {
    /// Account id.
    id: i64,
    /// Name.
    name: String,
    /// Calls.
    calls: u64,
    /// What they were charged.
    was_usd: String,
    /// What they would be charged.
    would_be_usd: String,
}

/// A face that would be sold for less than a channel takes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BelowCostLine {
    /// Public name of the model.
    model: String,
    /// Channel.
    channel: String,
    /// Group.
    group: String,
    /// Face.
    face: String,
    /// Sale of a million.
    sale_usd_per_million: String,
    /// Cost of a million.
    cost_usd_per_million: String,
}

/// A change that was published.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PublishedChange {
    /// Revision; the same as before if nothing was other.
    revision: i64,
    /// Hash of all prices.
    pricing_version: String,
    /// Models that were added, changed or taken off.
    models: usize,
}

/// What stops a change.
#[derive(Debug, Default)]
pub(super) struct Stops {
    below: Vec<BelowCost>,
    zero: Vec<PriceChange>,
}

/// Shows what a change of prices, or a return to a revision, would do. Nothing is changed.
#[utoipa::path(post, path = "/api/operator/catalog/preview", operation_id = "preview_prices", tag = "catalog",
    request_body = PreviewBody,
    responses((status = 200, description = "The preview", body = PricePreview)))]
pub(super) async fn preview(
    State(shared): State<Shared>,
    operator: Operator,
    JsonBody(body): JsonBody<PreviewBody>,
) -> Result<Json<PricePreview>, ApiError> {
    let before = shared.gateway.book();
    let mut session = shared.people.session().await?;
    let base_revision = store::newest(&mut session).await?;
    let channels = channels::list(&mut session).await?;
    let change = match (&body.change, body.revision) {
        (Some(change), None) => read(change, &before).map_err(wrong)?,
        (None, Some(revision)) => change_to(&book_at(&mut session, revision).await?, &before),
        (None, None) | (Some(_), Some(_)) => {
            let text = "give either `change` or `revision`";
            return Err(ApiError::new(ConsoleErrorCode::Invalid, text));
        }
    };
    drop(session);
    let after = before.changed(change.frame, change.models);
    let after = after.map_err(|error| wrong(error.to_string()))?;
    let models = changed_models(&before, &after);
    let stops = Stops::of(&models, &before, &after, &channels);
    let window = Window {
        since: days_ago(operator.now, DAYS),
        max_calls: MAX_CALLS,
    };
    let traffic = reprice(&shared.data, &models, &before, &after, window).await?;
    let is_losing = traffic.models.values().any(Repriced::loses);
    let customers = customers(&shared, &traffic).await?;
    let by_model = traffic.models.iter();
    Ok(Json(PricePreview {
        base_revision,
        pricing_version: after.version().to_string(),
        prices: prices_between(&models, &before, &after),
        groups: groups_between(&before, &after),
        last_30_days: by_model
            .map(|(name, calls)| RepricedModel::of(name, calls))
            .collect(),
        customers,
        below_cost: stops.below.iter().map(BelowCostLine::of).collect(),
        zero: stops.zero.iter().map(PriceChangeView::of).collect(),
        is_stopped: stops.is_any() || is_losing,
        is_complete: traffic.is_complete,
        models,
    }))
}

/// Publishes a change of prices or records. Every node follows within seconds.
#[utoipa::path(post, path = "/api/operator/catalog/publish", operation_id = "publish_prices", tag = "catalog",
    request_body = PublishBody,
    responses(
        (status = 200, description = "Published", body = PublishedChange),
        (status = 409, description = "Below cost (`below_cost`), or a newer revision (`conflict`)", body = ErrorBody)
    ))]
pub(super) async fn publish(
    State(shared): State<Shared>,
    operator: May<PricesWrite>,
    JsonBody(body): JsonBody<PublishBody>,
) -> Result<Json<PublishedChange>, ApiError> {
    let note = reason(&body.note)?;
    let publication = Publication {
        action: "publish_prices",
        note: &note,
        base_revision: body.base_revision,
        allow_below_cost: body.allow_below_cost,
    };
    let change = body.change;
    let make = Box::new(move |before: &Book| read(&change, before));
    publish_change(&shared, &operator, &publication, make).await
}

/// Returns the catalog to a revision, by publishing it again.
#[utoipa::path(post, path = "/api/operator/catalog/rollback", operation_id = "rollback_prices", tag = "catalog",
    request_body = RollbackBody,
    responses(
        (status = 200, description = "Published", body = PublishedChange),
        (status = 409, description = "Below cost (`below_cost`)", body = ErrorBody)
    ))]
pub(super) async fn rollback(
    State(shared): State<Shared>,
    operator: May<PricesWrite>,
    JsonBody(body): JsonBody<RollbackBody>,
) -> Result<Json<PublishedChange>, ApiError> {
    let note = reason(&body.note)?;
    let mut session = shared.people.session().await?;
    let target = book_at(&mut session, body.revision).await?;
    drop(session);
    let publication = Publication {
        action: "rollback_prices",
        note: &note,
        base_revision: None,
        allow_below_cost: body.allow_below_cost,
    };
    let make = Box::new(move |before: &Book| Ok(change_to(&target, before)));
    publish_change(&shared, &operator, &publication, make).await
}

/// How a change is published.
struct Publication<'a> {
    action: &'a str,
    note: &'a str,
    /// The revision that the operator looked at.
    base_revision: Option<i64>,
    allow_below_cost: bool,
}

async fn publish_change(
    shared: &Shared,
    operator: &Operator,
    publication: &Publication<'_>,
    make: MakeChange<'_>,
) -> Result<Json<PublishedChange>, ApiError> {
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let published = async {
        let (author, note) = (operator.email.as_str(), publication.note);
        let done = shared.gateway.publish(&mut tx, author, note, make).await;
        let done = done.map_err(publish_fault)?;
        let base = publication.base_revision;
        if base.is_some_and(|base| base != done.before_revision) {
            let text = "the catalog has changed since it was looked at; look at the preview again. \
                        Nothing was changed";
            return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
        }
        let channels = channels::list(&mut tx).await?;
        let models = changed_models(&done.before, &done.after);
        let stops = Stops::of(&models, &done.before, &done.after, &channels);
        if !publication.allow_below_cost {
            stops.refuse()?;
        }
        let action = NewAction {
            action: publication.action,
            subject: &format!("catalog revision {}", done.revision),
            before: Some(logged(&done.before, done.before_revision, &[])),
            after: Some(logged(&done.after, done.revision, &models)),
            reason: Some(note),
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await?;
        Ok(done)
    };
    let published = published.await;
    let done: PublishedPrices = tx.finish(published).await?;
    Ok(Json(PublishedChange {
        revision: done.revision,
        pricing_version: done.after.version().to_string(),
        models: done.models,
    }))
}

pub(super) fn logged(book: &Book, revision: i64, models: &[String]) -> serde_json::Value {
    json!({
        "revision": revision, "pricing_version": book.version().to_string(), "models": models,
    })
}

/// The change that a body asks for, of a book.
pub(super) fn read(body: &CatalogChangeBody, before: &Book) -> Result<CatalogChange, String> {
    let mut change = CatalogChange::default();
    if !body.groups.is_empty() {
        let mut frame = before.header().clone();
        for (name, group) in &body.groups {
            let rate = group.rate.parse();
            let rate = rate.map_err(|_| format!("the rate of group {name:?} is not a rate"))?;
            frame.groups.insert(name.clone(), Group { rate });
        }
        change.frame = Some(frame);
    }
    for (name, entry) in &body.models {
        let entry = match entry {
            Some(value) => {
                let entry = serde_json::from_value::<Entry>(value.clone());
                Some(entry.map_err(|error| format!("the record of {name:?}: {error}"))?)
            }
            None => None,
        };
        change.models.insert(name.clone(), entry);
    }
    for edit in &body.prices {
        let entry = repriced(edit, before, &change.models)?;
        change.models.insert(edit.model.clone(), Some(entry));
    }
    Ok(change)
}

/// A record with other prices: that of this change, or of the book.
fn repriced(
    edit: &PriceEdit,
    before: &Book,
    changed: &BTreeMap<String, Option<Entry>>,
) -> Result<Entry, String> {
    let model = &edit.model;
    let own = changed.get(model).cloned().flatten();
    let known = || before.model(model).map(|model| model.entry().clone());
    let mut entry = own
        .or_else(known)
        .ok_or_else(|| format!("there is no model {model:?}"))?;
    let list = &mut entry.prices;
    let (standard, paid) = match &edit.tier {
        None => (&mut list.standard, &mut list.paid),
        Some(name) => {
            let tier = list.tiers.iter_mut().find(|tier| tier.tier == *name);
            let tier = tier.ok_or_else(|| format!("model {model:?} has no tier {name:?}"))?;
            (&mut tier.standard, &mut tier.paid)
        }
    };
    // The price column of paid accounts starts as the general price.
    let column = if edit.paid {
        paid.get_or_insert_with(|| standard.clone())
    } else {
        standard
    };
    for (name, pico) in &edit.faces {
        let face = Face::ALL.into_iter().find(|face| face.name() == name);
        let face = face.ok_or_else(|| format!("there is no face {name:?}"))?;
        let price = UnitPrice::from_pico(*pico);
        let price = price.map_err(|error| format!("the price of {name:?}: {error}"))?;
        column.insert(face, price);
    }
    Ok(entry)
}

async fn customers(shared: &Shared, traffic: &Traffic) -> Result<Vec<RepricedCustomer>, ApiError> {
    let mut most: Vec<(&AccountId, &Repriced)> = traffic.customers.iter().collect();
    let difference = |calls: &Repriced| {
        let (was, would_be) = (calls.was.nanos(), calls.would_be.nanos());
        would_be.saturating_sub(was).unsigned_abs()
    };
    most.sort_by_key(|(_, calls)| std::cmp::Reverse(difference(calls)));
    most.truncate(MAX_CUSTOMERS);
    let ids: Vec<AccountId> = most.iter().map(|(id, _)| **id).collect();
    let mut session = shared.people.session().await?;
    let names = accounts::names(&mut session, &ids).await?;
    let view = |(id, calls): (&AccountId, &Repriced)| RepricedCustomer {
        id: id.number(),
        name: names.get(id).cloned().unwrap_or_default(),
        calls: calls.calls,
        was_usd: calls.was.to_string(),
        would_be_usd: calls.would_be.to_string(),
    };
    Ok(most.into_iter().map(view).collect())
}

pub(super) fn wrong(text: String) -> ApiError {
    ApiError::invalid_param("change", text)
}

pub(super) fn publish_fault(fault: PublishFault) -> ApiError {
    match fault {
        PublishFault::Refused(text) => wrong(text),
        PublishFault::Db(error) => query::unwritten(error),
    }
}

// === impl Stops ===

impl Stops {
    pub(super) fn of(models: &[String], before: &Book, after: &Book, channels: &[Channel]) -> Self {
        let below = models
            .iter()
            .flat_map(|name| below_cost(name, after, channels));
        let changes: Vec<PriceChange> = models
            .iter()
            .flat_map(|name| price_changes(name, before.model(name), after.model(name)))
            .collect();
        Self {
            below: below.collect(),
            zero: zero_prices(&changes),
        }
    }

    const fn is_any(&self) -> bool {
        !self.below.is_empty() || !self.zero.is_empty()
    }

    /// Says what stops it.
    pub(super) fn refuse(&self) -> Result<(), ApiError> {
        if !self.is_any() {
            return Ok(());
        }
        let zero = self.zero.iter();
        let zero = zero.map(|one| format!("{} {} becomes 0", one.model, one.face));
        let below = self.below.iter();
        let below = below.map(|one| {
            format!(
                "{} {} in group {} sells for {} USD a million and costs {} at {}",
                one.model, one.face, one.group, one.sale, one.cost, one.channel
            )
        });
        let named: Vec<String> = zero.chain(below).take(MAX_NAMED).collect();
        let text = format!(
            "{}; set allow_below_cost to publish it nevertheless. Nothing was changed",
            named.join("; ")
        );
        Err(ApiError::new(ConsoleErrorCode::BelowCost, text))
    }
}

// === impl RepricedModel, BelowCostLine ===

impl RepricedModel {
    fn of(name: &str, calls: &Repriced) -> Self {
        Self {
            model: name.to_owned(),
            calls: calls.calls,
            was_usd: calls.was.to_string(),
            would_be_usd: calls.would_be.to_string(),
            known_cost_usd: calls.cost.to_string(),
            would_be_of_known_cost_usd: calls.costed_sale.to_string(),
            unpriced_calls: calls.unpriced,
            is_below_cost: calls.loses(),
        }
    }
}

impl BelowCostLine {
    fn of(line: &BelowCost) -> Self {
        Self {
            model: line.model.clone(),
            channel: line.channel.clone(),
            group: line.group.clone(),
            face: line.face.to_string(),
            sale_usd_per_million: line.sale.to_string(),
            cost_usd_per_million: line.cost.to_string(),
        }
    }
}
