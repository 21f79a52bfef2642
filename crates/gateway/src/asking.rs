//! Asking upstreams, one after the other, by the failover table: what was not sent or was refused
//! goes to another channel, what an upstream says about the request itself goes back to the caller.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde::Serialize;
use trunkline_ledger::Outcome;
use trunkline_store::channels;
use trunkline_upstream::{Answer, Outgoing as Sent, Quirk, SendError};
use trunkline_wire::openai_chat::{CapField, Outgoing, UpstreamError, read_error};

use crate::fault::{Fault, Kind};
use crate::gateway::Gateway;
use crate::quoted::Quoted;
use crate::roster::{Live, LiveCredential};
use crate::scrub::without_secrets;
use crate::story::Story;

/// Bytes of an error that are read.
const MAX_ERROR_BYTES: usize = 65_536;
/// A cool-down where the upstream names none.
const DEFAULT_COOL_SECONDS: u64 = 5;
const AGENT: &str = concat!("trunkline/", env!("CARGO_PKG_VERSION"));

/// One attempt. The usage row gets what is not skipped; times count from the call's beginning.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Attempt {
    channel: i64,
    pub(crate) status: Option<u16>,
    pub(crate) error: Option<&'static str>,
    ms: u64,
    #[serde(skip)]
    pub(crate) live: Arc<Live>,
    #[serde(skip)]
    pub(crate) began: Duration,
    /// When the last of its answer had come; none as long as that is open.
    #[serde(skip)]
    pub(crate) ended: Option<Duration>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    pub(crate) fault: Fault,
    pub(crate) outcome: Outcome,
}

/// What one attempt came to.
enum Tried {
    Answer(Answer),
    /// Another channel may do better.
    Next(Why),
    /// The caller is told.
    Stop(NoAnswer),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Limited(u64),
    Silent,
    Failed,
}

/// Asks until somebody answers.
pub(crate) async fn ask(
    gateway: &Gateway,
    quoted: &Quoted,
    story: &Story,
) -> Result<(Arc<Live>, Answer), NoAnswer> {
    let inner = &gateway.inner;
    let seed = seed_of(quoted);
    let roster = inner.roster.get();
    let order = roster.order(&quoted.request.model, &quoted.sale.group, inner.now(), seed);
    let mut worst = None;
    for live in order.into_iter().take(inner.settings.max_attempts) {
        let Some(credential) = live.credential(inner.now(), seed) else {
            continue;
        };
        story.tries(Attempt::begin(Arc::clone(&live), story.elapsed()));
        let sent = send(gateway, quoted, &live, credential).await;
        let status = sent.as_ref().ok().map(|answer| answer.status.as_u16());
        let error = sent.as_ref().err().map(word);
        let now = story.elapsed();
        story.tried(|attempt| attempt.answered(status, error, now));
        match judge(gateway, &live, credential, sent).await {
            Tried::Answer(answer) => return Ok((live, answer)),
            Tried::Stop(reason) => return Err(reason),
            Tried::Next(why) => worst = Some(why),
        }
    }
    Err(nobody(quoted, worst))
}

// === impl Attempt ===

impl Attempt {
    /// Until something is known of it, it is one that its caller left.
    fn begin(live: Arc<Live>, began: Duration) -> Self {
        Self {
            channel: live.row.id.number(),
            status: None,
            error: Some("left"),
            ms: 0,
            live,
            began,
            ended: None,
        }
    }

    fn answered(&mut self, status: Option<u16>, error: Option<&'static str>, now: Duration) {
        let took = now.saturating_sub(self.began);
        (self.status, self.error) = (status, error);
        self.ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if !matches!(status, Some(200..=299)) {
            self.ended = Some(now);
        }
    }

    /// What it came to, as a word of a closed list.
    pub(crate) const fn word(&self) -> &'static str {
        match (self.error, self.status) {
            (Some(word), _) => word,
            (None, Some(200..=299)) => "answered",
            (None, Some(429)) => "limited",
            (None, Some(401..=403)) => "credential_refused",
            (None, Some(400..=499)) => "refused",
            (None, Some(_) | None) => "failed",
        }
    }

    /// The same where it is a fault.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let answered = self.error.is_none() && matches!(self.status, Some(200..=299));
        (!answered).then(|| self.word())
    }

    /// How long its head took; none if there was none.
    pub(crate) fn head_took(&self) -> Option<Duration> {
        self.status.map(|_| Duration::from_millis(self.ms))
    }
}

