//! Asking upstreams, one after the other, by the failover table: what was not sent or was refused
//! goes to another channel, what an upstream says about the request itself goes back to the caller.

mod attempt;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use tokio::time::Instant;
use trunkline_ledger::Outcome;
use trunkline_store::channels;
use trunkline_terms::Defect;
use trunkline_upstream::{Answer, SendError};
use trunkline_wire::canon::{Notes, Thread};
use trunkline_wire::gemini::retry_delay;
use trunkline_wire::openai_chat::read_error;
use trunkline_wire::openai_responses::previous_not_found;
use trunkline_wire::{Format, Frames, Seen, Tap, UpstreamError};

use crate::channels::{Channel, ChannelCredential, ChannelRegistry};
use crate::error::{ApiError, ErrorCode};
use crate::outbound::{Prepared, Preparing};
use crate::quote::Quoted;
use crate::rate_limit::Saturated;
use crate::request_context::RequestContext;
use crate::response_id::{YOUNG_SECONDS, not_found};
use crate::scrub::without_secrets;
use crate::sending::send;
use crate::services::Services;

pub(crate) use self::attempt::Attempt;

/// Bytes of an error that are read.
const MAX_ERROR_BYTES: usize = 65_536;
/// A cool-down where the upstream names none.
pub(crate) const DEFAULT_COOL_SECONDS: u64 = 5;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Exhausted {
    pub(crate) fault: ApiError,
    pub(crate) outcome: Outcome,
}

/// An upstream that answers.
pub(crate) struct Accepted_ {
    pub(crate) channel: Arc<Channel>,
    /// The number of the credential that was used.
    pub(crate) credential: i64,
    pub(crate) answer: Answer,
    /// What of the answer was read already.
    pub(crate) early: Vec<Bytes>,
    /// What it is spoken to in.
    pub(crate) to: Format,
    /// What its answer needs to be understood.
    pub(crate) thread: Thread,
    /// What could not be said to it.
    pub(crate) notes: Notes,
}

/// What one attempt came to.
enum Tried {
    Answer(Answer, Vec<Bytes>),
    /// Another channel may do better.
    Next(SkipReason),
    /// It does not have the response that is continued, yet.
    NotThere(Exhausted),
    /// The caller is told.
    Stop(Exhausted),
}

/// Why another channel was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkipReason {
    Limited(u64),
    Silent,
    Failed,
}

/// What a stream begins with before it says anything.
const OPENINGS: [&str; 3] = [
    "response.created",
    "response.in_progress",
    "response.queued",
];
/// Bytes of a stream that are read before it is passed on.
const MAX_EARLY_BYTES: usize = 65_536;
/// How long a response that an upstream does not know yet is asked for.
const HEAL_FOR: Duration = Duration::from_secs(20);
const HEAL_PAUSE: Duration = Duration::from_millis(250);
const HEAL_PAUSE_MAX: Duration = Duration::from_secs(2);

