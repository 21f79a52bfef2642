//! A turn of a conversation, from its bytes to a task of its own.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use tokio::sync::oneshot;
use trunkline_catalog::Sale;
use trunkline_terms::{Moment, RequestId};
use trunkline_wire::{InPath, Request};

use crate::again::{Content, is_named};
use crate::caller::Caller;
use crate::calling::call;
use crate::continuing::PREVIOUS;
use crate::entrance::Entrance;
use crate::fault::{Fault, Kind};
use crate::gateway::Gateway;
use crate::headers::{MAX_COST_HEADER, forwarded, max_cost};
use crate::limiting::Load;
use crate::locking::QUOTE_HEADER;
use crate::places::Place;
use crate::quoted::{Asked, Quoted};
use crate::reply::Answered;
use crate::story::Story;

impl Gateway {
    /// A turn of a conversation: read, priced, then handed to a task of its own.
    pub(crate) async fn talk(
        &self,
        story: &Arc<Story>,
        caller: Caller,
        (entrance, path, in_a_list): (Entrance, InPath<'_>, bool),
        headers: &HeaderMap,
        body: Bytes,
        mut place: Place,
    ) -> Result<Answered, Fault> {
        caller.check_endpoint(entrance.word)?;
        place.shrink_to(body.len());
        story.came(body.len());
        let named = if is_named(headers) {
            let content = Content {
                path: story.path(),
                class: if in_a_list { "json, a list" } else { "json" },
                body: &body,
                task: false,
            };
            // In a box: few calls bring one.
            Box::pin(self.named(&caller, headers, content)).await?
        } else {
            None
        };
        let mut request = entrance.read(body, path)?;
        self.resolve(&caller, &mut request);
        let offered = match headers.get(QUOTE_HEADER) {
            Some(quote) => {
                let what = (entrance.word, request.model(), request.body().as_ref());
                // In a box: few calls bring one.
                Box::pin(self.locked(quote, &caller, what)).await?
            }
            None => {
                let book = &self.inner.shelf.get().book;
                (caller.sale(book, request.model())?, self.inner.now())
            }
        };
        let mut quoted = self.price((story.id, entrance), caller, headers, request, offered)?;
        quoted.in_a_list = in_a_list;
        quoted.named = named;
        story.asks_for(quoted.request.model(), quoted.request.facts.stream);
        check_max_cost(headers, &quoted)?;
        if !self.inner.roster.get().knows(quoted.request.model()) {
            let text = format!("nobody serves {:?} right now", quoted.request.model());
            return Err(Fault::new(Kind::NoRoute, text));
        }
        self.check_regions(&quoted.caller, quoted.request.model())?;
        let load = Load::Model(quoted.request.model(), Some(quoted.request.input_estimate));
        self.limit(story, &quoted.caller, load).await?;
        let (head, answer) = oneshot::channel();
        let (gateway, story) = (self.clone(), Arc::clone(story));
        // In a box, because everybody who hands a task on copies it, and a call is large.
        self.inner.tasks.spawn(Box::pin(async move {
            call(gateway, quoted, story, head).await;
            drop(place);
        }));
        // A task that ends without an answer has failed in a way we do not know.
        answer.await.unwrap_or_else(|_| Err(Fault::unavailable()))
    }

    /// Prices a request under the prices and the clock that it was offered.
    pub(crate) fn price(
        &self,
        (id, entrance): (RequestId, Entrance),
        caller: Caller,
        headers: &HeaderMap,
        request: Request,
        (sale, at): (Sale, Moment),
    ) -> Result<Quoted, Fault> {
        let strict = headers.get("trunkline-strict");
        let previous = request.facts.previous.as_deref();
        let account = caller.account.id;
        let continues = previous.map(|id| self.continued(account, id)).transpose()?;
        let mut quoted = Quoted::price(Asked {
            id,
            caller,
            entrance,
            request,
            continues,
            sale,
            at,
            strict: strict.is_some_and(|value| value == "true"),
            tranche: self.inner.settings.tranche_tokens,
        })?;
        quoted.forwarded = forwarded(entrance.format, headers);
        if let Some(kept) = &quoted.continues {
            let theirs = serde_json::Value::String(kept.upstream.clone()).to_string();
            quoted.with.push((PREVIOUS.to_owned(), theirs));
        }
        Ok(quoted)
    }
}

fn check_max_cost(headers: &HeaderMap, quoted: &Quoted) -> Result<(), Fault> {
    const NAME: &str = MAX_COST_HEADER;
    let Some(most) = max_cost(headers)? else {
        return Ok(());
    };
    let bound = quoted.bound(quoted.most_output())?;
    if bound <= most {
        return Ok(());
    }
    let text = format!("this call may cost {bound} USD, and `{NAME}` allows {most}");
    let affordable = quoted.affordable(most).unwrap_or(0);
    Err(Fault::new(Kind::MaxCostExceeded, text)
        .with_money("required_usd", bound)
        .with("max_tokens_affordable", affordable))
}
