//! The upgrade: who may connect, how, and with which sub-protocol.

use http::header::{
    CONNECTION, CONTENT_TYPE, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    UPGRADE,
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::upgrade::OnUpgrade;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::connection::{Connection, Peer};
use super::vendor::{self, Address, Vendor};
use crate::fault_stage;
use crate::headers;
use crate::realtime_log::RealtimeWork;
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;
use crate::script::{Head, Script};
use crate::scripted_body::{VendorResponse, VendorResult};

/// The sub-protocol that a server selects, and those that carry a key, which it never repeats.
const PROTOCOL: &str = "realtime";
const KEY_PROTOCOLS: [&str; 2] = ["openai-insecure-api-key.", "xai-client-secret."];
/// How secrets begin that are minted for browsers.
const SECRET_PREFIX: &str = "ek_";

/// Whether a request wants to become a WebSocket, on a path that has one.
pub(crate) fn is_upgrade<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    let upgrade = headers.get(UPGRADE).and_then(|value| value.to_str().ok());
    request.method() == Method::GET
        && upgrade.is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
        && headers.contains_key(SEC_WEBSOCKET_KEY)
        && vendor::has_upgrade(request.uri().path())
}

/// Answers such a request. What becomes of the connection is handed to its task.
pub(crate) async fn serve_upgrade(
    mut recorded: RecordedRequest,
    upgrade: OnUpgrade,
    upgrades: mpsc::Sender<Connection>,
) -> VendorResult {
    let offered = offered(&recorded.parts.headers);
    let by_protocol = recorded.key.is_empty();
    let key = offered.iter().find_map(|protocol| {
        let mut keys = KEY_PROTOCOLS.iter();
        keys.find_map(|prefix| protocol.strip_prefix(prefix))
    });
    if by_protocol && let Some(key) = key {
        recorded.keyed(key);
    }
    let path = recorded.parts.uri.path();
    let query = recorded.parts.uri.query().unwrap_or_default();
    let checked = vendor::address(path, query);
    let refusal = key_refusal(&recorded).or_else(|| checked.clone().err());
    let address = checked.unwrap_or_else(|_| Address {
        vendor: Vendor::OpenAi,
        work: RealtimeWork::Conversation,
        model: String::new(),
    });
    recorded.note(|record| record.model.clone_from(&address.model));
    // A browser cannot see the status of a refused upgrade.
    if let Some(refusal) = &refusal
        && !(by_protocol && key.is_some())
    {
        return Ok(recorded.refuse(refusal));
    }
    if refusal.is_none() {
        let fault = recorded
            .state
            .plans()
            .strike_upgrade(&address.model, &recorded.key);
        recorded.note(|record| record.fault = fault);
        if let Some(error) = fault_stage::before_answer(&mut recorded, fault, true).await? {
            return Ok(recorded.fail(error, &address.model, 0));
        }
    }
    let preset = recorded.state.client_secrets.session(&recorded.key);
    let peer = Peer {
        state: recorded.state.clone(),
        vendor: address.vendor,
        work: address.work,
        model: address.model,
        key: recorded.key.clone(),
        number: recorded.number,
        preset,
        refusal,
    };
    let connection = Connection { upgrade, peer };
    // Without a receiver the connection is gone, and with it the one who asked.
    upgrades.try_send(connection).unwrap_or_default();
    Ok(switch(recorded, offered.contains(&PROTOCOL.to_owned())))
}

/// The answer that turns the connection into a WebSocket.
fn switch(mut recorded: RecordedRequest, selects_protocol: bool) -> VendorResponse {
    recorded.watch.end(true);
    let accept = recorded
        .parts
        .headers
        .get(SEC_WEBSOCKET_KEY)
        .map(|key| derive_accept_key(key.as_bytes()));
    let mut head = Head::ok();
    head.status = StatusCode::SWITCHING_PROTOCOLS.as_u16();
    let mut response = recorded.respond(Script::new(head, Vec::new()), "text/plain");
    let headers = response.headers_mut();
    headers.remove(CONTENT_TYPE);
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Some(Ok(accept)) = accept.as_deref().map(HeaderValue::from_str) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    if selects_protocol {
        let protocol = HeaderValue::from_static(PROTOCOL);
        headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    response
}

fn offered(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let entries = texts.flat_map(|text| text.split(','));
    entries.map(|entry| entry.trim().to_owned()).collect()
}

fn key_refusal(recorded: &RecordedRequest) -> Option<Refusal> {
    let key = &recorded.key;
    if key.is_empty() {
        return Some(Refusal::no_key());
    }
    let is_accepted = if key.starts_with(SECRET_PREFIX) {
        recorded.state.client_secrets.accepts(key)
    } else {
        recorded.state.accepts(key)
    };
    (!is_accepted).then(|| Refusal::wrong_key(&headers::last_four(key)))
}