/// Asks until somebody answers.
pub(crate) async fn ask(
    services: &Services,
    quoted: &Quoted,
    context: &RequestContext,
) -> Result<Accepted_, Exhausted> {
    let inner = &services.inner;
    let seed = seed_of(quoted);
    let channels = inner.channels.get();
    let mut preparing = Preparing::new(quoted);
    let order = services.order(&channels, &preparing, quoted);
    let (mut worst, mut unsaid) = (None, None);
    let mut attempts = 0..inner.settings.max_attempts;
    for channel in order {
        let Some(credential) = credential_of(quoted, &channel, inner.now(), seed) else {
            continue;
        };
        let prepared = match preparing.for_channel(&channel) {
            Some(Ok(prepared)) => prepared,
            // Another channel may speak a format in which it can be said.
            Some(Err(fault)) => {
                unsaid.get_or_insert(fault);
                continue;
            }
            None => continue,
        };
        match services.seat(&channel).await {
            Ok(seat) => context.sits(seat),
            // Passed over like one that rests, and told of only if there is nobody else.
            Err(Saturated(seconds)) => {
                worst.get_or_insert(SkipReason::Limited(seconds));
                continue;
            }
        }
        if attempts.next().is_none() {
            break;
        }
        match attempt(
            services,
            (quoted, &prepared),
            (&channel, credential),
            context,
        )
        .await
        {
            Tried::Answer(answer, early) => {
                return Ok(Accepted_ {
                    credential: credential.id.number(),
                    channel: Arc::clone(&channel),
                    answer,
                    early,
                    to: prepared.to,
                    thread: prepared.thread,
                    notes: prepared.notes,
                });
            }
            Tried::Stop(reason) | Tried::NotThere(reason) => return Err(reason),
            Tried::Next(why) => worst = Some(why),
        }
    }
    match (worst, unsaid) {
        (None, Some(fault)) => Err(Exhausted {
            fault,
            outcome: Outcome::Refused,
        }),
        (worst, _) => Err(nobody(quoted.request.model(), worst)),
    }
}

/// One channel, asked once, or as often as a response that it does not know yet is worth.
async fn attempt(
    services: &Services,
    (quoted, prepared): (&Quoted, &Prepared),
    (channel, credential): (&Arc<Channel>, &ChannelCredential),
    context: &RequestContext,
) -> Tried {
    let began = Instant::now();
    let mut pause = HEAL_PAUSE;
    loop {
        context.tries(Attempt::begin(Arc::clone(channel), context.elapsed()));
        let sent = send(services, (quoted, prepared), channel, credential).await;
        let status = sent.as_ref().ok().map(|answer| answer.status.as_u16());
        let error = sent.as_ref().err().map(word);
        let now = context.elapsed();
        context.tried(|attempt| attempt.answered(status, error, now));
        let tried = judge(services, quoted, (channel, credential), sent).await;
        let young = quoted.continues.as_ref().is_some_and(|kept| {
            let now = services.inner.now().seconds();
            now.saturating_sub(kept.minted) <= YOUNG_SECONDS
        });
        if !matches!(tried, Tried::NotThere(_)) || !young || began.elapsed() > HEAL_FOR {
            return tried;
        }
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2).min(HEAL_PAUSE_MAX);
    }
}

/// The credential to use: for a response that is continued, the one that it was made with.
fn credential_of<'a>(
    quoted: &Quoted,
    channel: &'a Channel,
    now: trunkline_terms::Moment,
    seed: u64,
) -> Option<&'a ChannelCredential> {
    match &quoted.continues {
        Some(kept) => channel.credential_by(kept.credential, now),
        None => channel.credential(now, seed),
    }
}

impl Services {
    /// The channels to ask, in their order: one alone for a response that is continued; otherwise those
    /// that serve the model, and before all others the one whose thoughts the conversation holds.
    pub(crate) fn order(
        &self,
        channels: &ChannelRegistry,
        preparing: &Preparing<'_>,
        quoted: &Quoted,
    ) -> Vec<Arc<Channel>> {
        let (now, model) = (self.inner.now(), quoted.request.model());
        if let Some(kept) = &quoted.continues {
            let channel = channels.channel(kept.channel).into_iter();
            return channel
                .filter(|channel| channel.row.models.contains_key(model))
                .filter(|channel| {
                    quoted
                        .caller
                        .may_be_served_in(channel.row.region.as_deref())
                })
                .collect();
        }
        let mut order = channels.order(model, &quoted.sale.group, now, seed_of(quoted));
        order.retain(|channel| {
            quoted
                .caller
                .may_be_served_in(channel.row.region.as_deref())
        });
        let home = preparing.home();
        let place = home.and_then(|home| order.iter().position(|channel| channel.mark == home));
        if let Some(place) = place {
            let first = order.remove(place);
            order.insert(0, first);
        }
        order
    }
}

