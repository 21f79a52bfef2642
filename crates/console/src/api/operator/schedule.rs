//! Prices that are published later: scheduled, listed, cancelled, and published when they are due, by whichever
//! console comes first.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use http::StatusCode;
use serde::Serialize;
use serde_json::json;
use trunkline_catalog::Book;
use trunkline_db::{DbError, Tx};
use trunkline_store::action_log::{self, Actor, NewAction};
use trunkline_store::channels;
use trunkline_store::scheduled_prices::{self as store, Ending, NewScheduled, Scheduled};
use utoipa::ToSchema;

use super::prices::{Stops, logged, publish_fault, read, wrong};
use super::views::reason;
use crate::api::customer::query;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::JsonBody;
use crate::operations::price_preview::changed_models;
use crate::operator_bodies::{CatalogChangeBody, ScheduleBody};
use crate::operator_session::{May, Operator, PricesWrite};
use crate::request_bodies::EmptyBody;
use crate::shared::Shared;
use crate::times::rfc3339;

/// Changes that one round publishes; more wait for the next.
const MOST_AT_ONCE: usize = 10;
/// Who publishes what is due.
const ACTOR: &str = "scheduled prices";

/// Scheduled changes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ScheduledChanges {
    /// Those that wait first, then the newest.
    data: Vec<ScheduledChange>,
}

/// A scheduled change of the catalog.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ScheduledChange {
    /// Id.
    id: i64,
    /// When it is published.
    #[schema(format = DateTime)]
    at: String,
    /// Why.
    note: String,
    /// Email address of the author.
    author: String,
    /// `waiting`, `published`, `refused` or `cancelled`.
    #[schema(example = "waiting")]
    state: String,
    /// Why it was refused; null if it was not.
    #[schema(required)]
    problem: Option<String>,
    /// Revision that it was published as; null if it was not.
    #[schema(required)]
    revision: Option<i64>,
    /// The change.
    #[schema(value_type = Object)]
    change: serde_json::Value,
    /// Time of creation.
    #[schema(format = DateTime)]
    created_at: String,
}

/// Schedules a change of prices or records.
#[utoipa::path(post, path = "/api/operator/catalog/schedule", operation_id = "schedule_prices", tag = "catalog",
    request_body = ScheduleBody,
    responses(
        (status = 201, description = "Scheduled", body = ScheduledChange),
        (status = 409, description = "Below cost (`below_cost`)", body = ErrorBody)
    ))]
pub(super) async fn add(
    State(shared): State<Shared>,
    operator: May<PricesWrite>,
    JsonBody(body): JsonBody<ScheduleBody>,
) -> Result<(StatusCode, Json<ScheduledChange>), ApiError> {
    let note = reason(&body.note)?;
    let at = query::moment("at", &body.at)?;
    if at <= operator.now {
        return Err(ApiError::invalid_param("at", "must be in the future"));
    }
    check(&shared, &body).await?;
    let change = serde_json::to_value(&body.change).map_err(|_| ApiError::unavailable())?;
    let new = NewScheduled {
        publish_at: at,
        note: &note,
        author: &operator.email,
        change: &change,
        allow_below_cost: body.allow_below_cost,
    };
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let added = async {
        let added = store::create(&mut tx, &new).await?;
        let action = NewAction {
            action: "schedule_prices",
            subject: &format!("scheduled prices {}", added.id),
            after: Some(json!({ "at": rfc3339(at), "change": change })),
            reason: Some(&note),
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await?;
        Ok::<_, DbError>(added)
    };
    let added = added.await;
    let added = tx.finish(added).await.map_err(query::unwritten)?;
    Ok((StatusCode::CREATED, Json(ScheduledChange::of(added))))
}

/// Lists scheduled changes.
#[utoipa::path(get, path = "/api/operator/catalog/schedule", operation_id = "scheduled_prices", tag = "catalog",
    responses((status = 200, description = "The changes", body = ScheduledChanges)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    _operator: Operator,
) -> Result<Json<ScheduledChanges>, ApiError> {
    let mut session = shared.people.session().await?;
    let found = store::list(&mut session).await?;
    Ok(Json(ScheduledChanges {
        data: found.into_iter().map(ScheduledChange::of).collect(),
    }))
}

/// Cancels a scheduled change.
#[utoipa::path(post, path = "/api/operator/catalog/schedule/{id}/cancel", operation_id = "cancel_scheduled_prices",
    tag = "catalog",
    params(("id" = i64, Path, description = "The scheduled change")),
    request_body = EmptyBody,
    responses((status = 200, description = "Cancelled", body = ScheduledChange)))]
