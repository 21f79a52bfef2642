//! The gateway as what answers the requests of a listener.

use std::pin::Pin;
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use trunkline_edge::listener::RequestHandler;
use trunkline_edge::state::EdgeState;
use trunkline_generation::video::views::legacy_error;
use trunkline_wire::Format;

use super::{answer, format_of, is_legacy_poll};
use crate::replay;
use crate::request_context::RequestContext;
use crate::response::{self, Response};
use crate::services::Services;

/// Answers the requests of a listener by the route table.
pub struct Router {
    services: Arc<Services>,
}

impl Router {
    /// The gateway, for a listener.
    #[must_use]
    pub fn boxed(services: Arc<Services>) -> Box<dyn RequestHandler> {
        Box::new(Self { services })
    }
}

impl RequestHandler for Router {
    fn edge(&self) -> &Arc<EdgeState> {
        &self.services.edge
    }

    fn format_of(&self, path: &str) -> Format {
        format_of(path)
    }

    fn handle<'a>(
        &'a self,
        context: &'a Arc<RequestContext>,
        request: Request<Incoming>,
    ) -> Pin<Box<dyn Future<Output = Response> + Send + 'a>> {
        Box::pin(async move {
            let format = format_of(request.uri().path());
            let is_legacy = is_legacy_poll(request.method(), request.uri().path());
            let answered = answer(&self.services, context, request).await;
            // A call that is known already has the first one's answer.
            let answered = replay::or_replay(&self.services, answered).await;
            answered.unwrap_or_else(|error| {
                context.failed(&error);
                if is_legacy {
                    let body = legacy_error(error.kind.code(), &error.message);
                    return response::with_error_headers(&error, &body);
                }
                response::error_response(&error, context.id, context.error_pages(), format)
            })
        })
    }
}
