//! What is sold: records, prices and their history.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of the query"
)]

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_catalog::{Book, Entry};
use trunkline_store::catalog::{self as store, Change};
use trunkline_store::channels::{self, Channel};
use utoipa::{IntoParams, ToSchema};

use crate::api::customer::query;
use crate::error::ApiError;
use crate::operations::price_preview::{
    BookAtError, PriceChange, book_at, changed_models, price_changes,
};
use crate::operator_session::Operator;
use crate::shared::Shared;
use crate::times::rfc3339;

const USUAL_HISTORY: u32 = 50;
const MAX_HISTORY: u32 = 500;
/// Prices that one change lists.
const MAX_PRICES: usize = 2_000;

/// How many.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryQuery {
    /// The newest so many; 50 by default.
    #[param(nullable = false, minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// The catalog.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperatorCatalog {
    /// Revision; 0 if there is none yet.
    revision: i64,
    /// Hash of all prices.
    pricing_version: String,
    /// Groups and their rates.
    groups: BTreeMap<String, GroupRate>,
    /// Groups tried in order for keys set to `auto`.
    auto_groups: Vec<String>,
    /// Models by name.
    models: Vec<CatalogModel>,
}

/// A pricing group.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GroupRate {
    /// What every price is multiplied by.
    #[schema(example = "1")]
    rate: String,
}

/// A model on sale.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CatalogModel {
    /// Public name.
    name: String,
    /// Vendor; null if none is named.
    #[schema(required)]
    vendor: Option<String>,
    /// Groups it is sold in.
    groups: Vec<String>,
    /// What it is billed by.
    #[schema(value_type = String, example = "tokens")]
    billing_unit: Value,
    /// Whether an active channel serves it.
    is_served: bool,
    /// Active channels that serve it.
    channels: usize,
    /// Default prices, in pico-USD for one unit, by face.
    prices: BTreeMap<String, u64>,
    /// Names of its tiers.
    tiers: Vec<String>,
}

/// A record of the catalog.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CatalogRecord {
    /// Public name.
    name: String,
    /// The record, as in catalog files.
    #[schema(value_type = Object)]
    entry: Entry,
    /// Channels that serve it.
    channels: Vec<ServingChannel>,
}

/// A channel that serves a model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServingChannel {
    /// Channel id.
    id: i64,
    /// Channel name.
    name: String,
    /// The upstream's name of the model.
    upstream_model: String,
    /// State of the channel.
    #[schema(example = "active")]
    state: &'static str,
    /// What the upstream bills, as the channel has it; null if unknown.
    #[schema(required, value_type = Option<Object>)]
    cost: Option<Value>,
}

/// Changes of the catalog.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CatalogHistory {
    /// Newest first.
    data: Vec<CatalogRevision>,
}

/// A change of the catalog.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CatalogRevision {
    /// Revision.
    revision: i64,
    /// Hash of all prices after it.
    pricing_version: String,
    /// Who made it.
    author: String,
    /// Why.
    note: String,
    /// Time.
    #[schema(format = DateTime)]
    created_at: String,
}

/// A change of the catalog and what it repriced.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RevisionDetail {
    #[serde(flatten)]
    revision: CatalogRevision,
    /// Models whose prices, record or groups changed.
    models: Vec<String>,
    /// Prices that changed, at most 2,000.
    prices: Vec<PriceChangeView>,
    /// Groups whose rates changed: each reprices everything that is sold in it.
    groups: Vec<GroupChange>,
}

/// A price that changes.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PriceChange)]
pub(crate) struct PriceChangeView {
    /// Public name of the model.
    model: String,
    /// Tier.
    tier: String,
    /// `standard`, or `paid` for accounts that topped up.
    #[schema(example = "standard")]
    column: &'static str,
    /// Face.
    #[schema(example = "input")]
    face: String,
    /// Pico-USD before; null for none.
    #[schema(required)]
    before: Option<u64>,
    /// Pico-USD after; null for none.
    #[schema(required)]
    after: Option<u64>,
}

