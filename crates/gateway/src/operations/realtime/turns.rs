//! The turns of one connection: which money is held, for what, and how a turn is begun, raised and ended.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use http::HeaderMap;
use tokio::sync::oneshot;
use trunkline_catalog::FieldReport;
use trunkline_ledger::Outcome;
use trunkline_types::{Bucket, Money, RequestId, Usage};
use trunkline_wire::realtime::{AddedInput, RealtimeSession};

use super::charged_time::ChargedTime;
use super::request::{Realtime, TokenBound, TurnKind};
use super::turn::{Begun, Command, Cover, OpenChannel, TurnEnd, TurnLink};
use crate::caller::Caller;
use crate::detach::beside;
use crate::error::{ApiError, ErrorCode};
use crate::headers::kept_by_connection;
use crate::pipeline::execute;
use crate::request_context::RequestContext;
use crate::services::Services;

/// Tokens of what stands around messages.
const MARGIN: u64 = 128;
/// Tokens of one image at most, more than the 1,445 of `gpt-4o`'s tiles. [unverified] No page states the rule of
/// realtime models; what a vendor counts is charged.
const IMAGE_TOKENS: u64 = 4_096;
/// Bytes of a text that are one token, where it is estimated.
const BYTES_PER_TOKEN: u64 = 4;
/// Tokens of a transcript: one for each tenth of a second, held for half a minute at a time.
const TRANSCRIPT_STEP: u64 = 300;

/// What begins the turns of a connection.
pub(super) struct Turns {
    pub(super) services: Arc<Services>,
    pub(super) context: Arc<RequestContext>,
    pub(super) caller: Caller,
    pub(super) headers: Arc<HeaderMap>,
}

/// A turn whose money is held.
pub(super) struct Turn {
    pub(super) id: RequestId,
    commands: tokio::sync::mpsc::Sender<Command>,
    /// What the hold covers.
    pub(super) covered: TokenBound,
    /// What became of the session's fields before it began; its money may have been held earlier.
    report: FieldReport,
    /// The beginning of its answer.
    pub(super) words: String,
}

/// A response that is being made.
pub(super) struct Running {
    turn: Turn,
    /// What had been added to the conversation when it began.
    before: AddedTokens,
    pub(super) audio_bytes: u64,
    pub(super) text_bytes: u64,
}

/// A transcription that is being made.
pub(super) struct Transcript {
    pub(super) turn: Turn,
    pub(super) audio_bytes: u64,
}

/// What was added to a conversation since its last response.
#[derive(Debug, Clone, Copy, Default)]
struct AddedTokens {
    audio: u64,
    text: u64,
}

/// What a connection has come to.
pub(super) struct State {
    pub(super) session: RealtimeSession,
    /// The longest response of the session, as the upstream knows it.
    pub(super) longest: u64,
    /// The longest that the balance pays for.
    pub(super) affordable: u64,
    /// Tokens of the conversation when its last response was done.
    conversation: u64,
    added: AddedTokens,
    /// What the client wrote since its last response, as far as the guardrail is shown it.
    pub(super) words: String,
    /// The conversation has audio.
    hears: bool,
    /// Money for responses that have not begun.
    pub(super) held: VecDeque<Turn>,
    /// Responses that the client wants and that have not begun.
    pub(super) owed: usize,
    pub(super) running: HashMap<String, Running>,
    /// Money for the next transcription.
    pub(super) transcriber: Option<Turn>,
    pub(super) transcripts: HashMap<String, Transcript>,
    /// The time that passes now, where it has a price.
    pub(super) time: Option<ChargedTime>,
    /// Audio that is no item yet.
    pub(super) uncommitted: u64,
    /// Updates of ours whose event the client does not see.
    pub(super) own_updates: usize,
    /// The client has had a `session.created` of ours.
    pub(super) was_greeted: bool,
    pub(super) report: FieldReport,
    /// How turns end now.
    pub(super) outcome: Outcome,
    pub(super) is_client_gone: bool,
}

// === impl Turns ===

impl Turns {
    pub(super) fn new(
        services: Arc<Services>,
        context: Arc<RequestContext>,
        caller: Caller,
        headers: &HeaderMap,
    ) -> Self {
        Self {
            services,
            context,
            caller,
            headers: Arc::new(kept_by_connection(headers)),
        }
    }

