//! Responses that an upstream keeps: read, forgotten, stopped, and what was put into them. Free; the id
//! says where each one is.

use bytes::Bytes;
use http::{Method, StatusCode, Uri};
use serde_json::Value;
use trunkline_upstream::{
    Ask, Format as Spoken, Outgoing, Protocol, SendError, Task, UpstreamResponse,
};
use trunkline_wire::read_error;
use trunkline_wire::{Edit, Format, Rewrite, patch, rewrite_response, scan};

use crate::caller::Caller;
use crate::channels::{Channel, ChannelQuery};
use crate::endpoint::RESPONSES;
use crate::error::{ApiError, ErrorCode};
use crate::failover::upstream_refusal;
use crate::response::{self, Response};
use crate::response_id::{self, SealedResponseId};
use crate::sending::{self, headers};
use crate::services::Services;

/// Bytes of a query that are passed on.
const MAX_QUERY_BYTES: usize = 2_048;
/// What a query may say there; nothing else is passed on, the caller's key least of all.
const QUERY_WORDS: [&str; 6] = [
    "include",
    "include[]",
    "limit",
    "order",
    "after",
    "include_obfuscation",
];

/// Asks the upstream that keeps a response.
pub(crate) async fn handle(
    services: &Services,
    caller: &Caller,
    task: Task,
    id: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    caller.check_endpoint(RESPONSES.name)?;
    let opened = response_id::open_response(services, caller.account.id, id);
    let opened = opened.filter(|opened| opened.stored).ok_or_else(unknown)?;
    let channel = services.channels.load_full().channel(opened.channel);
    let channel = channel.ok_or_else(gone)?;
    if !channel.qualifies(&caller.key.policy) {
        let text = "this response is stored at an upstream without the attributes that this API key demands";
        return Err(ApiError::new(ErrorCode::RouteNotAllowed, text).at("response_id"));
    }
    let mut answer = ask_channel(services, caller, &channel, &opened, task, query).await?;
    let most = services.settings.max_answer_bytes;
    let status = answer.status;
    let body = answer.whole(most).await;
    let body = body.map_err(|_| {
        ApiError::new(
            ErrorCode::UpstreamFailed,
            "the upstream ended its answer early",
        )
    })?;
    if status.is_success() {
        let public = public_body(services, caller, &opened, id, &channel, task, &body);
        return Ok(response::bytes_of(
            StatusCode::OK,
            public,
            "application/json",
        ));
    }
    Err(match status.as_u16() {
        404 => unknown(),
        400..=499 => upstream_refusal(services, status, &read_error(&body)),
        _ => ApiError::new(ErrorCode::UpstreamFailed, "the upstream failed"),
    })
}

async fn ask_channel(
    services: &Services,
    caller: &Caller,
    channel: &Channel,
    opened: &SealedResponseId,
    task: Task,
    query: Option<&str>,
) -> Result<UpstreamResponse, ApiError> {
    let ask = Ask {
        format: Spoken::OpenaiResponses,
        task,
        model: "",
        stream: false,
        id: Some(&opened.upstream),
    };
    let uri = channel
        .provider
        .address(&channel.base, &ask)
        .map_err(|_| unknown())?;
    let of_call = ChannelQuery {
        model: "",
        account: caller.account.id,
        now: services.now(),
    };
    let credential = channel
        .credential_by(opened.credential, of_call)
        .ok_or_else(gone)?;
    let settings = &services.settings;
    let call = Outgoing {
        method: match task {
            Task::DeleteResponse => Method::DELETE,
            Task::CancelResponse => Method::POST,
            Task::Generate
            | Task::CountTokens
            | Task::Embeddings
            | Task::Rerank
            | Task::Moderations
            | Task::Completions
            | Task::ReadResponse
            | Task::ResponseItems => Method::GET,
        },
        uri: with_query(uri, query),
        headers: headers(channel, Format::OpenaiResponses, false),
        body: Bytes::new().into(),
        deadlines: channel.deadlines(settings.whole_wait, settings.stream_idle),
        proxy: channel.proxy.as_ref(),
        protocol: Protocol::Http1,
    };
    sending::send_as(services, call, credential)
        .await
        .map_err(|error| match error {
            SendError::Silent => ApiError::new(
                ErrorCode::UpstreamTimeout,
                "the upstream did not answer in time",
            ),
            SendError::NotSent(_) | SendError::Broken(_) => {
                ApiError::new(ErrorCode::UpstreamFailed, "the upstream is unreachable")
            }
        })
}

/// What the upstream says, with the ids and names that the caller knows.
fn public_body(
    services: &Services,
    caller: &Caller,
    opened: &SealedResponseId,
    id: &str,
    channel: &Channel,
    task: Task,
    body: &Bytes,
) -> Bytes {
    if task == Task::ResponseItems {
        return body.clone();
    }
    if task == Task::DeleteResponse {
        let Ok(object) = scan(body) else {
            return body.clone();
        };
        let id = Value::String(id.to_owned()).to_string().into_bytes();
        return Bytes::from(patch(&object, &[Edit::Set("id", id)]));
    }
    let text = |field: &str| {
        let object = scan(body).ok()?;
        serde_json::from_slice::<String>(object.value(field)?).ok()
    };
    let public = text("model").and_then(|theirs| {
        let mut models = channel.row.models.iter();
        let known = models.find(|(_, upstream)| **upstream == theirs);
        known.map(|(public, _)| public.clone())
    });
    // The one before is kept in the same place; it held no more than this one does.
    let previous = text("previous_response_id").and_then(|upstream| {
        let before = SealedResponseId {
            upstream,
            ..opened.clone()
        };
        response_id::seal_response(services, caller.account.id, &before)
    });
    let rewrite = Rewrite {
        model: public,
        id: Some(id.to_owned()),
        previous,
        channel: Some(channel.mark.clone()),
    };
    let public = rewrite_response(Format::OpenaiResponses, body, &rewrite);
    public.unwrap_or_else(|| body.clone())
}

/// The address with what of the query may be passed on.
fn with_query(uri: Uri, query: Option<&str>) -> Uri {
    let pairs = query.unwrap_or_default().split('&');
    let known = pairs.filter(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        let name = name.replace("%5B%5D", "[]").replace("%5b%5d", "[]");
        QUERY_WORDS.contains(&name.as_str())
    });
    let known: Vec<&str> = known.collect();
    let known = known.join("&");
    if known.is_empty() || known.len() > MAX_QUERY_BYTES {
        return uri;
    }
    let seam = if uri.query().is_some() { '&' } else { '?' };
    format!("{uri}{seam}{known}").parse().unwrap_or(uri)
}

fn unknown() -> ApiError {
    let text = "this account has no stored response with this id";
    ApiError::new(ErrorCode::NotFound, text).at("response_id")
}

fn gone() -> ApiError {
    ApiError::new(
        ErrorCode::NoRoute,
        "the channel that stores this response is not available",
    )
}
