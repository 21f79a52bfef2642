//! Every provider that speaks chat completions, against answers in its vendor's own shape: what the
//! caller sees, what is billed, and what the vendor is sent. A new provider is a file and a folder;
//! nothing here names one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;
use trunkline_ledger::usage::{self, UsageRow};
use trunkline_store::channels::{self, ChannelState};
use trunkline_upstream::{Addressing, Auth, Format, Provider, Providers, Quirk};

use crate::recorded_upstream::{
    Case, RecordedRequest, RecordedUpstream, RequiredCase, cases, folder,
};
use crate::test_gateway::{CANARY, ChannelOptions, GatewayResponse, TestGateway, TestOptions};

/// Long for a call on this machine.
const LONGEST: Duration = Duration::from_secs(30);
const CAP: u64 = 500;
/// Served by the recorded upstream only.
const MODEL: &str = "unserved";

// covers: G-1-02
#[tokio::test]
async fn the_gateway_serves_models_of_more_than_forty_providers_and_bills_each_answer_correctly() {
    let providers = Providers::builtin().unwrap();
    let harness = TestGateway::new().await;
    let (mut wrong, mut served) = (Vec::new(), BTreeSet::new());
    for name in providers.names() {
        let provider = providers.get(name).unwrap();
        if provider.speaks(Format::OpenaiChat) {
            run_all(&harness, provider, &folder().join(name), &mut wrong).await;
            served.insert(name);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for not_a_vendor in ["simulator", "openai_compatible"] {
        assert!(served.remove(not_a_vendor), "{not_a_vendor}");
    }
    assert!(served.len() > 40, "{served:?}");
    harness.audit().await;
}

#[tokio::test]
async fn a_customer_pays_for_cache_writes_as_such_under_every_name_that_a_vendor_has_for_them() {
    const NAMES: [&str; 6] = [
        "cache_write_tokens",
        "cache_creation_input_tokens",
        "cache_creation_tokens",
        "cached_creation_tokens",
        "ephemeral_5m_input_tokens",
        "ephemeral_1h_input_tokens",
    ];
    let providers = Providers::builtin().unwrap();
    let harness = TestGateway::new().await;
    let (mut wrong, mut played) = (Vec::new(), String::new());
    for name in ["openai", "openrouter", "dashscope", "openai_compatible"] {
        let (provider, folder) = (providers.get(name).unwrap(), folder().join(name));
        let mut cases = cases(&folder).unwrap();
        cases.retain(|case| case.expected.units.contains_key("cache_write"));
        assert!(!cases.is_empty(), "{name}");
        for case in &cases {
            if let Err(what) = run(&harness, provider, case).await {
                wrong.push(format!("{name}/{}: {what}", case.name));
            }
            let file = folder.join(format!("{}.http", case.name));
            played.push_str(&String::from_utf8(fs::read(file).unwrap()).unwrap());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing: Vec<&str> = NAMES
        .into_iter()
        .filter(|name| !played.contains(name))
        .collect();
    assert!(missing.is_empty(), "names without a fixture: {missing:?}");
    harness.audit().await;
}

/// The provider of `docs/dev/adding/provider.md` stands in no list and no code.
#[tokio::test]
async fn a_provider_is_added_by_one_file_and_one_folder() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dev/adding/provider");
    let (builtin, providers) = (
        Providers::builtin().unwrap(),
        Providers::with_folder(&example).unwrap(),
    );
    let new = |name: &&str| builtin.get(name).is_none();
    let added: Vec<&str> = providers.names().filter(new).collect();
    let [name] = added[..] else {
        panic!("the page's example is one provider, not {added:?}");
    };
    let file = fs::read(example.join(format!("{name}.toml"))).unwrap();
    let lines = String::from_utf8(file).unwrap().lines().count();
    assert!(lines < 40, "{lines} lines");
    let harness = TestGateway::build(TestOptions {
        providers: example.clone(),
        ..TestOptions::default()
    });
    let harness = harness.await;
    let provider = providers.get(name).unwrap();
    let mut wrong = Vec::new();
    let played = run_all(&harness, provider, &example.join(name), &mut wrong).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(played >= RequiredCase::ALL.len());
    let missing = folder().join(name);
    assert_eq!(run_all(&harness, provider, &missing, &mut wrong).await, 0);
    assert_eq!(wrong, [format!("there is no folder {}", missing.display())]);
    harness.audit().await;
}

/// Runs every case of a provider's folder, and returns how many there are.
async fn run_all(
    harness: &TestGateway,
    provider: &Provider,
    folder: &Path,
    wrong: &mut Vec<String>,
) -> usize {
    let cases = match cases(folder) {
        Ok(cases) => cases,
        Err(lacks) => {
            wrong.push(lacks);
            return 0;
        }
    };
    for case in &cases {
        if let Err(what) = run(harness, provider, case).await {
            wrong.push(format!("{}/{}: {what}", provider.name, case.name));
        }
    }
    cases.len()
}

#[test]
fn every_folder_belongs_to_a_provider_that_speaks_chat_completions() {
    let providers = Providers::builtin().unwrap();
    let speaks = |name: &str| {
        let provider = providers.get(name);
        provider.is_some_and(|provider| provider.speaks(Format::OpenaiChat))
    };
    let folders: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let strangers: Vec<&String> = folders.iter().filter(|name| !speaks(name)).collect();
    assert!(strangers.is_empty(), "{strangers:?}");
}

/// Plays one case through a channel of its own.
async fn run(harness: &TestGateway, provider: &Provider, case: &Case) -> Result<(), String> {
    let player = RecordedUpstream::new().await;
    let channel = format!("{}-{}", provider.name, case.name);
    let options = ChannelOptions {
        provider: Some(&provider.name),
        ..ChannelOptions::default()
    };
    let base = format!("http://{}/base", player.address());
    let models = [(MODEL, "theirs")];
    harness
        .channel_with(&channel, &base, &models, options)
        .await;
    let before = harness.posted_at_rest().await;
    let body = json!({
        "model": MODEL,
        "messages": [{ "role": "user", "content": "Say hello." }],
        "max_completion_tokens": CAP,
        "stream": case.expected.stream,
    });
    let both = async { tokio::join!(player.play(case), harness.chat(&body)) };
    let (request, got) = timeout(LONGEST, both)
        .await
        .map_err(|_| "the gateway sent no request")?;
    let row = usage::find(&harness.data, harness.account, got.id().parse().unwrap());
    let row = row.await.unwrap().expect("the call is over");
    let spent = before - harness.posted_at_rest().await;
    let is_translated = !provider.speaks(Format::ClaudeMessages);
    let thinking = match case.expected.reasoning.is_some() && is_translated {
        true => Some(thinking(harness, &player, case).await),
        false => None,
    };
    take_away(harness, &channel).await;
    check_request(provider, case, &request)?;
    was_seen(case, &got)?;
    if let Some(thinking) = thinking {
        same(
            "reasoning",
            Some(thinking?),
            case.expected.reasoning.clone(),
        )?;
    }
    was_billed(case, &row, spent)
}

/// Plays a case to a caller of messages, and returns the text of its thinking blocks.
async fn thinking(
    harness: &TestGateway,
    player: &RecordedUpstream,
    case: &Case,
) -> Result<String, String> {
    let body = json!({
        "model": MODEL,
        "messages": [{ "role": "user", "content": "Say hello." }],
        "max_tokens": CAP,
        "stream": case.expected.stream,
    });
    let body = Bytes::from(body.to_string());
    let call = async {
        GatewayResponse::read(harness.send(Method::POST, "/v1/messages", body).await).await
    };
    let both = async { tokio::join!(player.play(case), call) };
    let (_, got) = timeout(LONGEST, both)
        .await
        .map_err(|_| "the gateway sent no request for messages")?;
    let parts: Vec<Value> = if case.expected.stream {
        let frames = got.frames().into_iter();
        frames
            .map(|frame| frame["delta"]["thinking"].clone())
            .collect()
    } else {
        let whole = got.json();
        let blocks = whole["content"].as_array();
        let blocks = blocks.ok_or_else(|| format!("messages got {whole}"))?;
        blocks
            .iter()
            .map(|block| block["thinking"].clone())
            .collect()
    };
    Ok(parts.iter().filter_map(Value::as_str).collect())
}

pub(crate) async fn take_away(harness: &TestGateway, channel: &str) {
    let mut tx = harness.console.begin().await.unwrap();
    let found = channels::find(&mut tx, channel).await.unwrap().unwrap();
    let state = ChannelState::Draining;
    assert!(channels::set_state(&mut tx, found.id, state).await.unwrap());
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
}

/// The vendor got its own credential and only fields it takes.
fn check_request(
    provider: &Provider,
    case: &Case,
    request: &RecordedRequest,
) -> Result<(), String> {
    let path = match &provider.addressing {
        Addressing::Azure { api_version } => {
            format!("/base/openai/deployments/theirs/chat/completions?api-version={api_version}")
        }
        Addressing::Plain | Addressing::Bedrock | Addressing::Vertex => {
            "/base/chat/completions".to_owned()
        }
    };
    let expected = format!("POST {path} HTTP/1.1");
    same("asked", request.first_line.as_str(), expected.as_str())?;
    let (header, value) = match &provider.auth {
        Auth::Bearer => ("authorization", format!("Bearer {CANARY}")),
        Auth::Header(name) => (name.as_str(), CANARY.to_owned()),
        Auth::SigV4(_) | Auth::GoogleServiceAccount | Auth::KlingToken => {
            return Err("its credential is made for each call".to_owned());
        }
    };
    let sent = request.headers.get(header).map(|it| it.to_str().unwrap());
    same(header, sent, Some(value.as_str()))?;
    same("model", &request.body["model"], &json!("theirs"))?;
    let (used, unused) = if provider.has(Quirk::MaxTokensOnly) {
        ("max_tokens", "max_completion_tokens")
    } else {
        ("max_completion_tokens", "max_tokens")
    };
    same(used, &request.body[used], &json!(CAP))?;
    same(unused, &request.body[unused], &Value::Null)?;
    let wants_usage = case.expected.stream && !provider.has(Quirk::NoStreamOptions);
    let options = match wants_usage {
        true => json!({ "include_usage": true }),
        false => Value::Null,
    };
    same("stream_options", &request.body["stream_options"], &options)
}

fn was_seen(case: &Case, got: &GatewayResponse) -> Result<(), String> {
    let expected = &case.expected;
    same("status", got.status.as_u16(), expected.status)?;
    let retry_after = got.header("retry-after");
    let retry_after = retry_after.map(|seconds| seconds.parse::<u64>().unwrap());
    same("retry-after", retry_after, expected.retry_after)?;
    let frames = if expected.stream && expected.status == 200 {
        got.frames()
    } else {
        vec![got.json()]
    };
    let last = frames.last().unwrap();
    let code = last["error"]["code"].as_str();
    same("code", code, expected.code.as_deref())?;
    if expected.code.is_some() {
        same("charged", &last["error"]["charged"], &json!(false))?;
        let reply = last["error"]["message"].as_str().unwrap();
        let words = expected.message.as_deref().unwrap_or_default();
        return match reply.contains(words) {
            true => Ok(()),
            false => Err(format!("message is {reply:?}, without {words:?}")),
        };
    }
    let (mut text, mut finish) = (String::new(), None);
    for frame in &frames {
        let choice = &frame["choices"][0];
        let place = if expected.stream { "delta" } else { "message" };
        text.push_str(choice[place]["content"].as_str().unwrap_or_default());
        finish = choice["finish_reason"].as_str().or(finish);
        let name = frame.get("model").and_then(Value::as_str);
        same("model", name.unwrap_or(MODEL), MODEL)?;
    }
    same("text", Some(text.as_str()), expected.text.as_deref())?;
    same("finish", finish, expected.finish.as_deref())?;
    let ended = !expected.stream || got.text().ends_with("data: [DONE]\n\n");
    same("the end is told", ended, true)
}

fn was_billed(case: &Case, row: &UsageRow, spent: i64) -> Result<(), String> {
    let expected = &case.expected;
    same("units", &row.units, &json!(expected.units))?;
    same("estimated", row.estimated, expected.estimated)?;
    let charged = row.paid.nanos() + row.trial.nanos();
    same("charged", charged, expected.charged)?;
    same("taken from the wallet", spent, expected.charged)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: T, expected: T) -> Result<(), String> {
    if is == expected {
        return Ok(());
    }
    Err(format!("{what} is {is:?}, expected {expected:?}"))
}
