//! Recordings that are written down.

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use trunkline_gateway::Settings;
use trunkline_simulator::{transcript, translation};
use trunkline_upstream::Payload;

use crate::generation::form::{Form, wav, wav_of};
use crate::test_gateway::TestGateway;

const PATH: &str = "/v1/audio/transcriptions";
/// One second, in nano-USD: 1000 tokens a minute at 6 USD a million.
const SECOND: i64 = 100_000;

fn form(model: &str, file: &[u8]) -> Form {
    Form::default()
        .text("model", model)
        .file("file", "talk.wav", "audio/wav", file)
}

// covers: G-2.5-02, G-4.5-05, G-4.5-06, G-4.5-07, G-4.5-08, G-4.5-09, D-2-13, D-2-14, D-2-15
// covers: G-1-14, G-1-17, G-2.6-39, G-4-15, G-5-03
#[tokio::test]
async fn a_transcript_is_billed_by_whole_seconds_of_the_recording() {
    let harness = TestGateway::generation().await;
    let mut spent = 0;
    for (model, samples, seconds) in [
        ("ears", 8_000_u32, 1_i64),
        ("ears", 1_600, 1),
        ("ears", 16_800, 3),
        ("ears", 16_000, 2),
        ("ears", 480_000, 60),
        ("ears", 8_001, 2),
        ("glm-ears", 16_800, 3),
        ("wen-ears", 16_800, 3),
        ("wen-file-ears", 16_800, 3),
    ] {
        let file = wav(samples);
        let got = form(model, &file).send(&harness, PATH).await;
        let what = format!("{model} {samples}");
        assert_eq!(got.status.as_u16(), 200, "{what}: {}", got.text());
        let view = got.json();
        assert_eq!(
            view["text"].as_str().unwrap(),
            transcript(&Sha256::digest(&file).into(), "en"),
            "{what}"
        );
        spent += SECOND * seconds;
        assert_eq!(harness.spent().await, spent, "{what}");
        let row = harness.row(&got).await;
        let tokens = (seconds * 1000 + 59) / 60;
        assert_eq!(row["prompt_tokens"], json!(tokens), "{what}");
        assert_eq!(row["completion_tokens"], 0, "{what}");
        assert_eq!(row["units"], json!({ "audio_input": seconds }), "{what}");
        let received = harness.simulator.audio_calls().pop().unwrap();
        assert_eq!(received.bytes, u64::try_from(file.len()).unwrap(), "{what}");
    }
    harness.audit().await;
}

/// The first frames of a bare stream of AAC.
fn first_frames(stream: &[u8], frames: usize) -> &[u8] {
    let mut end = 0;
    for _ in 0..frames {
        let head = &stream[end..end + 7];
        let bits = |byte: u8| usize::from(byte);
        end += ((bits(head[3]) & 3) << 11) | (bits(head[4]) << 3) | (bits(head[5]) >> 5);
    }
    &stream[..end]
}

/// An encoder of AAC puts silence before the sound and fills up its last packet: a second of 16,000 samples is
/// 17 packets of 1,024. A bare stream cannot say so, and these files do not.
#[tokio::test]
async fn a_customer_pays_one_second_for_a_second_of_aac_whose_container_does_not_declare_the_delay()
{
    const ADTS: &[u8] = include_bytes!("../../../../probe/tests/corpus/adts.aac");
    const MP4: &[u8] = include_bytes!("../../../../probe/tests/corpus/end.m4a");
    // Its edit list becomes a box that no reader knows.
    let place = MP4.windows(4).position(|name| name == b"edts").unwrap();
    let plain = [&MP4[..place], b"free", &MP4[place + 4..]].concat();
    let harness = TestGateway::generation().await;
    let mut spent = 0;
    for (model, name, file, seconds) in [
        ("wen-ears", "talk.aac", first_frames(ADTS, 17), 1),
        ("ears", "talk.m4a", plain.as_slice(), 1),
        // The least that 20 packets may be is 17,344 samples.
        ("wen-ears", "talk.aac", first_frames(ADTS, 20), 2),
    ] {
        let form = Form::default().text("model", model);
        let form = form.file("file", name, "application/octet-stream", file);
        let got = form.send(&harness, PATH).await;
        assert_eq!(got.status.as_u16(), 200, "{name}: {}", got.text());
        spent += SECOND * seconds;
        assert_eq!(harness.spent().await, spent, "{name}");
        let row = harness.row(&got).await;
        assert_eq!(row["units"], json!({ "audio_input": seconds }), "{name}");
    }
    harness.audit().await;
}

