//! A row of the table of paid operations: a path, and the operation that its requests are brought to.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::Request;
use hyper::body::Incoming;

use crate::error::ApiError;
use crate::operation::{Execution, Operation};
use crate::pipeline::handle;
use crate::request_context::RequestContext;
use crate::response::Response;
use crate::services::Services;

/// A path whose `POST` is one paid operation.
pub(crate) struct PaidRoute {
    pub(crate) path: &'static str,
    pub(crate) run: Run,
}

/// Brings a request to its operation.
pub(crate) type Run = fn(PaidRequest<'_>) -> BoxFuture<'_, Result<Response, ApiError>>;

/// A request for a paid operation, not yet accepted.
pub(crate) struct PaidRequest<'a> {
    pub(crate) services: &'a Arc<Services>,
    pub(crate) context: &'a Arc<RequestContext>,
    pub(crate) request: Request<Incoming>,
}

pub(crate) const fn post(path: &'static str, run: Run) -> PaidRoute {
    PaidRoute { path, run }
}

impl<'a> PaidRequest<'a> {
    /// Brings it to the pipeline. In a box, so that conversations, which are called most, do not carry the
    /// size of every operation.
    pub(crate) fn run<O>(self, route: O::Route) -> BoxFuture<'a, Result<Response, ApiError>>
    where
        O: Operation,
        O::Route: 'a,
        O::Priced: Execution,
    {
        Box::pin(handle::<O>(
            self.services,
            self.context,
            route,
            self.request,
        ))
    }
}