    /// Runs a turn beside the connection, and waits until its money is held.
    pub(super) async fn begin(
        &self,
        mut operation: Realtime,
        open: Option<OpenChannel>,
    ) -> Result<Begun, ApiError> {
        if self.services.is_draining() {
            let text = "this node is shutting down; connect anew; nothing was charged";
            return Err(ApiError::new(ErrorCode::Draining, text));
        }
        // A key that was revoked begins nothing.
        let caller = self.caller.refresh(&self.services.edge)?;
        let (begun, begins) = oneshot::channel();
        let (responder, refused) = oneshot::channel();
        operation.link = Some(TurnLink {
            begun: Some(begun),
            open,
        });
        let services = Arc::clone(&self.services);
        let context = Arc::new(self.context.execution(services.request_id()));
        let headers = Arc::clone(&self.headers);
        beside(&self.services, async move {
            execute(services, context, caller, &headers, operation, responder).await;
        });
        if let Ok(begun) = begins.await {
            return Ok(begun);
        }
        match refused.await {
            Ok(Err(error)) => Err(error),
            Ok(Ok(_)) | Err(_) => Err(ApiError::unavailable()),
        }
    }
}

// === impl Turn ===

impl Turn {
    pub(super) fn of(begun: &Begun) -> Self {
        Self {
            id: begun.id,
            commands: begun.commands.clone(),
            covered: begun.bound,
            report: FieldReport::default(),
            words: String::new(),
        }
    }

    /// Raises its hold, if it covers less.
    pub(super) async fn cover(&mut self, needed: TokenBound) -> Result<(), ApiError> {
        if self.covered.covers(needed) {
            return Ok(());
        }
        let (covered, raised) = oneshot::channel();
        let cover = Command::Cover(Box::new(Cover { needed, covered }));
        let sent = self.commands.send(cover).await;
        sent.map_err(|_| ApiError::unavailable())?;
        self.covered = raised.await.map_err(|_| ApiError::unavailable())??;
        Ok(())
    }

    /// Ends it. At once: nothing may come between taking a turn and ending it.
    pub(super) fn end(
        self,
        used: Option<Usage>,
        estimated: bool,
        outcome: Outcome,
    ) -> oneshot::Receiver<Result<Money, ApiError>> {
        let (done, settled) = oneshot::channel();
        let end = TurnEnd {
            used,
            estimated,
            outcome,
            report: self.report,
            words: self.words,
            done,
        };
        // A turn takes one command at a time, so that there is capacity for this one.
        if self.commands.try_send(Command::End(Box::new(end))).is_err() {
            tracing::error!(request.id = %self.id, "realtime: the end of a turn was not taken");
        }
        settled
    }
}

// === impl Running ===

impl Running {
    pub(super) const fn id(&self) -> RequestId {
        self.turn.id
    }

    /// The event with its whole answer, for the guardrail.
    pub(super) fn says(&mut self, event: &str, most: usize) {
        add_words(&mut self.turn.words, event, most);
    }

    /// What it used as far as it was seen.
    fn estimate(&self, state: &State) -> Usage {
        let (audio, read) = if state.hears {
            (state.conversation, 0)
        } else {
            (0, state.conversation)
        };
        let text = self.before.text.div_ceil(BYTES_PER_TOKEN);
        let spoken = state.session.output_format.output_tokens(self.audio_bytes);
        Usage::unknown()
            .with(Bucket::AudioInput, audio.saturating_add(self.before.audio))
            .with(Bucket::PlainInput, read.saturating_add(text))
            .with(Bucket::AudioOutput, spoken)
            .with(
                Bucket::PlainOutput,
                self.text_bytes.div_ceil(BYTES_PER_TOKEN),
            )
    }

    /// Ends it with what was reported; else with what was seen.
    pub(super) fn settle(
        self,
        state: &mut State,
        reported: Option<Usage>,
    ) -> oneshot::Receiver<Result<Money, ApiError>> {
        let estimated = reported.is_none();
        let used = reported.unwrap_or_else(|| self.estimate(state));
        state.grow(&used, self.before, estimated);
        self.turn.end(Some(used), estimated, state.outcome)
    }

    /// Ends it without a charge.
    pub(super) fn fail(self, outcome: Outcome) -> oneshot::Receiver<Result<Money, ApiError>> {
        self.turn.end(None, false, outcome)
    }

    /// Whether anything of it was seen.
    pub(super) const fn has_output(&self) -> bool {
        self.audio_bytes > 0 || self.text_bytes > 0
    }
}

