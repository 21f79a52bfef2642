//! `MiniMax`'s speech over a real socket. The requests are those of the vendor's documents, with values
//! of our own.

use serde_json::{Value, json};
use trunkline_simulator::{AudioFault, Fault, Simulator};

use crate::audio::{KEY, MILLIS, TEXT, audio, follow, merged, only_call};
use crate::client::{Response, always, ask, post, post_as, served, started};

const SPEECH: &str = "/v1/t2a_v2";

fn request_body(more: &Value) -> Value {
    let base = json!({
        "model": "speech-2.8-hd",
        "text": TEXT,
        "stream": false,
        "voice_setting": {"voice_id": "English_expressive_narrator", "speed": 1.0, "vol": 1.0, "pitch": 0},
        "audio_setting": {"sample_rate": 24000, "bitrate": 128000, "format": "pcm", "channel": 1},
    });
    merged(base, more)
}

async fn speak(simulator: &Simulator, more: Value) -> Response {
    post(simulator, SPEECH, &request_body(&more)).await
}

fn bytes(reported: &Value) -> Vec<u8> {
    let digits = reported["data"]["audio"].as_str().unwrap().as_bytes();
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).unwrap();
        u8::from_str_radix(text, 16).unwrap()
    };
    digits.chunks(2).map(byte).collect()
}

#[tokio::test]
async fn speech_is_whole_with_its_lengths_beside_it() {
    let simulator = started().await;
    let reported = speak(&simulator, json!({})).await.json();
    let size = usize::try_from(MILLIS).unwrap() * 48;
    assert_eq!(bytes(&reported).len(), size);
    assert_eq!(
        reported["base_resp"],
        json!({"status_code": 0, "status_msg": "success"})
    );
    assert_eq!(
        reported["extra_info"],
        json!({
            "audio_length": MILLIS, "audio_sample_rate": 24000, "audio_size": size,
            "bitrate": 384_000, "audio_format": "pcm", "audio_channel": 1, "word_count": 5,
            "usage_characters": 26, "invisible_character_ratio": 0,
        })
    );
    let call = only_call(&simulator);
    assert_eq!(
        (call.vendor, call.millis, call.characters),
        ("minimax", MILLIS, 26)
    );
    let record = served(&simulator, |record| record.finished).await;
    assert_eq!(record.completion_tokens, MILLIS);
    let faster = json!({"voice_setting": {"voice_id": "male-qn-qingse", "speed": 2}});
    let reported = speak(&simulator, faster).await.json();
    assert_eq!(reported["extra_info"]["audio_length"], MILLIS / 2);
    let default = json!({"audio_setting": null, "text": "你好 a"});
    let reported = speak(&simulator, default).await.json();
    assert_eq!(reported["extra_info"]["audio_format"], "mp3");
    assert_eq!(reported["extra_info"]["audio_sample_rate"], 32_000);
    assert_eq!(reported["extra_info"]["usage_characters"], 6);
    // Frames of 1152 samples at 128 kilobits are 576 bytes; 240 ms are 6.7 of them.
    assert_eq!(bytes(&reported).len(), 7 * 576);
}

#[tokio::test]
async fn an_address_leads_to_the_same_audio() {
    let simulator = started().await;
    let hex = bytes(&speak(&simulator, json!({})).await.json());
    let reported = speak(&simulator, json!({"output_format": "url"}))
        .await
        .json();
    let link = reported["data"]["audio"].as_str().unwrap().to_owned();
    let got = follow(&simulator, &link).await;
    assert_eq!(
        (got.status, got.header("content-type")),
        (200, Some("audio/pcm"))
    );
    assert!(got.body == hex);
    let ended = link.replace("Expires=", "Expires=1&Was=");
    assert_eq!(follow(&simulator, &ended).await.status, 404);
    for (fault, status, is_whole) in [
        (AudioFault::DeadFile, 404, true),
        (AudioFault::CutFile, 200, false),
    ] {
        simulator.plan(always(audio(fault)));
        let reported = speak(&simulator, json!({"output_format": "url"}))
            .await
            .json();
        let got = follow(&simulator, reported["data"]["audio"].as_str().unwrap()).await;
        assert_eq!((got.status, got.is_whole), (status, is_whole), "{fault:?}");
        simulator.clear_plans();
    }
}

#[tokio::test]
async fn a_stream_repeats_the_whole_in_its_last_event_unless_told_not_to() {
    let simulator = started().await;
    let whole = bytes(&speak(&simulator, json!({})).await.json());
    for excludes in [false, true] {
        let options = json!({"exclude_aggregated_audio": excludes});
        let got = speak(
            &simulator,
            json!({"stream": true, "stream_options": options}),
        )
        .await;
        assert!(
            got.header("content-type")
                .unwrap()
                .starts_with("text/event-stream")
        );
        let chunks = got.chunks();
        let (last, pieces) = chunks.split_last().unwrap();
        assert_eq!(pieces.len(), 8);
        assert!(pieces.iter().all(|piece| piece["data"]["status"] == 1));
        assert!(pieces.iter().all(|piece| piece.get("extra_info").is_none()));
        let joined: Vec<u8> = pieces.iter().flat_map(bytes).collect();
        assert!(joined == whole);
        assert_eq!(last["data"]["status"], 2);
        assert_eq!(last["extra_info"]["audio_length"], MILLIS);
        assert!(bytes(last) == if excludes { Vec::new() } else { whole.clone() });
    }
}

