//! `POST /v1/images/generations` and `/v1/images/edits`: one call, one answer. What fails is not sent to
//! another vendor once it has left, because a picture that nobody sees may be billed to us twice; what
//! succeeds in part is charged in part.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;
use trunkline_ledger::Outcome;
use trunkline_studio::images::{Ask, Made, plan, protocol_of};
use trunkline_terms::{Bucket, EndpointType, RequestId, Usage};

use super::IMAGES;
use super::errands::Waits;
use super::handing::Whole;
use super::priced::{Planned, Priced, check_door};
use super::round::Round;
use crate::again::{Content, is_named, may_retry};
use crate::asking::NoAnswer;
use crate::caller::Caller;
use crate::calling::{Head, left, nothing, tell};
use crate::fault::{Fault, Kind, refused};
use crate::gateway::Gateway;
use crate::places::Place;
use crate::reply::Answered;
use crate::roster::Live;
use crate::story::Story;
use crate::vendors::Heard;

/// Tokens that the usage row of a call shows, for accounting alone.
const PROMPT_TOKENS: u64 = 1;

/// Images that may be made.
pub(super) struct Wanted {
    pub(super) priced: Priced,
    pub(super) ask: Ask,
}

impl Gateway {
    /// Reads, plans and prices a request.
    pub(super) fn want_images(
        (id, caller): (RequestId, Caller),
        headers: &HeaderMap,
        ask: Ask,
        offered: (trunkline_catalog::Sale, trunkline_terms::Moment),
    ) -> Result<Wanted, Fault> {
        let endpoint = EndpointType::ImageGeneration;
        check_door(&offered.0, &ask.model, endpoint)?;
        let model = &offered.0.model;
        let planned = plan(ask, model.entry(), model.list()).map_err(refused)?;
        let what = Planned {
            word: IMAGES,
            endpoint,
            model: planned.ask.model.clone(),
            usage: Usage::unknown().with(Bucket::Calls, planned.ask.count),
            attributes: planned.attributes,
            report: planned.report,
        };
        let priced = Priced::new((id, caller), headers, what, offered)?;
        Ok(Wanted {
            priced,
            ask: planned.ask,
        })
    }

    /// Makes images.
    pub(crate) async fn make_images(
        &self,
        story: &Arc<Story>,
        caller: Caller,
        headers: &HeaderMap,
        (mut ask, body): (Ask, Bytes),
        place: Place,
    ) -> Result<Answered, Fault> {
        let named = if is_named(headers) || may_retry(headers) {
            let content = Content {
                path: story.path(),
                class: IMAGES,
                body: &body,
                task: false,
            };
            let who = (story.as_ref(), &caller);
            Box::pin(self.named_or_retried(who, headers, content)).await?
        } else {
            None
        };
        self.rename(&caller, &mut ask.model);
        let what = (IMAGES, ask.model.as_str(), body.as_ref());
        let offered = self.offered(&caller, headers, what).await?;
        let mut wanted = Self::want_images((story.id, caller), headers, ask, offered)?;
        wanted.priced.named = named;
        story.asks_for(&wanted.priced.model, false);
        self.has_route(&wanted.priced)?;
        self.limit_made(story, &wanted.priced).await?;
        let (head, answer) = oneshot::channel();
        let (gateway, story) = (self.clone(), Arc::clone(story));
        self.inner.tasks.spawn(Box::pin(async move {
            gateway.images_call(wanted, &story, head).await;
            drop(place);
        }));
        answer.await.unwrap_or_else(|_| Err(Fault::unavailable()))
    }

    pub(super) fn has_route(&self, priced: &Priced) -> Result<(), Fault> {
        let model = &priced.model;
        if self.inner.roster.get().knows(model) {
            return self.check_regions(&priced.caller, model);
        }
        let text = format!("nobody serves {model:?} right now");
        Err(Fault::new(Kind::NoRoute, text))
    }

