//! How many tokens a request has: free, and a guess unless an upstream is asked.

use bytes::Bytes;
use http::StatusCode;
use trunkline_wire::gemini::count_request;
use trunkline_wire::{Format, PathParams, Request, claude_messages, gemini};

use crate::caller::Caller;
use crate::endpoint::Endpoint;
use crate::error::ApiError;
use crate::input_tokens::InputTokens;
use crate::model_alias;
use crate::response::{self, Response, set_warnings};
use crate::services::Services;

/// Counts a request, in the shape of the interface that was called.
pub(crate) fn handle(
    services: &Services,
    caller: &Caller,
    endpoint: Endpoint,
    path: PathParams<'_>,
    body: Bytes,
) -> Result<Response, ApiError> {
    caller.check_endpoint(endpoint.name)?;
    let body = match endpoint.format {
        Format::Gemini => Bytes::from(count_request(&body)?),
        Format::OpenaiChat | Format::ClaudeMessages | Format::OpenaiResponses => body,
    };
    let mut request = Request::read(endpoint.format, body, path)?;
    if let Some(model) = model_alias::resolve(services, caller, request.model()) {
        request.resolve_alias(model);
    }
    let book = &services.catalog.load_full().book;
    let sale = caller.sale(book, request.model())?;
    model_alias::check_demands(services, caller, request.model())?;
    let tokens = InputTokens::of(&request, sale.model.entry()).fair.max(1);
    let body = match endpoint.format {
        Format::Gemini => gemini::count_answer(tokens),
        Format::OpenaiChat | Format::ClaudeMessages | Format::OpenaiResponses => {
            claude_messages::count_answer(tokens)
        }
    };
    let body = Bytes::from(body);
    let mut answer = response::bytes_of(StatusCode::OK, body, "application/json");
    set_warnings(answer.headers_mut(), &["usage_estimated".into()]);
    Ok(answer)
}
