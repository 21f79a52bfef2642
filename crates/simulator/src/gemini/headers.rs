//! What every answer of this vendor carries beside its body. No limits are told, and no time to
//! come back: the body tells that.

use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};

use crate::clock;
use crate::script::Script;
use crate::scripted_body::{ScriptedBody, VendorResponse};
use crate::server::RecordedRequest;

/// Sends a script and leaves the record to it.
pub(crate) fn send(mut recorded: RecordedRequest, script: Script) -> VendorResponse {
    let head = script.head;
    recorded.note(|record| record.status = head.status);
    if recorded.parts.method == Method::HEAD {
        // The transport drops such a body unread, which must not look like a client leaving.
        recorded.watch.end(true);
    }
    let waited = clock::now_micros().saturating_sub(recorded.received_at_micros);
    let mut response = Response::new(ScriptedBody::new(script, Some(recorded.watch)));
    // Statuses come from a closed range; were one wrong, the client should see a failure.
    *response.status_mut() =
        StatusCode::from_u16(head.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    let kind = if head.is_event_stream {
        "text/event-stream"
    } else {
        "application/json; charset=UTF-8"
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Some(length) = head.content_length {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    for (name, value) in [
        ("vary", "Origin, X-Origin, Referer"),
        ("server", "scaffolding on HTTPServer2"),
        ("x-xss-protection", "0"),
        ("x-frame-options", "SAMEORIGIN"),
        ("x-content-type-options", "nosniff"),
    ] {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    let timing = format!("gfet4t7; dur={}", waited / 1000);
    // ASCII, so it has a form as a header.
    if let Ok(timing) = HeaderValue::from_str(&timing) {
        headers.insert(HeaderName::from_static("server-timing"), timing);
    }
    response
}
