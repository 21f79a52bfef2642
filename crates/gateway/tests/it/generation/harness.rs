//! A gateway that sells pictures, speech and transcripts, each made by its vendor's simulator.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use trunkline_gateway::Settings;
use trunkline_upstream::{Deadlines, Outgoing, Payload, Protocol};

use crate::generation::form::content_type;
use crate::response::GatewayResponse;
use crate::test_gateway::{ChannelOptions, TestGateway, TestOptions};

/// A hundred USD.
pub(crate) const MONEY: i64 = 100_000_000_000;
/// Of one picture, in nano-USD.
pub(crate) const PICTURE: i64 = 20_000_000;
/// Of one character.
pub(crate) const CHARACTER: i64 = 10_000;
const CATALOG: &str = include_str!("catalog.toml");

/// Models by our names and theirs.
type Names = &'static [(&'static str, &'static str)];

/// A provider, the path of its simulator, and its models by our names and theirs.
const CHANNELS: [(&str, &str, Names); 5] = [
    (
        "openai",
        "/v1",
        &[
            ("brush", "dall-e-2"),
            ("many-brush", "dall-e-2"),
            ("fine-brush", "gpt-image-1.5"),
            ("voice", "tts-1"),
            ("short-voice", "tts-1"),
            ("ears", "whisper-1"),
            ("short-ears", "whisper-1"),
            ("long-ears", "whisper-1"),
            ("ears-realtime", "whisper-1"),
        ],
    ),
    (
        "minimax",
        "/v1",
        &[("mini-brush", "image-01"), ("mini-voice", "speech-2.8-hd")],
    ),
    (
        "dashscope_native",
        "/api/v1",
        &[
            ("wen-brush", "qwen-image-2.0"),
            ("wen-voice", "qwen3-tts-flash"),
            ("wen-ears", "qwen3-asr-flash"),
            ("wen-file-ears", "paraformer-v2"),
        ],
    ),
    (
        "ark",
        "/api/v3",
        &[("sea-brush", "doubao-seedream-4-0-250828")],
    ),
    ("zhipu", "/api/paas/v4", &[("glm-ears", "glm-asr-2512")]),
];

impl TestGateway {
    pub(crate) async fn generation() -> Self {
        Self::generation_with(Settings::default()).await
    }

    pub(crate) async fn generation_with(settings: Settings) -> Self {
        Self::generation_of(TestOptions {
            settings,
            paid: MONEY,
            ..TestOptions::default()
        })
        .await
    }

    pub(crate) async fn generation_of(options: TestOptions) -> Self {
        let harness = Self::build(TestOptions {
            own_links: true,
            ..options
        })
        .await;
        harness.sell_generation("").await;
        harness
    }

    /// Adds the models and their channels, whose names begin so.
    pub(crate) async fn sell_generation(&self, start: &str) {
        self.sell(CATALOG).await;
        for (provider, path, models) in CHANNELS {
            let name = format!("{start}{provider}");
            self.vendor(&name, provider, path, models).await;
        }
    }

    /// A channel to the simulator of a vendor, behind those that a test adds.
    async fn vendor(&self, name: &str, provider: &str, path: &str, models: &[(&str, &str)]) {
        let base = format!("http://{}{path}", self.simulator.address());
        let options = ChannelOptions {
            provider: Some(provider),
            priority: 5,
            ..ChannelOptions::default()
        };
        self.channel_with(name, &base, models, options).await;
    }

    /// A second channel of one vendor, which is asked first.
    pub(crate) async fn before(&self, provider: &str, base: &str, models: &[(&str, &str)]) {
        let options = ChannelOptions {
            provider: Some(provider),
            priority: 1,
            ..ChannelOptions::default()
        };
        let name = format!("{provider}-first");
        self.channel_with(&name, base, models, options).await;
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> GatewayResponse {
        self.post_with(path, body, &[]).await
    }

    pub(crate) async fn post_with(
        &self,
        path: &str,
        body: &Value,
        extra: &[(&'static str, &str)],
    ) -> GatewayResponse {
        let body = Bytes::from(body.to_string());
        GatewayResponse::read(self.send_with(Method::POST, path, body, extra).await).await
    }

    /// Images from a text.
    pub(crate) async fn draw(&self, model: &str, prompt: &str, more: Value) -> GatewayResponse {
        let mut body = json!({ "model": model, "prompt": prompt });
        let fields = body.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        self.post("/v1/images/generations", &body).await
    }

    /// Speech.
    pub(crate) async fn say(&self, model: &str, input: &str, more: Value) -> GatewayResponse {
        let voice = match model {
            "mini-voice" => "English_expressive_narrator",
            "wen-voice" => "Cherry",
            _ => "alloy",
        };
        let mut body = json!({ "model": model, "input": input, "voice": voice });
        let fields = body.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        self.post("/v1/audio/speech", &body).await
    }

    /// A form that comes in pieces.
    pub(crate) async fn upload(&self, path: &str, body: Payload) -> GatewayResponse {
        let minute = Duration::from_secs(60);
        let mut headers = HeaderMap::new();
        let bearer = format!("Bearer {}", self.key);
        headers.insert(AUTHORIZATION, HeaderValue::from_str(&bearer).unwrap());
        let kind = content_type();
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(&kind).unwrap());
        let call = Outgoing {
            method: Method::POST,
            uri: format!("http://{}{path}", self.address).parse().unwrap(),
            headers,
            body,
            deadlines: Deadlines {
                first_byte: minute,
                idle: minute,
                total: minute,
            },
            proxy: None,
            protocol: Protocol::Http1,
        };
        GatewayResponse::read(self.client.send(call).await.unwrap()).await
    }

    /// What was spent so far, in nano-USD, when nothing is under way.
    pub(crate) async fn spent(&self) -> i64 {
        MONEY - self.posted_at_rest().await
    }

    /// What a call's usage row tells its owner.
    pub(crate) async fn row(&self, got: &GatewayResponse) -> Value {
        self.get(&format!("/v1/usage/{}", got.id())).await.json()
    }
}

/// Width and height of a picture, by its head; and that it has an end.
pub(crate) fn size_of(picture: &[u8]) -> (u32, u32) {
    if picture.starts_with(b"\x89PNG\r\n\x1a\n") {
        assert!(picture.ends_with(b"IEND\xae\x42\x60\x82"), "a cut PNG");
        let number = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().unwrap());
        return (number(16), number(20));
    }
    assert!(picture.starts_with(b"\xff\xd8"), "neither PNG nor JPEG");
    assert!(picture.ends_with(b"\xff\xd9"), "a cut JPEG");
    let mut at = 2;
    loop {
        let (marker, length) = (
            picture[at + 1],
            usize::from(u16::from_be_bytes([picture[at + 2], picture[at + 3]])),
        );
        if (0xc0..=0xc3).contains(&marker) {
            let number = |at: usize| u32::from(u16::from_be_bytes([picture[at], picture[at + 1]]));
            return (number(at + 7), number(at + 5));
        }
        at += 2 + length;
    }
}