// covers: G-2.5-03, G-2.5-04, D-7-MON-12
// covers: G-4-16, G-5-03
#[tokio::test]
async fn a_translation_answers_english_in_the_same_shape() {
    let harness = TestGateway::generation().await;
    let file = wav(9_000);
    let got = form("ears", &file)
        .send(&harness, "/v1/audio/translations")
        .await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    assert_eq!(
        got.json()["text"].as_str().unwrap(),
        translation(&Sha256::digest(&file).into())
    );
    assert_eq!(harness.row(&got).await["endpoint"], "translations");
    assert_eq!(harness.spent().await, SECOND * 2);
    // A channel that cannot translate is not tried, and nothing is charged.
    let got = form("glm-ears", &file)
        .send(&harness, "/v1/audio/translations")
        .await;
    assert_eq!(got.status.as_u16(), 400, "{}", got.text());
    assert_eq!(harness.spent().await, SECOND * 2);
    harness.audit().await;
}

#[tokio::test]
async fn each_form_of_an_answer_is_what_its_name_says() {
    let harness = TestGateway::generation().await;
    let file = wav(20_000);
    for (model, format, kind, word) in [
        ("ears", "json", "application/json", "\"text\""),
        ("ears", "text", "text/plain", ""),
        ("ears", "srt", "", " --> "),
        ("ears", "vtt", "text/", "WEBVTT"),
        ("ears", "verbose_json", "application/json", "\"segments\""),
        ("wen-file-ears", "srt", "", " --> "),
        (
            "wen-file-ears",
            "verbose_json",
            "application/json",
            "\"segments\"",
        ),
        ("glm-ears", "text", "text/plain", ""),
    ] {
        let got = form(model, &file).text("response_format", format);
        let got = got.send(&harness, PATH).await;
        let what = format!("{model} {format}: {}", got.text());
        assert_eq!(got.status.as_u16(), 200, "{what}");
        assert!(
            got.header("content-type").unwrap().starts_with(kind),
            "{what}"
        );
        assert!(got.text().contains(word), "{what}");
    }
    // No times, no subtitles.
    let got = form("glm-ears", &file).text("response_format", "srt");
    let got = got.send(&harness, PATH).await;
    assert_eq!(got.status.as_u16(), 400, "{}", got.text());
    harness.audit().await;
}

// covers: G-4.5-01, G-4.5-02, G-4.5-03
#[tokio::test]
async fn a_form_needs_its_model_and_its_file() {
    let harness = TestGateway::generation().await;
    let got = Form::default().file("file", "a.wav", "audio/wav", &wav(9));
    let got = got.send(&harness, PATH).await;
    assert_eq!(
        (got.status.as_u16(), got.json()["error"]["param"].clone()),
        (400, json!("model"))
    );
    let got = Form::default()
        .text("model", "ears")
        .send(&harness, PATH)
        .await;
    assert_eq!(
        (got.status.as_u16(), got.json()["error"]["param"].clone()),
        (400, json!("file"))
    );
    let got = harness.post(PATH, &json!({ "model": "ears" })).await;
    assert_eq!(got.status.as_u16(), 415);
    let got = form("ears", b"this is no audio at all")
        .send(&harness, PATH)
        .await;
    assert_eq!(
        (got.status.as_u16(), got.code()),
        (400, "audio_unreadable".to_owned())
    );
    assert_eq!(harness.spent().await, 0);
    assert!(harness.simulator.audio_calls().is_empty());
}