#[tokio::test]
async fn what_is_wrong_is_said_under_a_good_status() {
    let simulator = started().await;
    let voice = |more: Value| {
        let base = json!({"voice_id": "English_expressive_narrator"});
        json!({"voice_setting": merged(base, &more)})
    };
    let setting = |more: Value| json!({"audio_setting": more});
    for (code, more) in [
        (2013, json!({"model": "speech-9"})),
        (2013, json!({"text": ""})),
        (2013, json!({"text": "x".repeat(10_000)})),
        (2013, json!({"stream": "yes"})),
        (2013, json!({"output_format": "base64"})),
        (2013, json!({"voice_setting": null})),
        (2054, voice(json!({"voice_id": "nobody"}))),
        (
            2054,
            json!({"timbre_weights": [{"voice_id": "nobody", "weight": 1}]}),
        ),
        (2013, voice(json!({"speed": 0.49}))),
        (2013, voice(json!({"speed": 2.01}))),
        (2013, voice(json!({"vol": 0}))),
        (2013, voice(json!({"vol": 10.1}))),
        (2013, voice(json!({"pitch": 13}))),
        (2013, voice(json!({"emotion": "bored"}))),
        (2013, setting(json!({"format": "opus"}))),
        (2013, setting(json!({"sample_rate": 48000}))),
        (2013, setting(json!({"bitrate": 1}))),
        (2013, setting(json!({"channel": 3}))),
        (
            2013,
            json!({"stream": true, "audio_setting": {"format": "wav"}}),
        ),
    ] {
        let got = speak(&simulator, more.clone()).await;
        assert_eq!(
            (got.status, &got.json()["base_resp"]["status_code"]),
            (200, &json!(code)),
            "{more}"
        );
    }
    assert_eq!(simulator.audio_calls(), []);
    for more in [
        json!({"text": "x".repeat(9_999), "audio_setting": {"sample_rate": 8000, "bitrate": 32000}}),
        voice(json!({"speed": 0.5, "vol": 10, "pitch": -12, "emotion": "calm"})),
        json!({"voice_setting": {}, "timbre_weights": [{"voice_id": "female-shaonv", "weight": 50}]}),
        json!({"audio_setting": {"format": "wav", "sample_rate": 8000, "channel": 2}}),
    ] {
        let reported = speak(&simulator, more.clone()).await.json();
        assert_eq!(reported["base_resp"]["status_code"], 0, "{more}");
    }
    let got = ask(&simulator, "POST", SPEECH, "", b"{}").await;
    assert_eq!(got.json()["base_resp"]["status_code"], 1004);
}

#[tokio::test]
async fn faults_are_in_the_vendors_shape() {
    let simulator = started().await;
    let streamed = json!({"stream": true});
    simulator.plan(always(Fault::BaseResp(1008)));
    for more in [json!({}), streamed.clone()] {
        let got = speak(&simulator, more).await;
        let code = &got.json()["base_resp"]["status_code"];
        assert_eq!((got.status, code), (200, &json!(1008)));
    }
    simulator.clear_plans();
    simulator.plan(always(Fault::RateLimited {
        retry_after_secs: 4,
    }));
    let got = speak(&simulator, json!({})).await;
    assert_eq!((got.status, got.header("retry-after")), (429, Some("4")));
    assert_eq!(got.json()["base_resp"]["status_code"], 1002);
    simulator.clear_plans();
    simulator.plan(always(Fault::ErrorFrameMidStream { after_frames: 2 }));
    let chunks = speak(&simulator, streamed.clone()).await.chunks();
    assert_eq!(chunks.len(), 3);
    assert_eq!(chunks[2]["base_resp"]["status_code"], 1000);
    simulator.clear_plans();
    simulator.plan(always(audio(AudioFault::GarbageAudio)));
    let reported = speak(&simulator, json!({})).await.json();
    assert!(reported["data"]["audio"].as_str().unwrap().contains("zz"));
    let chunks = speak(&simulator, streamed.clone()).await.chunks();
    assert!(chunks[0]["data"]["audio"].as_str().unwrap().contains("zz"));
    simulator.clear_plans();
    simulator.plan(always(Fault::NoDone));
    let chunks = speak(&simulator, streamed).await.chunks();
    assert!(chunks.iter().all(|chunk| chunk["data"]["status"] == 1));
    simulator.clear_plans();
    simulator.plan(always(Fault::NoUsage));
    let reported = speak(&simulator, json!({})).await.json();
    assert!(reported.get("extra_info").is_none());
}

#[tokio::test]
async fn the_voices_are_listed() {
    let simulator = started().await;
    let reported = post(
        &simulator,
        "/v1/get_voice",
        &json!({"voice_type": "system"}),
    )
    .await
    .json();
    let voices = reported["system_voice"].as_array().unwrap();
    assert!(voices.len() > 3);
    for voice in voices {
        let setting = json!({"voice_setting": {"voice_id": voice["voice_id"]}});
        let reported = speak(&simulator, setting).await.json();
        assert_eq!(reported["base_resp"]["status_code"], 0, "{voice}");
    }
    let got = ask(&simulator, "GET", "/v1/get_voice", KEY, b"").await;
    assert_eq!(got.json(), reported);
    let got = post_as(&simulator, "", SPEECH, &request_body(&json!({}))).await;
    assert_eq!(got.json()["base_resp"]["status_code"], 1004);
}