async fn judge(
    services: &Services,
    quoted: &Quoted,
    (channel, credential): (&Channel, &ChannelCredential),
    sent: Result<Answer, SendError>,
) -> Tried {
    let now = services.inner.now();
    let mut answer = match sent {
        Ok(answer) => answer,
        Err(error) => {
            channel.failed(now);
            return Tried::Next(match error {
                SendError::NotSent(_) | SendError::Broken(_) => SkipReason::Failed,
                SendError::Silent => SkipReason::Silent,
            });
        }
    };
    let status = match answer.status.as_u16() {
        429 if Defect::Swallowed429.is_on() => 500,
        status => status,
    };
    match status {
        200..=299 => begun(quoted, answer).await,
        429 => {
            let mut seconds = retry_after(&answer.headers);
            if seconds.is_none() {
                let body = answer.whole(MAX_ERROR_BYTES).await.unwrap_or_default();
                seconds = retry_delay(&body);
            }
            let seconds = seconds.unwrap_or(DEFAULT_COOL_SECONDS);
            credential.cool(now, seconds);
            Tried::Next(SkipReason::Limited(seconds))
        }
        503 | 529 => {
            channel.failed(now);
            Tried::Next(SkipReason::Failed)
        }
        401..=403 => {
            if credential.pause() {
                tracing::error!(
                    channel.name = channel.row.name,
                    status = answer.status.as_u16(),
                    "an upstream refuses a credential"
                );
                remember_pause(services, credential, answer.status);
            }
            Tried::Next(SkipReason::Failed)
        }
        400..=499 => refused(services, quoted, &mut answer).await,
        _ => {
            channel.failed(now);
            Tried::Next(SkipReason::Failed)
        }
    }
}

/// An answer has begun. A stream that continues a response may still say that it is not there, before it
/// says anything else; that is looked at while nothing has been sent on.
async fn begun(quoted: &Quoted, mut answer: Answer) -> Tried {
    if quoted.continues.is_none() || !quoted.request.facts.stream {
        return Tried::Answer(answer, Vec::new());
    }
    let (mut frames, mut tap) = (Frames::default(), Tap::new(Format::OpenaiResponses));
    let (mut early, mut bytes) = (Vec::new(), 0_usize);
    while bytes < MAX_EARLY_BYTES {
        let Ok(Some(piece)) = answer.piece().await else {
            break;
        };
        bytes = bytes.saturating_add(piece.len());
        frames.push(&piece);
        early.push(piece);
        while let Ok(Some(frame)) = frames.take() {
            let seen = tap.see(&frame);
            if let Seen::Failed(said) = &seen
                && previous_not_found(said)
            {
                return not_there();
            }
            let opening = frame
                .event
                .as_deref()
                .is_some_and(|it| OPENINGS.contains(&it));
            if !opening && seen != Seen::Nothing {
                return Tried::Answer(answer, early);
            }
        }
    }
    Tried::Answer(answer, early)
}

fn not_there() -> Tried {
    Tried::NotThere(Exhausted {
        fault: not_found("the upstream does not have this response any more, or not yet"),
        outcome: Outcome::Refused,
    })
}

/// Other nodes should not try it either.
pub(crate) fn remember_pause(
    services: &Services,
    credential: &ChannelCredential,
    status: StatusCode,
) {
    let (data, id) = (services.inner.data.clone(), credential.id);
    services.inner.tasks.spawn(async move {
        let written = async {
            let mut tx = data.begin().await?;
            let reason = format!("the upstream answered {}", status.as_u16());
            let done = channels::pause(&mut tx, id, &reason).await;
            tx.finish(done).await
        };
        if let Err(error) = written.await {
            tracing::warn!(%error, "a paused credential could not be written down");
        }
    });
}