// covers: G-4.5-10, G-4.5-11, G-4.5-12, G-4.5-13, G-2.6-57
#[tokio::test]
async fn a_streaming_transcriber_takes_wav_and_ogg_and_answers_in_one_piece() {
    let harness = TestGateway::generation().await;
    let got = form("ears-realtime", &wav(8_000))
        .send(&harness, PATH)
        .await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    assert_eq!(got.header("content-type").unwrap(), "application/json");
    assert!(got.json()["text"].is_string());
    // Speech of a simulator is a file like any other.
    let spoken = |format: &'static str| {
        let harness = &harness;
        async move {
            let more = json!({ "response_format": format });
            harness.say("voice", "Good morning.", more).await.body
        }
    };
    let ogg = Form::default().text("model", "ears-realtime").file(
        "file",
        "a.ogg",
        "audio/ogg",
        &spoken("opus").await,
    );
    assert_eq!(ogg.send(&harness, PATH).await.status.as_u16(), 200);
    let before = harness.spent().await;
    // By what it is, not by what it is called.
    for (name, bytes) in [
        ("a.mp3", spoken("mp3").await.to_vec()),
        ("a.wav", spoken("mp3").await.to_vec()),
        ("a.wav", wav_of(8_000, 8)),
        ("a.flac", spoken("flac").await.to_vec()),
    ] {
        let paid = harness.spent().await;
        let refused =
            Form::default()
                .text("model", "ears-realtime")
                .file("file", name, "audio/wav", &bytes);
        let got = refused.send(&harness, PATH).await;
        assert_eq!(got.status.as_u16(), 400, "{name}: {}", got.text());
        assert_eq!(got.json()["error"]["param"], "file", "{name}");
        assert_eq!(harness.spent().await, paid);
    }
    assert!(harness.spent().await >= before);
    harness.audit().await;
}

// covers: G-8-15, G-8-16, G-8-17, G-8-20, D-7-MON-20
#[tokio::test]
async fn length_and_size_of_a_recording_are_limits_of_its_model() {
    let harness = TestGateway::generation().await;
    let fits = form("short-ears", &wav(240_000)).send(&harness, PATH).await;
    assert_eq!(fits.status.as_u16(), 200, "{}", fits.text());
    let got = form("short-ears", &wav(240_001)).send(&harness, PATH).await;
    assert_eq!(
        (got.status.as_u16(), got.json()["error"]["param"].clone()),
        (400, json!("file"))
    );
    let got = form("ears", &wav(240_001)).send(&harness, PATH).await;
    assert_eq!(got.status.as_u16(), 200, "another model has no such limit");
    let five_minutes = form("long-ears", &wav(2_400_000))
        .send(&harness, PATH)
        .await;
    assert_eq!(five_minutes.status.as_u16(), 200);
    let got = form("long-ears", &wav(2_400_001))
        .send(&harness, PATH)
        .await;
    assert_eq!(got.status.as_u16(), 400);
    // The file part alone counts: a chunk of a wav that holds no sound fills it up.
    let mut large = wav(8_000);
    let padding = 25_000_000 - large.len() - 8;
    large.extend_from_slice(b"junk");
    large.extend_from_slice(&u32::try_from(padding).unwrap().to_le_bytes());
    large.resize(25_000_000, 0);
    let got = form("short-ears", &large).send(&harness, PATH).await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    large.push(0);
    let paid = harness.spent().await;
    let got = form("short-ears", &large).send(&harness, PATH).await;
    assert_eq!(got.json()["error"]["param"], "file", "{}", got.text());
    assert!(matches!(got.status.as_u16(), 400 | 413));
    assert_eq!(harness.spent().await, paid);
    harness.audit().await;
}

// covers: D-5-09, D-7-MON-22
#[tokio::test]
async fn the_time_of_a_call_begins_when_its_upload_has_been_read() {
    assert_eq!(Settings::default().whole_wait, Duration::from_secs(600));
    let settings = Settings {
        whole_wait: Duration::from_secs(2),
        ..Settings::default()
    };
    let harness = TestGateway::generation_with(settings).await;
    // Longer on its way than a call may take.
    let body = form("ears", &wav(8_000)).bytes();
    let left = u64::try_from(body.len()).unwrap();
    let (sender, pieces) = tokio::sync::mpsc::channel(1);
    let sending = async {
        for piece in body.chunks(body.len().div_ceil(6)) {
            sender
                .send(Ok(Bytes::copy_from_slice(piece)))
                .await
                .unwrap();
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        drop(sender);
    };
    let began = std::time::Instant::now();
    let call = harness.upload(PATH, Payload::Pieces { pieces, left });
    let (got, ()) = tokio::join!(call, sending);
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    assert!(began.elapsed() > Duration::from_millis(2_500));
    // And it ends when it must.
    let prompt = "[[fault:hang_before_headers]]";
    let got = form("ears", &wav(8_000)).text("prompt", prompt);
    let got = got.send(&harness, PATH).await;
    assert_eq!(got.status.as_u16(), 504, "{}", got.text());
    assert_eq!(harness.spent().await, SECOND);
    harness.audit().await;
}
