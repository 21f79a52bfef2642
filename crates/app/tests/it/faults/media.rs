//! Pictures, speech and transcripts while things break: our process at every step of a call, who makes
//! them, who asks for them; then uploads and streams without measure. docs/dev/faults.md is the index.

mod clients;
pub(crate) mod form;
mod kills;
pub(crate) mod memory;
mod speech_load;
mod upload;
mod upstreams;

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::time::Instant;
use trunkline_ledger::usage;
use trunkline_simulator::RequestRecord;
use trunkline_types::RequestId;
use trunkline_upstream::{
    Client, Deadlines, Outgoing, Payload, Protocol, SendError, UpstreamResponse,
};

use crate::faults::process_harness::{CHARACTER, MONEY, PICTURE, ProcessHarness, SECOND};

/// Longest wait for a step to be reached.
const STEP: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(10);
/// Longer than any call of these tests.
const LONG: Duration = Duration::from_secs(900);
/// Largest body that a test reads.
const MOST: usize = 64_000_000;
/// Seconds of the recording that calls send.
const RECORDED: u32 = 2;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An answer in one piece.
    Picture,
    /// An answer that streams.
    Speech,
    /// A call that uploads.
    Transcript,
}

/// One call, and what its client was told.
#[derive(Debug)]
struct Call {
    kind: Kind,
    params: String,
    id: Option<String>,
    result: MediaResult,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum MediaResult {
    /// All of it, at this price in nano-USD.
    Whole(i64),
    /// An error: its status and its code.
    Failed(u16, String),
    /// The connection broke.
    Broken,
    /// The client did not wait for the end.
    Left,
}

/// One gateway and one client.
struct MediaHarness {
    process: ProcessHarness,
    client: Client,
}

// === impl Kind ===

impl Kind {
    const ALL: [Self; 3] = [Self::Picture, Self::Speech, Self::Transcript];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Picture => "brush",
            Self::Speech => "voice",
            Self::Transcript => "ears",
        }
    }

    const fn hasty(self) -> &'static str {
        match self {
            Self::Picture => "hasty-brush",
            Self::Speech => "hasty-voice",
            Self::Transcript => "hasty-ears",
        }
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Picture => "/v1/images/generations",
            Self::Speech => "/v1/audio/speech",
            Self::Transcript => "/v1/audio/transcriptions",
        }
    }

    /// What a call with this wish costs when all goes well.
    fn price(self, params: &str) -> i64 {
        match self {
            Self::Picture => PICTURE,
            Self::Speech => CHARACTER * i64::try_from(params.chars().count()).unwrap(),
            Self::Transcript => SECOND * i64::from(RECORDED),
        }
    }

    fn body(self, model: &str, params: &str) -> (String, Bytes) {
        let json = |body: Value| ("application/json".to_owned(), Bytes::from(body.to_string()));
        match self {
            Self::Picture => json(json!({ "model": model, "prompt": params })),
            Self::Speech => json(json!({ "model": model, "input": params, "voice": "alloy" })),
            Self::Transcript => {
                let sound = form::Sound::seconds(RECORDED);
                let (before, after) = form::around(&[("model", model), ("prompt", params)]);
                let file = [before, sound.head(), sound.silence(), after].concat();
                (form::content_type(), Bytes::from(file))
            }
        }
    }
}

// === impl MediaHarness ===

impl MediaHarness {
    async fn new(wired: bool) -> Self {
        Self::with(wired, &[]).await
    }

    async fn with(wired: bool, environment: &[(&'static str, &'static str)]) -> Self {
        let client = Client::new(Duration::from_secs(5)).unwrap();
        let process = ProcessHarness::of_media(wired, environment).await;
        Self { process, client }
    }

