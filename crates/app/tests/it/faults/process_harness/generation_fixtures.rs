//! Pictures, speech and transcripts that a process harness sells, and the channels to their vendors. What is
//! called hasty has two channels to vendors that are waited for a few seconds only.

use std::collections::BTreeMap;

use trunkline_catalog::starter;
use trunkline_db::Database;
use trunkline_gateway::{Change, ChangeAuthor, publish};
use trunkline_keyring::{Binding, Keyring, Purpose};
use trunkline_store::channels::{self, NewChannel, NewCredential, credential_context};

use super::fixtures::{add_channel, publish_text};

/// A channel: its name, its provider, its priority, and its models by our names and the vendor's.
type Line = (
    &'static str,
    &'static str,
    i32,
    &'static [(&'static str, &'static str)],
);

const LINES: [Line; 6] = [
    (
        "studio",
        "patient_studio",
        1,
        &[
            ("brush", "gpt-image-1.5"),
            ("voice", "tts-1"),
            ("ears", "whisper-1"),
            ("five-minute-ears", "whisper-1"),
        ],
    ),
    (
        "tower",
        "patient_tower",
        1,
        &[("long-voice", "speech-2.8-hd")],
    ),
    (
        "hasty-first",
        "hasty_studio",
        1,
        &[
            ("hasty-brush", "gpt-image-1.5"),
            ("hasty-ears", "whisper-1"),
        ],
    ),
    (
        "hasty-second",
        "hasty_studio",
        5,
        &[
            ("hasty-brush", "gpt-image-1.5"),
            ("hasty-ears", "whisper-1"),
        ],
    ),
    (
        "hasty-voice-first",
        "hasty_studio",
        1,
        &[("hasty-voice", "tts-1")],
    ),
    (
        "hasty-voice-second",
        "hasty_studio",
        5,
        &[("hasty-voice", "tts-1")],
    ),
];

/// Of one picture, of one character and of one second, in nano-USD.
pub(crate) const PICTURE: i64 = 20_000_000;
pub(crate) const CHARACTER: i64 = 10_000;
pub(crate) const SECOND: i64 = 100_000;

/// A video model of the starter catalog that takes a clip.
pub(crate) const VIDEO: &str = "wan2.7-r2v";

/// Providers by their names.
pub(super) fn providers() -> [(&'static str, String); 3] {
    let openai = "\"openai_images\", \"openai_speech\", \"openai_transcription\"";
    let provider = |name: &'static str, formats: &str, (wait, total): (u64, u64)| {
        let text = format!(
            "name = \"{name}\"\nbase_url = \"\"\nauth = \"bearer\"\nformats = [{formats}]\nquirks = []\n\
             connect_ms = 2000\nfirst_byte_ms = {wait}\nidle_ms = {wait}\ntotal_ms = {total}\n"
        );
        (name, text)
    };
    [
        provider("patient_studio", openai, (60_000, 900_000)),
        provider("hasty_studio", openai, (4_000, 6_000)),
        provider("patient_tower", "\"minimax_speech\"", (60_000, 900_000)),
    ]
}

fn catalog() -> String {
    let model =
        |name: &str, more: &str| format!("[models.{name}]\ngroups = [\"default\"]\n{more}\n");
    let brush = format!(
        "endpoints = [\"image-generation\"]\nspecs = {{ type = \"image\", max_images = 4 }}\n\
         prices = {{ billing_unit = \"per_call\", standard = {{ per_call = {PICTURE}_000 }} }}"
    );
    let voice = |format: &str, most: u32| {
        format!(
            "endpoints = [\"audio-speech\"]\ndefault_response_format = \"{format}\"\n\
             specs = {{ response_formats = [\"mp3\", \"wav\"], max_input_characters = {most} }}\n\
             prices = {{ billing_unit = \"characters\", standard = {{ input = {CHARACTER}_000 }} }}"
        )
    };
    // A minute is a thousand units, and prices are thousandths of a nano-USD: the two cancel out.
    let minute = SECOND * 60;
    let ears = |limits: &str| {
        format!(
            "endpoints = [\"audio-transcription\"]\nspecs = {{ type = \"asr\"{limits} }}\n\
             prices = {{ billing_unit = \"audio_duration\", standard = {{ audio_input = {minute} }} }}"
        )
    };
    let five_minutes = ", max_upload_seconds = 300, max_upload_bytes = 2_000_000_000";
    [
        model("brush", &brush),
        model("hasty-brush", &brush),
        model("voice", &voice("mp3", 4_096)),
        model("hasty-voice", &voice("mp3", 4_096)),
        model("long-voice", &voice("wav", 10_000)),
        model("ears", &ears("")),
        model("hasty-ears", &ears("")),
        model("five-minute-ears", &ears(five_minutes)),
    ]
    .concat()
}

/// Puts all of it up for sale.
pub(super) async fn sell(console: &Database, keyring: &Keyring, port: u16) {
    publish_text(console, &catalog()).await;
    for (name, provider, priority, models) in LINES {
        let context = credential_context(name, "main");
        let binding = Binding::of_operator(&context);
        let sealed = keyring
            .seal(Purpose::Credentials, &binding, b"sk-simulator")
            .unwrap();
        let base_url = format!("http://127.0.0.1:{port}/v1");
        let of = |(ours, theirs): &(&str, &str)| ((*ours).to_owned(), (*theirs).to_owned());
        let models: BTreeMap<String, String> = models.iter().map(of).collect();
        let new = NewChannel {
            name,
            provider,
            base_url: Some(&base_url),
            priority,
            weight: 1,
            region: None,
            residency: None,
            zero_retention: false,
            models: &models,
            groups: &[],
            extra_headers: &BTreeMap::new(),
            proxy: None,
            requests_per_minute: None,
            concurrent_calls: None,
            cost: None,
            credentials: &[NewCredential {
                label: "main",
                sealed: &sealed,
                hint: "ator",
            }],
        };
        let mut tx = console.begin().await.unwrap();
        let added = channels::add(&mut tx, &new).await;
        tx.finish(added).await.unwrap();
    }
}

/// Puts the video model up for sale.
pub(super) async fn sell_video(console: &Database, keyring: &Keyring, port: u16) {
    let mut starter = starter().unwrap();
    starter.models.retain(|name, _| name == VIDEO);
    let vendor = starter.models[VIDEO].vendor.clone();
    starter
        .vendors
        .retain(|name, _| Some(name) == vendor.as_ref());
    // The harness has sold to the default group before.
    starter.groups.retain(|name, _| name != "default");
    starter.auto_groups.clear();
    let signed = ChangeAuthor {
        author: "harness",
        note: "",
    };
    let mut tx = console.begin().await.unwrap();
    let done = publish(&mut tx, signed, |before| Change::adding(starter, before)).await;
    tx.finish(done).await.unwrap();
    let models = BTreeMap::from([(VIDEO.to_owned(), VIDEO.to_owned())]);
    let base_url = format!("http://127.0.0.1:{port}/api/v1");
    let named = ("videos", "dashscope_native".to_owned());
    add_channel((console, keyring), named, &base_url, &models).await;
}
