//! Random fields and tools that are on no list, in calls of every format to every provider: none arrives.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;
use trunkline_upstream::{Auth, Format, Providers};

use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{FormatPair, shop};
use crate::pairs::number;
use crate::providers::take_away;
use crate::recorded_upstream::{RecordedRequest, RecordedUpstream};
use crate::test_gateway::{ChannelOptions, GatewayResponse, TestGateway, TestOptions};

/// Long for a call on this machine.
const LONGEST: Duration = Duration::from_secs(30);
/// How many calls of each provider in each format, and from where.
const STRAYS: &str = "TRUNKLINE_STRAYS";
const STRAYS_SEED: &str = "TRUNKLINE_STRAYS_SEED";
const USUAL_STRAYS: u64 = 2;

/// A small generator: the same cases in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    fn name(&mut self) -> String {
        let characters = (0..12).map(|_| char::from(b"abcdefghij_"[self.below(11)]));
        format!("zq{}", characters.collect::<String>())
    }
}

/// The objects of a body, but for those that pass unread.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    const UNREAD: [&str; 4] = [
        "parameters",
        "input_schema",
        "parametersJsonSchema",
        "schema",
    ];
    match value {
        Value::Object(members) => {
            found.push(at.to_owned());
            for (key, value) in members
                .iter()
                .filter(|(key, _)| !UNREAD.contains(&key.as_str()))
            {
                objects(value, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                objects(value, &format!("{at}/{place}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The built-in providers, each with a credential that needs no vendor.
fn every_provider(folder: &Path) {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../upstream/providers");
    for entry in fs::read_dir(own).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8(fs::read(&path).unwrap()).unwrap();
        let lines = text.lines().map(|line| match line.starts_with("auth = ") {
            true => "auth = \"bearer\"",
            false => line,
        });
        let text: Vec<&str> = lines.collect();
        fs::write(folder.join(path.file_name().unwrap()), text.join("\n")).unwrap();
    }
}

#[tokio::test]
async fn an_unlisted_field_or_tool_arrives_at_no_provider() {
    let (cases, seed) = (number(STRAYS, USUAL_STRAYS), number(STRAYS_SEED, 7));
    println!("{cases} cases of each provider and format from {STRAYS_SEED}={seed}");
    let folder = tempfile::tempdir().unwrap();
    every_provider(folder.path());
    let options = TestOptions {
        providers: folder.path().to_owned(),
        ..TestOptions::default()
    };
    let harness = shop(options).await;
    let providers = Providers::with_folder(folder.path()).unwrap();
    let talks = [
        Format::OpenaiChat,
        Format::ClaudeMessages,
        Format::OpenaiResponses,
        Format::Gemini,
    ];
    let mut random = Random(seed);
    let mut called = 0_u64;
    for name in providers.names() {
        let provider = providers.get(name).unwrap();
        // A signature needs a credential of its own form; the bodies are those of the formats.
        let signs = matches!(provider.auth, Auth::SigV4(_) | Auth::GoogleServiceAccount);
        if signs || !talks.iter().any(|format| provider.speaks(*format)) {
            continue;
        }
        let upstream = RecordedUpstream::new().await;
        // Vertex wants project and region in its base; to the others it is a path.
        let base = format!("http://{}/projects/p/locations/r", upstream.address());
        let options = ChannelOptions {
            provider: Some(name),
            ..ChannelOptions::default()
        };
        let models = [("gemini-to-chat", "theirs")];
        harness.channel_with(name, &base, &models, options).await;
        for caller in ClientFormat::ALL {
            for _ in 0..cases {
                let stray = random.name();
                let (request, body) =
                    stray_call(&harness, &upstream, caller, &mut random, &stray).await;
                let sent = request.body.to_string();
                assert!(
                    !sent.contains(&stray),
                    "{caller} to {name}: {body} came as {sent}"
                );
                called += 1;
            }
        }
        take_away(&harness, name).await;
    }
    assert!(called >= 15 * 4 * cases, "{called}");
    println!("figures: requests={called}");
}

/// A tool of a kind that no list has, as a vendor may run it.
fn stray_tool(caller: ClientFormat, kind: &str) -> Value {
    match caller {
        ClientFormat::Chat => json!({ "type": kind, kind: { "name": kind } }),
        ClientFormat::Messages => json!({ "type": kind, "name": kind, "max_uses": 3 }),
        ClientFormat::Responses => json!({ "type": kind }),
        ClientFormat::Gemini => json!({ kind: {} }),
    }
}

/// One call with a field or a tool of this name somewhere.
async fn stray_call(
    harness: &TestGateway,
    upstream: &RecordedUpstream,
    caller: ClientFormat,
    random: &mut Random,
    stray: &str,
) -> (RecordedRequest, Value) {
    let pair = FormatPair {
        caller,
        upstream: ClientFormat::Chat,
        stream: false,
    };
    let mut body = pair.body(CallParams {
        prompt: "Hello",
        system: Some("Be kind."),
        image: random.below(2) == 0,
        tools: true,
        ..CallParams::default()
    });
    if random.below(3) == 0 {
        let tools = body["tools"].as_array_mut().unwrap();
        let place = random.below(tools.len() + 1);
        tools.insert(place, stray_tool(caller, stray));
    } else {
        let mut places = Vec::new();
        objects(&body, "", &mut places);
        let place = &places[random.below(places.len())];
        body.pointer_mut(place).unwrap()[stray] = json!({ stray: 1 });
    }
    let path = caller.path(&pair.model(), false);
    let bytes = Bytes::from(body.to_string());
    let refusing = async { timeout(LONGEST, upstream.refuse()).await };
    let sending =
        async { GatewayResponse::read(harness.send(Method::POST, &path, bytes).await).await };
    let (request, got) = tokio::join!(refusing, sending);
    let Ok(request) = request else {
        let attempts = "SELECT attempts::text FROM ledger.usage ORDER BY opened_at DESC LIMIT 1";
        let attempts = harness.db.ask(attempts).await;
        panic!("{caller}: {body} got {}, {attempts:?}", got.text());
    };
    (request, body)
}