    fn outgoing(&self, path: &str, content_type: &str, body: Payload) -> Outgoing<'static> {
        let mut headers = HeaderMap::new();
        let bearer = format!("Bearer {}", self.process.key);
        headers.insert(AUTHORIZATION, HeaderValue::from_str(&bearer).unwrap());
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(content_type).unwrap());
        Outgoing {
            method: Method::POST,
            uri: format!("http://{}{path}", self.process.address)
                .parse()
                .unwrap(),
            headers,
            body,
            deadlines: Deadlines {
                first_byte: LONG,
                idle: LONG,
                total: LONG,
            },
            proxy: None,
            protocol: Protocol::Http1,
        }
    }

    /// Sends a call whose wish says how the upstream behaves, and waits for its head.
    async fn call(
        &self,
        kind: Kind,
        model: &str,
        params: &str,
    ) -> Result<UpstreamResponse, SendError> {
        let (content_type, body) = kind.body(model, params);
        let call = self.outgoing(kind.path(), &content_type, body.into());
        self.client.send(call).await
    }

    /// A call from beginning to end.
    async fn ask(&self, kind: Kind, model: &str, params: &str) -> Call {
        let (id, result) = match self.call(kind, model, params).await {
            Ok(answer) => (id_of(&answer), rest(answer).await),
            Err(_) => (None, MediaResult::Broken),
        };
        Call {
            kind,
            params: params.to_owned(),
            id,
            result,
        }
    }

    /// Calls of this marker that the upstream got.
    fn served(&self, marker: &str) -> Vec<RequestRecord> {
        let mut all = self.process.simulator.requests();
        all.retain(|served| served.marker.as_deref() == Some(marker));
        all
    }

    async fn until_asked(&self, marker: &str) {
        reached("the upstream is asked", async || {
            !self.served(marker).is_empty()
        })
        .await;
    }

    async fn until_served(&self, marker: &str) {
        reached("the upstream is done", async || {
            self.served(marker).iter().any(|served| served.finished)
        })
        .await;
    }

    /// Waits until the upstream knows that the client is gone.
    async fn until_stopped(&self, marker: &str) {
        reached("the upstream is stopped", async || {
            let served = self.served(marker);
            served.iter().any(|one| one.client_left && !one.finished)
        })
        .await;
    }

    /// Waits until so many calls hold money.
    async fn until_held(&self, calls: usize) {
        let query = "SELECT count(*)::text FROM ledger.any_hold WHERE state = 'open'";
        let calls = calls.to_string();
        reached("money is held", async || {
            self.process.postgres.ask(query).await == [calls.as_str()]
        })
        .await;
    }

    /// Outcome and charge of every call so far, oldest first.
    async fn usage(&self) -> Vec<String> {
        let query = "SELECT outcome || ' ' || (paid + trial) FROM ledger.usage ORDER BY request_id";
        self.process.postgres.ask(query).await
    }

    /// Reasons of every loss that was noted.
    async fn losses(&self) -> Vec<String> {
        let query = "SELECT reason::text FROM ledger.write_off ORDER BY request_id";
        self.process.postgres.ask(query).await
    }

    /// After everything: nothing held, this much spent, and the books hold.
    async fn spent(&self, nanos: i64) {
        reached("nothing is held", async || {
            self.process.balance().await.1 == 0
        })
        .await;
        assert_eq!(self.process.balance().await, (MONEY - nanos, 0));
        self.process.audit().await;
    }

    /// What was told, what was served and the books agree: who has all of it paid once what it was
    /// told, who was told of an error paid nothing, and no other account paid anything.
    async fn compare(&self, calls: &[Call]) {
        reached("nothing is held", async || {
            self.process.balance().await.1 == 0
        })
        .await;
        let mut known = 0;
        for call in calls {
            let net = match &call.id {
                None => 0,
                Some(id) => self.net(id).await,
            };
            let price = call.kind.price(&call.params);
            match &call.result {
                MediaResult::Whole(result) => {
                    assert_eq!((*result, net), (price, price), "{call:?}")
                }
                MediaResult::Failed(..) | MediaResult::Broken => assert_eq!(net, 0, "{call:?}"),
                MediaResult::Left => assert!(net == 0 || net == price, "{net}: {call:?}"),
            }
            known += net;
        }
        self.spent(known).await;
    }

    /// What a call was charged in the end.
    async fn net(&self, id: &str) -> i64 {
        let id: RequestId = id.parse().unwrap();
        let row = usage::find(&self.process.data, self.process.account, id).await;
        row.unwrap().map_or(0, |row| {
            row.paid.nanos() + row.trial.nanos() - row.refunded.nanos()
        })
    }
}

fn id_of(answer: &UpstreamResponse) -> Option<String> {
    let id = answer.headers.get("x-request-id")?;
    Some(id.to_str().ok()?.to_owned())
}

/// The price that an answer tells, in nano-USD.
fn cost_of(answer: &UpstreamResponse) -> i64 {
    let text = answer.headers["trunkline-cost-usd"].to_str().unwrap();
    let (whole, nanos) = text.split_once('.').unwrap_or((text, "0"));
    let nanos: i64 = format!("{nanos:0<9}").parse().unwrap();
    whole.parse::<i64>().unwrap() * 1_000_000_000 + nanos
}

/// What a client knows when an answer has ended, or broken off.
async fn rest(mut answer: UpstreamResponse) -> MediaResult {
    let Ok(bytes) = answer.whole(MOST).await else {
        return MediaResult::Broken;
    };
    if answer.status == 200 {
        assert!(!bytes.is_empty());
        return MediaResult::Whole(cost_of(&answer));
    }
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(body["error"]["charged"], json!(false), "{body}");
    let code = body["error"]["code"].as_str().unwrap();
    MediaResult::Failed(answer.status.as_u16(), code.to_owned())
}

async fn reached(what: &str, is_so: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < STEP, "not reached: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