/// A group whose rate changes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GroupChange {
    /// Group.
    name: String,
    /// Rate before; null if it is new.
    #[schema(required, example = "1")]
    before: Option<String>,
    /// Rate after; null if it is gone.
    #[schema(required, example = "1.2")]
    after: Option<String>,
}

/// Returns the catalog with default prices.
#[utoipa::path(get, path = "/api/operator/catalog", operation_id = "show_catalog", tag = "catalog",
    responses((status = 200, description = "The catalog", body = OperatorCatalog)))]
pub(super) async fn show(
    State(shared): State<Shared>,
    _operator: Operator,
) -> Result<Json<OperatorCatalog>, ApiError> {
    let book = shared.gateway.book();
    let mut session = shared.people.session().await?;
    let revision = store::newest(&mut session).await?;
    let serving = channels::list(&mut session).await?;
    let header = book.header();
    let groups = header.groups.iter();
    let groups = groups.map(|(name, group)| {
        let rate = group.rate.to_string();
        (name.clone(), GroupRate { rate })
    });
    let models = book.models();
    Ok(Json(OperatorCatalog {
        revision,
        pricing_version: book.version().to_string(),
        groups: groups.collect(),
        auto_groups: header.auto_groups.clone(),
        models: models
            .filter_map(|name| CatalogModel::of(&book, name, &serving))
            .collect(),
    }))
}

/// Returns the record of a model and the channels that serve it.
#[utoipa::path(get, path = "/api/operator/catalog/models/{name}", operation_id = "show_model", tag = "catalog",
    params(("name" = String, Path, description = "The model", max_length = 200)),
    responses((status = 200, description = "The record", body = CatalogRecord)))]
pub(super) async fn model(
    State(shared): State<Shared>,
    _operator: Operator,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<CatalogRecord>, ApiError> {
    let unknown = || ApiError::not_found("model");
    let Path(name) = name.map_err(|_| unknown())?;
    let book = shared.gateway.book();
    let entry = book.model(&name).ok_or_else(unknown)?.entry().clone();
    let mut session = shared.people.session().await?;
    let all = channels::list(&mut session).await?;
    let serving = all.into_iter().filter_map(|channel| {
        let upstream_model = channel.models.get(&name)?.clone();
        Some(ServingChannel {
            id: channel.id.number(),
            state: channel.state.as_str(),
            name: channel.name,
            upstream_model,
            cost: channel.cost,
        })
    });
    Ok(Json(CatalogRecord {
        channels: serving.collect(),
        name,
        entry,
    }))
}

/// Lists changes of the catalog.
#[utoipa::path(get, path = "/api/operator/catalog/history", operation_id = "price_history", tag = "catalog",
    params(HistoryQuery),
    responses((status = 200, description = "The changes", body = CatalogHistory)))]
pub(super) async fn history(
    State(shared): State<Shared>,
    _operator: Operator,
    params: Result<Query<HistoryQuery>, QueryRejection>,
) -> Result<Json<CatalogHistory>, ApiError> {
    let limit = query::limit(query::query(params)?.limit, USUAL_HISTORY, MAX_HISTORY)?;
    let mut session = shared.people.session().await?;
    let found = store::history(&mut session, i64::from(limit)).await?;
    Ok(Json(CatalogHistory {
        data: found.into_iter().map(CatalogRevision::of).collect(),
    }))
}

/// Returns a change of the catalog and what it repriced.
#[utoipa::path(get, path = "/api/operator/catalog/history/{revision}", operation_id = "price_change",
    tag = "catalog",
    params(("revision" = i64, Path, description = "The change")),
    responses((status = 200, description = "The change", body = RevisionDetail)))]