async fn send(
    gateway: &Gateway,
    quoted: &Quoted,
    live: &Live,
    credential: &LiveCredential,
) -> Result<Answer, SendError> {
    let request = &quoted.request;
    let quirk = |quirk| live.provider.has(quirk);
    let older = quirk(Quirk::MaxTokensOnly).then_some(CapField::MaxTokens);
    let out = Outgoing {
        model: live.upstream_model(&request.model),
        max_output: quoted.cap.map(|tokens| (tokens, older)),
        no_stream_options: quirk(Quirk::NoStreamOptions),
        without: &quoted.without,
        with: &quoted.with,
    };
    let settings = &gateway.inner.settings;
    let total = if request.stream {
        Duration::from_millis(live.provider.total_ms)
    } else {
        settings.whole_wait
    };
    let call = Sent {
        method: Method::POST,
        uri: live.chat.clone(),
        headers: headers(live, credential, request.stream),
        body: request.outgoing(&out),
        deadlines: live.deadlines(total, settings.stream_idle),
        proxy: live.proxy.as_ref(),
        protocol: live.provider.protocol(request.stream),
    };
    gateway.inner.client.send(call).await
}

fn headers(live: &Live, credential: &LiveCredential, stream: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &live.row.extra_headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
    let accept = if stream {
        "text/event-stream"
    } else {
        "application/json"
    };
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    let (name, value) = credential.header.clone();
    headers.insert(name, value);
    headers
}

async fn judge(
    gateway: &Gateway,
    live: &Live,
    credential: &LiveCredential,
    sent: Result<Answer, SendError>,
) -> Tried {
    let now = gateway.inner.now();
    let mut answer = match sent {
        Ok(answer) => answer,
        Err(error) => {
            live.failed(now);
            return Tried::Next(match error {
                SendError::NotSent(_) | SendError::Broken(_) => Why::Failed,
                SendError::Silent => Why::Silent,
            });
        }
    };
    match answer.status.as_u16() {
        200..=299 => Tried::Answer(answer),
        429 => {
            let seconds = retry_after(&answer.headers).unwrap_or(DEFAULT_COOL_SECONDS);
            credential.cool(now, seconds);
            Tried::Next(Why::Limited(seconds))
        }
        503 | 529 => {
            live.failed(now);
            Tried::Next(Why::Failed)
        }
        401..=403 => {
            if credential.pause() {
                tracing::error!(
                    channel.name = live.row.name,
                    status = answer.status.as_u16(),
                    "an upstream refuses a credential"
                );
                remember_pause(gateway, credential, answer.status);
            }
            Tried::Next(Why::Failed)
        }
        400..=499 => Tried::Stop(refused(gateway, &mut answer).await),
        _ => {
            live.failed(now);
            Tried::Next(Why::Failed)
        }
    }
}

/// Other nodes should not try it either.
fn remember_pause(gateway: &Gateway, credential: &LiveCredential, status: StatusCode) {
    let (data, id) = (gateway.inner.data.clone(), credential.id);
    gateway.inner.tasks.spawn(async move {
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
async fn refused(gateway: &Gateway, answer: &mut Answer) -> NoAnswer {
    let body = answer.whole(MAX_ERROR_BYTES).await.unwrap_or_default();
    NoAnswer {
        fault: in_its_words(gateway, answer.status, &read_error(&body)),
        outcome: Outcome::Refused,
    }
}

/// What the caller is told when an upstream blames the request under a good status; none if it
/// blames itself.
pub(crate) fn blamed(gateway: &Gateway, said: &UpstreamError) -> Option<Fault> {
    said.blames_the_request()
        .then(|| in_its_words(gateway, StatusCode::BAD_REQUEST, said))
}

/// A refusal as the upstream put it, without secrets: those of every channel, since an upstream may
/// sit behind several and repeat what another one was sent.
fn in_its_words(gateway: &Gateway, status: StatusCode, said: &UpstreamError) -> Fault {
    let roster = gateway.inner.roster.get();
    let clean = |text: &str| without_secrets(text, roster.secrets());
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
    let mut fault = Fault::new(Kind::UpstreamRefused(status, code), message);
    fault.param = said.param.as_deref().map(clean);
    fault
}

fn nobody(quoted: &Quoted, worst: Option<Why>) -> NoAnswer {
    let model = &quoted.request.model;
    let (kind, text, outcome) = match worst {
        None => (
            Kind::NoRoute,
            format!("nobody serves {model:?} right now; nothing was charged"),
            Outcome::UpstreamFailed,
        ),
        Some(Why::Limited(_)) => (
            Kind::UpstreamRateLimited,
            format!("every upstream of {model:?} is at its limit; nothing was charged"),
            Outcome::UpstreamFailed,
        ),
        Some(Why::Silent) => (
            Kind::UpstreamTimeout,
            format!("the upstream of {model:?} did not answer in time; nothing was charged"),
            Outcome::UpstreamTimeout,
        ),
        Some(Why::Failed) => (
            Kind::UpstreamFailed,
            format!("the upstream of {model:?} failed; nothing was charged"),
            Outcome::UpstreamFailed,
        ),
    };
    let mut fault = Fault::new(kind, text);
    if let Some(Why::Limited(seconds)) = worst {
        fault.retry_after = Some(seconds.max(1));
    }
    NoAnswer { fault, outcome }
}

const fn word(error: &SendError) -> &'static str {
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
    let model = quoted.request.model.as_bytes();
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
