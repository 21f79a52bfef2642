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
use super::deliver::Whole;
use super::failover::Round;
use super::outbound::Waits;
use super::quote::{Planned, Priced, check_door};
use crate::caller::Caller;
use crate::calling::{Responder, left, nothing, tell};
use crate::channels::Channel;
use crate::error::{ApiError, ErrorCode, refused};
use crate::failover::Exhausted;
use crate::idempotency::{Content, is_named, may_retry};
use crate::in_flight::InFlightPermit;
use crate::request_context::RequestContext;
use crate::response::Response;
use crate::services::Services;
use crate::vendors::Heard;

/// Tokens that the usage row of a call shows, for accounting alone.
const PROMPT_TOKENS: u64 = 1;

/// Images that may be made.
pub(super) struct Wanted {
    pub(super) priced: Priced,
    pub(super) ask: Ask,
}

impl Services {
    /// Reads, plans and prices a request.
    pub(super) fn want_images(
        (id, caller): (RequestId, Caller),
        headers: &HeaderMap,
        ask: Ask,
        offered: (trunkline_catalog::Sale, trunkline_terms::Moment),
    ) -> Result<Wanted, ApiError> {
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
        context: &Arc<RequestContext>,
        caller: Caller,
        headers: &HeaderMap,
        (mut ask, body): (Ask, Bytes),
        place: InFlightPermit,
    ) -> Result<Response, ApiError> {
        let named = if is_named(headers) || may_retry(headers) {
            let content = Content {
                path: context.path(),
                class: IMAGES,
                body: &body,
                task: false,
            };
            let who = (context.as_ref(), &caller);
            Box::pin(self.named_or_retried(who, headers, content)).await?
        } else {
            None
        };
        self.rename(&caller, &mut ask.model);
        let what = (IMAGES, ask.model.as_str(), body.as_ref());
        let offered = self.offered(&caller, headers, what).await?;
        let mut wanted = Self::want_images((context.id, caller), headers, ask, offered)?;
        wanted.priced.named = named;
        context.asks_for(&wanted.priced.model, false);
        self.has_route(&wanted.priced)?;
        self.limit_made(context, &wanted.priced).await?;
        let (head, answer) = oneshot::channel();
        let (services, context) = (self.clone(), Arc::clone(context));
        self.inner.tasks.spawn(Box::pin(async move {
            services.images_call(wanted, &context, head).await;
            drop(place);
        }));
        answer
            .await
            .unwrap_or_else(|_| Err(ApiError::unavailable()))
    }

    pub(super) fn has_route(&self, priced: &Priced) -> Result<(), ApiError> {
        let model = &priced.model;
        if self.inner.channels.get().knows(model) {
            return self.check_regions(&priced.caller, model);
        }
        let text = format!("nobody serves {model:?} right now");
        Err(ApiError::new(ErrorCode::NoRoute, text))
    }

    /// Money, the vendor, the pictures in our hands, the charge; then the answer.
    async fn images_call(&self, mut wanted: Wanted, context: &RequestContext, mut head: Responder) {
        let reservation = match wanted.priced.hold(self).await {
            Ok(reservation) => reservation,
            Err(fault) => return tell(head, Err(fault)),
        };
        let outlives = wanted.priced.named.is_some();
        let drawn = tokio::select! {
            drawn = self.drawn(&mut wanted, context) => drawn,
            () = left(context, &mut head), if !outlives => {
                reservation.void(nothing(context, Outcome::Cancelled)).await;
                return context.ended(Outcome::Cancelled, None, (0, 0));
            }
        };
        let Drawn {
            channel,
            entries,
            failed,
        } = match drawn {
            Ok(drawn) => drawn,
            Err(Exhausted { fault, outcome }) => {
                // Let go before the caller is told that nothing was charged.
                reservation.void(nothing(context, outcome)).await;
                context.ended(outcome, None, (0, 0));
                return tell(head, Err(fault));
            }
        };
        let count = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        let priced = &wanted.priced;
        let made = Usage::unknown().with(Bucket::Calls, count);
        let sum = match priced.sum(&made) {
            Ok(sum) => sum,
            Err(fault) => {
                reservation
                    .void(nothing(context, Outcome::UpstreamFailed))
                    .await;
                context.ended(Outcome::UpstreamFailed, None, (0, 0));
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
        self.hand_over((priced, reservation), (&channel, context), head, whole)
            .await;
    }

    /// Pictures that are ours to hand over.
    async fn drawn(
        &self,
        wanted: &mut Wanted,
        context: &RequestContext,
    ) -> Result<Drawn, Exhausted> {
        let (began, settings) = (Instant::now(), &self.inner.settings);
        let (channel, made) = self.ask_painters(wanted, context).await?;
        context.upstream_ended();
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
            return Err(Exhausted {
                fault: ApiError::new(ErrorCode::UpstreamFailed, text),
                outcome: Outcome::UpstreamFailed,
            });
        }
        Ok(Drawn {
            channel,
            entries,
            failed: asked.saturating_sub(count),
        })
    }

    async fn ask_painters(
        &self,
        wanted: &mut Wanted,
        context: &RequestContext,
    ) -> Result<(Arc<Channel>, Made), Exhausted> {
        let settings = &self.inner.settings;
        let waits = Waits {
            total: settings.whole_wait,
            idle: settings.whole_wait,
        };
        let (priced, ask) = (&mut wanted.priced, &wanted.ask);
        let mut round = Round::new(self, priced, context, false);
        let (channel, made, notes) = loop {
            let Some(channel) = round.next() else {
                return Err(round.nobody());
            };
            let formats = channel.provider.formats.iter();
            let protocol = formats
                .filter_map(|format| protocol_of(format.word()))
                .next();
            let (Some(protocol), Some(credential)) = (protocol, round.credential(&channel)) else {
                continue;
            };
            let written = (protocol.write)(ask, channel.upstream_model(&ask.model));
            let Some(written) = round.sayable(priced, written) else {
                continue;
            };
            if !round.sits(&channel).await {
                continue;
            }
            round.begins(&channel);
            let errand = (&written.errand, None, (priced.id, waits));
            let sent = self.run_errand((&channel, credential), errand.0, errand.1, errand.2);
            let heard = match sent.await {
                Ok(answer) => {
                    round.heard(Some(answer.status.as_u16()), None);
                    Heard::read(answer, settings.max_answer_bytes).await
                }
                Err(error) => Err(error),
            };
            let heard = match heard {
                Ok(heard) => heard,
                Err(error) => match round.lost(&channel, &error) {
                    Some(stop) => return Err(stop),
                    None => continue,
                },
            };
            match (protocol.read)(ask, &heard.said()) {
                Ok(made) => break (channel, made, written.notes),
                Err(trouble) => {
                    if let Some(stop) = round.troubled((&channel, credential), trouble) {
                        return Err(stop);
                    }
                }
            }
        };
        channel.went_well();
        notes.into_iter().for_each(|note| priced.report.say(note));
        Ok((channel, made))
    }
}

/// Pictures in our hands.
struct Drawn {
    channel: Arc<Channel>,
    entries: Vec<Value>,
    failed: u64,
}