pub(super) async fn change(
    State(shared): State<Shared>,
    _operator: Operator,
    revision: Result<Path<i64>, PathRejection>,
) -> Result<Json<RevisionDetail>, ApiError> {
    let revision = query::id(revision, unknown_revision)?;
    let mut session = shared.people.session().await?;
    let known = store::history(&mut session, store::HISTORY_MAX_ROWS).await?;
    let place = known.iter().position(|one| one.revision == revision);
    let place = place.ok_or_else(unknown_revision)?;
    let earlier = known.get(place.saturating_add(1)).map(|one| one.revision);
    let after = book_at(&mut session, revision).await?;
    let before = match earlier {
        Some(earlier) => book_at(&mut session, earlier).await?,
        None => Book::empty(),
    };
    drop(session);
    let own = known.into_iter().find(|one| one.revision == revision);
    let own = own.ok_or_else(unknown_revision)?;
    let models = changed_models(&before, &after);
    Ok(Json(RevisionDetail {
        revision: CatalogRevision::of(own),
        prices: prices_between(&models, &before, &after),
        groups: groups_between(&before, &after),
        models,
    }))
}

/// The prices that differ between two books.
pub(super) fn prices_between(
    models: &[String],
    before: &Book,
    after: &Book,
) -> Vec<PriceChangeView> {
    let changes = models
        .iter()
        .flat_map(|name| price_changes(name, before.model(name), after.model(name)));
    changes
        .take(MAX_PRICES)
        .map(|change| PriceChangeView::of(&change))
        .collect()
}

/// The groups whose rates differ between two books.
pub(super) fn groups_between(before: &Book, after: &Book) -> Vec<GroupChange> {
    let rate = |book: &Book, name: &str| {
        let group = book.header().groups.get(name);
        group.map(|group| group.rate.to_string())
    };
    let mut names: Vec<&String> = before.header().groups.keys().collect();
    names.extend(after.header().groups.keys());
    names.sort_unstable();
    names.dedup();
    let changes = names.into_iter().map(|name| GroupChange {
        name: name.clone(),
        before: rate(before, name),
        after: rate(after, name),
    });
    changes
        .filter(|change| change.before != change.after)
        .collect()
}

pub(super) fn unknown_revision() -> ApiError {
    ApiError::not_found("revision")
}

// === impl ApiError, CatalogModel, CatalogRevision, PriceChangeView ===

impl From<BookAtError> for ApiError {
    fn from(error: BookAtError) -> Self {
        match error {
            BookAtError::Unknown(_) => unknown_revision(),
            BookAtError::Db(error) => error.into(),
            error @ (BookAtError::History(_) | BookAtError::Book(_)) => {
                tracing::error!(%error, "a stored catalog cannot be used");
                Self::unavailable()
            }
        }
    }
}

impl CatalogModel {
    fn of(book: &Book, name: &str, channels: &[Channel]) -> Option<Self> {
        let model = book.model(name)?;
        let entry = model.entry();
        let active = |channel: &&Channel| {
            channel.state == channels::ChannelState::Active && channel.models.contains_key(name)
        };
        let count = channels.iter().filter(active).count();
        let prices = entry.prices.standard.iter();
        let tiers = model.list().tiers().iter();
        Some(Self {
            name: name.to_owned(),
            vendor: entry.vendor.clone(),
            groups: model.groups().to_vec(),
            billing_unit: serde_json::to_value(entry.prices.billing_unit).unwrap_or_default(),
            is_served: count > 0,
            channels: count,
            prices: prices
                .map(|(face, price)| (face.to_string(), price.pico()))
                .collect(),
            tiers: tiers.map(|tier| tier.name().to_owned()).collect(),
        })
    }
}

impl CatalogRevision {
    fn of(change: Change) -> Self {
        let version = change.pricing_version.iter();
        Self {
            revision: change.revision,
            pricing_version: version.map(|byte| format!("{byte:02x}")).collect(),
            author: change.author,
            note: change.note,
            created_at: rfc3339(change.created_at),
        }
    }
}

impl PriceChangeView {
    pub(super) fn of(change: &PriceChange) -> Self {
        Self {
            model: change.model.clone(),
            tier: change.tier.clone(),
            column: change.column,
            face: change.face.to_string(),
            before: change.before.map(|price| price.pico()),
            after: change.after.map(|price| price.pico()),
        }
    }
}
