//! Reading a request's body: all of it, within its size and its time.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use trunkline_edge::settings::AcceptSettings;
use trunkline_types::word_instead;

use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::form::Form;
use crate::operation::Received;
use crate::services::Services;

/// A JSON body, once there is a place for it in flight.
pub(crate) async fn receive_json(
    services: &Services,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<Received<Bytes>, ApiError> {
    let settings = &services.edge.settings;
    let most = check(&request, settings)?;
    receive(services, caller, request, most).await
}

/// A body in memory that is JSON, or a form.
pub(crate) enum JsonOrForm {
    Json(Bytes),
    Form(Form),
}

/// A body that may be a form, once there is a place for it in flight.
pub(crate) async fn receive_json_or_form(
    services: &Services,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<Received<JsonOrForm>, ApiError> {
    let Some(boundary) = form_boundary(request.headers()) else {
        let Received {
            headers,
            body,
            permit,
        } = receive_json(services, caller, request).await?;
        return Ok(Received {
            headers,
            body: JsonOrForm::Json(body),
            permit,
        });
    };
    let most = check_size(&request, &services.edge.settings)?;
    let Received {
        headers,
        body,
        permit,
    } = receive(services, caller, request, most).await?;
    let form = Form::read(&boundary, body).await?;
    Ok(Received {
        headers,
        body: JsonOrForm::Form(form),
        permit,
    })
}

/// The place is taken before the first byte is read.
async fn receive(
    services: &Services,
    caller: &Caller,
    request: Request<Incoming>,
    most: usize,
) -> Result<Received<Bytes>, ApiError> {
    let permit = services.edge.acquire(caller.account.id, most)?;
    let (head, body) = request.into_parts();
    let body = read(body, &services.edge.settings).await?;
    Ok(Received {
        headers: head.headers,
        body,
        permit,
    })
}

// === impl JsonOrForm ===

impl JsonOrForm {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(bytes) => bytes.len(),
            Self::Form(form) => form.bytes,
        }
    }

    /// What makes two bodies the same: boundaries are new each time, and a file counts by its content.
    pub(crate) fn known_by(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Json(bytes) => Cow::Borrowed(bytes),
            Self::Form(form) => Cow::Owned(form.known_by()),
        }
    }
}

/// Whether the head of a JSON request promises a body that we read, and how large it can become.
pub(crate) fn check(
    request: &Request<Incoming>,
    settings: &AcceptSettings,
) -> Result<usize, ApiError> {
    check_type(request.headers())?;
    check_size(request, settings)
}

/// What divides the parts of a form, if the body is one.
pub(crate) fn form_boundary(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    multer::parse_boundary(value).ok()
}

/// How large a body can become; one whose `content-length` is too large is refused.
pub(crate) fn check_size(
    request: &Request<Incoming>,
    settings: &AcceptSettings,
) -> Result<usize, ApiError> {
    let most = settings.max_body_bytes;
    let size = request.body().size_hint();
    if usize::try_from(size.lower()).unwrap_or(usize::MAX) > most {
        return Err(too_large(most));
    }
    let upper = size.upper().and_then(|upper| usize::try_from(upper).ok());
    Ok(upper.map_or(most, |upper| upper.min(most)))
}

/// All of it, within its size and its time.
pub(crate) async fn read(body: Incoming, settings: &AcceptSettings) -> Result<Bytes, ApiError> {
    let most = settings.max_body_bytes;
    let whole = Limited::new(body, most).collect();
    match tokio::time::timeout(settings.body_wait, whole).await {
        Err(_) => Err(ApiError::new(
            ErrorCode::SlowBody,
            "the request body did not arrive in time",
        )),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(most)),
        Ok(Err(_)) => Err(ApiError::new(
            ErrorCode::Invalid("invalid_request"),
            "the request body ended early",
        )),
        Ok(Ok(body)) => {
            let body = body.to_bytes();
            Ok(word_instead(&body).map_or(body, Bytes::from))
        }
    }
}

fn too_large(most: usize) -> ApiError {
    let text = format!("a request body may have {most} bytes at most");
    ApiError::new(ErrorCode::TooLarge, text)
}

fn check_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let wrong = |text: &str| Err(ApiError::new(ErrorCode::UnsupportedMedia, text));
    if headers.contains_key(CONTENT_ENCODING) {
        return wrong("compressed request bodies are not supported; remove `content-encoding`");
    }
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return wrong("send `content-type: application/json`");
    };
    let essence = value.to_str().unwrap_or_default().split(';').next();
    let essence = essence.unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    wrong("this endpoint reads `application/json`")
}
