//! The documentation at `/docs`: Markdown that is built in, shown as pages for people and as text for
//! programs. The pages are made when the first one is asked for, with this installation's own addresses
//! in them, and are whole without a script. Pages for operators are shown to operators who are signed in, and in no
//! document for customers.

mod escape;
mod highlight;
mod layout;
mod links;
mod markdown;
mod page;
mod platforms;
mod providers;
mod reference;
mod settings;
mod site;
mod sources;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};

pub(crate) use self::settings::DocsSettings;
use self::site::{Audience, Facts, Site};
use crate::reply;
use crate::session;
use crate::shared::Shared;

/// A page may load what is ours, and nothing else.
const PAGE_RULES: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
    font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The documentation. Clones are the same one.
#[derive(Clone)]
struct Docs {
    inner: Arc<Inner>,
}

struct Inner {
    settings: DocsSettings,
    shared: Shared,
    for_customers: OnceLock<Site>,
    for_operators: OnceLock<Site>,
}

/// Whether a path is one of the documentation's.
pub(crate) fn owns(path: &str) -> bool {
    let below = |top: &str| {
        path.strip_prefix(top)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    matches!(
        path,
        "/docs" | "/llms.txt" | "/llms-full.txt" | "/openapi/gateway.json"
    ) || below("/docs")
}

pub(crate) fn router(shared: Shared) -> Router {
    let docs = Docs {
        inner: Arc::new(Inner {
            settings: DocsSettings::of(&shared.settings),
            shared,
            for_customers: OnceLock::new(),
            for_operators: OnceLock::new(),
        }),
    };
    Router::new()
        .route("/docs", get(file))
        .route("/docs/", get(async || Redirect::permanent("/docs")))
        .route("/docs/{*path}", get(file))
        .route("/llms.txt", get(file))
        .route("/llms-full.txt", get(file))
        .route("/openapi/gateway.json", get(file))
        .with_state(docs)
}

async fn file(State(docs): State<Docs>, uri: Uri, headers: HeaderMap) -> Response {
    let site = docs.inner.site(docs.inner.audience(&headers).await);
    let path = uri.path();
    let mut answered = if let Some(found) = site.file(path) {
        reply::bytes(&headers, found.body.clone(), found.content_type)
    } else if let Some(slug) = elsewhere(site, path) {
        return Redirect::permanent(&slug).into_response();
    } else {
        let page = site.missing(path);
        let mut answered = (StatusCode::NOT_FOUND, Body::from(page.body)).into_response();
        let content_type = HeaderValue::from_static(page.content_type);
        answered.headers_mut().insert(CONTENT_TYPE, content_type);
        answered
    };
    let rules = HeaderValue::from_static(PAGE_RULES);
    let headers = answered.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, rules);
    // Operators see more.
    headers.insert(VARY, HeaderValue::from_static("cookie"));
    answered
}

/// Addresses that people guess: an error's own page, the first page by its name, a slash too many.
fn elsewhere(site: &Site, path: &str) -> Option<String> {
    if let Some(code) = path.strip_prefix("/docs/errors/") {
        let known = site.has_heading("errors", code);
        return known.then(|| format!("/docs/errors#{code}"));
    }
    if path == "/docs/index" {
        return Some("/docs".to_owned());
    }
    let shorter = path.strip_suffix('/')?;
    site.file(shorter).map(|_| shorter.to_owned())
}

// === impl Inner ===

impl Inner {
    /// Who reads. Without a database all readers are customers.
    async fn audience(&self, headers: &HeaderMap) -> Audience {
        let sign_in = session::find(&self.shared, headers).await.ok().flatten();
        match sign_in.is_some_and(|sign_in| sign_in.operator.is_some()) {
            true => Audience::Operators,
            false => Audience::Customers,
        }
    }

    fn site(&self, audience: Audience) -> &Site {
        let site = match audience {
            Audience::Customers => &self.for_customers,
            Audience::Operators => &self.for_operators,
        };
        site.get_or_init(|| {
            Site::build(&Facts {
                audience,
                settings: &self.settings,
                console: &serde_json::from_slice(&self.shared.document).unwrap_or_default(),
                cells: &self.shared.gateway.cells(),
            })
        })
    }
}
