//! What every answer of this vendor carries beside its body. No limits are told, and no time to
//! come back: the body tells that.

use crate::clock;
use crate::headers::set;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::VendorResponse;

/// Sends a script and leaves the record to it.
pub(crate) fn send(recorded: RecordedRequest, script: Script) -> VendorResponse {
    let waited = clock::now_micros().saturating_sub(recorded.received_at_micros);
    let content_type = if script.head.is_event_stream {
        "text/event-stream"
    } else {
        "application/json; charset=UTF-8"
    };
    let mut response = recorded.respond(script, content_type);
    let headers = response.headers_mut();
    for (name, value) in [
        ("vary", "Origin, X-Origin, Referer"),
        ("server", "scaffolding on HTTPServer2"),
        ("x-xss-protection", "0"),
        ("x-frame-options", "SAMEORIGIN"),
        ("x-content-type-options", "nosniff"),
    ] {
        set(headers, name, value);
    }
    let timing = format!("gfet4t7; dur={}", waited / 1000);
    set(headers, "server-timing", &timing);
    response
}
