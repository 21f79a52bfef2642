//! Input bounds that no legal input passes: text by its bytes, images by their measured size under the
//! vendor's rule, sound by its measured length, and what cannot be measured by the model's window.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use trunkline_catalog::starter;
use trunkline_gateway::Settings;

use crate::test_gateway::{TestGateway, ask, ask_streaming};

/// Tokens around the text of a request.
const FRAME: usize = 64;
const DOLLAR: i64 = 1_000_000_000;

async fn starter_gateway(paid: i64) -> TestGateway {
    let harness = TestGateway::with(Settings::default(), paid, 0).await;
    harness.sell_document(starter().unwrap()).await;
    harness
}

fn png(width: u32, height: u32) -> String {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 6, 0, 0, 0, 0, 0, 0, 0]);
    STANDARD.encode(bytes)
}

fn wav(seconds: u32) -> String {
    let mut bytes = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    bytes.extend(8_000_u32.to_le_bytes());
    bytes.extend(8_000_u32.to_le_bytes());
    bytes.extend(b"\x01\0\x08\0data");
    bytes.extend((seconds * 8_000).to_le_bytes());
    bytes.extend(vec![0; usize::try_from(seconds * 8_000).unwrap()]);
    STANDARD.encode(bytes)
}

fn chat(model: &str, part: &Value) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": [part] }] })
}

/// The input tokens that a quote holds money for.
async fn input_units(harness: &TestGateway, body: &Value) -> usize {
    let quote = harness.quote(body).await;
    assert_eq!(quote.status, 200, "{}", quote.text());
    let units = quote.json()["lines"][0]["units"].as_u64().unwrap();
    usize::try_from(units).unwrap()
}

#[tokio::test]
async fn every_byte_of_a_text_may_be_a_token_and_characters_that_grow_count_what_they_grow_to() {
    let harness = TestGateway::new().await;
    for (text, grown) in [
        ("x".repeat(100_000), 0),
        ("a b ~!@#".repeat(1_000), 0),
        ("你好".repeat(1_000), 0),
        ("ﷺ".repeat(1_000), 33_000),
    ] {
        let body = ask(&text);
        let written = body["messages"].to_string().len();
        let units = input_units(&harness, &body).await;
        assert_eq!(units, written + grown + FRAME);
    }
}

#[tokio::test]
async fn an_image_in_the_request_is_bounded_by_its_size_and_one_behind_a_link_by_the_largest() {
    let harness = starter_gateway(DOLLAR).await;
    let large = png(8_000, 8_000);
    for (model, data, tokens) in [
        ("gpt-5-mini", Some(png(1_024, 1_024)), 1_762),
        ("gpt-5-mini", Some(large.clone()), 17_200),
        ("gpt-4o-mini", Some(png(16, 16)), 48_169),
        ("gpt-4.1", None, 1_445),
        ("claude-sonnet-5", Some(png(1_000, 1_000)), 38 * 38),
        ("claude-sonnet-5", Some(large), 4_800),
        ("claude-sonnet-5", None, 4_800),
        ("gemini-2.5-pro", Some(png(960, 540)), 2_240),
        ("kimi-k3", None, 16_400),
    ] {
        let link = "https://example.com/a.png".to_owned();
        let url = data
            .as_ref()
            .map(|data| format!("data:image/png;base64,{data}"));
        let url = url.unwrap_or(link);
        let body = chat(
            model,
            &json!({ "type": "image_url", "image_url": { "url": url } }),
        );
        let no_text = data.as_ref().map_or(url.len(), String::len);
        let written = body["messages"].to_string().len() - no_text;
        let units = input_units(&harness, &body).await;
        assert_eq!(units, written + FRAME + tokens, "{model}");
    }
}

#[tokio::test]
async fn sound_is_bounded_by_its_length_and_what_cannot_be_measured_by_the_window() {
    let harness = starter_gateway(DOLLAR).await;
    let sound = wav(20);
    let part = json!({ "type": "input_audio", "input_audio": { "data": sound, "format": "wav" } });
    let body = chat("gemini-2.5-pro", &part);
    let written = body["messages"].to_string().len() - sound.len();
    let units = input_units(&harness, &body).await;
    assert_eq!(units, written + FRAME + 22 * 32);
    let window = 1_048_576;
    let far = "https://example.com/a.mp4";
    let pdf = format!(
        "data:application/pdf;base64,{}",
        STANDARD.encode("%PDF-1.7")
    );
    for part in [
        json!({ "type": "video_url", "video_url": { "url": far } }),
        json!({ "type": "video", "video": far }),
        json!({ "type": "file", "file": { "filename": "a.pdf", "file_data": pdf } }),
        json!({ "type": "document_url", "document_url": far }),
        json!({ "type": "input_audio", "input_audio": { "data": far, "format": "mp3" } }),
    ] {
        let units = input_units(&harness, &chat("gemini-2.5-pro", &part)).await;
        assert_eq!(units, window, "{part}");
    }
    // A text that is longer than the window is refused by its vendor.
    let long = "x".repeat(2_000_000);
    let part = json!({ "type": "text", "text": long });
    let units = input_units(&harness, &chat("gemini-2.5-pro", &part)).await;
    assert_eq!(units, window);
}

#[tokio::test]
async fn an_agents_long_prompt_streams_on_one_dollar_on_the_newest_record_of_every_vendor() {
    let harness = starter_gateway(DOLLAR).await;
    let document = starter().unwrap();
    let chats = document.models.iter().filter(|(_, entry)| {
        let window = entry.specs.max_input_tokens.unwrap_or(u64::MAX);
        entry.tasks.iter().any(|task| task == "chat") && window > 100_000
    });
    let mut newest = std::collections::BTreeMap::new();
    for (name, entry) in chats {
        let best = newest
            .entry(entry.vendor.as_deref())
            .or_insert((entry.created, name));
        *best = (*best).max((entry.created, name));
    }
    let names: Vec<&str> = newest.values().map(|(_, name)| name.as_str()).collect();
    let served: Vec<(&str, &str)> = names.iter().map(|name| (*name, "sim-fast")).collect();
    let base = harness.simulator.base_url();
    harness.channel("starter", &base, 10, &served).await;
    assert!(names.len() > 8, "{names:?}");
    for name in names {
        let mut body = ask_streaming(&"word ".repeat(20_000));
        body["model"] = name.into();
        let account = crate::test_gateway::account(&harness.console, DOLLAR, 0).await;
        let fields = trunkline_store::PolicyFields::default();
        let key = harness.key_of(account, fields).await;
        let bytes = bytes::Bytes::from(body.to_string());
        let (to, path) = ((harness.address, key.as_str()), "/v1/chat/completions");
        let sent = harness.send_as(to, http::Method::POST, path, bytes, &[]);
        let got = crate::test_gateway::GatewayResponse::read(sent.await).await;
        assert_eq!(got.status, 200, "{name}: {}", got.text());
    }
}