pub(super) async fn cancel(
    State(shared): State<Shared>,
    operator: May<PricesWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Json<ScheduledChange>, ApiError> {
    let unknown = || ApiError::not_found("scheduled change that waits");
    let id = query::id(id, unknown)?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let cancelled = async {
        let cancelled = store::end(&mut tx, id, Ending::Cancelled).await?;
        let cancelled = cancelled.ok_or_else(unknown)?;
        let action = NewAction {
            action: "cancel_scheduled_prices",
            subject: &format!("scheduled prices {id}"),
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await?;
        Ok::<_, ApiError>(cancelled)
    };
    let cancelled = cancelled.await;
    let cancelled = tx.finish(cancelled).await?;
    Ok(Json(ScheduledChange::of(cancelled)))
}

/// Refuses a change that could not be published now.
async fn check(shared: &Shared, body: &ScheduleBody) -> Result<(), ApiError> {
    let before = shared.gateway.book();
    let change = read(&body.change, &before).map_err(wrong)?;
    let after = before.changed(change.frame, change.models);
    let after = after.map_err(|error| wrong(error.to_string()))?;
    if body.allow_below_cost {
        return Ok(());
    }
    let mut session = shared.people.session().await?;
    let channels = channels::list(&mut session).await?;
    let models = changed_models(&before, &after);
    Stops::of(&models, &before, &after, &channels).refuse()
}

/// Publishes what is due. A change that is refused says why, and is not tried again.
pub(crate) async fn publish_due(shared: &Shared) -> Result<usize, DbError> {
    let mut count = 0;
    while count < MOST_AT_ONCE {
        let mut tx = shared.people.begin().await?;
        let Some(due) = store::next_due(&mut tx).await? else {
            tx.rollback().await?;
            return Ok(count);
        };
        match publish_one(shared, &mut tx, &due).await {
            Ok(()) => tx.commit().await?,
            Err(fault) => {
                tx.rollback().await?;
                refuse(shared, &due, fault).await?;
            }
        }
        count = count.saturating_add(1);
    }
    Ok(count)
}

async fn publish_one(shared: &Shared, tx: &mut Tx, due: &Scheduled) -> Result<(), ApiError> {
    let body: CatalogChangeBody = serde_json::from_value(due.change.clone())
        .map_err(|error| wrong(format!("it cannot be read: {error}")))?;
    let make = Box::new(move |before: &Book| read(&body, before));
    let done = shared
        .gateway
        .publish(tx, &due.author, &due.note, make)
        .await;
    let done = done.map_err(publish_fault)?;
    let models = changed_models(&done.before, &done.after);
    if !due.allow_below_cost {
        let channels = channels::list(tx).await?;
        Stops::of(&models, &done.before, &done.after, &channels).refuse()?;
    }
    store::end(tx, due.id, Ending::Published(done.revision)).await?;
    let action = NewAction {
        action: "publish_prices",
        subject: &format!(
            "catalog revision {}, scheduled by {}",
            done.revision, due.author
        ),
        before: Some(logged(&done.before, done.before_revision, &[])),
        after: Some(logged(&done.after, done.revision, &models)),
        reason: Some(&due.note),
        ..NewAction::default()
    };
    action_log::write(tx, &Actor::system(ACTOR), &action).await?;
    tracing::info!(revision = done.revision, "scheduled prices published");
    Ok(())
}

/// A database that is away is asked again; everything else is for a person.
async fn refuse(shared: &Shared, due: &Scheduled, fault: ApiError) -> Result<(), DbError> {
    if fault.kind == ConsoleErrorCode::Unavailable {
        tracing::warn!(fault = fault.message, "scheduled prices not published yet");
        return Ok(());
    }
    tracing::error!(
        id = due.id,
        problem = fault.message,
        "scheduled prices refused"
    );
    let mut tx = shared.people.begin().await?;
    let ended = store::end(&mut tx, due.id, Ending::Refused(&fault.message)).await;
    tx.finish(ended).await?;
    Ok(())
}

// === impl ScheduledChange ===

impl ScheduledChange {
    fn of(scheduled: Scheduled) -> Self {
        Self {
            id: scheduled.id,
            at: rfc3339(scheduled.publish_at),
            note: scheduled.note,
            author: scheduled.author,
            state: scheduled.state,
            problem: scheduled.problem,
            revision: scheduled.revision,
            change: scheduled.change,
            created_at: rfc3339(scheduled.created_at),
        }
    }
}
