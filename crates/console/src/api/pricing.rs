//! `GET /api/pricing`: the catalog, every field of every record that a caller may see.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of `Filter`"
)]

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use trunkline_catalog::{Book, Entry, RecordView, View};
use trunkline_types::EndpointType;
use utoipa::openapi::{ArrayBuilder, Ref};
use utoipa::{IntoParams, ToSchema};

use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::gateway_port::{GatewayPort, Viewer};
use crate::reply;
use crate::response_cache::CacheKey;
use crate::shared::Shared;

/// Longest text of a filter.
const MAX_FILTER: usize = 200;
/// Which records. What is left out does not narrow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Model with this name.
    #[param(max_length = 200, nullable = false)]
    model: Option<String>,
    /// Name or description contains this text, ignoring case.
    #[param(max_length = 200, nullable = false)]
    q: Option<String>,
    /// Exact match of `owner_by`.
    #[param(max_length = 200, nullable = false)]
    vendor: Option<String>,
    /// Exact match of `specs.type`, such as `llm`.
    #[serde(rename = "type")]
    #[param(rename = "type", max_length = 200, nullable = false)]
    kind: Option<String>,
    /// `tasks` contains this.
    #[param(max_length = 200, nullable = false)]
    task: Option<String>,
    /// `supported_endpoint_types` contains this.
    #[param(max_length = 200, nullable = false)]
    endpoint_type: Option<String>,
    /// `enable_groups` contains this.
    #[param(max_length = 200, nullable = false)]
    group: Option<String>,
}

/// The catalog.
#[derive(Serialize, ToSchema)]
pub(crate) struct Pricing<'a> {
    /// The groups tried in order for a key set to `auto`.
    auto_groups: &'a [String],
    /// The records, by name.
    #[schema(schema_with = records_schema)]
    data: Vec<RecordView<'a>>,
}

/// Returns the model catalog with prices. Public; with a key or a session it is
/// the view of the account.
#[utoipa::path(get, path = "/api/pricing", operation_id = "pricing", tag = "catalog",
    params(Filter),
    responses(
        (status = 200, description = "The catalog", body = Pricing,
            headers(("etag" = String, description = "Names this version"))),
        (status = 304, description = "Not modified since `If-None-Match`"),
        (status = 400, description = "Invalid parameter", body = ErrorBody),
        (status = 401, description = "Unknown API key", body = ErrorBody)
    ))]
pub(super) async fn pricing(
    State(shared): State<Shared>,
    filter: Result<Query<Filter>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Query(filter) =
        filter.map_err(|wrong| ApiError::new(ConsoleErrorCode::Invalid, wrong.body_text()))?;
    filter.check()?;
    let viewer = Viewer::of_request(&shared, &headers).await?;
    // Only the whole is kept: strangers could fill any cache with filters.
    let key = CacheKey {
        stamp: shared.gateway.stamp(),
        name: (filter == Filter::default()).then(|| viewer.name()),
    };
    let gateway = Arc::clone(&shared.gateway);
    let make = move || write(gateway.as_ref(), &viewer, &filter);
    let body = shared.prices.get_or_make(key, make).await?;
    Ok(reply::bytes(&headers, body, "application/json"))
}

fn write(gateway: &dyn GatewayPort, viewer: &Viewer, filter: &Filter) -> Result<Bytes, ApiError> {
    let book = gateway.book();
    let records = book
        .models()
        .filter(|name| filter.takes(&book, name))
        .filter_map(|name| {
            let group = viewer.group(&book, name)?;
            let view = View { book: &book, group };
            view.record(name, gateway.routes(name))
        });
    let pricing = Pricing {
        auto_groups: book.auto_groups(),
        data: records.collect(),
    };
    let body = serde_json::to_vec(&pricing).map_err(|error| {
        tracing::error!(%error, "catalog serialization failed");
        ApiError::unavailable()
    })?;
    Ok(Bytes::from(body))
}

// === impl Filter ===

impl Filter {
    fn check(&self) -> Result<(), ApiError> {
        let texts = [
            ("model", &self.model),
            ("q", &self.q),
            ("vendor", &self.vendor),
            ("type", &self.kind),
            ("task", &self.task),
            ("endpoint_type", &self.endpoint_type),
            ("group", &self.group),
        ];
        for (name, text) in texts {
            let long = |text: &String| text.chars().count() > MAX_FILTER;
            if text.as_ref().is_some_and(long) {
                let text = format!("must have at most {MAX_FILTER} characters");
                return Err(ApiError::invalid_param(name, text));
            }
        }
        Ok(())
    }

    fn takes(&self, book: &Book, name: &str) -> bool {
        let Some(model) = book.model(name) else {
            return false;
        };
        let entry = model.entry();
        let is =
            |value: &Option<String>, has: &dyn Fn(&str) -> bool| value.as_deref().is_none_or(has);
        is(&self.model, &|value| value == name)
            && is(&self.q, &|text| mentions(name, entry, text))
            && is(&self.vendor, &|value| {
                entry.vendor.as_deref() == Some(value)
            })
            && is(&self.kind, &|value| {
                kind_of(entry).as_deref() == Some(value)
            })
            && is(&self.task, &|value| {
                entry.tasks.iter().any(|task| task == value)
            })
            && is(&self.endpoint_type, &|value| {
                let value = value.parse::<EndpointType>();
                value.is_ok_and(|value| entry.serves(value))
            })
            && is(&self.group, &|value| {
                model.groups().iter().any(|group| group == value)
            })
    }
}

fn mentions(name: &str, entry: &Entry, text: &str) -> bool {
    let text = text.to_lowercase();
    let description = entry.description.as_deref().unwrap_or_default();
    name.to_lowercase().contains(&text) || description.to_lowercase().contains(&text)
}

/// The word that `specs` has for it.
fn kind_of(entry: &Entry) -> Option<String> {
    let kind = serde_json::to_value(entry.specs.kind?).ok()?;
    kind.as_str().map(str::to_owned)
}

fn records_schema() -> utoipa::openapi::schema::Array {
    let record = Ref::from_schema_name("ModelRecord");
    ArrayBuilder::new().items(record).build()
}