// === impl State ===

impl State {
    /// The first turn is that of the next response, or in a session that makes nothing else of a transcription.
    pub(super) fn new(first: &Begun, model_as_sent: &str, report: FieldReport) -> Self {
        let transcribes = first.kind == TurnKind::Transcription;
        let (session, held, transcriber) = if transcribes {
            let session = RealtimeSession::of_transcription(model_as_sent);
            (session, VecDeque::new(), Some(Turn::of(first)))
        } else {
            let held = VecDeque::from([Turn::of(first)]);
            (RealtimeSession::default(), held, None)
        };
        Self {
            session,
            longest: first.bound.output,
            affordable: first.bound.output,
            conversation: 0,
            added: AddedTokens::default(),
            words: String::new(),
            hears: false,
            held,
            owed: 0,
            running: HashMap::new(),
            transcriber,
            transcripts: HashMap::new(),
            time: None,
            uncommitted: 0,
            own_updates: 0,
            was_greeted: false,
            report,
            outcome: Outcome::Complete,
            is_client_gone: false,
        }
    }

    /// The client sends something that the next response reads.
    pub(super) fn add(&mut self, added: AddedInput) {
        let format = self.session.input_format;
        self.hears |= added.audio_bytes > 0;
        let audio = format.input_tokens(added.audio_bytes);
        let images = added.images.saturating_mul(IMAGE_TOKENS);
        let sum = &mut self.added;
        sum.audio = sum.audio.saturating_add(audio).saturating_add(images);
        sum.text = sum.text.saturating_add(added.text_bytes);
    }

    /// The client wrote something that the guardrail is shown.
    pub(super) fn say(&mut self, event: &str, most: usize) {
        add_words(&mut self.words, event, most);
    }

    /// The most that the next response can use.
    pub(super) fn next_response(&self, output: u64) -> TokenBound {
        TokenBound {
            input: self.conversation.saturating_add(self.added.audio),
            text: self.added.text.saturating_add(MARGIN),
            output,
            seconds: 0,
        }
    }

    pub(super) const fn response_kind(&self) -> TurnKind {
        TurnKind::Response {
            speaks: self.session.speaks,
            hears: self.hears,
        }
    }

    /// The most that a transcription of the audio so far can use.
    pub(super) fn next_transcription(&self) -> TokenBound {
        let format = self.session.input_format;
        let input = format.input_tokens(self.uncommitted);
        TokenBound {
            input,
            text: 0,
            output: input
                .div_ceil(TRANSCRIPT_STEP)
                .saturating_mul(TRANSCRIPT_STEP),
            seconds: format.seconds(self.uncommitted),
        }
    }

    /// A response begins with money that is held.
    pub(super) fn begin(&mut self, response: String, mut turn: Turn) {
        self.owed = self.owed.saturating_sub(1);
        turn.report = self.report.clone();
        let running = Running {
            turn,
            before: self.added,
            audio_bytes: 0,
            text_bytes: 0,
        };
        self.running.insert(response, running);
    }

    /// The conversation has grown by a response.
    fn grow(&mut self, used: &Usage, before: AddedTokens, estimated: bool) {
        let buckets = [
            Bucket::PlainInput,
            Bucket::AudioInput,
            Bucket::ImageInput,
            Bucket::CacheRead,
            Bucket::CachedAudio,
            Bucket::PlainOutput,
            Bucket::AudioOutput,
        ];
        let counts = buckets.iter().filter_map(|bucket| used.reported(*bucket));
        let total = counts.fold(0_u64, u64::saturating_add);
        // A response beside the conversation has less than the conversation has.
        self.conversation = self.conversation.max(total);
        if !estimated {
            self.added.audio = self.added.audio.saturating_sub(before.audio);
            self.added.text = self.added.text.saturating_sub(before.text);
        }
    }

    /// An operation for one more turn.
    pub(super) fn operation(&self, model: &str, kind: TurnKind, bound: TokenBound) -> Realtime {
        Realtime::turn(model, kind, bound, self.report.clone())
    }
}

/// One more event, a line each, as far as there is capacity.
fn add_words(words: &mut String, event: &str, most: usize) {
    let capacity = most.saturating_sub(words.len());
    if capacity == 0 {
        return;
    }
    let end = event.floor_char_boundary(capacity);
    words.push_str(event.get(..end).unwrap_or_default());
    words.push('\n');
}
