//! Responses that an upstream keeps: read, forgotten, stopped, and what was put into them. Free; the id
//! says where each one is.

use bytes::Bytes;
use http::{Method, StatusCode, Uri};
use serde_json::Value;
use trunkline_upstream::{Answer, Ask, Format as Spoken, Outgoing, Protocol, SendError, Task};
use trunkline_wire::openai_chat::read_error;
use trunkline_wire::{Edit, Format, Rewrite, patch, rewrite_whole, scan};

use crate::asking::in_its_words;
use crate::caller::Caller;
use crate::continuing::Kept;
use crate::entrance::RESPONSES;
use crate::fault::{Fault, Kind};
use crate::gateway::Gateway;
use crate::reply::{self, Answered};
use crate::roster::Live;
use crate::sending::headers;

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

impl Gateway {
    /// Asks the upstream that keeps a response.
    pub(crate) async fn stored(
        &self,
        caller: &Caller,
        task: Task,
        id: &str,
        query: Option<&str>,
    ) -> Result<Answered, Fault> {
        caller.check_endpoint(RESPONSES.word)?;
        let kept = self.open_response(caller.account.id, id);
        let kept = kept.filter(|kept| kept.stored).ok_or_else(unknown)?;
        let live = self.inner.roster.get().channel(kept.channel);
        let live = live.ok_or_else(gone)?;
        if !caller.may_be_served_in(live.row.region.as_deref()) {
            let text = "this response is kept in a region that this API key may not use";
            return Err(Fault::new(Kind::ModelNotAllowed, text).at("response_id"));
        }
        let mut answer = self.ask_keeper(&live, &kept, task, query).await?;
        let most = self.inner.settings.max_answer_bytes;
        let status = answer.status;
        let body = answer.whole(most).await;
        let body = body.map_err(|_| Fault::new(Kind::UpstreamFailed, "the upstream broke off"))?;
        if status.is_success() {
            let shown = self.shown_kept(caller, (&kept, id), &live, (task, &body));
            return Ok(reply::bytes_of(StatusCode::OK, shown, "application/json"));
        }
        Err(match status.as_u16() {
            404 => unknown(),
            400..=499 => in_its_words(self, status, &read_error(&body)),
            _ => Fault::new(Kind::UpstreamFailed, "the upstream failed"),
        })
    }

    async fn ask_keeper(
        &self,
        live: &Live,
        kept: &Kept,
        task: Task,
        query: Option<&str>,
    ) -> Result<Answer, Fault> {
        let ask = Ask {
            format: Spoken::OpenaiResponses,
            task,
            model: "",
            stream: false,
            id: Some(&kept.upstream),
        };
        let uri = live
            .provider
            .address(&live.base, &ask)
            .map_err(|_| unknown())?;
        let now = self.inner.now();
        let credential = live.credential_by(kept.credential, now).ok_or_else(gone)?;
        let settings = &self.inner.settings;
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
            headers: headers(live, Format::OpenaiResponses, false),
            body: Bytes::new().into(),
            deadlines: live.deadlines(settings.whole_wait, settings.stream_idle),
            proxy: live.proxy.as_ref(),
            protocol: Protocol::Http1,
        };
        self.send_as(call, credential)
            .await
            .map_err(|error| match error {
                SendError::Silent => Fault::new(Kind::UpstreamTimeout, "the upstream is silent"),
                SendError::NotSent(_) | SendError::Broken(_) => {
                    Fault::new(Kind::UpstreamFailed, "the upstream could not be reached")
                }
            })
    }

    /// What the upstream says, with the ids and names that the caller knows.
    fn shown_kept(
        &self,
        caller: &Caller,
        (kept, id): (&Kept, &str),
        live: &Live,
        (task, body): (Task, &Bytes),
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
            let mut models = live.row.models.iter();
            let known = models.find(|(_, upstream)| **upstream == theirs);
            known.map(|(public, _)| public.clone())
        });
        // The one before is kept in the same place; it held no more than this one does.
        let previous = text("previous_response_id").and_then(|upstream| {
            let before = Kept {
                upstream,
                ..kept.clone()
            };
            self.seal_response(caller.account.id, &before)
        });
        let rewrite = Rewrite {
            model: public,
            id: Some(id.to_owned()),
            previous,
            channel: Some(live.mark.clone()),
        };
        let shown = rewrite_whole(Format::OpenaiResponses, body, &rewrite);
        shown.unwrap_or_else(|| body.clone())
    }
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

fn unknown() -> Fault {
    let text = "this account has no stored response of that id";
    Fault::new(Kind::NotFound, text).at("response_id")
}

fn gone() -> Fault {
    Fault::new(
        Kind::NoRoute,
        "the upstream that keeps this response is not used now",
    )
}