    /// Money, the vendor, the pictures in our hands, the charge; then the answer.
    async fn images_call(&self, mut wanted: Wanted, story: &Story, mut head: Head) {
        let admitted = match wanted.priced.hold(self).await {
            Ok(admitted) => admitted,
            Err(fault) => return tell(head, Err(fault)),
        };
        let outlives = wanted.priced.named.is_some();
        let drawn = tokio::select! {
            drawn = self.drawn(&mut wanted, story) => drawn,
            () = left(story, &mut head), if !outlives => {
                admitted.void(nothing(story, Outcome::Cancelled)).await;
                return story.ended(Outcome::Cancelled, None, (0, 0));
            }
        };
        let Drawn {
            live,
            entries,
            failed,
        } = match drawn {
            Ok(drawn) => drawn,
            Err(NoAnswer { fault, outcome }) => {
                // Let go before the caller is told that nothing was charged.
                admitted.void(nothing(story, outcome)).await;
                story.ended(outcome, None, (0, 0));
                return tell(head, Err(fault));
            }
        };
        let count = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        let priced = &wanted.priced;
        let made = Usage::unknown().with(Bucket::Calls, count);
        let sum = match priced.sum(&made) {
            Ok(sum) => sum,
            Err(fault) => {
                admitted.void(nothing(story, Outcome::UpstreamFailed)).await;
                story.ended(Outcome::UpstreamFailed, None, (0, 0));
                return tell(head, Err(fault));
            }
        };
        let body = json!({
            "created": self.inner.now().seconds(),
            "data": entries,
            "metadata": {
                "success_count": count.to_string(),
                "failed_count": failed.to_string(),
            },
        });
        let whole = Whole {
            sum,
            measured: made.with(Bucket::PlainInput, PROMPT_TOKENS),
            tokens: (PROMPT_TOKENS, 0),
            content_type: "application/json",
            body: Bytes::from(body.to_string()),
        };
        self.hand_over((priced, admitted), (&live, story), head, whole)
            .await;
    }

    /// Pictures that are ours to hand over.
    async fn drawn(&self, wanted: &mut Wanted, story: &Story) -> Result<Drawn, NoAnswer> {
        let (began, settings) = (Instant::now(), &self.inner.settings);
        let (live, made) = self.ask_painters(wanted, story).await?;
        story.upstream_ended();
        // A slow vendor leaves its pictures the time of a body; together they never outlive the hold.
        let left = settings.whole_wait.saturating_sub(began.elapsed());
        let now = Instant::now();
        let ends = now.checked_add(left.max(settings.body_wait)).unwrap_or(now);
        let asked = wanted.ask.count;
        let caller = &wanted.priced.caller;
        let mut images = made.pictures;
        // More than was asked for is the vendor's gift, and is not handed on: nobody pays for it.
        images.truncate(usize::try_from(asked).unwrap_or(usize::MAX));
        let entries = self
            .shown_pictures(caller, (images, ends), wanted.ask.wants_base64)
            .await;
        let count = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        if let Some(why) = made.why {
            tracing::warn!(why, "an upstream made fewer pictures than it was asked for");
        }
        if count == 0 {
            let text = "the upstream made no picture that could be handed over; \
                        nothing was charged";
            return Err(NoAnswer {
                fault: Fault::new(Kind::UpstreamFailed, text),
                outcome: Outcome::UpstreamFailed,
            });
        }
        Ok(Drawn {
            live,
            entries,
            failed: asked.saturating_sub(count),
        })
    }

    async fn ask_painters(
        &self,
        wanted: &mut Wanted,
        story: &Story,
    ) -> Result<(Arc<Live>, Made), NoAnswer> {
        let settings = &self.inner.settings;
        let waits = Waits {
            total: settings.whole_wait,
            idle: settings.whole_wait,
        };
        let (priced, ask) = (&mut wanted.priced, &wanted.ask);
        let mut round = Round::new(self, priced, story, false);
        let (live, made, notes) = loop {
            let Some(live) = round.next() else {
                return Err(round.nobody());
            };
            let formats = live.provider.formats.iter();
            let protocol = formats
                .filter_map(|format| protocol_of(format.word()))
                .next();
            let (Some(protocol), Some(credential)) = (protocol, round.credential(&live)) else {
                continue;
            };
            let written = (protocol.write)(ask, live.upstream_model(&ask.model));
            let Some(written) = round.sayable(priced, written) else {
                continue;
            };
            if !round.sits(&live).await {
                continue;
            }
            round.begins(&live);
            let errand = (&written.errand, None, (priced.id, waits));
            let sent = self.run_errand((&live, credential), errand.0, errand.1, errand.2);
            let heard = match sent.await {
                Ok(answer) => {
                    round.heard(Some(answer.status.as_u16()), None);
                    Heard::read(answer, settings.max_answer_bytes).await
                }
                Err(error) => Err(error),
            };
            let heard = match heard {
                Ok(heard) => heard,
                Err(error) => match round.lost(&live, &error) {
                    Some(stop) => return Err(stop),
                    None => continue,
                },
            };
            match (protocol.read)(ask, &heard.said()) {
                Ok(made) => break (live, made, written.notes),
                Err(trouble) => {
                    if let Some(stop) = round.troubled((&live, credential), trouble) {
                        return Err(stop);
                    }
                }
            }
        };
        live.went_well();
        notes.into_iter().for_each(|note| priced.report.say(note));
        Ok((live, made))
    }
}

/// Pictures in our hands.
struct Drawn {
    live: Arc<Live>,
    entries: Vec<Value>,
    failed: u64,
}
