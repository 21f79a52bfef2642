//! The routes and the document that describes them, made of one list so that neither can lack what
//! the other has.
//!
//! A resource is a file below this one: handlers with their OpenAPI attributes, and the types of their
//! answers. To add one, write the file and add its `routes!` to [`routes`]. What a handler reads comes
//! through [`Shared`], handed in by [`Parts`](crate::Parts).

mod documents;
mod health;
mod kept;
mod pricing;
mod social;
mod workflows;

use std::sync::Arc;

use axum::Router;
use bytes::Bytes;
use http::Uri;
use trunkline_db::Database;
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::kept::Kept;
use crate::fault::{Fault, Kind};
use crate::shop::Shop;

/// What handlers share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) data: Database,
    pub(crate) shop: Arc<dyn Shop>,
    /// Catalogs of models that are still true.
    pub(crate) prices: Kept,
    /// Catalogs of social data that are still true.
    pub(crate) cells: Kept,
    /// The OpenAPI document.
    pub(crate) document: Bytes,
}

fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(documents::Described::openapi())
        .routes(routes!(pricing::pricing))
        .routes(routes!(social::catalog))
        .routes(routes!(workflows::list))
        .routes(routes!(workflows::one))
        .routes(routes!(documents::openapi))
        .routes(routes!(documents::workflow_schema))
        .routes(routes!(health::health))
}

/// All routes, with words for the paths and methods that are not among them.
pub(crate) fn router(data: Database, shop: Arc<dyn Shop>) -> Router {
    let (router, described) = routes().split_for_parts();
    let paths: Vec<String> = described.paths.paths.keys().cloned().collect();
    let known: Arc<str> = paths.join(", GET ").into();
    let shared = Shared {
        data,
        shop,
        prices: Kept::default(),
        cells: Kept::default(),
        document: documents::document(&described),
    };
    router
        .method_not_allowed_fallback(wrong_method)
        .fallback(move |uri: Uri| std::future::ready(unknown(&uri, &known)))
        .with_state(shared)
}

async fn wrong_method() -> Fault {
    Fault::new(
        Kind::MethodNotAllowed,
        "this path is read, with GET or HEAD",
    )
}

fn unknown(uri: &Uri, known: &str) -> Fault {
    let doubled = uri.path().starts_with("/api/api/");
    let hint = if doubled {
        " (the path has `/api` twice)"
    } else {
        ""
    };
    let text = format!("there is nothing here{hint}; see GET {known}");
    Fault::new(Kind::NotFound, text)
}
