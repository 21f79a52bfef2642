//! The routes and the document that describes them, made of one list so that neither can lack what
//! the other has.
//!
//! A resource is a file below this one: handlers with their OpenAPI attributes, and the types of their
//! answers. To add one, write the file and add its `routes!` to [`routes`]. What a handler reads comes
//! through [`Shared`], handed in by [`Parts`](crate::Parts).

mod accept_invitation;
pub(crate) mod customer;
mod dev_session;
mod devices;
mod documents;
mod email_requests;
mod emails;
mod health;
mod invitations;
mod margins;
mod members;
mod oidc;
mod operator;
mod payment_webhook;
mod payments;
pub(crate) mod people;
mod person;
mod pricing;
mod redeem;
mod second_factor;
pub(crate) mod session;
mod setup;
mod sign_up;
mod social;
mod viewer;
mod workflows;

pub use invitations::INVITATION_SECONDS;
pub(crate) use operator::publish_due;
pub(crate) use payment_webhook::PATH as PAYMENT_WEBHOOK_PATH;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, Method, Uri};
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::csrf;
use crate::docs;
use crate::error::{ApiError, ConsoleErrorCode};
use crate::middleware::is_public;
use crate::oidc::Providers;
use crate::parts::Parts;
use crate::passwords::Passwords;
use crate::response_cache::ResponseCache;
use crate::shared::Shared;
use crate::static_files;

fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(documents::Described::openapi())
        .routes(routes!(pricing::pricing))
        .routes(routes!(social::catalog))
        .routes(routes!(workflows::list))
        .routes(routes!(workflows::one))
        .routes(routes!(documents::openapi))
        .routes(routes!(documents::workflow_schema))
        .routes(routes!(health::health))
        .routes(routes!(session::show, session::open, session::close))
        .routes(routes!(session::switch))
        .routes(routes!(session::step_up))
        .routes(routes!(second_factor::give))
        .routes(routes!(second_factor::show))
        .routes(routes!(second_factor::enrol))
        .routes(routes!(second_factor::confirm))
        .routes(routes!(second_factor::renew_codes))
        .routes(routes!(second_factor::disable))
        .routes(routes!(dev_session::open))
        .routes(routes!(sign_up::sign_up))
        .routes(routes!(sign_up::verify))
        .routes(routes!(email_requests::verify_again))
        .routes(routes!(email_requests::forgot))
        .routes(routes!(email_requests::reset))
        .routes(routes!(oidc::start))
        .routes(routes!(oidc::callback))
        .routes(routes!(redeem::redeem))
        .routes(routes!(payments::list))
        .routes(routes!(payments::checkout))
        .routes(routes!(payments::set_automatic, payments::remove_automatic))
        .routes(routes!(devices::list))
        .routes(routes!(devices::end))
        .routes(routes!(setup::setup))
        .routes(routes!(person::change))
        .routes(routes!(person::change_password))
        .routes(routes!(person::change_account))
        .routes(routes!(members::list))
        .routes(routes!(members::change, members::remove))
        .routes(routes!(invitations::invite))
        .routes(routes!(invitations::revoke))
        .routes(routes!(invitations::preview))
        .routes(routes!(accept_invitation::accept))
        .merge(customer::routes())
}

/// All routes, with words for the paths and methods that are not among them; and what they share.
pub(crate) fn router(parts: Parts) -> (Router, Shared) {
    let (router, described) = routes().split_for_parts();
    let (operators, operators_described) = operator::routes().split_for_parts();
    let paths = described.paths.paths.keys();
    // Private paths are not listed to a caller of an unknown path.
    let public: Vec<&str> = paths
        .map(String::as_str)
        .filter(|path| is_public(path))
        .collect();
    let known: Arc<str> = public.join(", GET ").into();
    let data_plane = static_files::origin_of(&parts.settings.base_url);
    let document = documents::document(&described);
    let operator_document = documents::operators_document(&operators_described);
    let shared = Shared {
        data: parts.data,
        people: parts.people,
        keyring: parts.keyring,
        clock: parts.clock,
        passwords: Passwords::new(Arc::clone(&parts.random)),
        random: parts.random,
        providers: Providers::new(&parts.settings.providers, parts.client.clone()),
        payments: parts.payments,
        settings: Arc::new(parts.settings),
        gateway: parts.gateway,
        prices: ResponseCache::default(),
        cells: ResponseCache::default(),
        document,
        operator_document,
        upstreams: parts.upstreams,
        client: parts.client,
    };
    let documentation = docs::router(shared.clone());
    let router = router
        .merge(operators)
        .route_layer(from_fn_with_state(shared.clone(), csrf::guard))
        // After the guard: no browser sends these, and their signature says who does.
        .merge(payment_webhook::router())
        .with_state(shared.clone())
        .merge(documentation)
        .method_not_allowed_fallback(wrong_method)
        .fallback(move |method: Method, uri: Uri, headers: HeaderMap| {
            let page = page(&method, &uri, &headers, &data_plane);
            let answered = page.unwrap_or_else(|| unknown(&uri, &known).into_response());
            std::future::ready(answered)
        });
    (router, shared)
}

async fn wrong_method() -> ApiError {
    ApiError::new(
        ConsoleErrorCode::MethodNotAllowed,
        "method not allowed; see the `allow` header",
    )
}

/// A page for people, if the path is one's.
fn page(method: &Method, uri: &Uri, headers: &HeaderMap, data_plane: &str) -> Option<Response> {
    let reads = method == Method::GET || method == Method::HEAD;
    if !reads || !static_files::owns(uri.path()) {
        return None;
    }
    static_files::answer(uri.path(), headers, data_plane)
}

fn unknown(uri: &Uri, known: &str) -> ApiError {
    let doubled = uri.path().starts_with("/api/api/");
    let hint = if doubled {
        " (the path contains `/api` twice)"
    } else {
        ""
    };
    let text = format!("not found{hint}; see GET {known}");
    ApiError::new(ConsoleErrorCode::NotFound, text)
}
