//! Workflows: a list to look through, and one whole record.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of `Page`"
)]

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use trunkline_catalog::workflow::{Workflow, is_name, may_run};
use trunkline_store::workflows::{self, Version};
use utoipa::openapi::Ref;
use utoipa::{IntoParams, ToSchema};

use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::reply;
use crate::shared::Shared;

/// Largest page; one more is asked for, to know whether there is a next one.
const MAX_PAGE: u32 = 100;
/// Default page size.
const DEFAULT_PAGE: u32 = 50;

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Page {
    /// Workflows after this slug: `next` of the previous page.
    #[param(
        pattern = "^[a-z0-9]+(?:-[a-z0-9]+)*$",
        max_length = 200,
        nullable = false
    )]
    after: Option<String>,
    /// Page size; 50 by default.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
}

/// A page of workflows.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkflowPage {
    /// Ordered by slug.
    #[schema(max_items = 100)]
    data: Vec<WorkflowSummary>,
    /// `after` of the next page; null at the end.
    #[schema(required)]
    next: Option<String>,
}

/// Summary of a workflow.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkflowSummary {
    /// Slug in URLs.
    slug: String,
    /// Workflow id.
    workflow_id: String,
    /// Title.
    title: String,
    /// Purpose.
    summary: String,
    /// Date of the last change, set by the author.
    #[schema(format = Date)]
    last_modified: String,
    /// Contract status.
    #[schema(example = "draft_unverified")]
    contract_status: &'static str,
    /// Binding status.
    #[schema(example = "contract_only_not_executable")]
    binding_status: &'static str,
    /// Whether it is runnable.
    runnable: bool,
    /// Version number.
    revision: i64,
}

/// A workflow with its status.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkflowDetail {
    /// Version number.
    revision: i64,
    /// Hash of its semantic content.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    semantic_digest_sha256: String,
    /// Whether it is runnable.
    runnable: bool,
    /// Reason if it is not runnable; null otherwise.
    #[schema(required)]
    not_runnable_because: Option<String>,
    /// The record, as `/schemas/workflow.json` describes it.
    #[schema(schema_with = record_schema)]
    workflow: Workflow,
}

/// Lists workflows.
#[utoipa::path(get, path = "/api/workflows", operation_id = "list_workflows", tag = "workflows",
    params(Page),
    responses(
        (status = 200, description = "A page of workflows", body = WorkflowPage,
            headers(("etag" = String, description = "Names this version"))),
        (status = 304, description = "Not modified since `If-None-Match`"),
        (status = 400, description = "Invalid parameter", body = ErrorBody)
    ))]
pub(super) async fn list(
    State(shared): State<Shared>,
    page: Result<Query<Page>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Query(page) =
        page.map_err(|wrong| ApiError::new(ConsoleErrorCode::Invalid, wrong.body_text()))?;
    let (after, limit) = page.checked()?;
    let mut session = shared.data.session().await?;
    let mut versions = workflows::page(&mut session, &after, limit.saturating_add(1)).await?;
    drop(session);
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = versions.len() > most;
    versions.truncate(most);
    let data: Vec<WorkflowSummary> = versions.iter().map(WorkflowSummary::of).collect();
    let last = data.last().map(|summary| summary.slug.clone());
    let next = last.filter(|_| more);
    reply::json(&headers, &WorkflowPage { data, next })
}

/// Returns a workflow.
#[utoipa::path(get, path = "/api/workflows/{slug}", operation_id = "show_workflow", tag = "workflows",
    params(("slug" = String, Path, description = "The slug", max_length = 200,
        pattern = "^[a-z0-9]+(?:-[a-z0-9]+)*$")),
    responses(
        (status = 200, description = "The workflow", body = WorkflowDetail,
            headers(("etag" = String, description = "Names this version"))),
        (status = 304, description = "Not modified since `If-None-Match`"),
        (status = 400, description = "Invalid slug", body = ErrorBody),
        (status = 404, description = "Workflow not found", body = ErrorBody)
    ))]
pub(super) async fn one(
    State(shared): State<Shared>,
    slug: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let slug = slug.map(|Path(slug)| slug).unwrap_or_default();
    check_slug("slug", &slug)?;
    let mut session = shared.data.session().await?;
    let found = workflows::find(&mut session, &slug).await?;
    let version = found.ok_or_else(|| {
        let text = format!("workflow {slug:?} not found; see GET /api/workflows");
        ApiError::new(ConsoleErrorCode::NotFound, text)
    })?;
    reply::json(&headers, &WorkflowDetail::of(version))
}

// === impl Page ===

impl Page {
    fn checked(self) -> Result<(String, u32), ApiError> {
        let limit = self.limit.unwrap_or(DEFAULT_PAGE);
        if !(1..=MAX_PAGE).contains(&limit) {
            return Err(ApiError::invalid_param(
                "limit",
                format!("must be from 1 to {MAX_PAGE}"),
            ));
        }
        if let Some(after) = &self.after {
            check_slug("after", after)?;
        }
        Ok((self.after.unwrap_or_default(), limit))
    }
}

fn check_slug(param: &'static str, slug: &str) -> Result<(), ApiError> {
    if is_name(slug) {
        return Ok(());
    }
    let text = "must be a slug: lower-case letters and digits in groups joined by one -";
    Err(ApiError::invalid_param(param, text))
}

// === impl WorkflowSummary, WorkflowDetail ===

impl WorkflowSummary {
    fn of(version: &Version) -> Self {
        let record = version.workflow.record();
        Self {
            slug: record.slug.clone(),
            workflow_id: record.workflow_id.clone(),
            title: record.title.clone(),
            summary: record.summary.clone(),
            last_modified: record.last_modified.clone(),
            contract_status: record.contract_status.as_str(),
            binding_status: record.runtime_binding.status.as_str(),
            runnable: may_run(&version.workflow).is_ok(),
            revision: version.revision,
        }
    }
}

impl WorkflowDetail {
    fn of(version: Version) -> Self {
        let standing = may_run(&version.workflow);
        Self {
            revision: version.revision,
            semantic_digest_sha256: version.workflow.digest().to_string(),
            runnable: standing.is_ok(),
            not_runnable_because: standing.err().map(|reason| reason.to_string()),
            workflow: version.workflow,
        }
    }
}

fn record_schema() -> Ref {
    Ref::from_schema_name("Workflow")
}