/// The upstream's own words about the request.
async fn refused(services: &Services, quoted: &Quoted, answer: &mut Answer) -> Tried {
    let body = answer.whole(MAX_ERROR_BYTES).await.unwrap_or_default();
    let said = read_error(&body);
    let outcome = Outcome::Refused;
    if quoted.continues.is_some() && previous_not_found(&said) {
        return not_there();
    }
    let fault = in_its_words(services, answer.status, &said);
    Tried::Stop(Exhausted { fault, outcome })
}

/// What the caller is told when an upstream blames the request under a good status; none if it
/// blames itself.
pub(crate) fn blamed(services: &Services, said: &UpstreamError) -> Option<ApiError> {
    said.blames_the_request()
        .then(|| in_its_words(services, StatusCode::BAD_REQUEST, said))
}

/// A refusal as the upstream put it, without secrets: those of every channel, since an upstream may
/// sit behind several and repeat what another one was sent.
pub(crate) fn in_its_words(
    services: &Services,
    status: StatusCode,
    said: &UpstreamError,
) -> ApiError {
    let secrets = services.inner.channels.get().secrets();
    let clean = |text: &str| without_secrets(text, &secrets);
    let status = if said.blames_the_request() {
        StatusCode::BAD_REQUEST
    } else {
        status
    };
    let message = match said.message.as_str() {
        "" => format!(
            "the upstream refused the request with status {}",
            status.as_u16()
        ),
        words => clean(words),
    };
    let code = said.code.as_deref().map(clean);
    let mut fault = ApiError::new(ErrorCode::UpstreamRefused(status, code), message);
    fault.param = said.param.as_deref().map(clean);
    fault
}

/// Nobody answered.
pub(crate) fn nobody(model: &str, worst: Option<SkipReason>) -> Exhausted {
    let (kind, text, outcome) = match worst {
        None => (
            ErrorCode::NoRoute,
            format!("nobody serves {model:?} right now; nothing was charged"),
            Outcome::UpstreamFailed,
        ),
        Some(SkipReason::Limited(_)) => (
            ErrorCode::UpstreamRateLimited,
            format!("every upstream of {model:?} is at its limit; nothing was charged"),
            Outcome::UpstreamFailed,
        ),
        Some(SkipReason::Silent) => (
            ErrorCode::UpstreamTimeout,
            format!("the upstream of {model:?} did not answer in time; nothing was charged"),
            Outcome::UpstreamTimeout,
        ),
        Some(SkipReason::Failed) => (
            ErrorCode::UpstreamFailed,
            format!("the upstream of {model:?} failed; nothing was charged"),
            Outcome::UpstreamFailed,
        ),
    };
    let mut fault = ApiError::new(kind, text);
    if let Some(SkipReason::Limited(seconds)) = worst {
        fault.retry_after = Some(seconds.max(1));
    }
    Exhausted { fault, outcome }
}

pub(crate) const fn word(error: &SendError) -> &'static str {
    match error {
        SendError::NotSent(_) => "not_sent",
        SendError::Broken(_) => "broken",
        SendError::Silent => "silent",
    }
}

fn retry_after(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

/// The same for every turn of a conversation: its account, its model and how it began.
fn seed_of(quoted: &Quoted) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    const BEGINNING: usize = 1_024;
    let account = quoted.caller.account.id.number().to_be_bytes();
    let model = quoted.request.model().as_bytes();
    let opening = quoted.request.opening(BEGINNING);
    // Eight bytes at a time: every call is drawn for.
    let words = [account.as_slice(), model, opening];
    let words = words.into_iter().flat_map(|part| part.chunks(8));
    words.fold(OFFSET, |hash, word| {
        let mut bytes = [0; 8];
        bytes
            .iter_mut()
            .zip(word)
            .for_each(|(to, from)| *to = *from);
        let mixed = (hash ^ u64::from_le_bytes(bytes)).wrapping_mul(PRIME);
        mixed ^ (mixed >> 29)
    })
}
