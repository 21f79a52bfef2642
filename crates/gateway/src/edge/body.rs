//! Reading a request's body: all of it, within its size and its time.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};

use crate::fault::{Fault, Kind};
use crate::settings::Settings;

/// The body of a JSON request.
pub(super) async fn json(request: Request<Incoming>, settings: &Settings) -> Result<Bytes, Fault> {
    check_type(request.headers())?;
    let most = settings.max_body_bytes;
    let too_large = || {
        let text = format!("a request body may have {most} bytes; this one has more");
        Fault::new(Kind::TooLarge, text)
    };
    let body = request.into_body();
    if usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX) > most {
        return Err(too_large());
    }
    let whole = Limited::new(body, most).collect();
    match tokio::time::timeout(settings.body_wait, whole).await {
        Err(_) => Err(Fault::new(
            Kind::SlowBody,
            "the request body did not come in time",
        )),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Fault::new(
            Kind::Invalid("invalid_request"),
            "the request body broke off",
        )),
        Ok(Ok(body)) => Ok(body.to_bytes()),
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), Fault> {
    let wrong = |text: &str| Err(Fault::new(Kind::UnsupportedMedia, text));
    if headers.contains_key(CONTENT_ENCODING) {
        return wrong("compressed bodies are not read; send it without `content-encoding`");
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
