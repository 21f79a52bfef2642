//! `GET /api/social/catalog`: every cell of social data with its parameters, its price and whether it
//! is sold just now.
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
use serde::Deserialize;
use trunkline_social::catalog_cell;
use utoipa::openapi::{ArrayBuilder, Ref};
use utoipa::{IntoParams, ToSchema};

use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::gateway_port::{GatewayPort, SocialCell, Viewer};
use crate::reply;
use crate::response_cache::CacheKey;
use crate::shared::Shared;

/// Longest text of a filter.
const MAX_FILTER: usize = 200;

/// Which cells. What is left out does not narrow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Cells of this platform, such as `douyin`.
    #[param(max_length = 200, nullable = false)]
    platform: Option<String>,
}

/// The cells of social data. The body is written of texts, each of which is a cell; this describes it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is the shape of a text")]
pub(crate) struct SocialCatalog {
    /// Always `list`.
    #[schema(example = "list")]
    object: String,
    /// In the order of platforms and capabilities.
    #[schema(schema_with = cells_schema)]
    cells: Vec<String>,
}

/// Returns the social data catalog with prices. Public; with a key or a session
/// prices are those of the account's group.
#[utoipa::path(get, path = "/api/social/catalog", operation_id = "social_catalog", tag = "catalog",
    params(Filter),
    responses(
        (status = 200, description = "The cells", body = SocialCatalog,
            headers(("etag" = String, description = "Names this version"))),
        (status = 304, description = "Not modified since `If-None-Match`"),
        (status = 400, description = "Invalid parameter", body = ErrorBody),
        (status = 401, description = "Unknown API key", body = ErrorBody)
    ))]
pub(super) async fn catalog(
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
    let make = move || Ok(write(gateway.as_ref(), &viewer, &filter));
    let body = shared.cells.get_or_make(key, make).await?;
    Ok(reply::bytes(&headers, body, "application/json"))
}

fn write(gateway: &dyn GatewayPort, viewer: &Viewer, filter: &Filter) -> Bytes {
    let book = gateway.book();
    let cells = gateway.cells();
    let listed = cells.iter().filter(|one| filter.takes(one));
    let texts: Vec<String> = listed
        .map(|SocialCell { cell, is_paused }| {
            catalog_cell(cell, viewer.call_price(&book, &cell.model), *is_paused)
        })
        .collect();
    let list = texts.join(",");
    Bytes::from(format!(r#"{{"object":"list","cells":[{list}]}}"#))
}

// === impl Filter ===

impl Filter {
    fn check(&self) -> Result<(), ApiError> {
        let long = |text: &String| text.chars().count() > MAX_FILTER;
        if self.platform.as_ref().is_some_and(long) {
            let text = format!("must have at most {MAX_FILTER} characters");
            return Err(ApiError::invalid_param("platform", text));
        }
        Ok(())
    }

    fn takes(&self, one: &SocialCell) -> bool {
        let platform = self.platform.as_ref();
        platform.is_none_or(|platform| *platform == one.cell.platform.key)
    }
}

fn cells_schema() -> utoipa::openapi::schema::Array {
    let cell = Ref::from_schema_name("SocialCell");
    ArrayBuilder::new().items(cell).build()
}
