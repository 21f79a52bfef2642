//! Whether a request that changes something comes from our own pages. Another site can make a browser
//! send our cookie along, but it can neither add a header of ours without asking first (which is never
//! allowed) nor say that it is us. Both are asked for, so that one mistake is not enough.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, Method};

use crate::error::{ApiError, ConsoleErrorCode};
use crate::shared::Shared;

/// The header of our pages, and what it says.
const HEADER: (&str, &str) = ("x-trunkline-console", "1");
/// Where a browser tells who asks.
const FETCH_SITE: &str = "sec-fetch-site";

/// Stands before every handler that exists.
pub(crate) async fn guard(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match check(&head, &shared.settings.dash_url) {
        Ok(()) => next.run(Request::from_parts(head, body)).await,
        Err(fault) => fault.into_response(),
    }
}

fn check(head: &Parts, dash_url: &str) -> Result<(), ApiError> {
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(&head.method) {
        return Ok(());
    }
    let refused = |why: &str| {
        let text = format!("{why}; nothing was changed");
        Err(ApiError::new(ConsoleErrorCode::CrossSite, text))
    };
    if word(&head.headers, HEADER.0) != Some(HEADER.1) {
        return refused(
            "only the console's own pages may send this request, with x-trunkline-console: 1",
        );
    }
    let site = word(&head.headers, FETCH_SITE);
    if site.is_some_and(|site| site != "same-origin") {
        return refused("cross-site request rejected");
    }
    let mut origins = head.headers.get_all(ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) if site.is_some() => Ok(()),
        (None, _) => refused("the request has no origin header"),
        (Some(origin), None) if is_ours(origin.to_str().ok(), head, dash_url) => Ok(()),
        (Some(_), _) => refused("cross-site request rejected"),
    }
}

/// The console's address, or the very host that was asked.
fn is_ours(origin: Option<&str>, head: &Parts, dash_url: &str) -> bool {
    let Some(origin) = origin else { return false };
    let ours = url::Url::parse(dash_url).map(|url| url.origin().ascii_serialization());
    if ours.is_ok_and(|ours| ours == origin) {
        return true;
    }
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    let authority = authority.or_else(|| word(&head.headers, HOST.as_str()));
    let host = ["http://", "https://"]
        .into_iter()
        .find_map(|scheme| origin.strip_prefix(scheme));
    host.is_some() && host == authority
}

/// A header that is there once.
fn word<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_some() {
        return None;
    }
    first.to_str().ok()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn refused(headers: &[(&str, &str)]) -> bool {
        let mut request = Request::post("/api/session");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        check(&head, "https://dash.example").is_err()
    }

    #[test]
    fn only_our_own_pages_change_anything() {
        const OURS: (&str, &str) = ("x-trunkline-console", "1");
        for good in [
            [OURS, ("origin", "https://dash.example")].as_slice(),
            &[OURS, ("sec-fetch-site", "same-origin")],
            &[
                OURS,
                ("origin", "http://10.0.0.1:8081"),
                ("host", "10.0.0.1:8081"),
            ],
            &[
                OURS,
                ("origin", "https://dash.example"),
                ("sec-fetch-site", "same-origin"),
            ],
        ] {
            assert!(!refused(good), "{good:?}");
        }
        for bad in [
            [].as_slice(),
            &[OURS],
            &[("origin", "https://dash.example")],
            &[
                ("x-trunkline-console", "0"),
                ("origin", "https://dash.example"),
            ],
            &[OURS, ("origin", "https://evil.example")],
            &[OURS, ("origin", "null")],
            &[OURS, ("origin", "http://dash.example")],
            &[OURS, ("origin", "https://dash.example.evil")],
            &[OURS, ("origin", "https://dash.example:444")],
            &[
                OURS,
                ("origin", "https://evil.example"),
                ("host", "dash.example"),
            ],
            &[OURS, ("origin", ""), ("host", "")],
            &[OURS, ("sec-fetch-site", "cross-site")],
            &[OURS, ("sec-fetch-site", "same-site")],
            &[OURS, ("sec-fetch-site", "none")],
            &[
                OURS,
                ("origin", "https://dash.example"),
                ("sec-fetch-site", "cross-site"),
            ],
            &[
                OURS,
                ("origin", "https://evil.example"),
                ("sec-fetch-site", "same-origin"),
            ],
            &[
                OURS,
                ("origin", "https://dash.example"),
                ("origin", "https://evil.example"),
            ],
        ] {
            assert!(refused(bad), "{bad:?}");
        }
    }
}
